package sqldb

import (
	"context"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	updateRequeuedTo = `UPDATE runs SET requeued_to = $2 WHERE seq = $1`
	selectRunWhole   = `
SELECT ` + runColumns + `, p.body
FROM runs r LEFT JOIN payloads p ON p.run = r.seq WHERE r.seq = $1`
)

// Requeue implements store.Queue.
func (s *Store) Requeue(ctx context.Context, rq store.Requeue) (out store.Submitted, err error) {
	err = s.write(ctx, func(tx Tx) error {
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
		if err := s.freeToRequeue(tx, job, &rq); err != nil {
			return err
		}
		if rq.Reset {
			if err := s.resetBatch(tx, job, run); err != nil {
				return err
			}
		}
		if err := s.joinGroup(tx, run, row); err != nil {
			return err
		}
		if err := s.insert(tx, job, run); err != nil {
			return fmt.Errorf("requeue run %s: %w", rq.Of, err)
		}
		if err := keepUnique(tx, job, rq.Unique, run); err != nil {
			return err
		}
		if err := takesPlace(tx, run); err != nil {
			return err
		}
		if job.pool == store.PoolGroup {
			if err := s.requeueGroup(tx, run.ID, row, &rq); err != nil {
				return err
			}
		}
		out = submitted(run, false)
		return s.audit(tx, rq.By, "requeue", "run", rq.Of.String(),
			jobs.Raw(`{"run":"`+rq.ID.String()+`"}`))
	})
	return out, err
}

// successor is the run that a requeue makes.
func (s *Store) successor(tx Tx, rq *store.Requeue) (*jobs.Run, error) {
	var old *jobs.Run
	var bad error
	_, err := one(tx, selectRunWhole, func(r Row) {
		old, bad = scanWhole(r)
	}, rq.Of.Seq())
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", rq.Of, err)
	}
	run := rq.Run(old)
	if run.OperationID == old.OperationID {
		err = continued(tx, run)
	}
	return run, err
}

// continued has a run know of the slices that its operation has had.
func continued(tx Tx, run *jobs.Run) error {
	_, err := one(tx, selectContinues, func(r Row) { run.Continues = int(r.Int(0)) },
		run.OperationID[:], run.OperationID.Seq())
	return err
}

// takesPlace has the run that another one was requeued from point to that.
func takesPlace(tx Tx, run *jobs.Run) error {
	return must(tx.Exec(updateRequeuedTo, run.RequeuedFrom.Seq(), run.ID[:]))
}
