package kindtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// CheckReport checks what holds for every report, whatever became of the attempt: bounds, valid
// UTF-8, and members that go together.
func CheckReport(t testing.TB, rep jobs.Report) {
	t.Helper()
	switch rep.Stopped {
	case nil, jobs.ErrTimeout, jobs.ErrCancelled, jobs.ErrShutdown:
	default:
		t.Errorf("Stopped is %v: want one of the causes in jobs", rep.Stopped)
	}
	if len(rep.Result) > jobs.MaxResult {
		t.Errorf("the result has %d bytes: at most %d", len(rep.Result), jobs.MaxResult)
	}
	if rep.Result != nil && (!json.Valid(rep.Result) || !utf8.Valid(rep.Result)) {
		t.Errorf("the result is not valid JSON: %.100q", rep.Result)
	}
	if rep.ResultTruncated && rep.Result != nil {
		t.Error("a truncated result stands beside a result: want null")
	}
	if rep.ExitCode < -1 || rep.HTTPStatus < 0 {
		t.Errorf("exit code %d, status %d", rep.ExitCode, rep.HTTPStatus)
	}
	checkText(t, "output tail", rep.OutputTail, jobs.MaxOutput)
	checkSaid(t, &rep)
	if rep.RetryAfterFloor < 0 || rep.RetryAfterFloor > time.Hour {
		t.Errorf("the floor of Retry-After is %s: want 0 to 1h", rep.RetryAfterFloor)
	}
	if rep.RetryAfter != nil && *rep.RetryAfter < 0 {
		t.Errorf("retry after %s", *rep.RetryAfter)
	}
	for _, note := range rep.Notes {
		checkLine(t, "note", note, jobs.MaxMessage)
	}
	if rep.Failure != nil {
		checkFailure(t, rep.Failure)
	}
}

// checkSaid checks what the attempt said of its work.
func checkSaid(t testing.TB, rep *jobs.Report) {
	t.Helper()
	if len(rep.Checkpoint) > jobs.MaxCheckpoint {
		t.Errorf("the checkpoint has %d bytes: at most %d", len(rep.Checkpoint), jobs.MaxCheckpoint)
	}
	if rep.Checkpoint != nil && jobs.ValidJSON(rep.Checkpoint) != nil {
		t.Errorf("the checkpoint is not valid JSON: %.100q", rep.Checkpoint)
	}
	if p := rep.Progress; p != nil {
		bounded := *p
		if err := bounded.Bound(); err != nil || bounded != *p {
			t.Errorf("progress %+v: %v", *p, err)
		}
	}
	goesOn := rep.Continue || rep.Accepted
	if goesOn && (rep.Failure != nil || rep.Stopped != nil || rep.Result != nil || rep.ResultTruncated) ||
		rep.Continue && rep.Accepted {
		t.Errorf("an attempt that goes on has an end too: %+v", *rep)
	}
}

func checkFailure(t testing.TB, f *jobs.Failure) {
	t.Helper()
	if f.Kind == "" || f.Type == "" || f.Message == "" {
		t.Errorf("a failure without kind, type or message: %+v", f)
	}
	checkLine(t, "error type", f.Type, jobs.MaxMessage)
	checkLine(t, "error message", f.Message, jobs.MaxMessage)
	checkText(t, "stack", f.Stack, jobs.MaxStack)
	if f.HTTP != nil {
		checkText(t, "body of the answer", f.HTTP.Body, jobs.MaxErrorBody)
		size := 0
		for name, value := range f.HTTP.Headers {
			if name != strings.ToLower(name) {
				t.Errorf("header %q is not in lower case", name)
			}
			checkLine(t, "header name", name, 1<<10)
			checkLine(t, "header value", value, 16<<10)
			size += len(name) + len(value)
		}
		if size > 64<<10 {
			t.Errorf("%d bytes of headers are kept", size)
		}
	}
	if f.Exit != nil && f.Exit.Code < -1 {
		t.Errorf("exit code %d", f.Exit.Code)
	}
}

func checkText(t testing.TB, what, s string, limit int) {
	t.Helper()
	if len(s) > limit {
		t.Errorf("the %s has %d bytes: at most %d", what, len(s), limit)
	}
	if !utf8.ValidString(s) {
		t.Errorf("the %s is not valid UTF-8: %.100q", what, s)
	}
}

func checkLine(t testing.TB, what, s string, limit int) {
	t.Helper()
	checkText(t, what, s, limit)
	if strings.IndexFunc(s, unicode.IsControl) >= 0 {
		t.Errorf("the %s has control characters: %.100q", what, s)
	}
}
