package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

func TestStatusDecides(t *testing.T) {
	for code, good := range map[int]bool{
		200: true, 201: true, 202: true, 204: true, 206: true, 299: true,
		300: false, 304: false, 400: false, 401: false, 404: false, 408: false, 409: false,
		410: false, 422: false, 425: false, 429: false, 500: false, 502: false, 503: false,
		504: false, 599: false, 999: false,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			body := `{"ok":1}`
			if code == 204 || code == 304 {
				body = ""
			}
			r := receive(t, answers(status(code, body, "X-Seen: Yes")))
			rep := call(t, newKind(t, Config{}), hook(r.url))
			if rep.HTTPStatus != code {
				t.Errorf("status %d", rep.HTTPStatus)
			}
			if good {
				wantResult(t, rep, body)
				return
			}
			wantFailure(t, rep, jobs.FailHTTP, fmt.Sprint(code))
			f := rep.Failure
			if f.Type != "http" || f.HTTP.Status != code || f.HTTP.Body != body ||
				f.HTTP.Headers["x-seen"] != "Yes" {
				t.Errorf("failure %+v, http %+v", f, f.HTTP)
			}
		})
	}
}

func TestRedirectIsAFailureAndIsNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		other := receive(t, answers(ok("{}")))
		for _, to := range []string{
			other.url + "?token=secret", "http://169.254.169.254/latest", "file:///etc/passwd",
			"/loop", "",
		} {
			r := receive(t, answers(status(code, "", "Location: "+to)))
			rep := call(t, newKind(t, Config{}), hook(r.url))
			wantFailure(t, rep, jobs.FailHTTP, "redirects are not followed")
			if strings.Contains(rep.Failure.Message, "secret") {
				t.Errorf("message %q", rep.Failure.Message)
			}
			if r.requests.Load() != 1 || other.requests.Load() != 0 {
				t.Errorf("%d and %d requests", r.requests.Load(), other.requests.Load())
			}
		}
	}
}

func TestResultIsTheBody(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"empty":             {ok(""), ""},
		"no content":        {"HTTP/1.1 204 No Content\r\n\r\n", ""},
		"json":              {ok("{ \"n\": 1.0 }"), "{ \"n\": 1.0 }"},
		"json and line end": {ok("[1]\n"), "[1]\n"},
		"two values":        {ok("1 2"), `"1 2"`},
		"bom":               {ok("\ufeff{}"), "\"\ufeff{}\""},
		"invalid in string": {ok("\"\xff\""), "\"\\\"\uFFFD\\\"\""},
		"nul":               {ok("a\x00"), `"a\u0000"`},
		"chunked": {
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"2\r\n{}\r\n3\r\n \n \r\n0\r\nX-T: 1\r\n\r\n",
			"{} \n ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(c.answer))
			wantResult(t, call(t, newKind(t, Config{}), hook(r.url)), c.want)
		})
	}
}

func TestAnswerOfHTTP10EndsWithItsConnection(t *testing.T) {
	r := receive(t, oneRequest(func(p *peer) { p.say("HTTP/1.0 200 OK\r\n\r\n{\"a\":1}") }))
	wantResult(t, call(t, newKind(t, Config{}), hook(r.url)), `{"a":1}`)
}

func TestHeadHasNoResult(t *testing.T) {
	r := receive(t, answers("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"))
	k := newKind(t, Config{})
	spec := jobs.Spec{Webhook: &jobs.Webhook{URL: r.url, Method: "HEAD"}}
	wantResult(t, call(t, k, spec), "")
	wantResult(t, call(t, k, spec), "")
	if r.conns.Load() != 1 {
		t.Errorf("%d connections", r.conns.Load())
	}
}

func TestTooLargeAnswerIsNullAndItsHeadIsLogged(t *testing.T) {
	escaped := strings.Repeat("\x01", jobs.MaxResult/2) // as a JSON string six times as long
	for name, body := range map[string]string{
		"json": `"` + strings.Repeat("é", jobs.MaxResult/2) + `"`,
		"text": strings.Repeat("0123456é", 10_000), "escapes": escaped,
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(ok(body)))
			k := newKind(t, Config{})
			c := kindtest.NewCall(hook(r.url))
			rep := k.Run(context.Background(), c)
			kindtest.CheckReport(t, rep)
			if rep.Failure != nil || rep.Result != nil || !rep.ResultTruncated {
				t.Fatalf("failure %v, %d bytes, truncated %t", rep.Failure, len(rep.Result),
					rep.ResultTruncated)
			}
			log := string(c.Log.(*kindtest.Log).Bytes())
			if !strings.HasPrefix(log, body[:1000]) || !strings.Contains(log, "larger than 64 KiB") {
				t.Errorf("log %.100q", log)
			}
			if len(log) > jobs.MaxResult+1024 {
				t.Errorf("%d bytes of log", len(log))
			}
			if !strings.HasSuffix(log, rep.OutputTail) || rep.OutputTail == "" {
				t.Errorf("output tail %.100q", rep.OutputTail)
			}
			call(t, k, hook(r.url))
			if r.conns.Load() != 1 {
				t.Error("an answer that was read to its end should keep the connection")
			}
		})
	}
}

func TestErrorBodyAndHeadersAreBoundedAndValid(t *testing.T) {
	var headers []string
	for i := range 3000 {
		headers = append(headers, fmt.Sprintf("H%d: v\xff", i))
	}
	headers = append(headers, "A-Long: "+strings.Repeat("x", 4000), "Set-Cookie: session=secret")
	r := receive(t, answers(status(500, strings.Repeat("é", 20_000), headers...)))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantFailure(t, rep, jobs.FailHTTP, "500 Internal Server Error")
	h := rep.Failure.HTTP
	if len(h.Headers) != maxKeptHeaders || len(h.Headers["a-long"]) != maxKeptValue ||
		h.Headers["h0"] != "v\uFFFD" {
		t.Errorf("%d headers, a-long of %d bytes, h0 %q",
			len(h.Headers), len(h.Headers["a-long"]), h.Headers["h0"])
	}
	if _, kept := h.Headers["set-cookie"]; kept {
		t.Error("a cookie was kept")
	}
	if len(h.Body) != jobs.MaxErrorBody {
		t.Errorf("%d bytes of body", len(h.Body))
	}
}

func TestProblemGivesTypeMessageAndAdvice(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	yes, no := true, false
	const plain = "422 Unprocessable Entity"
	wait := func(d time.Duration) *time.Duration { return &d }
	for name, c := range map[string]struct {
		body, typ, message string
		retryable          *bool
		after              *time.Duration
		notes              int
	}{
		"all": {
			`{"type":"https://e.example/gone","title":"Gone","detail":"user\n7 is gone",` +
				`"retryable":false,"retry_after":1.5}`,
			"https://e.example/gone", "user 7 is gone", &no, wait(1500 * time.Millisecond), 0,
		},
		"about blank": {`{"type":"about:blank","title":"Busy"}`, "http", "Busy", nil, nil, 0},
		"nothing":     {`{}`, "http", plain, nil, nil, 0},
		"nulls": {
			`{"type":null,"detail":null,"retryable":null,"retry_after":null}`, "http", plain, nil, nil, 0,
		},
		"duration": {
			`{"retryable":true,"retry_after":"90s"}`,
			"http", plain, &yes, wait(90 * time.Second), 0,
		},
		"days":     {`{"retry_after":"1d"}`, "http", plain, nil, wait(24 * time.Hour), 0},
		"RFC 3339": {`{"retry_after":"2026-11-29T12:01:00Z"}`, "http", plain, nil, wait(time.Minute), 0},
		"HTTP date": {
			`{"retry_after":"Sun, 29 Nov 2026 12:00:30 GMT"}`,
			"http", plain, nil, wait(30 * time.Second), 0,
		},
		"past": {`{"retry_after":"2026-11-29T11:59:00Z"}`, "http", plain, nil, nil, 1},
		"wrong types": {
			`{"type":5,"title":[],"detail":{},"retryable":"yes","retry_after":true}`,
			"http", plain, nil, nil, 5,
		},
		"negative":      {`{"retry_after":-1}`, "http", plain, nil, nil, 1},
		"too long":      {`{"retry_after":1e300}`, "http", plain, nil, nil, 1},
		"overflow":      {`{"retry_after":1e999}`, "http", plain, nil, nil, 1},
		"garbage":       {`{"retry_after":"soon"}`, "http", plain, nil, nil, 1},
		"not an object": {`[1]`, "http", plain, nil, nil, 1},
		"null":          {`null`, "http", plain, nil, nil, 1},
		"not JSON":      {`{"type":`, "http", plain, nil, nil, 1},
		"other case":    {`{"Type":"x","Retryable":true}`, "http", plain, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			media := "Content-Type: Application/Problem+JSON; charset=utf-8"
			r := receive(t, answers(status(422, c.body, media)))
			k := newKind(t, Config{})
			k.now = func() time.Time { return now }
			rep := call(t, k, hook(r.url))
			wantFailure(t, rep, jobs.FailHTTP)
			if rep.Failure.Type != c.typ || rep.Failure.Message != c.message {
				t.Errorf("type %q, message %q", rep.Failure.Type, rep.Failure.Message)
			}
			if (rep.Retryable == nil) != (c.retryable == nil) ||
				rep.Retryable != nil && *rep.Retryable != *c.retryable {
				t.Errorf("retryable %v", rep.Retryable)
			}
			if (rep.RetryAfter == nil) != (c.after == nil) ||
				rep.RetryAfter != nil && *rep.RetryAfter != *c.after {
				t.Errorf("retry after %v", rep.RetryAfter)
			}
			if len(rep.Notes) != c.notes {
				t.Errorf("notes %q: want %d", rep.Notes, c.notes)
			}
		})
	}
}

func TestProblemOfASuccessIsAResult(t *testing.T) {
	body := `{"type":"x","retryable":false}`
	r := receive(t, answers(ok(body, "Content-Type: application/problem+json")))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantResult(t, rep, body)
	if rep.Retryable != nil {
		t.Error("retryable was read")
	}
}

func TestRetryAfterCountsOn429And503Only(t *testing.T) {
	for code, want := range map[int]time.Duration{
		429: 7 * time.Second, 503: 7 * time.Second, 500: 0, 404: 0, 301: 0,
	} {
		r := receive(t, answers(status(code, "", "Retry-After: 5", "retry-after: 7")))
		rep := call(t, newKind(t, Config{}), hook(r.url))
		wantFailure(t, rep, jobs.FailHTTP)
		if rep.RetryAfterFloor != want || len(rep.Notes) != 0 {
			t.Errorf("%d: floor %s, notes %q: want %s", code, rep.RetryAfterFloor, rep.Notes, want)
		}
	}
}
