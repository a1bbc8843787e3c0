package sqldb

import (
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// turn is a lane during a claim: its first queued runs, in order.
type turn struct {
	lane   *laneRow
	queued []*jobs.Run
	last   bool // queued holds all there are
	head   int64
	served bool // it has had a turn
	over   bool // a gate is shut, or nothing is left
}

// takeAll gives out runs to the workers that are free. more: gates are left to be looked at.
// long: when the first of them will have taken long; zero: nobody asks.
func (s *Store) takeAll(
	tx Tx, c *store.Claim,
) (leases []store.Lease, long jobs.Time, more bool, err error) {
	if err := s.loadTurn(tx); err != nil {
		return nil, 0, false, err
	}
	if err := s.stopped.read(tx); err != nil {
		return nil, 0, false, err
	}
	t := taking{Store: s, tx: tx, now: c.Now}
	free := c.Free
	for range maxRounds {
		if err := s.unpark(tx, c.Now); err != nil {
			return nil, 0, false, err
		}
		for pool := range store.Pool(store.Pools) {
			before := len(t.leases)
			if err := t.take(pool, free[pool]); err != nil {
				return nil, 0, false, err
			}
			free[pool] -= len(t.leases) - before
		}
		if len(s.stirred) == 0 || t.parked >= maxParked {
			break
		}
	}
	if err := keepSlots(tx, t.slots); err != nil {
		return nil, 0, false, err
	}
	return t.leases, t.longAt, len(s.stirred) > 0 || t.parked >= maxParked, s.keepGates(tx, c.Now)
}

// taking is a claim under way.
type taking struct {
	*Store
	tx     Tx
	now    jobs.Time
	leases []store.Lease
	slots  []slot
	begun  []int64 // runs that are given out and still to be made running
	parked int     // lanes that were set aside
	long   []long  // runs of which somebody wants to know when they take long, still to be noted
	longAt jobs.Time

	pool             store.Pool
	left             int // workers
	turns            []*turn
	lastHead, lastID int64 // of the lanes that were read
	all              bool  // there are no others
}

// take gives out up to n runs: the lane with the smallest head has its turn, one run a turn.
func (t *taking) take(pool store.Pool, n int) error {
	if n <= 0 || t.idle[pool] {
		return nil
	}
	t.pool, t.left, t.turns, t.all = pool, n, t.turns[:0], false
	t.lastHead, t.lastID = minInt, minInt
	for t.left > 0 {
		next := t.next()
		// One that was served comes after all that were not, also those not yet read.
		if (next == nil || next.served) && !t.all {
			if err := t.read(); err != nil {
				return err
			}
			continue
		}
		if next == nil || t.parked >= maxParked {
			t.idle[pool] = len(t.turns) == 0
			break
		}
		if err := t.serve(next); err != nil {
			return err
		}
	}
	return t.leave()
}

const minInt = -1 << 63

func (t *taking) next() (best *turn) {
	for _, c := range t.turns {
		if !c.over && (best == nil || c.head < best.head) {
			best = c
		}
	}
	return best
}

// read adds the lanes that come next.
func (t *taking) read() error {
	type place struct{ id, head int64 }
	var places []place
	limit := max(t.left, 16)
	err := t.tx.Query(selectLanesByTurn, func(r Row) error {
		places = append(places, place{r.Int(0), r.Int(1)})
		return nil
	}, int64(t.pool), t.lastHead, t.lastID, limit)
	if err != nil {
		return err
	}
	t.all = len(places) < limit
	for _, p := range places {
		t.lastHead, t.lastID = p.head, p.id
		l, err := t.laneOf(t.tx, p.id)
		if err != nil {
			return err
		}
		t.turns = append(t.turns, &turn{lane: l, head: p.head})
	}
	return nil
}

// serve gives the first run of a lane out, unless a gate is shut.
func (t *taking) serve(c *turn) error {
	g, err := t.shut(t.tx, c.lane, t.now)
	if err != nil {
		return err
	}
	if g != nil {
		c.over = true
		if c.served {
			return nil // leave says where it waits
		}
		t.parked++
		return t.park(t.tx, c.lane, g, t.now)
	}
	if len(c.queued) == 0 {
		if err := t.fill(c); err != nil || c.over {
			return err
		}
	}
	lease, err := t.start(c)
	if err != nil {
		return err
	}
	t.leases = append(t.leases, lease)
	t.left--
	switch {
	case len(c.queued) > 0:
		c.place()
	case c.last:
		c.over = true
	case t.left > 0:
		return t.fill(c)
	}
	return nil
}

// fill gets the first queued runs of the lane: those that a claim before has read ahead, or those
// that are queued now. Where many lanes have few turns each it reads ahead.
func (t *taking) fill(c *turn) error {
	c.queued, c.last = t.readAhead(c.lane)
	if c.leave(&t.stopped); len(c.queued) > 0 {
		c.place()
		return nil
	}
	if err := t.begin(); err != nil {
		return err
	}
	waiting := 1
	for _, other := range t.turns {
		if !other.over && other != c {
			waiting++
		}
	}
	n := (t.left+waiting-1)/waiting + 1
	if waiting > 1 {
		n = max(n, aheadOfLane)
	}
	c.queued = nil
	err := t.tx.Query(selectQueued, func(r Row) error {
		run, err := scanWhole(r)
		c.queued = append(c.queued, run)
		return err
	}, c.lane.id, n)
	c.last = len(c.queued) < n
	c.leave(&t.stopped)
	c.over = len(c.queued) == 0
	c.place()
	return err
}

// leave passes over runs whose order was called off before they began: they are cancelled soon.
func (c *turn) leave(stopped *stoppedBulks) {
	n := len(c.queued)
	c.queued = slices.DeleteFunc(c.queued, stopped.calledOff)
	c.last = c.last && len(c.queued) == n
}

func (c *turn) place() {
	if len(c.queued) > 0 {
		c.head = headOf(c.lane.turn, c.queued[0].DueAt, c.queued[0].Priority)
	}
}

// start gives the first run of the lane out.
func (t *taking) start(c *turn) (store.Lease, error) {
	run := c.queued[0]
	c.queued = c.queued[1:]
	c.served = true
	// Past what falls due in this millisecond: that has its first turn before a second one.
	t.lastTurn = max(t.lastTurn, int64(t.now)*microsPerMilli) + 1
	c.lane.turn = t.lastTurn
	t.begun = append(t.begun, run.ID.Seq())
	if err := t.watch(c.lane.job, run); err != nil {
		return store.Lease{}, err
	}
	run.State = jobs.Running
	if run.Slices == 0 { // else its attempt goes on
		run.Counts.Number++
		run.AttemptAt = t.now
	}
	if run.StartedAt == 0 {
		run.StartedAt = t.now
	}
	t.slots = append(t.slots, t.pass(c.lane, run.ID, t.now)...)
	lease, err := t.lease(t.tx, run, c.lane.job, run.AttemptAt)
	if err == nil {
		lease.Checkpoint, err = t.checkpoint(t.tx, ownerOf(c.lane.job, run))
	}
	if err == nil && (run.Counts.Number > 1 || run.Slices > 0) {
		_, err = one(t.tx, selectLogBytes, func(r Row) { lease.LogBytes = r.Int(0) }, run.ID.Seq())
	}
	if err == nil && run.Slices > 0 {
		err = goesOn(t.tx, &lease)
	}
	return lease, err
}

// goesOn reads what an attempt has said and printed before its next slice.
func goesOn(tx Tx, l *store.Lease) error {
	var bad error
	_, err := one(tx, selectSaid, func(r Row) { l.Said, bad = parseSaid(r.Bytes(0)) }, l.Run.ID.Seq())
	if err = errors.Join(err, bad); err == nil && l.LogBytes > 0 {
		l.Log, err = logOf(tx, l.Run.ID, l.Run.Counts.Number)
	}
	return err
}

// begin makes the runs that were given out running.
func (t *taking) begin() error {
	runs := t.begun
	t.begun = t.begun[:0]
	slices.Sort(runs) // neighbours share pages
	err := each(runs, startsAtOnce, func(args []any, given int) error {
		query := updateRunningMany
		if len(args) == 1 {
			query = updateRunning
		}
		n, err := t.tx.Exec(query, values(append([]any{int64(t.now)}, args...))...)
		if err == nil && n != int64(given) {
			err = fmt.Errorf("%d of %d runs were queued", n, given)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("start runs: %w", err)
	}
	return t.noteLong()
}

// leave puts the lanes that were served where their next runs belong.
func (t *taking) leave() error {
	if err := t.begin(); err != nil {
		return err
	}
	for _, c := range t.turns {
		if !c.served {
			continue
		}
		t.keepAhead(c.lane, c.queued, c.last)
		if err := t.leaveTurn(c); err != nil {
			return err
		}
	}
	return nil
}

// leaveTurn sets a lane aside at once where a gate is shut now.
func (t *taking) leaveTurn(c *turn) error {
	l := c.lane
	head := any(nil)
	switch {
	case len(c.queued) > 0:
		first := c.queued[0]
		l.ready, l.rank, head = true, rankOf(first.DueAt, first.Priority), c.head
	case !c.last:
		found, err := one(t.tx, selectLaneHead, func(r Row) {
			l.rank, head = r.Int(0), headOf(l.turn, r.Time(1), int(r.Int(2)))
		}, l.id)
		if err != nil {
			return err
		}
		l.ready = found
	default:
		l.ready = false
	}
	if !l.ready {
		return must(t.tx.Exec(updateLane, l.id, l.turn, nil, nil))
	}
	g, err := t.shut(t.tx, l, t.now)
	if err != nil {
		return err
	}
	if g == nil {
		return must(t.tx.Exec(updateLane, l.id, l.turn, head, l.rank))
	}
	if err := must(t.tx.Exec(updateLaneAnew, l.id, l.turn, head, l.rank, g.id)); err != nil {
		return err
	}
	return t.parkedAt(t.tx, l, g, t.now)
}
