package sqldb

import (
	"fmt"

	"nightshift/jobs"
)

// A run may wait for another one to end: in the line of its schedule (overlap.go), or in that of its
// checkpoint key. See Lines in doc.go.

// heldBatch is the lane of runs that wait for an earlier one of their checkpoint key: no secret has
// this name.
const heldBatch = ":checkpoint"

const (
	// Under way, or free to be.
	selectBatchAhead = `
SELECT seq, tail FROM runs
WHERE job = $1 AND bkey = $2 AND batch = 0 AND batch IS NOT NULL AND seq <> $3 ORDER BY seq LIMIT 1`
	selectBatchNext = `
SELECT seq, tail FROM runs
WHERE job = $1 AND bkey = $2 AND batch = 1 AND batch IS NOT NULL ORDER BY seq LIMIT 1`
	updateBatch = `UPDATE runs SET batch = $2 WHERE seq = $1`
)

// Where a run stands in the line of its checkpoint key (runs.batch). NULL: it has no key, or succeeded.
const (
	batchAhead   = 0 // under way, or free to be
	batchWaits   = 1 // for the end of the one ahead
	batchOverlap = 2 // for its schedule: it has not joined the line
	batchEnded   = 3 // failed or cancelled
)

// batchOf is the place of a run that is made, or gets another key, and waits in a line or in none.
func batchOf(run *jobs.Run, line string) any {
	switch {
	case run.Keys.Checkpoint == nil:
		return nil
	case run.State.Terminal():
		return batchEnded
	case line == heldOverlap:
		return batchOverlap
	case line == heldBatch:
		return batchWaits
	}
	return batchAhead
}

// lineOf is the line in which a run waits, by the mark of its lanes; "": none.
func lineOf(overlap bool, batch int64) string {
	switch {
	case overlap:
		return heldOverlap
	case batch == batchWaits:
		return heldBatch
	}
	return ""
}

// isLine tells the mark of a line from the name of a secret.
func isLine(held string) bool { return held == heldOverlap || held == heldBatch }

// heldInLine is what a run waits for in a line; ahead: NilID where nobody looked.
func heldInLine(line string, run *jobs.Run, ahead jobs.ID) *jobs.HeldBy {
	if line == heldOverlap {
		return jobs.HeldByOverlap(run.Schedule, ahead)
	}
	return jobs.HeldByCheckpoint(*run.Keys.Checkpoint, ahead)
}

// insertInLine makes a run that waits in a line, once it is due.
func (s *Store) insertInLine(tx Tx, job *jobRow, run *jobs.Run, line string) error {
	lane := int64(0)
	if run.State == jobs.Queued {
		l, err := s.laneInLine(tx, job, run, line)
		if err != nil {
			return err
		}
		lane, run.HeldBy = l.id, heldInLine(line, run, jobs.NilID)
	}
	if err := s.insertRow(tx, job, lane, run, line); err != nil {
		return err
	}
	tx.Wake() // it may be the next that falls due
	return insertPayloadOf(tx, run)
}

// laneInLine is the lane, which never opens, of a run that waits in a line.
func (s *Store) laneInLine(tx Tx, job *jobRow, run *jobs.Run, line string) (*laneRow, error) {
	l, err := s.lane(tx, job, run)
	if err != nil {
		return nil, err
	}
	key := l.laneKey
	key.held = line
	return s.laneAt(tx, key, false)
}

// queueIn puts a run that is due where it waits: in its lane, or in a line.
func (s *Store) queueIn(tx Tx, jobID int64, run *jobs.Run, line string) error {
	if line == "" {
		return s.queueUp(tx, jobID, run)
	}
	job, err := s.jobByID(tx, jobID)
	if err != nil {
		return err
	}
	l, err := s.laneInLine(tx, job, run, line)
	if err != nil {
		return err
	}
	return must(tx.Exec(updateQueued, run.ID.Seq(), l.id))
}

// aheadInBatch is an unfinished run of the same checkpoint key that does not wait for another; NilID:
// there is none, or the run has no such key.
func aheadInBatch(tx Tx, job int64, run *jobs.Run) (ahead jobs.ID, err error) {
	if run.Keys.Checkpoint == nil || run.State.Terminal() {
		return ahead, nil
	}
	_, err = one(tx, selectBatchAhead, func(r Row) { ahead = jobs.IDOf(r.Int(0), r.Int(1)) }, job,
		keyText(run.Keys.Checkpoint), run.ID.Seq())
	return ahead, err
}

// releaseBatch lets the next run of a checkpoint key go where none is ahead of it.
func (s *Store) releaseBatch(tx Tx, job int64, bkey string) error {
	if bkey == "" {
		return nil
	}
	busy, err := one(tx, selectBatchAhead, func(Row) {}, job, bkey, -1)
	if err != nil || busy {
		return err
	}
	var next jobs.ID
	found, err := one(tx, selectBatchNext, func(r Row) { next = jobs.IDOf(r.Int(0), r.Int(1)) }, job, bkey)
	if err != nil || !found {
		return err
	}
	if err := must(tx.Exec(updateBatch, next.Seq(), batchAhead)); err != nil {
		return err
	}
	owner, run, err := s.waiting(tx, next)
	if err == nil && run.State == jobs.Queued {
		err = s.queueUp(tx, owner, run)
	}
	if err != nil {
		return fmt.Errorf("let run %s of checkpoint key %s go: %w", next, bkey[1:], err)
	}
	return nil
}

// releaseBehind lets the runs go that waited for one which has ended.
func (s *Store) releaseBehind(tx Tx, row runRow) error {
	if err := s.releaseNext(tx, row.schedule); err != nil {
		return err
	}
	return s.releaseBatch(tx, row.job, row.bkey)
}

// changeBatch gives a run that has not started other keys, that of its checkpoint among them: it joins
// the line of the new one and leaves that of the old.
func (s *Store) changeBatch(tx Tx, job *jobRow, run *jobs.Run, was runRow) error {
	line := was.line
	if line != heldOverlap { // else it joins the line when its schedule lets it go
		ahead, err := aheadInBatch(tx, job.id, run)
		if err != nil {
			return err
		}
		if line = ""; !ahead.IsNil() {
			line = heldBatch
		}
	}
	if err := must(tx.Exec(updateBatch, run.ID.Seq(), batchOf(run, line))); err != nil {
		return err
	}
	err := error(nil)
	if was.state == jobs.Queued {
		err = s.moveQueued(tx, job, was.lane, run, line)
	} else {
		err = replaced(tx, run, was.lane) // it finds its lane when it is due
	}
	if err != nil {
		return err
	}
	return s.releaseBatch(tx, job.id, was.bkey)
}
