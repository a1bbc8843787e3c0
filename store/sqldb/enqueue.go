package sqldb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	keyIdempotency = 1
	keyDelivery    = 2

	insertRun = `
INSERT INTO runs (seq, tail, job, version, lane, state, rank, due_at, priority, number, charged, deaths,
    cause, created_at, run_at, max_attempts, timeout, operation, requeued_from, correlation, key,
    labels, traceparent, created_by, host)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, 0, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
    $22)`
	updateBornEnded = `
UPDATE runs SET lane = NULL, finished_at = created_at, error_kind = $2, error_type = $3, error_message = $4,
    queue = (SELECT queue FROM jobs WHERE id = runs.job)
WHERE seq = $1`
	insertPayload = `INSERT INTO payloads (run, body) VALUES ($1, $2)`
	selectKey     = `SELECT run, hash, until FROM keys WHERE job = $1 AND sort = $2 AND key = $3`
	upsertKey     = `
INSERT INTO keys (job, sort, key, run, hash, until) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (job, sort, key) DO UPDATE
SET run = excluded.run, hash = excluded.hash, until = excluded.until`
	selectStanding = `SELECT tail, state, version, operation, due_at FROM runs WHERE seq = $1`
)

var emptyPayload = []byte("{}")

// Enqueue implements store.Queue.
func (s *Store) Enqueue(ctx context.Context, subs []store.Submission) ([]store.Submitted, error) {
	var out []store.Submitted
	err := s.db.Write(ctx, func(tx Tx) error {
		out = make([]store.Submitted, len(subs))
		var faults []error
		for i := range subs {
			var err error
			if out[i], err = s.enqueue(tx, &subs[i]); err != nil {
				if !isEntryFault(err) {
					return fmt.Errorf("enqueue run of job %s: %w", subs[i].Run.Job, err)
				}
				faults = append(faults, &store.EntryError{Index: i, Err: err})
			}
		}
		return errors.Join(faults...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// isEntryFault tells what is wrong with an entry from what is wrong with the store.
func isEntryFault(err error) bool {
	var conflict *store.KeyConflict
	return errors.Is(err, store.ErrNotFound) || errors.As(err, &conflict)
}

func (s *Store) enqueue(tx Tx, sub *store.Submission) (store.Submitted, error) {
	run := sub.Run
	job, err := s.liveJob(tx, run.Job)
	if err != nil {
		return store.Submitted{}, err
	}
	keys := keysOf(sub)
	for _, k := range keys {
		if earlier, err := s.standing(tx, job, sub, k); err != nil {
			return store.Submitted{}, err
		} else if earlier != nil {
			return *earlier, nil
		}
	}
	if err := s.insert(tx, job, run); err != nil {
		return store.Submitted{}, err
	}
	until := run.CreatedAt.Add(sub.KeyTTL)
	for _, k := range keys {
		_, err := tx.Exec(upsertKey, job.id, k.sort, k.text, run.ID[:], k.hash, int64(until))
		if err != nil {
			return store.Submitted{}, err
		}
	}
	return submitted(run, false), nil
}

// runKey is a key by which a run is found again.
type runKey struct {
	sort int64
	text string
	hash []byte // of what it was used with; empty where that does not matter
}

func keysOf(sub *store.Submission) (keys []runKey) {
	if key := sub.Run.IdempotencyKey; key != "" {
		keys = append(keys, runKey{keyIdempotency, key, sub.KeyHash[:]})
	}
	if sub.Delivery != "" {
		keys = append(keys, runKey{keyDelivery, sub.Delivery, []byte{}})
	}
	return keys
}

func submitted(run *jobs.Run, duplicate bool) store.Submitted {
	return store.Submitted{
		ID: run.ID, Job: run.Job, Version: run.Version, State: run.State,
		Operation: run.OperationID, DueAt: run.DueAt, Duplicate: duplicate,
	}
}

// standing is the run that a key stands for, nil where the key is free: a key lives until its time
// and while its run is unfinished.
func (s *Store) standing(
	tx Tx, job *jobRow, sub *store.Submission, key runKey,
) (*store.Submitted, error) {
	var id jobs.ID
	var hash []byte
	var until jobs.Time
	found, err := one(tx, selectKey, func(r Row) {
		id, hash, until = r.ID(0), r.Bytes(1), r.Time(2)
	}, job.id, key.sort, key.text)
	if err != nil || !found {
		return nil, err
	}
	earlier, err := s.submittedRun(tx, id, job.name)
	if err != nil {
		return nil, err
	}
	unfinished := earlier.State != 0 && !earlier.State.Terminal()
	if until <= sub.Run.CreatedAt && !unfinished {
		return nil, nil
	}
	if !bytes.Equal(hash, key.hash) {
		return nil, &store.KeyConflict{Key: key.text, Run: id}
	}
	return &earlier, nil
}

// insert makes the rows of a new run, in the newest version of its job.
func (s *Store) insert(tx Tx, job *jobRow, run *jobs.Run) error {
	l, err := s.lane(tx, job)
	if err != nil {
		return err
	}
	h, err := s.hostsOf(tx, job)
	if err != nil {
		return err
	}
	run.Version, run.Host = job.version, h.of(run.Payload)
	labels, err := marshalLabels(run.Labels)
	if err != nil {
		return err
	}
	correlation, operation := noneText(run.CorrelationID), noneID(run.OperationID)
	if run.CorrelationID == run.ID.String() {
		correlation = nil
	}
	if run.OperationID == run.ID {
		operation = nil
	}
	seq := run.ID.Seq()
	_, err = tx.Exec(insertRun, seq, run.ID.Tail(), job.id, run.Version, l.id, int(run.State),
		rankOf(run.DueAt, run.Priority), int64(run.DueAt), run.Priority, string(run.Trigger),
		int64(run.CreatedAt), int64(run.RunAt), none(run.MaxAttempts),
		none(run.Timeout.Std().Milliseconds()), operation, noneID(run.RequeuedFrom), correlation,
		noneText(run.IdempotencyKey), labels, noneText(run.Traceparent), noneText(run.CreatedBy),
		noneText(run.Host))
	if err != nil {
		return err
	}
	if !bytes.Equal(run.Payload, emptyPayload) {
		if _, err := tx.Exec(insertPayload, seq, string(run.Payload)); err != nil {
			return err
		}
	}
	switch {
	case run.State.Terminal():
		return endAtBirth(tx, run)
	case run.State == jobs.Queued:
		return s.joinLane(tx, l, run.DueAt, run.Priority)
	}
	tx.Wake() // it may be the next that falls due
	return nil
}

// endAtBirth ends a run that was made failed.
func endAtBirth(tx Tx, run *jobs.Run) error {
	kind, typ, message := any(nil), any(nil), any(nil)
	if e := run.Error; e != nil {
		kind, typ, message = string(e.Kind), e.Type, e.Message
	}
	return must(tx.Exec(updateBornEnded, run.ID.Seq(), kind, typ, message))
}

func marshalLabels(labels map[string]string) (any, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(labels)
	return string(text), err
}
