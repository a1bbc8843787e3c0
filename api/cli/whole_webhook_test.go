package cli_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWebhookGetsThePayloadByteForByte(t *testing.T) { // case 74
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"z": 9007199254740993, "a":1.10,  "a2":1e400}`))
	})
	p.put("hook", doc{"webhook": doc{"url": s.URL}})
	payload := oddPayload
	run := p.end(p.enqueue("hook", `{"payload": `+payload+`}`))
	d := s.deliveries()[0]
	if d.body != payload {
		t.Errorf("the body was %s", d.body)
	}
	if string(run.Result) != `{"z": 9007199254740993, "a":1.10,  "a2":1e400}` {
		t.Errorf("the result is %s", run.Result)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": run.OperationID, "Nightshift-Job": "hook",
		"Nightshift-Run": run.ID, "Nightshift-Attempt": "1", "Nightshift-Max-Attempts": "8",
		"Content-Length": strconv.Itoa(len(payload)),
	} {
		if got := d.header.Get(name); got != want && name != "Content-Length" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if at, err := time.Parse(time.RFC3339, d.header.Get("Nightshift-Deadline")); err != nil ||
		time.Until(at) > 5*time.Minute {
		t.Errorf("deadline %s", d.header.Get("Nightshift-Deadline"))
	}
}

func TestResultPastItsBoundIsSaidToBeCut(t *testing.T) { // case 76
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		fmt.Fprintf(w, `"%s"`, strings.Repeat("x", n-2))
	})
	const bound = 64 << 10
	for size, whole := range map[int]bool{bound - 1: true, bound: true, bound + 1: false, 50 << 20: false} {
		job := "r-" + strconv.Itoa(size)
		p.put(job, doc{"webhook": doc{"url": s.URL + "/" + strconv.Itoa(size)}})
		run := p.end(p.enqueue(job, nil))
		if run.State != "succeeded" || run.ResultTruncated == whole {
			t.Errorf("%d bytes: %s, truncated %v", size, run.State, run.ResultTruncated)
		}
		if whole && len(run.Result) != size || !whole && string(run.Result) != "null" {
			t.Errorf("%d bytes: the result has %d", size, len(run.Result))
		}
	}
}

func TestRedirectIsNoSuccess(t *testing.T) { // case 90, W6
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			return
		}
		http.Redirect(w, r, "/other", http.StatusFound)
	})
	p.put("hook", doc{"webhook": doc{"url": s.URL + "/first"}})
	run := p.end(p.enqueue("hook", nil))
	if run.State != "failed" || run.Attempts[0].HTTPStatus != http.StatusFound ||
		len(s.deliveries()) != 1 {
		t.Errorf(
			"%s with %d, %d requests",
			run.State,
			run.Attempts[0].HTTPStatus,
			len(s.deliveries()),
		)
	}
}

func TestDrippingAndEndlessAnswersAreBounded(t *testing.T) { // case 92, W2, W3
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 64<<10)
		if r.URL.Path == "/drip" {
			piece = piece[:1]
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(piece); err != nil {
				return
			}
			if len(piece) == 1 {
				w.(http.Flusher).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		}
	})
	p.put(
		"drip",
		doc{
			"webhook": doc{"url": s.URL + "/drip"},
			"timeout": "700ms",
			"retry":   doc{"max_attempts": 1},
		},
	)
	p.put("flood", doc{"webhook": doc{"url": s.URL + "/flood"}})
	before := p.rss()
	drip, flood := p.end(p.enqueue("drip", nil)), p.end(p.enqueue("flood", nil))
	if drip.State != "failed" || drip.Error.Kind != "timeout" {
		t.Errorf("the drip: %s %+v", drip.State, drip.Error)
	}
	if flood.State != "succeeded" || !flood.ResultTruncated {
		t.Errorf(
			"the flood: %s, truncated %v, %+v",
			flood.State,
			flood.ResultTruncated,
			flood.Error,
		)
	}
	if grown := p.rss() - before; grown > 64<<20 {
		t.Errorf("the server grew by %d MiB", grown>>20)
	}
}

func TestAttemptIsOneRequestAtMostOverConnectionsThatBreak(t *testing.T) { // W5, W14
	t.Parallel()
	p := start(t, t.TempDir(), "--workers", "8")
	s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		c, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close() // at once, though the answer says otherwise
		switch n % 5 {
		case 0: // not a word
		case 1:
			_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Le")
		case 2:
			_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
		default:
			_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
		_ = buf.Flush()
	})
	p.put(
		"job",
		doc{"webhook": doc{"url": s.URL}, "retry": doc{"max_attempts": 100, "backoff": quick}},
	)
	p.unguarded(s.URL)
	var ids []string
	for range 120 {
		ids = append(ids, p.enqueue("job", nil))
	}
	requests := map[string]int{}
	for _, id := range ids {
		run := p.end(id)
		if run.State != "succeeded" {
			t.Errorf("%s: %s", run.State, run.outcomes())
		}
		for _, a := range run.Attempts[:len(run.Attempts)-1] {
			if a.Error.Kind != "connection" {
				t.Errorf("attempt %d: %+v", a.Number, a.Error)
			}
		}
		requests[id] = len(run.Attempts)
	}
	for _, d := range s.deliveries() {
		requests[d.header.Get("Nightshift-Run")]--
	}
	for id, n := range requests {
		if n < 0 { // more than 0 where the connection ended just as the request was sent
			t.Errorf("run %s: %d requests more than attempts", id, -n)
		}
	}
}

// oddPayload changes when it is decoded and encoded again, whoever does it.
const oddPayload = `{ "id": 9007199254740993,"b" : 899999999999999990, "c":1.10, "d":1e400, ` +
	`"e":"\u00e9\/é" }`

func TestSignatureVerifiesOverTheBytesThatCame(t *testing.T) { // case 96
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(500)
		}
	})
	const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	p.put("hook", doc{"webhook": doc{"url": s.URL, "signing_secret": "whsec_" + secret}, "retry": doc{"backoff": quick}})
	run := p.end(p.enqueue("hook", `{"payload": `+oddPayload+`}`))
	key, err := base64.StdEncoding.DecodeString(secret)
	if err != nil || len(s.deliveries()) != 2 {
		t.Fatalf("%d requests, %v", len(s.deliveries()), err)
	}
	for i, d := range s.deliveries() {
		id, at := d.header.Get("Webhook-Id"), d.header.Get("Webhook-Timestamp")
		want := "v1," + base64.StdEncoding.EncodeToString(mac(key, id, ".", at, ".", d.body))
		if got := d.header.Get("Webhook-Signature"); got != want || d.body != oddPayload || id != run.OperationID {
			t.Errorf("request %d: id %s, signed %s, want %s over %s", i+1, id, got, want, d.body)
		}
		seconds, err := strconv.ParseInt(at, 10, 64)
		if age := d.at.Sub(time.Unix(seconds, 0)); err != nil || age < -time.Second || age > 10*time.Second {
			t.Errorf("request %d: it says that it was sent at %s", i+1, at)
		}
	}
}
