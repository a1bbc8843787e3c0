package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// aLink is a run as chains and doors make it.
type aLink struct {
	aRun
	Job           string
	Trigger       string
	CorrelationID string          `json:"correlation_id"`
	Payload       json.RawMessage `json:"payload"`
	Version       int
	Labels        map[string]string
	StartedAt     string `json:"started_at"`
	FinishedAt    string `json:"finished_at"`
}

func (p *process) link(id string) (run aLink) {
	p.t.Helper()
	if status := p.call("GET", "/v1/runs/"+id, nil, &run); status != 200 {
		p.t.Fatalf("GET run %s: %d", id, status)
	}
	return run
}

// runsOf are the runs that a filter lists, oldest first.
func (p *process) runsOf(filter string) (list []aLink) {
	p.t.Helper()
	var page struct{ Items []aLink }
	if status := p.call("GET", "/v1/runs?limit=1000&"+filter, nil, &page); status != 200 {
		p.t.Fatalf("GET runs of %s: %d", filter, status)
	}
	slices.Reverse(page.Items)
	return page.Items
}

// followUp waits until the only run of a job has ended.
func (p *process) followUp(job string) aLink {
	p.t.Helper()
	var list []aLink
	p.until("a run of "+job+" ends", func() bool {
		list = p.runsOf("job=" + job)
		return len(list) > 0 && list[0].ended()
	})
	if len(list) != 1 {
		p.t.Fatalf("%d runs of %s, want 1", len(list), job)
	}
	return p.link(list[0].ID)
}

func wantLog(p *process, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.until("the log says "+text, func() bool { return strings.Contains(p.log.String(), text) })
	}
}

// refusedSave saves a job and wants it refused with all the texts.
func (p *process) refusedSave(name string, document any, status int, texts ...string) {
	p.t.Helper()
	p.refused("PUT", "/v1/jobs/"+name, document, status, texts...)
}

func (p *process) refused(method, path string, body any, status int, texts ...string) {
	p.t.Helper()
	got, answer, err := p.try(method, path, body)
	if err != nil || got != status {
		p.t.Errorf("%s %s: %d %s %v, want %d", method, path, got, answer, err, status)
	}
	for _, text := range texts {
		if !strings.Contains(string(answer), text) {
			p.t.Errorf("%s %s: %s, want %q in it", method, path, answer, text)
		}
	}
}

var quiet = doc{"source": "true", "interpreter": []string{"sh"}}

const oddResult = `{"z": 9007199254740993, "a":1.10,  "rows":3, "list":[1, 2.50,"x"], "none":null}`

func TestAChainHandsResultsOnByteForByteAndTyped(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			_, _ = w.Write([]byte(oddResult))
		}
	})
	p.put("as-it-is", doc{"script": doc{"source": "cat", "interpreter": []string{"sh"}}})
	p.put("typed", doc{"webhook": doc{"url": s.URL + "/typed"}, "labels": doc{"own": "yes"}})
	p.put("fixed", doc{"webhook": doc{"url": s.URL + "/fixed"}})
	const typed = `{
		"all": "{{ result }}", "z": "{{ result.z }}", "price":"{{ result.a }}", "text": "{{ result.a }} of {{ payload.who }}",
		"none": "{{ result.none }}", "from": "{{ run.id }}", "attempt": "{{ run.attempt }}", "job": "{{ job.name }}"}`
	p.put("first", `{"webhook": {"url": "`+s.URL+`/first"}, "labels": {"first": "yes"}, "on_success": [
		{"job": "as-it-is"},
		{"job": "typed", "if": "result.rows > 0", "payload": `+typed+`},
		{"job": "fixed", "payload": {"n": 1.0}},
		{"job": "fixed", "if": "result.rows > 3"}]}`)
	first := p.end(p.enqueue("first", `{"payload":{"who":"Ada"},"correlation_id":"order 7"}`))
	for job, want := range map[string]string{
		"as-it-is": oddResult,
		"typed": `{
		"all": ` + oddResult + `, "z": 9007199254740993, "price":1.10, "text": "1.10 of Ada",
		"none": null, "from": "` + first.ID + `", "attempt": 1, "job": "first"}`,
		"fixed": `{"n": 1.0}`,
	} {
		run := p.followUp(job)
		if run.State != "succeeded" || run.Trigger != "chain" || run.CorrelationID != "order 7" || run.OperationID != run.ID {
			t.Errorf("%s: %s, trigger %s, correlation %s, operation %s", job, run.State, run.Trigger, run.CorrelationID, run.OperationID)
		}
		if string(run.Payload) != want {
			t.Errorf("%s: payload %s, want %s", job, run.Payload, want)
		}
		if own := run.Labels["own"] == "yes"; own != (job == "typed") || run.Labels["first"] != "" {
			t.Errorf("%s: labels %v", job, run.Labels)
		}
	}
	if log := p.logOf(p.followUp("as-it-is").ID); log != oddResult {
		t.Errorf("the script read %s", log)
	}
	if n := len(p.runsOf("correlation_id=order%207")); n != 4 {
		t.Errorf("%d runs bear the correlation id", n)
	}
	if n := len(p.runsOf("trigger=chain")); n != 3 {
		t.Errorf("%d runs have the trigger chain", n)
	}
}

func TestAChainGoesOnOverSeveralJobsUnderOneCorrelation(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%q", r.URL.Path) })
	p.put("c", doc{"script": quiet})
	p.put("b", doc{"webhook": doc{"url": s.URL + "/b"}, "on_success": []doc{{"job": "c"}}})
	p.put("a", doc{"script": quiet, "on_success": []doc{{"job": "b"}, {"job": "b", "payload": doc{"second": "{{ result }}"}}}})
	id := p.enqueue("a", nil)
	p.until("both ends are there", func() bool {
		list := p.runsOf("job=c")
		return len(list) == 2 && list[0].ended() && list[1].ended()
	})
	var payloads []string
	for _, run := range p.runsOf("correlation_id=" + id) {
		payloads = append(payloads, run.Job+" "+string(p.link(run.ID).Payload))
	}
	slices.Sort(payloads)
	// A script has no result here: null.
	if want := []string{"a {}", "b null", `b {"second":null}`, `c "/b"`, `c "/b"`}; !slices.Equal(payloads, want) {
		t.Errorf("got %q, want %q", payloads, want)
	}
}

func TestOnlySuccessIsFollowedAndOnlyOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/failing" || n == 1 {
			w.WriteHeader(503)
		}
	})
	p.put("next", doc{"script": quiet})
	soon := doc{"max_attempts": 2, "backoff": doc{"kind": "fixed", "base": "1ms"}}
	p.put("first", doc{"webhook": doc{"url": s.URL}, "retry": soon, "on_success": []doc{{"job": "next"}}})
	p.put("failing", doc{"webhook": doc{"url": s.URL + "/failing"}, "retry": soon, "on_success": []doc{{"job": "next"}}})
	p.put("slow", doc{"script": doc{"source": "sleep 60"}, "on_success": []doc{{"job": "next"}}})
	if run := p.end(p.enqueue("first", nil)); run.State != "succeeded" || len(run.Attempts) != 2 {
		t.Fatalf("first: %s after %d attempts", run.State, len(run.Attempts))
	}
	next := p.followUp("next")
	if run := p.end(p.enqueue("failing", nil)); run.State != "failed" {
		t.Errorf("failing: %s", run.State)
	}
	slow := p.enqueue("slow", nil)
	p.awaitRun(slow, "it runs", func(r *aRun) bool { return r.State == "running" })
	p.call("POST", "/v1/runs/"+slow+"/cancel", nil, nil)
	if run := p.end(slow); run.State != "cancelled" {
		t.Errorf("slow: %s", run.State)
	}
	p = p.kill9()
	if again := p.followUp("next"); again.ID != next.ID {
		t.Errorf("after a restart run %s follows, before %s", again.ID, next.ID)
	}
}

// Nothing is lost in silence: what was to follow is there, failed, and says which field is wrong.
func TestAFollowUpThatCannotBeMadeIsThereAndFailed(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"rows": "many", "n": 1}`))
	})
	for _, name := range []string{"if-type", "if-text", "payload", "large", "good"} {
		p.put(name, doc{"script": quiet})
	}
	p.put("first", doc{"webhook": doc{"url": s.URL}, "on_success": []doc{
		{"job": "if-type", "if": "int(result.rows) > 0"},
		{"job": "if-text", "if": "result.rows"},
		{"job": "payload", "payload": doc{"a": doc{"b": []string{"fixed", "{{ result.no.such }} rows"}}}},
		{"job": "large", "payload": doc{"text": strings.Repeat("{{ payload.long }}", 3)}},
		{"job": "good", "if": "result.n == 1"},
	}})
	id := p.enqueue("first", doc{"payload": doc{"long": strings.Repeat("x", 100<<10)}, "correlation_id": "chained"})
	if run := p.end(id); run.State != "succeeded" {
		t.Fatalf("first: %s", run.State)
	}
	for job, want := range map[string]string{
		"if-type": "on_success[0].if", "if-text": "on_success[1].if", "payload": "on_success[2].payload.a.b[1]",
		"large": "on_success[3].payload",
	} {
		run := p.followUp(job)
		if run.State != "failed" || run.Error == nil || run.Error.Kind != "invalid" || !strings.HasPrefix(run.Error.Message, want) {
			t.Errorf("%s: %s %+v, want invalid and %s", job, run.State, run.Error, want)
			continue
		}
		if run.Trigger != "chain" || run.CorrelationID != "chained" || len(run.Attempts) != 0 || run.StartedAt != "" || run.FinishedAt == "" {
			t.Errorf("%s: %+v", job, run)
		}
		if string(run.Payload) != `{"rows": "many", "n": 1}` {
			t.Errorf("%s: payload %s", job, run.Payload)
		}
		p.cli("runs", "show", run.ID).want(0).has(want, "chain")
		wantLog(p, run.ID)
	}
	if run := p.followUp("good"); run.State != "succeeded" {
		t.Errorf("good: %s", run.State)
	}
	if n := len(p.runsOf("error_kind=invalid")); n != 4 {
		t.Errorf("%d runs are listed as invalid", n)
	}
	// Put right it goes on: a requeue brings a payload of its own.
	var again aRun
	if status := p.call("POST", "/v1/runs/"+p.followUp("payload").ID+"/requeue", doc{"payload": doc{"n": 1}}, &again); status/100 != 2 {
		t.Errorf("requeue: %d", status)
	} else if run := p.end(again.ID); run.State != "succeeded" {
		t.Errorf("requeued: %s %+v", run.State, run.Error)
	}
}

func TestAChainNamesJobsThatStand(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	first := func(targets ...string) doc {
		list := []doc{}
		for _, name := range targets {
			list = append(list, doc{"job": name})
		}
		return doc{"script": quiet, "on_success": list}
	}
	p.refusedSave("first", first("no-such"), 422, "on_success[0].job", "no-such")
	p.put("load", doc{"script": quiet})
	p.refusedSave("first", first("load", "no-such", "nor-this"), 422, "on_success[1].job", "no-such")
	p.put("first", first("load"))
	p.put("other", first("load"))
	p.refused("DELETE", "/v1/jobs/load", nil, 409, "first", "other")
	p.cli("jobs", "delete", "load").has("first", "other")
	// Both in one apply, in any order.
	status, text, err := p.try("POST", "/v1/apply", doc{"jobs": doc{"x": first("y"), "y": doc{"script": quiet}}})
	if err != nil || status != 200 {
		t.Errorf("apply: %d %s %v", status, text, err)
	}
	// Pruned together they go, one by one not.
	p.refused("POST", "/v1/apply?prune=true", doc{"jobs": doc{"x": first("y")}}, 422, "y")
	p.put("first", first())
	p.put("other", first())
	if status := p.call("DELETE", "/v1/jobs/load", nil, nil); status/100 != 2 {
		t.Errorf("delete of what nobody names: %d", status)
	}
	p.refusedSave("first", first("load"), 422, "load")
}

// The job is gone by the time its run ends: what runs may end, and says why nothing follows.
func TestAJobThatWasDeletedMeanwhileIsFollowedByNothing(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	release := make(chan struct{})
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	p.put("load", doc{"script": quiet})
	p.put("first", doc{"webhook": doc{"url": s.URL}, "on_success": []doc{{"job": "load"}}})
	id := p.enqueue("first", nil)
	p.until("it is called", func() bool { return len(s.deliveries()) == 1 })
	for _, name := range []string{"first", "load"} {
		if status := p.call("DELETE", "/v1/jobs/"+name, nil, nil); status/100 != 2 {
			t.Fatalf("delete %s: %d", name, status)
		}
	}
	close(release)
	if run := p.end(id); run.State != "succeeded" {
		t.Errorf("%s %+v", run.State, run.Error)
	}
	p.put("load", doc{"script": quiet})
	if list := p.runsOf("job=load"); len(list) != 0 {
		t.Errorf("runs of load: %+v", list)
	}
}

func TestAChainFollowsTheJobAsItStandsWhenTheRunEnds(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	release := make(chan struct{})
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	p.put("old", doc{"script": quiet})
	p.put("new", doc{"script": doc{"source": "exit 3"}})
	p.put("first", doc{"webhook": doc{"url": s.URL}, "on_success": []doc{{"job": "old"}}})
	id := p.enqueue("first", nil)
	p.until("it is called", func() bool { return len(s.deliveries()) == 1 })
	p.put("first", doc{"webhook": doc{"url": s.URL}, "on_success": []doc{{"job": "new"}}})
	p.put("new", doc{"script": quiet})
	if status := p.call("POST", "/v1/jobs/new/pause", doc{"note": "the disk is full"}, nil); status/100 != 2 {
		t.Fatalf("pause: %d", status)
	}
	close(release)
	p.end(id)
	var list []aLink
	p.until("a run follows", func() bool { list = p.runsOf("job=new"); return len(list) == 1 })
	held := p.awaitRun(list[0].ID, "it is held", func(r *aRun) bool { return r.HeldBy != nil })
	if held.State != "queued" || held.HeldBy.Kind != "paused" || len(p.runsOf("job=old")) != 0 {
		t.Errorf("%s %+v, %d runs of old", held.State, held.HeldBy, len(p.runsOf("job=old")))
	}
	p = p.kill9()
	if run := p.run(list[0].ID); run.State != "queued" || run.HeldBy == nil {
		t.Errorf("after a restart: %s %+v", run.State, run.HeldBy)
	}
	p.call("POST", "/v1/jobs/new/resume", nil, nil)
	if run := p.followUp("new"); run.State != "succeeded" || run.Version != 2 {
		t.Errorf("%s of version %d", run.State, run.Version)
	}
}

func TestCirclesAreRefusedHoweverTheyCome(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	to := func(targets ...string) doc {
		list := []doc{}
		for _, name := range targets {
			list = append(list, doc{"job": name})
		}
		return doc{"script": quiet, "on_success": list}
	}
	p.refusedSave("a", to("a"), 422, "on_success[0].job", "a")
	p.put("a", to())
	p.refusedSave("a", to("a"), 422, "on_success[0].job", "a")
	p.put("b", to("a"))
	p.refusedSave("a", to("b"), 422, "on_success[0].job", "b")
	p.put("c", to("b", "a"))
	p.refusedSave("a", to("c"), 422, "on_success[0].job", "c")
	p.refused("POST", "/v1/apply", doc{"jobs": doc{"x": to("y"), "y": to("z"), "z": to("x")}}, 422, "on_success[0].job", "x", "y", "z")
	p.refused("POST", "/v1/apply", doc{"jobs": doc{"a": to("d"), "d": to("c")}}, 422, "on_success[0].job")
	p.refused("POST", "/v1/jobs", doc{"name": "me", "script": quiet, "on_success": []doc{{"job": "me"}}}, 422, "on_success[0].job", "me")
	file := write(t, p.dir, "jobs.yaml", "jobs:\n  - {name: x, script: 'true', on_success: [{job: y}]}\n  - {name: y, script: 'true', on_success: [{job: x}]}\n")
	p.cli("apply", "-f", file).want(1).has("jobs.yaml", "x", "y")
	for _, name := range []string{"x", "y", "z", "d", "me"} {
		p.refused("GET", "/v1/jobs/"+name, nil, 404)
	}
	// Turned round in one apply there is none.
	status, text, err := p.try("POST", "/v1/apply", doc{"jobs": doc{"a": to("b"), "b": to(), "c": to("a")}})
	if err != nil || status != 200 {
		t.Errorf("apply: %d %s %v", status, text, err)
	}
	p.end(p.enqueue("c", nil))
	p.followUp("b")
}

// What follows gets what is kept: a secret is hidden in it, and nothing of it is in the file.
func TestAChainHandsNoSecretOn(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	const secret = "cAnary-of-a-chain-0815"
	p.set("CHAIN", secret).want(0)
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"echo": "%s", "n": 1.0}`, r.Header.Get("Authorization"))
	})
	p.put("whole", doc{"script": quiet})
	p.put("part", doc{"script": quiet})
	p.put("seen", doc{"script": quiet})
	p.put("first", doc{
		"webhook": doc{"url": s.URL, "headers": doc{"Authorization": "{{ secrets.CHAIN }}"}},
		"on_success": []doc{
			{"job": "whole"},
			{"job": "part", "payload": doc{"echo": "{{ result.echo }}", "n": "{{ result.n }}"}},
			{"job": "seen", "if": `result.echo matches "0815"`},
		},
	})
	p.end(p.enqueue("first", nil))
	if run := p.followUp("whole"); string(run.Payload) != `{"echo": "***", "n": 1.0}` {
		t.Errorf("whole: %s", run.Payload)
	}
	if run := p.followUp("part"); string(run.Payload) != `{"echo":"***","n":1.0}` {
		t.Errorf("part: %s", run.Payload)
	}
	if list := p.runsOf("job=seen"); len(list) != 0 {
		t.Errorf("the if saw the secret: %+v", list)
	}
	p.refusedSave("first", doc{"script": quiet, "on_success": []doc{{"job": "whole", "payload": doc{"a": "{{ secrets.CHAIN }}"}}}},
		422, "on_success[0].payload.a", "secrets")
	p.stop(15)
	for _, text := range []string{p.log.String(), sqlite(t, p.dir+"/nightshift.db", ".dump")} {
		if strings.Contains(text, secret) {
			t.Error("the secret is kept")
		}
	}
}
