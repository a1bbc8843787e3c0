package sqldb

import (
	"bytes"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectAnyCheckpoint = `SELECT 1 FROM checkpoints LIMIT 1`
	selectCheckpoint    = `SELECT value FROM checkpoints WHERE job = $1 AND owner = $2`
	upsertCheckpoint    = `
INSERT INTO checkpoints (job, owner, value, saved_at) VALUES ($1, $2, $3, $4) ON CONFLICT (job, owner) DO UPDATE
SET value = excluded.value, saved_at = excluded.saved_at`
	deleteCheckpoint = `DELETE FROM checkpoints WHERE job = $1 AND owner = $2`
	// The operation's id is that of its first run: $2, $3 are its number and tail.
	deleteOrphanedCheckpoint = `
DELETE FROM checkpoints WHERE job = 0 AND owner = $1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE seq = $2 AND tail = $3)
  AND NOT EXISTS (SELECT 1 FROM runs WHERE operation = $1)`
	selectOperation = `SELECT operation FROM runs WHERE seq = $1`
	selectContinues = `
SELECT MAX(continues) FROM (
    SELECT continues FROM runs WHERE operation = $1 UNION ALL SELECT continues FROM runs WHERE seq = $2) o`
)

// owner is whose a checkpoint is: an operation's, or that of the runs of a job with one key.
type owner struct {
	job int64 // 0: of an operation
	key []byte
}

func ownerOf(job int64, run *jobs.Run) owner {
	if run.Keys.Checkpoint != nil {
		return owner{job, []byte(*run.Keys.Checkpoint)}
	}
	return owner{key: run.OperationID[:]}
}

// saves tells whether any checkpoint is kept: most stores keep none, and every finish would ask.
type saves int

const (
	savesUnknown saves = iota
	savesNone
	savesSome
)

func (s *Store) keepsCheckpoints(tx Tx) (bool, error) {
	if s.saves == savesUnknown {
		found, err := one(tx, selectAnyCheckpoint, func(Row) {})
		if err != nil {
			return false, err
		}
		if s.saves = savesNone; found {
			s.saves = savesSome
		}
	}
	return s.saves == savesSome, nil
}

// checkpoint is what somebody has saved; nil: nothing.
func (s *Store) checkpoint(tx Tx, of owner) (jobs.Raw, error) {
	if kept, err := s.keepsCheckpoints(tx); err != nil || !kept {
		return nil, err
	}
	return readCheckpoint(tx, of)
}

func readCheckpoint(tx Tx, of owner) (value jobs.Raw, err error) {
	_, err = one(tx, selectCheckpoint, func(r Row) { value = r.Bytes(0) }, of.job, of.key)
	return value, err
}

// putCheckpoint keeps a value; null drops what there is.
func (s *Store) putCheckpoint(tx Tx, of owner, value jobs.Raw, now jobs.Time) error {
	if isNull(value) {
		_, err := tx.Exec(deleteCheckpoint, of.job, of.key)
		return err
	}
	s.saves = savesSome
	return must(tx.Exec(upsertCheckpoint, of.job, of.key, string(value), int64(now)))
}

func isNull(value jobs.Raw) bool { return bytes.Equal(bytes.TrimSpace(value), []byte("null")) }

// keepCheckpoint keeps what an attempt has saved, and drops it all once the operation succeeded.
func (s *Store) keepCheckpoint(tx Tx, f *store.Finish) error {
	succeeded := f.Transition.State == jobs.Succeeded
	if !succeeded && f.Checkpoint == nil {
		return nil
	}
	if kept, err := s.keepsCheckpoints(tx); err != nil || succeeded && !kept {
		return err
	}
	of, err := s.ownerIn(tx, f)
	if err != nil {
		return err
	}
	if succeeded {
		_, err = tx.Exec(deleteCheckpoint, of.job, of.key)
		return err
	}
	return s.putCheckpoint(tx, of, f.Checkpoint, f.Now)
}

func (s *Store) ownerIn(tx Tx, f *store.Finish) (owner, error) {
	if f.CheckpointKey != nil {
		job, err := s.jobRow(tx, f.Job)
		if err != nil {
			return owner{}, err
		}
		return owner{job.id, []byte(*f.CheckpointKey)}, nil
	}
	operation, err := operationOf(tx, f.Run)
	return owner{key: operation[:]}, err
}

func operationOf(tx Tx, run jobs.ID) (operation jobs.ID, err error) {
	_, err = one(tx, selectOperation, func(r Row) { operation = r.ID(0) }, run.Seq())
	if operation.IsNil() {
		operation = run
	}
	return operation, err
}

// resetBatch forgets what a key has saved, for a run that is to start anew, unless an unfinished run
// goes on from it.
func (s *Store) resetBatch(tx Tx, job *jobRow, run *jobs.Run) error {
	if run.Keys.Checkpoint == nil {
		return nil
	}
	ahead, err := aheadInBatch(tx, job.id, run)
	if err != nil || !ahead.IsNil() {
		return err
	}
	of := ownerOf(job.id, run)
	_, err = tx.Exec(deleteCheckpoint, of.job, of.key)
	return err
}

// dropOrphanedCheckpoint forgets what an operation saved of which no run is left.
func (s *Store) dropOrphanedCheckpoint(tx Tx, operation jobs.ID) error {
	if kept, err := s.keepsCheckpoints(tx); err != nil || !kept {
		return err
	}
	_, err := tx.Exec(deleteOrphanedCheckpoint, operation[:], operation.Seq(), operation.Tail())
	return err
}
