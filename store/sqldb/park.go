package sqldb

import (
	"nightshift/jobs"
)

const (
	// updateLaneParked sets a lane aside until its gate may have opened: no claim looks at it until then.
	updateLaneParked  = `UPDATE lanes SET gate = $2 WHERE id = $1`
	selectParkedGates = `
SELECT DISTINCT gate FROM lanes WHERE head IS NOT NULL AND open = 1 AND gate IS NOT NULL`
	updateGateWake    = `UPDATE gates SET wake_at = $2 WHERE id = $1`
	selectWoken       = `SELECT id FROM gates WHERE wake_at <= $1 ORDER BY wake_at LIMIT $2`
	selectNextWake    = `SELECT wake_at FROM gates WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1`
	updateLanesOfAnew = `UPDATE lanes SET gate = NULL WHERE job = $1 AND gate IS NOT NULL`

	maxStirred = 1000 // gates that one claim looks at
	maxParked  = 2000 // lanes that one claim sets aside
)

// park sets a lane aside at a gate that is shut.
func (s *Store) park(tx Tx, l *laneRow, g *gateRow, now jobs.Time) error {
	if err := must(tx.Exec(updateLaneParked, l.id, g.id)); err != nil {
		return err
	}
	return s.parkedAt(tx, l, g, now)
}

// parkedAt notes that a lane waits for a gate. The room that it leaves at its other gates is
// for those that wait there.
func (s *Store) parkedAt(tx Tx, l *laneRow, g *gateRow, now jobs.Time) error {
	g.parked = true
	for _, other := range l.gates {
		if other != g && other.Room(now) > 0 {
			s.stir(other)
		}
	}
	return s.wakeFor(tx, g, now)
}

// wakeFor notes when a gate may open by the passing of time.
func (s *Store) wakeFor(tx Tx, g *gateRow, now jobs.Time) error {
	at := jobs.Time(0)
	if g.parked {
		at = g.Wake(now)
	}
	if at == g.wakeAt {
		return nil
	}
	g.wakeAt = at
	return must(tx.Exec(updateGateWake, g.id, none(at)))
}

// stir has the next claim see whether lanes that wait for the gate can go on.
func (s *Store) stir(g *gateRow) {
	if g.parked {
		s.stirred[g.id] = struct{}{}
	}
}

// stirGatesOf does so for the gates of a lane that has nothing left to start.
func (s *Store) stirGatesOf(tx Tx, l *laneRow) error {
	if l.held != "" {
		return nil
	}
	job, err := s.jobByID(tx, l.job)
	if err != nil {
		return err
	}
	for _, key := range keysOfLane(job, l.laneKey) {
		g, err := s.gates.gate(tx, key)
		if err != nil {
			return err
		}
		if g != nil { // nothing waits at one that nobody has made
			s.stir(g)
		}
	}
	return nil
}

// wakeGates adds the gates whose time has come, and after a change of many all at which lanes wait.
func (s *Store) wakeGates(tx Tx, now jobs.Time) error {
	add := func(r Row) error {
		s.stirred[r.Int(0)] = struct{}{}
		return nil
	}
	if s.stirAll {
		s.stirAll, s.seenAll = false, true
		if err := tx.Query(selectParkedGates, add); err != nil {
			return err
		}
	}
	return tx.Query(selectWoken, add, int64(now), maxStirred)
}
