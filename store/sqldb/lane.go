package sqldb

import (
	"database/sql/driver"

	"nightshift/jobs"
	"nightshift/store"
)

// A lane is the queued runs of a job that share their gates; its row stands for all of them, so
// that a claim looks at lanes, not at runs. Lanes take turns by the smallest head.
type laneKey struct {
	job        int64
	pool       store.Pool
	held       string // the secret that its runs wait for: it never opens; "": none
	host       string // host:port; "": none
	ckey, rkey string // of concurrency and rate, as keyText writes them
	catchUp    bool   // its runs are for ticks that were missed
	slice      bool   // they wait for their next slice, and hold the slots of their job's concurrency
}

type laneRow struct {
	laneKey
	id    int64
	turn  int64 // microseconds
	rank  int64 // of the first queued run; meaningless without one
	ready bool  // something is queued

	gates []*gateRow // in the order in which its runs ask them
	epoch int        // of gates: others are out of date

	ahead    []*jobs.Run // the first that are queued, read by the claim before; see keepAhead
	aheadAll bool        // there are no others
}

const (
	microsPerMilli  = 1000
	rankPerPriority = int64(jobs.RankPerPriority / 1e6) // milliseconds

	laneColumns = `id, turn_at, head, rank, job, pool, held, host, ckey, rkey, catch_up, slice`
	selectLane  = `
SELECT ` + laneColumns + ` FROM lanes
WHERE job = $1 AND pool = $2 AND held = $3 AND host = $4 AND ckey = $5 AND rkey = $6 AND catch_up = $7
  AND slice = $8`
	selectLaneByID = `SELECT ` + laneColumns + ` FROM lanes WHERE id = $1`
	insertLane     = `
INSERT INTO lanes (job, pool, held, host, ckey, rkey, catch_up, slice, open, turn_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0) RETURNING id`
	updateLane = `UPDATE lanes SET turn_at = $2, head = $3, rank = $4 WHERE id = $1`
	// One that was empty is looked at again: nobody told it what became of its gates.
	updateLaneAnew   = `UPDATE lanes SET turn_at = $2, head = $3, rank = $4, gate = $5 WHERE id = $1`
	updateLanesEmpty = `UPDATE lanes SET head = NULL, rank = NULL WHERE job = $1 AND head IS NOT NULL`
	updateLanesOpen  = `UPDATE lanes SET open = $2, gate = NULL WHERE job = $1 AND held = ''`
	selectLaneHead   = `
SELECT rank, due_at, priority FROM runs WHERE lane = $1 AND state = 2 ORDER BY rank, seq LIMIT 1`
	selectLastTurn    = `SELECT MAX(turn_at) FROM lanes`
	selectLanesOfJob  = `SELECT id FROM lanes WHERE job = $1 ORDER BY pool LIMIT 1000000`
	selectLanesByTurn = `
SELECT id, head FROM lanes
WHERE pool = $1 AND open = 1 AND head IS NOT NULL AND gate IS NULL AND (head, id) > ($2, $3)
ORDER BY head, id LIMIT $4`
)

// rankOf orders runs within a lane: the due time less what the priority is worth.
func rankOf(due jobs.Time, priority int) int64 {
	return int64(due) - int64(priority)*rankPerPriority
}

// headOf is the place of a lane among the lanes.
func headOf(turn int64, due jobs.Time, priority int) int64 {
	return max(turn, int64(due)*microsPerMilli) - int64(priority)*rankPerPriority*microsPerMilli
}

// keyText tells an empty key from none.
func keyText(key *string) string {
	if key == nil {
		return ""
	}
	return "=" + *key
}

// keyOf reads keyText.
func keyOf(text string) *string {
	if text == "" {
		return nil
	}
	key := text[1:]
	return &key
}

// lane is where a run of a job waits.
func (s *Store) lane(tx Tx, job *jobRow, run *jobs.Run) (*laneRow, error) {
	p, err := s.pinnedSpec(tx, specKey{job.id, run.Version})
	if err != nil {
		return nil, err
	}
	return s.laneAt(tx, laneKey{
		job: job.id, pool: p.pool, host: p.hostOf(run.Host),
		ckey: keyText(run.Keys.Concurrency), rkey: keyText(run.Keys.Rate),
		catchUp: run.Trigger == jobs.TriggerCatchUp, slice: run.Slices > 0,
	}, !job.paused)
}

// laneAt makes the lane where there is none, open or not.
func (s *Store) laneAt(tx Tx, key laneKey, open bool) (*laneRow, error) {
	if row := s.laneRows[key]; row != nil {
		return row, nil
	}
	row := &laneRow{laneKey: key}
	args := []driver.Value{
		key.job, int64(key.pool), key.held, key.host, key.ckey, key.rkey, key.catchUp, key.slice,
	}
	found, err := one(tx, selectLane, row.read, args...)
	if err == nil && !found {
		_, err = one(tx, insertLane, func(r Row) { row.id = r.Int(0) }, append(args, open)...)
	}
	if err != nil {
		return nil, err
	}
	return s.cacheLane(row), nil
}

// cacheLane keeps one copy of a row, by whichever way it was found.
func (s *Store) cacheLane(row *laneRow) *laneRow {
	if known := s.laneByID[row.id]; known != nil {
		row = known
	}
	s.laneRows[row.laneKey], s.laneByID[row.id] = row, row
	return row
}

func (s *Store) laneOf(tx Tx, id int64) (*laneRow, error) {
	if row := s.laneByID[id]; row != nil {
		return row, nil
	}
	row := &laneRow{}
	if _, err := one(tx, selectLaneByID, row.read, id); err != nil {
		return nil, err
	}
	return s.cacheLane(row), nil
}

func (l *laneRow) read(r Row) {
	l.id, l.turn, l.ready, l.rank = r.Int(0), r.Int(1), !r.Null(2), r.Int(3)
	l.laneKey = laneKey{
		r.Int(4), store.Pool(r.Int(5)), r.Text(6), r.Text(7), r.Text(8), r.Text(9),
		r.Int(10) == 1, r.Int(11) == 1,
	}
}

// joinLane notes a run that became queued: the lane's row changes only where it is the new first.
func (s *Store) joinLane(tx Tx, l *laneRow, due jobs.Time, priority int) error {
	tx.Wake()
	s.idle[l.pool] = false
	rank := rankOf(due, priority)
	s.joinAhead(l, rank)
	if l.ready && l.rank <= rank {
		return nil
	}
	head := headOf(l.turn, due, priority)
	wasReady := l.ready
	l.ready, l.rank = true, rank
	if wasReady {
		return must(tx.Exec(updateLane, l.id, l.turn, head, rank))
	}
	return must(tx.Exec(updateLaneAnew, l.id, l.turn, head, rank, nil))
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

// refreshLane looks the first queued run up anew, after runs left or joined the lane by other ways.
// Its gates may let another lane through instead.
func (s *Store) refreshLane(tx Tx, l *laneRow) error {
	s.dropAhead(l)
	s.idle[l.pool] = false
	var head any
	wasReady := l.ready
	found, err := one(tx, selectLaneHead, func(r Row) {
		l.rank = r.Int(0)
		head = headOf(l.turn, r.Time(1), int(r.Int(2)))
	}, l.id)
	if err != nil {
		return err
	}
	switch l.ready = found; {
	case !found:
		if err := s.stirGatesOf(tx, l); err != nil {
			return err
		}
		return must(tx.Exec(updateLane, l.id, l.turn, nil, nil))
	case wasReady:
		return must(tx.Exec(updateLane, l.id, l.turn, head, l.rank))
	}
	return must(tx.Exec(updateLaneAnew, l.id, l.turn, head, l.rank, nil))
}

// lanesOf are all lanes of a job.
func (s *Store) lanesOf(tx Tx, job int64) (lanes []*laneRow, err error) {
	var ids []int64
	err = tx.Query(selectLanesOfJob, func(r Row) error {
		ids = append(ids, r.Int(0))
		return nil
	}, job)
	for i := 0; err == nil && i < len(ids); i++ {
		var l *laneRow
		l, err = s.laneOf(tx, ids[i])
		lanes = append(lanes, l)
	}
	return lanes, err
}

// refreshLanesOf does refreshLane for all lanes of a job.
func (s *Store) refreshLanesOf(tx Tx, job int64) error {
	lanes, err := s.lanesOf(tx, job)
	for i := 0; err == nil && i < len(lanes); i++ {
		err = s.refreshLane(tx, lanes[i])
	}
	return err
}

// emptyLanesOf notes that no run of a job is queued any more. There may be very many lanes.
func (s *Store) emptyLanesOf(tx Tx, job int64) error {
	for _, l := range s.laneByID {
		if l.job == job {
			s.dropAhead(l)
			l.ready = false
		}
	}
	_, err := tx.Exec(updateLanesEmpty, job)
	return err
}
