package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	houseEvery = time.Minute

	probeEvery  = 2 * time.Second
	probeWithin = 5 * time.Second
	lateTurn    = 30 * time.Second
)

// maintain folds statistics, checkpoints, lets held runs go and drops series of what was deleted, in one loop.
func (r *Runtime) maintain() {
	house := time.NewTicker(r.houseEvery)
	defer house.Stop()
	truncated := false
	r.letGoReadable()
	for {
		select {
		case <-r.stopping.Done():
			return
		case <-house.C:
			r.foldEnded()
			r.letGoReadable()
			r.forgetSeries()
			idle := r.idle()
			if idle && truncated {
				continue
			}
			if err := r.wroteIdle(r.store.Tidy(r.stopping, idle)); err != nil && r.stopping.Err() == nil {
				r.log.Warn("upkeep of the database failed", "error", err)
			}
			truncated = idle
		}
	}
}

// wroteIdle is wrote without counting as work.
func (r *Runtime) wroteIdle(err error) error {
	if errors.Is(err, store.ErrUnknown) {
		r.die(err)
	}
	return err
}

// idle reports whether nothing was written for a minute.
func (r *Runtime) idle() bool { return r.clock.ran()-time.Duration(r.lastWork.Load()) > houseEvery }

// foldEnded joins old counts of what has ended, one job a step.
func (r *Runtime) foldEnded() {
	for r.stopping.Err() == nil {
		done, err := r.store.FoldEnded(r.stopping, r.Now())
		if r.wroteIdle(err) != nil && r.stopping.Err() == nil {
			r.log.Warn("old statistics could not be folded: tried again in a minute", "error", err)
		}
		if done || err != nil {
			return
		}
	}
}

// health remembers the last probe, so that /readyz does not cost a commit each time.
type health struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// Health is nil where the server takes work, else it says why not.
func (r *Runtime) Health(ctx context.Context) error {
	if r.stopping.Err() != nil {
		return errors.New("the server is stopping")
	}
	if h := r.restored.Load(); h != nil {
		return errors.New("the server is held: " + RestoredText(h) + ". Nothing starts until nightshift resume")
	}
	if err := r.Turning(); err != nil {
		return err
	}
	r.health.mu.Lock()
	defer r.health.mu.Unlock()
	if time.Since(r.health.at) < probeEvery {
		return r.writableOr(r.lateTicksFail())
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	r.health.err = r.wroteIdle(r.store.Probe(ctx, r.Now()))
	if r.health.err != nil {
		r.health.err = fmt.Errorf("the database cannot be written: %w", r.health.err)
	}
	r.health.at = time.Now()
	return r.writableOr(r.lateTicksFail())
}

// writableOr is what the last probe found, else another error: a disk that is full is why ticks are late.
func (r *Runtime) writableOr(err error) error {
	if r.health.err != nil {
		return r.health.err
	}
	return err
}

// lateTicksFail says that ticks are late because they cannot be decided; nil: they are not.
func (r *Runtime) lateTicksFail() error {
	why, late := r.tickFails.Load(), r.lateTicks()
	if why == nil || late <= 0 {
		return nil
	}
	return fmt.Errorf("ticks of schedules cannot be decided, for %s: %w", late, *why)
}

// Turning says which loop stands still, so that only a restart helps; nil: none does. It asks no disk: one that
// is full, or locked by another process, is no reason to end what is under way.
func (r *Runtime) Turning() error {
	if late := r.lateTurn(); late > 0 {
		return fmt.Errorf("the dispatcher stands still: no run has been given out for %s", late)
	}
	// While it is held there is no such loop, and one whose ticks cannot be decided comes round.
	if late := r.lateTicks(); late > 0 && r.restored.Load() == nil && r.tickFails.Load() == nil {
		return fmt.Errorf("the scheduling loop stands still: ticks of schedules should have been looked at %s ago", late)
	}
	return nil
}

// lateTurn is how long the dispatcher has stood still; 0: it does not.
func (r *Runtime) lateTurn() time.Duration { return r.late(&r.lastTurn) }

// lateTicks is how long ago the ticker was to have come round; 0: it is not late.
func (r *Runtime) lateTicks() time.Duration { return r.late(&r.tickBy) }

func (r *Runtime) late(by *atomic.Int64) time.Duration {
	if late := r.clock.ran() - time.Duration(by.Load()); late > lateTurn {
		return late.Round(time.Second)
	}
	return 0
}

// drained is the difference of a drain, or its end, for the audit.
func drained(before, after bool) []jobs.Change {
	if before == after {
		return nil
	}
	text := func(on bool) jobs.Raw { return jobs.AppendJSON(nil, on) }
	return []jobs.Change{{Location: "draining", Before: text(before), After: text(after)}}
}

// Drain starts no attempt until Resume or a restart.
func (r *Runtime) Drain(ctx context.Context, by store.By) error {
	by.Now = r.Now()
	if err := r.wrote(r.store.Note(ctx, by, "drain", "server", "server", drained(r.draining.Load(), true)...)); err != nil {
		return err
	}
	r.draining.Store(true)
	return nil
}

// Disk is how full the disk of the database is; false: it is not known.
func (r *Runtime) Disk() (jobs.Disk, bool) {
	if r.cfg.Disk == nil {
		return jobs.Disk{}, false
	}
	disk, err := r.cfg.Disk()
	return disk, err == nil
}

// MaxUnfinished is the bound of runs that have not ended; 0: there is none.
func (r *Runtime) MaxUnfinished() int { return r.cfg.MaxUnfinished }

// Draining reports whether nothing is started.
func (r *Runtime) Draining() bool { return r.draining.Load() }

// Running counts the attempts under way.
func (r *Runtime) Running() int { return r.active.count() }
