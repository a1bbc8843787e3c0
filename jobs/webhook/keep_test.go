package webhook

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// allMethods are those that net/http's Transport would send again on a kept connection that
// breaks: by their name, or for the Idempotency-Key they carry.
var allMethods = []string{"GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "DELETE", "PATCH"}

// The receiver answers the first request of a connection and breaks the connection when the
// second has arrived: each attempt must be on the wire once.
func TestOneRequestOnTheWirePerAttempt(t *testing.T) {
	for name, end := range map[string]func(*peer){"fin": func(*peer) {}, "rst": (*peer).reset} {
		for _, method := range allMethods {
			t.Run(name+"/"+method, func(t *testing.T) {
				r := receive(t, func(p *peer) {
					if p.request() == nil && p.say(ok("")) && p.request() == nil {
						end(p)
					}
				})
				k := newKind(t, Config{})
				spec := jobs.Spec{Webhook: &jobs.Webhook{URL: r.url, Method: method}}
				failures := 0
				const attempts = 10
				for i := range attempts {
					c := kindtest.NewCall(spec)
					c.Continues = i / 2 // slices of one operation have keys of their own
					rep := k.Run(context.Background(), c)
					kindtest.CheckReport(t, rep)
					if i%2 == 0 {
						wantResult(t, rep, "")
						continue
					}
					failures++
					wantFailure(t, rep, jobs.FailConnection, "kept from an earlier request",
						"whether the request arrived is unknown")
				}
				if n := r.requests.Load(); n != attempts {
					t.Errorf("%d requests for %d attempts", n, attempts)
				}
				if r.conns.Load() != attempts/2 || failures != attempts/2 {
					t.Errorf("%d connections, %d failures", r.conns.Load(), failures)
				}
			})
		}
	}
}

// dialled lets a test see the connections that a kind opens.
type dialled struct {
	mu   sync.Mutex
	last *conn
}

func watchDials(k *Kind) *dialled {
	d := &dialled{}
	dial := k.transport.DialContext
	k.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		opened, err := dial(ctx, network, addr)
		if c, ok := opened.(*conn); ok {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.last = c
		}
		return opened, err
	}
	return d
}

// conn is the one that was opened last.
func (d *dialled) conn() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *dialled) isClosed() bool {
	c := d.conn()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over != nil
}

// waitsAfter reports whether that many bytes have come and more is waited for.
func (d *dialled) waitsAfter(n int64) bool {
	c := d.conn()
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading && c.read >= n
}

// A connection that the receiver closed while it was idle is noticed before a request goes out.
func TestConnectionClosedWhileIdleCostsNoAttempt(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"fin": func(*peer) {}, "rst": (*peer).reset,
		"says something": func(p *peer) { p.say("HTTP/1.1 408 Request Timeout\r\n\r\n"); p.gone() },
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, func(p *peer) {
				if p.request() == nil && p.say(ok("{}")) {
					end(p)
				}
			})
			k := newKind(t, Config{})
			opened := watchDials(k)
			for i := range 5 {
				wantResult(t, call(t, k, hook(r.url)), "{}")
				until(t, "the end to arrive", opened.isClosed)
				if n := r.requests.Load(); n != int64(i+1) {
					t.Fatalf("%d requests for %d attempts", n, i+1)
				}
			}
		})
	}
}

// The Transport may hand out a connection at the moment at which it ends. As long as nothing of
// the request was written the attempt goes on with another.
func TestConnectionThatEndsAsItIsTakenCostsNoAttempt(t *testing.T) {
	for _, method := range allMethods {
		t.Run(method, func(t *testing.T) {
			r := receive(t, answers(ok("")))
			k := newKind(t, Config{})
			opened := watchDials(k)
			spec := jobs.Spec{Webhook: &jobs.Webhook{URL: r.url, Method: method}}
			for range 5 {
				wantResult(t, call(t, k, spec), "")
				c := opened.conn()
				c.mu.Lock()
				c.over = errSpent // the Transport does not know yet
				c.mu.Unlock()
			}
			if r.requests.Load() != 5 || r.conns.Load() != 5 {
				t.Errorf("%d requests, %d connections", r.requests.Load(), r.conns.Load())
			}
		})
	}
}

func TestConnectionThatSpeaksFirstIsGivenNoRequest(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := newConn(ours, ours)
	defer c.Close()
	go func() { _, _ = theirs.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n")) }()
	if n, err := c.Read(make([]byte, 100)); n != 0 || err != errUnasked {
		t.Errorf("read: %d bytes, %v", n, err)
	}
	if n, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); n != 0 || err != errUnasked {
		t.Errorf("write: %d bytes, %v", n, err)
	}
	x := exchange{plan: &plan{name: "h.example:80"}, conn: c, phase: phaseSend}
	rep := failed(failureOf(&x, x.fault(io.ErrUnexpectedEOF)))
	wantFailure(t, rep, jobs.FailConnection, "h.example:80 did not answer in HTTP/1.1")
}

// What comes after an answer is not the answer to the next request, even if it reads like one.
func TestBytesBeforeARequestAreNotItsAnswer(t *testing.T) {
	quiet(t)
	forged := ok(`"forged"`)
	for name, play := range map[string]func(*peer){
		"with the answer before": answers(ok("{}") + forged),
		"and no body":            answers("HTTP/1.1 204 No Content\r\n\r\n" + forged),
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, play)
			k := newKind(t, Config{})
			for range 200 {
				rep := call(t, k, hook(r.url))
				if strings.Contains(string(rep.Result), "forged") {
					t.Fatalf("result %s", rep.Result)
				}
			}
		})
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	r := receive(t, answers(ok("{}")))
	k := newKind(t, Config{})
	for range 20 {
		wantResult(t, call(t, k, hook(r.url)), "{}")
	}
	if r.conns.Load() != 1 || r.requests.Load() != 20 {
		t.Errorf("%d connections, %d requests", r.conns.Load(), r.requests.Load())
	}
	k.Close()
	until(t, "Close to close the idle connection", func() bool { return r.open.Load() == 0 })
}

func TestConnectionIsNotKeptWhereTheAnswerSaysSo(t *testing.T) {
	quiet(t)
	for name, answer := range map[string]string{
		"close":           ok("{}", "Connection: close"),
		"timeout 1":       ok("{}", "Keep-Alive: timeout=1, max=5"),
		"timeout 0":       ok("{}", "Keep-Alive: max=5, timeout=0"),
		"HTTP/1.0":        strings.Replace(ok("{}"), "HTTP/1.1", "HTTP/1.0", 1),
		"data beyond":     ok("{}") + "HTTP/1.1 200 OK\r\n",
		"an earlier body": ok("{}") + "x",
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(answer))
			k := newKind(t, Config{})
			for range 3 {
				wantResult(t, call(t, k, hook(r.url)), "{}")
			}
			if r.conns.Load() != 3 {
				t.Errorf("%d connections for 3 attempts", r.conns.Load())
			}
		})
	}
}

func TestIdleConnectionsAreBoundedAndSwept(t *testing.T) {
	var arrived sync.WaitGroup
	const n = 8
	arrived.Add(n)
	r := receive(t, oneRequest(func(p *peer) {
		arrived.Done()
		arrived.Wait() // so that all attempts are under way at once
		p.say(ok("{}"))
		p.gone()
	}))
	k := newKind(t, Config{MaxIdlePerHost: 3})
	k.transport.IdleConnTimeout = 50 * time.Millisecond
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { wantGood(t, k.Run(context.Background(), kindtest.NewCall(hook(r.url)))) })
	}
	wg.Wait()
	until(t, "the surplus to close", func() bool { return r.open.Load() <= 3 })
	until(t, "the sweep", func() bool { return r.open.Load() == 0 })
}

func wantGood(t *testing.T, rep jobs.Report) {
	if rep.Failure != nil {
		t.Errorf("failure: %v", rep.Failure)
	}
}

func TestKeepAliveTimeoutIsRead(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"timeout=5": 5 * time.Second, "max=100, Timeout=20": 20 * time.Second,
		`timeout="7"`: 7 * time.Second, "timeout=x": -1, "max=3": -1, "timeout=-1": -1,
		"timeout=99999999999999999999": -1,
	} {
		got, ok := keepAliveTimeout(http.Header{"Keep-Alive": {value}})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %s %t: want %s", value, got, ok, want)
		}
	}
}
