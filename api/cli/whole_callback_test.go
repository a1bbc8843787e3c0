package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// takesOn answers 202; a path decides otherwise.
func takesOn(_ int, w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/done":
		_, _ = io.WriteString(w, `"at once"`)
	case "/bad":
		w.WriteHeader(400)
	default:
		w.WriteHeader(202)
	}
}

// callsBack is a job of completion callback.
func callsBack(url string, more doc) doc {
	job := doc{"webhook": doc{"url": url, "completion": "callback"}, "retry": doc{"backoff": quick}}
	for name, value := range more {
		if name == "heartbeat_timeout" {
			job["webhook"].(doc)[name] = value
			continue
		}
		job[name] = value
	}
	return job
}

// waiting waits until a run waits for its callback, and gives the voice of its last attempt.
func (p *process) waiting(s *sink, id string) *voice {
	p.t.Helper()
	p.awaitRun(id, "it waits", func(r *aRun) bool { return r.State == "waiting" })
	return p.voiceOf(s.last(p, id))
}

// last is the last request of a run.
func (s *sink) last(p *process, id string) (last delivery) {
	p.t.Helper()
	for _, d := range s.deliveries() {
		if d.header.Get("Nightshift-Run") == id {
			last = d
		}
	}
	if last.header == nil {
		p.t.Fatalf("no request of %s came", id)
	}
	return last
}

func TestRunThatWasTakenOnEndsAsItIsToldOverARestart(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--workers", "1")
	s := newSink(t, takesOn)
	p.put("calls", callsBack(s.URL, doc{
		"concurrency": doc{"limit": 5}, "heartbeat_timeout": "1h", "retry": doc{"backoff": quick, "interrupted": "fail"},
	}))
	p.put("done", callsBack(s.URL+"/done", nil))
	p.put("bad", callsBack(s.URL+"/bad", nil))
	ids := map[string]string{}
	for _, name := range []string{"completed", "failed", "tried again", "late", "left"} {
		ids[name] = p.enqueue("calls", nil)
		p.waiting(s, ids[name])
	}
	held := p.enqueue("calls", nil)
	// They hold their slots and no worker.
	if run := p.end(p.enqueue("done", nil)); run.State != "succeeded" || string(run.Result) != `"at once"` {
		t.Errorf("200 is %s with %s", run.State, run.Result)
	}
	if run := p.end(p.enqueue("bad", nil)); run.State != "failed" || run.Error.Kind != "http" {
		t.Errorf("400 is %s: %+v", run.State, run.Error)
	}
	if run := p.run(held); run.State != "queued" || run.HeldBy == nil || run.HeldBy.Kind != "concurrency" {
		t.Errorf("the sixth is %s, held by %+v", run.State, run.HeldBy)
	}
	run := p.run(ids["left"])
	if a := run.Attempts; len(a) != 1 || a[0].Outcome != "" || run.WaitingUntil.Sub(a[0].StartedAt).Round(time.Second) != 24*time.Hour {
		t.Errorf("a waiting run shows %+v, waiting until %v", a, run.WaitingUntil)
	}
	p.cli("runs", "--state", "waiting").want(0).has(ids["left"], "waiting")
	p.cli("runs", "show", ids["left"]).want(0).has("It waits for its callback since", "It must have called back by", "(in ", "A heartbeat is due every 1h.")

	heard := func(name string) *voice { return p.voiceOf(s.last(p, ids[name])) }
	completed := heard("completed")
	completed.said("PUT", "checkpoint", "1")
	completed.said("POST", "progress", `{"done": 1}`)
	completed.said("POST", "log", `{"text": "from afar"}`)
	heard("failed").said("PUT", "checkpoint", `"kept"`)
	if answer := completed.said("POST", "complete", `{"result": {"a":  1}}`); !strings.Contains(answer, `"state":"succeeded"`) {
		t.Errorf("it is told %s", answer)
	}
	if run := p.run(ids["completed"]); run.State != "succeeded" || string(run.Result) != `{"a":  1}` || p.logOf(run.ID) != "from afar\n" ||
		run.Progress == nil || run.Progress.Done != 1 || p.checkpoint(run.ID) != "" || run.Attempts[0].HTTPStatus != 202 {
		t.Errorf("%s with %s, %+v", run.State, run.Result, run.Attempts)
	}
	before := map[string]*voice{}
	for name := range ids {
		before[name] = heard(name)
	}
	p.awaitRun(held, "there is room for it", func(r *aRun) bool { return r.State == "waiting" }) // else the kill may end its attempt
	p = p.kill9("--workers", "1")
	after := func(name string) *voice { return before[name].at(p) }
	for range 2 { // the answer may have been lost
		after("completed").said("POST", "complete", `{"result": "other"}`)
		after("failed").said("POST", "fail", `{"type": "Gone", "message": "no such user", "retryable": false}`)
	}
	if run := p.run(ids["completed"]); string(run.Result) != `{"a":  1}` {
		t.Errorf("a repeated complete changed the result to %s", run.Result)
	}
	if run := p.run(ids["failed"]); run.State != "failed" || run.Error.Kind != "reported" || run.Error.Type != "Gone" ||
		len(run.Attempts) != 1 || p.checkpoint(run.ID) != `"kept"` {
		t.Errorf("%s: %+v", run.State, run.Error)
	}
	if status, answer := after("completed").say("POST", "fail", ""); status != 409 {
		t.Errorf("fail after complete: %d %s", status, answer)
	}
	if status, answer := after("failed").say("POST", "complete", ""); status != 409 {
		t.Errorf("complete after fail: %d %s", status, answer)
	}
	after("tried again").said("POST", "fail", `{"message": "not yet", "retryable": true}`)
	p.awaitRun(ids["tried again"], "it waits again", func(r *aRun) bool { return r.State == "waiting" && len(r.Attempts) == 2 })
	after("tried again").refusedAll("the attempt before", 409, "over", "fail")
	p.voiceOf(s.last(p, ids["tried again"])).said("POST", "complete", "")
	if run := p.end(ids["tried again"]); run.outcomes() != "failed:reported succeeded" || string(run.Result) != "null" {
		t.Errorf("%s with %s", run.outcomes(), run.Result)
	}
	if run := p.run(held); run.State != "waiting" {
		t.Errorf("the sixth is %s", run.State)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 { // nothing of it is under way for a stop
		t.Errorf("exit code %d", code)
	}
	p = start(t, p.dir)
	if run := p.run(ids["left"]); run.State != "waiting" || len(run.Attempts) != 1 {
		t.Errorf("after a stop it is %s: %s", run.State, run.outcomes())
	}
	after("left").said("POST", "complete", `{"result": 2}`)
	if run := p.run(ids["left"]); run.State != "succeeded" || string(run.Result) != "2" || run.outcomes() != "succeeded" {
		t.Errorf("%s: %s", run.State, run.outcomes())
	}
	if run := p.run(ids["late"]); run.State != "waiting" {
		t.Errorf("%s: %s", run.State, run.outcomes())
	}
	if status := p.call("DELETE", "/v1/jobs/calls", nil, nil); status/100 != 2 {
		t.Fatalf("delete: %d", status)
	}
	if run := p.run(ids["late"]); run.State != "cancelled" || run.outcomes() != "cancelled" {
		t.Errorf("with its job gone it is %s: %s", run.State, run.outcomes())
	}
	after("late").refusedAll("its job is gone", 409, "over")
}

func TestWhatIsSaidBeforeTheRequestIsAnsweredOutlivesAKill(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			v := &voice{t, r.Header.Get("Nightshift-Callback"), "", r.Header.Get("Nightshift-Token")}
			v.said("POST", "complete", `{"result": "acknowledged"}`)
			w.WriteHeader(500)
			return
		}
		if r.URL.Path == "/early" {
			v := &voice{t, r.Header.Get("Nightshift-Callback"), "", r.Header.Get("Nightshift-Token")}
			v.said("POST", "fail", `{"message": "at once", "retryable": false}`)
			w.WriteHeader(202)
			return
		}
		<-r.Context().Done()
	})
	p.put("calls", callsBack(s.URL, nil))
	p.put("bad", callsBack(s.URL+"/bad", nil))
	if run := p.end(p.enqueue("bad", nil)); run.State != "succeeded" || string(run.Result) != `"acknowledged"` {
		t.Errorf("what was acknowledged came to %s, %s", run.State, run.Result)
	}
	p.put("early", callsBack(s.URL+"/early", nil))
	if run := p.end(p.enqueue("early", nil)); run.State != "failed" || run.outcomes() != "failed:reported" || run.Error.Message != "at once" {
		t.Errorf("202 after fail: %s: %+v", run.State, run.Error)
	}
	completed, failed, cancelled := p.enqueue("calls", nil), p.enqueue("calls", nil), p.enqueue("calls", nil)
	p.until("they are called", func() bool { return len(s.deliveries()) == 5 })
	p.voiceOf(s.last(p, completed)).said("POST", "complete", `{"result": 1}`)
	p.voiceOf(s.last(p, failed)).said("POST", "fail", `{"message": "m", "retryable": false}`)
	p.voiceOf(s.last(p, cancelled)).said("POST", "complete", `{"result": 1}`)
	db := p.dir + "/nightshift.db"
	if said := sqlite(t, db, "SELECT count(*) FROM runs WHERE said IS NOT NULL"); said != "3\n" {
		t.Errorf("%s of 3 are on disk", said)
	}
	if status := p.call("POST", "/v1/runs/"+cancelled+"/cancel", nil, nil); status/100 != 2 {
		t.Errorf("cancel: %d", status)
	}
	p = p.kill9()
	if run := p.end(completed); run.State != "succeeded" || string(run.Result) != "1" || run.outcomes() != "succeeded" {
		t.Errorf("completed: %s with %s: %s", run.State, run.Result, run.outcomes())
	}
	if run := p.end(failed); run.State != "failed" || run.outcomes() != "failed:reported" {
		t.Errorf("failed: %s: %s", run.State, run.outcomes())
	}
	if run := p.end(cancelled); run.State != "cancelled" {
		t.Errorf("cancelled: %s: %s", run.State, run.outcomes())
	}
	if n := len(s.deliveries()); n != 5 {
		t.Errorf("%d requests, want 5: nothing was to be done again", n)
	}
}

func TestSilenceAndDeadlineEndAWaitingRun(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, takesOn)
	once := doc{"max_attempts": 1}
	p.put("silent", callsBack(s.URL, doc{"heartbeat_timeout": "400ms", "retry": doc{"max_attempts": 2, "backoff": quick}}))
	p.put("beats", callsBack(s.URL, doc{"heartbeat_timeout": "600ms", "retry": once}))
	p.put("late", callsBack(s.URL, doc{"timeout": "700ms", "heartbeat_timeout": "600ms", "retry": once}))
	silent, beats, late := p.enqueue("silent", nil), p.enqueue("beats", nil), p.enqueue("late", nil)
	alive, slow := p.waiting(s, beats), p.waiting(s, late)
	began := time.Now()
	for i := 0; time.Since(began) < 1500*time.Millisecond; i++ {
		call := everything[i%2*4] // any call is a heartbeat
		alive.said(call.method, call.name, call.body)
		if status, _ := slow.say("POST", "progress", `{"done": 1}`); status == 409 && time.Since(began) < 500*time.Millisecond {
			t.Error("it was over before its deadline")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if run := p.run(beats); run.State != "waiting" {
		t.Errorf("it was heard of and is %s: %+v", run.State, run.Error)
	}
	alive.said("POST", "complete", "")
	run := p.end(silent)
	if run.State != "failed" || run.outcomes() != "failed:heartbeat failed:heartbeat" || run.Error.Message != "no heartbeat for 400ms" {
		t.Errorf("%s: %s: %+v", run.State, run.outcomes(), run.Error)
	}
	for _, a := range run.Attempts {
		if lasted := a.FinishedAt.Sub(a.StartedAt); lasted < 400*time.Millisecond {
			t.Errorf("attempt %d was given up after %v", a.Number, lasted)
		}
	}
	if run := p.end(late); run.State != "failed" || run.outcomes() != "failed:timeout" {
		t.Errorf("%s: %s: %+v", run.State, run.outcomes(), run.Error)
	}
	p.voiceOf(s.last(p, silent)).refusedAll("it was silent", 409, "over")
	slow.refusedAll("it was late", 409, "over")
}

func TestStartGivesAWholeHeartbeatToThoseThatWait(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, takesOn)
	p.put("calls", callsBack(s.URL, doc{"heartbeat_timeout": "1s", "retry": doc{"max_attempts": 1}}))
	id := p.enqueue("calls", nil)
	v := p.waiting(s, id)
	time.Sleep(700 * time.Millisecond) // most of the silence that it may keep
	before := time.Now()
	p = p.kill9()
	time.Sleep(time.Until(before.Add(400 * time.Millisecond))) // past what was left of it
	if status, answer := v.at(p).say("GET", "checkpoint", ""); status != 200 {
		t.Errorf("it was given up: %d %s", status, answer)
	}
	run := p.end(id)
	if lasted := run.Attempts[0].FinishedAt.Sub(before); run.outcomes() != "failed:heartbeat" || lasted < time.Second {
		t.Errorf("%s, %v after the kill", run.outcomes(), lasted)
	}
}

func TestRunOnTheCommandLineFollowsWorkThatWasTakenOn(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, takesOn)
	p.put("calls", callsBack(s.URL, nil))
	done := make(chan *output, 1)
	go func() { done <- p.cli("run", "calls", "--wait") }()
	p.until("it is called", func() bool { return len(s.deliveries()) == 1 })
	v := p.voiceOf(s.deliveries()[0])
	for i := range 3 {
		v.said("POST", "log", fmt.Sprintf(`{"text": "line %d"}`, i))
	}
	v.said("POST", "complete", `{"result": 1}`)
	if o := (<-done).want(0); o.stdout != "line 0\nline 1\nline 2\n" {
		t.Errorf("it printed %q, %q", o.stdout, o.stderr)
	}
}
