package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

const problemType = "Content-Type: application/problem+json"

func TestProblemSavesACheckpointAndTellsProgress(t *testing.T) {
	large := `"` + strings.Repeat("x", jobs.MaxCheckpoint-2) + `"`
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	for name, c := range map[string]struct {
		body       string
		checkpoint string
		progress   *jobs.Progress
		note       string
	}{
		"both": {
			`{"detail":"broke","checkpoint":{ "page" : 3.0 },"progress":{"done":3,"total":10,"note":"a\nb"}}`,
			`{ "page" : 3.0 }`, &jobs.Progress{Done: 3, Total: 10, Note: "a b"}, "",
		},
		"none":               {`{"detail":"broke"}`, "", nil, ""},
		"none any more":      {`{"checkpoint":null,"progress":null}`, "null", nil, ""},
		"scalar":             {`{"checkpoint":9007199254740993}`, "9007199254740993", nil, ""},
		"deep":               {`{"checkpoint":` + deep + `}`, deep, nil, ""},
		"the largest":        {`{"checkpoint":` + large + `}`, large, nil, ""},
		"larger":             {`{"checkpoint":` + large + `1}`, "", nil, "not a JSON object"},
		"too large":          {`{"checkpoint":[` + large + `]}`, "", nil, "checkpoint of the problem ignored: want at most 256 KiB, got 262146 bytes"},
		"wrong progress":     {`{"checkpoint":1,"progress":{"done":"x"}}`, "1", nil, "progress of the problem ignored: done: want a number"},
		"progress of a text": {`{"checkpoint":1,"progress":"30 %"}`, "1", nil, "progress of the problem ignored: want an object"},
		"endless":            {`{"checkpoint":1,"fill":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "", nil, "not a JSON object of up to 1 MiB"},
	} {
		for _, code := range []int{500, 422, 307} {
			t.Run(fmt.Sprint(name, " ", code), func(t *testing.T) {
				r := receive(t, answers(status(code, c.body, problemType)))
				rep := call(t, newKind(t, Config{}), hook(r.url))
				wantFailure(t, rep, jobs.FailHTTP)
				if string(rep.Checkpoint) != c.checkpoint || (rep.Checkpoint == nil) != (c.checkpoint == "") {
					t.Errorf("checkpoint %.100q", rep.Checkpoint)
				}
				if (rep.Progress == nil) != (c.progress == nil) || rep.Progress != nil && *rep.Progress != *c.progress {
					t.Errorf("progress %+v", rep.Progress)
				}
				if notes := strings.Join(rep.Notes, "; "); !strings.Contains(notes, c.note) || (notes == "") != (c.note == "") {
					t.Errorf("notes %q", notes)
				}
			})
		}
	}
}

func TestCheckpointIsReadOfAProblemAlone(t *testing.T) {
	body := `{"checkpoint":{"page":3},"progress":{"done":3}}`
	for _, media := range []string{"application/json", "text/plain; a=application/problem+json", "application/problem+json2"} {
		r := receive(t, answers(status(500, body, "Content-Type: "+media)))
		rep := call(t, newKind(t, Config{}), hook(r.url))
		wantFailure(t, rep, jobs.FailHTTP)
		if rep.Checkpoint != nil || rep.Progress != nil {
			t.Errorf("%s: %+v", media, rep)
		}
	}
	// Of a success it is part of the result.
	r := receive(t, answers(ok(body, problemType)))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantResult(t, rep, body)
	if rep.Checkpoint != nil || rep.Progress != nil {
		t.Errorf("%+v", rep)
	}
}

// What is saved goes back to the job: a secret in it stays. What is shown of the answer does not.
func TestProblemKeepsSecretsInItsCheckpointAlone(t *testing.T) {
	const secret = `say "hunter2"`
	body := `{"type":"no say \"hunter2\"","detail":"at say \"hunter2\"","checkpoint":"say \"hunter2\"",` +
		`"progress":{"done":1,"note":"say \"hunter2\""},"retry_after":"say \"hunter2\""}`
	r := receive(t, answers(status(500, body, problemType, "X-Was: "+secret)))
	c := kindtest.NewCall(hook(r.url))
	c.Mask = jobs.NewMask([]string{secret})
	rep := newKind(t, Config{}).Run(context.Background(), c)
	kindtest.CheckReport(t, rep)
	if string(rep.Checkpoint) != `"say \"hunter2\""` {
		t.Errorf("checkpoint %s", rep.Checkpoint)
	}
	f := rep.Failure
	shown := fmt.Sprint(f.Type, f.Message, f.HTTP, rep.Notes, rep.Progress)
	if strings.Contains(shown, "hunter2") || f.Type != "no ***" || f.Message != "at ***" || rep.Progress.Note != "***" {
		t.Errorf("%s", shown)
	}
}

// Of a problem that breaks off nothing is saved unless it is whole; the attempt is still that error.
func TestProblemThatBreaksOffSavesWhatIsWholeOnly(t *testing.T) {
	for body, want := range map[string]string{`{"checkpoint":1}`: "1", `{"checkpoint":1`: "", `{"checkpoint":12`: ""} {
		r := receive(t, oneRequest(says(fmt.Sprintf(
			"HTTP/1.1 500 No\r\n%s\r\nContent-Length: %d\r\n\r\n%s", problemType, len(body)+1, body))))
		rep := call(t, newKind(t, Config{}), hook(r.url))
		wantFailure(t, rep, jobs.FailHTTP, "500 Internal Server Error")
		notes := strings.Join(rep.Notes, "; ")
		if string(rep.Checkpoint) != want || !strings.Contains(notes, "the answer broke off after") {
			t.Errorf("%s: checkpoint %q, notes %q", body, rep.Checkpoint, notes)
		}
	}
}
