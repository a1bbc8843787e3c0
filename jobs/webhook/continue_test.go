package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// more is a good answer that asks to be called again.
func more(body string) string { return ok(body, "Nightshift-Continue: true") }

func wantSlice(t testing.TB, rep jobs.Report, checkpoint string) {
	t.Helper()
	if rep.Failure != nil || rep.Stopped != nil || !rep.Continue || rep.Result != nil ||
		string(rep.Checkpoint) != checkpoint {
		t.Fatalf("failure %v, stopped %v, continue %t, result %.100q, checkpoint %.100q: want a slice with %.100q",
			rep.Failure, rep.Stopped, rep.Continue, rep.Result, rep.Checkpoint, checkpoint)
	}
}

func TestSliceSavesItsCheckpointByteForByte(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"object":          {`{"checkpoint":{"b":1.0,"a":[ 2 ]}}`, `{"b":1.0,"a":[ 2 ]}`},
		"number text":     {`{"checkpoint" : 9007199254740993.10 }`, `9007199254740993.10`},
		"escapes":         {`{"checkpoint":"\u00e9é\ud800\/"}`, `"\u00e9é\ud800\/"`},
		"other members":   {`{"checkpoint":1,"result":{"x":[]},"Checkpoint":2,"error":"no"}`, `1`},
		"line end":        {"{\"checkpoint\":1}\n", `1`},
		"none":            {`{}`, ``},
		"null":            {`{"checkpoint":null,"progress":null}`, `null`},
		"deep":            {`{"checkpoint":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, strings.Repeat("[", 64) + strings.Repeat("]", 64)},
		"past a result":   {`{"checkpoint":1,"fill":"` + strings.Repeat("x", 3*jobs.MaxResult) + `"}`, `1`},
		"past one header": {`{"checkpoint":"` + strings.Repeat("x", 5000) + `"}`, `"` + strings.Repeat("x", 5000) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(more(c.body)))
			k := newKind(t, Config{})
			for range 2 {
				wantSlice(t, call(t, k, hook(r.url)), c.want)
			}
			if r.conns.Load() != 1 {
				t.Errorf("%d connections: one that was read to its end is kept", r.conns.Load())
			}
		})
	}
}

func TestSliceTellsItsProgress(t *testing.T) {
	r := receive(t, answers(more(`{"checkpoint":1,"progress":{"done":3,"total":10,"note":"page\n3"}}`)))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantSlice(t, rep, "1")
	if rep.Progress == nil || *rep.Progress != (jobs.Progress{Done: 3, Total: 10, Note: "page 3"}) ||
		rep.HTTPStatus != 200 {
		t.Errorf("progress %+v, status %d", rep.Progress, rep.HTTPStatus)
	}
}

func TestContinueIsReadOfASuccessAlone(t *testing.T) {
	body := `{"checkpoint":1}`
	for value, want := range map[string]bool{
		"true": true, "True": true, " TRUE ": true, "\ttrue": true, "false": false, "FALSE ": false,
	} {
		r := receive(t, answers(ok(body, "nightshift-continue: "+value)))
		rep := call(t, newKind(t, Config{}), hook(r.url))
		if rep.Failure != nil || rep.Continue != want || len(rep.Notes) != 0 || (rep.Result == nil) != want {
			t.Errorf("%q: %+v", value, rep)
		}
	}
	r := receive(t, answers(status(500, body, "Nightshift-Continue: true")))
	if rep := call(t, newKind(t, Config{}), hook(r.url)); rep.Failure == nil || rep.Continue || rep.Checkpoint != nil {
		t.Errorf("%+v", rep)
	}
	r = receive(t, answers(more(body)))
	if rep := judged(t, newKind(t, Config{}), r.url, always(false)); rep.Failure == nil || rep.Continue || rep.Checkpoint != nil {
		t.Errorf("%+v", rep)
	}
	wantSlice(t, judged(t, newKind(t, Config{}), r.url, always(true)), "1")
}

func TestContinueThatIsNeitherTrueNorFalseIsNoted(t *testing.T) {
	body := `{"checkpoint":1}`
	for _, headers := range [][]string{
		{"Nightshift-Continue: yes"},
		{"Nightshift-Continue: 1"},
		{"Nightshift-Continue:"},
		{"Nightshift-Continue: true", "Nightshift-Continue: true"},
		{"Nightshift-Continue: " + strings.Repeat("\xff", 1000)},
	} {
		r := receive(t, answers(ok(body, headers...)))
		rep := call(t, newKind(t, Config{}), hook(r.url))
		wantResult(t, rep, body)
		if rep.Continue || rep.Checkpoint != nil || len(rep.Notes) != 1 ||
			!strings.HasPrefix(rep.Notes[0], "Nightshift-Continue ignored: want true or false, got ") {
			t.Errorf("%q: %+v", headers, rep)
		}
	}
}

func TestAnswerThatNamesNoPlaceToGoOnFromIsInvalid(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"empty":     {"", "want a value, got nothing"},
		"text":      {"on page 3", "not JSON: line 1, column 1"},
		"list":      {`[1]`, "want an object, got a list"},
		"null":      {`null`, "want an object, got null"},
		"twice":     {`{"checkpoint":1,"checkpoint":2}`, "checkpoint: this key stands twice"},
		"progress":  {`{"checkpoint":1,"progress":"30 %"}`, `progress: want an object such as {"done": 40, "total": 100}, got a string`},
		"negative":  {`{"checkpoint":1,"progress":{"done":-1}}`, "progress: done: want a number, 0 or more"},
		"not UTF-8": {"{\"checkpoint\":\"\xff\"}", "want UTF-8"},
		"large":     {`{"checkpoint":"` + strings.Repeat("x", jobs.MaxCheckpoint) + `"}`, "checkpoint: want at most 4 KiB, got 262146 bytes"},
		"cut":       {`{"checkpoint":1,"fill":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "it is larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(more(c.body)))
			rep := call(t, newKind(t, Config{}), hook(r.url))
			wantFailure(t, rep, jobs.FailInvalid, c.want, `an answer such as {"checkpoint": {"page": 3}`)
			if rep.Continue || rep.Checkpoint != nil || rep.Progress != nil || rep.HTTPStatus != 200 ||
				rep.Failure.HTTP.Status != 200 || rep.Failure.Type != "invalid" {
				t.Errorf("%+v", rep)
			}
		})
	}
}

// What is saved goes back to the job: a secret in it stays. What is shown of it does not.
func TestSliceKeepsSecretsInItsCheckpointAlone(t *testing.T) {
	mask := jobs.NewMask([]string{"hunter2hunter2"})
	for body, want := range map[string]bool{
		`{"checkpoint":"hunter2hunter2","progress":{"done":1,"note":"at hunter2hunter2"}}`: true,
		`{"checkpoint":1,"hunter2hunter2":1,"progress":{"hunter2hunter2":1}}`:              false,
	} {
		r := receive(t, answers(more(body)))
		c := kindtest.NewCall(hook(r.url))
		c.Mask = mask
		rep := newKind(t, Config{}).Run(context.Background(), c)
		kindtest.CheckReport(t, rep)
		if rep.Continue != want {
			t.Fatalf("%s: %+v", body, rep)
		}
		if want && (string(rep.Checkpoint) != `"hunter2hunter2"` || rep.Progress.Note != "at ***") {
			t.Errorf("checkpoint %s, progress %+v", rep.Checkpoint, rep.Progress)
		}
		if f := rep.Failure; !want && strings.Contains(fmt.Sprint(f.Message, f.HTTP), "hunter2") {
			t.Errorf("failure %+v, %+v", f, f.HTTP)
		}
	}
}

func TestSliceThatBreaksOffIsAConnectionFailure(t *testing.T) {
	r := receive(t, oneRequest(says("HTTP/1.1 200 OK\r\nNightshift-Continue: true\r\nContent-Length: 50\r\n\r\n{\"checkpoint\":1")))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantFailure(t, rep, jobs.FailConnection, "in the middle of the answer")
	if rep.Continue || rep.Checkpoint != nil {
		t.Errorf("%+v", rep)
	}
}

func TestSliceUnderWayIsStoppedAtOnce(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nNightshift-Continue: true\r\nContent-Length: 50\r\n\r\n"
	for _, cause := range []error{jobs.ErrCancelled, jobs.ErrTimeout, jobs.ErrShutdown} {
		r := receive(t, oneRequest(func(p *peer) {
			p.say(head)
			p.gone()
		}))
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		k := newKind(t, Config{})
		opened := watchDials(k)
		done := make(chan jobs.Report, 1)
		go func() {
			c := kindtest.NewCall(hook(r.url))
			c.Continues = 3
			done <- k.Run(ctx, c)
		}()
		until(t, "the body to be waited for", func() bool { return opened.waitsAfter(int64(len(head))) })
		cancel(cause)
		rep := <-done
		kindtest.CheckReport(t, rep)
		if rep.Stopped != cause || rep.Continue {
			t.Errorf("%v: %+v", cause, rep)
		}
		until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
	}
}
