package sqldb

import (
	"encoding/json"
	"fmt"

	"nightshift/jobs"
)

// gateKey names a gate: of a queue, dependency or pool job is 0, of a limit of a job name is keyText.
type gateKey struct {
	kind jobs.GateKind
	job  int64
	name string
}

// gateRow is a gate as it stands in the transaction under way.
type gateRow struct {
	jobs.Gate
	gateKey
	id      int64
	created jobs.Time
	parked  bool      // lanes may be parked at it
	given   int       // for how many runs it gave lanes back when it was last looked at, less those started
	wakeAt  jobs.Time // as it is stored
	stored  jobs.BreakerState
	dirty   bool // its starts or its state are to be stored
}

const (
	insertGate = `
INSERT INTO gates (kind, job, name, created_at) VALUES ($1, $2, $3, $4) RETURNING id`
	updateGateState = `UPDATE gates SET state = $2 WHERE id = $1`
	insertStarts    = `
INSERT INTO rates (gate, first_at, last_at, count) VALUES ($1, $2, $3, $4) RETURNING id`
	updateStarts = `UPDATE rates SET last_at = $2, count = $3 WHERE id = $1`
	deleteStarts = `DELETE FROM rates WHERE id = $1`
)

// keysOfLane are the gates of a lane, in the order in which its runs ask them. What catches up asks
// for a worker last, as all do. What goes on with its next slice holds its slot of the job's concurrency.
func keysOfLane(job *jobRow, l laneKey) []gateKey {
	keys := []gateKey{{jobs.GateQueue, 0, job.queue}}
	if c := job.concurrency; c != nil && !l.slice && (c.Key == "" || l.ckey != "") {
		key := gateKey{jobs.GateConcurrency, job.id, ""}
		if c.Key != "" {
			key.name = l.ckey
		}
		keys = append(keys, key)
	}
	if r := job.rate; r != nil && (r.Key == "" || l.rkey != "") {
		key := gateKey{jobs.GateRate, job.id, ""}
		if r.Key != "" {
			key.name = l.rkey
		}
		keys = append(keys, key)
	}
	for _, name := range job.dependencies {
		keys = append(keys, gateKey{jobs.GateDependency, 0, name})
	}
	if l.host != "" {
		keys = append(keys, gateKey{jobs.GateDependency, 0, l.host})
	}
	if l.catchUp {
		keys = append(keys, gateKey{jobs.GateCatchUp, 0, l.pool.String()})
	}
	return keys
}

// makeGate is gate, made where there is none.
func (s *Store) makeGate(tx Tx, key gateKey, now jobs.Time) (*gateRow, error) {
	g, err := s.gates.gate(tx, key)
	if err != nil || g != nil {
		return g, err
	}
	g = &gateRow{gateKey: key, created: now}
	_, err = one(tx, insertGate, func(r Row) { g.id = r.Int(0) }, int64(key.kind), key.job, key.name,
		int64(now))
	if err != nil {
		return nil, err
	}
	return g, s.gates.keep(tx, g)
}

// gatesOf are the gates of a lane, made where there are none.
func (s *Store) gatesOf(tx Tx, l *laneRow, now jobs.Time) ([]*gateRow, error) {
	if l.gates != nil && l.epoch == s.epoch {
		return l.gates, nil
	}
	job, err := s.jobByID(tx, l.job)
	if err != nil {
		return nil, err
	}
	keys := keysOfLane(job, l.laneKey)
	l.gates, l.epoch = make([]*gateRow, 0, len(keys)), s.epoch
	for _, key := range keys {
		g, err := s.makeGate(tx, key, now)
		if err != nil {
			l.gates = nil
			return nil, err
		}
		l.gates = append(l.gates, g)
	}
	return l.gates, nil
}

// forgetGates drops what was read of gates: what they allow has changed, or was rolled back.
func (s *Store) forgetGates() {
	s.epoch++
	s.gates = newGateBook(s.jobByID, &s.workers)
}

// forgetGate does so for one of them.
func (s *Store) forgetGate(g *gateRow) {
	s.epoch++ // lanes may know it
	delete(s.gates.byKey, g.gateKey)
	delete(s.gates.byID, g.id)
}

// shut is the first of the lane's gates that lets nothing through.
func (s *Store) shut(tx Tx, l *laneRow, now jobs.Time) (*gateRow, error) {
	gates, err := s.gatesOf(tx, l, now)
	if err != nil {
		return nil, err
	}
	for _, g := range gates {
		if g.Room(now) == 0 {
			return g, nil
		}
	}
	return nil, nil
}

// pass takes a run through all gates of its lane.
func (s *Store) pass(l *laneRow, run jobs.ID, now jobs.Time) (slots []slot) {
	for _, g := range l.gates {
		before := g.State
		g.Take(now, run)
		if g.Limit > 0 {
			slots = append(slots, slot{run.Seq(), g.id})
			s.gates.hold(run.Seq(), g.id)
		}
		if g.Rate != nil || g.State != before {
			g.dirty = true
			s.changed = append(s.changed, g)
		}
		if g.given--; g.parked && g.Room(now) > max(g.given, 0) {
			s.stir(g) // its room has grown with time, while no worker was free
		}
	}
	return slots
}

// keepGates stores what gates remember.
func (s *Store) keepGates(tx Tx, now jobs.Time) error {
	changed := s.changed
	s.changed = s.changed[:0]
	for _, g := range changed {
		if !g.dirty {
			continue
		}
		g.dirty = false
		err := keepGate(tx, g, now)
		if err == nil { // it may be shut now, with lanes that wait there still
			err = s.wakeFor(tx, g, now)
		}
		if err != nil {
			return fmt.Errorf("keep gate %s: %w", g.Name, err)
		}
	}
	return nil
}

func keepGate(tx Tx, g *gateRow, now jobs.Time) error {
	if g.Rate != nil {
		for _, id := range g.Forget(now) {
			if _, err := tx.Exec(deleteStarts, id); err != nil {
				return err
			}
		}
		if err := keepStarts(tx, g); err != nil {
			return err
		}
	}
	if g.State == g.stored {
		return nil
	}
	text := any(nil)
	if (g.State != jobs.BreakerState{}) {
		state, err := json.Marshal(g.State)
		if err != nil {
			return err
		}
		text = string(state)
	}
	g.stored = g.State
	return must(tx.Exec(updateGateState, g.id, text))
}

// keepStarts stores the newest counters: only these change.
func keepStarts(tx Tx, g *gateRow) error {
	for i := len(g.Starts) - 1; i >= 0; i-- {
		st := &g.Starts[i]
		if st.ID != 0 {
			return must(tx.Exec(updateStarts, st.ID, int64(st.Last), st.Count))
		}
		_, err := one(tx, insertStarts, func(r Row) { st.ID = r.Int(0) }, g.id, int64(st.First),
			int64(st.Last), st.Count)
		if err != nil {
			return err
		}
	}
	return nil
}
