package webhook

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"nightshift/jobs/kindtest"
)

// FuzzAnswer: whatever bytes a receiver answers with, the report is bounded and valid, also of one
// that is to take work on.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 503 Busy\r\nRetry-After: 1\r\nX-\xff: \xc3(\r\n\r\nno",
		"HTTP/1.1 422 No\r\nContent-Type: application/problem+json\r\n\r\n" +
			`{"type":"T","detail":"d\u0085","retryable":true,"retry_after":"Sun, 29 Nov 2026 12:00:30 GMT"}`,
		"HTTP/1.1 302 Found\r\nLocation: http://u:p@h/p?q\r\n\r\n", "HTTP/1.1 101 \r\n\r\n",
		"HTTP/1.1 500 No\r\nContent-Type: application/problem+json\r\n\r\n" +
			`{"checkpoint":{ "n" : 1.0 },"progress":{"done":1e3,"total":-1,"note":"a\u2028\n"}}`,
		"HTTP/1.1 200 OK\r\nNightshift-Continue: TRUE\r\n\r\n" +
			`{"checkpoint":"\ud800\u0000","progress":{"done":3,"total":10,"note":"\u001b[31m"},"x":[]}`,
		"HTTP/1.1 200 OK\r\nNightshift-Continue: \xff\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 202 Accepted\r\nNightshift-Continue: true\r\nContent-Length: 9\r\n\r\n{",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	quiet(f)
	f.Fuzz(func(t *testing.T, answer []byte, callsBack bool) {
		k := New(Config{})
		k.now = func() time.Time { return time.Unix(1764460800, 0) }
		ours, theirs := net.Pipe()
		k.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return newConn(ours, ours), nil
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer theirs.Close()
			if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
				_, _ = theirs.Write(answer)
			}
		}()
		spec := hook("http://h.example/")
		if callsBack {
			spec = handing("http://h.example/")
		}
		rep := k.Run(context.Background(), kindtest.NewCall(spec))
		kindtest.CheckReport(t, rep)
		if rep.Accepted != (callsBack && rep.HTTPStatus == http.StatusAccepted) {
			t.Errorf("%+v", rep)
		}
		k.Close()
		ours.Close()
		<-done
	})
}

// quiet drops what net/http says of answers that nobody asked for.
func quiet(t testing.TB) {
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}
