package api

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// flaky is a receiver that fails while it is down, and remembers the bodies it has taken.
type flaky struct {
	down atomic.Bool

	mu    sync.Mutex
	taken []string
}

func (f *flaky) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if f.down.Load() {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(500)
		_, _ = io.WriteString(w, `{"type":"SyncError","detail":"no route to 10.1.2.`+fmt.Sprint(len(body))+`"}`)
		return
	}
	f.mu.Lock()
	f.taken = append(f.taken, string(body))
	f.mu.Unlock()
	_, _ = io.WriteString(w, `{"ok":true}`)
}

func (f *flaky) bodies() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.taken...)
}

const once = `"retry":{"max_attempts":1}`

// flakyJob registers a job whose receiver is down.
func (ts *testServer) flakyJob(name string, fields ...string) *flaky {
	ts.t.Helper()
	f := &flaky{}
	f.down.Store(true)
	ts.hook(name, f.serve, append(fields, once)...)
	return f
}

// failed makes a run that fails.
func (ts *testServer) failed(job, payload string) string {
	ts.t.Helper()
	id := ts.enqueue(job, `{"payload":`+payload+`}`)
	ts.until(id, "failed")
	return id
}

// failures are the ids that a list of failures shows, in its order.
func (ts *testServer) failures(query string, headers ...string) string {
	ts.t.Helper()
	var list struct{ Items []struct{ ID string } }
	ts.call("GET", "/v1/failures"+query, "", headers...).want(200).into(&list)
	ids := make([]string, len(list.Items))
	for i, f := range list.Items {
		ids[i] = f.ID
	}
	return strings.Join(ids, " ")
}

func (ts *testServer) failure(id string) *answer {
	ts.t.Helper()
	return ts.call("GET", "/v1/failures/"+id, "").want(200)
}

func TestAFailureIsShownWithAllThatIsKnownOfIt(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	id := ts.failed("a", `{"n":1.50}`)
	list := ts.call("GET", "/v1/failures", "").want(200)
	run := ts.call("GET", "/v1/runs/"+id, "").want(200)
	for field, want := range map[string]string{
		"id": id, "job_type": "a", "error_kind": "http", "error_type": "SyncError",
		"error_message": run.field("error.message"), "retries": "0", "status": "open",
		"created_at": run.field("created_at"), "last_attempt_at": run.field("attempts.0.finished_at"),
		"note": "", "resolved_by": "",
	} {
		if got := list.field("items.0." + field); got != want {
			t.Errorf("%s is %q in the list, want %q", field, got, want)
		}
		if got := ts.failure(id).field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if print := list.field("items.0.fingerprint"); len(print) != 16 {
		t.Errorf("fingerprint %q", print)
	}
	if strings.Contains(string(list.body), "payload") || strings.Contains(string(list.body), "stack_trace") {
		t.Errorf("the list holds what only one failure should: %s", list.body)
	}
	one := ts.failure(id)
	if !strings.Contains(string(one.body), `"payload":{"n":1.50}`) {
		t.Errorf("the payload is not as it came: %s", one.body)
	}
	for field, want := range map[string]string{
		"attempts.0.decision.by": "max_attempts", "error.http.status": "500", "chain.0.id": id, "chain.1.id": "",
		"dealt_at": "", "until": "", "next_attempt_at": "",
	} {
		if got := one.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
}

func TestFailuresHaveTheStackOfTheirScript(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/s", `{"script":{"source":"def load():\n    raise KeyError('row 7')\nload()\n","interpreter":["python3"]},`+once+`}`).want(201)
	id := ts.failed("s", `{}`)
	one := ts.failure(id)
	if !strings.Contains(one.field("stack_trace"), "in load") || one.field("error_type") != "KeyError" {
		t.Errorf("%s", one.body)
	}
}

func TestFailuresAreFilteredByWhatTheyAre(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	ts.flakyJob("b")
	ts.hook("c", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, once)
	a, b, c := ts.failed("a", `{}`), ts.failed("b", `{}`), ts.failed("c", `{}`)
	ts.call("POST", "/v1/failures/"+b+"/resolve", "").want(200)
	print := ts.failure(c).field("fingerprint")
	created := func(id string) string { return url.QueryEscape(ts.failure(id).field("created_at")) }
	for query, want := range map[string]string{
		"": c + " " + a, "?status=open": c + " " + a, "?status=resolved": b, "?status=ignored": "", "?status=requeued": "",
		"?status=will_retry": "", "?job=a": a, "?job=none": "", "?error_type=SyncError": a, "?error_kind=http": c + " " + a,
		"?error_kind=timeout": "", "?fingerprint=" + print: c, "?fingerprint=" + print + "&job=a": "", "?q=no+route": a,
		"?q=" + a[:30]: a, "?since=" + created(c): c, "?until=" + created(a): a, "?job=b&status=resolved": b, "?limit=1": c,
	} {
		if got := ts.failures(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := ts.call("GET", "/v1/failures?limit=1", "").want(200)
	if got := ts.failures("?limit=1&cursor=" + first.field("next")); got != a {
		t.Errorf("the second page is %s, want %s", got, a)
	}
	for query, place := range map[string]string{
		"?status=done": "query.status: unknown status: want open, will_retry", "?status=open&status=ignored": "more than once",
		"?since=yesterday": "query.since", "?job=": "query.job: is empty", "?cursor=x": "query.cursor", "?error=x": "query.error: unknown",
		"?q=" + strings.Repeat("q", 1025): "query.q: too long",
	} {
		if got := ts.call("GET", "/v1/failures"+query, "").problem(probInvalid); !strings.Contains(got, place) {
			t.Errorf("%s: %s, want %s", query, got, place)
		}
	}
	ts.call("GET", "/v1/failures/nonsense", "").problem(probNotFound)
	ts.call("GET", "/v1/failures/"+sampleRun, "").problem(probNotFound)
	waits := ts.enqueue("a", `{"delay":"1h"}`)
	ts.call("GET", "/v1/failures/"+waits, "").problem(probNotFound)
	ts.call("POST", "/v1/failures/"+waits+"/resolve", "").problem(probNotFound)
}

// Case 138: resolved ones do not come back and are not counted as open.
func TestAFailureThatWasDealtWithStaysSo(t *testing.T) {
	ts := newTestServer(t)
	f := ts.flakyJob("a")
	id := ts.failed("a", `{}`)
	one := ts.call("POST", "/v1/failures/"+id+"/resolve", `{"note":"by hand"}`).want(200)
	if one.field("status") != "resolved" || one.field("note") != "by hand" || one.field("resolved_by") != "token admin" || one.field("dealt_at") == "" {
		t.Fatalf("%s", one.body)
	}
	again := ts.call("POST", "/v1/failures/"+id+"/resolve", "").want(200)
	if again.field("note") != "by hand" || again.field("dealt_at") != one.field("dealt_at") {
		t.Errorf("resolved twice: %s", again.body)
	}
	if ts.failures("") != "" || ts.failures("?status=resolved") != id {
		t.Error("a resolved failure is listed as open")
	}
	f.down.Store(false)
	next := ts.call("POST", "/v1/failures/"+id+"/requeue", "").want(202).field("id")
	ts.until(next, "succeeded")
	one = ts.failure(id)
	if one.field("status") != "resolved" || one.field("resolved_by") != "run "+next || one.field("chain.1.id") != next {
		t.Errorf("a requeue that succeeded leaves it %s", one.body)
	}
	for range 2 {
		ts.call("POST", "/v1/failures/"+id+"/resolve", `{"note":"seen"}`).want(200)
	}
	if one = ts.failure(id); one.field("note") != "seen" || one.field("status") != "resolved" {
		t.Errorf("resolved twice more: %s", one.body)
	}
	audit := ts.call("GET", "/v1/audit", "").want(200)
	if strings.Count(string(audit.body), `"action":"resolve"`) < 2 || !strings.Contains(string(audit.body), `"note":"by hand"`) {
		t.Errorf("the audit does not tell: %s", audit.body)
	}
	if ts.failures("") != "" {
		t.Errorf("open: %s", ts.failures(""))
	}
}

func TestTheEndOfARequeueDecidesAboutItsFailure(t *testing.T) {
	ts := newTestServer(t)
	f := ts.flakyJob("a")
	first := ts.failed("a", `{}`)
	second := ts.call("POST", "/v1/failures/"+first+"/requeue", `{"note":"once more"}`).want(202).field("id")
	ts.until(second, "failed")
	if got := ts.failures(""); got != second || ts.failures("?status=requeued") != first {
		t.Errorf("after a requeue that failed %s is open", got)
	}
	ts.call("POST", "/v1/jobs/a/pause", "").want(200)
	third := ts.call("POST", "/v1/failures/"+second+"/requeue", "").want(202).field("id")
	if got := ts.call("POST", "/v1/failures/"+second+"/requeue", "").want(200).field("id"); got != third {
		t.Errorf("requeued twice at once: %s and %s", third, got)
	}
	if got := ts.failures(""); got != "" {
		t.Errorf("open while its requeue is under way: %s", got)
	}
	chain := ts.failure(first)
	if chain.field("chain.2.held_by.kind") != "paused" || chain.field("chain.2.id") != third {
		t.Errorf("the chain does not say what the newest run waits for: %s", chain.body)
	}
	ts.call("POST", "/v1/runs/"+third+"/cancel", "").want(200)
	if got := ts.failures(""); got != second {
		t.Errorf("after a requeue that was cancelled %s is open, want %s", got, second)
	}
	ts.call("POST", "/v1/jobs/a/resume", "").want(200)
	f.down.Store(false)
	last := ts.call("POST", "/v1/failures/"+second+"/requeue", "").want(202).field("id")
	ts.until(last, "succeeded")
	if got := ts.failures("?status=resolved"); got != second+" "+first || ts.failures("") != "" {
		t.Errorf("after a requeue that succeeded %s are resolved", got)
	}
}

func TestAPatchChangesThePayloadOfARequeue(t *testing.T) {
	ts := newTestServer(t)
	f := ts.flakyJob("a")
	id := ts.failed("a", `{"keep":1.50,"page":7,"deep":{"x":1,"y":2}}`)
	for body, place := range map[string]string{
		`{"patch":[1]}`: "body.patch: want an object", `{"patch":null}`: "body.patch: want an object", `{"patch":{},"payload":{}}`: "body.patch: is given beside payload",
		`{"patch":{"a":1,"a":2}}`: "body.patch.a", `{"rate":"1/s"}`: "body.rate: unknown", `{"note":"` + strings.Repeat("n", 1025) + `"}`: "body.note",
	} {
		if got := ts.call("POST", "/v1/failures/"+id+"/requeue", body).problem(probInvalid); !strings.Contains(got, place) {
			t.Errorf("%.60s: %s, want %s", body, got, place)
		}
	}
	big := `{"patch":{"x":"` + strings.Repeat("x", 256<<10) + `"}}`
	if got := ts.call("POST", "/v1/failures/"+id+"/requeue", big).problem(probTooLarge); !strings.Contains(got, "body.patch") {
		t.Errorf("a patch that is too large: %s", got)
	}
	half := `{"patch":{"x":"` + strings.Repeat("x", 256<<10-20) + `"}}`
	if got := ts.call("POST", "/v1/failures/"+id+"/requeue", half).problem(probTooLarge); !strings.Contains(got, "payload") {
		t.Errorf("a payload that gets too large: %s", got)
	}
	f.down.Store(false)
	run := ts.call("POST", "/v1/failures/"+id+"/requeue", `{"patch":{"page":null,"deep":{"y":3},"new":1e2}}`).want(202)
	ts.until(run.field("id"), "succeeded")
	if got, want := f.bodies(), `{"keep":1.50,"deep":{"x":1,"y":3},"new":1e2}`; len(got) != 1 || got[0] != want {
		t.Errorf("it was called with %s, want %s", got, want)
	}
	if run.field("operation_id") != run.field("id") {
		t.Errorf("another payload is another operation: %s", run.body)
	}
}

func TestARunThatRetriesIsShownAndLeftAlone(t *testing.T) {
	ts := newTestServer(t)
	fail := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	ts.hook("a", fail, `"retry":{"max_attempts":3,"backoff":{"base":"1h"}}`)
	id := ts.enqueue("a", "")
	run := ts.until(id, "retrying")
	list := ts.call("GET", "/v1/failures?status=will_retry", "").want(200)
	if list.field("items.0.id") != id || list.field("items.0.last_attempt_at") != run.field("attempts.0.finished_at") || ts.failures("") != "" {
		t.Errorf("%s", list.body)
	}
	one := ts.failure(id)
	if one.field("status") != "will_retry" || one.field("next_attempt_at") != run.field("next_attempt_at") || one.field("fingerprint") == "" {
		t.Errorf("%s", one.body)
	}
	for _, action := range []string{"resolve", "ignore", "requeue"} {
		got := ts.call("POST", "/v1/failures/"+id+"/"+action, "").problem(probState)
		if !strings.Contains(got, "retrying") {
			t.Errorf("%s: %s", action, got)
		}
		if all := ts.call("POST", "/v1/failures/"+action, `{"all":true}`).want(202); all.field("count") != "0" {
			t.Errorf("%s of all: %s", action, all.body)
		}
	}
}

func TestIgnoredFailuresAreSilentUntilTheirTime(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	id := ts.failed("a", `{}`)
	for body, place := range map[string]string{
		`{"until":"2020-01-01T00:00:00Z"}`: "body.until: is over", `{"until":"soon"}`: "body.until", `{"for":"7d"}`: "body.for: unknown",
	} {
		if got := ts.call("POST", "/v1/failures/"+id+"/ignore", body).problem(probInvalid); !strings.Contains(got, place) {
			t.Errorf("%s: %s", body, got)
		}
	}
	one := ts.call("POST", "/v1/failures/"+id+"/ignore", `{"note":"they move","until":"2099-01-01T00:00:00Z"}`).want(200)
	if one.field("status") != "ignored" || one.field("until") != "2099-01-01T00:00:00.000Z" || one.field("note") != "they move" {
		t.Errorf("%s", one.body)
	}
	groups := ts.call("GET", "/v1/failure-groups?status=ignored", "").want(200)
	if groups.field("items.0.status") != "ignored" || groups.field("items.0.until") != "2099-01-01T00:00:00.000Z" {
		t.Errorf("%s", groups.body)
	}
	next := ts.failed("a", `{}`)
	if ts.failures("") != "" || ts.failures("?status=ignored") != next+" "+id {
		t.Errorf("what comes in an ignored group is %s", ts.failure(next).field("status"))
	}
	ts.call("POST", "/v1/failures/"+id+"/resolve", "").want(200)
	if got := ts.failed("a", `{}`); ts.failures("") != got {
		t.Errorf("what comes after one was resolved is %s", ts.failure(got).field("status"))
	}
}

func TestFailuresThatAreAlikeAreOneGroupThatComesBack(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	first, second := ts.failed("a", `{"n":1}`), ts.failed("a", `{"n":12345}`) // the messages differ in a number
	groups := ts.call("GET", "/v1/failure-groups", "").want(200)
	for field, want := range map[string]string{
		"items.1": "", "items.0.count": "2", "items.0.open": "2", "items.0.status": "open", "items.0.job_type": "a",
		"items.0.error_kind": "http", "items.0.error_type": "SyncError", "items.0.last_run": second, "items.0.until": "",
		"items.0.fingerprint":   ts.failure(first).field("fingerprint"),
		"items.0.error_message": ts.failure(second).field("error_message"),
	} {
		if got := groups.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	print := groups.field("items.0.fingerprint")
	order := ts.call("POST", "/v1/failures/resolve", `{"filter":{"fingerprint":"`+print+`"},"note":"mended"}`).want(202)
	if order.field("count") != "2" {
		t.Errorf("%s", order.body)
	}
	ts.orderEnds(order.field("id"))
	group := func() *answer { return ts.call("GET", "/v1/failure-groups?job=a&fingerprint="+print, "").want(200) }
	if got := group(); got.field("items.0.status") != "resolved" || got.field("items.0.open") != "0" {
		t.Errorf("%s", got.body)
	}
	ts.failed("a", `{"n":7}`)
	if got := group(); got.field("items.0.status") != "open" || got.field("items.0.open") != "1" || got.field("items.0.count") != "3" {
		t.Errorf("%s", got.body)
	}
	ts.call("GET", "/v1/failure-groups?status=requeued", "").problem(probInvalid)
	if got := ts.call("GET", "/v1/failure-groups?status=resolved,ignored", "").want(200); got.field("items.0") != "" {
		t.Errorf("%s", got.body)
	}
}
