package sqldb

import (
	"context"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectRunState = `
SELECT r.tail, r.state, r.lane, r.job, r.priority, r.requeued_to, j.name, j.queue, r.schedule, r.overlap,
    r.batch, r.bkey, r.slices, r.number, r.parent, r.place, r.requeued_from, r.bulk, r.tells, r.members, r.cancel_at
FROM runs r JOIN jobs j ON j.id = r.job WHERE r.seq = $1`
	updateCancelled = `
UPDATE runs SET state = 8, lane = NULL, finished_at = $2, cancel_at = $2, queue = $3, attempt_at = NULL,
    slices = NULL, said = NULL,
    batch = CASE WHEN bkey IS NULL THEN NULL ELSE 3 END, long_at = NULL
WHERE seq = $1`
	updateCancelAsked = `UPDATE runs SET cancel_at = $2 WHERE seq = $1 AND cancel_at IS NULL`
	// What never was due is first due now: max_elapsed counts from there.
	updateDueNow = `
UPDATE runs
SET due_at = $2, rank = $3, run_at = CASE state WHEN 1 THEN $2 ELSE run_at END
WHERE seq = $1`
	updateShifted = `
UPDATE runs SET due_at = due_at + $1, rank = rank + $1 WHERE state IN (1, 4) AND state = 4`
	// By when they must have called back.
	updateWaitingShifted = `
UPDATE runs SET due_at = due_at + $1 WHERE state IN (3, 5) AND state = 5 AND members IS NULL`
)

// runRow is what a change of one run needs to know.
type runRow struct {
	state      jobs.State
	lane       int64
	job        int64
	priority   int
	requeuedTo jobs.ID
	jobName    string
	queue      string
	schedule   string
	line       string // in which it waits for another run, see lineOf; "": none
	bkey       string // of its checkpoint, as keyText writes it
	sliced     bool   // it is queued for its next slice: an attempt of it has begun
	number     int
	links      store.Links
	group      bool
	started    bool // of a group: its members have been made
	asked      bool // a cancel was acknowledged
}

func (s *Store) runRow(tx Tx, id jobs.ID) (row runRow, err error) {
	tail := int64(0)
	found, err := one(tx, selectRunState, func(r Row) {
		tail = r.Int(0)
		row = runRow{
			state: jobs.State(r.Int(1)), lane: r.Int(2), job: r.Int(3), priority: int(r.Int(4)),
			requeuedTo: r.ID(5), jobName: r.Text(6), queue: r.Text(7),
			schedule: r.Text(8), line: lineOf(!r.Null(9), r.Int(10)), bkey: r.Text(11), sliced: !r.Null(12),
			number: int(r.Int(13)),
			links: store.Links{
				Group: r.ID(14), Place: int(r.Int(15)), RequeuedFrom: r.ID(16), Bulk: r.ID(17), Tells: jobs.Tells(r.Int(18)),
			},
			group: !r.Null(19), started: !r.Null(19) && r.Int(19) >= 0, asked: !r.Null(20),
		}
	}, id.Seq())
	if err == nil && (!found || tail != id.Tail()) {
		err = fmt.Errorf("run %s: %w", id, store.ErrNotFound)
	}
	return row, err
}

// findRun is runRow for a run that may be gone.
func (s *Store) findRun(tx Tx, id jobs.ID) (row runRow, found bool, err error) {
	row, err = s.runRow(tx, id)
	if errors.Is(err, store.ErrNotFound) {
		return row, false, nil
	}
	return row, err == nil, err
}

// Cancel implements store.Queue.
func (s *Store) Cancel(ctx context.Context, id jobs.ID, by store.By) (out store.Cancelled, err error) {
	err = s.write(ctx, func(tx Tx) error {
		out = store.Cancelled{}
		row, err := s.runRow(tx, id)
		if err != nil {
			return err
		}
		out.State = row.state
		change := changed("state", row.state.String(), jobs.Cancelled.String())
		switch {
		case out.State == jobs.Cancelled:
			return nil
		case out.State.Terminal():
			return fmt.Errorf("run %s has %s: %w", id, out.State, store.ErrState)
		}
		over, stop, err := s.cancelRun(tx, id, row, cancelling{by.Now, jobs.ByCancel, "cancelled on request"})
		if err != nil {
			return err
		}
		if out.Stop = stop; over {
			out.State = jobs.Cancelled
		} else if row.asked {
			return nil
		} else {
			change = changed("cancel_requested_at", nil, by.Now)
		}
		return s.audit(tx, by, "cancel", "run", id.String(), change)
	})
	return out, err
}

// cancelling is why runs end that did nothing just then.
type cancelling struct {
	now        jobs.Time
	by, reason string
}

// cancelIdle ends a run of which nothing runs. An attempt of it that waited, for its callback or its
// next slice, ends with it. stop: runs with an attempt under way that is to end for that.
func (s *Store) cancelIdle(tx Tx, id jobs.ID, row runRow, why cancelling) (stop []jobs.ID, err error) {
	if row.state == jobs.Waiting || row.sliced {
		err := s.endIdle(tx, idle{id.Seq(), row.number}, why)
		if err == nil {
			err = s.dropSlots(tx)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := must(tx.Exec(updateCancelled, id.Seq(), int64(why.now), row.queue)); err != nil {
		return nil, err
	}
	if row.group {
		if err := s.setPhase(tx, id, store.GroupOver); err != nil {
			return nil, err
		}
	}
	if row.state == jobs.Queued {
		l, err := s.laneOf(tx, row.lane)
		if err == nil {
			err = s.refreshLane(tx, l)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.ended(tx, &ended{
		id: id, job: row.jobName, state: jobs.Cancelled, now: why.now, links: row.links, schedule: row.schedule,
	})
}

// idle is an attempt that waits for its callback or its next slice.
type idle struct {
	run    int64
	number int
}

// endIdle ends such an attempt. Its slots are for others now.
func (s *Store) endIdle(tx Tx, a idle, why cancelling) error {
	if _, err := tx.Exec(insertCancelledAttempt, int64(why.now), why.by, why.reason, a.run); err != nil {
		return err
	}
	if err := dropAttempt(tx, a.run, a.number); err != nil {
		return err
	}
	tx.Wake()
	return s.giveBack(tx, jobs.IDOf(a.run, 0))
}

// RunNow implements store.Queue.
func (s *Store) RunNow(ctx context.Context, id jobs.ID, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		row, err := s.runRow(tx, id)
		if err != nil {
			return err
		}
		switch row.state {
		case jobs.Queued, jobs.Running, jobs.Waiting:
			return nil // nothing is left of a delay
		case jobs.Scheduled, jobs.Retrying:
		default:
			return fmt.Errorf("run %s has %s: %w", id, row.state, store.ErrState)
		}
		if err := must(tx.Exec(updateDueNow, id.Seq(), int64(by.Now), rankOf(by.Now, row.priority))); err != nil {
			return err
		}
		job, run, err := s.waiting(tx, id)
		if err == nil {
			err = s.queueIn(tx, job, run, row.line)
		}
		if err != nil {
			return err
		}
		return s.audit(tx, by, "run-now", "run", id.String(), changed("state", row.state.String(), jobs.Queued.String()))
	})
}

// standingRun is a run that stands for one that is not made.
type standingRun struct {
	store.Submitted // its state is zero where it has been pruned
	created         jobs.Time
	started         jobs.Time // zero: never
	folded          []byte    // see noteFolded
	lane            int64
	priority        int
	trigger         jobs.Trigger
	kept            jobs.Time // until when its unique key is, by which it was found
}

func (s *Store) readStanding(tx Tx, id jobs.ID, job string) (standingRun, error) {
	run := standingRun{Submitted: store.Submitted{ID: id, Job: job, Duplicate: true, Operation: id}}
	_, err := one(tx, selectStanding, func(r Row) {
		if r.Int(0) != id.Tail() {
			return
		}
		run.State, run.Version, run.DueAt = jobs.State(r.Int(1)), int(r.Int(2)), r.Time(4)
		if !r.Null(3) {
			run.Operation = r.ID(3)
		}
		run.created, run.started, run.folded = r.Time(5), r.Time(6), r.Bytes(7)
		run.lane, run.priority, run.trigger = r.Int(8), int(r.Int(9)), jobs.Trigger(r.Text(10))
		if run.State == jobs.Queued && !r.Null(11) {
			run.State = jobs.Running // between two slices
		}
	}, id.Seq())
	return run, err
}

// submittedRun describes a run that stands already.
func (s *Store) submittedRun(tx Tx, id jobs.ID, job string) (store.Submitted, error) {
	run, err := s.readStanding(tx, id, job)
	return run.Submitted, err
}

// Remove implements store.Queue.
func (s *Store) Remove(ctx context.Context, id jobs.ID, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		row, err := s.runRow(tx, id)
		if err != nil {
			return err
		}
		if !row.state.Terminal() {
			return fmt.Errorf("run %s is %s: %w", id, row.state, store.ErrState)
		}
		last, err := readEnded(tx, id.Seq())
		if err != nil {
			return err
		}
		needed, err := neededByGroup(tx, &last)
		if err == nil && needed {
			return fmt.Errorf("run %s belongs to a group that has not ended: %w", id, store.ErrState)
		}
		if err == nil {
			err = s.removeRun(tx, last)
		}
		if err == nil {
			err = keepFloor(tx, id.Seq())
		}
		if err == nil {
			_, err = tx.Exec(deleteUniqueKey, id[:])
		}
		if err != nil {
			return fmt.Errorf("remove run %s: %w", id, err)
		}
		return s.audit(tx, by, "remove", "run", id.String(), changed("job", row.jobName, nil), changed("state", row.state.String(), nil))
	})
}
