package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"nightshift/runtime"
)

// callsOf are calls of each route of a callback that would be taken from an attempt under way.
func callsOf(t *testing.T) (calls [][3]string) {
	bodies := map[string]string{
		"PUT checkpoint": `"forged"`, "POST progress": `{"done":666}`, "POST log": `{"text":"forged"}`,
		"POST complete": `{"result":"forged"}`, "POST fail": `{"message":"forged"}`,
	}
	for _, r := range callbackRoutes() {
		name := strings.TrimPrefix(r.path, callbackPath+":id/")
		calls = append(calls, [3]string{r.method, name, bodies[r.method+" "+name]})
		delete(bodies, r.method+" "+name)
	}
	if len(bodies) > 0 || len(calls) < 7 {
		t.Fatalf("the table has not all calls: %v", calls)
	}
	return calls
}

func TestNoOtherTokenOpensACallback(t *testing.T) {
	ts := newTestServer(t)
	s, other := ts.speaker("a"), ts.speaker("b")
	s.call("PUT", "checkpoint", `"true"`).want(204)
	s.call("POST", "progress", `{"done":1}`).want(204)
	refused := map[string]string{
		"none": "", "another scheme": "Basic " + s.token, "the bare token": s.token, "empty": "Bearer ",
		"of another run": "Bearer " + other.token, "cut": "Bearer " + s.token[:len(s.token)-1],
		"longer": "Bearer " + s.token + "A", "of the admin": "Bearer " + ts.admin,
		"of another key": "Bearer " + s.token[:len(s.token)-4] + flipped(s.token[len(s.token)-4:]),
		"nothing in it":  "Bearer " + runtime.TokenPrefix, "no base64": "Bearer " + runtime.TokenPrefix + "!!!!",
	}
	for _, scope := range scopeNames {
		refused["of scope "+scope] = "Bearer " + ts.token(`{"name":"only-`+scope+`","scopes":["`+scope+`"]}`)
	}
	for name, header := range refused {
		t.Run(name, func(t *testing.T) {
			ts.t = t
			for _, c := range callsOf(t) {
				got := ts.call(c[0], callbackPath+s.run+"/"+c[1], c[2], "Authorization", header)
				got.problem(probUnauthorized)
				if got.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s %s: no WWW-Authenticate", c[0], c[1])
				}
			}
		})
	}
	ts.t = t
	for _, run := range []string{"", "nothing", sampleRun, strings.ToUpper(s.run) + "0", other.run} {
		ts.call("POST", callbackPath+run+"/fail", "", as(s.token)...).problem(probUnauthorized)
	}
	s.unharmed()
}

// flipped changes each character of a text.
func flipped(text string) string {
	return strings.Map(func(r rune) rune {
		if r == 'A' {
			return 'B'
		}
		return 'A'
	}, text)
}

// unharmed fails the test unless the attempt is as it has said, and succeeds.
func (s *speaker) unharmed() {
	t := s.ts.t
	t.Helper()
	if got := s.call("GET", "checkpoint", "").want(200); string(got.body) != `"true"` {
		t.Errorf("the checkpoint is %s", got.body)
	}
	s.end()
	got := s.ts.until(s.run, "succeeded")
	if got.field("progress.done") != "1" || got.field("result") == "forged" || strings.Contains(string(got.body), "forged") {
		t.Errorf("the run is %s", got.body)
	}
}

func TestTokensOfAttemptsThatAreOverChangeNothing(t *testing.T) {
	ts := newTestServer(t)
	ended := ts.speaker("ended")
	ended.end()
	ts.until(ended.run, "succeeded")
	ended.refusedAs("succeeded")

	calls, gates := make(chan func(int)), make(chan struct{})
	t.Cleanup(func() { close(gates) })
	ts.hook("again", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer := make(chan int, 1)
		select {
		case calls <- func(status int) { answer <- status }:
		case <-gates:
			return
		}
		select {
		case status := <-answer:
			w.WriteHeader(status)
		case <-gates:
		}
	}, `"retry":{"backoff":{"kind":"fixed","base":"1h","jitter":0}}`)
	ts.unguarded("again")
	first := &speaker{ts: ts, run: ts.enqueue("again", "")}
	end := <-calls
	first.token = ts.attemptToken(first.run, 1)
	first.call("PUT", "checkpoint", `"true"`).want(204)
	end(503)
	ts.until(first.run, "retrying")
	first.refusedAs("retrying")
	ts.call("POST", "/v1/runs/"+first.run+"/run-now", "").want(200)
	end = <-calls
	second := &speaker{ts: ts, run: first.run, token: ts.attemptToken(first.run, 2), end: func() { end(200) }}
	second.call("POST", "progress", `{"done":1}`).want(204)
	first.refusedAs("running")
	// A token that is genuine, of an attempt that is still to come.
	third := &speaker{ts: ts, run: first.run, token: ts.attemptToken(first.run, 3)}
	third.refusedAs("running")
	second.unharmed()
	ts.call("DELETE", "/v1/runs/"+first.run, "").want(204)
	for _, c := range callsOf(t) {
		first.call(c[0], c[1], c[2]).problem(probNotFound)
	}
}

// refusedAs fails the test unless each call is refused with the state of the run.
func (s *speaker) refusedAs(state string) {
	t := s.ts.t
	t.Helper()
	before := string(s.mine().body)
	for _, c := range callsOf(s.ts.t.(*testing.T)) {
		got := s.call(c[0], c[1], c[2])
		if got.problem(probOver); got.field("state") != state {
			t.Errorf("%s %s: the state is %q, want %q", c[0], c[1], got.field("state"), state)
		}
	}
	if after := string(s.mine().body); after != before {
		t.Errorf("the run was\n%s\nand is\n%s", before, after)
	}
	if log := s.ts.call("GET", "/v1/runs/"+s.run+"/log", "").want(200); strings.Contains(string(log.body), "forged") {
		t.Errorf("the log is %q", log.body)
	}
}

func TestTokensOfAttemptsOpenNothingElse(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	for _, r := range ts.api.routes {
		if r.attempt || r.opens == 0 {
			continue
		}
		path := strings.NewReplacer(":name", "a", ":id", s.run, ":version", "1").Replace(r.path)
		if got := ts.call(r.method, path, "", as(s.token)...); got.problem(probUnauthorized) == "" {
			t.Errorf("%s %s opens", r.method, path)
		}
	}
	s.end()
	ts.until(s.run, "succeeded")
}
