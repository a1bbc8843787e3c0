package webhook

import (
	"context"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// handing is a webhook that hands its work over.
func handing(url string) jobs.Spec {
	return jobs.Spec{Webhook: &jobs.Webhook{URL: url, Completion: jobs.CompletionCallback}}
}

func wantAccepted(t testing.TB, rep jobs.Report) {
	t.Helper()
	if rep.Failure != nil || rep.Stopped != nil || !rep.Accepted || rep.HTTPStatus != 202 || rep.Result != nil {
		t.Fatalf("failure %v, stopped %v, accepted %t, status %d, result %.100q: want accepted",
			rep.Failure, rep.Stopped, rep.Accepted, rep.HTTPStatus, rep.Result)
	}
}

func TestAnswer202OfACallbackIsAcceptedWhateverItHolds(t *testing.T) {
	for name, answer := range map[string]string{
		"empty": status(202, ""), "json": status(202, `{"result":1}`), "text": status(202, "on it"),
		"continue": status(202, "no JSON", "Nightshift-Continue: true"),
		"problem":  status(202, `{"checkpoint":1}`, "Content-Type: application/problem+json"),
		"large":    status(202, strings.Repeat("x", 3*jobs.MaxResult)),
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, answers(answer))
			k := newKind(t, Config{})
			for _, success := range []bool{true, false} {
				c := kindtest.NewCall(handing(r.url))
				c.Judge = always(success)
				rep := k.Run(context.Background(), c)
				kindtest.CheckReport(t, rep)
				wantAccepted(t, rep)
				if rep.Checkpoint != nil || rep.Continue || len(c.Log.(*kindtest.Log).Bytes()) != 0 {
					t.Errorf("%+v", rep)
				}
			}
			wantAccepted(t, call(t, k, handing(r.url)))
			if r.conns.Load() != 1 {
				t.Errorf("%d connections: one that was read to its end is kept", r.conns.Load())
			}
		})
	}
}

func TestOtherAnswersOfACallbackAreJudgedAsUsual(t *testing.T) {
	k := newKind(t, Config{})
	done := receive(t, answers(ok(`{"rows":1}`)))
	wantResult(t, call(t, k, handing(done.url)), `{"rows":1}`)
	wantSlice(t, call(t, k, handing(receive(t, answers(more(`{"checkpoint":1}`))).url)), "1")
	wantFailure(t, call(t, k, handing(receive(t, answers(status(503, ""))).url)), jobs.FailHTTP, "503")
	moved := receive(t, answers(status(307, "", "Location: /")))
	wantFailure(t, call(t, k, handing(moved.url)), jobs.FailHTTP, "redirects are not followed")
	// Of a webhook that does not call back, 202 is a success as any.
	taken := receive(t, answers(status(202, `{"queued":1}`)))
	wantResult(t, call(t, k, hook(taken.url)), `{"queued":1}`)
}

// The headers have said it: what becomes of the body, or of us, changes nothing.
func TestAcceptedWorkStaysAcceptedWhereItsAnswerBreaksOff(t *testing.T) {
	head := "HTTP/1.1 202 Accepted\r\nContent-Length: 50\r\n\r\n"
	for name, play := range map[string]func(*peer){"closed": says(head + "{"), "reset": saysAndResets(head)} {
		t.Run(name, func(t *testing.T) {
			wantAccepted(t, call(t, newKind(t, Config{}), handing(receive(t, oneRequest(play)).url)))
		})
	}
	for _, cause := range []error{jobs.ErrShutdown, jobs.ErrCancelled, jobs.ErrTimeout} {
		t.Run(cause.Error(), func(t *testing.T) {
			r := receive(t, oneRequest(func(p *peer) {
				p.say(head)
				p.gone()
			}))
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			k := newKind(t, Config{})
			opened := watchDials(k)
			done := make(chan jobs.Report, 1)
			go func() { done <- k.Run(ctx, kindtest.NewCall(handing(r.url))) }()
			until(t, "the body to be waited for", func() bool { return opened.waitsAfter(int64(len(head))) })
			cancel(cause)
			rep := <-done
			kindtest.CheckReport(t, rep)
			wantAccepted(t, rep)
			until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
		})
	}
}

func TestRequestOfACallbackHas30SecondsOfItsOwn(t *testing.T) {
	if k := newKind(t, Config{}); k.handOver != 30*time.Second {
		t.Errorf("%s", k.handOver)
	}
	for name, c := range map[string]struct {
		play func(*peer)
		want string
	}{
		"no answer": {oneRequest((*peer).gone), "before"},
		"headers":   {oneRequest(func(p *peer) { p.say("HTTP/1.1 202 Acc"); p.gone() }), "headers"},
		"body": {oneRequest(func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")
			p.gone()
		}), "(status 200), after 2 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, c.play)
			k := newKind(t, Config{})
			k.handOver = 100 * time.Millisecond
			rep := call(t, k, handing(r.url))
			wantFailure(t, rep, jobs.FailTimeout, "no answer within 30s: the request was given up", c.want,
				"answer 202 first")
			if rep.Accepted || rep.Failure.Type != "timeout" {
				t.Errorf("%+v", rep)
			}
			until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
		})
	}
	t.Run("an error that is slow to end", func(t *testing.T) {
		r := receive(t, oneRequest(func(p *peer) {
			p.say("HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nno")
			p.gone()
		}))
		k := newKind(t, Config{})
		k.handOver = 100 * time.Millisecond
		rep := call(t, k, handing(r.url))
		wantFailure(t, rep, jobs.FailHTTP, "429")
		if rep.RetryAfterFloor != 7*time.Second {
			t.Errorf("floor %s", rep.RetryAfterFloor)
		}
	})
}

// Less than these 30 seconds left: then the attempt's time is up.
func TestDeadlineOfACallbackCountsWhereItIsNearer(t *testing.T) {
	r := receive(t, oneRequest((*peer).gone))
	rep := callFor(t, newKind(t, Config{}), handing(r.url), 100*time.Millisecond)
	if rep.Stopped != jobs.ErrTimeout || rep.Accepted ||
		!strings.Contains(rep.Failure.Message, "the attempt's time was up before") {
		t.Fatalf("stopped %v, failure %v", rep.Stopped, rep.Failure)
	}
	until(t, "the connection to close", func() bool { return r.open.Load() == 0 })
}

func TestRequestOfACallbackSaysUntilWhenItMayCallBack(t *testing.T) {
	_, _, _, h := sent(t, func(w *jobs.Webhook, c *jobs.Call) {
		w.Completion = jobs.CompletionCallback
		c.CallbackURL, c.CallbackToken = "http://127.0.0.1:8700/v1/callback/1", "nsa_x"
	})
	wantHeaders(t, h, map[string]string{
		"Nightshift-Deadline": "2025-11-30T00:00:00.123Z", "Nightshift-Token": "nsa_x",
		"Nightshift-Callback": "http://127.0.0.1:8700/v1/callback/1",
	})
}
