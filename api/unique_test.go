package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// alike are the fields of a job whose runs are of one kind by payload.k.
func alike(while, conflict string) string {
	return fmt.Sprintf(`"unique":{"key":"payload.k","while":%q,"on_conflict":%q}`, while, conflict)
}

const kindOne = `{"payload":{"k":1}}`

func TestEnqueueAnswersTheRunThatStandsAndUntilWhen(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("a", handle, alike("active", "existing"))
	first := ts.call("POST", "/v1/jobs/a/runs", kindOne).want(202)
	if strings.Contains(string(first.body), "unique_until") {
		t.Errorf("a run that was made: %s", first.body)
	}
	id := first.field("id")
	ts.until(id, "running")
	again := ts.call("POST", "/v1/jobs/a/runs", kindOne).want(200)
	if again.field("id") != id || again.field("duplicate") != "true" || again.field("state") != "running" ||
		!strings.Contains(string(again.body), `"unique_until":null`) || again.header.Get("Location") != "/v1/runs/"+id {
		t.Errorf("the same again: %s", again.body)
	}
	ts.call("POST", "/v1/jobs/a/runs?wait=10ms", kindOne).want(202)
	ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"k":2}}`).want(202)
	open()
	ts.until(id, "succeeded")
	next := ts.enqueue("a", kindOne)
	ts.hook("a", ok(`1`), alike("1h", "existing"))
	done := ts.call("POST", "/v1/jobs/a/runs?wait=60s", kindOne).want(200)
	if done.field("id") != next || done.field("state") != "succeeded" || done.field("duplicate") != "true" {
		t.Errorf("after the wait: %s", done.body)
	}
}

func TestEnqueueNamesARunThatWaitsForItsRetry(t *testing.T) { // case 125
	ts := newTestServer(t)
	fail := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	ts.hook("a", fail, alike("active", "reject"),
		`"retry":{"max_attempts":2,"backoff":{"base":"1h","max":"1h","jitter":0}}`)
	id := ts.enqueue("a", kindOne)
	ts.until(id, "retrying")
	a := ts.call("POST", "/v1/jobs/a/runs", kindOne)
	if text := a.problem(probUnique); !strings.Contains(text, "run "+id+" of job a stands for it until it ends") {
		t.Errorf("conflict: %s", text)
	}
	if a.field("run") != id || !strings.Contains(string(a.body), `"unique_until":null`) {
		t.Errorf("conflict: %s", a.body)
	}
	ts.call("POST", "/v1/runs/"+id+"/run-now", "").want(200)
	ts.until(id, "failed")
	ts.call("POST", "/v1/jobs/a/runs", kindOne).want(202) // case 124
}

func TestWindowIsToldAndHoldsOverACancel(t *testing.T) { // case 126
	ts := newTestServer(t)
	ts.hook("a", ok(`1`), alike("60s", "existing"))
	first := ts.call("POST", "/v1/jobs/a/runs", `{"delay":"1h","payload":{"k":1}}`).want(202)
	created, err := time.Parse(time.RFC3339, first.field("created_at"))
	if err != nil {
		t.Fatal(err)
	}
	until := created.Add(time.Minute).Format("2006-01-02T15:04:05.000Z")
	ts.call("POST", "/v1/runs/"+first.field("id")+"/cancel", "").want(200)
	again := ts.call("POST", "/v1/jobs/a/runs", kindOne).want(200)
	if again.field("id") != first.field("id") || again.field("unique_until") != until || again.field("state") != "cancelled" {
		t.Errorf("after the cancel: %s, want until %s", again.body, until)
	}
	ts.call("PUT", "/v1/jobs/a", `{"webhook":{"url":"http://127.0.0.1:9/"},`+alike("60s", "reject")+`}`).want(200)
	a := ts.call("POST", "/v1/jobs/a/runs", kindOne)
	if text := a.problem(probUnique); !strings.Contains(text, "until "+until) || a.field("unique_until") != until {
		t.Errorf("conflict: %s", a.body)
	}
	ts.call("DELETE", "/v1/runs/"+first.field("id"), "").want(204)
	ts.call("POST", "/v1/jobs/a/runs", kindOne).want(202)
}

func TestReplaceGivesTheRunThatWaitsAnotherPayload(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`), alike("queued", "replace"))
	ts.call("POST", "/v1/jobs/a/pause", "").want(200)
	id := ts.enqueue("a", `{"payload":{"k":1,"n":1},"priority":5}`)
	again := ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"k":1, "n":2.50},"priority":9}`).want(200)
	if again.field("id") != id || again.field("duplicate") != "true" || again.field("replaced") != "true" ||
		again.field("priority") != "5" || !strings.Contains(string(again.body), `"payload":{"k":1, "n":2.50},`) {
		t.Errorf("replaced: %s", again.body)
	}
	ts.call("POST", "/v1/jobs/a/resume", "").want(200)
	if done := ts.until(id, "succeeded"); done.field("payload.n") != "2.50" {
		t.Errorf("done: %s", done.body)
	}
	ts.call("POST", "/v1/jobs/a/runs", kindOne).want(202)
}

func TestManyCallsOfOneKindMakeOneRun(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	defer open()
	ts.hook("a", handle, alike("active", "reject"))
	var made, refused [50]string
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			switch a := ts.call("POST", "/v1/jobs/a/runs", kindOne); a.status {
			case 202:
				made[i] = a.field("id")
			case 409:
				refused[i] = a.field("run")
			}
		})
	}
	all.Wait()
	id := strings.Join(made[:], "")
	for i := range refused {
		if made[i] == "" && refused[i] != id {
			t.Fatalf("made %q, call %d was told of %q", id, i, refused[i])
		}
	}
}

func TestBatchListsEveryConflict(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`), alike("1h", "reject"))
	ts.hook("e", ok(`1`), alike("1h", "existing"))
	batch := func(runs ...string) *answer {
		return ts.call("POST", "/v1/runs/batch", `{"runs":[`+strings.Join(runs, ",")+`]}`)
	}
	first := batch(`{"job":"a","payload":{"k":1}}`, `{"job":"e","payload":{"k":1}}`, `{"job":"e","payload":{"k":1}}`,
		`{"job":"a","payload":{"k":null}}`, `{"job":"a","payload":{"k":null}}`).want(202)
	id := first.field("items.0.id")
	if first.field("items.2.id") != first.field("items.1.id") || first.field("items.2.duplicate") != "true" ||
		first.field("items.2.unique_until") == "" || first.field("items.1.unique_until") != "" {
		t.Errorf("entries act in order: %s", first.body)
	}
	ts.until(id, "succeeded")
	text := batch(`{"job":"a","payload":{"k":2}}`, `{"job":"a","payload":{"k":1}}`, `{"job":"a","payload":{"k":2}}`).
		problem(probUnique)
	for _, want := range []string{
		"body.runs[1]: run " + id + " of job a stands for it until 2", "body.runs[2]: the run of runs[0] stands for it until 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
	ts.call("POST", "/v1/jobs/e/runs", `{"payload":{"k":3},"idempotency_key":"i"}`).want(202)
	keyOf := `{"job":"e","idempotency_key":"i","payload":{"k":4}}`
	text = batch(`{"job":"a","payload":{"k":1}}`, keyOf).problem(probKey)
	for _, want := range []string{"body.runs[0]: run " + id, "body.runs[1].idempotency_key: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
	// Beside what is not valid.
	for _, bad := range []string{`{"job":"a","priority":1000}`, `{"job":"nobody"}`, `{"job":"a","retry":1}`} {
		text = batch(bad, `{"job":"a","payload":{"k":2}}`, `{"job":"a","payload":{"k":1}}`, keyOf,
			`{"job":"a","payload":{"k":2}}`).problem(probInvalid)
		for _, want := range []string{
			"body.runs[0]", "body.runs[2]: run " + id, "body.runs[3].idempotency_key: ",
			"body.runs[4]: the run of runs[1] stands for it",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s, want %s", bad, text, want)
			}
		}
	}
}

func TestKeyThatCannotBeWorkedOutIsAFaultOfThePayload(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`), `"unique":{"key":"int(payload.k)","while":"active"}`)
	for body, at := range map[string]string{
		`{"payload":{"k":"many"}}`:                      "body.payload: unique.key: ",
		`{"runs":[{"job":"a","payload":{"k":"many"}}]}`: "body.runs[0].payload: unique.key: ",
	} {
		path := "/v1/jobs/a/runs"
		if strings.Contains(body, "runs") {
			path = "/v1/runs/batch"
		}
		if text := ts.call("POST", path, body).problem(probInvalid); !strings.Contains(text, at) {
			t.Errorf("%s, want %s", text, at)
		}
	}
	id := ts.enqueue("a", kindOne)
	ts.until(id, "succeeded")
	text := ts.call("POST", "/v1/runs/"+id+"/requeue", `{"payload":{"k":"many"}}`).problem(probInvalid)
	if !strings.Contains(text, "body.payload: unique.key: ") {
		t.Errorf("requeue: %s", text)
	}
}

func TestRequeueMeetsARunOfItsKind(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`), alike("1h", "existing"))
	id := ts.enqueue("a", kindOne)
	ts.until(id, "succeeded")
	next := ts.call("POST", "/v1/runs/"+id+"/requeue", "").want(202).field("id") // it stands itself
	ts.until(next, "succeeded")
	a := ts.call("POST", "/v1/runs/"+id+"/requeue", "")
	if text := a.problem(probUnique); !strings.Contains(text, "run "+next) || a.field("run") != next {
		t.Errorf("conflict: %s", a.body)
	}
}

func TestWhoMayOnlyEnqueueIsToldOfTheRunThatStands(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	defer open()
	ts.hook("a", handle, alike("active", "existing"))
	id := ts.enqueue("a", kindOne)
	token := ts.token(`{"name":"shop","scopes":["enqueue"]}`)
	a := ts.call("POST", "/v1/jobs/a/runs", kindOne, as(token)...).want(200)
	want := fmt.Sprintf(`{"id":%q,"job":"a","state":%q,"duplicate":true,"unique_until":null}`, id, a.field("state"))
	if got := strings.TrimSpace(string(a.body)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDeliveryThatMeetsARunOfItsKindIsNotedThere(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	defer open()
	ts.call("PUT", "/v1/secrets/DOOR", `{"value":"open-sesame"}`).want(201)
	ts.hook("a", handle, alike("active", "reject"),
		`"inbound":[{"name":"d","verify":"secret","secret":"{{ secrets.DOOR }}"}]`)
	deliver := func(key string) *answer {
		return ts.call("POST", "/in/a/d/open-sesame", `{"k":1}`, "Idempotency-Key", key).want(202)
	}
	first := deliver("one")
	id := first.field("id")
	for range 2 { // the second is known by its id
		again := deliver("two")
		if first.field("duplicate") != "false" || again.field("id") != id || again.field("duplicate") != "true" {
			t.Errorf("first %s, then %s", first.body, again.body)
		}
	}
	run := ts.call("GET", "/v1/runs/"+id, "").want(200)
	for field, want := range map[string]string{"count": "1", "trigger": "inbound", "by": "d two"} {
		if got := run.field("folded." + field); got != want {
			t.Errorf("folded.%s is %q, want %q: %s", field, got, want, run.body)
		}
	}
	if list := ts.call("GET", "/v1/runs", "").want(200); strings.Contains(string(list.body), `"folded"`) {
		t.Errorf("list: %s", list.body)
	}
}
