package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"nightshift/jobs"
	"nightshift/store"
)

// caught is what do gives; a panic is an error.
func caught[T any](do func() (T, error)) (got T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return do()
}

// planTicks says what becomes of the ticks of a schedule up to now, and that it has none after the
// cursor, too.
func (r *Runtime) planTicks(ctx context.Context, s *store.Schedule, now jobs.Time) (*store.Decision, error) {
	table, err := s.Timetable(s.Anchor)
	if err != nil {
		return nil, fmt.Errorf("read the schedule: %w", err)
	}
	plan := jobs.PlanTicks(jobs.TickInput{
		Timetable: table, CatchUp: s.CatchUp, Cursor: s.Cursor, Now: now, Paused: s.PausedAt != 0,
	})
	d := r.decision(s, table, max(now, s.Cursor))
	d.Skipped = plan.Skipped
	if plan.CatchUp.Count > 0 {
		d.Backlog = extended(s.Backlog, plan.CatchUp, table)
	}
	if plan.OnTime != 0 {
		tick, err := r.tickRun(ctx, s, table, tickDraft{plan.OnTime, jobs.TriggerSchedule, now, true})
		if err != nil {
			return nil, err
		}
		d.OnTime = &tick
	}
	d.Missed = missed(s, plan.Missed(), plan.CatchUp.Count)
	return d, nil
}

// extended is a backlog that is not worked off yet, with ticks that were missed since. Those between
// the two are decided: they make no run where their turn comes.
func extended(left, missed jobs.TickRange, table *jobs.Timetable) jobs.TickRange {
	if left.Count == 0 {
		return missed
	}
	left.To, left.Count = missed.To, table.Count(left.From, missed.To)
	return left
}

// decision is one that moves the cursor and nothing else.
func (r *Runtime) decision(s *store.Schedule, table *jobs.Timetable, cursor jobs.Time) *store.Decision {
	d := &store.Decision{Schedule: s, Cursor: cursor, Backlog: s.Backlog}
	if s.PausedAt == 0 {
		d.Next = table.Next(cursor)
	}
	return d
}

// missed is the event of ticks that were skipped after an outage; nil: there are none.
func missed(s *store.Schedule, ticks jobs.TickRange, caughtUp int) *jobs.ScheduleMissed {
	if ticks.Count == 0 {
		return nil
	}
	return &jobs.ScheduleMissed{
		Schedule: s.Name, Job: s.Job, Count: ticks.Count, FirstAt: ticks.From, LastAt: ticks.To,
		CaughtUp: caughtUp,
	}
}

// planBacklog makes runs of the first ticks of a backlog.
func (r *Runtime) planBacklog(
	ctx context.Context, s *store.Schedule, limit int, now jobs.Time,
) (*store.Decision, error) {
	table, err := s.Timetable(s.Anchor)
	if err != nil {
		return nil, fmt.Errorf("read the schedule: %w", err)
	}
	d := r.decision(s, table, s.Cursor)
	left := s.Backlog
	at := table.Next(left.From - 1)
	for at != 0 && at <= left.To && len(d.CaughtUp) < limit {
		next := table.Next(at)
		newest := next == 0 || next > left.To
		tick, err := r.tickRun(ctx, s, table, tickDraft{at, jobs.TriggerCatchUp, now, newest})
		if err != nil {
			return nil, err
		}
		d.CaughtUp = append(d.CaughtUp, tick)
		left.Before, at = at, next
	}
	if d.Backlog = (jobs.TickRange{}); at != 0 && at <= left.To {
		left.From, left.Count = at, table.Count(at, left.To)
		d.Backlog = left
	}
	return d, nil
}

// planStart decides the tick of a start; nil: the schedule has none.
func (r *Runtime) planStart(
	ctx context.Context, s *store.Schedule, at, now jobs.Time,
) (*store.Decision, error) {
	table, err := s.Timetable(s.Anchor)
	if err != nil {
		return nil, fmt.Errorf("read the schedule: %w", err)
	}
	if !table.AtStart() || at < s.Start || s.End != 0 && at > s.End {
		return nil, nil
	}
	d := r.decision(s, table, max(at, s.Cursor))
	if s.PausedAt != 0 {
		d.Skipped = []jobs.TickRange{{From: at, To: at, Count: 1, Reason: jobs.SkipPaused}}
		return d, nil
	}
	tick, err := r.tickRun(ctx, s, table, tickDraft{at, jobs.TriggerSchedule, now, true})
	d.OnTime = &tick
	return d, err
}

// tickDraft is a tick that is to make a run.
type tickDraft struct {
	at      jobs.Time
	trigger jobs.Trigger
	now     jobs.Time
	watched bool // its run may be late
}

// tickRun drafts the run of a tick. One whose keys cannot be worked out has ended: nothing is lost in
// silence.
func (r *Runtime) tickRun(
	ctx context.Context, s *store.Schedule, table *jobs.Timetable, tick tickDraft,
) (store.TickRun, error) {
	job, err := r.plans.live(ctx, s.Job)
	if err != nil {
		return store.TickRun{}, err
	}
	next := r.newRun(&jobs.Request{
		Job: s.Job, Payload: s.Payload, Trigger: tick.trigger, Schedule: s.Name, ScheduledFor: tick.at,
		RunAt: tick.at.Add(s.SpreadOf(s.Name, tick.at, table.Next(tick.at))),
	}, job, tick.now)
	next.endAtBirth(next.keys)
	run := store.TickRun{At: tick.at, Sub: next.sub}
	switch {
	case !tick.watched:
	case s.LateAfter != nil:
		run.LateAt, run.LateSuccess = tick.at.Add(s.LateAfter.Std()), true
	default:
		run.LateAt = max(tick.at, next.sub.Run.RunAt).Add(jobs.DefaultLateAfter)
	}
	return run, nil
}

// decideTicks has the store keep what becomes of ticks, and tells of it. stale: so many schedules had
// changed since they were read.
func (r *Runtime) decideTicks(
	ctx context.Context, now jobs.Time, list []store.Decision,
) (stale int, err error) {
	decided, err := r.store.Decide(ctx, now, list)
	if r.wrote(err) != nil {
		return 0, err
	}
	for i := range decided {
		if decided[i].Stale {
			stale++
			continue
		}
		r.tellTicks(&list[i], &decided[i])
	}
	return stale, nil
}

// tellTicks tells what became of ticks of one schedule, and stops what gives way to a newer run.
func (r *Runtime) tellTicks(d *store.Decision, got *store.Decided) {
	s := d.Schedule
	r.metrics.decided(d, got, r.Now())
	if m := d.Missed; m != nil {
		r.log.Warn("ticks of a schedule were missed", "schedule", s.Name, "job", s.Job, "count", m.Count,
			"first", m.FirstAt.String(), "last", m.LastAt.String(), "caught_up", m.CaughtUp)
	}
	for i := range got.Ran {
		r.tellTick(s, tickOf(d, i), &got.Ran[i])
		if got.Ran[i].Outcome != "" && !got.Ran[i].Made.ID.IsNil() {
			r.hub.made(got.Ran[i].Made.ID)
		}
	}
	for _, id := range got.Cancelled {
		r.endedIdle(id)
		r.hub.changed(id)
	}
	for _, id := range got.Stop {
		r.stopAttempt(id, jobs.ErrReplaced)
		r.hub.changed(id)
	}
	if len(got.Cancelled)+len(got.Stop) > 0 {
		r.hub.cascaded() // what stands in them ends with groups
	}
}

// tickOf is the tick that the answer numbers i.
func tickOf(d *store.Decision, i int) *store.TickRun {
	if i < len(d.CaughtUp) {
		return &d.CaughtUp[i]
	}
	return d.OnTime
}

func (r *Runtime) tellTick(s *store.Schedule, tick *store.TickRun, made *store.TickMade) {
	switch made.Outcome {
	case "":
		return
	case jobs.TickRan, jobs.TickCaughtUp:
		r.bornFailed(tick.Sub.Run, "schedule", s.Name)
	}
	if !r.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := []any{"schedule", s.Name, "at", tick.At.String(), "outcome", made.Outcome}
	if made.Reason != "" || made.Made.ID != tick.Sub.Run.ID { // no run was made
		r.log.Debug("tick decided", append(attrs, "job", s.Job, "reason", made.Reason)...)
		return
	}
	r.log.Debug("tick decided", AboutRun(tick.Sub.Run, attrs...)...)
}
