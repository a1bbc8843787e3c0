package sqldb

import (
	"context"
	"slices"

	"nightshift/store"
)

const (
	selectHoldable = `
SELECT seq FROM runs
WHERE seq = $1 AND state = 3 AND number = $2 AND cancel_at IS NULL AND lane IS NOT NULL`
	// As it was before the claim, but for the lane. What waits for its next slice stays in its attempt.
	updateHeld = `
UPDATE runs SET state = 2, lane = $2, number = number - (slices IS NULL),
    attempt_at = CASE WHEN slices IS NULL THEN NULL ELSE attempt_at END,
    said = CASE WHEN slices IS NULL THEN NULL ELSE said END,
    started_at = CASE WHEN number = 1 AND slices IS NULL THEN NULL ELSE started_at END,
    long_at = CASE WHEN number = 1 AND slices IS NULL THEN NULL ELSE long_at END
WHERE seq = $1`
	selectHeldLanes = `
SELECT id, held FROM lanes WHERE held > '' ORDER BY held, id LIMIT 1000000`
	updateReleased = `
UPDATE runs SET lane = $2 WHERE seq IN (
    SELECT seq FROM runs WHERE lane = $1 AND state = 2 ORDER BY rank, seq LIMIT $3)`
	deleteLane = `DELETE FROM lanes WHERE id = $1`
)

// hold puts a run of which nothing was executed into the lane that waits for a secret.
func (s *Store) hold(tx Tx, f *store.Finish) (changed int64, err error) {
	found, err := one(tx, selectHoldable, func(Row) {}, f.Run.Seq(), f.Number)
	if err != nil || !found {
		return 0, err
	}
	id, run, err := s.waiting(tx, f.Run)
	if err != nil {
		return 0, err
	}
	job, err := s.jobByID(tx, id)
	if err != nil {
		return 0, err
	}
	from, err := s.lane(tx, job, run)
	if err != nil {
		return 0, err
	}
	key := from.laneKey
	key.held = f.Held
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
	err = s.write(ctx, func(tx Tx) error {
		more, err = s.release(tx, secrets)
		return err
	})
	return more, err
}

// release gives runs that wait for one of the secrets back to the lanes they came from.
func (s *Store) release(tx Tx, secrets []string) (more bool, err error) {
	var lanes []int64
	err = tx.Query(selectHeldLanes, func(r Row) error {
		if slices.Contains(secrets, r.Text(1)) {
			lanes = append(lanes, r.Int(0))
		}
		return nil
	})
	left := int64(releaseStep)
	for _, id := range lanes {
		if err != nil || left <= 0 {
			break
		}
		var n int64
		n, err = s.releaseLane(tx, id, left)
		left -= max(n, 1)
	}
	return left <= 0, err
}

// releaseLane gives up to limit runs of a lane back. The lane goes with the last of them.
func (s *Store) releaseLane(tx Tx, id, limit int64) (moved int64, err error) {
	from, err := s.laneOf(tx, id)
	if err != nil {
		return 0, err
	}
	job, err := s.jobByID(tx, from.job)
	if err != nil {
		return 0, err
	}
	key := from.laneKey
	key.held = ""
	to, err := s.laneAt(tx, key, !job.paused)
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
		delete(s.laneRows, from.laneKey)
		delete(s.laneByID, id)
	}
	tx.Wake()
	return moved, s.refreshLane(tx, to)
}
