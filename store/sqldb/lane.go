package sqldb

import (
	"nightshift/jobs"
	"nightshift/store"
)

// A lane is the runs of a job that share their gates; its row stands for all of them, so that a
// claim looks at lanes, not at runs. Lanes take turns by the smallest head.
type laneKey struct {
	job  int64
	pool store.Pool
	held string // the secret that its runs wait for: it never opens; "": none
}

type laneRow struct {
	id    int64
	turn  int64 // microseconds
	rank  int64 // of the first queued run; meaningless without one
	ready bool  // something is queued
}

const (
	microsPerMilli  = 1000
	rankPerPriority = int64(jobs.RankPerPriority / 1e6) // milliseconds
	selectLane      = `SELECT id, turn_at, head, rank FROM lanes WHERE job = $1 AND pool = $2 AND held = $3`
	selectLaneByID  = `SELECT id, turn_at, head, rank FROM lanes WHERE id = $1`
	insertLane      = `
INSERT INTO lanes (job, pool, held, open, turn_at) VALUES ($1, $2, $3, $4, 0) RETURNING id`
	updateLane      = `UPDATE lanes SET turn_at = $2, head = $3, rank = $4 WHERE id = $1`
	updateLanesOpen = `UPDATE lanes SET open = $2 WHERE job = $1 AND held = ''`
	selectLaneHead  = `
SELECT rank, due_at, priority FROM runs WHERE lane = $1 AND state = 2 ORDER BY rank, seq LIMIT 1`
	selectLastTurn    = `SELECT MAX(turn_at) FROM lanes`
	selectLanesOfJob  = `SELECT id FROM lanes WHERE job = $1 ORDER BY pool LIMIT 1000`
	selectLanesByTurn = `
SELECT id, job FROM lanes WHERE pool = $1 AND open = 1 AND head IS NOT NULL
ORDER BY head, id LIMIT $2`
)

// rankOf orders runs within a lane: the due time less what the priority is worth.
func rankOf(due jobs.Time, priority int) int64 {
	return int64(due) - int64(priority)*rankPerPriority
}

// headOf is the place of a lane among the lanes.
func headOf(turn int64, due jobs.Time, priority int) int64 {
	return max(turn, int64(due)*microsPerMilli) - int64(priority)*rankPerPriority*microsPerMilli
}

// lane is where new runs of a job go.
func (s *Store) lane(tx Tx, job *jobRow) (*laneRow, error) {
	return s.laneAt(tx, laneKey{job: job.id, pool: job.pool}, !job.paused)
}

// laneAt makes the lane where there is none, open or not.
func (s *Store) laneAt(tx Tx, key laneKey, open bool) (*laneRow, error) {
	if row := s.laneRows[key]; row != nil {
		return row, nil
	}
	row := &laneRow{}
	found, err := one(tx, selectLane, row.read, key.job, int64(key.pool), key.held)
	if err == nil && !found {
		_, err = one(tx, insertLane, func(r Row) { row.id = r.Int(0) }, key.job, int64(key.pool),
			key.held, open)
	}
	if err != nil {
		return nil, err
	}
	if len(s.laneRows) >= maxCached {
		clear(s.laneRows)
		clear(s.laneByID)
	}
	if known := s.laneByID[row.id]; known != nil {
		row = known // one copy of a row, by whichever way it was found
	}
	s.laneRows[key], s.laneByID[row.id] = row, row
	return row, nil
}

func (s *Store) laneOf(tx Tx, id int64) (*laneRow, error) {
	if row := s.laneByID[id]; row != nil {
		return row, nil
	}
	row := &laneRow{}
	if _, err := one(tx, selectLaneByID, row.read, id); err != nil {
		return nil, err
	}
	if len(s.laneByID) >= maxCached {
		clear(s.laneRows)
		clear(s.laneByID)
	}
	s.laneByID[id] = row
	return row, nil
}

func (l *laneRow) read(r Row) {
	l.id, l.turn, l.ready, l.rank = r.Int(0), r.Int(1), !r.Null(2), r.Int(3)
}

// joinLane notes a run that became queued: the lane's row changes only where it is the new first.
func (s *Store) joinLane(tx Tx, l *laneRow, due jobs.Time, priority int) error {
	tx.Wake()
	rank := rankOf(due, priority)
	if l.ready && l.rank <= rank {
		return nil
	}
	l.ready, l.rank = true, rank
	return must(tx.Exec(updateLane, l.id, l.turn, headOf(l.turn, due, priority), rank))
}

// loadTurn goes on from the last turn of the process before: turns only grow, whatever the clock
// does, else a lane served before the clock was set back would wait until it is there again.
func (s *Store) loadTurn(tx Tx) error {
	if s.lastTurn != 0 {
		return nil
	}
	_, err := one(tx, selectLastTurn, func(r Row) { s.lastTurn = r.Int(0) })
	return err
}

// refreshLane looks the first queued run up anew, after runs left the lane.
func (s *Store) refreshLane(tx Tx, l *laneRow) error {
	var head any
	found, err := one(tx, selectLaneHead, func(r Row) {
		l.rank = r.Int(0)
		head = headOf(l.turn, r.Time(1), int(r.Int(2)))
	}, l.id)
	if err != nil {
		return err
	}
	if l.ready = found; !found {
		return must(tx.Exec(updateLane, l.id, l.turn, nil, nil))
	}
	return must(tx.Exec(updateLane, l.id, l.turn, head, l.rank))
}

// refreshLanesOf does so for all lanes of a job.
func (s *Store) refreshLanesOf(tx Tx, job int64) error {
	var ids []int64
	err := tx.Query(selectLanesOfJob, func(r Row) error {
		ids = append(ids, r.Int(0))
		return nil
	}, job)
	if err != nil {
		return err
	}
	for _, id := range ids {
		l, err := s.laneOf(tx, id)
		if err != nil {
			return err
		}
		if err := s.refreshLane(tx, l); err != nil {
			return err
		}
	}
	return nil
}
