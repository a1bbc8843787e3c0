package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// leastWait is what each run that waits has from a start on, if nothing is said of heartbeats.
	leastWait = time.Minute
	// endsAtOnce bounds how many expired runs are being ended at a time.
	endsAtOnce = 64
	// watchEvery is how often the process looks whether it stood still, and stall from when on it did:
	// nothing could be heard then, so that it counts as a start.
	watchEvery = time.Second
	stall      = 2 * time.Second
)

// waitEnd is why a run that waits does so no longer.
type waitEnd struct {
	store.Fence
	said   *telling      // nil: it has expired
	silent time.Duration // that it was, too long; 0: its deadline has come
	// answer is told what became of that: nil where it is on disk. It must not block.
	answer func(error)
}

// report is what is left behind by an attempt that has waited.
func (e *waitEnd) report() jobs.Report {
	report := jobs.Report{ExitCode: -1, HTTPStatus: acceptedStatus}
	switch {
	case e.said != nil:
	case e.silent > 0:
		report.Failure = &jobs.Failure{
			Kind: jobs.FailHeartbeat, Message: fmt.Sprintf("no heartbeat for %s", jobs.Duration(e.silent)),
		}
	default:
		report.Stopped = jobs.ErrTimeout
	}
	return report
}

// acceptedStatus is the answer by which work is taken on.
const acceptedStatus = 202

// endWaiting hands the end of a run that waits to the dispatcher, as if a worker had it. Of several the
// first that is on disk is its end.
func (r *Runtime) endWaiting(ctx context.Context, e waitEnd) error {
	l, err := r.store.Lease(ctx, e.Fence)
	if err != nil {
		return err
	}
	if l.Run.State != jobs.Waiting {
		return &store.OverError{State: l.Run.State}
	}
	plan, err := r.planOf(ctx, l.Run.Job)
	if err != nil {
		return err
	}
	c := r.endOf(l, &e, timeoutOf(l.Run, plan.plan))
	c.answer = func(err error) {
		r.waits.ending(e.Fence, -1)
		e.answer(err)
	}
	r.waits.ending(e.Fence, 1)
	if !r.ends.add(c) {
		r.waits.ending(e.Fence, -1)
		return store.ErrClosed
	}
	return nil
}

// endOf is the end of an attempt that has waited, with what it has said and printed.
func (r *Runtime) endOf(l *store.Lease, e *waitEnd, limit time.Duration) completion {
	j := judged{callsBack: true, mask: r.maskOf(l)}
	if l.Said != nil {
		j.said = *l.Said
	}
	if e.said != nil {
		j.said.Add(e.said.masked(j.mask))
	}
	printed := newOutput(l)
	if u := r.active.find(e.Run); u != nil && u.fence == e.Fence {
		j.progress = u.newest()
		if o := u.printed(); o != nil {
			printed = o
		}
	}
	c := completion{outcome: outcome{lease: *l, report: e.report(), limit: limit, waited: true}}
	c.report.OutputTail = printed.tail()
	c.judge(j)
	var now jobs.Time
	now, c.basis = r.clock.now()
	c.finish = r.decide(&c.outcome, now, forced{})
	c.finish.Log = printed.fresh()
	return c
}

// waitFor has a run wait for its callback.
func (r *Runtime) waitFor(c *completion) {
	now := r.clock.ran()
	w := &wait{Fence: c.attempt.fence, job: c.lease.Run.Job, until: now + time.Until(c.attempt.deadline), beat: now}
	if t := c.lease.Spec.Webhook.HeartbeatTimeout; t != nil {
		w.silence = t.Std()
	}
	r.waits.add(w)
}

// waitAgain has the runs wait that did so when the last process ended. Each can be heard of first.
func (r *Runtime) waitAgain(list []store.WaitingRun) {
	now, wall := r.clock.ran(), r.Now()
	names := map[string]string{} // one text for all runs of a job
	for i := range list {
		w := &list[i]
		name, known := names[w.Job]
		if !known {
			name, names[w.Job] = w.Job, w.Job
		}
		least := w.Heartbeat
		if least == 0 {
			least = leastWait
		}
		r.waits.add(&wait{
			Fence: w.Fence, job: name, silence: w.Heartbeat, beat: now, until: now + max(w.Until.Sub(wall), least),
		})
	}
}

// expire ends runs that wait when their time is up, until the runtime stops.
func (r *Runtime) expire() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	ending := make(chan struct{}, endsAtOnce)
	for {
		wait := r.expireDue(ending)
		timer.Reset(wait)
		looked := r.clock.ran()
		select {
		case <-r.stopping.Done():
			return
		case <-r.waits.wake:
		case <-timer.C:
		}
		if now := r.clock.ran(); wait <= watchEvery && now-looked > wait+stall {
			r.waits.beatAll(now)
		}
	}
}

// expireDue begins to end what has expired and says how long nothing will have.
func (r *Runtime) expireDue(ending chan struct{}) time.Duration {
	for {
		w, silent, next := r.waits.due(r.clock.ran())
		if w == nil {
			return next
		}
		select {
		case ending <- struct{}{}:
		case <-r.stopping.Done():
			return next
		}
		e := waitEnd{Fence: w.Fence, answer: func(err error) {
			r.expired(w, err)
			<-ending
		}}
		if silent {
			e.silent = w.silence
		}
		if err := r.endWaiting(r.stopping, e); err != nil {
			e.answer(err)
		}
	}
}

// expired takes in what became of that.
func (r *Runtime) expired(w *wait, err error) {
	switch {
	case err == nil:
	case errors.Is(err, store.ErrLease):
		r.waits.drop(w.Fence)
	default:
		r.waits.again(w, r.clock.ran()+retryWrite)
	}
}
