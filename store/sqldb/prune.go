package sqldb

import (
	"context"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	endedColumns = `seq, tail, state, finished_at, dealt_at, requeued_from, requeued_to,
    continues, parent, members`
	endedColumnCount = 10
	selectEnded      = `SELECT ` + endedColumns + ` FROM runs WHERE seq = $1`
	selectOldKeys    = `
SELECT until, job, sort, key, run FROM keys
WHERE until <= $1 AND (until, job, sort, key) > ($2, $3, $4, $5)
ORDER BY until, job, sort, key LIMIT $6`
	selectRunsState = `SELECT state FROM runs WHERE seq = $1`
	deleteKey       = `DELETE FROM keys WHERE job = $1 AND sort = $2 AND key = $3`
	deleteOldAudit  = `
DELETE FROM audit WHERE id IN (
    SELECT id FROM (SELECT id, at FROM audit ORDER BY id LIMIT $2) oldest WHERE at < $1)`

	deleteRun      = `DELETE FROM runs WHERE seq = $1`
	deletePayload  = `DELETE FROM payloads WHERE run = $1`
	deleteAttempts = `DELETE FROM attempts WHERE run = $1`
	deleteLogs     = `DELETE FROM logs WHERE run = $1`

	// The newest run that is left of an operation knows how many slices it has had: $2, $3 are the number
	// and tail of its first.
	updateContinues = `
UPDATE runs SET continues = $4
WHERE seq = (SELECT MAX(seq) FROM (
        SELECT seq FROM runs WHERE seq = $2 AND tail = $3 UNION ALL SELECT seq FROM runs WHERE operation = $1) o)
  AND COALESCE(continues, 0) < $4`
	upsertFloor = `
INSERT INTO meta (name, value)
SELECT 'floor', $1 WHERE NOT EXISTS (SELECT 1 FROM runs WHERE seq > $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE CAST(meta.value AS INTEGER) < CAST(excluded.value AS INTEGER)`

	retainAudit = 90 * 24 * time.Hour
)

// pruneCursor is how far pruning has come: the runs, then keys, lanes, gates, ticks, checkpoints, groups of
// failures, orders, events and the audit.
type pruneCursor struct {
	runs        bool
	most        bool
	key         oldKey
	lanes       bool
	lane        int64
	gate        int64
	swept       bool
	schedule    int64
	ticks       bool
	checkpoint  owner
	checkpoints bool
	group, bulk int64
	failures    bool
	event       int64
	events      bool
}

// oldKey is a key past its time.
type oldKey struct {
	until, job, sort int64
	key              string
	run              jobs.ID
}

// endedRun is what pruning needs to know of a run; it may not have ended.
type endedRun struct {
	id        jobs.ID
	state     jobs.State
	finished  jobs.Time
	dealt     jobs.Time // when a failed one was resolved or ignored; zero: it was not
	from, to  jobs.ID   // requeued
	continues int
	parent    jobs.ID // the group's run that it belongs to
	group     bool
}

func (e *endedRun) read(r Row) {
	*e = endedRun{
		id: jobs.IDOf(r.Int(0), r.Int(1)), state: jobs.State(r.Int(2)), finished: r.Time(3),
		dealt: r.Time(4), from: r.ID(5), to: r.ID(6), continues: int(r.Int(7)),
		parent: r.ID(8), group: !r.Null(9),
	}
}

func readEnded(tx Tx, seq int64) (e endedRun, err error) {
	_, err = one(tx, selectEnded, e.read, seq)
	return e, err
}

// Prune implements store.History. It looks at up to limit rows from where it stopped, so that
// each step is short.
func (s *Store) Prune(ctx context.Context, p store.PruneStep) (out store.Pruned, err error) {
	if p.Enough == nil {
		p.Enough = func() bool { return false }
	}
	if !s.pruned.runs {
		out.Runs, err = s.pruneRuns(ctx, &p)
		return out, err
	}
	if !s.pruned.most {
		if out.Runs, s.pruned.most, err = s.pruneMost(ctx, &p); err == nil && p.Brief && s.pruned.most {
			s.endRound(&out)
		}
		return out, err
	}
	var at pruneCursor
	err = s.write(ctx, func(tx Tx) (err error) {
		at = s.pruned
		out.Done, err = s.pruneOthers(tx, &at, p.Now, p.Limit)
		return err
	})
	if err != nil {
		return store.Pruned{}, err
	}
	if s.pruned = at; out.Done {
		s.endRound(&out)
	}
	return out, nil
}

func (s *Store) endRound(out *store.Pruned) {
	out.Done, out.Over = true, s.most.over
	s.most.begin()
	s.pruned, s.runs.begun = pruneCursor{}, false
}

// pruneRuns looks at the next runs, and deletes those of them that are past their time.
func (s *Store) pruneRuns(ctx context.Context, p *store.PruneStep) (gone int, err error) {
	r := &s.runs
	if !r.begun {
		if err := r.begin(ctx, s.db, p.Now); err != nil {
			return 0, err
		}
	}
	end := false
	if len(r.found) == 0 {
		if end, err = r.look(ctx, s.db, p.Limit); err != nil {
			return 0, err
		}
	}
	if len(r.found) > 0 {
		return s.pruneFound(ctx, p.Enough)
	}
	s.pruned.runs = end
	return 0, nil
}

// pruneOthers looks at up to limit rows of all that is not a run; done: it has seen all.
func (s *Store) pruneOthers(tx Tx, at *pruneCursor, now jobs.Time, limit int) (done bool, err error) {
	left := limit
	if !at.lanes {
		looked, err := pruneKeys(tx, at, now, left)
		if err != nil {
			return false, err
		}
		at.lanes = looked < left
		left -= looked
	}
	if left > 0 && at.lanes && !at.swept {
		if at.swept, err = s.sweep(tx, at, now, left); err != nil {
			return false, err
		}
	}
	if since := now.Sub(s.ticksPruned); since >= 0 && since < pruneTicksEvery {
		at.ticks = at.swept
	}
	if left > 0 && at.swept && !at.ticks {
		if left, err = pruneTicks(tx, at, now, left); err != nil {
			return false, err
		}
		if at.ticks {
			s.ticksPruned = now
			if err := s.pruneStreaks(tx, now); err != nil {
				return false, err
			}
		}
	}
	if left > 0 && at.ticks && !at.checkpoints {
		looked, err := pruneCheckpoints(tx, at, now, left)
		if err != nil {
			return false, err
		}
		at.checkpoints = looked < left
		left -= looked
	}
	if left > 0 && at.checkpoints && !at.failures {
		looked, err := pruneFailures(tx, at, now, left)
		if err != nil {
			return false, err
		}
		at.failures = looked < left
		left -= looked
	}
	if left > 0 && at.failures && !at.events {
		if at.events, err = pruneEvents(tx, at, now, left); err != nil || !at.events {
			return false, err
		}
	}
	if left == 0 || !at.events {
		return false, nil
	}
	gone, err := tx.Exec(deleteOldAudit, int64(now.Add(-retainAudit)), left)
	return gone < int64(left), err
}

// removeRun deletes all that belongs to a run.
func (s *Store) removeRun(tx Tx, e endedRun) error {
	if !e.from.IsNil() {
		if err := unlink(tx, e.id); err != nil {
			return err
		}
	}
	if e.state == jobs.Failed {
		if _, err := tx.Exec(deleteDealing, e.id.Seq()); err != nil {
			return err
		}
	}
	if err := dropGroup(tx, &e); err != nil {
		return err
	}
	operation := e.id
	kept, err := s.keepsCheckpoints(tx)
	if err == nil && (kept || e.continues > 0) {
		operation, err = operationOf(tx, e.id)
	}
	if err != nil {
		return err
	}
	// The run first: what is counted of it is counted with the others there.
	for _, q := range []string{deleteRun, deleteLogs, deleteAttempts, deletePayload} {
		if _, err := tx.Exec(q, e.id.Seq()); err != nil {
			return err
		}
	}
	if e.continues > 0 {
		_, err := tx.Exec(updateContinues, operation[:], operation.Seq(), operation.Tail(), e.continues)
		if err != nil {
			return err
		}
	}
	return s.dropOrphanedCheckpoint(tx, operation)
}

// keepFloor notes the number of a deleted run that was the newest: ids never go back.
func keepFloor(tx Tx, seq int64) error {
	_, err := tx.Exec(upsertFloor, strconv.FormatInt(seq, 10), seq)
	return err
}

// pruneKeys drops keys past their time, but those of unfinished runs.
func pruneKeys(tx Tx, at *pruneCursor, now jobs.Time, limit int) (looked int, err error) {
	var keys []oldKey
	err = tx.Query(selectOldKeys, func(r Row) error {
		keys = append(keys, oldKey{r.Int(0), r.Int(1), r.Int(2), r.Text(3), r.ID(4)})
		return nil
	}, int64(now), at.key.until, at.key.job, at.key.sort, at.key.key, limit)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		unfinished := false
		_, err := one(tx, selectRunsState, func(r Row) {
			unfinished = !jobs.State(r.Int(0)).Terminal()
		}, k.run.Seq())
		if err == nil && !unfinished {
			_, err = tx.Exec(deleteKey, k.job, k.sort, k.key)
		}
		if err != nil {
			return 0, err
		}
		at.key = k
	}
	return len(keys), nil
}
