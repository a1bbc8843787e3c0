package sqldb

import (
	"context"
	"slices"

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
SELECT id, job, pool, held FROM lanes WHERE held > '' ORDER BY held, id LIMIT 1000000`
	updateReleased = `
UPDATE runs SET lane = $2 WHERE seq IN (
    SELECT seq FROM runs WHERE lane = $1 AND state = 2 ORDER BY rank, seq LIMIT $3)`
	deleteLane = `DELETE FROM lanes WHERE id = $1`
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

// releaseStep is how many runs one transaction lets go: others wait for it.
const releaseStep = 2000

// Release implements store.Queue.
func (s *Store) Release(ctx context.Context, secrets []string) (more bool, err error) {
	err = s.db.Write(ctx, func(tx Tx) error {
		more, err = s.release(tx, secrets)
		return err
	})
	return more, err
}

// release gives runs that wait for one of the secrets back to the lanes they came from.
func (s *Store) release(tx Tx, secrets []string) (more bool, err error) {
	type heldLane struct {
		id  int64
		key laneKey
	}
	var lanes []heldLane
	err = tx.Query(selectHeldLanes, func(r Row) error {
		l := heldLane{r.Int(0), laneKey{r.Int(1), store.Pool(r.Int(2)), r.Text(3)}}
		if slices.Contains(secrets, l.key.held) {
			lanes = append(lanes, l)
		}
		return nil
	})
	left := int64(releaseStep)
	for _, l := range lanes {
		if err != nil || left <= 0 {
			break
		}
		var n int64
		n, err = s.releaseLane(tx, l.id, l.key, left)
		left -= max(n, 1)
	}
	return left <= 0, err
}

// releaseLane gives up to limit runs of a lane back. The lane goes with the last of them.
func (s *Store) releaseLane(tx Tx, id int64, key laneKey, limit int64) (moved int64, err error) {
	to, err := s.laneAt(tx, laneKey{job: key.job, pool: key.pool}, false) // stands: they were in it
	if err != nil {
		return 0, err
	}
	moved, err = tx.Exec(updateReleased, id, to.id, limit)
	if err != nil {
		return moved, err
	}
	if moved < limit {
		if err := must(tx.Exec(deleteLane, id)); err != nil {
			return moved, err
		}
		delete(s.laneRows, key)
		delete(s.laneByID, id)
	}
	tx.Wake()
	return moved, s.refreshLane(tx, to)
}
