package sqldb

import (
	"context"

	"nightshift/store"
)

const (
	selectHoldable = `
SELECT l.job, l.pool FROM runs r JOIN lanes l ON l.id = r.lane
WHERE r.seq = $1 AND r.state = 3 AND r.number = $2 AND r.cancel_at IS NULL`
	// As it was before the claim, but for the lane.
	updateHeld = `
UPDATE runs SET state = 2, lane = $2, number = number - 1, attempt_at = NULL,
    started_at = CASE WHEN number = 1 THEN NULL ELSE started_at END
WHERE seq = $1`
	selectHeldLanes = `
SELECT id, job, pool, held FROM lanes WHERE held > '' AND ($1 = '' OR held = $1)
ORDER BY held, id LIMIT 1000000`
	updateReleased = `UPDATE runs SET lane = $2 WHERE lane = $1 AND state = 2`
	deleteLane     = `DELETE FROM lanes WHERE id = $1`
)

// hold puts a run of which nothing was executed into the lane that waits for a secret.
func (s *Store) hold(tx Tx, f *store.Finish) (changed int64, err error) {
	key := laneKey{held: f.Held}
	found, err := one(tx, selectHoldable, func(r Row) {
		key.job, key.pool = r.Int(0), store.Pool(r.Int(1))
	}, f.Run.Seq(), f.Number)
	if err != nil || !found {
		return 0, err
	}
	l, err := s.laneAt(tx, key, false)
	if err != nil {
		return 0, err
	}
	// The lane needs no head: it never has a turn.
	return 1, must(tx.Exec(updateHeld, f.Run.Seq(), l.id))
}

// Release implements store.Queue.
func (s *Store) Release(ctx context.Context) error {
	return s.db.Write(ctx, func(tx Tx) error { return s.release(tx, "") })
}

// release gives the runs that wait for a secret back to the lanes they came from; "": for any.
func (s *Store) release(tx Tx, secret string) error {
	type heldLane struct {
		id  int64
		key laneKey
	}
	var lanes []heldLane
	err := tx.Query(selectHeldLanes, func(r Row) error {
		lanes = append(lanes,
			heldLane{r.Int(0), laneKey{r.Int(1), store.Pool(r.Int(2)), r.Text(3)}})
		return nil
	}, secret)
	if err != nil {
		return err
	}
	for _, l := range lanes {
		to, err := s.laneAt(tx, laneKey{job: l.key.job, pool: l.key.pool}, false) // stands: they were in it
		if err != nil {
			return err
		}
		if _, err := tx.Exec(updateReleased, l.id, to.id); err != nil {
			return err
		}
		if err := must(tx.Exec(deleteLane, l.id)); err != nil {
			return err
		}
		delete(s.laneRows, l.key)
		delete(s.laneByID, l.id)
		if err := s.refreshLane(tx, to); err != nil {
			return err
		}
		tx.Wake()
	}
	return nil
}
