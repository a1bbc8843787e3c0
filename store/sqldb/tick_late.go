package sqldb

import (
	"context"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectNextLate = `SELECT late_at FROM ticks WHERE late_at IS NOT NULL ORDER BY late_at LIMIT 1`
	selectLate     = `
SELECT t.schedule, t.job, t.at, t.run, t.late_at, t.late_success, s.name, j.name,
    s.deleted_at IS NOT NULL OR j.deleted_at IS NOT NULL
FROM ticks t JOIN schedules s ON s.id = t.schedule JOIN jobs j ON j.id = t.job
WHERE t.late_at <= $1 AND t.late_at IS NOT NULL ORDER BY t.late_at LIMIT $2`
	updateTickLooked = `
UPDATE ticks SET late_at = NULL, late_success = NULL, late = $4 WHERE schedule = $1 AND job = $2 AND at = $3`
	selectProgress = `SELECT tail, state, started_at, finished_at, requeued_to FROM runs WHERE seq = $1`

	// gatherLate is how long a look at late ticks may wait for others, to share one transaction.
	gatherLate = 5 * time.Second
)

// lateTick is a tick whose time is over.
type lateTick struct {
	schedule, job int64
	at            jobs.Time
	run           jobs.ID
	deadline      jobs.Time
	success       bool
	name, jobName string
	gone          bool // the schedule or the job: nobody waits for it any more
}

// TellLate implements store.Schedules.
func (s *Store) TellLate(
	ctx context.Context, now jobs.Time, limit int,
) (told []jobs.ScheduleLate, more bool, err error) {
	err = s.write(ctx, func(tx Tx) error {
		told = nil
		var list []lateTick
		err := tx.Query(selectLate, func(r Row) error {
			list = append(list, lateTick{
				r.Int(0), r.Int(1), r.Time(2), r.ID(3), r.Time(4), r.Int(5) == 1, r.Text(6), r.Text(7),
				r.Int(8) == 1,
			})
			return nil
		}, int64(now), limit)
		more = len(list) == limit
		for i := 0; err == nil && i < len(list); i++ {
			var late *jobs.ScheduleLate
			if late, err = s.tellLate(tx, &list[i], now); late != nil {
				told = append(told, *late)
			}
		}
		return err
	})
	return told, more, err
}

// tellLate keeps the event of a tick that is late; nil: it is not.
func (s *Store) tellLate(tx Tx, t *lateTick, now jobs.Time) (*jobs.ScheduleLate, error) {
	var state jobs.State
	late := false
	if !t.gone {
		var err error
		if state, late, err = t.look(tx); err != nil {
			return nil, err
		}
	}
	mark := any(nil)
	if late {
		mark = int64(1)
	}
	if err := must(tx.Exec(updateTickLooked, t.schedule, t.job, int64(t.at), mark)); err != nil || !late {
		return nil, err
	}
	what := "has not started"
	if t.success {
		what = "has not succeeded"
	}
	said := &jobs.ScheduleLate{
		Schedule: t.name, Job: t.jobName, Run: t.run, ScheduledFor: t.at, Deadline: t.deadline, State: state,
		Reason: fmt.Sprintf("the run for %s %s by %s", t.at, what, t.deadline),
	}
	return said, s.keepEvent(tx, store.Event{
		At: now, Type: jobs.EventScheduleLate, Subject: jobs.ScheduleSubject(t.name), Job: t.jobName, Run: t.run,
		Data: jobs.AppendJSON(nil, said),
	})
}

// look reports whether the tick's run, or one that was requeued from it, has not done in time what was
// asked for. One that is gone was not a failure: these are kept.
func (t *lateTick) look(tx Tx) (state jobs.State, late bool, err error) {
	for id := t.run; ; {
		var at, started, finished jobs.Time
		var next jobs.ID
		now := jobs.State(0)
		_, err := one(tx, selectProgress, func(r Row) {
			if r.Int(0) == id.Tail() {
				now, started, finished, next = jobs.State(r.Int(1)), r.Time(2), r.Time(3), r.ID(4)
			}
		}, id.Seq())
		if err != nil || now == 0 {
			return state, false, err
		}
		if state = now; t.success {
			if state == jobs.Succeeded {
				at = finished
			}
		} else if at = started; state == jobs.Cancelled && at == 0 && next.IsNil() {
			return state, false, nil // somebody did not want it to start
		}
		if at != 0 && at <= t.deadline {
			return state, false, nil
		}
		if next.IsNil() {
			return state, true, nil
		}
		id = next
	}
}
