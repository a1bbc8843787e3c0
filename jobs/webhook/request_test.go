package webhook

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// sent runs one attempt against a receiver and gives what it got.
func sent(
	t *testing.T, change func(w *jobs.Webhook, c *jobs.Call),
) (line, host, body string, h http.Header) {
	t.Helper()
	r := receive(t, answers(ok("")))
	w := &jobs.Webhook{URL: r.url + "?q=1"}
	c := kindtest.NewCall(jobs.Spec{Webhook: w})
	c.Job, c.Attempt, c.Number, c.MaxAttempts = "nightly", 3, 5, 8
	c.Payload = jobs.Raw("{ \"a\" : 1.0 }")
	c.Deadline = time.UnixMilli(1764460800123)
	if change != nil {
		change(w, c)
	}
	rep := newKind(t, Config{Version: "1.2"}).Run(context.Background(), c)
	if rep.Failure != nil {
		t.Fatal(rep.Failure)
	}
	if r.requests.Load() != 1 {
		t.Fatalf("%d requests", r.requests.Load())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines[0], r.hosts[0], r.bodies[0], r.heads[0]
}

func wantHeaders(t *testing.T, h http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := strings.Join(h.Values(name), "|"); got != value {
			t.Errorf("%s: %q: want %q", name, got, value)
		}
	}
}

func TestRequestHasWhatTheContractNames(t *testing.T) {
	var c *jobs.Call
	line, _, body, h := sent(t, func(_ *jobs.Webhook, call *jobs.Call) {
		c = call
		c.ScheduledFor = jobs.Time(1764460800000)
		c.CatchUp = true
		c.CallbackURL, c.CallbackToken = "https://jobs.example.com/v1/callback/1", "token"
		c.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	})
	if line != "POST /hook?q=1" || body != "{ \"a\" : 1.0 }" {
		t.Errorf("line %q, body %q", line, body)
	}
	wantHeaders(t, h, map[string]string{
		"Content-Type":             "application/json",
		"Content-Length":           "13",
		"User-Agent":               "nightshift/1.2",
		"Idempotency-Key":          c.Operation.String(),
		"Nightshift-Job":           "nightly",
		"Nightshift-Run":           c.Run.String(),
		"Nightshift-Attempt":       "3",
		"Nightshift-Max-Attempts":  "8",
		"Nightshift-Scheduled-For": "2025-11-30T00:00:00.000Z",
		"Nightshift-Catch-Up":      "true",
		"Nightshift-Deadline":      "2025-11-30T00:00:00.123Z",
		"Nightshift-Callback":      "https://jobs.example.com/v1/callback/1",
		"Nightshift-Token":         "token",
		"Traceparent":              "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"Accept-Encoding":          "",
	})
}

func TestRequestLeavesOutWhatTheRunHasNot(t *testing.T) {
	_, _, _, h := sent(t, nil)
	for _, name := range []string{
		"Nightshift-Scheduled-For", "Nightshift-Catch-Up", "Nightshift-Callback", "Nightshift-Token",
		"Nightshift-Checkpoint", "Nightshift-Checkpoint-Size", "Traceparent",
	} {
		if h.Values(name) != nil {
			t.Errorf("%s: %q: want none", name, h.Values(name))
		}
	}
}

func TestCheckpointGoesAlongUpToFourKiB(t *testing.T) {
	fill := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	spaced := "[ " + strings.Repeat(" ", 5000) + "1 ]"
	for name, c := range map[string]struct{ saved, value, size string }{
		"object":        {saved: "{ \"page\" : 3.0 }", value: `{"page":3.0}`},
		"other letters": {saved: `"é 😀\u007f` + "\u007f" + `"`, value: `"\u00e9 \ud83d\ude00\u007f\u007f"`},
		"false":         {saved: `false`, value: `false`},
		"none":          {},
		"null":          {saved: `null`},
		"4 KiB":         {saved: fill(4096), value: fill(4096)},
		"past it":       {saved: fill(4097), size: "4097"},
		"white space":   {saved: spaced, value: "[1]"},
		// As it is sent it has six bytes a letter.
		"past it as ASCII": {saved: `"` + strings.Repeat("é", 700) + `"`, size: "1402"},
		"the largest":      {saved: fill(jobs.MaxCheckpoint), size: "262144"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, h := sent(t, func(_ *jobs.Webhook, call *jobs.Call) {
				if c.saved != "" {
					call.Checkpoint = jobs.Raw(c.saved)
				}
			})
			wantHeaders(t, h, map[string]string{
				"Nightshift-Checkpoint": c.value, "Nightshift-Checkpoint-Size": c.size,
			})
		})
	}
	_, _, _, h := sent(t, func(w *jobs.Webhook, call *jobs.Call) {
		call.Checkpoint = jobs.Raw("1")
		w.Headers = map[string]string{"nightshift-checkpoint": "mine"}
	})
	wantHeaders(t, h, map[string]string{"Nightshift-Checkpoint": "mine"})
}

// Each slice is a delivery of its own; all that is asked of one is told apart from it by its number.
func TestKeysCountTheSlicesOfAnOperation(t *testing.T) {
	for k, suffix := range map[int]string{0: "", 1: "-1", 10_000: "-10000"} {
		var operation string
		_, _, body, h := sent(t, func(w *jobs.Webhook, c *jobs.Call) {
			c.Continues, w.SigningSecret = k, jobs.Texts{secretA}
			operation = c.Operation.String()
		})
		wantHeaders(t, h, map[string]string{
			"Idempotency-Key": operation + suffix, "Webhook-Id": operation + suffix, "Nightshift-Attempt": "3",
		})
		verified(t, secretA, h, body, time.Now())
	}
}

func TestHeaderOfTheJobWins(t *testing.T) {
	_, host, _, h := sent(t, func(w *jobs.Webhook, _ *jobs.Call) {
		w.Headers = map[string]string{
			"user-agent": "mine/1", "CONTENT-TYPE": "text/plain", "idempotency-key": "k",
			"nightshift-JOB": "other", "X-Extra": " a\tb ", "Host": "virtual.example",
		}
	})
	wantHeaders(t, h, map[string]string{
		"User-Agent": "mine/1", "Content-Type": "text/plain", "Idempotency-Key": "k",
		"Nightshift-Job": "other", "X-Extra": "a\tb",
	})
	if host != "virtual.example" {
		t.Errorf("host %q", host)
	}
}

func TestNightshiftHeadersCanBeLeftOut(t *testing.T) {
	no := false
	_, _, _, h := sent(t, func(w *jobs.Webhook, c *jobs.Call) {
		w.NightshiftHeaders = &no
		c.CallbackURL, c.CallbackToken = "http://127.0.0.1/v1/callback/1", "secret"
		c.Checkpoint = jobs.Raw(`{"page":3}`)
	})
	for name := range h {
		if strings.HasPrefix(name, "Nightshift-") {
			t.Errorf("%s was sent", name)
		}
	}
	if h.Get("Idempotency-Key") == "" {
		t.Error("no Idempotency-Key")
	}
}

func TestMethodDecidesWhetherABodyIsSent(t *testing.T) {
	for method, want := range map[string]string{
		"GET": "", "HEAD": "", "get": "", "TRACE": "", "POST": "13", "PUT": "13", "PATCH": "13",
		"DELETE": "13", "OPTIONS": "13", "PURGE": "13", "": "13",
	} {
		t.Run(method, func(t *testing.T) {
			line, _, body, h := sent(t, func(w *jobs.Webhook, _ *jobs.Call) { w.Method = method })
			if got := h.Get("Content-Length"); got != want || (body != "") != (want != "") {
				t.Errorf("content length %q, body %q: want %q", got, body, want)
			}
			if got := h.Get("Transfer-Encoding"); got != "" {
				t.Errorf("transfer encoding %q", got)
			}
			if (h.Get("Content-Type") != "") != (want != "") {
				t.Errorf("content type %q", h.Get("Content-Type"))
			}
			name := orElse(strings.ToUpper(method), "POST")
			if line != name+" /hook?q=1" {
				t.Errorf("line %q", line)
			}
		})
	}
}

func TestURLIsSentSafely(t *testing.T) {
	for suffix, want := range map[string]string{
		"/a%20b?c=%C3%A9": "/a%20b?c=%C3%A9",
		"/p//q/../r":      "/p//q/../r",
		"":                "/",
		"?x=1":            "/?x=1",
		"/p#fragment":     "/p",
		"/%41%2F?a=%0d":   "/%41%2F?a=%0d",
		"/x?y=1+2&z=[3]":  "/x?y=1+2&z=[3]",
	} {
		r := receive(t, answers(ok("")))
		rep := call(t, newKind(t, Config{}), hook("http://"+r.addr+suffix))
		wantResult(t, rep, "")
		if r.lines[0] != "POST "+want {
			t.Errorf("%q: sent %q: want %q", suffix, r.lines[0], want)
		}
	}
}

// Jobs are refused when they are saved for all that the kind refuses, or a run would find out.
func TestWhatTheKindRefusesIsRefusedAtSave(t *testing.T) {
	for _, w := range refused {
		if _, err := newPlan(&w, "test"); err == nil {
			t.Errorf("%+v: the kind would send it", w)
		}
		if faults := (&jobs.Job{Webhook: &w}).Check(); len(faults) == 0 {
			t.Errorf("%+v: can be saved", w)
		}
	}
}

func withHeader(name, value string) jobs.Webhook {
	return jobs.Webhook{URL: "http://127.0.0.1:1/", Headers: map[string]string{name: value}}
}

var refused = []jobs.Webhook{
	{URL: ""},
	{URL: "http://"},
	{URL: "http:///x"},
	{URL: "ftp://h/"},
	{URL: "http:h"},
	{URL: "/x"},
	{URL: "http://h:0/"},
	{URL: "http://h:65536/"},
	{URL: "http://h:x/"},
	{URL: "http://[::1/"},
	{URL: "http://h/%zz"},
	{URL: "http://h/a b"},
	{URL: "http://h/?q=é"},
	{URL: "http://bücher.example/"},
	{URL: "http://u:p@h/"},
	{URL: "http://u@h/"},
	{URL: "http://./"},
	{URL: "http://h/", Method: "CONNECT"},
	{URL: "http://h/", Method: "PO ST"},
	{URL: "http://h/", Headers: map[string]string{"x-a": "1", "X-A": "2"}},
	withHeader("Content-Length", "5"), withHeader("transfer-encoding", "chunked"),
	withHeader("Connection", "close"), withHeader("Keep-Alive", "x"), withHeader("TE", "trailers"),
	withHeader("Trailer", "x"), withHeader("Upgrade", "h2c"), withHeader("HTTP2-Settings", "x"),
	withHeader("Expect", "100-continue"), withHeader("Proxy-Authorization", "x"),
	withHeader("Proxy-Connection", "x"), withHeader("Bad Name", "x"), withHeader("", "x"),
	withHeader("X-Nul", "a\x00b"), withHeader("X-Line", "a\nb"), withHeader("X-Del", "a\x7fb"),
	withHeader("Host", ""), withHeader("Host", "a/b"), withHeader("host", "u@h"),
	withHeader("Host", "a b"), withHeader("Host", "bücher.example"), withHeader("Host", "h?x"),
}

func TestWhatCanBeSavedCanBeSent(t *testing.T) {
	for _, w := range []jobs.Webhook{
		{URL: "https://example.com"},
		{URL: "http://[::1]:8080/x?y={}|"},
		{URL: "http://Example.COM.:80/"},
		{URL: "http://xn--bcher-kva.example/%C3%A9"},
		{URL: "http://a_b/", Method: "DELETE"},
		withHeader("Host", "virtual.example"), withHeader("host", "virtual.example:8443"),
		withHeader("Host", "[::1]:80"), withHeader("X-Text", "a\tb é"), withHeader("User-Agent", ""),
		withHeader("Authorization", "Bearer x"), withHeader("X-!#$%&'*+-.^_`|~", "x"),
	} {
		if faults := (&jobs.Job{Webhook: &w}).Check(); len(faults) != 0 {
			t.Errorf("%+v: cannot be saved: %v", w, faults)
			continue
		}
		p, err := newPlan(&w, "test")
		if err != nil {
			t.Errorf("%+v: %v", w, err)
			continue
		}
		req, _ := p.request(t.Context(), kindtest.NewCall(jobs.Spec{Webhook: &w}), time.Now)
		if err := req.Write(io.Discard); err != nil {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestMessageNeverQuotesTheURL(t *testing.T) {
	k := newKind(t, Config{})
	for _, url := range []string{
		"http://user:hunter2@127.0.0.1:1/hunter2?token=hunter2",
		"http://127.0.0.1:99999/?token=hunter2",
		"gopher://hunter2.example/?token=hunter2",
		"http://[hunter2/?token=hunter2",
	} {
		rep := call(t, k, hook(url))
		if rep.Failure == nil || strings.Contains(rep.Failure.Message, "hunter2/?") ||
			strings.Contains(rep.Failure.Message, "token") {
			t.Errorf("%s: failure %v", url, rep.Failure)
		}
	}
}

func TestHeadersThatFrameTheRequestAreRefused(t *testing.T) {
	for name, value := range map[string]string{
		"Content-Length": "5", "transfer-encoding": "chunked", "Connection": "close",
		"Expect": "100-continue", "Bad Name": "x", "": "x", "X-Nul": "a\x00b", "X-Line": "a\nb",
	} {
		rep := call(t, newKind(t, Config{}), jobs.Spec{Webhook: &jobs.Webhook{
			URL: "http://127.0.0.1:1/", Headers: map[string]string{name: value},
		}})
		wantFailure(t, rep, jobs.FailInvalid, "header")
	}
}

func TestPlansAreBounded(t *testing.T) {
	ps := plans{userAgent: "test"}
	for range 3 * maxPlans {
		if _, err := ps.of(&jobs.Webhook{URL: "http://127.0.0.1/"}, false); err != nil {
			t.Fatal(err)
		}
		if len(ps.known) > maxPlans {
			t.Fatalf("%d plans are kept", len(ps.known))
		}
	}
}
