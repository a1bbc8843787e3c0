package sqldb

import (
	"fmt"
	"math"
	"time"

	"nightshift/jobs"
)

const (
	selectCheckpoints = `
SELECT job, owner, saved_at FROM checkpoints WHERE (job, owner) > ($1, $2) ORDER BY job, owner LIMIT $3`
	// The runs of an operation: its first, and those that were requeued from it.
	selectOfOperation = `
SELECT ` + endedColumns + `, job FROM runs WHERE seq = $3 AND tail = $4 AND seq < $1
UNION ALL SELECT ` + endedColumns + `, job FROM runs WHERE operation = $5 AND seq < $1
ORDER BY seq DESC LIMIT $2`
	// Those that ended. Who succeeded has dropped what was saved before.
	selectOfBatch = `
SELECT ` + endedColumns + `, job FROM runs
WHERE job = $3 AND bkey = $4 AND batch = 3 AND batch IS NOT NULL AND seq < $1 ORDER BY seq DESC LIMIT $2`
	selectBatchUnfinished = `
SELECT seq FROM runs WHERE job = $1 AND bkey = $2 AND batch < 3 AND batch IS NOT NULL LIMIT 1`
	selectJobDoc = `SELECT doc FROM jobs WHERE id = $1`
)

// ofCheckpoint is how many runs are read of a checkpoint at a time: the newest tell most often.
const ofCheckpoint = 100

// savedCheckpoint is one that is looked at.
type savedCheckpoint struct {
	owner
	saved jobs.Time
}

// pruneCheckpoints drops those that nothing unfinished and no open failure needs, once their job's ttl
// has passed since they were saved last, the last of their runs ended and the failure was dealt with.
func pruneCheckpoints(tx Tx, at *pruneCursor, now jobs.Time, limit int) (looked int, err error) {
	from := at.checkpoint
	if from.key == nil {
		from.job = -1 // before all
	}
	var list []savedCheckpoint
	err = tx.Query(selectCheckpoints, func(r Row) error {
		list = append(list, savedCheckpoint{owner{r.Int(0), r.Bytes(1)}, r.Time(2)})
		return nil
	}, from.job, from.key, limit)
	if err != nil {
		return 0, err
	}
	ttl := map[int64]time.Duration{}
	for _, c := range list {
		at.checkpoint = c.owner
		old, err := c.expired(tx, now, ttl)
		if err == nil && old {
			_, err = tx.Exec(deleteCheckpoint, c.job, c.key)
		}
		if err != nil {
			return 0, fmt.Errorf("look whether a checkpoint is needed: %w", err)
		}
	}
	return len(list), nil
}

func (c *savedCheckpoint) expired(tx Tx, now jobs.Time, ttl map[int64]time.Duration) (bool, error) {
	for before := int64(math.MaxInt64); ; {
		job, runs, err := c.runs(tx, before)
		if err != nil || job == 0 { // of an operation of which no run is left
			return err == nil, err
		}
		keep, known := ttl[job]
		if !known {
			if keep, err = checkpointTTL(tx, job); err != nil {
				return false, err
			}
			ttl[job] = keep
		}
		old := now.Add(-keep)
		if c.saved > old {
			return false, nil
		}
		if busy, err := c.unfinished(tx); err != nil || busy {
			return false, err
		}
		for _, e := range runs {
			if !e.overBy(old) {
				return false, nil
			}
			before = e.id.Seq()
		}
		if len(runs) < ofCheckpoint {
			return true, nil
		}
	}
}

// unfinished reports whether a run of the key has not ended.
func (c *savedCheckpoint) unfinished(tx Tx) (bool, error) {
	if c.job == 0 {
		return false, nil // there are few of an operation, and all are read
	}
	return one(tx, selectBatchUnfinished, func(Row) {}, c.job, "="+string(c.key))
}

// overBy reports whether a run had ended by then; one that failed ends with its failure being dealt with.
func (e *endedRun) overBy(then jobs.Time) bool {
	if e.state == jobs.Failed {
		return e.dealt != 0 && e.dealt <= then
	}
	return e.state.Terminal() && e.finished <= then
}

// runs are the newest before one that the checkpoint is of, and their job; 0: there are none.
func (c *savedCheckpoint) runs(tx Tx, before int64) (job int64, runs []endedRun, err error) {
	query, args := selectOfBatch, []any{before, ofCheckpoint, c.job, "=" + string(c.key)}
	if c.job == 0 {
		var operation jobs.ID
		copy(operation[:], c.key)
		query, args = selectOfOperation, []any{before, ofCheckpoint, operation.Seq(), operation.Tail(), c.key}
	}
	job = c.job
	err = tx.Query(query, func(r Row) error {
		var e endedRun
		e.read(r)
		job = r.Int(endedColumnCount)
		runs = append(runs, e)
		return nil
	}, values(args)...)
	return job, runs, err
}

// checkpointTTL is what a job says as it stands, or stood when it was deleted.
func checkpointTTL(tx Tx, job int64) (time.Duration, error) {
	var doc []byte
	if _, err := one(tx, selectJobDoc, func(r Row) { doc = r.Bytes(0) }, job); err != nil {
		return 0, err
	}
	j, err := jobs.ParseDocument(doc)
	if err != nil {
		return 0, err
	}
	return j.CheckpointTTL(), nil
}
