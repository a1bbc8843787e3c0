package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/runtime"
)

func TestTokenIsShownOnce(t *testing.T) {
	ts := newTestServer(t)
	a := ts.call("PUT", "/v1/tokens/ci", `{"scopes":["enqueue","read","read"],"jobs":["mail-*"],"expires_at":"2100-01-01T00:00:00Z"}`).want(201)
	secret := a.field("secret")
	if !strings.HasPrefix(secret, SecretPrefix) || len(secret) != len(SecretPrefix)+43 {
		t.Errorf("secret %q", secret)
	}
	ts.call("GET", "/v1/jobs", "", as(secret)...).want(200)
	for _, path := range []string{"/v1/tokens/ci", "/v1/tokens", "/v1/audit"} {
		if got := ts.call("GET", path, "").want(200); strings.Contains(string(got.body), secret) || strings.Contains(string(got.body), "hash") {
			t.Errorf("GET %s tells the secret: %s", path, got.body)
		}
	}
	got := ts.call("GET", "/v1/tokens/ci", "")
	if got.field("scopes.0") != "read" || got.field("scopes.1") != "enqueue" || got.field("scopes.2") != "" ||
		got.field("jobs.0") != "mail-*" || got.field("last_used_at") == "" || got.field("expires_at") == "" {
		t.Errorf("token: %s", got.body)
	}
	// A change keeps the secret and does not show it.
	changed := ts.call("PUT", "/v1/tokens/ci", `{"scopes":["enqueue"]}`, "If-Match", got.header.Get("ETag")).want(200)
	if changed.field("secret") != "" || changed.field("jobs") != "" {
		t.Errorf("changed: %s", changed.body)
	}
	ts.call("GET", "/v1/jobs", "", as(secret)...).problem(probForbidden)
	ts.call("PUT", "/v1/tokens/ci", `{"scopes":["read"]}`, "If-Match", got.header.Get("ETag")).problem(probStale)
	ts.call("POST", "/v1/tokens", `{"name":"ci","scopes":["read"]}`).problem(probExists)
	ts.call("DELETE", "/v1/tokens/ci", "").want(204)
	ts.call("DELETE", "/v1/tokens/ci", "").problem(probNotFound)
	ts.call("GET", "/v1/jobs", "", as(secret)...).problem(probUnauthorized)
}

func TestEveryTokenIsReachedByPages(t *testing.T) {
	ts := newTestServer(t)
	want := []string{"admin"}
	for i := range 7 {
		name := fmt.Sprintf("t%d", i)
		ts.token(`{"name":"` + name + `","scopes":["read"]}`)
		want = append(want, name)
	}
	var got []string
	for next, first := "", true; first || next != ""; first = false {
		page := ts.call("GET", "/v1/tokens?limit=3"+next, "").want(200)
		if limit := page.field("limit"); limit != "3" {
			t.Errorf("limit %s", limit)
		}
		for i := range 3 {
			if name := page.field(fmt.Sprintf("items.%d.name", i)); name != "" {
				got = append(got, name)
			}
		}
		// What comes and goes meanwhile moves nothing.
		ts.call("DELETE", "/v1/tokens/"+got[0], "").want(204)
		ts.token(`{"name":"` + got[0] + `","scopes":["read"]}`)
		if next = page.field("next"); next != "" {
			next = "&cursor=" + next
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if newest := ts.call("GET", "/v1/tokens", ""); newest.field("items.7.name") != "admin" {
		t.Errorf("the oldest is not the last: %s", newest.body)
	}
}

func TestBadTokensAreRefused(t *testing.T) {
	ts := newTestServer(t)
	for body, place := range map[string]string{
		`{"name":"a"}`:                                                       "body.scopes: ",
		`{"name":"a","scopes":["root"]}`:                                     "body.scopes[0]: ",
		`{"name":"A","scopes":["read"]}`:                                     "body.name: ",
		`{"scopes":["read"]}`:                                                "body.name: ",
		`{"name":"a","scopes":["read"],"jobs":[]}`:                           "body.jobs: ",
		`{"name":"a","scopes":["read"],"jobs":["[a-z]*"]}`:                   "body.jobs[0]: ",
		`{"name":"a","scopes":["read"],"jobs":["a/*"]}`:                      "body.jobs[0]: ",
		`{"name":"a","scopes":["read"],"expires_at":"2001-01-01T00:00:00Z"}`: "body.expires_at: ",
		`{"name":"a","scopes":["read"],"secret":"mine"}`:                     "body.secret: ",
	} {
		if got := ts.call("POST", "/v1/tokens", body).problem(probInvalid); !strings.Contains(got, place) {
			t.Errorf("%s: %s, want %s", body, got, place)
		}
	}
}

func TestNarrowedTokenKnowsOnlyItsJobs(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("mail-out", ok(`1`))
	ts.hook("billing", ok(`1`))
	theirs := ts.enqueue("billing", `{"delay":"1h"}`)
	narrow := as(ts.token(`{"name":"narrow","scopes":["admin"],"jobs":["mail-*","exact"]}`))
	mine := ts.enqueue("mail-out", `{"delay":"1h"}`, narrow...)
	for _, c := range [][2]string{
		{"GET", "/v1/jobs/billing"},
		{"DELETE", "/v1/jobs/billing"},
		{"POST", "/v1/jobs/billing/pause"},
		{"POST", "/v1/jobs/billing/resume"},
		{"GET", "/v1/jobs/billing/versions"},
		{"GET", "/v1/jobs/billing/versions/1"},
		{"POST", "/v1/jobs/billing/upgrade-runs"},
		{"POST", "/v1/jobs/billing/runs"},
		{"GET", "/v1/runs/" + theirs},
		{"GET", "/v1/runs/" + theirs + "/log"},
		{"POST", "/v1/runs/" + theirs + "/cancel"},
		{"POST", "/v1/runs/" + theirs + "/run-now"},
		{"POST", "/v1/runs/" + theirs + "/requeue"},
		{"DELETE", "/v1/runs/" + theirs},
		{"GET", "/v1/jobs/exactly"},
	} {
		ts.call(c[0], c[1], "", narrow...).problem(probNotFound)
	}
	ts.call("PUT", "/v1/jobs/billing", hookDoc, narrow...).problem(probNotFound)
	ts.call("PUT", "/v1/jobs/mail-in", hookDoc, narrow...).want(201)
	ts.call("POST", "/v1/jobs", `{"name":"other","webhook":{"url":"http://h/"}}`, narrow...).problem(probInvalid)
	ts.call("POST", "/v1/apply", `{"jobs":{"mail-x":{"webhook":"http://h/"},"other":{"webhook":"http://h/"}}}`, narrow...).problem(probInvalid)
	got := ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"mail-out"},{"job":"billing"}]}`, narrow...).problem(probInvalid)
	unknown := ts.call("POST", "/v1/runs/batch", `{"runs":[{"job":"mail-out"},{"job":"mail-absent"}]}`, narrow...).problem(probInvalid)
	if got != unknown {
		t.Errorf("a job it must not know: %s; one that does not exist: %s", got, unknown)
	}
	list := ts.call("GET", "/v1/jobs", "", narrow...).want(200)
	if strings.Contains(string(list.body), "billing") || !strings.Contains(string(list.body), "mail-out") {
		t.Errorf("jobs: %s", list.body)
	}
	runs := ts.call("GET", "/v1/runs", "", narrow...).want(200)
	if runs.field("items.0.id") != mine || runs.field("items.1.id") != "" {
		t.Errorf("runs: %s", runs.body)
	}
	ts.call("GET", "/v1/jobs/billing", "").want(200) // nothing happened to it
	ts.until(theirs, "scheduled")
}

func TestExpiredTokenIsUnknown(t *testing.T) {
	ts := newTestServer(t)
	soon := time.Now().Add(300 * time.Millisecond).UTC().Format(time.RFC3339Nano)
	secret := ts.token(`{"name":"brief","scopes":["read"],"expires_at":"` + soon + `"}`)
	for deadline := time.Now().Add(30 * time.Second); ; {
		got := ts.call("GET", "/v1/jobs", "", as(secret)...)
		if got.status == 401 {
			got.problem(probUnauthorized)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it never expires")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestLastKeyIsKept(t *testing.T) {
	ts := newTestServer(t)
	ts.call("DELETE", "/v1/tokens/admin", "").problem(probState)
	ts.call("PUT", "/v1/tokens/admin", `{"scopes":["read"]}`).problem(probState)
	ts.call("PUT", "/v1/tokens/admin", `{"scopes":["admin"],"jobs":["a"]}`).problem(probState)
	ts.call("POST", "/v1/tokens", `{"name":"other","scopes":["admin"],"expires_at":"2100-01-01T00:00:00Z"}`).want(201)
	ts.call("DELETE", "/v1/tokens/admin", "").problem(probState)
	second := as(ts.token(`{"name":"second","scopes":["admin"]}`))
	ts.call("DELETE", "/v1/tokens/admin", "").want(204)
	ts.call("GET", "/v1/jobs", "").problem(probUnauthorized)
	ts.call("GET", "/v1/jobs", "", second...).want(200)
}

// stream opens a stream of events.
func (ts *testServer) stream(path string, headers ...string) *http.Response {
	ts.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ts.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", ts.url+path, nil)
	if err != nil {
		ts.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestRevokingEndsStreamsAndWaits(t *testing.T) {
	ts := newTestServer(t)
	handle, _ := gate(t)
	ts.hook("a", handle)
	id := ts.enqueue("a", "")
	ts.until(id, "running")
	secret := as(ts.token(`{"name":"r","scopes":["read"]}`))
	res := ts.stream("/v1/runs/"+id+"/log", secret...)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("stream: %d %v", res.StatusCode, res.Header)
	}
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != ":\n" {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	waited := make(chan int, 1)
	go func() { waited <- ts.call("GET", "/v1/runs/"+id+"?wait=60s", "", secret...).status }()
	revoked := time.Now()
	ts.call("DELETE", "/v1/tokens/r", "").want(204)
	for {
		if _, err := lines.ReadString('\n'); err != nil {
			break
		}
	}
	<-waited
	if took := time.Since(revoked); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A token that is revoked must not open the server again once the published backup is restored.
func TestTokensAreBackedUp(t *testing.T) {
	ts := newTestServer(t, func(cfg *runtime.Config) {
		cfg.Backups = runtime.BackupConfig{Dir: t.TempDir(), Snapshot: time.Millisecond}
	})
	for _, call := range [][2]string{{"PUT", `{"scopes":["read"]}`}, {"DELETE", ""}} {
		time.Sleep(500 * time.Millisecond) // until nothing is behind
		before := ts.rt.Backups().AsOf
		if before == 0 {
			t.Fatal("there is no backup")
		}
		ts.call(call[0], "/v1/tokens/ci", call[1])
		for end := time.Now().Add(5 * time.Second); ts.rt.Backups().AsOf == before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s: no newer backup is published", call[0])
				break
			}
		}
	}
}
