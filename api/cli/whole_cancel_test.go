package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// cancelled cancels a run and wants that answer.
func (p *process) cancelled(id string, status int, state string) *aRun {
	p.t.Helper()
	run := &aRun{}
	if got := p.call("POST", "/v1/runs/"+id+"/cancel", nil, run); got != status || status/100 == 2 && run.State != state {
		p.t.Errorf("cancel: %d %s, want %d %s", got, run.State, status, state)
	}
	return run
}

func TestCancelInEveryState(t *testing.T) { // cases 165, 167
	t.Parallel()
	p := start(t, t.TempDir(), "--script-workers", "2")
	closed := make(chan struct{})
	var v *voice
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(503)
		case "/calls":
			w.WriteHeader(202)
		case "/slices":
			p.call("POST", "/v1/dependencies/lent/pause", nil, nil)
			again(w, "1")
		case "/hangs":
			<-r.Context().Done()
			close(closed)
		}
	})
	p.unguarded(s.URL)
	p.put("script", script("echo begun; sleep 600 & sleep 600", doc{"concurrency": doc{"limit": 1}}))
	p.put("busy", doc{"webhook": doc{"url": s.URL + "/busy"}, "retry": doc{"backoff": doc{"base": "1h"}}})
	p.put("calls", callsBack(s.URL+"/calls", doc{"concurrency": doc{"limit": 1}}))
	p.put("slices", doc{"webhook": doc{"url": s.URL + "/slices"}, "dependencies": []string{"lent"}, "concurrency": doc{"limit": 1}})
	p.put("hangs", doc{"webhook": doc{"url": s.URL + "/hangs"}})
	p.put("fine", script("exit 0", nil))
	p.put("bad", script("exit 1", nil))

	running := p.enqueue("script", nil)
	p.until("it runs", func() bool { return strings.Contains(p.logOf(running), "begun") })
	queued, scheduled := p.enqueue("script", nil), p.enqueue("script", doc{"delay": "1h"})
	retrying, waiting, slices, hangs := p.enqueue("busy", nil), p.enqueue("calls", nil), p.enqueue("slices", nil), p.enqueue("hangs", nil)
	p.awaitRun(retrying, "it is to be tried again", func(r *aRun) bool { return r.State == "retrying" })
	v = p.waiting(s, waiting)
	p.awaitRun(slices, "it is between slices", func(r *aRun) bool { return r.State == "running" && r.HeldBy != nil })
	p.until("it hangs", func() bool { return len(s.deliveries()) == 4 })

	idle := []string{queued, scheduled, retrying, waiting, slices}
	attempts := map[string]string{queued: "", scheduled: "", retrying: "failed:http", waiting: "cancelled", slices: "cancelled"}
	for _, id := range idle { // nothing runs: at once
		for range 2 {
			if run := p.cancelled(id, 200, "cancelled"); run.CancelRequestedAt == "" {
				t.Errorf("%s: no cancel_requested_at", id)
			}
		}
		if run := p.run(id); run.State != "cancelled" || run.outcomes() != attempts[id] {
			t.Errorf("%s: %s, %s, want %q", id, run.State, run.outcomes(), attempts[id])
		}
	}
	v.refusedAll("it was cancelled", 409, "over")
	p.voiceOf(s.last(p, slices)).refusedAll("it was cancelled between slices", 409, "over")

	for _, id := range []string{running, hangs} {
		if run := p.cancelled(id, 202, "running"); run.CancelRequestedAt == "" {
			t.Errorf("%s: no cancel_requested_at", id)
		}
		if run := p.end(id); run.State != "cancelled" || len(run.Attempts) != 1 || run.Attempts[0].Outcome != "cancelled" || run.Attempts[0].Decision.By != "cancel" {
			t.Errorf("%s: %s, %s", id, run.State, run.outcomes())
		}
		p.cancelled(id, 200, "cancelled")
	}
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the connection of the webhook was not closed")
	}
	if pids := living("NIGHTSHIFT_RUN=" + running); pids != nil {
		t.Errorf("processes %v live on", pids)
	}
	// Their slots are free again.
	p.call("POST", "/v1/dependencies/lent/resume", nil, nil)
	p.put("script", script("exit 0", doc{"concurrency": doc{"limit": 1}}))
	for _, job := range []string{"script", "fine"} {
		run := p.end(p.enqueue(job, nil))
		if p.cancelled(run.ID, 409, ""); run.State != "succeeded" || p.run(run.ID).State != "succeeded" {
			t.Errorf("%s: %s", job, run.State)
		}
	}
	next := p.enqueue("calls", nil)
	p.waiting(s, next).said("POST", "complete", "")
	p.cancelled(next, 409, "")
	bad := p.end(p.enqueue("bad", nil))
	if p.cancelled(bad.ID, 409, ""); p.run(bad.ID).State != "failed" {
		t.Errorf("a failed run is %s now", p.run(bad.ID).State)
	}
	p = p.kill9()
	for _, id := range append(idle, running, hangs) {
		if run := p.run(id); run.State != "cancelled" {
			t.Errorf("after a kill %s is %s", id, run.State)
		}
	}
}

func TestWhatWasCancelledNeverSucceedsOrIsTriedAgain(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	asked := make(chan struct{})
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fine" { // its answer and the cancel cross
			<-asked
			_, _ = io.WriteString(w, "{}")
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	})
	touch := `touch "` + p.dir + `/$NIGHTSHIFT_JOB"; while :; do sleep 0.02; done`
	p.put("polite", script(`trap 'nightshift result 1; nightshift progress 1/1; exit 0' TERM; `+touch, nil))
	p.put("passing", script(`trap 'exit 75' TERM; `+touch, nil))
	p.put("reports", script(`trap 'nightshift fail --retryable m; exit 1' TERM; `+touch, nil))
	p.put("dies", script(`trap 'while :; do sleep 0.02; done' TERM; `+touch, nil))
	p.put("hook", doc{"webhook": doc{"url": s.URL + "/hangs"}})
	p.put("fine", doc{"webhook": doc{"url": s.URL + "/fine"}})
	for _, job := range []string{"polite", "passing", "reports"} {
		id := p.enqueue(job, nil)
		p.waitFor(job)
		p.cancelled(id, 202, "running")
		if run := p.end(id); run.State != "cancelled" || len(run.Attempts) != 1 || run.Attempts[0].Outcome != "cancelled" || string(run.Result) != "null" {
			t.Errorf("%s: %s, %s, result %s", job, run.State, run.outcomes(), run.Result)
		}
	}
	crossing := p.enqueue("fine", nil)
	p.until("it is called", func() bool { return len(s.deliveries()) == 1 })
	p.cancelled(crossing, 202, "running")
	close(asked)
	if run := p.end(crossing); run.State != "cancelled" {
		t.Errorf("its answer made it %s", run.State)
	}
	// The server dies before what was acknowledged has come about.
	dies, hook := p.enqueue("dies", nil), p.enqueue("hook", nil)
	p.waitFor("dies")
	p.until("it is called", func() bool { return len(s.deliveries()) == 2 })
	p.cancelled(dies, 202, "running")
	_, _, _ = p.try("POST", "/v1/runs/"+hook+"/cancel", nil)
	p = p.kill9()
	for _, id := range []string{dies, hook} {
		run := p.end(id)
		if run.State != "cancelled" || len(run.Attempts) != 1 {
			t.Errorf("after a kill: %s, %s", run.State, run.outcomes())
		}
	}
	if n := len(s.deliveries()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestTimeoutEndsWhatSaysOtherwise(t *testing.T) { // case 87
	t.Parallel()
	p := start(t, t.TempDir())
	late := doc{"timeout": "500ms", "retry": doc{"max_attempts": 1}}
	p.put("polite", script(`trap 'nightshift result 1; exit 0' TERM; while :; do sleep 0.02; done`, late))
	p.put("reports", script(`nightshift result 2; trap 'nightshift fail m; exit 3' TERM; while :; do sleep 0.02; done`, late))
	for _, job := range []string{"polite", "reports"} {
		run := p.end(p.enqueue(job, nil))
		if run.State != "failed" || run.outcomes() != "failed:timeout" || string(run.Result) != "null" {
			t.Errorf("%s: %s", job, fmt.Sprint(run.State, run.outcomes(), string(run.Result)))
		}
	}
}
