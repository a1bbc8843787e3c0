package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	updateBulkRun = `
UPDATE bulks SET succeeded = succeeded + $2, failed = failed + $3, cancelled = cancelled + $4 WHERE id = $1
RETURNING state, succeeded + failed + cancelled = done, failed, stop_after`
	// All of its runs have ended: 2 is made, 3 done.
	updateBulkOver = `UPDATE bulks SET state = CASE WHEN state = 2 THEN 3 ELSE state END, ended_at = $2 WHERE id = $1`
	// 1 is running, 2 made, 4 called off.
	updateBulkStopped = `
UPDATE bulks
SET state = 4, reason = $2,
    ended_at = CASE WHEN action <> 'requeue' OR succeeded + failed + cancelled = done THEN $3 ELSE NULL END
WHERE id = $1 AND state IN (1, 2)`
	// Of an order that was called off: what has not begun.
	selectNotBegun = `
SELECT seq, tail FROM runs WHERE bulk = $1 AND state IN (1, 2) AND number = 0 AND bulk IS NOT NULL LIMIT $2`
	selectBulksStopped = `SELECT id, tail FROM bulks WHERE state = 4 AND ended_at IS NULL`
)

// bulkRunsEnded counts ends of runs of an order. After so many failures as it says the order is called
// off: what of it has not begun does not start any more, and is cancelled by BulkStep.
func (s *Store) bulkRunsEnded(tx Tx, id jobs.ID, ends jobs.State, n int, now jobs.Time) error {
	count := map[jobs.State]int{ends: n}
	var state store.BulkState
	var over bool
	var failed, most int
	found, err := one(tx, updateBulkRun, func(r Row) {
		state, over, failed, most = store.BulkState(r.Int(0)), r.Int(1) == 1, int(r.Int(2)), int(r.Int(3))
	}, id.Seq(), count[jobs.Succeeded], count[jobs.Failed], count[jobs.Cancelled])
	if err != nil || !found {
		return err
	}
	if stop := most > 0 && failed >= most && ends == jobs.Failed; stop && state <= store.BulkMade {
		// Of one of which all runs have ended nothing is left to call off.
		if !over || state == store.BulkRunning {
			reason := fmt.Sprintf("%d of its runs have failed", failed)
			if err := s.stopBulk(tx, id, reason, now); err != nil {
				return err
			}
			return s.auditStopped(tx, store.By{Actor: "server", Now: now, Note: reason}, id)
		}
	}
	if !over || state == store.BulkRunning {
		return nil
	}
	s.stopped.drop(id)
	_, err = tx.Exec(updateBulkOver, id.Seq(), int64(now))
	return err
}

// stopBulk calls off what of an order has not begun.
func (s *Store) stopBulk(tx Tx, id jobs.ID, reason string, now jobs.Time) error {
	if err := must(tx.Exec(updateBulkStopped, id.Seq(), reason, int64(now))); err != nil {
		return fmt.Errorf("call off order %s: %w", id, err)
	}
	s.stopped.add(id)
	_, err := tx.Exec(deleteItemsOf, id.Seq())
	return err
}

func (s *Store) auditStopped(tx Tx, by store.By, id jobs.ID) error {
	return s.audit(tx, by, "stop", "failures", id.String(), changed("called_off", false, true))
}

// StopBulk implements store.Failures.
func (s *Store) StopBulk(ctx context.Context, id jobs.ID, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		b, err := readBulk(tx, id)
		if err != nil || b.State == store.BulkStopped {
			return err
		}
		if b.State == store.BulkDoneAll {
			return fmt.Errorf("order %s is carried out: %w", id, store.ErrState)
		}
		reason := "called off by " + by.Actor
		if by.Note != "" {
			reason += ": " + by.Note
		}
		if err := s.stopBulk(tx, id, reason, by.Now); err != nil {
			return err
		}
		return s.auditStopped(tx, by, id)
	})
}

// cancelStopped cancels up to limit runs of an order that was called off and have not begun. What they
// stand for is open again.
func (s *Store) cancelStopped(
	ctx context.Context, b *bulkRow, limit int, now jobs.Time,
) (cancelled []jobs.ID, more bool, err error) {
	why := cancelling{now, jobs.ByCancel, "its order " + b.ID.String() + " was called off: " + b.Reason}
	err = s.write(ctx, func(tx Tx) error {
		cancelled = nil
		err := tx.Query(selectNotBegun, func(r Row) error {
			cancelled = append(cancelled, jobs.IDOf(r.Int(0), r.Int(1)))
			return nil
		}, b.ID[:], limit)
		if err != nil {
			return err
		}
		for _, id := range cancelled {
			row, err := s.runRow(tx, id)
			if err == nil {
				_, err = s.cancelIdle(tx, id, row, why) // which is in no attempt
			}
			if err == nil {
				err = s.releaseBehind(tx, row)
			}
			if err != nil {
				return fmt.Errorf("cancel run %s: %w", id, err)
			}
		}
		if more = len(cancelled) == limit; len(cancelled) > 0 {
			tx.Wake()
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("cancel what order %s has not begun: %w", b.ID, err)
	}
	return cancelled, more, nil
}

// stoppedBulks are the orders that were called off and have runs that have not ended. They are read when
// they are first asked for.
type stoppedBulks struct {
	known bool
	ids   map[jobs.ID]bool
}

func (b *stoppedBulks) add(id jobs.ID) {
	if b.known {
		b.ids[id] = true
	}
}

func (b *stoppedBulks) drop(id jobs.ID) { delete(b.ids, id) }

func (b *stoppedBulks) read(tx Tx) error {
	if b.known {
		return nil
	}
	ids := map[jobs.ID]bool{}
	err := tx.Query(selectBulksStopped, func(r Row) error {
		ids[jobs.IDOf(r.Int(0), r.Int(1))] = true
		return nil
	})
	if err == nil {
		*b = stoppedBulks{known: true, ids: ids}
	}
	return err
}

// calledOff reports whether a run is not to start, since its order was called off before it began.
func (b *stoppedBulks) calledOff(run *jobs.Run) bool {
	return len(b.ids) > 0 && run.Counts.Number == 0 && b.ids[run.Bulk]
}
