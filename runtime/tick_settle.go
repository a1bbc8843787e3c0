package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"nightshift/jobs"
	"nightshift/store"
)

// settleTries bounds how often something is tried again that has changed meanwhile.
const settleTries = 10

// settling are the schedules whose past ticks are being decided for a change of theirs: the ticker
// leaves their backlogs alone, else each of the two makes what the other has planned out of date.
type settling struct {
	mu    sync.Mutex
	names map[string]int // by how many changes
}

func (s *settling) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]int{}
	}
	s.names[name]++
}

func (s *settling) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[name]--; s.names[name] == 0 {
		delete(s.names, name)
	}
}

func (s *settling) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name] > 0
}

// PauseSchedule pauses or resumes a schedule. Ticks that were due before are decided by then as if it
// had not been, those that come while it is paused are skipped.
func (r *Runtime) PauseSchedule(
	ctx context.Context, name string, paused bool, note string, by store.By,
) (s *store.Schedule, err error) {
	err = r.settled(ctx, by, func(by store.By) error {
		s, err = r.store.PauseSchedule(ctx, name, paused, note, by)
		return r.wrote(err)
	})
	return s, err
}

// DeleteSchedule deletes a schedule that stands by itself; store.ErrNotFound where none does.
func (r *Runtime) DeleteSchedule(ctx context.Context, name string, ifMatch *int64, by store.By) error {
	return r.settled(ctx, by, func(by store.By) error {
		return r.wrote(r.store.DeleteDocument(ctx, store.KindSchedule, name, ifMatch, by))
	})
}

// settled changes schedules. Where the store refuses that, for ticks of theirs that are past are not
// decided, they are, as the schedules stand, and the change is made as of the same time: it neither
// fires nor loses a tick.
func (r *Runtime) settled(ctx context.Context, by store.By, change func(store.By) error) error {
	r.clock.moving.RLock()
	defer r.clock.moving.RUnlock()
	defer r.wakeTicker()
	by.Now = r.Now()
	var undecided *store.UndecidedError
	for range settleTries {
		err := change(by)
		if !errors.As(err, &undecided) {
			return err
		}
		for _, name := range undecided.Names {
			if err := r.settleOne(ctx, name, by.Now); err != nil {
				return fmt.Errorf("decide the past ticks of schedule %s: %w", name, err)
			}
		}
	}
	return fmt.Errorf("decide the past ticks of schedules %q: they change all the time: %w",
		undecided.Names, store.ErrBusy)
}

// settleOne decides all ticks of a schedule up to now, and makes the runs of those to be caught up.
func (r *Runtime) settleOne(ctx context.Context, name string, now jobs.Time) error {
	r.settling.begin(name)
	defer r.settling.end(name)
	for stale := 0; stale < settleTries; {
		s, err := r.store.Schedule(ctx, name)
		if err != nil {
			return ignoreNotFound(err)
		}
		d, err := r.planSettling(ctx, s, now)
		if err != nil {
			return err
		}
		n, err := r.decideTicks(ctx, now, []store.Decision{*d})
		switch {
		case err != nil:
			return err
		case n > 0:
			stale++
		case d.Cursor >= now && d.Backlog.Count == 0:
			return nil
		}
	}
	return nil // settled looks again
}

// planSettling is the next decision on the way to a schedule that has no past tick left.
func (r *Runtime) planSettling(
	ctx context.Context, s *store.Schedule, now jobs.Time,
) (*store.Decision, error) {
	d, err := caught(func() (*store.Decision, error) {
		if s.Backlog.Count > 0 {
			return r.planBacklog(ctx, s, backlogStep, now)
		}
		return r.planTicks(ctx, s, now)
	})
	if err == nil || ctx.Err() != nil || storeFails(err) {
		return d, err
	}
	// It is being changed, for the better perhaps: that must be possible.
	r.log.Error("past ticks of a schedule cannot be decided: they are skipped, for it is changed",
		"schedule", s.Name, "job", s.Job, "error", err)
	return r.planSkipped(s, now), nil
}

// planSkipped skips all ticks up to now as missed, those that can be worked out.
func (r *Runtime) planSkipped(s *store.Schedule, now jobs.Time) *store.Decision {
	d := &store.Decision{Schedule: s, Cursor: max(now, s.Cursor)}
	_, _ = caught(func() (*store.Decision, error) {
		table, err := s.Timetable(s.Anchor)
		if err != nil {
			return nil, err
		}
		from, to := table.Next(s.Cursor), table.Prev(now+1)
		if s.Backlog.Count > 0 {
			from = s.Backlog.From
			to = max(to, s.Backlog.To)
		}
		if from == 0 || to < from {
			return nil, nil
		}
		gone := jobs.TickRange{
			From: from, To: to, Count: table.Count(from, to), Reason: jobs.SkipMissed, Before: table.Prev(from),
		}
		d.Skipped, d.Missed = []jobs.TickRange{gone}, missed(s, gone, 0)
		return nil, nil
	})
	return d
}
