package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// again answers that a slice is done and from where the next one goes on.
func again(w http.ResponseWriter, checkpoint string) {
	w.Header().Set("Nightshift-Continue", "true")
	fmt.Fprintf(w, `{"checkpoint": %s, "progress": {"done": %d, "total": 9}}`, checkpoint, len(checkpoint))
}

// keysOf are the idempotency keys of the requests of a run, without what they have in common.
func (s *sink) keysOf(run *aRun) string {
	var keys []string
	for _, d := range s.deliveries() {
		if d.header.Get("Nightshift-Run") == run.ID {
			keys = append(keys, strings.TrimPrefix(d.header.Get("Idempotency-Key"), run.OperationID))
		}
	}
	return strings.Join(keys, " ")
}

// toldOf are the checkpoints that the requests of a run brought.
func (s *sink) toldOf(run *aRun) string {
	var told []string
	for _, d := range s.deliveries() {
		if d.header.Get("Nightshift-Run") == run.ID {
			told = append(told, d.header.Get("Nightshift-Checkpoint"))
		}
	}
	return strings.Join(told, " ")
}

func TestSlicesAreRequestsOfOneAttempt(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		v := &voice{t, r.Header.Get("Nightshift-Callback"), "", r.Header.Get("Nightshift-Token")}
		v.said("POST", "log", fmt.Sprintf(`{"text": "slice %d"}`, n))
		switch n {
		case 1:
			again(w, `{"at":  "é"}`)
		case 2:
			again(w, `{"at": 2}`)
		default:
			w.Header().Set("Nightshift-Continue", "false")
			_, _ = io.WriteString(w, `{"checkpoint": 3, "rows": 9}`)
		}
	})
	p.put("long", doc{"webhook": doc{"url": s.URL, "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "timeout": "1m"})
	run := p.end(p.enqueue("long", nil))
	if run.State != "succeeded" || run.outcomes() != "succeeded" || run.Attempt != 1 || run.Attempts[0].Slices != 3 {
		t.Fatalf("%s: %s, %+v", run.State, run.outcomes(), run.Attempts)
	}
	if string(run.Result) != `{"checkpoint": 3, "rows": 9}` || run.Progress == nil || run.Progress.Done != 9 || p.checkpoint(run.ID) != "" {
		t.Errorf("result %s, progress %+v, checkpoint %q", run.Result, run.Progress, p.checkpoint(run.ID))
	}
	if keys, told := s.keysOf(run), s.toldOf(run); keys != " -1 -2" || told != ` {"at":"\u00e9"} {"at":2}` {
		t.Errorf("keys %q, told %q", keys, told)
	}
	if text := p.logOf(run.ID); text != "slice 1\nslice 2\nslice 3\n" {
		t.Errorf("the log is %q", text)
	}
	var last string
	for i, d := range s.deliveries() {
		if d.header.Get("Webhook-Id") != d.header.Get("Idempotency-Key") || d.header.Get("Nightshift-Attempt") != "1" {
			t.Errorf("slice %d: %v", i+1, d.header)
		}
		if deadline := d.header.Get("Nightshift-Deadline"); deadline <= last {
			t.Errorf("slice %d has the deadline %s, the one before %s", i+1, deadline, last)
		} else {
			last = deadline
		}
	}
	p.cli("runs", "show", run.ID).want(0).has("succeeded, 3 slices")
	first, third := p.voiceOf(s.deliveries()[0]), p.voiceOf(s.deliveries()[2])
	if first.token != third.token {
		t.Error("the slices of an attempt have tokens of their own")
	}
}

func TestBadSlicesFailAsInvalid(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Nightshift-Continue", "true")
		switch r.URL.Path {
		case "/same":
			if r.Header.Get("Nightshift-Checkpoint") == "" {
				_, _ = io.WriteString(w, `{"checkpoint": {"a": 1, "b": 2}}`)
				return
			}
			_, _ = io.WriteString(w, `{"checkpoint": {"b":2,"a":1}}`)
		case "/none":
			_, _ = io.WriteString(w, `{"progress": {"done": 1}}`)
		case "/null":
			_, _ = io.WriteString(w, `{"checkpoint": null}`)
		case "/large":
			_, _ = io.WriteString(w, `{"checkpoint": "`+strings.Repeat("é", 700)+`"}`)
		case "/list":
			_, _ = io.WriteString(w, `[1]`)
		case "/text":
			_, _ = io.WriteString(w, `more`)
		case "/bad":
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{"checkpoint": 1}`)
		}
	})
	for path, want := range map[string]struct{ kind, says string }{
		"same": {"invalid", "never end"}, "none": {"invalid", "checkpoint"}, "null": {"invalid", "checkpoint"}, "large": {"invalid", "4096"},
		"list": {"invalid", ""}, "text": {"invalid", ""}, "bad": {"http", "404"},
	} {
		p.put(path, doc{"webhook": doc{"url": s.URL + "/" + path}, "retry": doc{"backoff": quick}})
		run := p.end(p.enqueue(path, nil))
		if run.State != "failed" || run.Error.Kind != want.kind || !strings.Contains(run.Error.Message, want.says) || len(run.Attempts) != 1 {
			t.Errorf("%s: %s %+v", path, run.State, run.Error)
		}
	}
}

func TestGoodSliceStartsTheCountAnew(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 2, 4: // one failure behind each good slice: more in all than max_attempts has
			w.WriteHeader(500)
		case 1, 3, 5:
			again(w, fmt.Sprint(n))
		case 6:
			w.WriteHeader(400)
		case 7:
			again(w, `"requeued"`)
		}
	})
	p.unguarded(s.URL)
	p.put("long", doc{"webhook": doc{"url": s.URL}, "retry": doc{"max_attempts": 2, "backoff": quick}})
	run := p.end(p.enqueue("long", nil))
	if run.State != "failed" || run.outcomes() != "failed:http failed:http failed:http" {
		t.Fatalf("%s: %s", run.State, run.outcomes())
	}
	if a := run.Attempts; a[0].Slices != 2 || a[1].Slices != 2 || a[2].Slices != 2 {
		t.Errorf("slices %d, %d, %d, want 2 each: a good one and the one that failed", a[0].Slices, a[1].Slices, a[2].Slices)
	}
	if keys, told := s.keysOf(run), s.toldOf(run); keys != " -1 -1 -2 -2 -3" || told != " 1 1 3 3 5" {
		t.Errorf("keys %q, told %q", keys, told)
	}
	var attempts []string
	for _, d := range s.deliveries() {
		attempts = append(attempts, d.header.Get("Nightshift-Attempt"))
	}
	if got := strings.Join(attempts, " "); got != "1 1 2 1 2 1" {
		t.Errorf("Nightshift-Attempt was %s: a good slice starts the count anew", got)
	}
	var next aRun
	p.call("POST", "/v1/runs/"+run.ID+"/requeue", nil, &next)
	again := p.end(next.ID)
	if keys, told := s.keysOf(again), s.toldOf(again); again.State != "succeeded" || keys != "-3 -4" || told != `5 "requeued"` {
		t.Errorf("requeued: %s, keys %q, told %q", again.State, keys, told)
	}
}

// between has a run between two slices, held by a dependency that is paused.
func between(t *testing.T, job doc) (p *process, s *sink, id string) {
	t.Helper()
	p = start(t, t.TempDir())
	s = newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 2 {
			_, _ = io.WriteString(w, `"done"`)
			return
		}
		if n == 2 {
			if status := p.call("POST", "/v1/dependencies/lent/pause", nil, nil); status != 200 {
				t.Errorf("pause: %d", status)
			}
		}
		again(w, fmt.Sprint(n))
	})
	job["webhook"], job["dependencies"] = doc{"url": s.URL}, []string{"lent"}
	p.put("long", job)
	if status := p.call("PUT", "/v1/dependencies/lent", doc{}, nil); status/100 != 2 {
		t.Fatalf("PUT: %d", status)
	}
	id = p.enqueue("long", nil)
	p.awaitRun(id, "it is between two slices", func(r *aRun) bool { return r.State == "running" && r.HeldBy != nil })
	return p, s, id
}

func TestRunBetweenSlicesIsHeldKeepsItsSlotAndOutlivesAKill(t *testing.T) {
	t.Parallel()
	p, s, id := between(t, doc{"concurrency": doc{"limit": 1}})
	second := p.enqueue("long", nil)
	p.put("other", doc{"webhook": doc{"url": s.URL}})
	check := func() {
		t.Helper()
		run := p.run(id)
		if run.State != "running" || run.HeldBy == nil || run.HeldBy.Kind != "dependency" || run.HeldBy.Name != "lent" ||
			len(run.Attempts) != 1 || run.Attempts[0].Number != 1 || run.Attempts[0].Outcome != "" || p.checkpoint(id) != "2" {
			t.Errorf("%s, held by %+v, %+v", run.State, run.HeldBy, run.Attempts)
		}
		if run := p.run(second); run.State != "queued" || run.HeldBy == nil || len(run.Attempts) != 0 {
			t.Errorf("the second is %s, held by %+v", run.State, run.HeldBy)
		}
		p.cli("runs", "show", id).want(0).has("It runs since", "in 2 slices so far. Its next slice has not started: ", "lent is paused", "Progress: 1 of 9")
		p.cli("runs", "--state", "running").want(0).has(id)
	}
	check()
	p = p.kill9()
	check()
	if run := p.end(p.enqueue("other", nil)); run.State != "succeeded" {
		t.Errorf("another job: %s", run.State)
	}
	if n := len(s.deliveries()); n != 3 {
		t.Errorf("%d requests while it was held, want 2 and that of another", n)
	}
	p.call("POST", "/v1/dependencies/lent/resume", nil, nil)
	run := p.end(id)
	if run.State != "succeeded" || run.outcomes() != "succeeded" || run.Attempts[0].Slices != 3 || s.keysOf(run) != " -1 -2" {
		t.Errorf("%s: %s, keys %q", run.State, run.outcomes(), s.keysOf(run))
	}
	next := p.end(second)
	if next.State != "succeeded" || next.Attempts[0].StartedAt.Before(run.Attempts[0].FinishedAt) {
		t.Errorf("the second: %s, started %v, the first ended %v", next.State, next.Attempts[0].StartedAt, run.Attempts[0].FinishedAt)
	}
}

func TestPauseOfTheJobActsBetweenSlices(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 2 {
			p.call("POST", "/v1/jobs/long/pause", doc{"note": "until monday"}, nil)
		}
		if n < 4 {
			again(w, fmt.Sprint(n))
		}
	})
	p.put("long", doc{"webhook": doc{"url": s.URL}})
	id := p.enqueue("long", nil)
	p.awaitRun(id, "it is held", func(r *aRun) bool {
		return r.State == "running" && r.HeldBy != nil && r.HeldBy.Kind == "paused"
	})
	p.end(p.enqueueOther())
	if n := len(s.deliveries()); n != 2 {
		t.Errorf("%d requests though the job is paused", n)
	}
	p.cli("resume", "long").want(0)
	if run := p.end(id); run.outcomes() != "succeeded" || run.Attempts[0].Slices != 4 {
		t.Errorf("%s: %+v", run.outcomes(), run.Attempts)
	}
}

func TestKillInASliceGoesOnFromTheLastGoodOne(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 1, 2:
			again(w, fmt.Sprint(n))
		case 3:
			<-r.Context().Done()
		}
	})
	p.put("long", doc{"webhook": doc{"url": s.URL}})
	id := p.enqueue("long", nil)
	p.until("the third slice", func() bool { return len(s.deliveries()) == 3 })
	lost := p.voiceOf(s.deliveries()[2])
	p = p.kill9()
	run := p.end(id)
	lost.at(p).refusedAll("its attempt is lost", 409, "over")
	if run.State != "succeeded" || run.outcomes() != "interrupted:lost succeeded" || run.Attempt != 1 {
		t.Errorf("%s: %s, attempt %d", run.State, run.outcomes(), run.Attempt)
	}
	if keys, told := s.keysOf(run), s.toldOf(run); keys != " -1 -2 -2" || told != " 1 2 2" {
		t.Errorf("keys %q, told %q", keys, told)
	}
}
