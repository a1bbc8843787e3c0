package sqldb

import (
	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectAnyCheckpoint = `SELECT 1 FROM checkpoints LIMIT 1`
	selectCheckpoint    = `SELECT value FROM checkpoints WHERE operation = $1`
	upsertCheckpoint    = `
INSERT INTO checkpoints (operation, value) VALUES ($1, $2) ON CONFLICT (operation) DO UPDATE
SET value = excluded.value`
	deleteCheckpoint = `DELETE FROM checkpoints WHERE operation = $1`
	// The operation's id is that of its first run: $2, $3 are its number and tail.
	deleteOrphanedCheckpoint = `
DELETE FROM checkpoints WHERE operation = $1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE seq = $2 AND tail = $3)
  AND NOT EXISTS (SELECT 1 FROM runs WHERE operation = $1)`
	selectOperation = `SELECT operation FROM runs WHERE seq = $1`
)

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

// checkpoint is what an operation has saved; nil: nothing.
func (s *Store) checkpoint(tx Tx, operation jobs.ID) (value jobs.Raw, err error) {
	if kept, err := s.keepsCheckpoints(tx); err != nil || !kept {
		return nil, err
	}
	_, err = one(tx, selectCheckpoint, func(r Row) { value = r.Bytes(0) }, operation[:])
	return value, err
}

// keepCheckpoint keeps what an attempt has saved, and drops it all once the operation succeeded.
func (s *Store) keepCheckpoint(tx Tx, f *store.Finish) error {
	succeeded := f.Transition.State == jobs.Succeeded
	if !succeeded && f.Checkpoint == nil {
		return nil
	}
	if kept, err := s.keepsCheckpoints(tx); err != nil || succeeded && !kept {
		return err
	}
	operation, err := operationOf(tx, f.Run)
	if err != nil {
		return err
	}
	if succeeded {
		_, err = tx.Exec(deleteCheckpoint, operation[:])
		return err
	}
	s.saves = savesSome
	_, err = tx.Exec(upsertCheckpoint, operation[:], string(f.Checkpoint))
	return err
}

func operationOf(tx Tx, run jobs.ID) (operation jobs.ID, err error) {
	_, err = one(tx, selectOperation, func(r Row) { operation = r.ID(0) }, run.Seq())
	if operation.IsNil() {
		operation = run
	}
	return operation, err
}

// dropOrphanedCheckpoint forgets what an operation saved of which no run is left.
func (s *Store) dropOrphanedCheckpoint(tx Tx, operation jobs.ID) error {
	if kept, err := s.keepsCheckpoints(tx); err != nil || !kept {
		return err
	}
	_, err := tx.Exec(deleteOrphanedCheckpoint, operation[:], operation.Seq(), operation.Tail())
	return err
}
