package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectRunWhole = `
SELECT ` + runColumns + `, p.body
FROM runs r LEFT JOIN payloads p ON p.run = r.seq WHERE r.seq = $1`
)

// Requeue implements store.Queue.
func (s *Store) Requeue(ctx context.Context, rq store.Requeue) (out store.Submitted, err error) {
	err = s.write(ctx, func(tx Tx) error {
		if out, err = s.requeue(tx, &rq); err != nil || out.Duplicate {
			return err
		}
		changes, err := requeueChanges(tx, &rq)
		if err != nil {
			return err
		}
		return s.audit(tx, rq.By, "requeue", "run", rq.Of.String(), changes...)
	})
	return out, err
}

// requeueChanges are what the new run has otherwise, for the audit.
func requeueChanges(tx Tx, rq *store.Requeue) ([]jobs.Change, error) {
	list := []jobs.Change{changed("requeued_to", nil, rq.ID)}
	if rq.Reset {
		list = append(list, changed("reset", nil, true))
	}
	if rq.Payload == nil {
		return list, nil
	}
	var old *jobs.Run
	var bad error
	_, err := one(tx, selectRunWhole, func(r Row) { old, bad = scanWhole(r) }, rq.Of.Seq())
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("read run %s: %w", rq.Of, err)
	}
	for _, c := range jobs.Diff(old.Payload, rq.Payload) {
		dot := "."
		if c.Location == "" || strings.HasPrefix(c.Location, "[") {
			dot = ""
		}
		c.Location = "payload" + dot + c.Location
		list = append(list, c)
	}
	return list, nil
}

// requeue changes nothing where it refuses: there is no such run or job, the run has not ended, its group is
// being cancelled, or another stands by its unique key.
func (s *Store) requeue(tx Tx, rq *store.Requeue) (out store.Submitted, err error) {
	row, err := s.runRow(tx, rq.Of)
	if err != nil {
		return out, err
	}
	if !row.state.Terminal() {
		return out, fmt.Errorf("run %s is %s: %w", rq.Of, row.state, store.ErrState)
	}
	end, unfinished, err := endOf(tx, rq.Of)
	if err != nil {
		return out, err
	}
	if unfinished {
		return s.submittedRun(tx, end, row.jobName)
	}
	if err := s.room(rq.Most); err != nil {
		return out, err
	}
	job, err := s.liveJob(tx, row.jobName)
	if err != nil {
		return out, err
	}
	run, err := s.successor(tx, rq)
	if err != nil {
		return out, err
	}
	run.Job, run.RequeuedFrom = row.jobName, end
	if err := s.freeToRequeue(tx, job, rq); err != nil {
		return out, err
	}
	if err := s.joinGroup(tx, run, row); err != nil {
		return out, err
	}
	if rq.Reset {
		if err := s.resetBatch(tx, job, run); err != nil {
			return out, err
		}
	}
	if err := s.insert(tx, job, run); err != nil {
		return out, fmt.Errorf("requeue run %s: %w", rq.Of, err)
	}
	if err := keepUnique(tx, job, rq.Unique, run); err != nil {
		return out, err
	}
	if err := requeuedOf(tx, rq.Of, run); err != nil {
		return out, err
	}
	if job.pool == store.PoolGroup {
		err = s.requeueGroup(tx, run, rq.Of, rq.Reset || rq.Payload != nil)
	}
	return submitted(run, false), err
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
