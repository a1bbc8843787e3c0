package webhook

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// The deadline is over everything, not over each read.
func TestDeadlineCoversWholeExchange(t *testing.T) {
	drip := func(p *peer, first, drop string) {
		for ok := p.say(first); ok; ok = p.say(drop) {
			time.Sleep(5 * time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		play func(*peer)
		want string
	}{
		"no answer":   {oneRequest((*peer).gone), "before"},
		"never reads": {(*peer).unread, "before"},
		"drip headers": {
			oneRequest(func(p *peer) { drip(p, "HTTP/1.1 200 OK\r\n", "X: y\r\n") }),
			"headers",
		},
		"drip status": {oneRequest(func(p *peer) { drip(p, "HTTP/1.1 200 O", "K") }), "headers"},
		"drip body": {
			oneRequest(func(p *peer) { drip(p, "HTTP/1.1 200 OK\r\n\r\n", "x") }),
			"in the middle of",
		},
		"drip error body": {
			oneRequest(func(p *peer) { drip(p, "HTTP/1.1 500 Oops\r\n\r\n", "x") }),
			"status 500",
		},
		"drip 1xx": {
			oneRequest(func(p *peer) { drip(p, "", "HTTP/1.1 103 Early Hints\r\n\r\n") }),
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, c.play)
			rep := callFor(t, newKind(t, Config{}), hook(r.url), 150*time.Millisecond)
			close(r.ended)
			if !errors.Is(rep.Stopped, jobs.ErrTimeout) || rep.Failure == nil ||
				rep.Failure.Kind != jobs.FailTimeout || !strings.Contains(rep.Failure.Message, c.want) {
				t.Fatalf("stopped %v, failure %v", rep.Stopped, rep.Failure)
			}
			until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
		})
	}
}

// unread does not read before the attempt has ended.
func (p *peer) unread() {
	<-p.r.ended
	p.gone()
}

func TestLateAnswerChangesNothing(t *testing.T) {
	release := make(chan struct{})
	r := receive(t, oneRequest(func(p *peer) {
		<-release
		p.say(ok("{}"))
	}))
	k := newKind(t, Config{})
	rep := callFor(t, k, hook(r.url), 50*time.Millisecond)
	close(release)
	if rep.Stopped != jobs.ErrTimeout || rep.HTTPStatus != 0 || rep.Result != nil {
		t.Errorf("report %+v", rep)
	}
	until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
}

// An endless body costs its receiver a connection and us nothing: what could be written is what
// was read plus what the sockets hold.
func TestEndlessBodyIsCutAndStatusJudges(t *testing.T) {
	chunk := strings.Repeat("x", 16<<10)
	chunked := fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)
	for name, c := range map[string]struct {
		head, chunk string
		good        bool
	}{
		"until closed":  {"HTTP/1.1 200 OK\r\n\r\n", chunk, true},
		"chunked":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunked, true},
		"10 GB":         {"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", chunk, true},
		"gzip":          {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b", chunk, true},
		"of an error":   {"HTTP/1.1 500 Oops\r\n\r\n", chunk, false},
		"of a redirect": {"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", chunk, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, oneRequest(func(p *peer) {
				_ = p.SetWriteBuffer(64 << 10)
				for ok := p.say(c.head); ok; ok = p.say(c.chunk) {
				}
			}))
			k := newKind(t, Config{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rep := call(t, k, hook(r.url))
			runtime.ReadMemStats(&after)
			if c.good != (rep.Failure == nil) || c.good != rep.ResultTruncated {
				t.Fatalf("failure %v, truncated %t", rep.Failure, rep.ResultTruncated)
			}
			until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
			if n := r.written.Load(); n > 16<<20 {
				t.Errorf("the receiver could write %d bytes", n)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
				t.Errorf("%d bytes were allocated", got)
			}
		})
	}
}

func TestBodyOfOneMebibyteIsReadToItsEnd(t *testing.T) {
	r := receive(t, answers(ok(strings.Repeat("x", maxBodyBytes))))
	k := newKind(t, Config{})
	for range 2 {
		if rep := call(t, k, hook(r.url)); rep.Failure != nil || !rep.ResultTruncated {
			t.Fatalf("failure %v, truncated %t", rep.Failure, rep.ResultTruncated)
		}
	}
	if r.conns.Load() != 1 {
		t.Errorf("%d connections: want the first kept", r.conns.Load())
	}
}

func TestCompressedBodyIsNotInflated(t *testing.T) {
	r := receive(t, answers(ok("\x1f\x8b\x08\x00", "Content-Encoding: gzip")))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantResult(t, rep, `"\u001f`+"\uFFFD"+`\b\u0000"`)
}

func TestBrokenAnswerIsAConnectionFailure(t *testing.T) {
	long := "X: " + strings.Repeat("y", 100<<10)
	many := strings.Repeat("X: y\r\n", 20_000)
	const (
		good     = "HTTP/1.1 200 OK\r\n"
		five     = "Content-Length: 5\r\n\r\n"
		chunked  = "Transfer-Encoding: chunked\r\n\r\n"
		notHTTP  = "did not answer in HTTP/1.1"
		tooLarge = "larger than 64 KiB"
	)
	for name, c := range map[string]struct {
		play   func(*peer)
		status int
		want   string
	}{
		"closed at once":    {func(*peer) {}, 0, "whether the request arrived is unknown"},
		"closed unanswered": {oneRequest(func(*peer) {}), 0, "closed the connection before it answered"},
		"reset unanswered":  {oneRequest((*peer).reset), 0, "reset the connection before it answered"},
		"closed in status":  {oneRequest(says(good[:10])), 0, "headers"},
		"closed in headers": {oneRequest(says(good + "X: y\r\n")), 0, "headers"},
		"reset in headers":  {oneRequest(saysAndResets(good + "X: y\r\n")), 0, "headers"},
		"closed in body":    {oneRequest(says(good + five + "{}")), 200, "after 2 bytes"},
		"reset in body":     {oneRequest(saysAndResets(good + five + "{}")), 200, "reset"},
		"closed in chunk":   {oneRequest(says(good + chunked + "5\r\n{}")), 200, "status 200"},
		"not HTTP":          {oneRequest(says("SSH-2.0-OpenSSH_9.2\r\n\r\n")), 0, notHTTP},
		"binary":            {oneRequest(says("\x15\x03\x01\x00\x02\x02\x46\r\n\r\n")), 0, notHTTP},
		"HTTP/2":            {oneRequest(says("HTTP/2.0 200 OK\r\n\r\n")), 0, notHTTP},
		"status 000":        {oneRequest(repeats("HTTP/1.1 000 OK\r\n\r\n")), 0, notHTTP},
		"huge header":       {oneRequest(says(good + long)), 0, tooLarge},
		"20,000 headers":    {oneRequest(says(good + many + "\r\n")), 0, tooLarge},
		"endless 1xx":       {oneRequest(repeats("HTTP/1.1 103 Early Hints\r\n\r\n")), 0, tooLarge},
		"huge 1xx": {
			oneRequest(repeats("HTTP/1.1 100 Continue\r\n" + long + "\r\n\r\n")),
			0, tooLarge,
		},
		"endless line": {oneRequest(repeats("HTTP/1.1 200 ")), 0, tooLarge},
		"two lengths": {
			oneRequest(says(good + "Content-Length: 2\r\n" + five + "{}")),
			0, notHTTP,
		},
		"broken chunk":    {oneRequest(says(good + chunked + "zz\r\n")), 200, "status 200"},
		"header with NUL": {oneRequest(says(good + "X\x00: y\r\n\r\n")), 0, notHTTP},
		"switching protocol": {
			oneRequest(says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")),
			101, "101 Switching Protocols",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, c.play)
			k := newKind(t, Config{})
			rep := call(t, k, hook(r.url))
			kind := jobs.FailConnection
			if c.status == 101 {
				kind = jobs.FailHTTP
			}
			wantFailure(t, rep, kind, c.want)
			if rep.HTTPStatus != c.status {
				t.Errorf("status %d", rep.HTTPStatus)
			}
			until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
			if n := r.conns.Load(); n != 1 {
				t.Errorf("%d connections for one attempt", n)
			}
		})
	}
}

func says(s string) func(*peer) { return func(p *peer) { p.say(s) } }

// saysAndResets: what came before a reset can still be read.
func saysAndResets(s string) func(*peer) {
	return func(p *peer) {
		p.say(s)
		p.reset()
	}
}

func repeats(s string) func(*peer) {
	return func(p *peer) {
		for p.say(s) {
		}
	}
}

func TestBrokenBodyOfAnErrorIsStillThatError(t *testing.T) {
	r := receive(t, oneRequest(says(
		"HTTP/1.1 503 Busy\r\nContent-Length: 50\r\nRetry-After: 9\r\n\r\nno room")))
	rep := call(t, newKind(t, Config{}), hook(r.url))
	wantFailure(t, rep, jobs.FailHTTP, "503 Service Unavailable")
	if rep.RetryAfterFloor != 9*time.Second || rep.Failure.HTTP.Body != "no room" ||
		len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "broke off after 7 bytes") {
		t.Errorf("floor %s, body %q, notes %q", rep.RetryAfterFloor, rep.Failure.HTTP.Body, rep.Notes)
	}
}

func TestInterimAnswersArePassedOver(t *testing.T) {
	r := receive(t, answers("HTTP/1.1 100 Continue\r\n\r\n"+
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+ok("{}")))
	wantResult(t, call(t, newKind(t, Config{}), hook(r.url)), "{}")
}

// A receiver may answer and close without reading a large payload.
func TestEarlyAnswerToALargePayloadCounts(t *testing.T) {
	for name, play := range map[string]func(*peer){
		"and stays": func(p *peer) {
			_, _ = p.br.Peek(1)
			p.say(status(413, "too large"))
			p.gone()
		},
		"and reads nothing": func(p *peer) {
			_, _ = p.br.Peek(1)
			p.say(status(413, "too large"))
			p.unread()
		},
		"and resets": func(p *peer) {
			_, _ = p.br.Peek(1)
			p.say(status(413, "too large"))
			p.reset()
		},
		"and shuts its side": func(p *peer) {
			_, _ = p.br.Peek(1)
			p.say(status(413, "too large", "Connection: close"))
			_ = p.CloseWrite()
			p.gone()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, play)
			c := kindtest.NewCall(hook(r.url))
			c.Payload = jobs.Raw(`"` + strings.Repeat("x", 4<<20) + `"`)
			k := newKind(t, Config{})
			rep := k.Run(context.Background(), c)
			close(r.ended)
			kindtest.CheckReport(t, rep)
			wantFailure(t, rep, jobs.FailHTTP, "413")
			k.Close() // of the one that did read all the connection is kept
			until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
		})
	}
}

func TestNobodyListensIsSaidPlainly(t *testing.T) {
	r := unstartable(t)["nobody listens"]
	rep := call(t, newKind(t, Config{}), r.Spec)
	wantFailure(t, rep, jobs.FailConnection, "refused: nothing listens there")
}

func TestStopBeforeConnectingOpensNothing(t *testing.T) {
	r := receive(t, answers(ok("")))
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(jobs.ErrShutdown)
	rep := newKind(t, Config{}).Run(ctx, kindtest.NewCall(hook(r.url)))
	n := r.conns.Load()
	if rep.Stopped != jobs.ErrShutdown || rep.Failure.Kind != jobs.FailShutdown || n != 0 {
		t.Errorf("stopped %v, failure %v, %d connections", rep.Stopped, rep.Failure, n)
	}
}
