package sqldb

import (
	"context"
	"encoding/json"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const updateScheduleDecided = `
UPDATE schedules SET cursor = $2, due_at = $3, backlog = $4, stamp = stamp + 1 WHERE id = $1`

// Decide implements store.Schedules.
func (s *Store) Decide(
	ctx context.Context, now jobs.Time, list []store.Decision,
) (out []store.Decided, err error) {
	err = s.write(ctx, func(tx Tx) error {
		out = make([]store.Decided, len(list))
		for i := range list {
			d := deciding{Store: s, tx: tx, now: now, d: &list[i], out: &out[i]}
			if err := d.decide(); err != nil {
				return fmt.Errorf("decide ticks of schedule %s: %w", list[i].Schedule.Name, err)
			}
		}
		return s.dropSlots(tx)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// deciding is one Decision under way.
type deciding struct {
	*Store
	tx  Tx
	now jobs.Time
	d   *store.Decision
	out *store.Decided
	row *scheduleRow
	job *jobRow
}

func (d *deciding) decide() (err error) {
	if d.row, err = standingOf(d.tx, d.d.Schedule.Name); err != nil {
		return err
	}
	if d.row == nil || d.row.deleted || d.row.stamp != d.d.Schedule.Stamp {
		d.out.Stale = true
		return nil
	}
	d.row.schedule = d.d.Schedule.Schedule // the stamp would tell if it had changed
	if d.job, err = d.jobByID(d.tx, d.row.job); err != nil {
		return err
	}
	for _, r := range d.d.Skipped {
		if err := keepSkipped(d.tx, d.row, r); err != nil {
			return err
		}
	}
	// What is due on time comes before what is caught up.
	onTime, err := d.onTime()
	if err != nil {
		return err
	}
	for i := range d.d.CaughtUp {
		made, err := d.caughtUp(&d.d.CaughtUp[i])
		if err != nil {
			return err
		}
		d.out.Ran = append(d.out.Ran, made)
	}
	if onTime != nil {
		d.out.Ran = append(d.out.Ran, *onTime)
	}
	err = d.releaseBy(d.tx, d.row.name, func() (string, error) { return d.row.schedule.OverlapOf(), nil })
	if err != nil {
		return err
	}
	if err := d.tellMissed(); err != nil {
		return err
	}
	return d.keep()
}

// keep writes how far the schedule has come.
func (d *deciding) keep() error {
	backlog, err := backlogText(d.d.Backlog)
	if err != nil {
		return err
	}
	due := d.d.Next
	if d.row.paused != 0 {
		due = 0
	}
	return must(d.tx.Exec(updateScheduleDecided, d.row.id, int64(max(d.row.cursor, d.d.Cursor)), none(due),
		backlog))
}

// backlogText is what the row keeps of ticks to catch up; nil: there are none.
func backlogText(left jobs.TickRange) (any, error) {
	if left.Count == 0 {
		return nil, nil
	}
	text, err := json.Marshal(left)
	return string(text), err
}

// onTime makes the run of the tick that is due; nil: there is none.
func (d *deciding) onTime() (*store.TickMade, error) {
	t := d.d.OnTime
	if t == nil {
		return nil, nil
	}
	made := &store.TickMade{}
	reason, err := d.refused(t)
	if err != nil || reason == decidedBefore {
		return made, err
	}
	way := startsNow
	if reason == "" && !t.Sub.Run.State.Terminal() { // nothing gives way to a run that has failed already
		if way, err = d.overlap(); err != nil {
			return nil, err
		}
		if way == isSkipped {
			reason = jobs.SkipOverlap
		}
	}
	if reason != "" {
		made.Outcome, made.Reason = jobs.TickSkipped, reason
		return made, d.skip(t.At, reason)
	}
	made.Outcome = jobs.TickRan
	return made, d.make(t, made, way == mustWait)
}

// caughtUp makes the run of a tick that was missed. It waits in the line of such runs.
func (d *deciding) caughtUp(t *store.TickRun) (made store.TickMade, err error) {
	reason, err := d.refused(t)
	if err != nil || reason == decidedBefore {
		return made, err
	}
	if reason != "" {
		made.Outcome, made.Reason = jobs.TickSkipped, reason
		return made, d.skip(t.At, reason)
	}
	made.Outcome = jobs.TickCaughtUp
	return made, d.make(t, &made, true)
}

// decidedBefore is no reason to skip a tick: the ledger knows it.
const decidedBefore = "decided"

// refused says why no run may be made for a tick, overlap aside; "": one may.
func (d *deciding) refused(t *store.TickRun) (reason string, err error) {
	known, err := knows(d.tx, d.row, t.At)
	if err != nil {
		return "", err
	}
	if known {
		return decidedBefore, nil
	}
	if t.Sub.Unique == nil || t.Sub.Run.State.Terminal() {
		return "", nil
	}
	by, _, err := d.uniqueHolder(d.tx, d.job, t.Sub.Unique, d.now)
	if err != nil || by == nil {
		return "", err
	}
	return jobs.SkipUnique, nil
}

// skip writes a single tick that made no run.
func (d *deciding) skip(at jobs.Time, reason string) error {
	t, err := d.row.timetable()
	if err != nil {
		return err
	}
	return keepSkipped(d.tx, d.row, jobs.TickRange{From: at, To: at, Count: 1, Reason: reason, Before: t.Prev(at)})
}

// make makes a tick's run, and its line in the ledger.
func (d *deciding) make(t *store.TickRun, made *store.TickMade, waits bool) error {
	run := t.Sub.Run
	var err error
	if waits && !run.State.Terminal() {
		err = d.insertWaiting(d.tx, d.job, run)
	} else {
		err = d.insert(d.tx, d.job, run)
	}
	if err != nil {
		return err
	}
	if err := keepUnique(d.tx, d.job, t.Sub.Unique, run); err != nil {
		return err
	}
	made.Made = submitted(run, false)
	return keepRan(d.tx, d.row, t, made.Outcome, run.ID)
}

func (d *deciding) tellMissed() error {
	m := d.d.Missed
	if m == nil {
		return nil
	}
	return d.keepEvent(d.tx, store.Event{
		At: d.now, Type: jobs.EventScheduleMissed, Subject: jobs.ScheduleSubject(m.Schedule), Job: m.Job,
		Data: jobs.AppendJSON(nil, m),
	})
}
