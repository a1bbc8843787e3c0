package runtime

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// watchRest is how often the ticker looks whether something is stuck, too many or too little, in
	// heartbeats: every 20 s.
	watchRest = 4
	longStep  = 200 // runs that have taken long and are told of in one transaction
	longSteps = 5   // of these in one round: ticks come in between
)

// watching is what the ticker knows of what is told of while nothing happens.
type watching struct {
	roundAt time.Duration // when the next round is, as clock.ran
	beatAt  time.Duration // when the next heartbeat is
	stuck   stuckness
	failing map[string]bool // by what was to be done: those that failed last
}

// watchIn is how long nothing is to be watched.
func (t *ticker) watchIn() time.Duration {
	ran := t.clock.ran()
	wait := t.watching.roundAt - ran
	if t.cfg.Heartbeat != nil {
		wait = min(wait, t.watching.beatAt-ran)
	}
	if at := jobs.Time(t.longAt.Load()); at != 0 {
		wait = min(wait, at.Sub(t.Now()))
	}
	return max(wait, 0)
}

// watch tells what is to be told now. It follows a turn that has gone well: nothing here keeps ticks from
// being decided, and what fails here keeps nothing else here from being done.
func (t *ticker) watch() {
	ran := t.clock.ran()
	if t.cfg.Heartbeat != nil && ran >= t.watching.beatAt {
		t.watching.beatAt = ran + beatEvery
		t.beatDue()
	}
	round := ran >= t.watching.roundAt
	long := jobs.Time(t.longAt.Load())
	if round || long != 0 && long <= t.Now() {
		t.try("runs that take long", t.tellLong)
	}
	if !round {
		return
	}
	t.watching.roundAt = ran + watchRest*t.heartbeat
	_ = t.try("queues that are stuck", t.tellStuck) &&
		t.try("how many failures are open", t.tellMany) &&
		t.try("how full the disk is", t.tellDisk) &&
		t.try("failures that were ignored for a while", t.reopen)
}

// try does something, and tells when it fails and when it does so no longer. It reports false where the
// store fails, which would keep whoever asks it next waiting too.
func (t *ticker) try(what string, do func() error) bool {
	if t.stopping.Err() != nil {
		return false
	}
	err := t.caughtUp(do)
	switch {
	case t.wroteIdle(err) == nil:
		if t.watching.failing[what] {
			delete(t.watching.failing, what)
			t.log.Warn("looked at again: " + what)
		}
	case t.stopping.Err() == nil && !t.watching.failing[what]:
		t.watching.failing[what] = true
		t.log.Error("cannot look at "+what+": tried again until it can be", "error", err)
	}
	return err == nil || !storeFails(err)
}

// caughtUp does something while no claim moves times. A panic is an error of it alone.
func (t *ticker) caughtUp(do func() error) error {
	t.clock.moving.RLock()
	defer t.clock.moving.RUnlock()
	_, err := caught(func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// longSooner notes when another run will have taken long; true: that is sooner than what is known.
func (r *Runtime) longSooner(at jobs.Time) bool {
	for at != 0 {
		known := r.longAt.Load()
		if known != 0 && known <= int64(at) {
			return false
		}
		if r.longAt.CompareAndSwap(known, int64(at)) {
			return true
		}
	}
	return false
}

// tellLong tells of runs that have taken long by now.
func (t *ticker) tellLong() error {
	all := 0
	t.longAt.Store(0) // what is given out from here on counts again
	for range longSteps {
		told, next, err := t.store.TellLong(t.stopping, t.Now(), longStep)
		if err != nil {
			return err
		}
		all += told
		if next == 0 || next > t.Now() || t.stopping.Err() != nil {
			t.longSooner(next)
			break
		}
	}
	if all > 0 {
		t.log.Warn("runs take long", "runs", all)
	}
	return nil
}

// tellStuck tells of queues whose runs wait for workers. While nothing is to start, nothing is stuck.
func (t *ticker) tellStuck() error {
	if t.draining.Load() {
		t.watching.stuck.forget()
		return nil
	}
	now := t.Now()
	waits, err := t.store.WorkerWaits(t.stopping, now.Add(-jobs.StuckAfter), now)
	if err != nil {
		return err
	}
	_, basis := t.clock.now()
	since := t.watching.stuck.look(now, basis, waits)
	list := make([]store.Standing, len(waits))
	for i, w := range waits {
		list[i] = store.Standing{
			Fades: now.Sub(since[i]) < jobs.StuckAfter,
			Event: store.Event{
				At: now, Type: jobs.EventQueueStuck, Subject: jobs.QueueSubject(w.Queue), Run: w.Run,
				Data: t.stuckData(&w, since[i], now),
			},
		}
	}
	told, err := t.store.TellStanding(t.stopping, jobs.EventQueueStuck, list)
	if told > 0 {
		t.log.Error("queues are stuck: due runs wait for nothing but a worker", "queues", told)
	}
	return err
}

// tellMany tells of very many open failures.
func (t *ticker) tellMany() error {
	open, err := t.store.OpenFailures(t.stopping, jobs.FailuresMany)
	if err != nil {
		return err
	}
	var list []store.Standing
	if !jobs.FewerFailures(open) {
		list = []store.Standing{{
			Fades: open < jobs.FailuresMany,
			Event: store.Event{
				At: t.Now(), Type: jobs.EventFailuresMany, Subject: jobs.FailuresSubject,
				Data: jobs.ManyFailuresData(open),
			},
		}}
	}
	told, err := t.store.TellStanding(t.stopping, jobs.EventFailuresMany, list)
	if told > 0 {
		t.log.Error("very many failures are open", "failures", open)
	}
	return err
}

// tellDisk tells of little room on the disk of the database.
func (t *ticker) tellDisk() error {
	if t.cfg.Disk == nil {
		return nil
	}
	d, err := t.cfg.Disk()
	if err != nil {
		return err
	}
	var list []store.Standing
	if !d.Well() {
		list = []store.Standing{{
			Fades: !d.Low(),
			Event: store.Event{
				At: t.Now(), Type: jobs.EventDiskLow, Subject: jobs.DiskSubject, Data: d.LowData(),
			},
		}}
	}
	told, err := t.store.TellStanding(t.stopping, jobs.EventDiskLow, list)
	if told > 0 {
		t.log.Error("the disk of the database is low", "path", d.Path, "free", d.Free, "total", d.Total)
	}
	return err
}

// reopen opens failures anew whose time of being ignored is over.
func (t *ticker) reopen() error {
	reopened, err := t.store.ReopenIgnored(t.stopping, t.Now())
	if reopened > 0 {
		t.log.Warn("failures are open again that were ignored for a while: more came", "groups", reopened)
	}
	return err
}
