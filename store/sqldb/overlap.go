package sqldb

import (
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// The unfinished runs of a schedule stand in a line (contract 7, overlap). See Lines in doc.go.

// heldOverlap is the lane of runs that wait for an earlier one of their schedule: no secret has this name.
const heldOverlap = ":overlap"

const (
	// Under way, or free to be: not waiting in the line.
	selectAhead = `
SELECT seq, tail, state, cause FROM runs
WHERE schedule = $1 AND overlap IS NULL AND schedule IS NOT NULL AND state < 6 ORDER BY cause, seq LIMIT 10000`
	selectAheadFirst = `
SELECT seq, tail FROM runs
WHERE schedule = $1 AND overlap IS NULL AND schedule IS NOT NULL AND state < 6 ORDER BY cause, seq LIMIT 1`
	selectAheadCause = `
SELECT seq FROM runs
WHERE schedule = $1 AND overlap IS NULL AND cause = $2 AND schedule IS NOT NULL AND state < 6 LIMIT 1`
	selectInLine = `
SELECT seq, tail FROM runs
WHERE schedule = $1 AND overlap = 1 AND cause = $2 AND schedule IS NOT NULL AND state < 6 ORDER BY seq LIMIT 1`
	// Schedules with runs of a job of which nothing runs, also those that make runs of another one now.
	selectLinesQueued  = `SELECT schedule FROM runs` + queuedOf + ` AND +schedule IS NOT NULL`
	selectLinesDue     = `SELECT schedule FROM runs` + dueOf + ` AND +schedule IS NOT NULL`
	selectLinesWaiting = `SELECT schedule FROM runs` + waitingOf + ` AND +schedule IS NOT NULL`
	updateLetGo        = `UPDATE runs SET overlap = NULL WHERE seq = $1`
)

// way is how a tick's run comes to be.
type way int

const (
	startsNow way = iota
	mustWait
	isSkipped
)

// aheadRun is an unfinished run of the schedule that does not wait in the line.
type aheadRun struct {
	id      jobs.ID
	state   jobs.State
	catchUp bool
}

// overlap finds out how the run of a tick comes to be beside the unfinished runs of its schedule, and has
// those make way that are to.
func (d *deciding) overlap() (way, error) {
	mode := d.row.schedule.OverlapOf()
	if mode == jobs.OverlapAllow {
		return startsNow, nil
	}
	waiting, err := d.inLine(jobs.TriggerSchedule)
	if err != nil {
		return startsNow, err
	}
	ahead, err := d.ahead()
	if err != nil {
		return startsNow, err
	}
	others := len(ahead) > 0 // besides those that catch up
	for i := range ahead {
		if others = !ahead[i].catchUp; others {
			break
		}
	}
	switch {
	case mode == jobs.OverlapSkip && (others || !waiting.IsNil()):
		return isSkipped, nil
	case mode == jobs.OverlapReplace:
		if ahead, err = d.replace(ahead); err != nil {
			return startsNow, err
		}
	}
	if !waiting.IsNil() {
		if _, err := d.giveWay(waiting); err != nil {
			return startsNow, err
		}
	}
	if len(ahead) == 0 {
		return startsNow, nil
	}
	return mustWait, nil
}

// ahead are the runs that are under way or free to start, catch-ups first.
func (d *deciding) ahead() (list []aheadRun, err error) {
	err = d.tx.Query(selectAhead, func(r Row) error {
		list = append(list, aheadRun{
			jobs.IDOf(r.Int(0), r.Int(1)), jobs.State(r.Int(2)), r.Text(3) == string(jobs.TriggerCatchUp),
		})
		return nil
	}, d.row.name)
	return list, err
}

// inLine is the first run that waits in the line and was made so; NilID: none does.
func (d *deciding) inLine(by jobs.Trigger) (id jobs.ID, err error) {
	_, err = one(d.tx, selectInLine, func(r Row) { id = jobs.IDOf(r.Int(0), r.Int(1)) }, d.row.name, string(by))
	return id, err
}

// replace ends earlier runs, those that catch up aside, and gives those that have not ended yet.
func (d *deciding) replace(ahead []aheadRun) (left []aheadRun, err error) {
	for _, run := range ahead {
		switch {
		case run.catchUp:
			left = append(left, run)
			continue
		case run.state == jobs.Running:
			left = append(left, run)
			err = d.askToEnd(run.id)
		default:
			over := false
			if over, err = d.giveWay(run.id); err == nil && !over {
				left = append(left, run)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// giveWay cancels a run of which nothing runs, for a newer tick. over: it has ended; of a group members may
// run still.
func (d *deciding) giveWay(id jobs.ID) (over bool, err error) {
	row, err := d.runRow(d.tx, id)
	if err != nil {
		return false, err
	}
	row.schedule = "" // what waits behind it is decided about here
	why := cancelling{d.now, jobs.ByCancel, "a newer tick of its schedule took its place"}
	over, stop, err := d.cancelRun(d.tx, id, row, why)
	if err != nil {
		return false, err
	}
	d.out.Stop = append(d.out.Stop, stop...)
	if over {
		d.out.Cancelled = append(d.out.Cancelled, id)
	} else if row.asked {
		return false, nil
	}
	return over, d.auditReplaced(id, changed("state", row.state.String(), jobs.Cancelled.String()))
}

// askToEnd has a run end of which an attempt is under way, for a newer tick.
func (d *deciding) askToEnd(id jobs.ID) error {
	asked, err := d.tx.Exec(updateCancelAsked, id.Seq(), int64(d.now))
	if err != nil {
		return err
	}
	d.out.Stop = append(d.out.Stop, id)
	if asked == 0 {
		return nil // it was asked before
	}
	return d.auditReplaced(id, changed("cancel_requested_at", nil, d.now))
}

func (d *deciding) auditReplaced(id jobs.ID, change jobs.Change) error {
	by := store.By{Actor: "schedule " + d.row.name, Now: d.now, Note: "a newer tick took its place"}
	return d.audit(d.tx, by, "cancel", "run", id.String(), change)
}

// insertWaiting makes a run that waits in the line of its schedule, once it is due.
func (s *Store) insertWaiting(tx Tx, job *jobRow, run *jobs.Run) error {
	h, err := s.hostsOf(tx, job)
	if err != nil {
		return err
	}
	run.Version, run.Host = job.version, h.of(run.Payload)
	return s.insertInLine(tx, job, run, heldOverlap)
}

// releaseNext lets the runs of a schedule's line go that may: where something of it runs, none but for
// overlap: allow, of which those that catch up wait for each other alone.
func (s *Store) releaseNext(tx Tx, schedule string) error {
	if schedule == "" {
		return nil
	}
	return s.releaseBy(tx, schedule, func() (string, error) {
		row, err := scheduleRowOf(tx, schedule)
		if err != nil || row == nil {
			return "", err
		}
		return row.schedule.OverlapOf(), nil
	})
}

// releaseBy is releaseNext; mode reads the overlap of the schedule, where it matters.
func (s *Store) releaseBy(tx Tx, schedule string, mode func() (string, error)) error {
	for _, cause := range []jobs.Trigger{jobs.TriggerSchedule, jobs.TriggerCatchUp} {
		var next jobs.ID
		_, err := one(tx, selectInLine, func(r Row) { next = jobs.IDOf(r.Int(0), r.Int(1)) }, schedule, string(cause))
		if err != nil {
			return err
		}
		if next.IsNil() {
			continue
		}
		free, err := freeToGo(tx, schedule, cause, mode)
		if err != nil || !free {
			return err
		}
		if err := s.letGo(tx, next); err != nil {
			return fmt.Errorf("let run %s of schedule %s go: %w", next, schedule, err)
		}
	}
	return nil
}

// linesOf are the schedules with runs of a job that end when it is deleted.
func linesOf(tx Tx, job int64) (schedules []string, err error) {
	for _, q := range []string{selectLinesQueued, selectLinesDue, selectLinesWaiting} {
		err := tx.Query(q, func(r Row) error {
			schedules = append(schedules, r.Text(0))
			return nil
		}, job)
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(schedules)
	return slices.Compact(schedules), nil
}

// freeToGo reports whether the next run that a trigger made may leave the line.
func freeToGo(tx Tx, schedule string, cause jobs.Trigger, mode func() (string, error)) (bool, error) {
	busy, err := one(tx, selectAheadFirst, func(Row) {}, schedule)
	if err != nil || !busy {
		return !busy, err
	}
	overlap, err := mode()
	if err != nil || overlap != jobs.OverlapAllow {
		return false, err
	}
	if cause != jobs.TriggerCatchUp {
		return true, nil
	}
	busy, err = one(tx, selectAheadCause, func(Row) {}, schedule, string(cause))
	return !busy, err
}

// letGo has a run wait for nothing but its time, a worker and its gates, or in the line of its checkpoint
// key: others may have joined that before it.
func (s *Store) letGo(tx Tx, id jobs.ID) error {
	if err := must(tx.Exec(updateLetGo, id.Seq())); err != nil {
		return err
	}
	job, run, err := s.waiting(tx, id)
	if err != nil {
		return err
	}
	line := ""
	if run.Keys.Checkpoint != nil {
		line = heldBatch
		if err := must(tx.Exec(updateBatch, id.Seq(), batchWaits)); err != nil {
			return err
		}
	}
	if run.State == jobs.Queued {
		if err := s.queueIn(tx, job, run, line); err != nil {
			return err
		}
	}
	return s.releaseBatch(tx, job, keyText(run.Keys.Checkpoint))
}
