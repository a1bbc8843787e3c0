package webhook

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// receiver is a TCP server that plays a scripted part on each connection.
type receiver struct {
	addr     string
	url      string
	conns    atomic.Int64  // accepted
	open     atomic.Int64  // not closed by either side
	requests atomic.Int64  // read in full
	written  atomic.Int64  // bytes
	ended    chan struct{} // closed by the test when the attempt has ended

	mu     sync.Mutex
	bodies []string
	heads  []http.Header
	hosts  []string
	lines  []string
}

// peer is one connection of a receiver.
type peer struct {
	*net.TCPConn
	br *bufio.Reader
	r  *receiver
}

// receive starts a receiver. The connection is closed when play returns.
func receive(t testing.TB, play func(p *peer)) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return receiveOn(t, l, play)
}

// receiveOn is receive where it is told where to listen.
func receiveOn(t testing.TB, l net.Listener, play func(p *peer)) *receiver {
	r := &receiver{addr: l.Addr().String(), ended: make(chan struct{})}
	r.url = "http://" + r.addr + "/hook"
	var wg sync.WaitGroup
	var mu sync.Mutex
	live := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.conns.Add(1)
			r.open.Add(1)
			mu.Lock()
			live[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer func() {
					c.Close()
					r.open.Add(-1)
					mu.Lock()
					delete(live, c)
					mu.Unlock()
				}()
				play(&peer{TCPConn: c.(*net.TCPConn), br: bufio.NewReader(c), r: r})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range live {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return r
}

// request reads one request in full and keeps it.
func (p *peer) request() error {
	req, err := http.ReadRequest(p.br)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if len(req.TransferEncoding) > 0 {
		req.Header["Transfer-Encoding"] = req.TransferEncoding // ReadRequest moved it away
	}
	p.r.mu.Lock()
	p.r.bodies = append(p.r.bodies, string(body))
	p.r.heads = append(p.r.heads, req.Header)
	p.r.hosts = append(p.r.hosts, req.Host)
	p.r.lines = append(p.r.lines, req.Method+" "+req.RequestURI)
	p.r.mu.Unlock()
	p.r.requests.Add(1)
	return nil
}

// say writes and counts; it reports whether the other side still took it.
func (p *peer) say(s string) bool {
	n, err := io.WriteString(p.TCPConn, s)
	p.r.written.Add(int64(n))
	return err == nil
}

// gone waits until the other side has closed.
func (p *peer) gone() { _, _ = io.Copy(io.Discard, p.br) }

// reset closes with RST.
func (p *peer) reset() {
	_ = p.SetLinger(0)
	p.Close()
}

// answers plays this answer to every request, on kept connections.
func answers(answer string) func(*peer) {
	return func(p *peer) {
		for p.request() == nil && p.say(answer) {
		}
	}
}

// ok is a 200 with this body.
func ok(body string, headers ...string) string { return status(200, body, headers...) }

func status(code int, body string, headers ...string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n%s\r\n%s",
		code, http.StatusText(code), len(body), lines(headers), body)
}

func lines(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

// newKind is a kind that is closed at the end of the test.
func newKind(t testing.TB, cfg Config) *Kind {
	k := New(cfg)
	t.Cleanup(k.Close)
	return k
}

func hook(url string) jobs.Spec { return jobs.Spec{Webhook: &jobs.Webhook{URL: url}} }

// call runs one attempt without a deadline and checks the report's form.
func call(t testing.TB, k *Kind, spec jobs.Spec) jobs.Report {
	t.Helper()
	rep := k.Run(context.Background(), kindtest.NewCall(spec))
	kindtest.CheckReport(t, rep)
	return rep
}

// callFor runs one attempt with a time-out.
func callFor(t testing.TB, k *Kind, spec jobs.Spec, timeout time.Duration) jobs.Report {
	t.Helper()
	c := kindtest.NewCall(spec)
	c.Deadline = time.Now().Add(timeout)
	ctx, cancel := context.WithDeadlineCause(context.Background(), c.Deadline, jobs.ErrTimeout)
	defer cancel()
	rep := k.Run(ctx, c)
	kindtest.CheckReport(t, rep)
	return rep
}

func wantFailure(t testing.TB, rep jobs.Report, kind jobs.FailureKind, parts ...string) {
	t.Helper()
	if rep.Stopped != nil || rep.Failure == nil || rep.Failure.Kind != kind {
		t.Fatalf("failure %v, stopped %v: want kind %s", rep.Failure, rep.Stopped, kind)
	}
	for _, part := range parts {
		if !strings.Contains(rep.Failure.Message, part) {
			t.Errorf("message %q: want %q in it", rep.Failure.Message, part)
		}
	}
}

func wantResult(t testing.TB, rep jobs.Report, want string) {
	t.Helper()
	if rep.Failure != nil || rep.Stopped != nil || string(rep.Result) != want {
		t.Fatalf("failure %v, stopped %v, result %.200q: want %.200q",
			rep.Failure, rep.Stopped, rep.Result, want)
	}
}

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(kindtest.Patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", kindtest.Patience, what)
		}
	}
}

// oneRequest is a connection's part: read a request, play the rest, count.
func oneRequest(rest func(p *peer)) func(*peer) {
	return func(p *peer) {
		if p.request() == nil {
			rest(p)
		}
	}
}
