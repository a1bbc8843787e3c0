package sqldb

import (
	"context"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectAudit = `SELECT id, at, actor, action, kind, name, note, change FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2`
	selectFloor = `SELECT MAX(seq) FROM runs`
	upsertMeta  = `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

	selectPruneJob  = `SELECT id, doc FROM jobs WHERE id >= $1 ORDER BY id LIMIT 1`
	selectPruneRuns = `
SELECT seq, state, finished_at, requeued_to FROM runs
WHERE job = $1 AND seq > $2 AND seq < $3 ORDER BY seq LIMIT $4`
	selectDealtWith = `SELECT state, finished_at FROM runs WHERE seq = $1`
	selectOldKeys   = `SELECT job, sort, key, run FROM keys WHERE until <= $1 ORDER BY until LIMIT $2`
	selectRunsState = `SELECT state FROM runs WHERE seq = $1`
	updateKeyUntil  = `UPDATE keys SET until = $4 WHERE job = $1 AND sort = $2 AND key = $3`
	deleteKey       = `DELETE FROM keys WHERE job = $1 AND sort = $2 AND key = $3`
	deleteOldAudit  = `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY id LIMIT $2)`

	retainAudit = 90 * 24 * time.Hour
)

// Audit implements store.Ledger.
func (s *Store) Audit(ctx context.Context, p store.Page) (list []store.AuditEntry, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		return tx.Query(selectAudit, func(r Row) error {
			if len(list) == p.Limit {
				next = strconv.FormatInt(list[len(list)-1].ID, 10)
				return nil
			}
			list = append(list, store.AuditEntry{
				ID: r.Int(0), At: r.Time(1), Actor: r.Text(2), Action: r.Text(3), Kind: r.Text(4),
				Name: r.Text(5), Note: r.Text(6), Change: r.Bytes(7),
			})
			return nil
		}, before, p.Limit+1)
	})
	return list, next, err
}

// Floor implements store.Ledger.
func (s *Store) Floor(ctx context.Context) (floor int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		_, err := one(tx, selectFloor, func(r Row) { floor = r.Int(0) })
		return err
	})
	return floor, err
}

// Probe implements store.Ledger.
func (s *Store) Probe(ctx context.Context, now jobs.Time) error {
	return s.db.Write(ctx, func(tx Tx) error {
		_, err := tx.Exec(upsertMeta, "probe", now.String())
		return err
	})
}

// pruneCursor is how far pruning has come.
type pruneCursor struct{ job, seq int64 }

// Prune implements store.History. It looks at up to limit runs from where it stopped, so that
// each step is short and rows that stay are not looked at over and over.
func (s *Store) Prune(ctx context.Context, now jobs.Time, limit int) (done bool, err error) {
	err = s.db.Write(ctx, func(tx Tx) error {
		at := s.pruned
		for left := limit; left > 0; {
			var job int64
			var doc []byte
			found, err := one(tx, selectPruneJob, func(r Row) { job, doc = r.Int(0), r.Bytes(1) }, at.job)
			if err != nil {
				return err
			}
			if !found {
				s.pruned, done = pruneCursor{}, true
				return s.pruneRest(tx, now, limit)
			}
			if job > at.job {
				at = pruneCursor{job: job}
			}
			looked, err := s.pruneJob(tx, &at, doc, now, left)
			if err != nil {
				return err
			}
			if looked < left {
				at = pruneCursor{job: job + 1}
			}
			left -= looked
		}
		s.pruned, done = at, false
		return nil
	})
	return done, err
}

// pruneJob looks at up to limit runs of one job, oldest first.
func (s *Store) pruneJob(tx Tx, at *pruneCursor, doc []byte, now jobs.Time, limit int) (looked int, err error) {
	j, err := jobs.ParseDocument(doc)
	if err != nil {
		return 0, err
	}
	keep := j.Retain.Durations()
	shortest := min(keep.Succeeded, keep.Cancelled, keep.Failed)
	type ended struct {
		seq      int64
		state    jobs.State
		finished jobs.Time
		next     jobs.ID
	}
	var rows []ended
	err = tx.Query(selectPruneRuns, func(r Row) error {
		rows = append(rows, ended{r.Int(0), jobs.State(r.Int(1)), r.Time(2), r.ID(3)})
		return nil
	}, at.job, at.seq, int64(now.Add(-shortest))<<12, limit)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		at.seq = row.seq
		gone := false
		switch row.state {
		case jobs.Succeeded:
			gone = row.finished <= now.Add(-keep.Succeeded)
		case jobs.Cancelled:
			gone = row.finished <= now.Add(-keep.Cancelled)
		case jobs.Failed:
			if gone, err = dealtWith(tx, row.next, now.Add(-keep.Failed)); err != nil {
				return 0, err
			}
		}
		if gone {
			if err := removeRun(tx, row.seq); err != nil {
				return 0, err
			}
		}
	}
	return len(rows), nil
}

// dealtWith reports whether a failure was dealt with before an instant: its requeue succeeded.
func dealtWith(tx Tx, next jobs.ID, before jobs.Time) (bool, error) {
	if next.IsNil() {
		return false, nil
	}
	dealt := true // the requeue itself has been pruned
	_, err := one(tx, selectDealtWith, func(r Row) {
		dealt = jobs.State(r.Int(0)) == jobs.Succeeded && r.Time(1) <= before
	}, next.Seq())
	return dealt, err
}

// pruneRest drops keys past their time, but those of unfinished runs, and old audit entries.
func (s *Store) pruneRest(tx Tx, now jobs.Time, limit int) error {
	type oldKey struct {
		job, sort int64
		key       string
		run       jobs.ID
	}
	var keys []oldKey
	err := tx.Query(selectOldKeys, func(r Row) error {
		keys = append(keys, oldKey{r.Int(0), r.Int(1), r.Text(2), r.ID(3)})
		return nil
	}, int64(now), limit)
	if err != nil {
		return err
	}
	for _, k := range keys {
		unfinished := false
		_, err := one(tx, selectRunsState, func(r Row) {
			unfinished = !jobs.State(r.Int(0)).Terminal()
		}, k.run.Seq())
		if err == nil && unfinished {
			_, err = tx.Exec(updateKeyUntil, k.job, k.sort, k.key, int64(now.Add(time.Hour)))
		} else if err == nil {
			_, err = tx.Exec(deleteKey, k.job, k.sort, k.key)
		}
		if err != nil {
			return err
		}
	}
	_, err = tx.Exec(deleteOldAudit, int64(now.Add(-retainAudit)), limit)
	return err
}
