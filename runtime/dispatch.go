package runtime

import (
	"errors"
	"slices"
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
	// heartbeat is Runtime.heartbeat, but for tests.
	heartbeat = 5 * time.Second
)

// completion is an attempt that is over, or a slice of it, and what was decided.
type completion struct {
	outcome
	attempt *attempt // nil of one that no worker had
	finish  store.Finish
	basis   time.Duration // of the times in finish: clockLook.basis
	// answer is told what became of the end of a run that waited: nil where it is on disk. Such an end is
	// not kept until it can be: whoever asked for it, asks again.
	answer func(error)
}

// decideAgain takes in what the store knew better; the output stays what it was.
func (c *completion) decideAgain(r *Runtime, f forced) {
	log := c.finish.Log
	c.finish = r.decide(&c.outcome, c.finish.Now, f)
	c.finish.Log = log
}

// move decides again where the wall clock was set since.
func (c *completion) move(r *Runtime, basis time.Duration) {
	step := basis - c.basis
	if c.basis = basis; step == 0 {
		return
	}
	c.finish.Now = c.finish.Now.Add(step)
	if c.finish.Held == "" {
		c.decideAgain(r, forced{})
	}
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
	claimed bool // at least once
}

// dispatch gives due runs to free workers until the runtime stops. It sleeps until something
// falls due, ends or is enqueued: there is no polling.
func (r *Runtime) dispatch() {
	// The first turn does not wait: runs may have been left.
	d := &dispatcher{Runtime: r, timer: time.NewTimer(0), again: true}
	defer d.timer.Stop()
	for {
		d.await()
		r.lastTurn.Store(int64(r.clock.ran()))
		if !d.turn() {
			d.giveUp()
			return
		}
		if r.stopping.Err() != nil && d.idle() && r.ends.shut(false) {
			return
		}
	}
}

// giveUp tells those who wait for an end that there is none.
func (d *dispatcher) giveUp() {
	d.ends.shut(true)
	d.collect()
	d.refuse(store.ErrClosed)
}

// refuse answers those whose ends cannot be kept now.
func (d *dispatcher) refuse(err error) {
	d.done = slices.DeleteFunc(d.done, func(c completion) bool {
		if c.answer != nil {
			c.answer(err)
		}
		return c.answer != nil
	})
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
	wait := d.heartbeat
	if d.nextDue != 0 && !d.holding() {
		wait = min(wait, max(0, d.clock.until(d.nextDue)))
	}
	return wait
}

func (d *dispatcher) holding() bool {
	return d.draining.Load() || d.restored.Load() != nil || d.stopping.Err() != nil
}

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
	for i := range d.taken {
		if c := &d.taken[i]; c.attempt != nil {
			d.running[poolOf(c.lease)]--
		}
	}
	d.done = append(d.done, d.taken...)
	clear(d.taken)
}

// turn commits what ended and claims for the workers that are free. It reports false when the
// process has to end.
func (d *dispatcher) turn() bool {
	look := d.clock.look()
	claim := store.Claim{
		Now: jobs.TimeOf(look.at), Shift: look.step, Clock: look.mark, First: !d.claimed, Hold: d.holding(),
		Restored: d.restored.Load() != nil,
		Workers:  d.cfg.Workers, Finished: make([]store.Finish, len(d.done)),
	}
	for pool := range claim.Free {
		claim.Free[pool] = d.cfg.Workers[pool] - d.running[pool]
	}
	for i := range d.done {
		d.done[i].move(d.Runtime, look.basis)
		claim.Finished[i] = d.done[i].finish
	}
	if err := d.claim(claim, look); err != nil {
		return d.failed(err) // which takes its time: nobody else waits for it
	}
	return true
}

func (d *dispatcher) claim(claim store.Claim, look clockLook) error {
	if look.step != 0 {
		// Who writes a time waits until that is of the same clock as what it stands beside.
		d.clock.moving.Lock()
		defer d.clock.moving.Unlock()
	}
	// Who cancels a run that was given out meanwhile waits until it can be told to stop.
	d.launching.Lock()
	defer d.launching.Unlock()
	got, err := d.store.Claim(d.base, claim)
	if err != nil {
		return err
	}
	d.stepped(look)
	if !d.claimed {
		d.claimed = true
		close(d.synced)
	}
	d.apply(claim.Finished, got)
	return nil
}

// stepped notes that the waits which were given as durations have been moved with the wall clock.
func (d *dispatcher) stepped(look clockLook) {
	d.clock.moved(look)
	if look.step != 0 {
		d.log.Warn("the wall clock was set: waits given as durations are kept", "step", look.step)
		if look.step < 0 {
			d.setBack.Store(true)
		}
		d.wakeTicker()
		d.alerts.wake()
	}
}

// apply tells what became of the attempts that ended, then starts those that were given out: one
// may be of the same run.
func (d *dispatcher) apply(finished []store.Finish, got store.Claimed) {
	if d.diskFull.Swap(false) {
		d.log.Warn("the database can be written again: work goes on")
	}
	if len(finished) > 0 || len(got.Leases) > 0 {
		d.lastWork.Store(int64(d.clock.ran()))
	}
	if d.longSooner(got.LongAt) {
		d.wakeTicker()
	}
	d.nextDue, d.again = got.NextDue, got.More
	done, stop := d.done, got.Stop
	d.done = nil
	for i, res := range got.Results {
		d.settle(done[i], res)
		stop = append(stop, res.Stop...)
	}
	for _, l := range got.Leases {
		pool := poolOf(l)
		d.running[pool]++
		d.launch(pool, l)
	}
	if got.Events || len(got.Groups) > 0 || len(stop) > 0 {
		d.hub.cascaded() // a deadline may have ended members
	}
	for _, id := range stop {
		if a := d.active.get(id); a != nil {
			a.stop(jobs.ErrGivenUp)
		}
	}
	d.groups.add(got.Groups)
}

// failed keeps the outcomes under way when the store cannot take them; they are tried until they
// commit.
func (d *dispatcher) failed(err error) bool {
	d.refuse(err)
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
	case c.answer != nil:
		c.answer(res.Err)
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
