package sqldb

import (
	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectSweepLanes = `SELECT id, head, held FROM lanes WHERE id > $1 ORDER BY id LIMIT $2`
	selectSweepGates = `SELECT id FROM gates WHERE id > $1 ORDER BY id LIMIT $2`
	selectParkedAt   = `
SELECT id FROM lanes
WHERE gate = $1 AND head IS NOT NULL AND open = 1 AND gate IS NOT NULL ORDER BY pool, head LIMIT 1`
	selectLaneOfHost = `SELECT id FROM lanes WHERE host = $1 AND host > '' ORDER BY id LIMIT 1`
	deleteGate       = `DELETE FROM gates WHERE id = $1`
	// Of a rate that was taken away.
	deleteGateStarts = `DELETE FROM rates WHERE gate = $1`
)

// sweep drops lanes that are empty and gates that nothing names any more, up to limit at a time.
func (s *Store) sweep(tx Tx, at *pruneCursor, now jobs.Time, limit int) (done bool, err error) {
	looked, err := s.sweepLanes(tx, at, limit)
	if err != nil || looked == limit {
		return false, err
	}
	return s.sweepGates(tx, at, now, limit-looked)
}

func (s *Store) sweepLanes(tx Tx, at *pruneCursor, limit int) (looked int, err error) {
	var empty, line []int64
	err = tx.Query(selectSweepLanes, func(r Row) error {
		looked++
		at.lane = r.Int(0)
		switch {
		case isLine(r.Text(2)):
			line = append(line, at.lane)
		case r.Null(1) && r.Text(2) == "":
			empty = append(empty, at.lane)
		}
		return nil
	}, at.lane, limit)
	for i := 0; err == nil && i < len(line); i++ { // such a lane has no head to tell it by
		var waits bool
		if waits, err = one(tx, selectLaneHead, func(Row) {}, line[i]); !waits {
			empty = append(empty, line[i])
		}
	}
	for i := 0; err == nil && i < len(empty); i++ {
		if l := s.laneByID[empty[i]]; l != nil {
			delete(s.laneRows, l.laneKey)
			delete(s.laneByID, l.id)
		}
		err = must(tx.Exec(deleteLane, empty[i]))
	}
	return looked, err
}

func (s *Store) sweepGates(tx Tx, at *pruneCursor, now jobs.Time, limit int) (done bool, err error) {
	var ids []int64
	err = tx.Query(selectSweepGates, func(r Row) error {
		ids = append(ids, r.Int(0))
		return nil
	}, at.gate, limit)
	for i := 0; err == nil && i < len(ids); i++ {
		at.gate = ids[i]
		var g *gateRow
		if g, err = s.gates.gateByID(tx, ids[i]); err != nil || g == nil {
			continue
		}
		var of bool
		if of, err = s.ofUse(tx, g, now); err != nil || of {
			continue
		}
		s.forgetGate(g)
		if _, err = tx.Exec(deleteGateStarts, g.id); err == nil {
			err = must(tx.Exec(deleteGate, g.id))
		}
	}
	return len(ids) < limit, err
}

// ofUse reports whether a gate remembers something, or is named or waited for.
func (s *Store) ofUse(tx Tx, g *gateRow, now jobs.Time) (bool, error) {
	for _, id := range g.Forget(now) {
		if _, err := tx.Exec(deleteStarts, id); err != nil {
			return true, err
		}
	}
	if g.Used > 0 || len(g.Starts) > 0 || g.PausedAt != 0 || !g.State.Spent(now) {
		return true, nil
	}
	waits, err := one(tx, selectParkedAt, func(Row) {}, g.id)
	if err != nil || waits || g.job != 0 || g.kind == jobs.GateCatchUp {
		return waits, err
	}
	if g.gateKey == (gateKey{jobs.GateQueue, 0, jobs.DefaultQueue}) {
		return true, nil
	}
	kind := store.GateDocument(g.kind)
	d, err := storedDocument(tx, kind, g.name)
	if err != nil || d != nil {
		return true, err
	}
	named, err := one(tx, selectNamers, func(Row) {}, kind, g.name)
	if err != nil || named || kind == store.KindQueue {
		return named, err
	}
	return one(tx, selectLaneOfHost, func(Row) {}, g.name)
}
