package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// bothShared are the resources of this file, each with a name and what is said where there is none.
var bothShared = []struct{ list, kind, name, made string }{
	{"queues", "queue", "mail", "there is no such queue: a job that names it, or a PUT makes it"},
	{"dependencies", "dependency", "stripe", "there is no such dependency: a job that names it, a run"},
	{"dependencies", "dependency", "api.example.com:443", "a run whose webhook calls that host:port, or a PUT"},
	{"dependencies", "dependency", "[2001:db8::1]:8080", "there is no such dependency"},
}

func TestSharedLimitsAreMadeReplacedAndDropped(t *testing.T) {
	ts := newTestServer(t)
	for _, c := range bothShared {
		all := "/v1/" + c.list
		at := all + "/" + url.PathEscape(c.name)
		if p := ts.call("GET", at, "").problem(probNotFound); !strings.Contains(p, c.made) {
			t.Errorf("it says %q", p)
		}
		ts.call("DELETE", at, "").problem(probNotFound)
		ts.call("PUT", at, `{"concurrency":1}`, "If-Match", "*").problem(probStale)
		made := ts.call("POST", all, `{"name":"`+c.name+`","concurrency":3}`).want(201)
		if got := made.header.Get("Location"); got != at {
			t.Errorf("Location %s, want %s", got, at)
		}
		if made.field("name") != c.name || made.field("concurrency") != "3" || made.field("paused") != "false" {
			t.Errorf("made: %s", made.body)
		}
		ts.call("POST", all, `{"name":"`+c.name+`"}`).problem(probExists)
		ts.call("POST", all, `{"concurrency":1}`).problem(probInvalid)
		// What is answered may be sent back: state is ignored.
		tag := made.header.Get("ETag")
		changes := ts.call("GET", "/v1/audit", "").want(200).field("items.0.id")
		same := ts.call("PUT", at, string(made.body), "If-Match", tag).want(200)
		if same.header.Get("ETag") != tag || !bytes.Equal(same.body, made.body) ||
			ts.call("GET", "/v1/audit", "").want(200).field("items.0.id") != changes {
			t.Errorf("the same again changed it: %s", same.body)
		}
		ts.call("PUT", at, `{"concurrency":4}`, "If-Match", `"9"`).problem(probStale)
		ts.call("PUT", at, `{"concurrency":4}`, "If-None-Match", `*`).problem(probStale)
		changed := ts.call("PUT", at, `{"concurrency":4}`, "If-Match", same.header.Get("ETag")).want(200)
		if changed.field("concurrency") != "4" || changed.header.Get("ETag") == tag {
			t.Errorf("changed: %s %v", changed.body, changed.header)
		}
		ts.call("GET", at, "", "If-None-Match", changed.header.Get("ETag")).want(304)
		ts.call("GET", at, "", "If-None-Match", tag).want(200)
		ts.call("PUT", at, `{"name":"other"}`).problem(probInvalid)
		bad := ts.call("PUT", all+"/A%20b", `{"name":"A b"}`).problem(probInvalid)
		if strings.Count(bad, "\n") != 1 || !strings.Contains(bad, "\npath.name: ") {
			t.Errorf("what is wrong with a name is not said once: %s", bad)
		}
		ts.call("DELETE", at, "", "If-Match", tag).problem(probStale)
		ts.call("DELETE", at, "", "If-Match", changed.header.Get("ETag")).want(204)
		gone := ts.call("GET", at, "").want(200) // as it is built in
		if want := map[string]string{"queue": "", "dependency": ""}[c.kind]; strings.Contains(c.name, ":") {
			want = "16"
			if gone.field("concurrency") != want {
				t.Errorf("%s: concurrency %q, want %q", c.name, gone.field("concurrency"), want)
			}
		} else if gone.field("concurrency") != want {
			t.Errorf("%s: concurrency %q, want %q", c.name, gone.field("concurrency"), want)
		}
		ts.call("DELETE", at, "").want(204) // as it is
		// It stands without a document: that may be made as if it did not, but not blindly.
		ts.call("PUT", at, `{"concurrency":5}`, "If-Match", `"7"`).problem(probStale)
		ts.call("PUT", at, `{"concurrency":5}`, "If-Match", gone.header.Get("ETag"), "If-None-Match", "*").want(201)
	}
}

func TestNamesOfHostsAreTakenAsTheyStandInPaths(t *testing.T) {
	ts := newTestServer(t)
	for name, spellings := range map[string][]string{
		"api.example.com:443": {"api.example.com:443", "api.example.com%3A443", "api%2Eexample.com%3a443"},
		"[::1]:8080":          {"[::1]:8080", "%5B::1%5D:8080", "%5b%3A%3a1%5d%3A8080"},
		"stripe":              {"stripe", "%73tripe"},
	} {
		for i, spelled := range spellings {
			got := ts.call("PUT", "/v1/dependencies/"+spelled, fmt.Sprintf(`{"concurrency":%d}`, i+1))
			if want := 200; i == 0 && got.status != 201 || i > 0 && got.status != want {
				t.Errorf("PUT %s: %d %s", spelled, got.status, got.body)
			}
			shown := ts.call("GET", "/v1/dependencies/"+spelled, "").want(200)
			if shown.field("name") != name || shown.field("concurrency") != fmt.Sprint(i+1) {
				t.Errorf("GET %s: %s", spelled, shown.body)
			}
			if got := ts.call("POST", "/v1/dependencies/"+spelled+"/trip", "").want(200); got.field("name") != name {
				t.Errorf("trip %s: %s", spelled, got.body)
			}
		}
	}
	for path, want := range map[string]string{
		"API.example.com:443":     `want it as "api.example.com:443"`,
		"api.example.com.:443":    `want it as "api.example.com:443"`,
		"[2001:DB8:0::1]:80":      `want it as "[2001:db8::1]:80"`,
		"api.example.com:99999":   "want a name of 1 to 100",
		"api.example.com:443%2Fx": `want it as "api.example.com:443"`,
		"..%2Fapi":                "want a name of 1 to 100",
		"a%253A443":               "want a name of 1 to 100", // escaped twice
	} {
		if p := ts.call("GET", "/v1/dependencies/"+path, "").problem(probNotFound); !strings.Contains(p, want) {
			t.Errorf("GET %s: %q, want %q", path, p, want)
		}
		if p := ts.call("PUT", "/v1/dependencies/"+path, `{}`).problem(probInvalid); !strings.Contains(p, "path.name: "+want) {
			t.Errorf("PUT %s: %q, want %q", path, p, want)
		}
	}
}

func TestFaultsOfSharedLimitsAreAllToldWithTheirPlaces(t *testing.T) {
	ts := newTestServer(t)
	for path, c := range map[string]struct {
		body string
		want []string
	}{
		"/v1/queues/q": {`{"concurrency":0,"rate":{"limit":1},"limit":3}`, []string{
			"body.concurrency: is 0: want", "body.rate: unknown field", "body.limit: unknown field",
		}},
		"/v1/dependencies/d": {
			`{"concurrency":-1,"rate":{"limit":0,"per":"1ms","key":"a"},"breaker":{"failures":0,"open_for":"5m","max_open":"1m"},"failures":3}`,
			[]string{
				"body.concurrency: is -1", "body.rate.limit: is 0", "body.rate.per: is 1ms", "body.rate.key: unknown field",
				"body.breaker.failures: is 0", "body.breaker.max_open: is 1m", "body.failures: unknown field",
			},
		},
		"/v1/dependencies/d/trip": {`{"for":"0s","note":"` + strings.Repeat("x", 1025) + `"}`, []string{
			"body.for: want more than 0s", "body.note: at most 1024 bytes",
		}},
		"/v1/dependencies/d/reset": {`{"for":"1m"}`, []string{"body.for: unknown field"}},
	} {
		method := "PUT"
		if strings.Count(path, "/") > 3 {
			method = "POST"
		}
		got := ts.call(method, path, c.body).problem(probInvalid)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", path, want, got)
			}
		}
	}
}

func TestPausingIsNoPartOfTheDocument(t *testing.T) {
	ts := newTestServer(t)
	for _, c := range bothShared {
		at := "/v1/" + c.list + "/" + url.PathEscape(c.name)
		ts.call("POST", at+"/pause", `{"note":"why"}`).problem(probNotFound)
		ts.call("POST", at+"/resume", "").problem(probNotFound)
		ts.call("PUT", at, `{"concurrency":2}`).want(201)
		for range 2 { // again it is as it was
			p := ts.call("POST", at+"/pause", `{"note":"they deploy"}`).want(200)
			if p.field("paused") != "true" || p.field("pause_note") != "they deploy" {
				t.Errorf("paused: %s", p.body)
			}
		}
		paused := ts.call("GET", at, "").want(200)
		ts.call("PUT", at, `{"concurrency":3,"paused":false}`, "If-Match", paused.header.Get("ETag")).want(200)
		ts.call("POST", "/v1/apply", `{"`+c.list+`":{"`+c.name+`":{"concurrency":4}}}`).want(200)
		ts.call("DELETE", at, "").want(204)
		if got := ts.call("GET", at, "").want(200); got.field("paused") != "true" || got.field("pause_note") != "they deploy" {
			t.Errorf("it is not paused any more: %s", got.body)
		}
		for range 2 {
			if got := ts.call("POST", at+"/resume", "").want(200); got.field("paused") != "false" || got.field("pause_note") != "" {
				t.Errorf("resumed: %s", got.body)
			}
		}
		audit := string(ts.call("GET", "/v1/audit", "").want(200).body)
		for _, want := range []string{
			`"action":"pause","kind":"` + c.kind + `","name":"` + c.name + `","note":"they deploy"`,
			`"action":"resume","kind":"` + c.kind + `","name":"` + c.name + `"`,
		} {
			if !strings.Contains(audit, want) {
				t.Errorf("the audit lacks %s: %s", want, audit)
			}
		}
	}
}

func TestTheQueueDefaultAlwaysStands(t *testing.T) {
	ts := newTestServer(t)
	if got := ts.call("GET", "/v1/queues/default", "").want(200); got.field("concurrency") != "" {
		t.Errorf("it has a limit: %s", got.body)
	}
	if got := ts.call("GET", "/v1/queues", ""); got.field("items.0.name") != "default" || got.field("items.0.created_at") == "" {
		t.Errorf("the list begins with %s", got.body)
	}
	ts.call("POST", "/v1/queues/default/pause", "").want(200)
	ts.hook("a", ok("1"))
	id := ts.enqueue("a", "")
	run := ts.call("GET", "/v1/runs/"+id, "").want(200)
	if run.field("state") != "queued" || run.field("held_by.kind") != "paused" || run.field("held_by.name") != "default" {
		t.Errorf("run: %s", run.body)
	}
	if got := ts.call("GET", "/v1/queues/default", "").want(200); got.field("queued") != "1" || got.field("oldest_due_at") == "" ||
		got.field("jobs") != "[a]" {
		t.Errorf("queue: %s", got.body)
	}
	ts.call("POST", "/v1/queues/default/resume", "").want(200)
	ts.until(id, "succeeded")
	ts.call("DELETE", "/v1/queues/default", "").want(204)
	ts.call("GET", "/v1/queues/default", "").want(200)
}

func TestAGroupThatWaitsTakesNoPlaceInAQueue(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/part", `{"script":{"source":"true"}}`).want(201)
	ts.call("POST", "/v1/jobs/part/pause", `{}`).want(200)
	ts.call("PUT", "/v1/jobs/whole", `{"group":{"members":[{"name":"a","job":"part"}]}}`).want(201)
	ts.until(ts.enqueue("whole", ""), "waiting")
	for _, limit := range []string{"null", "5"} {
		ts.call("PUT", "/v1/queues/default", `{"concurrency":`+limit+`}`)
		if q := ts.call("GET", "/v1/queues/default", "").want(200); q.field("running") != "0" || q.field("queued") != "1" {
			t.Errorf("with the limit %s: %s", limit, q.body)
		}
	}
}

func TestNamingMakesQueuesAndDependencies(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/a", `{"script":{"source":"x"},"queue":"mail","dependencies":["stripe"]}`).want(201)
	ts.call("PUT", "/v1/jobs/b", `{"webhook":{"url":"https://API.example.com./x"},"dependencies":["stripe"]}`).want(201)
	if got := ts.call("GET", "/v1/queues/mail", "").want(200); got.field("jobs") != "[a]" {
		t.Errorf("queue: %s", got.body)
	}
	got := ts.call("GET", "/v1/dependencies/stripe", "").want(200)
	if got.field("jobs") != "[a b]" || got.field("kind") != "named" || got.field("concurrency") != "" || got.field("in_use") != "0" ||
		got.field("breaker.failures") != "5" || got.field("state") != "closed" || got.field("held_until") != "" {
		t.Errorf("dependency: %s", got.body)
	}
	// Deleting is never refused by naming.
	ts.call("PUT", "/v1/dependencies/stripe", `{"rate":{"limit":3,"per":"1s"}}`).want(201)
	ts.call("DELETE", "/v1/dependencies/stripe", "").want(204)
	ts.call("PUT", "/v1/queues/mail", `{"concurrency":3}`).want(201)
	ts.call("DELETE", "/v1/queues/mail", "").want(204)
}

func TestPagesOfSharedThingsReachAll(t *testing.T) {
	ts := newTestServer(t)
	want := map[string][]string{"queues": {"default"}}
	for i := range 5 {
		for _, list := range []string{"queues", "dependencies"} {
			name := fmt.Sprintf("n%d", i)
			ts.call("PUT", "/v1/"+list+"/"+name, `{"concurrency":3}`).want(201)
			want[list] = append(want[list], name)
		}
	}
	for _, list := range []string{"queues", "dependencies"} {
		var got []string
		for cursor := ""; ; {
			page := ts.call("GET", "/v1/"+list+"?limit=2&cursor="+cursor, "").want(200)
			for i := range 2 {
				if name := page.field(fmt.Sprintf("items.%d.name", i)); name != "" {
					got = append(got, name)
				}
			}
			if cursor = page.field("next"); cursor == "" {
				break
			}
		}
		slices.Reverse(got) // the newest first
		if !slices.Equal(got, want[list]) {
			t.Errorf("%s: %v, want %v", list, got, want[list])
		}
		if p := ts.call("GET", "/v1/"+list+"?cursor=x", "").problem(probInvalid); !strings.Contains(p, "query.cursor") {
			t.Error(p)
		}
	}
}

func TestRunsSayWhichLimitHoldsThem(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("a", handle, `"queue":"narrow"`, `"dependencies":["lock"]`)
	ts.call("PUT", "/v1/queues/narrow", `{"concurrency":2}`).want(201)
	ts.call("PUT", "/v1/dependencies/lock", `{"concurrency":1,"breaker":null}`).want(201)
	first := ts.enqueue("a", "")
	ts.until(first, "running")
	second := ts.enqueue("a", "")
	held := func(id, kind, name, reason string) {
		t.Helper()
		ts.await("it to be held by "+kind, func() bool {
			return ts.call("GET", "/v1/runs/"+id, "").want(200).field("held_by.kind") == kind
		})
		one := ts.call("GET", "/v1/runs/"+id, "").want(200)
		if one.field("held_by.name") != name || !strings.Contains(one.field("held_by.reason"), reason) {
			t.Errorf("run: %s", one.field("held_by"))
		}
		if list := ts.call("GET", "/v1/runs?state=queued", "").want(200); list.field("items.0.held_by.kind") != kind {
			t.Errorf("list: %s", list.body)
		}
	}
	held(second, "dependency", "lock", "the dependency lock has 1 of 1 running")
	if got := ts.call("GET", "/v1/dependencies/lock", "").want(200); got.field("in_use") != "1" || got.field("waiting") != "1" ||
		got.field("waiting_since") == "" || got.field("breaker") != "" {
		t.Errorf("dependency: %s", got.body)
	}
	if got := ts.call("GET", "/v1/queues/narrow", "").want(200); got.field("running") != "1" || got.field("queued") != "1" {
		t.Errorf("queue: %s", got.body)
	}
	ts.call("PUT", "/v1/queues/narrow", `{"concurrency":1}`).want(200)
	held(second, "queue", "narrow", "the queue narrow has 1 of 1 running") // it says the first
	ts.call("DELETE", "/v1/queues/narrow", "").want(204)
	held(second, "dependency", "lock", "1 of 1")
	ts.call("POST", "/v1/dependencies/lock/pause", `{"note":"moving"}`).want(200)
	held(second, "dependency", "lock", "the dependency lock is paused: moving")
	ts.call("PUT", "/v1/dependencies/lock", `{"breaker":null}`).want(200)
	ts.call("POST", "/v1/dependencies/lock/resume", "").want(200)
	ts.until(second, "running") // beside the first
	open()
	ts.until(first, "succeeded")
	ts.until(second, "succeeded")
}

func TestABreakerIsTrippedShownAndReset(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok("1"), `"dependencies":["stripe"]`)
	ts.call("POST", "/v1/dependencies/absent/trip", "").problem(probNotFound)
	ts.call("POST", "/v1/dependencies/absent/reset", "").problem(probNotFound)
	tripped := ts.call("POST", "/v1/dependencies/stripe/trip", `{"for":"2h","note":"they asked"}`).want(200)
	if tripped.field("state") != "open" || !strings.Contains(tripped.field("reason"), "they asked") ||
		tripped.field("opened_at") == "" || tripped.field("next_probe_at") == "" {
		t.Errorf("tripped: %s", tripped.body)
	}
	id := ts.enqueue("a", "")
	run := ts.call("GET", "/v1/runs/"+id, "").want(200)
	if run.field("held_by.kind") != "dependency" || run.field("held_by.name") != "stripe" ||
		run.field("held_by.until") != tripped.field("next_probe_at") {
		t.Errorf("run: %s", run.body)
	}
	ts.call("POST", "/v1/dependencies/stripe/trip", `{"for":"1h"}`).want(200) // from now on
	ts.call("PUT", "/v1/dependencies/stripe", `{"breaker":null}`).want(201)
	if got := ts.call("GET", "/v1/dependencies/stripe", "").want(200); got.field("state") != "closed" || got.field("reason") != "" {
		t.Errorf("without a breaker: %s", got.body)
	}
	ts.until(id, "succeeded")
	if p := ts.call("POST", "/v1/dependencies/stripe/trip", "").problem(probState); !strings.Contains(p, "pause it, or give it one") {
		t.Errorf("it says %q", p)
	}
	ts.call("DELETE", "/v1/dependencies/stripe", "").want(204)
	ts.call("POST", "/v1/dependencies/stripe/trip", "").want(200)
	id = ts.enqueue("a", "")
	for range 2 {
		if got := ts.call("POST", "/v1/dependencies/stripe/reset", `{"note":"back"}`).want(200); got.field("state") != "closed" {
			t.Errorf("reset: %s", got.body)
		}
	}
	ts.until(id, "succeeded")
	audit := string(ts.call("GET", "/v1/audit", "").want(200).body)
	for _, want := range []string{`"action":"trip","kind":"dependency","name":"stripe"`, `"action":"reset","kind":"dependency","name":"stripe","note":"back"`} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit lacks %s: %s", want, audit)
		}
	}
}

func TestAHostThatAnswers503IsHeldUntilAProbeSucceeds(t *testing.T) {
	ts := newTestServer(t)
	var good atomic.Bool
	ts.hook("a", func(w http.ResponseWriter, _ *http.Request) {
		if !good.Load() {
			w.WriteHeader(503)
		}
	}, `"retry":{"backoff":{"kind":"fixed","base":"1ms"},"max_attempts":100}`)
	u, err := url.Parse(ts.call("GET", "/v1/jobs/a", "").want(200).field("webhook.url"))
	if err != nil {
		t.Fatal(err)
	}
	at := "/v1/dependencies/" + u.Host
	ts.call("PUT", at, `{"breaker":{"failures":2,"open_for":"100ms"}}`).want(201)
	id := ts.enqueue("a", "")
	ts.await("the breaker to open", func() bool { return ts.call("GET", at, "").field("state") == "open" })
	got := ts.call("GET", at, "").want(200)
	if got.field("kind") != "host" || got.field("jobs") != "[a]" || got.field("breaker.max_open") != "10m" {
		t.Errorf("dependency: %s", got.body)
	}
	good.Store(true)
	run := ts.until(id, "succeeded")
	if n := run.field("attempt"); n == "1" || n == "2" {
		t.Errorf("no probe was made: %s", run.body)
	}
	ts.await("it to be closed", func() bool { return ts.call("GET", at, "").field("state") == "closed" })
}

func TestANarrowedTokenSeesOfSharedThingsOnlyItsJobs(t *testing.T) {
	ts := newTestServer(t)
	for _, job := range []string{"mail-a", "secret-plan"} {
		ts.call("PUT", "/v1/jobs/"+job, `{"webhook":{"url":"https://h.example.com/"},"queue":"mail","dependencies":["stripe"]}`).want(201)
	}
	narrow := as(ts.token(`{"name":"narrow","scopes":["operate"],"jobs":["mail-*"]}`))
	for _, path := range []string{"/v1/queues/mail", "/v1/dependencies/stripe"} {
		if got := ts.call("GET", path, "", narrow...).want(200); got.field("jobs") != "[mail-a]" {
			t.Errorf("%s: %s", path, got.body)
		}
		for _, change := range []string{"/pause", "/resume"} {
			ts.call("POST", path+change, "", narrow...).problem(probForbidden)
		}
	}
	for _, path := range []string{"/v1/queues", "/v1/dependencies"} {
		got := ts.call("GET", path, "", narrow...).want(200)
		if strings.Contains(string(got.body), "secret-plan") || !strings.Contains(string(got.body), "mail-a") {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	ts.call("POST", "/v1/dependencies/stripe/trip", "", narrow...).problem(probForbidden)
	ts.call("POST", "/v1/dependencies/stripe/reset", "", narrow...).problem(probForbidden)
}

func TestTheRunThatProbesIsNotToldToOthers(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("secret-plan", func(w http.ResponseWriter, r *http.Request) {
		handle(w, r)
		_, _ = io.WriteString(w, "1")
	}, `"dependencies":["stripe"]`)
	ts.call("POST", "/v1/dependencies/stripe/trip", `{"for":"1ms"}`).want(200)
	id := ts.enqueue("secret-plan", "")
	ts.until(id, "running")
	narrow := as(ts.token(`{"name":"narrow","scopes":["read"],"jobs":["mail-*"]}`))
	if got := ts.call("GET", "/v1/dependencies/stripe", "", narrow...).want(200); got.field("state") != "probing" || got.field("probe") != "" {
		t.Errorf("another's token: %s", got.body)
	}
	if got := ts.call("GET", "/v1/dependencies/stripe", "").want(200); got.field("probe") != id {
		t.Errorf("the admin's token: %s", got.body)
	}
	open()
	ts.until(id, "succeeded")
}

// shapeOf shows a gate as it would be answered to an admin.
func shapeOf(t *testing.T, ts *testServer, g *store.GateInfo) *wire.Dependency {
	t.Helper()
	d, err := viewDependency(&call{s: ts.api, who: &identity{}}, g)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestARetryAfterIsShownWhileItHolds(t *testing.T) {
	ts := newTestServer(t)
	g := &store.GateInfo{Gate: jobs.NewDependency("api.example.com:443").Gate()}
	g.State.HeldUntil = ts.rt.Now() - 1
	if d := shapeOf(t, ts, g); d.HeldUntil != 0 || d.Kind != "host" {
		t.Errorf("one that is over: %+v", d)
	}
	g.State.HeldUntil = ts.rt.Now() + 60_000
	if d := shapeOf(t, ts, g); d.HeldUntil != g.State.HeldUntil || d.State != "closed" {
		t.Errorf("one that holds: %+v", d)
	}
	if wire.MaxCounted != store.MaxWaiting {
		t.Error("what is described as counted is not what is counted")
	}
}

func TestStateThatIsAnsweredIsPassedOverWhenSentBack(t *testing.T) {
	ts := newTestServer(t)
	for _, c := range []struct {
		path, reason string
	}{{"/v1/queues/mail", ""}, {"/v1/dependencies/stripe", "tripped"}} {
		ts.call("PUT", c.path, `{}`).want(201)
		ts.call("POST", c.path+"/pause", `{"note":"moving"}`).want(200)
		if c.reason != "" {
			ts.call("POST", c.path+"/trip", `{"for":"1h"}`).want(200)
		}
		before := ts.call("GET", c.path, "").want(200)
		saved := ts.call("PUT", c.path, string(before.body)).want(200)
		again := ts.call("PUT", c.path, string(saved.body)).want(200)
		if again.header.Get("ETag") != saved.header.Get("ETag") {
			t.Errorf("the same again changed it: %s", again.body)
		}
		for _, field := range []string{"paused", "pause_note", "state", "reason", "opened_at", "next_probe_at"} {
			if before.field(field) != saved.field(field) {
				t.Errorf("%s was %q, is %q", field, before.field(field), saved.field(field))
			}
		}
	}
}
