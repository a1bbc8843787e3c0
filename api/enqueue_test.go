package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestEnqueueAnswersTheRun(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`{"n": 1}`), `"payload":{"of":"job"}`, `"labels":{"team":"data"}`, `"priority":3`)
	a := ts.call("POST", "/v1/jobs/a/runs", "").want(202)
	id := a.field("id")
	if a.header.Get("Location") != "/v1/runs/"+id {
		t.Errorf("Location %q", a.header.Get("Location"))
	}
	if !strings.HasPrefix(a.field("watch_url"), ts.url+"/v1/watch/"+id+"?key=") {
		t.Errorf("watch_url %q", a.field("watch_url"))
	}
	for field, want := range map[string]string{
		"job": "a", "version": "1", "trigger": "api", "payload.of": "job", "labels.team": "data",
		"priority": "3", "queue": "default", "created_by": "admin", "duplicate": "false", "max_attempts": "8",
	} {
		if got := a.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	done := ts.until(id, "succeeded")
	if done.field("attempts.0.decision.by") != "success" || done.field("attempts.0.http_status") != "200" {
		t.Errorf("done: %s", done.body)
	}
}

func TestEnqueueTakesItsOptions(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	a := ts.call("POST", "/v1/jobs/a/runs", `{"delay":"1h","priority":-7,"max_attempts":2,"timeout":"90s",`+
		`"correlation_id":"order 7","labels":{"a":"b"}}`, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"User-Agent", "nightshift-cli/1").want(202)
	for field, want := range map[string]string{
		"state": "scheduled", "priority": "-7", "max_attempts": "2", "correlation_id": "order 7",
		"labels.a": "b", "trigger": "cli", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		if got := a.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if a.field("next_attempt_at") != a.field("run_at") || a.field("run_at") <= a.field("created_at") {
		t.Errorf("times: %s", a.body)
	}
	for body, place := range map[string]string{
		`{"delay":"1h","run_at":"2030-01-01T00:00:00Z"}`: "body.run_at: ",
		`{"priority":1000}`:                                     "body.priority: ",
		`{"max_attempts":0}`:                                    "body.max_attempts: ",
		`{"labels":{"":"x"}}`:                                   "body.labels",
		`{"idempotency_key":"\u0000"}`:                          "body.idempotency_key: ",
		`{"correlation_id":"` + strings.Repeat("x", 256) + `"}`: "body.correlation_id: ",
		`{"timeout":"25h"}`:                                     "body.timeout: ",
		`{"job":"b"}`:                                           "body.job: ",
		`{"retry":{}}`:                                          "body.retry: ",
	} {
		if got := ts.call("POST", "/v1/jobs/a/runs", body).problem(probInvalid); !strings.Contains(got, place) {
			t.Errorf("%s: %s, want %s", body, got, place)
		}
	}
	ts.call("POST", "/v1/jobs/b/runs", "").problem(probNotFound)
	ts.call("POST", "/v1/jobs/a/runs", `{"payload":"`+strings.Repeat("x", 256<<10)+`"}`).problem(probTooLarge)
}

func TestPayloadAndResultAreKeptByteForByte(t *testing.T) {
	ts := newTestServer(t)
	payload := `{ "b":1.10, "a" : [1e400,12345678901234567890,-0, "\u0000\ud83d\ude00é\/"],"z":{} }`
	result := "[ 1.0,\t{\"k\" : \"\\u00e9\"} ]"
	var got []byte
	ts.hook("a", func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, result)
	})
	a := ts.call("POST", "/v1/jobs/a/runs?wait=30s", `{"payload":`+payload+`}`).want(200)
	if string(got) != payload {
		t.Errorf("the receiver got %s, want %s", got, payload)
	}
	for _, want := range []string{`"payload":` + payload + `,`, `"result":` + result + `,`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s is not in %s", want, a.body)
		}
	}
}

func TestPayloadArrivesByteForByteHoweverItCame(t *testing.T) {
	ts := newTestServer(t)
	payload := `[ 9007199254740993 , 1.10,{"b":-0,"a":1e400, "ü" : "\u00fc\/\ud800\u0000"} ]`
	bodies := make(chan string, 1)
	ts.hook("hook", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}, `"payload":`+payload)
	out := filepath.Join(t.TempDir(), "out")
	source, _ := json.Marshal(`cat > ` + out + `; cat "$NIGHTSHIFT_PAYLOAD" >> ` + out)
	ts.call("PUT", "/v1/jobs/script", `{"payload":`+payload+`,"script":{"source":`+string(source)+`}}`).want(201)
	check := func(how, id, job string) {
		t.Helper()
		got := ts.until(id, "succeeded")
		if !strings.Contains(string(got.body), `"payload":`+payload+`,`) {
			t.Errorf("%s: %s", how, got.body)
		}
		want, arrived := payload+payload, ""
		if job == "hook" {
			want, arrived = payload, <-bodies
		} else {
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			arrived = string(text)
		}
		if arrived != want {
			t.Errorf("%s: %s got %s", how, job, arrived)
		}
	}
	for _, job := range []string{"hook", "script"} {
		if got := ts.call("GET", "/v1/jobs/"+job, ""); !strings.Contains(string(got.body), `"payload":`+payload+`,`) {
			t.Errorf("the document: %s", got.body)
		}
		id := ts.enqueue(job, `{"payload": `+payload+` }`)
		check("its own", id, job)
		check("the job's", ts.enqueue(job, ""), job)
		again := ts.call("POST", "/v1/runs/"+id+"/requeue", "").want(202)
		check("requeued", again.field("id"), job)
		given := ts.call("POST", "/v1/runs/"+id+"/requeue", `{"payload":`+payload+`}`).want(202)
		check("requeued with it", given.field("id"), job)
		batch := ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"`+job+`","payload":`+payload+`}]}`).want(202)
		check("of a batch", batch.field("items.0.id"), job)
	}
}

func TestWaitAnswersWhenTheRunHasEnded(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("a", handle)
	key := []string{"Idempotency-Key", "k"}
	a := ts.call("POST", "/v1/jobs/a/runs?wait=10ms", "", key...).want(202)
	ts.call("POST", "/v1/jobs/a/runs?wait=10ms", "", key...).want(202)
	ts.call("GET", "/v1/runs/"+a.field("id")+"?wait=10ms", "").want(200)
	ts.call("POST", "/v1/jobs/a/runs", "", key...).want(200)
	open()
	b := ts.call("POST", "/v1/jobs/a/runs?wait=60s", "", key...).want(200)
	if b.field("state") != "succeeded" || b.field("duplicate") != "true" || b.field("id") != a.field("id") {
		t.Errorf("after the wait: %s", b.body)
	}
	for _, bad := range []string{"61s", "soon", "", "-1s"} {
		got := ts.call("POST", "/v1/jobs/a/runs?wait="+bad, "").problem(probInvalid)
		if !strings.Contains(got, "query.wait: ") {
			t.Errorf("wait=%s: %s", bad, got)
		}
	}
}

func TestOneKeyIsOneRun(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	const callers = 50
	ids := make([]string, callers)
	statuses := make([]int, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			a := ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"x":1,"y":2}}`, "Idempotency-Key", "same")
			ids[i], statuses[i] = a.field("id"), a.status
		})
	}
	all.Wait()
	made := 0
	for i := range ids {
		if ids[i] != ids[0] || ids[i] == "" {
			t.Errorf("run %s and run %s", ids[0], ids[i])
		}
		if statuses[i] == 202 {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d calls made a run", made)
	}
	// The same value written otherwise, and in the field.
	same := ts.call("POST", "/v1/jobs/a/runs", `{"idempotency_key":"same","payload":{ "y": 2, "x": 1 }}`).want(200)
	if same.field("duplicate") != "true" || same.field("id") != ids[0] {
		t.Errorf("the same again: %s", same.body)
	}
	other := ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"x":1,"y":2.0}}`, "Idempotency-Key", "same").problem(probKey)
	if !strings.Contains(other, ids[0]) {
		t.Errorf("the conflict does not name the run: %s", other)
	}
	other = ts.call("POST", "/v1/jobs/a/runs", `{"payload":1}`, "Idempotency-Key", "same").want(409).field("run")
	if other != ids[0] {
		t.Errorf("the conflict is with run %q", other)
	}
	got := ts.call("POST", "/v1/jobs/a/runs", `{"idempotency_key":"x"}`, "Idempotency-Key", "y").problem(probInvalid)
	if !strings.Contains(got, "body.idempotency_key: differs") {
		t.Errorf("two keys: %s", got)
	}
	got = ts.call("POST", "/v1/jobs/a/runs", "", "Idempotency-Key", strings.Repeat("k", 256)).problem(probInvalid)
	if !strings.Contains(got, "header.Idempotency-Key: ") {
		t.Errorf("a long key: %s", got)
	}
	// The key outlives its run.
	ts.until(ids[0], "succeeded")
	ts.call("DELETE", "/v1/runs/"+ids[0], "").want(204)
	gone := ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"x":1,"y":2}}`, "Idempotency-Key", "same").want(200)
	if gone.field("id") != ids[0] || gone.field("duplicate") != "true" || gone.field("state") != "" {
		t.Errorf("after the run was deleted: %s", gone.body)
	}
	waited := ts.call("POST", "/v1/jobs/a/runs?wait=30s", `{"payload":{"x":1,"y":2}}`, "Idempotency-Key", "same").want(200)
	if string(waited.body) != string(gone.body) {
		t.Errorf("with ?wait=: %s", waited.body)
	}
	// And its job, whose name it belongs to; that of another job is another key.
	ts.call("DELETE", "/v1/jobs/a", "").want(200)
	ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"x":1,"y":2}}`, "Idempotency-Key", "same").problem(probNotFound)
	ts.hook("a", ok(`1`))
	gone = ts.call("POST", "/v1/jobs/a/runs", `{"payload":{"x":1,"y":2}}`, "Idempotency-Key", "same").want(200)
	if gone.field("id") != ids[0] {
		t.Errorf("after the job was made again: %s", gone.body)
	}
	ts.call("POST", "/v1/jobs/a/runs", `{"payload":1}`, "Idempotency-Key", "same").problem(probKey)
	ts.hook("b", ok(`1`))
	ts.call("POST", "/v1/jobs/b/runs", `{"payload":1}`, "Idempotency-Key", "same").want(202)
}

func TestWaitForARunThatIsDeletedMeanwhileEnds(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", `{"delay":"1h","idempotency_key":"k"}`)
	waits := make(chan *answer)
	go func() { waits <- ts.call("POST", "/v1/jobs/a/runs?wait=60s", `{"idempotency_key":"k"}`) }()
	go func() { waits <- ts.call("GET", "/v1/runs/"+id+"?wait=60s", "") }()
	ts.call("POST", "/v1/runs/"+id+"/cancel", "").want(200)
	ts.call("DELETE", "/v1/runs/"+id, "").want(204)
	for range 2 {
		a := <-waits
		switch a.status { // by when it asked and when it looked
		case 200:
			if state := a.field("state"); state != "cancelled" && state != "" {
				t.Errorf("%s", a.body)
			}
		case 404:
			a.problem(probNotFound)
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// A key answers whatever became of its run.
func TestKeyOfAnEndedRunGivesThatRun(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("good", ok(`1`))
	ts.hook("bad", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) })
	for job, want := range map[string]string{"good": "succeeded", "bad": "failed", "gone": "cancelled"} {
		body := ""
		if job == "gone" {
			job, body = "good", `{"delay":"1h","idempotency_key":"gone"}`
		} else {
			body = `{"idempotency_key":"k"}`
		}
		id := ts.enqueue(job, body)
		if want == "cancelled" {
			ts.call("POST", "/v1/runs/"+id+"/cancel", "").want(200)
		}
		ts.until(id, want)
		for _, query := range []string{"", "?wait=1s"} {
			again := ts.call("POST", "/v1/jobs/"+job+"/runs"+query, body).want(200)
			if again.field("id") != id || again.field("state") != want || again.field("duplicate") != "true" {
				t.Errorf("%s: %s", want, again.body)
			}
		}
	}
}

func TestBatchIsInOrderAndAllOrNothing(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	ts.hook("b", ok(`1`))
	first := ts.call("POST", "/v1/jobs/a/runs", `{"idempotency_key":"k","payload":1}`).want(202).field("id")
	a := ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"b"},{"job":"a","idempotency_key":"k","payload":1},`+
		`{"job":"a","idempotency_key":"n","payload":2},{"job":"a","idempotency_key":"n","payload":2}]}`).want(202)
	for field, want := range map[string]string{
		"items.0.job": "b", "items.0.duplicate": "false", "items.1.id": first, "items.1.duplicate": "true",
		"items.2.duplicate": "false", "items.3.id": a.field("items.2.id"), "items.3.duplicate": "true",
	} {
		if got := a.field(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	before := count(ts)
	bad := ts.call("POST", "/v1/runs/batch?x=1", `{"runs":[{"job":"a","colour":1},{"job":"absent"},`+
		`{"job":"a","priority":999},{"payload":1},{"job":"a","idempotency_key":"k","payload":9},`+
		`{"job":"a","payload":"`+strings.Repeat("x", 256<<10)+`"}]}`, "Idempotency-Key", "k").problem(probInvalid)
	for _, want := range []string{
		"query.x: ", "header.Idempotency-Key: ", "body.runs[0].colour: ", "body.runs[1].job: ",
		"body.runs[2].priority: ", "body.runs[3].job: ", "body.runs[4].idempotency_key: ",
		"body.runs[5].payload: ",
	} {
		if strings.Count(bad, "\n"+want) != 1 {
			t.Errorf("%s is not once in %s", want, bad)
		}
	}
	if n := strings.Count(bad, "\n"); n != 8 {
		t.Errorf("%d faults in %s", n, bad)
	}
	bad = ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"a"},{"job":"a","idempotency_key":"k","payload":9},{"job":"a","idempotency_key":"n","payload":9}]}`).problem(probKey)
	for _, want := range []string{"body.runs[1].idempotency_key: ", "body.runs[2].idempotency_key: "} {
		if !strings.Contains(bad, want) {
			t.Errorf("%s is not in %s", want, bad)
		}
	}
	// A run that is not made, since the batch is refused, is not named.
	bad = ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"a"},{"job":"a","idempotency_key":"new"},{"job":"a","idempotency_key":"new","payload":9}]}`).problem(probKey)
	if want := "body.runs[2].idempotency_key: idempotency key new is that of runs[1]"; !strings.Contains(bad, want) {
		t.Errorf("%s is not in %s", want, bad)
	}
	ts.call("POST", "/v1/runs/batch", `{"runs":[]}`).problem(probInvalid)
	ts.call("POST", "/v1/runs/batch", `{}`).problem(probInvalid)
	ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"a","payload":"`+strings.Repeat("x", 256<<10)+`"}]}`).problem(probTooLarge)
	many := `{"runs":[` + strings.Repeat(`{"job":"a"},`, 10_000) + `{"job":"a"}]}`
	ts.call("POST", "/v1/runs/batch", many).problem(probInvalid)
	if after := count(ts); after != before {
		t.Errorf("%d runs before the refused batches, %d after", before, after)
	}
}

// count counts all runs.
func count(ts *testServer) int {
	n, next := 0, ""
	for {
		var page struct {
			Items []struct{ ID string }
			Next  *string
		}
		ts.call("GET", "/v1/runs?limit=1000"+next, "").want(200).into(&page)
		n += len(page.Items)
		if page.Next == nil {
			return n
		}
		next = "&cursor=" + *page.Next
	}
}

func TestTokensThatOnlyEnqueueSeeLittleOfOthersRuns(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`"secret result"`))
	mine := ts.token(`{"name":"mine","scopes":["enqueue"]}`)
	id := ts.enqueue("a", `{"idempotency_key":"theirs","payload":"p"}`)
	ts.until(id, "succeeded")
	for _, path := range []string{"/v1/jobs/a/runs", "/v1/jobs/a/runs?wait=1s"} {
		seen := ts.call("POST", path, `{"idempotency_key":"theirs","payload":"p"}`, as(mine)...).want(200)
		want := fmt.Sprintf(`{"id":%q,"job":"a","state":"succeeded","duplicate":true}`+"\n", id)
		if string(seen.body) != want {
			t.Errorf("%s gives %s, want %s", path, seen.body, want)
		}
	}
	for _, path := range []string{"", "/log"} {
		ts.call("GET", "/v1/runs/"+id+path, "", as(mine)...).problem(probNotFound)
	}
	own := ts.enqueue("a", "", as(mine)...)
	ts.call("GET", "/v1/runs/"+own+"?wait=30s", "", as(mine)...).want(200)
	ts.call("GET", "/v1/runs/"+own+"/log", "", as(mine)...).want(200)
	list := ts.call("GET", "/v1/runs", "", as(mine)...).want(200)
	if list.field("items.0.id") != own || list.field("items.1.id") != "" {
		t.Errorf("the list holds %s", list.body)
	}
	// Who may read sees all of it.
	ts.call("GET", "/v1/runs/"+own, "", as(ts.token(`{"name":"r","scopes":["read"]}`))...).want(200)
}
