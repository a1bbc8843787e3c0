package main

import (
	"fmt"
	"net/http"
	"time"
)

// Jobs of completion callback, with a limit each. Runs of beaten must send heartbeats, and end in time.
const (
	called = "called"
	beaten = "beaten"

	calledLimit  = 4
	endsWithin   = 4 * time.Second // timeout of beaten
	beatsWithin  = 2 * time.Second // heartbeat_timeout of beaten
	calledTries  = 4               // max_attempts
	plainly      = "plain"         // result where the answer itself is it
	beatsAtLeast = beatsWithin / 5
)

func callbackJob(url, job string) map[string]any {
	webhook := map[string]any{"url": url + "/" + job, "completion": "callback"}
	document := map[string]any{
		"webhook": webhook, "concurrency": map[string]any{"limit": calledLimit},
		"retry": map[string]any{
			"max_attempts": calledTries, "backoff": map[string]any{"kind": "fixed", "base": "100ms"},
		},
	}
	if job == beaten {
		webhook["heartbeat_timeout"], document["timeout"] = beatsWithin.String(), endsWithin.String()
	}
	return document
}

// ending is how a receiver says that its work is over.
type ending struct {
	name string
	body map[string]any
}

// ending draws one: bad in one of so many, 0: never.
func (in *request) ending(r *receiver, badOf int) ending {
	if badOf > 0 && in.random.IntN(badOf) == 0 {
		return ending{fail, map[string]any{
			"type": "Boom", "message": "it went wrong", "retryable": in.random.IntN(3) > 0,
		}}
	}
	return ending{complete, map[string]any{"result": fmt.Sprintf("%s %d %d", in.run, in.number, r.results.Add(1))}}
}

// called answers, and says how the work ended before that, after it, or never.
func (r *receiver) called(in *request) {
	s := r.history.begins(in.run, in.number, in.read)
	draw := in.random.IntN(100)
	if in.payload.Plain {
		draw = 99
	}
	if draw%8 == 0 {
		r.stranger(in)
	}
	if draw < 30 {
		r.cancels(in, 10)
	}
	switch {
	case draw < 5:
		r.answer(in, refuses, http.StatusServiceUnavailable, map[string]any{})
	case draw < 12:
		r.answer(in, done, http.StatusOK, plainly)
	case draw < 24: // while the request is under way
		in.end(r, in.ending(r, 4))
		// Whoever dies now has it on disk.
		if !pause(r.ctx, time.Duration(in.random.IntN(1500))*time.Millisecond) {
			return
		}
		r.afterEnd(in)
	case draw < 30: // as it is answered
		e := in.ending(r, 4)
		r.work.Go(func() { in.end(r, e) })
		r.afterEnd(in)
	default:
		r.answer(in, accepts, http.StatusAccepted, map[string]any{})
		r.work.Go(func() { in.goOn(r, s) })
	}
}

// afterEnd answers a request when the end was said already: what the answer says counts no more.
func (r *receiver) afterEnd(in *request) {
	switch in.random.IntN(6) {
	case 0:
		r.answer(in, refuses, http.StatusServiceUnavailable, map[string]any{})
	case 1:
		r.history.means(in.delivery, hangsUp)
		panic(http.ErrAbortHandler)
	default:
		r.answer(in, accepts, http.StatusAccepted, map[string]any{})
	}
}

// goOn is what follows a 202: heartbeats, now and then a checkpoint, an end or none, and at times a
// word too many.
func (in *request) goOn(r *receiver, s *saved) {
	if in.payload.Plain {
		in.end(r, in.ending(r, 0))
		return
	}
	draw, length := in.random.IntN(100), time.Duration(in.random.IntN(3000))*time.Millisecond
	silent := draw < 6
	if draw < 12 && !silent {
		length = endsWithin + time.Second // of beaten: too long
	}
	if silent {
		pause(r.ctx, 2*beatsWithin)
	} else if !in.beat(r, s, length) {
		return
	}
	e := in.ending(r, 4)
	r.cancels(in, 10)
	switch {
	case draw < 25: // another end at the same time
		other := in.ending(r, 2)
		r.work.Go(func() { in.end(r, other) })
		in.end(r, e)
	case draw < 45: // as if the answer had been lost
		c := in.end(r, e)
		again := in.end(r, e)
		if c.ended() && again.status == http.StatusConflict {
			r.history.fault("run %s: attempt %d was ended by %s, and the same again was answered with 409", in.run,
				in.number, e.name)
		}
	default:
		in.end(r, e)
	}
	if in.random.IntN(4) == 0 && pause(r.ctx, time.Second) {
		in.once(r.ctx, heartbeat, nil)
		in.once(r.ctx, progress, map[string]any{"done": 7})
		in.save(r.ctx, s)
	}
}

// beat says that the work goes on for so long.
func (in *request) beat(r *receiver, s *saved, length time.Duration) bool {
	for until := time.Now().Add(length); time.Now().Before(until); {
		status := 0
		switch in.random.IntN(5) {
		case 0:
			status = in.save(r.ctx, s)
		case 1:
			status = in.once(r.ctx, progress, map[string]any{"done": 1, "total": 2}).status
		case 2:
			status = in.once(r.ctx, logs, map[string]any{"text": "still here\n"}).status
		default:
			status = in.once(r.ctx, heartbeat, nil).status
		}
		if status == http.StatusConflict {
			return true // it is over, and the end comes too late
		}
		if !pause(r.ctx, min(beatsAtLeast, time.Until(until))) {
			return false
		}
	}
	return true
}

// end says an end until that is answered. What ended the run is to be seen at once.
func (in *request) end(r *receiver, e ending) *call {
	c := in.until(r.ctx, e.name, e.body)
	if !c.ended() || c.state == "retrying" {
		return c
	}
	if run, err := r.api.Run(r.ctx, in.run); err == nil {
		if run.State != c.state {
			r.history.fault("run %s: %s was answered with %d and the state %s, and the run is %s", in.run, e.name, c.status,
				c.state, run.State)
		}
		r.history.saw(run)
	}
	return c
}

// ended reports whether a call is known to have ended its attempt: another one has not, where the run is
// cancelled.
func (c *call) ended() bool {
	return c.taken() && (c.state == "succeeded" || c.state == "failed" || c.state == "retrying")
}
