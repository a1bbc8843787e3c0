package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// callsBack registers a job of completion callback.
func (ts *testServer) callsBack(job string, handle http.HandlerFunc) {
	ts.t.Helper()
	ts.hook(job, handle)
	url := ts.call("GET", "/v1/jobs/"+job, "").field("webhook.url")
	ts.call("PUT", "/v1/jobs/"+job, `{"webhook":{"url":"`+url+`","completion":"callback"},"retry":{"max_attempts":1}}`).want(200)
}

// caller starts one of completion callback, which has been taken on.
func (ts *testServer) caller(job string) *speaker {
	ts.t.Helper()
	ts.callsBack(job, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
	s := &speaker{ts: ts, run: ts.enqueue(job, "")}
	ts.until(s.run, "waiting")
	s.token = ts.attemptToken(s.run, 1)
	return s
}

// mine reads the run.
func (s *speaker) mine() *answer {
	s.ts.t.Helper()
	return s.ts.call("GET", "/v1/runs/"+s.run, "").want(200)
}

func TestWhatAnAttemptSaysIsTakenInAtOnce(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	if got := s.call("GET", "checkpoint", "").want(200); string(got.body) != "null" {
		t.Errorf("the first checkpoint is %s", got.body)
	}
	ts.call("GET", "/v1/runs/"+s.run+"/checkpoint", "").problem(probNotFound)
	// Byte for byte, from first to last character.
	const value = `{"b": 1.10,  "a":"\u00e9", "c":[1e3]}`
	s.call("PUT", "checkpoint", " \n"+value+"\n", "Content-Type", "text/plain").want(204)
	for _, got := range []*answer{
		s.call("GET", "checkpoint", ""), ts.call("GET", "/v1/runs/"+s.run+"/checkpoint", ""),
	} {
		if got.want(200); string(got.body) != value || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("the checkpoint is %s, a %s", got.body, got.header.Get("Content-Type"))
		}
	}
	s.call("POST", "progress", `{"done":4900,"total":10000,"note":"third\nfile"}`, "Content-Type", "text/plain").want(204)
	if got := s.mine(); got.field("progress.done") != "4900" || got.field("progress.note") != "third file" {
		t.Errorf("the run shows %s", got.body)
	}
	s.call("POST", "progress", `{"done":1}`).want(204)
	if got := s.mine(); got.field("progress.done") != "1" || got.field("progress.total") != "0" {
		t.Errorf("the run shows %s", got.body)
	}
	s.call("POST", "heartbeat", "").want(204)
	s.call("POST", "heartbeat", "no JSON").want(204)
	s.call("POST", "log", `{"text":"one"}`).want(204)
	s.call("POST", "log", "two \xff\n", "Content-Type", "text/plain; charset=utf-8").want(204)
	s.call("POST", "log", "three", "Content-Type", "text/plain").want(204)
	got := s.call("POST", "complete", `{"result":{"rows": 1.0}}`).want(200)
	if string(got.body) != `{"run":"`+s.run+`","state":"running"}`+"\n" {
		t.Errorf("complete answers %s", got.body)
	}
	s.end()
	if got := ts.until(s.run, "succeeded"); !strings.Contains(string(got.body), `"result":{"rows": 1.0},`) {
		t.Errorf("the run is %s", got.body)
	}
	if log := ts.call("GET", "/v1/runs/"+s.run+"/log", "").want(200); string(log.body) != "one\ntwo \xff\nthree\n" {
		t.Errorf("the log is %q", log.body)
	}
	ts.call("GET", "/v1/runs/"+s.run+"/checkpoint", "").problem(probNotFound) // a success drops it
}

func TestNullDropsACheckpoint(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	s.call("PUT", "checkpoint", `1`).want(204)
	s.call("PUT", "checkpoint", `null`).want(204)
	if got := s.call("GET", "checkpoint", "").want(200); string(got.body) != "null" {
		t.Errorf("the checkpoint is %s", got.body)
	}
	ts.call("GET", "/v1/runs/"+s.run+"/checkpoint", "").problem(probNotFound)
}

func TestOperatorsDropCheckpoints(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	path := "/v1/runs/" + s.run + "/checkpoint"
	ts.call("DELETE", path, "").problem(probNotFound)
	s.call("PUT", "checkpoint", `{"offset":4900}`).want(204)
	ts.call("DELETE", path, "").want(204)
	ts.call("GET", path, "").problem(probNotFound)
	if got := s.call("GET", "checkpoint", "").want(200); string(got.body) != "null" {
		t.Errorf("the attempt reads %s", got.body)
	}
	entry := ts.call("GET", "/v1/audit", "").want(200)
	if entry.field("items.0.actor") != "token admin" || entry.field("items.0.name") != s.run {
		t.Errorf("the audit begins with %s", entry.body)
	}
	ts.call("DELETE", "/v1/runs/"+sampleRun+"/checkpoint", "").problem(probNotFound)
}

func TestCheckpointsOfForeignRunsAreNotThere(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	s.call("PUT", "checkpoint", `1`).want(204)
	path := "/v1/runs/" + s.run + "/checkpoint"
	maker := as(ts.token(`{"name":"maker","scopes":["enqueue"]}`))
	ts.call("GET", path, "", maker...).problem(probNotFound)
	narrow := as(ts.token(`{"name":"narrow","scopes":["operate"],"jobs":["b-*"]}`))
	ts.call("GET", path, "", narrow...).problem(probNotFound)
	ts.call("DELETE", path, "", narrow...).problem(probNotFound)
	own := ts.enqueue("a", "", maker...)
	ts.until(own, "running")
	ts.call("PUT", callbackPath+own+"/checkpoint", `2`, as(ts.attemptToken(own, 1))...).want(204)
	if got := ts.call("GET", "/v1/runs/"+own+"/checkpoint", "", maker...).want(200); string(got.body) != "2" {
		t.Errorf("its own checkpoint is %s", got.body)
	}
	if got := ts.call("GET", path, "").want(200); string(got.body) != "1" {
		t.Errorf("the checkpoint is %s", got.body)
	}
}

func TestWhatIsTooLargeIsRefusedAndTheRestStays(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	full := text(jobs.MaxCheckpoint)
	s.call("PUT", "checkpoint", "\n"+full+"\n").want(204)
	for name, body := range map[string]string{
		"one byte more": text(jobs.MaxCheckpoint + 1), "past the body": text(maxBody + 1),
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.call("PUT", "checkpoint", body).problem(probTooLarge); strings.Contains(got, "xx") {
				t.Errorf("it echoes the value: %.100s", got)
			}
			if got := s.call("GET", "checkpoint", "").want(200); string(got.body) != full {
				t.Errorf("the checkpoint is %.100s", got.body)
			}
		})
	}
	s.call("POST", "complete", `{"result":`+text(jobs.MaxResult)+`}`).want(200)
	got := s.call("POST", "complete", `{"result":`+text(jobs.MaxResult+1)+`}`).problem(probTooLarge)
	if !strings.Contains(got, "body.result: want at most 65536 bytes, got 65537") {
		t.Errorf("complete is told %s", got)
	}
	s.call("POST", "log", strings.Repeat("x", maxBody+1), "Content-Type", "text/plain").problem(probTooLarge)
	s.call("POST", "heartbeat", strings.Repeat("x", maxBody+1)).problem(probTooLarge)
	s.end()
	if got := ts.until(s.run, "succeeded").field("result"); len(got) != jobs.MaxResult-2 {
		t.Errorf("the result has %d characters", len(got))
	}
}

func TestFailBeatsSuccessAndSaysWhen(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a", `"retry":{"max_attempts":2}`)
	got := s.call("POST", "fail", `{"type":"RateLimited","message":"slow\ndown","stack":"a:1","retryable":true,"retry_after":5400}`)
	if got.want(200); got.field("state") != "running" || got.field("run") != s.run {
		t.Errorf("fail answers %s", got.body)
	}
	s.call("POST", "complete", `{"result":1}`).want(200)
	s.end()
	run := ts.until(s.run, "retrying")
	for path, want := range map[string]string{
		"error.kind": "reported", "error.type": "RateLimited", "error.message": "slow down", "error.stack": "a:1",
		"error.reported.retry_after": "1h30m", "result": "",
	} {
		if run.field(path) != want {
			t.Errorf("%s is %q, want %q", path, run.field(path), want)
		}
	}
}

func TestACallbackEndsWhatWasTakenOn(t *testing.T) {
	ts := newTestServer(t)
	done := ts.caller("done")
	if got := ts.call("GET", "/v1/runs?state=waiting", "").want(200); got.field("items.0.id") != done.run {
		t.Errorf("the waiting runs are %s", got.body)
	}
	if got := done.mine(); got.field("attempts.0.number") != "1" || got.field("attempts.0.outcome") != "" {
		t.Errorf("the attempt under way is not shown: %s", got.body)
	}
	done.call("POST", "progress", `{"done":1,"total":2}`).want(204)
	done.call("POST", "log", `{"text":"half"}`).want(204)
	if got := done.mine(); got.field("progress.done") != "1" || got.field("state") != "waiting" {
		t.Errorf("it waits as %s", got.body)
	}
	if log := ts.call("GET", "/v1/runs/"+done.run+"/log", "").want(200); string(log.body) != "half\n" {
		t.Errorf("the log of one that waits is %q", log.body)
	}
	for range 2 { // repeated by the one that it ended: as the first time
		if got := done.call("POST", "complete", `{"result":[1, 2]}`).want(200); got.field("state") != "succeeded" {
			t.Errorf("complete answers %s", got.body)
		}
	}
	if got := done.mine(); !strings.Contains(string(got.body), `"result":[1, 2],`) || got.field("attempts.1") != "" {
		t.Errorf("the run is %s", got.body)
	}
	if got := done.call("POST", "fail", ""); !strings.Contains(got.problem(probOver), "succeeded") || got.field("state") != "succeeded" {
		t.Errorf("fail after complete: %s", got.body)
	}

	failed := ts.caller("failed")
	for range 2 {
		if got := failed.call("POST", "fail", "").want(200); got.field("state") != "failed" {
			t.Errorf("fail answers %s", got.body)
		}
	}
	if got := failed.mine(); got.field("error.kind") != "reported" || got.field("error.message") != "the job reported a failure" {
		t.Errorf("the run is %s", got.body)
	}
	if got := failed.call("POST", "complete", ""); got.problem(probOver) == "" || got.field("state") != "failed" {
		t.Errorf("complete after fail: %s", got.body)
	}

	cancelled := ts.caller("cancelled")
	ts.call("POST", "/v1/runs/"+cancelled.run+"/cancel", "").want(200)
	for _, call := range []string{"complete", "fail", "heartbeat"} {
		if got := cancelled.call("POST", call, ""); got.problem(probOver) == "" || got.field("state") != "cancelled" {
			t.Errorf("%s after cancel: %s", call, got.body)
		}
	}
	ts.call("DELETE", "/v1/runs/"+cancelled.run, "").want(204)
	cancelled.call("POST", "complete", "").problem(probNotFound)
}

func TestARunBetweenTwoSlicesIsRunningAndSaysWhatItWaitsFor(t *testing.T) {
	ts := newTestServer(t)
	calls := make(chan chan string)
	ts.hook("a", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer := make(chan string)
		calls <- answer
		body := <-answer
		if strings.Contains(body, "checkpoint") {
			w.Header().Set("Nightshift-Continue", "true")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
	id := ts.enqueue("a", "")
	first := <-calls
	ts.call("POST", "/v1/jobs/a/pause", "").want(200)
	first <- `{"checkpoint":{"offset":4900},"progress":{"done":4900,"total":10000}}`
	var run *answer
	ts.await("the next slice to be held", func() bool {
		run = ts.call("GET", "/v1/runs/"+id, "").want(200)
		return run.field("held_by.kind") != ""
	})
	list := ts.call("GET", "/v1/runs?state=running", "").want(200)
	for path, want := range map[string]string{
		"state": "running", "held_by.kind": "paused", "progress.done": "4900", "attempt": "1",
		"attempts.0.number": "1", "attempts.0.slices": "1", "attempts.0.outcome": "", "attempts.1": "",
	} {
		if run.field(path) != want {
			t.Errorf("%s is %q, want %q", path, run.field(path), want)
		}
		if at := "items.0." + path; !strings.HasPrefix(path, "attempts") && list.field(at) != want {
			t.Errorf("%s is %q, want %q", at, list.field(at), want)
		}
	}
	if got := ts.call("GET", "/v1/runs/"+id+"/checkpoint", "").want(200); string(got.body) != `{"offset":4900}` {
		t.Errorf("the checkpoint is %s", got.body)
	}
	// The attempt goes on, and so does its token.
	ts.call("POST", callbackPath+id+"/progress", `{"done":2000}`, as(ts.attemptToken(id, 1))...).want(204)
	ts.call("POST", "/v1/jobs/a/resume", "").want(200)
	last := <-calls
	last <- `{"rows":10000}`
	got := ts.until(id, "succeeded")
	if got.field("attempts.0.slices") != "2" || got.field("attempts.1") != "" || got.field("result.rows") != "10000" {
		t.Errorf("the run is %s", got.body)
	}
}

// nextEvent reads the data of the next event of a stream.
func nextEvent(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			return data
		}
	}
	t.Fatalf("the stream is over: %v", lines.Err())
	return ""
}

func TestAWatchLinkTellsOfProgressAsItComes(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.hook("a", handle)
	made := ts.call("POST", "/v1/jobs/a/runs", "").want(202)
	s := &speaker{ts: ts, run: made.field("id"), end: open}
	ts.until(s.run, "running")
	s.token = ts.attemptToken(s.run, 1)
	link := strings.TrimPrefix(made.field("watch_url"), ts.url)
	lines := bufio.NewScanner(ts.stream(link, "Origin", "https://shop.example").Body)
	if got := nextEvent(t, lines); got != `{"state":"running","progress":null}` {
		t.Errorf("it begins with %s", got)
	}
	s.call("POST", "progress", `{"done":1,"total":200}`).want(204)
	const one = `{"state":"running","progress":{"done":1,"total":200}}`
	if got := nextEvent(t, lines); got != one {
		t.Errorf("then comes %s", got)
	}
	if got := ts.call("GET", link, "", "Authorization", "").want(200); string(got.body) != one+"\n" {
		t.Errorf("the link gives %s", got.body)
	}
	// Of many in a row the last is shown.
	for n := range 200 {
		s.call("POST", "progress", fmt.Sprintf(`{"done":%d,"total":200}`, n+1)).want(204)
	}
	s.end()
	var all []string
	for len(all) == 0 || !strings.HasPrefix(all[len(all)-1], `{"state":"succeeded"}`) {
		all = append(all, nextEvent(t, lines))
	}
	if n := len(all); n > 100 || n < 2 || all[n-2] != `{"state":"succeeded","progress":{"done":200,"total":200}}` {
		t.Errorf("%d events, at last %s", n, all[max(0, n-2):])
	}
}

func TestTheLogOfARunThatWaitsIsFollowedToItsEnd(t *testing.T) {
	ts := newTestServer(t)
	s := ts.caller("a")
	waited := make(chan *answer, 1)
	go func() { waited <- ts.call("GET", "/v1/runs/"+s.run+"?wait=60s", "") }()
	lines := bufio.NewScanner(ts.stream("/v1/runs/"+s.run+"/log", as(ts.admin)...).Body)
	for _, text := range []string{"one", "two"} {
		s.call("POST", "log", `{"text":"`+text+`"}`).want(204)
		if got := nextEvent(t, lines); got != `{"text":"`+text+`\n"}` {
			t.Errorf("the log goes on with %s", got)
		}
	}
	s.call("POST", "complete", "").want(200)
	if got := nextEvent(t, lines); got != `{"state":"succeeded"}` {
		t.Errorf("the log ends with %s", got)
	}
	if got := (<-waited).want(200); got.field("state") != "succeeded" {
		t.Errorf("who waited gets %s", got.body)
	}
}

func TestCompleteIsGoodFromTheMomentTheRequestIsSent(t *testing.T) {
	ts := newTestServer(t)
	handle, open := gate(t)
	ts.callsBack("a", func(w http.ResponseWriter, r *http.Request) {
		handle(w, r)
		w.WriteHeader(202)
	})
	s := &speaker{ts: ts, run: ts.enqueue("a", ""), end: open}
	ts.until(s.run, "running")
	s.token = ts.attemptToken(s.run, 1)
	for range 2 {
		if got := s.call("POST", "complete", `{"result":7}`).want(200); got.field("state") != "running" {
			t.Errorf("complete answers %s", got.body)
		}
	}
	if got := s.call("POST", "fail", ""); got.problem(probOver) == "" || got.field("state") != "running" {
		t.Errorf("fail after complete: %s", got.body)
	}
	s.end()
	if got := ts.until(s.run, "succeeded"); got.field("result") != "7" {
		t.Errorf("the run is %s", got.body)
	}
	if got := s.call("POST", "complete", `{"result":7}`).want(200); got.field("state") != "succeeded" {
		t.Errorf("complete answers %s", got.body)
	}
}

func TestACallThatIsRefusedIsAHeartbeat(t *testing.T) {
	const silence = 900 * time.Millisecond
	ts := newTestServer(t)
	s := ts.caller("a")
	url := ts.call("GET", "/v1/jobs/a", "").field("webhook.url")
	ts.call("PUT", "/v1/jobs/a", fmt.Sprintf(`{"webhook":{"url":%q,"completion":"callback","heartbeat_timeout":%q}}`,
		url, silence)).want(200)
	s.run = ts.enqueue("a", "")
	ts.until(s.run, "waiting")
	s.token = ts.attemptToken(s.run, 1)
	for begun := time.Now(); time.Since(begun) < silence+300*time.Millisecond; time.Sleep(20 * time.Millisecond) {
		s.call("PUT", "checkpoint", `{"a":`).problem(probSyntax)
		s.call("GET", "nothing", "").problem(probNotFound)
	}
	if got := s.mine(); got.field("state") != "waiting" || got.field("attempt") != "1" {
		t.Errorf("it speaks, and was given up: %s", got.body)
	}
}
