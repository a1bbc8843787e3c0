package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectRunState = `
SELECT r.tail, r.state, r.lane, r.job, r.priority, r.requeued_to, j.name, j.queue
FROM runs r JOIN jobs j ON j.id = r.job WHERE r.seq = $1`
	updateCancelled = `
UPDATE runs SET state = 8, lane = NULL, finished_at = $2, cancel_at = $2, queue = $3 WHERE seq = $1`
	updateCancelAsked = `UPDATE runs SET cancel_at = $2 WHERE seq = $1 AND cancel_at IS NULL`
	// What never was due is first due now: max_elapsed counts from there.
	updateDueNow = `
UPDATE runs
SET state = 2, due_at = $2, rank = $3, run_at = CASE state WHEN 1 THEN $2 ELSE run_at END
WHERE seq = $1`
	updateRequeuedTo = `UPDATE runs SET requeued_to = $2 WHERE seq = $1`
	selectRunWhole   = `
SELECT ` + runColumns + `, p.body
FROM runs r LEFT JOIN payloads p ON p.run = r.seq WHERE r.seq = $1`
	updateShifted = `
UPDATE runs SET due_at = due_at + $1, rank = rank + $1 WHERE state IN (1, 4) AND state = 4`
	insertAuditEntry = `
INSERT INTO audit (at, actor, action, kind, name, note, change) VALUES ($1, $2, $3, $4, $5, $6, $7)`
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
}

func (s *Store) runRow(tx Tx, id jobs.ID) (row runRow, err error) {
	tail := int64(0)
	found, err := one(tx, selectRunState, func(r Row) {
		tail = r.Int(0)
		row = runRow{
			state: jobs.State(r.Int(1)), lane: r.Int(2), job: r.Int(3), priority: int(r.Int(4)),
			requeuedTo: r.ID(5), jobName: r.Text(6), queue: r.Text(7),
		}
	}, id.Seq())
	if err == nil && (!found || tail != id.Tail()) {
		err = fmt.Errorf("run %s: %w", id, store.ErrNotFound)
	}
	return row, err
}

func (s *Store) audit(tx Tx, by store.By, action, kind, name string, change jobs.Raw) error {
	var text any
	if change != nil {
		text = string(change)
	}
	_, err := tx.Exec(insertAuditEntry, int64(by.Now), by.Actor, action, kind, name,
		noneText(by.Note), text)
	return err
}

// Cancel implements store.Queue.
func (s *Store) Cancel(ctx context.Context, id jobs.ID, by store.By) (state jobs.State, err error) {
	err = s.db.Write(ctx, func(tx Tx) error {
		row, err := s.runRow(tx, id)
		if err != nil {
			return err
		}
		state = row.state
		switch {
		case state == jobs.Cancelled:
			return nil
		case state.Terminal():
			return fmt.Errorf("run %s has %s: %w", id, state, store.ErrState)
		case state == jobs.Running:
			changed, err := tx.Exec(updateCancelAsked, id.Seq(), int64(by.Now))
			if err != nil || changed == 0 {
				return err
			}
		default:
			if err := s.cancelIdle(tx, id, row, by.Now); err != nil {
				return err
			}
			state = jobs.Cancelled
		}
		return s.audit(tx, by, "cancel", "run", id.String(), nil)
	})
	return state, err
}

// cancelIdle ends a run of which nothing runs.
func (s *Store) cancelIdle(tx Tx, id jobs.ID, row runRow, now jobs.Time) error {
	if err := must(tx.Exec(updateCancelled, id.Seq(), int64(now), row.queue)); err != nil {
		return err
	}
	if row.state != jobs.Queued {
		return nil
	}
	l, err := s.laneOf(tx, row.lane)
	if err != nil {
		return err
	}
	return s.refreshLane(tx, l)
}

// RunNow implements store.Queue.
func (s *Store) RunNow(ctx context.Context, id jobs.ID, by store.By) error {
	return s.db.Write(ctx, func(tx Tx) error {
		row, err := s.runRow(tx, id)
		if err != nil {
			return err
		}
		switch row.state {
		case jobs.Queued, jobs.Running:
			return nil // nothing is left of a delay
		case jobs.Scheduled, jobs.Retrying:
		default:
			return fmt.Errorf("run %s has %s: %w", id, row.state, store.ErrState)
		}
		if err := must(tx.Exec(updateDueNow, id.Seq(), int64(by.Now), rankOf(by.Now, row.priority))); err != nil {
			return err
		}
		l, err := s.laneOf(tx, row.lane)
		if err != nil {
			return err
		}
		if err := s.joinLane(tx, l, by.Now, row.priority); err != nil {
			return err
		}
		return s.audit(tx, by, "run-now", "run", id.String(), nil)
	})
}

// Requeue implements store.Queue.
func (s *Store) Requeue(ctx context.Context, rq store.Requeue) (out store.Submitted, err error) {
	err = s.db.Write(ctx, func(tx Tx) error {
		row, err := s.runRow(tx, rq.Of)
		if err != nil {
			return err
		}
		if !row.state.Terminal() {
			return fmt.Errorf("run %s is %s: %w", rq.Of, row.state, store.ErrState)
		}
		if !row.requeuedTo.IsNil() {
			next, err := s.runRow(tx, row.requeuedTo)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if err == nil && !next.state.Terminal() {
				out, err = s.submittedRun(tx, row.requeuedTo, row.jobName)
				return err
			}
		}
		job, err := s.liveJob(tx, row.jobName)
		if err != nil {
			return err
		}
		run, err := s.successor(tx, &rq)
		if err != nil {
			return err
		}
		run.Job = row.jobName
		if err := s.insert(tx, job, run); err != nil {
			return fmt.Errorf("requeue run %s: %w", rq.Of, err)
		}
		if err := must(tx.Exec(updateRequeuedTo, rq.Of.Seq(), rq.ID[:])); err != nil {
			return err
		}
		out = submitted(run, false)
		return s.audit(tx, rq.By, "requeue", "run", rq.Of.String(),
			jobs.Raw(`{"run":"`+rq.ID.String()+`"}`))
	})
	return out, err
}

// successor is the run that a requeue makes: the same operation unless the old one had succeeded,
// the payload is given or it starts anew.
func (s *Store) successor(tx Tx, rq *store.Requeue) (*jobs.Run, error) {
	var old *jobs.Run
	var bad error
	_, err := one(tx, selectRunWhole, func(r Row) {
		if old, bad = scanRun(r); bad == nil {
			old.Payload = payloadOf(r, runColumnCount)
		}
	}, rq.Of.Seq())
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", rq.Of, err)
	}
	now := rq.By.Now
	run := &jobs.Run{
		ID: rq.ID, OperationID: old.OperationID, State: jobs.Queued, Trigger: rq.Trigger,
		Payload: old.Payload, Priority: old.Priority, Labels: old.Labels, CorrelationID: old.CorrelationID,
		Traceparent: old.Traceparent, CreatedBy: rq.Creator, CreatedAt: now, RunAt: now, DueAt: now,
		ScheduledFor: old.ScheduledFor, RequeuedFrom: rq.Of,
	}
	if rq.Payload != nil {
		run.Payload = rq.Payload
	}
	if rq.Payload != nil || rq.Reset || old.State == jobs.Succeeded {
		run.OperationID = rq.ID
	}
	return run, nil
}

// submittedRun describes a run that stands already.
func (s *Store) submittedRun(tx Tx, id jobs.ID, job string) (store.Submitted, error) {
	out := store.Submitted{ID: id, Job: job, Duplicate: true, Operation: id}
	_, err := one(tx, selectStanding, func(r Row) {
		if r.Int(0) != id.Tail() {
			return
		}
		out.State, out.Version, out.DueAt = jobs.State(r.Int(1)), int(r.Int(2)), r.Time(4)
		if !r.Null(3) {
			out.Operation = r.ID(3)
		}
	}, id.Seq())
	return out, err
}

// Remove implements store.Queue.
func (s *Store) Remove(ctx context.Context, id jobs.ID, by store.By) error {
	return s.db.Write(ctx, func(tx Tx) error {
		row, err := s.runRow(tx, id)
		if err != nil {
			return err
		}
		if !row.state.Terminal() {
			return fmt.Errorf("run %s is %s: %w", id, row.state, store.ErrState)
		}
		last, err := readEnded(tx, id.Seq())
		if err == nil {
			err = s.removeRun(tx, last)
		}
		if err == nil {
			err = keepFloor(tx, id.Seq())
		}
		if err != nil {
			return fmt.Errorf("remove run %s: %w", id, err)
		}
		return s.audit(tx, by, "remove", "run", id.String(), nil)
	})
}

// Shift implements store.Queue.
func (s *Store) Shift(ctx context.Context, step time.Duration) error {
	return s.db.Write(ctx, func(tx Tx) error {
		_, err := tx.Exec(updateShifted, step.Milliseconds())
		tx.Wake()
		return err
	})
}
