package runtime

import (
	"context"
	"errors"
	"maps"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	dueStep     = 500 // schedules that are decided in one transaction
	backlogStep = 300 // runs for missed ticks that are made in one
	// backlogWidth is of how many schedules these are: each costs about what its run does, and half of
	// the workers, which run one for each at a time, are to be kept busy.
	backlogWidth = 50
	lateStep     = 200 // ticks that are looked at in one
	// staleRest is how long the ticker waits where all that it decided had changed meanwhile.
	staleRest = 100 * time.Millisecond
	// asideRest is how long a schedule that could not be planned is left alone: its ticks may still
	// be on time then.
	asideRest = 5 * time.Second
)

// turn decides what is due, then a few of the missed ticks, and says how long nothing is to be done:
// 0 where there is more.
func (t *ticker) turn() (wait time.Duration, err error) {
	if t.setBack.Load() {
		if err := t.rewind(); err != nil {
			return 0, err
		}
	}
	if err := t.tickAtStart(); err != nil {
		return 0, err
	}
	wait, err = t.decideDue()
	if err != nil {
		return 0, err
	}
	more, err := t.catchUp()
	if more {
		wait = 0
	}
	return wait, err
}

// rewind takes in that the clock was set back.
func (t *ticker) rewind() error {
	t.clock.moving.RLock()
	defer t.clock.moving.RUnlock()
	t.setBack.Store(false)
	ahead, err := t.store.Rewind(t.base, t.Now())
	if t.wroteIdle(err) != nil {
		t.setBack.Store(true)
		return err
	}
	if ahead > 0 {
		t.log.Warn("the clock was set back: ticks that were skipped as missed are decided anew as they come",
			"schedules", ahead)
	}
	return nil
}

// decideDue decides about all schedules that are due and says how long none will be.
func (t *ticker) decideDue() (time.Duration, error) {
	for {
		due, did, err := t.decideSome()
		if err != nil {
			return 0, err
		}
		t.plannedFor(0)
		if did.decided > 0 && t.stopping.Err() == nil {
			continue // there may be more, or new ones
		}
		wait := tickRest * t.heartbeat
		if due.Next > 0 {
			wait = min(wait, max(0, due.Next.Sub(t.Now())))
		}
		if did.stale > 0 {
			wait = min(wait, staleRest)
		}
		if t.forgetAside(); len(t.aside) > 0 {
			wait = min(wait, asideRest)
		}
		if !due.Late {
			return wait, nil
		}
		return 0, t.tellLate() // then another may be due
	}
}

// did counts what became of schedules that were looked at.
type did struct {
	decided int
	stale   int // had changed since they were read
}

// decideSome decides about some of the schedules that are due.
func (t *ticker) decideSome() (due store.DueSchedules, did did, err error) {
	t.clock.moving.RLock()
	defer t.clock.moving.RUnlock()
	now := t.Now()
	// Those that cannot be decided must not hide others.
	due, err = t.store.DueSchedules(t.stopping, now, dueStep+t.skipped)
	if err != nil {
		return due, did, err
	}
	list := make([]store.Decision, 0, len(due.List))
	for _, s := range due.List {
		d, err := t.planned(s, func() (*store.Decision, error) { return t.planTicks(t.base, s, now) })
		if err != nil {
			return due, did, err
		}
		if d != nil {
			list = append(list, *d)
		}
	}
	t.skipped = len(due.List) - len(list)
	did, err = t.keep(now, list)
	return due, did, err
}

// keep has the store keep decisions. One that it cannot keep holds up no other.
func (t *ticker) keep(now jobs.Time, list []store.Decision) (did did, err error) {
	if len(list) == 0 {
		return did, nil
	}
	did.stale, err = t.decideTicks(t.base, now, list)
	switch {
	case err == nil:
		did.decided = len(list) - did.stale
	case storeFails(err):
	case len(list) == 1:
		t.putAside(list[0].Schedule, err)
		err = nil
	default:
		for i := 0; i < len(list); i++ {
			one, err := t.keep(now, list[i:i+1])
			if err != nil {
				return did, err
			}
			did.decided += one.decided
			did.stale += one.stale
		}
		err = nil
	}
	return did, err
}

// catchUp makes a few of the runs for missed ticks; more: there may be others.
func (t *ticker) catchUp() (more bool, err error) {
	t.clock.moving.RLock()
	defer t.clock.moving.RUnlock()
	backlogs, err := t.store.Backlogs(t.stopping, backlogWidth+len(t.aside))
	if err != nil || len(backlogs) == 0 {
		return false, err
	}
	now := t.Now()
	each := max(1, backlogStep/len(backlogs))
	list := make([]store.Decision, 0, len(backlogs))
	for _, s := range backlogs {
		if t.settling.has(s.Name) {
			continue
		}
		d, err := t.planned(s, func() (*store.Decision, error) { return t.planBacklog(t.base, s, each, now) })
		if err != nil {
			return false, err
		}
		if d != nil {
			list = append(list, *d)
		}
	}
	did, err := t.keep(now, list)
	return did.decided > 0, err
}

// tellLate looks at some ticks that may be late.
func (t *ticker) tellLate() error {
	t.clock.moving.RLock()
	defer t.clock.moving.RUnlock()
	told, _, err := t.store.TellLate(t.base, t.Now(), lateStep)
	if t.wrote(err) != nil {
		return err
	}
	for i := range told {
		late := &told[i]
		run, err := t.store.Run(t.base, late.Run)
		if err != nil { // deleted just now
			run = &jobs.Run{Job: late.Job, ID: late.Run}
		}
		t.log.Warn("run of a schedule is late", AboutRun(run, "schedule", late.Schedule, "tick", late.ScheduledFor,
			"deadline", late.Deadline, "state", late.State.String())...)
	}
	return nil
}

// startTicks are the ticks of one start.
type startTicks struct {
	at    jobs.Time
	after string // the last schedule that has had its tick
	done  bool
}

// tickAtStart decides the one tick of each schedule that ticks at each start.
func (t *ticker) tickAtStart() error {
	for !t.starting.done && t.stopping.Err() == nil {
		list, err := t.store.StartSchedules(t.stopping, t.starting.after, dueStep)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			if err := t.startAll(list); err != nil {
				return err
			}
			t.starting.after = list[len(list)-1].Name
		}
		t.starting.done = len(list) < dueStep
	}
	return nil
}

// startAll decides the ticks of some, those that change meanwhile as they stand then.
func (t *ticker) startAll(list []*store.Schedule) error {
	t.clock.moving.RLock()
	defer t.clock.moving.RUnlock()
	for range settleTries {
		now := t.Now()
		var decisions []store.Decision
		for _, s := range list {
			d, err := t.planned(s, func() (*store.Decision, error) { return t.planStart(t.base, s, t.starting.at, now) })
			if err != nil {
				return err
			}
			if d != nil {
				decisions = append(decisions, *d)
			}
		}
		did, err := t.keep(now, decisions)
		if err != nil || did.stale == 0 {
			return err
		}
		if list, err = t.again(list); err != nil {
			return err
		}
	}
	return nil
}

// again reads schedules as they stand. Ticks of theirs that were decided are not decided again: the
// ledger knows them.
func (t *ticker) again(list []*store.Schedule) (now []*store.Schedule, err error) {
	for _, s := range list {
		s, err := t.store.Schedule(t.stopping, s.Name)
		if err := ignoreNotFound(err); err != nil {
			return nil, err
		}
		if s != nil {
			now = append(now, s)
		}
	}
	return now, nil
}

// asideSchedule is one that could not be planned.
type asideSchedule struct {
	stamp int64
	until time.Duration // as clock.ran
}

// planned makes a decision about one schedule; nil: none now. One that cannot be planned holds up no
// other: it is told once, and tried again after a while.
func (t *ticker) planned(s *store.Schedule, plan func() (*store.Decision, error)) (*store.Decision, error) {
	if old, known := t.aside[s.Name]; known && old.stamp == s.Stamp && t.clock.ran() < old.until {
		return nil, nil
	}
	d, err := caught(plan)
	switch {
	case err == nil || errors.Is(err, store.ErrNotFound): // it was deleted with its job just now
		return d, nil
	case t.stopping.Err() != nil || storeFails(err):
		return nil, err
	}
	t.putAside(s, err)
	return nil, nil
}

// putAside leaves a schedule alone for a while.
func (t *ticker) putAside(s *store.Schedule, err error) {
	if old, known := t.aside[s.Name]; !known || old.stamp != s.Stamp {
		t.log.Error("ticks of a schedule cannot be decided: tried again until they can", "schedule", s.Name,
			"job", s.Job, "error", err)
	}
	t.aside[s.Name] = asideSchedule{stamp: s.Stamp, until: t.clock.ran() + asideRest}
}

// storeFails reports whether an error is not one schedule's own.
func storeFails(err error) bool {
	for _, of := range []error{
		store.ErrBusy, store.ErrFull, store.ErrUnknown, store.ErrClosed, context.Canceled,
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// forgetAside drops schedules that are not due any more, or are gone.
func (t *ticker) forgetAside() {
	maps.DeleteFunc(t.aside, func(_ string, a asideSchedule) bool {
		return t.clock.ran() > a.until+2*asideRest
	})
}
