package sqldb

import (
	"database/sql/driver"
	"fmt"

	"nightshift/jobs"
)

const (
	upsertFailureGroup = `
INSERT INTO failure_groups (job, fingerprint, kind, type, message, count, first_at, last_at, ignored, ignored_more)
VALUES ($1, $2, $3, $4, $5, 1, $6, $6, 0, 0)
ON CONFLICT (job, fingerprint) DO UPDATE
SET message = excluded.message, count = failure_groups.count + 1, last_at = excluded.last_at,
    ignored_more = CASE WHEN ignored = 1 AND (ignored_until IS NULL OR ignored_until > excluded.last_at)
        THEN ignored_more + 1 ELSE ignored_more END
RETURNING id, CASE WHEN ignored = 1 AND (ignored_until IS NULL OR ignored_until > last_at) THEN 1 ELSE 0 END,
    ignored_by, ignored_until`
	updateFailed = `UPDATE runs SET failure = $2, dealt = $3, dealt_at = $4 WHERE seq = $1`

	// What a success resolves: the open failures before it, of its job or of its schedule ($3).
	earlierOf    = ` WHERE job = $1 AND dealt = 0 AND dealt IS NOT NULL AND seq < $2 AND $3 = ''`
	earlierTicks = `
WHERE schedule = $3 AND schedule IS NOT NULL AND dealt = 0 AND dealt IS NOT NULL AND +job = $1 AND seq < $2`
	selectEarlierOf    = `SELECT seq FROM runs` + earlierOf + ` LIMIT 1`
	selectEarlierTicks = `SELECT seq FROM runs` + earlierTicks + ` LIMIT 1`
	// Those that stand for others take these along.
	selectRequeuedOf    = idsOf + earlierOf + firstRequeued
	selectRequeuedTicks = idsOf + earlierTicks + firstRequeued
	idsOf               = `SELECT seq, tail FROM runs`
	firstRequeued       = ` AND requeued_from IS NOT NULL ORDER BY seq LIMIT 1000`
	insertEarlierOf     = dealingsOf + earlierOf + resolvedAnew
	insertEarlierTicks  = dealingsOf + earlierTicks + resolvedAnew
	dealingsOf          = `INSERT INTO dealings (run, by) SELECT seq, $4 FROM runs`
	resolvedAnew        = ` ON CONFLICT (run) DO UPDATE SET by = excluded.by, until = NULL, came = NULL`
	updateEarlierOf     = resolving + earlierOf
	updateEarlierTicks  = resolving + earlierTicks
	resolving           = `UPDATE runs SET dealt = 2, dealt_at = $4`
)

// earlier are the statements of what a success resolves: of its schedule, or not.
var earlier = map[bool]struct{ first, requeued, dealings, runs string }{
	false: {selectEarlierOf, selectRequeuedOf, insertEarlierOf, updateEarlierOf},
	true:  {selectEarlierTicks, selectRequeuedTicks, insertEarlierTicks, updateEarlierTicks},
}

// failureEnded takes in that a run has failed, or what the end of a run means for the failure that it was
// requeued from.
func (s *Store) failureEnded(tx Tx, e *ended) error {
	if e.state == jobs.Failed {
		if err := s.keepFailure(tx, e); err != nil {
			return fmt.Errorf("keep the failure of run %s: %w", e.id, err)
		}
	}
	if !e.links.RequeuedFrom.IsNil() {
		if err := requeueEnded(tx, e); err != nil {
			return fmt.Errorf("take in the end of the requeue %s: %w", e.id, err)
		}
	}
	if e.state == jobs.Succeeded && e.tell.ResolveEarlier {
		if err := s.resolveEarlier(tx, e); err != nil {
			return fmt.Errorf("resolve the failures before run %s: %w", e.id, err)
		}
	}
	if !e.links.Bulk.IsNil() {
		return s.bulkRunsEnded(tx, e.links.Bulk, e.state, 1, e.now)
	}
	return nil
}

// keepFailure makes a run a failure: open, or ignored where those alike are.
func (s *Store) keepFailure(tx Tx, e *ended) error {
	job, err := s.jobRow(tx, e.job)
	if err != nil {
		return err
	}
	f := e.failure
	if f == nil {
		f = &jobs.Failure{}
	}
	e.fingerprint = jobs.Fingerprint(e.job, f)
	var group int64
	var by string
	var until jobs.Time
	_, err = one(tx, upsertFailureGroup, func(r Row) {
		group, e.ignored, by, until = r.Int(0), r.Int(1) == 1, r.Text(2), r.Time(3)
	}, job.id, e.fingerprint, string(f.Kind), f.Type, f.Message, int64(e.now))
	if err != nil {
		return err
	}
	if !e.ignored {
		return must(tx.Exec(updateFailed, e.id.Seq(), group, int(jobs.FailureOpen), nil))
	}
	if err := must(tx.Exec(updateFailed, e.id.Seq(), group, int(jobs.FailureIgnored), int64(e.now))); err != nil {
		return err
	}
	_, err = tx.Exec(upsertDealing, e.id.Seq(), by, nil, none(until), 1)
	return err
}

// requeueEnded takes in what the end of a requeue means for those behind it: a success makes them good, a
// cancel opens the one that it was made from; where it failed it stands in its place.
func requeueEnded(tx Tx, e *ended) error {
	switch e.state {
	case jobs.Succeeded:
		return behind(tx, e.id, func(l *link) (bool, error) {
			if l.dealt == jobs.FailureResolved {
				return true, nil
			}
			return true, settle(tx, l, &settling{status: jobs.FailureResolved, by: byRun(e.id), now: e.now})
		})
	case jobs.Cancelled:
		return reopenBehind(tx, e.id)
	}
	return nil
}

// reopenBehind opens the failure that a requeue stood for.
func reopenBehind(tx Tx, id jobs.ID) error {
	return behind(tx, id, func(l *link) (bool, error) {
		if l.dealt != jobs.FailureRequeued {
			return false, nil
		}
		return false, must(tx.Exec(updateDealt, l.id.Seq(), int(jobs.FailureOpen), nil))
	})
}

// resolveEarlier resolves the open failures before a success: of its schedule, or of its job. There may be
// very many.
func (s *Store) resolveEarlier(tx Tx, e *ended) error {
	job, err := s.jobRow(tx, e.job)
	if err != nil {
		return err
	}
	of := earlier[e.schedule != ""]
	args := []driver.Value{job.id, e.id.Seq(), e.schedule}
	found, err := one(tx, of.first, func(Row) {}, args...)
	if err != nil || !found {
		return err
	}
	how := &settling{status: jobs.FailureResolved, by: byRun(e.id), now: e.now}
	if err := settleRequeued(tx, of.requeued, how, args); err != nil {
		return err
	}
	if _, err := tx.Exec(of.dealings, append(args, how.by)...); err != nil {
		return err
	}
	_, err = tx.Exec(of.runs, append(args, int64(how.now))...)
	return err
}

// settleRequeued settles those that stand for others: these go along.
func settleRequeued(tx Tx, query string, how *settling, args []driver.Value) error {
	for {
		var ids []jobs.ID
		err := tx.Query(query, func(r Row) error {
			ids = append(ids, jobs.IDOf(r.Int(0), r.Int(1)))
			return nil
		}, args...)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			l, _, err := readLink(tx, id)
			if err == nil {
				err = settleChain(tx, &l, how)
			}
			if err != nil {
				return err
			}
		}
	}
}

// byRun is who resolves what a run makes good.
func byRun(id jobs.ID) string { return "run " + id.String() }
