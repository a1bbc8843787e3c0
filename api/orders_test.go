package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func (ts *testServer) order(id string) *answer {
	ts.t.Helper()
	return ts.call("GET", "/v1/requeues/"+id, "").want(200)
}

// orderEnds waits until nothing of an order is left to do.
func (ts *testServer) orderEnds(id string) (a *answer) {
	ts.t.Helper()
	ts.await("order "+id+" to end", func() bool {
		a = ts.order(id)
		return a.field("ended_at") != ""
	})
	return a
}

// wantFields fails the test unless the answer has these members.
func (a *answer) wantFields(fields map[string]string) {
	a.t.Helper()
	for field, want := range fields {
		if got := a.field(field); got != want {
			a.t.Errorf("%s is %q, want %q: %s", field, got, want, a.body)
		}
	}
}

func TestAnOrderSaysEveryFaultAndWhere(t *testing.T) {
	ts := newTestServer(t)
	for _, c := range []struct{ action, body, places string }{
		{"requeue", `{}`, "body.filter: is missing, and so are ids and all: want one of them"},
		{"requeue", `{"all":false}`, "body.filter: is missing"},
		{"resolve", `{"all":true,"ids":["` + sampleRun + `"]}`, "body.ids: is given beside all"},
		{"ignore", `{"filter":{"job":"a"},"all":true}`, "body.filter: is given beside all"},
		{"requeue", `{"ids":[]}`, "body.ids: want 1 to 10000 ids, got none"},
		{"requeue", `{"ids":["x"]}`, "body.ids[0]: not an id"},
		{"requeue", `{"filter":{}}`, "body.filter: is empty: all: true means"},
		{"requeue", `{"filter":{"job":""}}`, "body.filter.job: is empty: leave it out"},
		{"requeue", `{"filter":{"job":"No Job"}}`, "body.filter.job: "},
		{"requeue", `{"filter":{"status":"will_retry"}}`, "body.filter.status: runs that are retrying are not dealt with in bulk"},
		{"requeue", `{"filter":{"status":"done"}}`, "body.filter.status: unknown status"},
		{"requeue", `{"filter":{"since":"then"}}`, "body.filter.since"},
		{"requeue", `{"filter":{"q":"` + strings.Repeat("q", 1025) + `"}}`, "body.filter.q: too long"},
		{"requeue", `{"filter":{"name":"a"}}`, "body.filter.name: unknown"},
		{"requeue", `{"all":true,"rate":"10 per s"}`, `body.rate: "10 per s" is no rate`},
		{"requeue", `{"all":true,"rate":""}`, "body.rate: "},
		{"requeue", `{"all":true,"stop_after":0}`, "body.stop_after: want 1 or more"},
		{"requeue", `{"all":true,"patch":"x"}`, "body.patch: want an object"},
		{"resolve", `{"all":true,"patch":{}}`, "body.patch: unknown"},
		{"resolve", `{"all":true,"until":"2099-01-01T00:00:00Z"}`, "body.until: unknown"},
		{"ignore", `{"all":true,"until":"2020-01-01T00:00:00Z"}`, "body.until: is over"},
		{
			"requeue", `{"rate":"0/s","stop_after":-1,"note":"` + strings.Repeat("n", 1025) + `","x":1}`,
			"body.x: unknown|body.note: |body.filter: is missing|body.rate: |body.stop_after: ",
		},
	} {
		got := ts.call("POST", "/v1/failures/"+c.action, c.body).problem(probInvalid)
		for place := range strings.SplitSeq(c.places, "|") {
			if !strings.Contains(got, place) {
				t.Errorf("%s %.70s: %s\nwant %s", c.action, c.body, got, place)
			}
		}
	}
	ts.call("POST", "/v1/failures/requeue", "").problem(probSyntax)
	ids := make([]string, 10_001)
	for i := range ids {
		ids[i] = `"` + sampleRun + `"`
	}
	many := `{"ids":[` + strings.Join(ids, ",") + `]}`
	if got := ts.call("POST", "/v1/failures/requeue", many).problem(probInvalid); !strings.Contains(got, "body.ids[10000]: want at most 10000") {
		t.Errorf("10001 ids: %.200s", got)
	}
	ts.call("GET", "/v1/requeues/nonsense", "").problem(probNotFound)
	ts.call("DELETE", "/v1/requeues/"+sampleRun, "").problem(probNotFound)
}

func TestADryRunShowsWhatAnOrderWouldDoAndChangesNothing(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	id := ts.failed("a", `{"n":1,"page":2}`)
	tried := ts.call("POST", "/v1/failures/requeue", `{"all":true,"patch":{"page":null},"dry_run":true}`).want(200)
	if !strings.Contains(string(tried.body), `"before":{"n":1,"page":2},"after":{"n":1}`) {
		t.Errorf("%s", tried.body)
	}
	tried.wantFields(map[string]string{"count": "1", "samples.0.id": id, "samples.0.job": "a", "samples.0.skip": ""})
	tried = ts.call("POST", "/v1/failures/ignore", `{"filter":{"job":"a"},"dry_run":true}`).want(200)
	tried.wantFields(map[string]string{"count": "1", "samples.0.id": id, "samples.0.after": ""})
	tried = ts.call("POST", "/v1/failures/resolve", `{"filter":{"job":"b"},"dry_run":true}`).want(200)
	tried.wantFields(map[string]string{"count": "0", "samples.0": ""})
	if ts.failures("") != id || ts.failure(id).field("requeued_to") != "" {
		t.Error("a dry run has changed something")
	}
}

func TestAnOrderRequeuesWhatItNamesAndSaysHowItStands(t *testing.T) {
	ts := newTestServer(t)
	f := ts.flakyJob("a")
	var ids []string
	for n := range 3 {
		ids = append(ids, ts.failed("a", fmt.Sprintf(`{"n":%d}`, n)))
	}
	f.down.Store(false)
	given := ts.call("POST", "/v1/failures/requeue",
		`{"ids":["`+ids[0]+`","`+ids[2]+`","`+ids[2]+`"],"patch":{"more":true},"rate":"20/s","stop_after":2,"note":"mended"}`).want(202)
	order := given.field("id")
	if given.field("count") != "2" || given.header.Get("Location") != "/v1/requeues/"+order {
		t.Errorf("%s %s", given.header, given.body)
	}
	ended := ts.orderEnds(order)
	ended.wantFields(map[string]string{
		"id": order, "action": "requeue", "state": "done", "count": "2", "done": "2", "skipped": "0", "skips.0": "",
		"succeeded": "2", "failed": "0", "cancelled": "0", "rate": "20/s", "stop_after": "2", "note": "mended", "reason": "",
	})
	got := f.bodies()
	if slices.Sort(got); !slices.Equal(got, []string{`{"n":0,"more":true}`, `{"n":2,"more":true}`}) {
		t.Errorf("it was called with %s", got)
	}
	if ts.failures("") != ids[1] {
		t.Errorf("open: %s, want %s", ts.failures(""), ids[1])
	}
	ts.call("DELETE", "/v1/requeues/"+order, "").want(200).wantFields(map[string]string{"state": "done", "succeeded": "2"})
}

func TestTheRestOfAnOrderIsCalledOffWhenTooManyFailAgain(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	for n := range 6 {
		ts.failed("a", fmt.Sprintf(`{"n":%d}`, n))
	}
	order := ts.call("POST", "/v1/failures/requeue", `{"all":true,"rate":"2/s","stop_after":2}`).want(202).field("id")
	ended := ts.orderEnds(order)
	ended.wantFields(map[string]string{"state": "stopped", "count": "6", "failed": "2", "cancelled": "4", "succeeded": "0"})
	if ended.field("reason") == "" {
		t.Errorf("it does not say why: %s", ended.body)
	}
	if open := strings.Fields(ts.failures("")); len(open) != 6 {
		t.Errorf("%d are open, want the four that were called off and the two that failed again", len(open))
	}
}

func TestAnOrderIsCalledOffByHand(t *testing.T) {
	ts := newTestServer(t)
	ts.flakyJob("a")
	id := ts.failed("a", `{}`)
	ts.call("POST", "/v1/jobs/a/pause", "").want(200)
	order := ts.call("POST", "/v1/failures/requeue", `{"all":true}`).want(202).field("id")
	ts.await("the run to be made", func() bool { return ts.order(order).field("done") == "1" })
	if ts.failures("") != "" {
		t.Errorf("open: %s", ts.failures(""))
	}
	for range 2 {
		ts.call("DELETE", "/v1/requeues/"+order, "").want(200).wantFields(map[string]string{"state": "stopped"})
	}
	ts.orderEnds(order).wantFields(map[string]string{"state": "stopped", "cancelled": "1", "count": "1"})
	if ts.failures("") != id {
		t.Errorf("open: %s, want %s", ts.failures(""), id)
	}
}

func TestANarrowedTokenDealsWithFailuresOfItsJobsAlone(t *testing.T) {
	ts := newTestServer(t)
	f := ts.flakyJob("mail-a")
	ts.flakyJob("secret")
	own, other := ts.failed("mail-a", `{}`), ts.failed("secret", `{}`)
	mail := as(ts.token(`{"name":"mail","scopes":["operate"],"jobs":["mail-*"]}`))
	twin := as(ts.token(`{"name":"twin","scopes":["operate"],"jobs":["mail-*"]}`))
	if got := ts.failures("", mail...); got != own {
		t.Errorf("it sees %s", got)
	}
	groups := ts.call("GET", "/v1/failure-groups", "", mail...).want(200)
	if groups.field("items.0.job_type") != "mail-a" || groups.field("items.1") != "" {
		t.Errorf("it sees the groups %s", groups.body)
	}
	for _, path := range []string{"", "/resolve", "/ignore", "/requeue"} {
		method := map[bool]string{true: "GET", false: "POST"}[path == ""]
		ts.call(method, "/v1/failures/"+other+path, "", mail...).problem(probNotFound)
	}
	ts.call("POST", "/v1/failures/resolve", `{"ids":["`+other+`"]}`, mail...)
	ts.call("POST", "/v1/failures/resolve", `{"filter":{"job":"secret"}}`, mail...).want(202).wantFields(map[string]string{"count": "0"})
	tried := ts.call("POST", "/v1/failures/requeue", `{"all":true,"dry_run":true}`, mail...).want(200)
	tried.wantFields(map[string]string{"count": "1", "samples.0.id": own})
	f.down.Store(false)
	given := ts.call("POST", "/v1/failures/requeue", `{"all":true}`, mail...).want(202)
	given.wantFields(map[string]string{"count": "1"})
	order := "/v1/requeues/" + given.field("id")
	ts.orderEnds(given.field("id")).wantFields(map[string]string{"succeeded": "1"})
	ts.call("GET", order, "", mail...).want(200)
	ts.call("GET", order, "", twin...).problem(probNotFound)
	ts.call("DELETE", order, "", twin...).problem(probNotFound)
	all := ts.call("POST", "/v1/failures/requeue", `{"ids":["`+own+`"],"rate":"1/h"}`).want(202).field("id")
	ts.call("GET", "/v1/requeues/"+all, "", mail...).problem(probNotFound)
	if got := ts.failures(""); got != other {
		t.Errorf("open: %s, want %s", got, other)
	}
}

func TestASuccessResolvesEarlierFailuresOfItsJob(t *testing.T) {
	ts := newTestServer(t)
	f := ts.flakyJob("a", `"resolve_on_success":true`)
	g := ts.flakyJob("b")
	first, second, other := ts.failed("a", `{}`), ts.failed("a", `{}`), ts.failed("b", `{}`)
	f.down.Store(false)
	g.down.Store(false)
	good, plain := ts.enqueue("a", ""), ts.enqueue("b", "")
	ts.until(good, "succeeded")
	ts.until(plain, "succeeded")
	if got := ts.failures("?status=resolved"); got != second+" "+first || ts.failures("") != other {
		t.Errorf("resolved: %s", got)
	}
	if by := ts.failure(first).field("resolved_by"); by != "run "+good {
		t.Errorf("resolved by %q", by)
	}
}

func TestFiveThousandFailuresRequeuedByFilterAreAllDoneAndNoneTwice(t *testing.T) {
	many := 5000
	if raced {
		many = 300
	}
	ts := newTestServer(t)
	var down atomic.Bool
	down.Store(true)
	calls := make([]atomic.Int32, many)
	ts.hook("a", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ N int }
		text, _ := io.ReadAll(r.Body)
		if down.Load() || json.Unmarshal(text, &body) != nil {
			w.WriteHeader(500)
			return
		}
		calls[body.N].Add(1)
	}, once)
	ts.unlimited("a")
	var batch strings.Builder
	for n := range many {
		fmt.Fprintf(&batch, `,{"job":"a","payload":{"n":%d}}`, n)
	}
	ts.call("POST", "/v1/runs/batch", `{"runs":[`+batch.String()[1:]+`]}`).want(202)
	group := func() string { return ts.call("GET", "/v1/failure-groups?job=a", "").want(200).field("items.0.open") }
	ts.await("all to fail", func() bool { return group() == fmt.Sprint(many) })
	down.Store(false)

	given := ts.call("POST", "/v1/failures/requeue", `{"filter":{"job":"a","error_kind":"http"},"note":"mended"}`).want(202)
	given.wantFields(map[string]string{"count": fmt.Sprint(many)})
	again := ts.call("POST", "/v1/failures/requeue", `{"filter":{"job":"a"}}`).want(202) // at the same time
	ts.orderEnds(given.field("id"))
	ts.orderEnds(again.field("id"))
	for n := range calls {
		if got := calls[n].Load(); got != 1 {
			t.Fatalf("failure %d was run %d times", n, got)
		}
	}
	if got := group(); got != "0" || ts.failures("") != "" {
		t.Errorf("%s are open still", got)
	}
	first, second := ts.order(given.field("id")), ts.order(again.field("id"))
	var one, two struct{ Done, Skipped, Count, Succeeded int }
	first.into(&one)
	second.into(&two)
	if one.Done+one.Skipped != one.Count || two.Done+two.Skipped != two.Count || one.Succeeded+two.Succeeded != many {
		t.Errorf("%.500s\n%.500s", first.body, second.body)
	}
}

// unlimited takes the limits off the host that a job calls.
func (ts *testServer) unlimited(job string) {
	ts.t.Helper()
	target := ts.call("GET", "/v1/jobs/"+job, "").want(200).field("webhook.url")
	ts.call("PUT", "/v1/dependencies/"+strings.TrimPrefix(target, "http://"), `{"breaker":null,"concurrency":null}`).want(201)
}
