package api

import (
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

// speaker is an attempt under way that calls its callback.
type speaker struct {
	ts    *testServer
	run   string
	token string
	end   func() // lets its request be answered
}

// speaker starts an attempt of a new webhook job.
func (ts *testServer) speaker(job string, fields ...string) *speaker {
	ts.t.Helper()
	handle, open := gate(ts.t)
	ts.hook(job, handle, fields...)
	s := &speaker{ts: ts, run: ts.enqueue(job, ""), end: open}
	ts.until(s.run, "running")
	s.token = ts.attemptToken(s.run, 1)
	return s
}

// attemptToken is the token of an attempt.
func (ts *testServer) attemptToken(run string, number int) string {
	ts.t.Helper()
	id, err := jobs.ParseID(run)
	if err != nil {
		ts.t.Fatal(err)
	}
	return ts.rt.CallbackToken(store.Fence{Run: id, Number: number})
}

// call makes a call of the callback.
func (s *speaker) call(method, name, body string, headers ...string) *answer {
	s.ts.t.Helper()
	return s.ts.call(method, callbackPath+s.run+"/"+name, body, append(as(s.token), headers...)...)
}

func TestFaultsOfACallbackHaveTheirPlace(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	for _, c := range []struct {
		call, body string
		kind       problemKind
		place      string
	}{
		{"PUT checkpoint", ``, probSyntax, ""},
		{"PUT checkpoint", `{"a":`, probSyntax, ""},
		{"PUT checkpoint", `{"a":1} 2`, probSyntax, ""},
		{"PUT checkpoint", "\"\xff\"", probSyntax, ""},
		{"PUT checkpoint", `{"a":1,"a":2}`, probInvalid, "body.a: "},
		{"PUT checkpoint", strings.Repeat("[", 65) + strings.Repeat("]", 65), probInvalid, "body"},
		{"POST progress", ``, probSyntax, ""},
		{"POST progress", `null`, probInvalid, "body: "},
		{"POST progress", `40`, probInvalid, "body: "},
		{"POST progress", `{"done":"40"}`, probInvalid, "body.done: "},
		{"POST progress", `{"done":-1,"total":-2}`, probInvalid, "body.total: want a number, 0 or more"},
		{"POST progress", `{"done":1e999}`, probInvalid, "body.done: "},
		{"POST progress", `{"don":1}`, probInvalid, "body.don: unknown"},
		{"POST log", ``, probSyntax, ""},
		{"POST log", `third file`, probSyntax, ""},
		{"POST log", `{"text":5}`, probInvalid, "body.text: "},
		{"POST complete", `[]`, probInvalid, "body: "},
		{"POST complete", `{"rows":1}`, probInvalid, "body.rows: unknown"},
		{"POST fail", `{"type":5,"retryable":"yes"}`, probInvalid, "body.retryable: "},
		{"POST fail", `{"retry_after":"soon"}`, probInvalid, "body.retry_after: "},
		{"POST fail", `{"retry_after":-1}`, probInvalid, "body.retry_after: "},
		{"POST fail", `{"retry_after":1e999}`, probInvalid, "body.retry_after: "},
		{"POST fail", `{"retry_after":true}`, probInvalid, "body.retry_after: "},
		{"POST fail", `{"fail":true}`, probInvalid, "body.fail: unknown"},
		{"POST complete?state=x", `{}`, probInvalid, "query.state: unknown"},
		{"GET checkpoint?run=x", ``, probInvalid, "query.run: unknown"},
	} {
		t.Run(c.call+" "+c.body[:min(len(c.body), 40)], func(t *testing.T) {
			method, name, _ := strings.Cut(c.call, " ")
			if got := s.call(method, name, c.body).problem(c.kind); !strings.Contains(got, c.place) {
				t.Errorf("got %q, want %q", got, c.place)
			}
		})
	}
	s.call("POST", "progress", `{}`, "Content-Encoding", "gzip").problem(probEncoding)
	s.call("POST", "heartbeat", "", "Host", "evil.example").problem(probHost)
	s.call("POST", "heartbeat", "", "Origin", "https://evil.example").problem(probOrigin)
	s.end()
	if got := ts.until(s.run, "succeeded"); got.field("progress") != "" || got.field("result") != "" {
		t.Errorf("what was refused had an effect: %s", got.body)
	}
}

func TestUnknownCallsOfACallbackAreToldSo(t *testing.T) {
	ts := newTestServer(t)
	s := ts.speaker("a")
	s.call("GET", "nothing", "").problem(probNotFound)
	s.call("GET", "results", "").problem(probNotFound)
	if got := s.call("DELETE", "checkpoint", ""); got.problem(probMethod) == "" || !strings.Contains(got.header.Get("Allow"), "PUT") {
		t.Errorf("Allow is %q", got.header.Get("Allow"))
	}
	ts.call("GET", callbackPath+s.run+"/nothing", "", as("nsa_AAAA")...).problem(probUnauthorized)
	ts.call("GET", callbackPath+sampleRun+"/nothing", "", as(s.token)...).problem(probUnauthorized)
}
