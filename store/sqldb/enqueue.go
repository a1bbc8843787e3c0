package sqldb

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	keyIdempotency = 1
	keyDelivery    = 2

	queuedColumns = `seq, tail, job, version, lane, state, rank, due_at, priority, cause, created_at, run_at,
    created_by, number, charged, deaths`
	insertRun = `
INSERT INTO runs (` + queuedColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, 0, 0)`
	// With what most runs have not.
	insertRunWhole = `
INSERT INTO runs (` + queuedColumns + `, max_attempts, timeout, operation, requeued_from, correlation, key,
    labels, traceparent, host, ckey, rkey, schedule, scheduled_for, overlap, bkey, batch, continues,
    parent, place, members, tells, bulk)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, 0, 0, $14, $15, $16, $17, $18, $19,
    $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35)`
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
	selectStanding = `
SELECT tail, state, version, operation, due_at, created_at, started_at, folded, lane, priority, cause, slices
FROM runs WHERE seq = $1`
)

var emptyPayload = []byte("{}")

// Enqueue implements store.Queue.
func (s *Store) Enqueue(ctx context.Context, subs []store.Submission) ([]store.Submitted, error) {
	var out []store.Submitted
	err := s.write(ctx, func(tx Tx) error {
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
		nameEntries(subs, faults)
		return errors.Join(faults...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// isEntryFault tells what is wrong with an entry from what is wrong with the store.
func isEntryFault(err error) bool {
	var key *store.KeyConflict
	var unique *store.UniqueConflict
	return errors.Is(err, store.ErrNotFound) || errors.As(err, &key) || errors.As(err, &unique)
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
	out, folded, err := s.fold(tx, job, sub)
	if err != nil {
		return store.Submitted{}, err
	}
	if !folded {
		if err := s.room(sub.Most); err != nil {
			return store.Submitted{}, err
		}
		if err := s.insert(tx, job, run); err != nil {
			return store.Submitted{}, err
		}
		if err := keepUnique(tx, job, sub.Unique, run); err != nil {
			return store.Submitted{}, err
		}
		if err := bringGroup(tx, run.ID, sub.Group, 0); err != nil {
			return store.Submitted{}, err
		}
		out = submitted(run, false)
	}
	until := run.CreatedAt.Add(sub.KeyTTL)
	for _, k := range keys {
		_, err := tx.Exec(upsertKey, job.id, k.sort, k.text, out.ID[:], k.hash, int64(until))
		if err != nil {
			return store.Submitted{}, err
		}
	}
	return out, nil
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
		Operation: run.OperationID, DueAt: run.DueAt, Duplicate: duplicate, HeldBy: run.HeldBy,
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
	h, err := s.hostsOf(tx, job)
	if err != nil {
		return err
	}
	payload := run.Payload
	if merges(run) {
		payload = mergeStub(run.Group)
	}
	run.Version, run.Host = job.version, h.of(payload)
	if ahead, err := aheadInBatch(tx, job.id, run); err != nil {
		return err
	} else if !ahead.IsNil() {
		return s.insertInLine(tx, job, run, heldBatch)
	}
	var l *laneRow
	lane := int64(0) // of one that is not queued: it finds its lane when it is due
	if run.State == jobs.Queued {
		if l, err = s.lane(tx, job, run); err != nil {
			return err
		}
		lane = l.id
	}
	if err := s.insertRow(tx, job, lane, run, ""); err != nil {
		return err
	}
	if err := insertPayloadOf(tx, run); err != nil {
		return err
	}
	switch {
	case run.State.Terminal():
		if err := endAtBirth(tx, run); err != nil {
			return err
		}
		_, err := s.ended(tx, &ended{
			id: run.ID, job: job.name, state: run.State, now: run.CreatedAt, links: store.LinksOf(run),
			schedule: run.Schedule, failure: run.Error, tell: store.Tell{
				Keys: run.AlertKeys, Labels: run.Labels, CorrelationID: run.CorrelationID,
			},
		})
		return err
	case run.State == jobs.Queued:
		if err := s.joinLane(tx, l, run.DueAt, run.Priority); err != nil {
			return err
		}
		run.HeldBy, err = s.heldBy(tx, job, l, run.CreatedAt)
		return err
	}
	tx.Wake() // it may be the next that falls due
	return nil
}

func insertPayloadOf(tx Tx, run *jobs.Run) error {
	if merges(run) || bytes.Equal(run.Payload, emptyPayload) && run.Place != mergePlace {
		return nil
	}
	_, err := tx.Exec(insertPayload, run.ID.Seq(), string(run.Payload))
	return err
}

// insertRow makes the row of a run, in a line or none. One that has ended already is counted as such thereafter.
func (s *Store) insertRow(tx Tx, job *jobRow, lane int64, run *jobs.Run, line string) error {
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
	place := any(nil)
	if !run.Group.IsNil() {
		place = run.Place
	}
	always := []driver.Value{
		run.ID.Seq(), run.ID.Tail(), job.id, run.Version, lane, int(run.State),
		rankOf(run.DueAt, run.Priority), int64(run.DueAt), run.Priority, string(run.Trigger),
		int64(run.CreatedAt), int64(run.RunAt), noneText(run.CreatedBy),
	}
	s.unfinished.call++
	seldom := []driver.Value{
		none(run.MaxAttempts), none(run.Timeout.Std().Milliseconds()), operation,
		noneID(run.RequeuedFrom), correlation, noneText(run.IdempotencyKey), labels,
		noneText(run.Traceparent), noneText(run.Host), noneText(keyText(run.Keys.Concurrency)),
		noneText(keyText(run.Keys.Rate)), noneText(run.Schedule), none(run.ScheduledFor), boolNone(line == heldOverlap),
		noneText(keyText(run.Keys.Checkpoint)), batchOf(run, line), none(run.Continues),
		noneID(run.Group), place, membersOf(job.pool), none(run.Tells), noneID(run.Bulk),
	}
	return insertSparse(tx, insertRun, insertRunWhole, always, seldom)
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
