package webhook

import (
	"context"
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
					rep := call(t, k, spec)
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
			for i := range 5 {
				wantResult(t, call(t, k, hook(r.url)), "{}")
				until(t, "the end to arrive", func() bool {
					c := k.pool.pop("http://" + r.addr)
					if c == nil {
						return true
					}
					defer k.pool.put(c, nil)
					return !c.alive()
				})
				if n := r.requests.Load(); n != int64(i+1) {
					t.Fatalf("%d requests for %d attempts", n, i+1)
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
	k.pool.idleFor = 50 * time.Millisecond
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { wantGood(t, k.Run(context.Background(), kindtest.NewCall(hook(r.url)))) })
	}
	wg.Wait()
	until(t, "the surplus to close", func() bool { return r.open.Load() <= 3 })
	until(t, "the sweep", func() bool { return r.open.Load() == 0 })
	k.pool.mu.Lock()
	defer k.pool.mu.Unlock()
	if k.pool.count != 0 || len(k.pool.idle) != 0 {
		t.Errorf("%d connections for %d hosts are left", k.pool.count, len(k.pool.idle))
	}
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
