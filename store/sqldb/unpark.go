package sqldb

import (
	"cmp"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	parkedIn = `
WHERE gate = $1 AND pool = $2 AND head IS NOT NULL AND open = 1 AND gate IS NOT NULL`
	selectParkedFirst  = `SELECT id, head FROM lanes` + parkedIn + ` ORDER BY head, id LIMIT $3`
	selectParkedAlike  = `SELECT id, head FROM lanes` + parkedIn + ` AND job = $3 AND host = $4 AND catch_up = $5 AND slice = $6 ORDER BY head, id LIMIT $7`
	selectParkedSort   = `SELECT job, host, catch_up, slice FROM lanes` + parkedIn + ` AND (job, host, catch_up, slice) > ($3, $4, $5, $6) ORDER BY job, host, catch_up, slice LIMIT 1`
	updateLaneUnparked = `UPDATE lanes SET gate = NULL WHERE id = $1`

	maxUnparked = 256 // lanes of each pool that a gate gives back at a time
	maxSorts    = 64  // of lanes at a gate, that are told apart
)

// place is a lane that waits for a gate.
type place struct{ id, head int64 }

// unpark gives lanes back that wait for gates which may have opened, as many as there is room for.
// Those it gives back are looked at again, so each gate with room has lanes that can use it, unless
// other gates hold them: then it is stirred anew, or when one of these opens.
func (s *Store) unpark(tx Tx, now jobs.Time) error {
	if err := s.wakeGates(tx, now); err != nil {
		return err
	}
	left := maxStirred
	for id := range s.stirred {
		if left--; left < 0 {
			return nil
		}
		delete(s.stirred, id)
		s.seen[id] = struct{}{}
		g, err := s.gates.gateByID(tx, id)
		if err != nil {
			return err
		}
		if g == nil { // swept: nothing waits there
			s.stirBehind(id)
			continue
		}
		if err := s.unparkOf(tx, g, now); err != nil {
			return err
		}
		if err := s.wakeFor(tx, g, now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) unparkOf(tx Tx, g *gateRow, now jobs.Time) error {
	room := min(g.Room(now), maxUnparked)
	if room == 0 || !g.parked {
		return nil
	}
	s.stirBehind(g.id)
	g.given, g.parked = room, false
	again := false
	for pool := range store.Pool(store.Pools) {
		n, left, err := s.unparkIn(tx, g, pool, room, now)
		if err != nil {
			return err
		}
		g.parked = g.parked || left
		again = again || n == maxUnparked
	}
	if again {
		s.stir(g)
	}
	return nil
}

// unparkIn gives lanes of a pool back, those whose turn is first. left: others stay there.
func (s *Store) unparkIn(
	tx Tx, g *gateRow, pool store.Pool, room int, now jobs.Time,
) (n int, left bool, err error) {
	first, err := parked(tx, selectParkedFirst, g.id, int64(pool), room)
	if err != nil {
		return 0, false, err
	}
	var open []place
	for _, p := range first {
		held, err := s.heldElsewhere(tx, p, g, now)
		if err != nil {
			return 0, false, err
		}
		if !held {
			open = append(open, p)
		}
	}
	left = len(first) == room || len(open) < len(first)
	if len(first) == room && len(open) < room {
		if open, err = s.openLanes(tx, g, pool, room, now, first); err != nil {
			return 0, false, err
		}
	}
	s.idle[pool] = s.idle[pool] && len(open) == 0
	for _, p := range open {
		if err := must(tx.Exec(updateLaneUnparked, p.id)); err != nil {
			return 0, false, err
		}
	}
	return len(open), left, nil
}

// openLanes are the first ones at a gate that no other gate holds which they share with all lanes of
// their job and host that catch up or do not. So those that wait for two gates are not moved from one to the other each time
// that one opens while the other is shut. Of many sorts of lanes it takes the first as they come.
func (s *Store) openLanes(
	tx Tx, g *gateRow, pool store.Pool, room int, now jobs.Time, first []place,
) (open []place, err error) {
	job, host, catchUp, slice := int64(minInt), "", int64(0), int64(0)
	for range maxSorts {
		found, err := one(tx, selectParkedSort, func(r Row) {
			job, host, catchUp, slice = r.Int(0), r.Text(1), r.Int(2), r.Int(3)
		}, g.id, int64(pool), job, host, catchUp, slice)
		if err != nil {
			return nil, err
		}
		if !found {
			slices.SortFunc(open, func(a, b place) int {
				return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.id, b.id))
			})
			return open[:min(len(open), room)], nil
		}
		alike, err := parked(tx, selectParkedAlike, g.id, int64(pool), job, host, catchUp, slice, room)
		if err != nil {
			return nil, err
		}
		if held, err := s.heldElsewhere(tx, alike[0], g, now); err != nil {
			return nil, err
		} else if !held {
			open = append(open, alike...)
		}
	}
	return first, nil
}

func parked(tx Tx, query string, args ...any) (lanes []place, err error) {
	err = tx.Query(query, func(r Row) error {
		lanes = append(lanes, place{r.Int(0), r.Int(1)})
		return nil
	}, values(args)...)
	return lanes, err
}

// heldElsewhere reports whether a lane at a gate is held by another one too, not by one of its own
// keys. It stays then: the gate is stirred when that one may have opened.
func (s *Store) heldElsewhere(tx Tx, p place, at *gateRow, now jobs.Time) (bool, error) {
	l, err := s.laneOf(tx, p.id)
	if err != nil {
		return false, err
	}
	gates, err := s.gatesOf(tx, l, now)
	if err != nil {
		return false, err
	}
	for _, g := range gates {
		if g == at || g.Key != nil || g.Room(now) > 0 {
			continue
		}
		if s.behind[g.id] == nil {
			s.behind[g.id] = map[int64]struct{}{}
		}
		s.behind[g.id][at.id] = struct{}{}
		g.parked = true
		return true, s.wakeFor(tx, g, now)
	}
	return false, nil
}

// stirBehind stirs the gates at which lanes stay that this one held too.
func (s *Store) stirBehind(id int64) {
	for other := range s.behind[id] {
		s.stirred[other] = struct{}{}
	}
	delete(s.behind, id)
}
