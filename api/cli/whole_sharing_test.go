package cli_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// aDependency is what these tests read of a dependency.
type aDependency struct {
	Kind, State, Reason string
	NextProbeAt         string `json:"next_probe_at"`
	Waiting             int
	Paused              bool
}

func (p *process) dependency(name string) (d aDependency) {
	p.t.Helper()
	if status := p.call("GET", "/v1/dependencies/"+name, nil, &d); status != 200 {
		p.t.Fatalf("GET dependency %s: %d", name, status)
	}
	return d
}

func TestASickHostIsHeldAsAWholeUntilItIsReset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	var good atomic.Bool
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !good.Load() {
			w.WriteHeader(503)
		}
	})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.put("call", doc{"webhook": doc{"url": s.URL}, "retry": doc{"max_attempts": 1}})
	for range 5 {
		p.end(p.enqueue("call", nil))
	}
	if d := p.dependency(u.Host); d.State != "open" || d.Kind != "host" || !strings.Contains(d.Reason, "5 errors in a row") {
		t.Fatalf("after five errors: %+v", d)
	}
	var held []string
	for range 3 {
		held = append(held, p.enqueue("call", nil))
	}
	p = p.kill9() // it survives that
	d := p.dependency(u.Host)
	if d.State != "open" || d.Waiting != 3 {
		t.Errorf("after a restart: %+v", d)
	}
	for _, id := range held {
		run := p.run(id)
		if run.State != "queued" || run.HeldBy.Kind != "dependency" || run.HeldBy.Name != u.Host || run.HeldBy.Until != d.NextProbeAt {
			t.Errorf("a run that waits: %s, %+v, the probe is at %s", run.State, run.HeldBy, d.NextProbeAt)
		}
	}
	p.cli("dependencies", "show", u.Host).want(0).has("The host "+u.Host+" is open: 5 errors in a row", "HTTP 503", "waiting")
	p.cli("dependencies").want(0).has(u.Host, "open")
	p.cli("runs", "show", held[0]).want(0).has("It has not started: the host "+u.Host+" is held by its breaker",
		"; it may start in ")
	p.cli("runs").want(0).has("the host " + u.Host)
	if n := len(s.deliveries()); n != 5 {
		t.Errorf("%d requests came, want the first 5", n)
	}
	good.Store(true)
	p.cli("dependencies", "reset", u.Host).want(0).has("calls flow")
	for _, id := range held {
		if run := p.end(id); run.State != "succeeded" || run.Attempt != 1 {
			t.Errorf("let go: %s, attempt %d: waiting must not count", run.State, run.Attempt)
		}
	}
}

func TestARetryAfterHoldsTheHostForAll(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
	})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "other"} {
		p.put(name, doc{"webhook": doc{"url": s.URL + "/" + name}, "retry": doc{"max_attempts": 1}})
	}
	p.end(p.enqueue("one", nil))
	run := p.run(p.enqueue("other", nil))
	if run.State != "queued" || run.HeldBy.Kind != "dependency" || !strings.Contains(run.HeldBy.Reason, "Retry-After") {
		t.Fatalf("another job: %s, %+v", run.State, run.HeldBy)
	}
	until, err := time.Parse(time.RFC3339, run.HeldBy.Until)
	if err != nil || time.Until(until) < 50*time.Minute {
		t.Errorf("held until %s: %v", run.HeldBy.Until, err)
	}
	p.cli("dependencies", "show", u.Host).want(0).has("is held: it has asked to be left alone (Retry-After)")
	p.cli("runs", "show", run.ID).want(0).has("It has not started: the host " + u.Host + " has asked to be left alone")
	p.cli("dependencies", "reset", u.Host).want(0).has("calls flow")
	p.end(run.ID)
}

func TestAPausedQueueStartsNothingOverARestart(t *testing.T) { // case 69
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	p.put("mail", doc{"webhook": doc{"url": s.URL + "/mail"}, "queue": "mail"})
	p.put("plain", doc{"webhook": doc{"url": s.URL + "/plain"}, "dependencies": []string{"lock"}})
	p.cli("pause", "queue/mail", "--note", "it moves").want(0)
	p.cli("pause", "dependency/lock").want(0)
	held := []string{p.enqueue("mail", nil), p.enqueue("mail", nil), p.enqueue("plain", nil)}
	p = p.kill9()
	p.put("beside", doc{"webhook": doc{"url": s.URL + "/beside"}})
	for range 3 { // the server starts what it may
		p.end(p.enqueue("beside", nil))
	}
	for i, id := range held {
		kind, want := "paused", "the queue mail is paused: it moves"
		if i == 2 {
			kind, want = "dependency", "the dependency lock is paused"
		}
		if run := p.run(id); run.State != "queued" || run.HeldBy.Kind != kind || run.HeldBy.Reason != want {
			t.Errorf("%s, %+v, want it held: %s", run.State, run.HeldBy, want)
		}
	}
	if slices.ContainsFunc(s.deliveries(), func(d delivery) bool { return d.path != "/beside" }) {
		t.Errorf("something started: %+v", s.deliveries())
	}
	p.cli("queues").want(0).has("paused: it moves")
	if o := p.cli("runs", "--queue", "mail").want(0); strings.Count(o.stdout, "the queue mail is paused: it moves") != 2 {
		t.Errorf("the list does not say why: %s", o.stdout)
	}
	p.cli("resume", "queue/mail").want(0)
	p.cli("resume", "dependency/lock").want(0)
	for _, id := range held {
		if run := p.end(id); run.State != "succeeded" {
			t.Errorf("resumed: %s", run.State)
		}
	}
}
