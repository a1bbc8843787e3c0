package webhook

import (
	"io"
	"net"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// FuzzAnswer: whatever bytes a receiver answers with, the report is bounded and valid.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 503 Busy\r\nRetry-After: 1\r\nX-\xff: \xc3(\r\n\r\nno",
		"HTTP/1.1 422 No\r\nContent-Type: application/problem+json\r\n\r\n" +
			`{"type":"T","detail":"d\u0085","retryable":true,"retry_after":"Sun, 29 Nov 2026 12:00:30 GMT"}`,
		"HTTP/1.1 302 Found\r\nLocation: http://u:p@h/p?q\r\n\r\n", "HTTP/1.1 101 \r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	p, err := newPlan(&jobs.Webhook{URL: "http://127.0.0.1:1/"}, "test")
	if err != nil {
		f.Fatal(err)
	}
	k := New(Config{})
	k.now = func() time.Time { return time.Unix(1764460800, 0) }
	f.Fuzz(func(t *testing.T, answer []byte) {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = theirs.Write(answer)
			theirs.Close()
		}()
		call := kindtest.NewCall(hook(""))
		x := exchange{plan: p}
		s := &stop{over: make(chan struct{})}
		if err := x.do(newConn(ours, ours, p.key), call); err != nil {
			kindtest.CheckReport(t, k.broken(s, &x, err))
		} else {
			kindtest.CheckReport(t, k.judge(&x, call))
		}
		ours.Close()
		<-done
	})
}
