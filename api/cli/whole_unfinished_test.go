package cli_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// standing is what the server says of the runs that have not ended.
type standing struct {
	Unfinished    int
	MaxUnfinished *int `json:"max_unfinished"`
}

func (p *process) standing() (s standing) {
	p.t.Helper()
	if status := p.call("GET", "/v1/server", nil, &s); status != 200 || s.MaxUnfinished == nil {
		p.t.Fatalf("the server answers %d %+v", status, s)
	}
	return s
}

// crowded is a server in which as many runs wait for tomorrow as there may be, and what it was told to do.
func crowded(t *testing.T) (p *process, failed string, waiting []string) {
	p = start(t, t.TempDir(), "--max-unfinished", "3")
	p.set("DOOR", "the-secret-of-the-door").want(0)
	p.cli("apply", "-f", write(t, p.dir, "jobs.yaml", `
jobs:
  later: {script: "true"}
  fails: {script: "exit 1", retry: {max_attempts: 1}}
  next: {script: "true"}
  tell: {script: "true"}
  door: {script: "true", inbound: [{name: in, verify: secret, secret: "{{ secrets.DOOR }}"}]}
  pair: {group: {members: [{name: a, job: next}, {name: b, job: next}], merge: {job: next}}}
`)).want(0)
	p.cli("run", "fails", "--wait").want(1)
	p.cli("run", "fails", "--wait").want(1)
	failed = p.runsOf("job=fails")[0].ID
	p.until("the failures have ended", func() bool { return p.standing().Unfinished == 0 })
	for range 3 {
		var run aRun
		if status := p.call("POST", "/v1/jobs/later/runs", `{"delay":"1d","idempotency_key":"k`+fmt.Sprint(len(waiting))+`"}`, &run); status != 202 {
			t.Fatalf("POST answers %d", status)
		}
		waiting = append(waiting, run.ID)
	}
	return p, failed, waiting
}

func TestNewRunsAreRefusedWhereTooManyHaveNotEnded(t *testing.T) {
	p, failed, waiting := crowded(t)
	for path, body := range map[string]string{
		"/v1/jobs/later/runs":                 `{}`,
		"/v1/runs/batch":                      `{"runs":[{"job":"later"},{"job":"next"}]}`,
		"/v1/groups":                          `{"members":[{"name":"a","job":"next"}]}`,
		"/v1/runs/" + failed + "/requeue":     `{}`,
		"/v1/failures/" + failed + "/requeue": `{}`,
	} {
		status, text, err := p.try("POST", path, body)
		if err != nil || status != 429 || !strings.Contains(string(text), "urn:nightshift:problem:too-many-runs") ||
			!strings.Contains(string(text), "3 runs have not ended, 3 are the most there may be") {
			t.Errorf("%s answers %d %s, %v", path, status, text, err)
		}
	}
	p.cli("run", "later").want(1).has("Too many runs have not ended", "--max-unfinished")
	r := p.turnedAway(parcel{path: "door/in/the-secret-of-the-door", body: `{"a":1}`}, 429, "too-many-runs")
	if r.retryAfter != "10" {
		t.Errorf("Retry-After is %q", r.retryAfter)
	}
	var run aRun
	if status := p.call("POST", "/v1/jobs/later/runs", `{"delay":"1d","idempotency_key":"k1"}`, &run); status != 200 || run.ID != waiting[1] {
		t.Errorf("the key of a run that stands answers %d %s, want 200 %s", status, run.ID, waiting[1])
	}
	if s := p.standing(); s.Unfinished != 3 || *s.MaxUnfinished != 3 {
		t.Errorf("the server says %d of %d", s.Unfinished, *s.MaxUnfinished)
	}
	for _, line := range []string{"\nnightshift_unfinished_runs 3\n", "\nnightshift_unfinished_runs_limit 3\n"} {
		if text := p.metrics(); !strings.Contains(text, line) {
			t.Errorf("no %q in the metrics", line)
		}
	}

	// An order waits for room, and goes on by itself.
	var order struct {
		ID, State string
		Done      int
	}
	if status := p.call("POST", "/v1/failures/requeue", `{"all":true}`, &order); status != 202 {
		t.Fatalf("the order answers %d", status)
	}
	time.Sleep(time.Second) // nothing is to happen
	p.call("GET", "/v1/requeues/"+order.ID, nil, &order)
	if order.State != "running" || order.Done != 0 {
		t.Errorf("the order is %+v", order)
	}
	if code := p.stop(syscall.SIGKILL); code == 0 {
		t.Fatal("it ended by itself")
	}
	p = start(t, p.dir, "--max-unfinished", "3")
	if s := p.standing(); s.Unfinished != 3 {
		t.Errorf("after its death the server says %d", s.Unfinished)
	}
	p.cancelled(waiting[0], 200, "cancelled")
	p.until("the order is carried out", func() bool {
		p.call("GET", "/v1/requeues/"+order.ID, nil, &order)
		return order.Done == 2
	})
	p.until("its runs have ended", func() bool { return p.standing().Unfinished == 2 })
	if status := p.call("POST", "/v1/jobs/later/runs", `{"delay":"1d"}`, nil); status != 202 {
		t.Errorf("with room a run answers %d", status)
	}
	if status := p.call("POST", "/v1/jobs/later/runs", `{}`, nil); status != 429 {
		t.Errorf("without room a run answers %d", status)
	}
}

func TestWhatTheServerMakesItselfIsMadeWhereTooManyHaveNotEnded(t *testing.T) {
	p, _, waiting := crowded(t)
	p.cancelled(waiting[0], 200, "cancelled")
	// There is room for the group alone: not for its members and its merge.
	var group aRun
	if status := p.call("POST", "/v1/jobs/pair/runs?wait=30s", `{}`, &group); status != 200 || group.State != "succeeded" {
		t.Errorf("the group answers %d %+v", status, group)
	}
	p.call("POST", "/v1/jobs/later/runs", `{"delay":"1d"}`, nil)
	p.cli("apply", "--set", "more", "-f", write(t, p.dir, "more.yaml", `
alerts: {failures: {on: [run.failed], run: tell}}
jobs:
  each-second: {script: "exit 1", retry: {max_attempts: 1}, schedules: [{cron: "* * * * * *", overlap: allow}]}
  chained: {script: "true", on_success: [{job: next}], schedules: [{cron: "* * * * * *", overlap: allow}]}
`)).want(0)
	for job, what := range map[string]string{"each-second": "ticks", "tell": "alerts"} {
		p.until(what+" are made", func() bool { return len(p.runsOf("job="+job+"&state=succeeded&state=failed")) > 0 })
	}
	p.until("chains are made", func() bool { return len(p.runsOf("job=next&trigger=chain")) > 0 })
	if n := p.standing().Unfinished; n < 3 {
		t.Errorf("%d runs have not ended, want the three that wait at least", n)
	}
}
