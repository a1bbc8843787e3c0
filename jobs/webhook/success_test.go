package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// judged runs an attempt whose success is that function.
func judged(t testing.TB, k *Kind, url string, judge jobs.Judgement) jobs.Report {
	t.Helper()
	w := &jobs.Webhook{URL: url, Success: "http.body.ok == true"}
	c := kindtest.NewCall(jobs.Spec{Webhook: w})
	c.Judge = judge
	rep := k.Run(context.Background(), c)
	kindtest.CheckReport(t, rep)
	return rep
}

func always(verdict bool) jobs.Judgement {
	return func(jobs.Answer) (bool, error) { return verdict, nil }
}

func TestSuccessSeesTheWholeAnswer(t *testing.T) {
	r := receive(t, answers(status(409, `{ "ok": 1.0 }`, "X-Seen: Yes", "x-two: a", "X-Two: b")))
	var seen jobs.Answer
	rep := judged(t, newKind(t, Config{}), r.url, func(a jobs.Answer) (bool, error) {
		seen = a
		return true, nil
	})
	wantResult(t, rep, `{ "ok": 1.0 }`)
	if rep.HTTPStatus != 409 || seen.Status != 409 || string(seen.Body) != `{ "ok": 1.0 }` ||
		seen.Headers["x-seen"] != "Yes" || seen.Headers["x-two"] != "a, b" {
		t.Errorf("status %d, answer %+v", rep.HTTPStatus, seen)
	}
}

func TestSuccessRefusesA2xx(t *testing.T) {
	r := receive(t, answers(ok(`{"ok":false}`)))
	rep := judged(t, newKind(t, Config{}), r.url, always(false))
	wantFailure(t, rep, jobs.FailHTTP, "200 OK, but success is not true: http.body.ok == true")
	if f := rep.Failure; f.HTTP.Status != 200 || f.HTTP.Body != `{"ok":false}` || rep.Result != nil {
		t.Errorf("failure %+v, result %s", f.HTTP, rep.Result)
	}
}

func TestSuccessRefusesAnErrorAsItsStatusSays(t *testing.T) {
	r := receive(t, answers(status(503, "", "Retry-After: 7")))
	rep := judged(t, newKind(t, Config{}), r.url, always(false))
	wantFailure(t, rep, jobs.FailHTTP)
	if rep.Failure.Message != "503 Service Unavailable" || rep.RetryAfterFloor != 7*time.Second {
		t.Errorf("message %q, floor %s", rep.Failure.Message, rep.RetryAfterFloor)
	}
}

func TestSuccessThatCannotBeEvaluatedFailsTheAttempt(t *testing.T) {
	broken := func(jobs.Answer) (bool, error) { return true, errors.New("1:1: no\nsuch thing") }
	for code, want := range map[int]string{
		200: "200 OK, but success could not be evaluated: 1:1: no such thing",
		404: "404 Not Found, but success could not be evaluated: 1:1: no such thing",
	} {
		r := receive(t, answers(status(code, "{}")))
		rep := judged(t, newKind(t, Config{}), r.url, broken)
		wantFailure(t, rep, jobs.FailHTTP)
		if rep.Failure.Message != want {
			t.Errorf("message %q, want %q", rep.Failure.Message, want)
		}
	}
}

func TestSuccessAcceptsARedirectThatIsNotFollowed(t *testing.T) {
	r := receive(t, answers(status(302, "", "Location: /done")))
	rep := judged(t, newKind(t, Config{}), r.url, func(a jobs.Answer) (bool, error) {
		return a.Status == 302 && a.Headers["location"] == "/done", nil
	})
	wantResult(t, rep, "")
}

func TestSuccessJudgesWhatCameOfAnEndlessBody(t *testing.T) {
	flood := oneRequest(func(p *peer) {
		chunk := strings.Repeat("0123456789abcdef", 1<<10)
		p.say("HTTP/1.1 200 OK\r\n\r\n")
		for p.say(chunk) {
		}
	})
	for _, verdict := range []bool{true, false} {
		r := receive(t, flood)
		size := 0
		rep := judged(t, newKind(t, Config{}), r.url, func(a jobs.Answer) (bool, error) {
			size = len(a.Body)
			return verdict, nil
		})
		if size != maxBodyBytes {
			t.Errorf("%d bytes were judged", size)
		}
		if verdict && (rep.Failure != nil || !rep.ResultTruncated || rep.Result != nil) {
			t.Errorf("failure %v, truncated %t", rep.Failure, rep.ResultTruncated)
		}
		if !verdict {
			wantFailure(t, rep, jobs.FailHTTP, "success is not true")
		}
		until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
	}
}

func TestSuccessSeesMoreThanAResultMayHold(t *testing.T) {
	body := `{"fill":"` + strings.Repeat("x", 3*jobs.MaxResult) + `","ok":true}`
	r := receive(t, answers(ok(body)))
	k := newKind(t, Config{})
	for range 2 {
		rep := judged(t, k, r.url, func(a jobs.Answer) (bool, error) { return string(a.Body) == body, nil })
		if rep.Failure != nil || !rep.ResultTruncated {
			t.Errorf("failure %v, truncated %t", rep.Failure, rep.ResultTruncated)
		}
	}
	if r.conns.Load() != 1 {
		t.Errorf("%d connections: one that was read to its end is kept", r.conns.Load())
	}
}

// A part of an answer is not success, whatever the expression makes of it; an unwanted status is
// a verdict by itself.
func TestAnswerThatBreaksOffIsNoSuccess(t *testing.T) {
	for code, kinds := range map[int]map[bool]jobs.FailureKind{
		200: {true: jobs.FailConnection, false: jobs.FailConnection},
		500: {true: jobs.FailConnection, false: jobs.FailHTTP},
	} {
		for verdict, kind := range kinds {
			r := receive(t, oneRequest(func(p *peer) {
				p.say(fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 100\r\n\r\n{}", code))
			}))
			wantFailure(t, judged(t, newKind(t, Config{}), r.url, always(verdict)), kind)
		}
	}
}

func TestProblemOfAnAnswerThatSuccessRefusesIsRead(t *testing.T) {
	body := `{"type":"Busy","detail":"come back","retryable":true,"retry_after":3}`
	r := receive(t, answers(ok(body, "Content-Type: application/problem+json")))
	rep := judged(t, newKind(t, Config{}), r.url, always(false))
	wantFailure(t, rep, jobs.FailHTTP, "come back")
	if rep.Failure.Type != "Busy" || rep.Retryable == nil || rep.RetryAfter == nil {
		t.Errorf("report %+v", rep)
	}
}

func TestBodyOfItsOwnIsSentByteForByte(t *testing.T) {
	for name, c := range map[string]struct{ method, body, media, length string }{
		"form":  {body: "a=1&b=%C3%A9+x", media: "application/x-www-form-urlencoded", length: "14"},
		"xml":   {body: "<a>é</a>\n", media: "application/xml; charset=utf-8", length: "10"},
		"json":  {body: "{ \"n\" : 1.0 }", length: "13"},
		"bytes": {body: "\xff\x00\xfe", media: "application/octet-stream", length: "3"},
		"none":  {body: "", length: "0"}, "none, PUT": {method: "PUT", body: "", length: "0"},
		"GET": {method: "GET", body: "left out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, body, h := sent(t, func(w *jobs.Webhook, call *jobs.Call) {
				w.Method, call.Body = c.method, []byte(c.body)
				if c.media != "" {
					w.Headers = map[string]string{"content-type": c.media}
				}
			})
			want, media := c.body, orElse(c.media, "application/json")
			if c.method == "GET" {
				want, media = "", ""
			}
			if body != want || h.Get("Content-Type") != media || h.Get("Content-Length") != c.length ||
				h.Get("Transfer-Encoding") != "" {
				t.Errorf("body %q, headers %v", body, h)
			}
		})
	}
}

// A body of no bytes must not make the Transport take the request for one it may send again.
func TestRequestWithoutContentIsOnTheWireOnce(t *testing.T) {
	r := receive(t, func(p *peer) {
		if p.request() == nil && p.say(ok("")) {
			_ = p.request()
		}
	})
	k := newKind(t, Config{})
	for i := range 6 {
		c := kindtest.NewCall(jobs.Spec{Webhook: &jobs.Webhook{URL: r.url, Method: "PUT"}})
		c.Body = []byte{}
		rep := k.Run(context.Background(), c)
		if (rep.Failure != nil) != (i%2 == 1) {
			t.Errorf("attempt %d: %v", i+1, rep.Failure)
		}
	}
	if r.requests.Load() != 6 {
		t.Errorf("%d requests for 6 attempts", r.requests.Load())
	}
}

func TestRenderedWebhooksAreNotRemembered(t *testing.T) {
	r := receive(t, answers(ok("")))
	k := newKind(t, Config{})
	fixed := kindtest.NewCall(hook(r.url))
	for i := range 10 {
		c := kindtest.NewCall(hook(fmt.Sprintf("%s?n=%d", r.url, i)))
		c.Fresh = true
		if rep := k.Run(context.Background(), c); rep.Failure != nil {
			t.Fatal(rep.Failure)
		}
		if rep := k.Run(context.Background(), fixed); rep.Failure != nil {
			t.Fatal(rep.Failure)
		}
	}
	if len(k.plans.known) != 1 {
		t.Errorf("%d plans are kept", len(k.plans.known))
	}
	if last := r.lines[len(r.lines)-2]; last != http.MethodPost+" /hook?n=9" {
		t.Errorf("sent %q", last)
	}
}
