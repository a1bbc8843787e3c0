package runtime

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// gather is how long the end of an attempt may wait for others, to share their commit: no
	// caller waits for it.
	gather = 2 * time.Millisecond
	// retryWrite is how long the dispatcher waits after a disk that is full or a lock.
	retryWrite = time.Second
	// heartbeat is how often the dispatcher shows that it is well though nothing is due.
	heartbeat = 5 * time.Second
)

// completion is an attempt that is over, and what was decided.
type completion struct {
	attempt *attempt // nil of one that died with the last process
	lease   store.Lease
	report  jobs.Report
	finish  store.Finish
}

// decideAgain takes in what the store knew better; the output stays what it was.
func (c *completion) decideAgain(r *Runtime, f forced) {
	log := c.finish.Log
	c.finish = r.decide(c.lease, c.report, c.finish.Now, f)
	c.finish.Log = log
}

// dispatcher is the state of the one loop that claims.
type dispatcher struct {
	*Runtime
	done    []completion // not yet committed
	taken   []completion // room for the next ends
	running [store.Pools]int
	nextDue jobs.Time
	again   bool // more is due than one claim moved
	timer   *time.Timer
}

// dispatch gives due runs to free workers until the runtime stops. It sleeps until something
// falls due, ends or is enqueued: there is no polling.
func (r *Runtime) dispatch() {
	d := &dispatcher{Runtime: r, timer: time.NewTimer(0)}
	defer d.timer.Stop()
	for {
		d.await()
		r.lastTurn.Store(time.Now().UnixMilli())
		if !d.turn() {
			return
		}
		if r.stopping.Err() != nil && d.idle() {
			return
		}
	}
}

func (d *dispatcher) idle() bool {
	return sum(d.running) == 0 && len(d.done) == 0
}

// await blocks until there is something to do.
func (d *dispatcher) await() {
	if d.again {
		d.collect()
		return
	}
	d.timer.Reset(d.sleep())
	select {
	case <-d.ends.await(1):
		d.collect()
		d.gatherMore()
	case <-d.store.Ready():
	case <-d.poke:
	case <-d.stopped():
	case <-d.timer.C:
	}
	d.collect()
}

// stopped wakes the loop once the runtime stops and nothing runs: until then ends arrive.
func (d *dispatcher) stopped() <-chan struct{} {
	if sum(d.running) > 0 {
		return nil
	}
	return d.stopping.Done()
}

func (d *dispatcher) sleep() time.Duration {
	wait := heartbeat
	if d.nextDue != 0 && !d.holding() {
		wait = min(wait, max(0, time.Until(d.nextDue.Std())))
	}
	return wait
}

func (d *dispatcher) holding() bool { return d.draining.Load() || d.stopping.Err() != nil }

// gatherMore waits a moment for other attempts that are about to end, unless they are few.
func (d *dispatcher) gatherMore() {
	more := min(d.enough()-len(d.done), sum(d.running))
	if more <= 0 {
		return
	}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-d.ends.await(more):
	case <-timer.C:
	case <-d.stopping.Done():
	}
}

// enough ends are worth a commit of their own.
func (d *dispatcher) enough() int { return max(1, d.workersInAll()/2) }

// collect takes what has ended meanwhile.
func (d *dispatcher) collect() {
	d.taken = d.ends.take(d.taken)
	for _, c := range d.taken {
		d.running[poolOf(c.lease)]--
	}
	d.done = append(d.done, d.taken...)
	clear(d.taken)
}

// turn commits what ended and claims for the workers that are free. It reports false when the
// process has to end.
func (d *dispatcher) turn() bool {
	claim := store.Claim{Now: d.Now(), Hold: d.holding(), Finished: make([]store.Finish, len(d.done))}
	for pool := range claim.Free {
		claim.Free[pool] = d.cfg.Workers[pool] - d.running[pool]
	}
	for i := range d.done {
		claim.Finished[i] = d.done[i].finish
	}
	// Who cancels a run that was given out meanwhile waits until it can be told to stop.
	d.launching.Lock()
	got, err := d.store.Claim(d.base, claim)
	if err == nil {
		d.apply(claim.Finished, got)
	}
	d.launching.Unlock()
	return err == nil || d.failed(err)
}

// apply tells what became of the attempts that ended, then starts those that were given out: one
// may be of the same run.
func (d *dispatcher) apply(finished []store.Finish, got store.Claimed) {
	if d.diskFull.Swap(false) {
		d.log.Warn("the database can be written again: work goes on")
	}
	if len(finished) > 0 || len(got.Leases) > 0 {
		d.lastWork.Store(time.Now().UnixMilli())
	}
	d.nextDue, d.again = got.NextDue, got.More
	done := d.done
	d.done = nil
	for i, res := range got.Results {
		d.settle(done[i], res)
	}
	for _, l := range got.Leases {
		pool := poolOf(l)
		d.running[pool]++
		d.launch(pool, l)
	}
}

// failed keeps the outcomes under way when the store cannot take them; they are tried until they
// commit.
func (d *dispatcher) failed(err error) bool {
	switch {
	case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrBusy):
		if !d.diskFull.Swap(true) {
			d.log.Error("the database cannot be written: nothing is started until it can", "error", err)
		}
		d.again = false
		d.nextDue = 0
		select {
		case <-time.After(retryWrite):
		case <-d.stopping.Done():
			if d.idle() {
				return false
			}
			time.Sleep(retryWrite / 10)
		}
		d.wakeDispatcher()
		return true
	case errors.Is(err, store.ErrClosed):
		return false
	}
	d.log.Error("the database failed under the dispatcher: the server has to start again", "error", err)
	d.die(err)
	return false
}

// settle tells what became of an attempt, or decides again where a cancel or the deletion of the
// job came first.
func (d *dispatcher) settle(c completion, res store.FinishResult) {
	switch {
	case res.Err == nil && c.finish.Held != "":
		d.heldBack(c)
	case res.Err == nil:
		d.finished(c)
	case errors.Is(res.Err, store.ErrState):
		c.decideAgain(d.Runtime, forced{cancel: res.CancelAsked, orphan: res.Orphaned})
		d.done = append(d.done, c)
		d.again = true
	default:
		d.log.Warn("an attempt that is not its run's any more has ended: ignored", runAttrs(c.lease)...)
		d.active.remove(c)
	}
}

func poolOf(l store.Lease) store.Pool { return store.PoolOf(l.Spec.Kind()) }

func sum(counts [store.Pools]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func (r *Runtime) workersInAll() int { return sum(r.cfg.Workers) }

// wakeDispatcher makes the loop take another turn.
func (r *Runtime) wakeDispatcher() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}
