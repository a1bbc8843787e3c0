package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// runFields are the members of a run in the order of the contract (3.2).
var runFields = strings.Fields(`id job version operation_id state held_by trigger schedule payload result
	result_truncated priority queue labels correlation_id traceparent idempotency_key created_by
	created_at run_at scheduled_for started_at finished_at cancel_requested_at attempt max_attempts
	next_attempt_at progress error group requeued_from requeued_to attempts`)

// keys are the members of the object that text begins with, in order.
func keys(t *testing.T, text []byte) (names []string) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		t.Fatalf("no object: %s", text)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestRunHasTheFieldsOfTheContract(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) })
	id := ts.enqueue("a", "")
	got := ts.until(id, "failed")
	if names := keys(t, got.body); !slices.Equal(names, runFields) {
		t.Errorf("fields are %v", names)
	}
	attempts := strings.Fields("number version started_at finished_at outcome slices error http_status exit_code output_tail decision")
	var run struct {
		Attempts []json.RawMessage
		Error    json.RawMessage
	}
	got.into(&run)
	if names := keys(t, run.Attempts[0]); !slices.Equal(names, attempts) {
		t.Errorf("fields of an attempt are %v", names)
	}
	if got.field("error.kind") != "http" || got.field("attempts.0.decision.action") != "fail" || got.field("attempt") != "1" {
		t.Errorf("run: %s", got.body)
	}
	var page struct{ Items []json.RawMessage }
	ts.call("GET", "/v1/runs", "").want(200).into(&page)
	var want []string
	for _, name := range runFields {
		if !slices.Contains([]string{"payload", "result", "attempts"}, name) {
			want = append(want, name)
		}
	}
	if names := keys(t, page.Items[0]); !slices.Equal(names, want) {
		t.Errorf("fields in a list are %v", names)
	}
}

func TestListOfRunsFilters(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("good", ok(`1`), `"labels":{"team":"data"}`)
	ts.hook("bad", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(400)
		fmt.Fprint(w, `{"type":"CardDeclined","detail":"card 42 declined"}`)
	}, `"queue":"money"`)
	good := ts.enqueue("good", `{"correlation_id":"order-1"}`)
	bad := ts.enqueue("bad", `{"labels":{"tier":"gold","note":"a<b & c"}}`)
	later := ts.enqueue("good", `{"delay":"1h"}`)
	ts.until(good, "succeeded")
	failed := ts.until(bad, "failed")
	again := ts.call("POST", "/v1/runs/"+good+"/requeue", "").want(202).field("id")
	ts.until(again, "succeeded")
	middle := url.QueryEscape(failed.field("created_at"))
	for query, want := range map[string][]string{
		"":                           {again, later, bad, good},
		"job=bad":                    {bad},
		"job=absent":                 {},
		"state=failed":               {bad},
		"state=failed,scheduled":     {later, bad},
		"state=failed&state=queued":  {bad},
		"queue=money":                {bad},
		"queue=default":              {again, later, good},
		"label=tier:gold":            {bad},
		"label=tier":                 {bad},
		"label=note:a%3Cb%20%26%20c": {bad},
		"label=tier:silver":          {},
		"label=team:data":            {again, later, good},
		"correlation_id=order-1":     {again, good},
		"error_kind=http":            {bad},
		"error_type=CardDeclined":    {bad},
		"error_type=Card":            {},
		"trigger=requeue":            {again},
		"trigger=api&state=failed":   {bad},
		"since=" + middle:            {again, later, bad},
		"until=" + middle:            {bad, good},
		"q=" + bad[:18]:              {bad},
		"q=order":                    {again, good},
		"q=DECLINED":                 {bad},
		"q=nothing":                  {},
		"schedule=night":             {},
	} {
		var page struct{ Items []struct{ ID string } }
		ts.call("GET", "/v1/runs?"+query, "").want(200).into(&page)
		got := []string{}
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("?%s gives %v, want %v", query, got, want)
		}
	}
}

func TestListsOfRunsStaySmall(t *testing.T) {
	ts := newTestServer(t)
	big := `"` + strings.Repeat("x", 60<<10) + `"`
	ts.hook("a", ok(big))
	ts.call("PUT", "/v1/jobs/b", `{"script":{"interpreter":["python3"],"source":"raise ValueError('no')"}}`).want(201)
	for range 3 {
		ts.call("POST", "/v1/jobs/a/runs?wait=30s", `{"payload":`+big+`}`).want(200)
	}
	failed := ts.call("POST", "/v1/jobs/b/runs?wait=30s", "").want(200)
	if failed.field("error.type") == "ValueError" && failed.field("error.stack") == "" {
		t.Errorf("the run itself has no stack: %s", failed.body)
	}
	list := ts.call("GET", "/v1/runs", "").want(200)
	if len(list.body) > 10<<10 {
		t.Errorf("a list of 4 runs has %d bytes", len(list.body))
	}
	for _, field := range []string{"payload", "result", "attempts", "error.stack"} {
		for _, row := range []string{"items.0.", "items.1."} {
			if got := list.field(row + field); got != "" {
				t.Errorf("%s%s: %.80s", row, field, got)
			}
		}
	}
	if list.field("items.0.error.message") == "" {
		t.Errorf("no message: %s", list.body)
	}
}

func TestEveryRunIsReachedByPages(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	ts.call("POST", "/v1/jobs/a/pause", "").want(200)
	const runs = 5000
	batch := `{"runs":[` + strings.Repeat(`{"job":"a"},`, runs-1) + `{"job":"a"}]}`
	ts.call("POST", "/v1/runs/batch", batch).want(202)
	seen := map[string]int{}
	next := ""
	for {
		var page struct {
			Items []struct{ ID string }
			Next  *string
			Limit int
		}
		ts.call("GET", "/v1/runs?limit=1000000"+next, "").want(200).into(&page)
		if page.Limit != 1000 {
			t.Fatalf("the answer's limit is %d", page.Limit)
		}
		for _, r := range page.Items {
			seen[r.ID]++
		}
		// New runs come meanwhile; they are not in the pages that follow.
		ts.enqueue("a", "")
		if page.Next == nil {
			break
		}
		next = "&cursor=" + *page.Next
	}
	if len(seen) != runs {
		t.Errorf("reached %d of %d runs", len(seen), runs)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("run %s came %d times", id, n)
		}
	}
}

func TestCancelInEveryState(t *testing.T) {
	ts := newTestServer(t)
	cancel := func(id string) *answer { return ts.call("POST", "/v1/runs/"+id+"/cancel", "") }
	ts.hook("quick", ok(`1`))
	ts.hook("flaky", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	handle, _ := gate(t)
	ts.hook("slow", handle)

	scheduled := ts.enqueue("quick", `{"delay":"1h"}`)
	retrying := ts.enqueue("flaky", "")
	ts.until(retrying, "retrying")
	ts.call("POST", "/v1/jobs/quick/pause", "").want(200)
	queued := ts.enqueue("quick", "")
	ts.until(queued, "queued")
	for _, id := range []string{scheduled, retrying, queued} {
		for range 2 { // again changes nothing
			if a := cancel(id).want(200); a.field("state") != "cancelled" || a.field("finished_at") == "" {
				t.Errorf("cancelled: %s", a.body)
			}
		}
	}

	running := ts.enqueue("slow", "")
	ts.until(running, "running")
	if a := cancel(running); a.status == 202 && a.field("cancel_requested_at") == "" {
		t.Errorf("being stopped: %s", a.body)
	} else if a.status != 202 && a.status != 200 {
		t.Errorf("cancel of a running run: %d %s", a.status, a.body)
	}
	ts.until(running, "cancelled")

	// One that takes its time to stop: again and again 202, since the first.
	stubborn := `{"script":{"source":"trap '' TERM; echo begun; while :; do sleep 0.05; done","grace":"700ms"}}`
	ts.call("PUT", "/v1/jobs/stubborn", stubborn).want(201)
	stopping := ts.enqueue("stubborn", "")
	for !strings.Contains(string(ts.call("GET", "/v1/runs/"+stopping+"/log", "").body), "begun") {
		time.Sleep(5 * time.Millisecond)
	}
	first := cancel(stopping).want(202)
	if first.field("state") != "running" || first.field("cancel_requested_at") == "" {
		t.Errorf("being stopped: %s", first.body)
	}
	if again := cancel(stopping); again.status == 202 &&
		again.field("cancel_requested_at") != first.field("cancel_requested_at") {
		t.Errorf("again: %s", again.body)
	}
	ended := ts.until(stopping, "cancelled")
	if ended.field("attempts.0.outcome") != "cancelled" || ended.field("attempts.0.decision.by") != "cancel" {
		t.Errorf("cancelled: %s", ended.body)
	}
	cancel(stopping).want(200)

	ts.call("POST", "/v1/jobs/quick/resume", "").want(200)
	done := ts.enqueue("quick", "")
	ts.until(done, "succeeded")
	if got := cancel(done).problem(probState); !strings.Contains(got, "succeeded") {
		t.Errorf("the refusal does not name the state: %s", got)
	}
	cancel("0192e4a7-5b3c-7d1e-8f00-0123456789ab").problem(probNotFound)
	cancel("not-an-id").problem(probNotFound)
}

func TestRunNowDropsTheDelay(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", `{"delay":"7d"}`)
	ts.call("POST", "/v1/runs/"+id+"/run-now", "").want(200)
	ts.until(id, "succeeded")
	ts.call("POST", "/v1/runs/"+id+"/run-now", "").problem(probState)
}

func TestRequeueMakesOneNewRun(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("a", handle)
	id := ts.enqueue("a", `{"payload":{"x":1}}`)
	ts.call("POST", "/v1/runs/"+id+"/requeue", "").problem(probState)
	ts.call("POST", "/v1/runs/"+id+"/cancel", "")
	old := ts.until(id, "cancelled")
	again := ts.call("POST", "/v1/runs/"+id+"/requeue", `{"note":"once more"}`).want(202)
	for field, want := range map[string]string{
		"requeued_from": id, "trigger": "requeue", "operation_id": old.field("operation_id"), "payload.x": "1",
	} {
		if got := again.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	twice := ts.call("POST", "/v1/runs/"+id+"/requeue", "").want(200)
	if twice.field("id") != again.field("id") {
		t.Errorf("a second requeue made %s beside %s", twice.field("id"), again.field("id"))
	}
	open()
	ts.until(again.field("id"), "succeeded")
	other := ts.call("POST", "/v1/runs/"+id+"/requeue", `{"payload":{"x":2}}`).want(202)
	if other.field("operation_id") == old.field("operation_id") || other.field("payload.x") != "2" {
		t.Errorf("with another payload: %s", other.body)
	}
	if got := ts.call("GET", "/v1/runs/"+id, ""); got.field("requeued_to") == "" {
		t.Errorf("the old run does not point on: %s", got.body)
	}
}

func TestOnlyEndedRunsAreDeleted(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", `{"delay":"1h"}`)
	ts.call("DELETE", "/v1/runs/"+id, "").problem(probState)
	ts.call("POST", "/v1/runs/"+id+"/cancel", "").want(200)
	ts.call("DELETE", "/v1/runs/"+id, "").want(204)
	ts.call("GET", "/v1/runs/"+id, "").problem(probNotFound)
	ts.call("DELETE", "/v1/runs/"+id, "").problem(probNotFound)
}

func TestDrainStartsNothing(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	if a := ts.call("POST", "/v1/server/drain", "").want(200); a.field("draining") != "true" {
		t.Errorf("drain: %s", a.body)
	}
	id := ts.enqueue("a", "")
	if a := ts.call("GET", "/v1/runs/"+id, ""); a.field("held_by.kind") != "drain" {
		t.Errorf("held by: %s", a.body)
	}
	ts.call("POST", "/v1/server/resume", `{"cancel_waiting":1}`).problem(probInvalid)
	if a := ts.call("POST", "/v1/server/resume", "{}").want(200); a.field("draining") != "false" {
		t.Errorf("resume: %s", a.body)
	}
	ts.until(id, "succeeded")
}

func TestResumeCancelsWhatWaits(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	ts.call("POST", "/v1/server/drain", "").want(200)
	due, later := ts.enqueue("a", ""), ts.enqueue("a", `{"delay":"1h"}`)
	group := ts.call("POST", "/v1/groups", `{"members":[{"name":"m","job":"a"}]}`).want(202).field("id")
	if a := ts.call("POST", "/v1/server/resume", `{"cancel_waiting":true}`).want(200); a.field("cancelled_runs") != "3" {
		t.Errorf("resume: %s", a.body)
	}
	for _, id := range []string{due, later, group} {
		ts.until(id, "cancelled")
	}
	ts.until(ts.enqueue("a", ""), "succeeded")
}

func TestEveryChangeIsAudited(t *testing.T) {
	ts := newTestServer(t)
	doc := `{"name":"a","script":{"source":"true"}}`
	var want []string
	change := func(method, path, body, action string) *answer {
		t.Helper()
		got := ts.call(method, path, body)
		if got.status >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
		}
		want = append(want, action)
		return got
	}
	change("POST", "/v1/jobs", doc, "put job a")
	change("POST", "/v1/jobs/a/pause", "", "pause job a")
	id := ts.enqueue("a", "")
	change("PUT", "/v1/jobs/a", `{"script":{"source":"false"}}`, "put job a")
	change("POST", "/v1/apply", `{"jobs":[`+doc+`]}`, "put job a")
	change("POST", "/v1/jobs/a/upgrade-runs", "", "upgrade-runs job a")
	change("POST", "/v1/runs/"+id+"/cancel", "", "cancel run "+id)
	later := ts.enqueue("a", `{"delay":"1h"}`)
	change("POST", "/v1/runs/"+later+"/run-now", "", "run-now run "+later)
	change("POST", "/v1/runs/"+id+"/requeue", "", "requeue run "+id)
	change("DELETE", "/v1/runs/"+id, "", "remove run "+id)
	change("POST", "/v1/jobs/a/resume", "", "resume job a")
	change("DELETE", "/v1/jobs/a", "", "delete job a")
	change("POST", "/v1/tokens", `{"name":"t","scopes":["read"]}`, "put token t")
	change("PUT", "/v1/tokens/t", `{"scopes":["enqueue"]}`, "put token t")
	change("DELETE", "/v1/tokens/t", "", "delete token t")
	change("POST", "/v1/server/drain", "", "drain server server")
	change("POST", "/v1/server/resume", "", "resume server server")
	slices.Reverse(want)
	var list struct {
		Items []struct{ Actor, Action, Kind, Name string }
	}
	ts.call("GET", "/v1/audit?limit="+fmt.Sprint(len(want)), "").want(200).into(&list)
	var got []string
	for _, e := range list.Items {
		if got = append(got, e.Action+" "+e.Kind+" "+e.Name); e.Actor != "token admin" {
			t.Errorf("%s was done by %s", e.Action, e.Actor)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf(" got %q\nwant %q", got, want)
	}
}

func TestAuditTellsWhoChangedWhat(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	op := ts.token(`{"name":"op","scopes":["operate"]}`)
	id := ts.enqueue("a", `{"delay":"1h"}`)
	ts.call("POST", "/v1/runs/"+id+"/cancel", "", as(op)...).want(200)
	ts.call("POST", "/v1/jobs/a/pause", `{"note":"why not"}`, as(op)...).want(200)
	a := ts.call("GET", "/v1/audit?limit=2", "").want(200)
	for field, want := range map[string]string{
		"items.0.action": "pause", "items.0.actor": "token op", "items.0.name": "a", "items.0.note": "why not",
		"items.1.action": "cancel", "items.1.kind": "run", "items.1.name": id, "limit": "2",
	} {
		if got := a.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if a.field("next") == "" {
		t.Errorf("there is no next page: %s", a.body)
	}
}

func TestReadyTellsWhyNot(t *testing.T) {
	ts := newTestServer(t)
	if a := ts.call("GET", "/readyz", "", "Authorization", "").want(200); a.field("status") != "ready" {
		t.Errorf("ready: %s", a.body)
	}
	ts.api.stop()
	ts.call("GET", "/readyz", "", "Authorization", "").problem(probStopping)
	ts.call("GET", "/healthz", "", "Authorization", "").want(200)
}

func TestTimesAreUTCWithMilliseconds(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	a := ts.call("POST", "/v1/jobs/a/runs", `{"run_at":"2100-01-01T02:00:00.5+02:00"}`).want(202)
	if a.field("run_at") != "2100-01-01T00:00:00.500Z" {
		t.Errorf("run_at %s", a.field("run_at"))
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", a.field("created_at")); err != nil {
		t.Error(err)
	}
}
