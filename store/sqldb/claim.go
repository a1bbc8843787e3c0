package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// runColumns are read by scanRun, in this order.
	runColumns = `r.seq, r.tail, r.version, r.state, r.due_at, r.priority, r.number, r.charged, r.deaths,
    r.cause, r.created_at, r.run_at, r.attempt_at, r.started_at, r.finished_at, r.cancel_at,
    r.max_attempts, r.timeout, r.queue, r.operation, r.requeued_from, r.requeued_to, r.correlation,
    r.key, r.labels, r.traceparent, r.created_by, r.budgets, r.error_kind, r.error_type, r.error_message,
    r.host`
	runColumnCount  = 32
	columnAttemptAt = 12

	selectDue = `
SELECT seq, lane, due_at, priority FROM runs WHERE state IN (1, 4) AND due_at <= $1
ORDER BY due_at, state, seq LIMIT $2`
	selectNext = `
SELECT due_at FROM runs WHERE state IN (1, 4) ORDER BY due_at, state, seq LIMIT 1`
	updateQueued = `UPDATE runs SET state = 2 WHERE seq = $1`

	selectQueued = `
SELECT ` + runColumns + `, p.body
FROM runs r LEFT JOIN payloads p ON p.run = r.seq
WHERE r.lane = $1 AND r.state = 2 ORDER BY r.rank, r.seq LIMIT $2`
	// The runs that a claim took of a lane are its first ones: all of the ranks before the last
	// one's, and of that rank, which very many may share, those up to it.
	updateRunningBefore = `
UPDATE runs SET state = 3, number = number + 1, attempt_at = $2, started_at = COALESCE(started_at, $2)
WHERE lane = $1 AND state = 2 AND rank < $3`
	updateRunningAt = `
UPDATE runs SET state = 3, number = number + 1, attempt_at = $2, started_at = COALESCE(started_at, $2)
WHERE lane = $1 AND state = 2 AND rank = $3 AND seq <= $4`
	selectRunning = `
SELECT ` + runColumns + `, p.body, r.job,
    (SELECT SUM(LENGTH(data)) FROM logs l WHERE l.run = r.seq), r.lane IS NULL
FROM runs r LEFT JOIN payloads p ON p.run = r.seq
WHERE r.state IN (3, 5) AND r.state = 3 ORDER BY r.seq`
	selectSpec = `
SELECT j.name, v.spec FROM versions v JOIN jobs j ON j.id = v.job
WHERE v.job = $1 AND v.version = $2`
	selectLogBytes = `SELECT SUM(LENGTH(data)) FROM logs WHERE run = $1`

	maxDuePerClaim = 1000
)

type specKey struct {
	job     int64
	version int
}

// pinned is what a version of a job says; it never changes.
type pinned struct {
	job  string
	spec *jobs.Spec
}

// Claim implements store.Queue.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	var out store.Claimed
	err := s.db.Write(ctx, func(tx Tx) error {
		out = store.Claimed{Results: make([]store.FinishResult, len(c.Finished))}
		for i := range c.Finished {
			res, err := s.finish(tx, &c.Finished[i])
			if err != nil {
				return fmt.Errorf("finish run %s: %w", c.Finished[i].Run, err)
			}
			out.Results[i] = res
		}
		moved, err := s.moveDue(tx, c.Now)
		if err != nil {
			return fmt.Errorf("queue what fell due: %w", err)
		}
		out.More = moved == maxDuePerClaim
		if !c.Hold {
			if err := s.loadTurn(tx); err != nil {
				return fmt.Errorf("claim: %w", err)
			}
			for pool := range store.Pool(store.Pools) {
				if err := s.take(tx, pool, c.Free[pool], c.Now, &out.Leases); err != nil {
					return fmt.Errorf("claim: %w", err)
				}
			}
		}
		_, err = one(tx, selectNext, func(r Row) { out.NextDue = r.Time(0) })
		return err
	})
	return out, err
}

// moveDue queues what fell due, so that the index of queued runs holds only due ones.
func (s *Store) moveDue(tx Tx, now jobs.Time) (moved int, err error) {
	type due struct {
		seq, lane int64
		at        jobs.Time
		priority  int
	}
	var rows []due
	err = tx.Query(selectDue, func(r Row) error {
		rows = append(rows, due{r.Int(0), r.Int(1), r.Time(2), int(r.Int(3))})
		return nil
	}, int64(now), maxDuePerClaim)
	if err != nil {
		return 0, err
	}
	for _, d := range rows {
		if err := must(tx.Exec(updateQueued, d.seq)); err != nil {
			return 0, err
		}
		l, err := s.laneOf(tx, d.lane)
		if err != nil {
			return 0, err
		}
		if err := s.joinLane(tx, l, d.at, d.priority); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// turn is a lane during a claim: its first queued runs, in order.
type turn struct {
	lane    *laneRow
	job     int64
	queued  []*jobs.Run
	last    bool // queued holds all there are
	head    int64
	taken   int       // runs of it that are given out and still to be made running
	final   *jobs.Run // the last of them
	touched bool
}

// take gives out up to n runs: the lane with the smallest head has its turn, one run a turn.
func (s *Store) take(tx Tx, pool store.Pool, n int, now jobs.Time, out *[]store.Lease) error {
	if n <= 0 {
		return nil
	}
	var turns []*turn
	err := tx.Query(selectLanesByTurn, func(r Row) error {
		turns = append(turns, &turn{lane: &laneRow{id: r.Int(0)}, job: r.Int(1)})
		return nil
	}, int64(pool), n)
	if err != nil || len(turns) == 0 {
		return err
	}
	chunk := (n+len(turns)-1)/len(turns) + 1
	for _, t := range turns {
		if t.lane, err = s.laneOf(tx, t.lane.id); err != nil {
			return err
		}
		if err := t.fill(tx, chunk); err != nil {
			return err
		}
	}
	for range n {
		t := nextTurn(turns)
		if t == nil {
			break
		}
		lease, err := s.start(tx, t, now)
		if err != nil {
			return err
		}
		*out = append(*out, lease)
		if len(t.queued) == 0 && !t.last {
			if err := t.mark(tx, now); err != nil {
				return err
			}
			if err := t.fill(tx, chunk); err != nil {
				return err
			}
		}
		t.place()
	}
	for _, t := range turns {
		if !t.touched {
			continue
		}
		if err := t.mark(tx, now); err != nil {
			return err
		}
		if err := s.leaveTurn(tx, t); err != nil {
			return err
		}
	}
	return nil
}

func nextTurn(turns []*turn) (best *turn) {
	for _, t := range turns {
		if len(t.queued) > 0 && (best == nil || t.head < best.head) {
			best = t
		}
	}
	return best
}

// fill reads the first queued runs of the lane; those taken before are not queued any more.
func (t *turn) fill(tx Tx, n int) error {
	t.queued = t.queued[:0]
	err := tx.Query(selectQueued, func(r Row) error {
		run, err := scanRun(r)
		run.Payload = payloadOf(r, runColumnCount)
		t.queued = append(t.queued, run)
		return err
	}, t.lane.id, n)
	t.last = len(t.queued) < n
	t.place()
	return err
}

func (t *turn) place() {
	if len(t.queued) > 0 {
		t.head = headOf(t.lane.turn, t.queued[0].DueAt, t.queued[0].Priority)
	}
}

// mark makes the runs that were given out running.
func (t *turn) mark(tx Tx, now jobs.Time) error {
	if t.taken == 0 {
		return nil
	}
	rank := rankOf(t.final.DueAt, t.final.Priority)
	n, err := tx.Exec(updateRunningAt, t.lane.id, int64(now), rank, t.final.ID.Seq())
	if err == nil && n < int64(t.taken) {
		var before int64
		before, err = tx.Exec(updateRunningBefore, t.lane.id, int64(now), rank)
		n += before
	}
	if err == nil && n != int64(t.taken) {
		err = fmt.Errorf("%d of %d runs were queued", n, t.taken)
	}
	if err != nil {
		return fmt.Errorf("start runs of lane %d: %w", t.lane.id, err)
	}
	t.taken = 0
	return nil
}

// start gives the first run of the lane out.
func (s *Store) start(tx Tx, t *turn, now jobs.Time) (store.Lease, error) {
	run := t.queued[0]
	t.queued = t.queued[1:]
	t.touched = true
	// Past what falls due in this millisecond: that has its first turn before a second one.
	s.lastTurn = max(s.lastTurn, int64(now)*microsPerMilli) + 1
	t.lane.turn = s.lastTurn
	t.taken++
	t.final = run
	run.State = jobs.Running
	run.Counts.Number++
	if run.StartedAt == 0 {
		run.StartedAt = now
	}
	lease, err := s.lease(tx, run, t.job, now)
	if err == nil {
		lease.Checkpoint, err = s.checkpoint(tx, run.OperationID)
	}
	if err == nil && run.Counts.Number > 1 {
		_, err = one(tx, selectLogBytes, func(r Row) { lease.LogBytes = r.Int(0) }, run.ID.Seq())
	}
	return lease, err
}

func (s *Store) lease(tx Tx, run *jobs.Run, job int64, started jobs.Time) (store.Lease, error) {
	p, err := s.pinnedSpec(tx, specKey{job, run.Version})
	if err != nil {
		return store.Lease{}, err
	}
	run.Job = p.job
	return store.Lease{Run: run, Spec: p.spec, Started: started}, nil
}

func (s *Store) pinnedSpec(tx Tx, key specKey) (*pinned, error) {
	if p := s.specs[key]; p != nil {
		return p, nil
	}
	p := &pinned{}
	var text []byte
	found, err := one(tx, selectSpec, func(r Row) { p.job, text = r.Text(0), r.Bytes(1) }, key.job,
		key.version)
	if err == nil && !found {
		err = fmt.Errorf("version %d of job %d: %w", key.version, key.job, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if p.spec, err = parseSpec(text); err != nil {
		return nil, fmt.Errorf("read version %d of job %s: %w", key.version, p.job, err)
	}
	if len(s.specs) >= maxCached {
		clear(s.specs)
	}
	s.specs[key] = p
	return p, nil
}

// leaveTurn puts the lane where its next run belongs.
func (s *Store) leaveTurn(tx Tx, t *turn) error {
	if len(t.queued) == 0 {
		if !t.last {
			return s.refreshLane(tx, t.lane)
		}
		t.lane.ready = false
		return must(tx.Exec(updateLane, t.lane.id, t.lane.turn, nil, nil))
	}
	first := t.queued[0]
	t.lane.ready, t.lane.rank = true, rankOf(first.DueAt, first.Priority)
	return must(tx.Exec(updateLane, t.lane.id, t.lane.turn, t.head, t.lane.rank))
}

// Orphans implements store.Queue.
func (s *Store) Orphans(ctx context.Context) ([]store.Lease, error) {
	var leases []store.Lease
	err := s.db.Write(ctx, func(tx Tx) error {
		leases = nil
		var owners []int64
		err := tx.Query(selectRunning, func(r Row) error {
			run, err := scanRun(r)
			run.Payload = payloadOf(r, runColumnCount)
			owners = append(owners, r.Int(runColumnCount+1))
			leases = append(leases, store.Lease{
				Run: run, Started: r.Time(columnAttemptAt), LogBytes: r.Int(runColumnCount + 2),
				Deleted: r.Int(runColumnCount+3) == 1,
			})
			return err
		})
		for i := 0; err == nil && i < len(leases); i++ {
			var l store.Lease
			l, err = s.lease(tx, leases[i].Run, owners[i], leases[i].Started)
			leases[i].Spec = l.Spec
			if err == nil {
				leases[i].Checkpoint, err = s.checkpoint(tx, leases[i].Run.OperationID)
			}
		}
		return err
	})
	return leases, err
}
