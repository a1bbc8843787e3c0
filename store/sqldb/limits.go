package sqldb

import (
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	upsertSlot    = `INSERT INTO slots (run, gate) VALUES ($1, $2) ON CONFLICT (run, gate) DO NOTHING`
	selectHolders = `
SELECT seq, job, version, host, ckey, rkey, cause, state, members FROM runs WHERE state IN (3, 5)
ORDER BY state, seq`
	selectHoldersSliced = `
SELECT seq, job, version, host, ckey, rkey, cause, state, members FROM runs
WHERE state = 2 AND slices IS NOT NULL ORDER BY seq`
)

// lookAgain has the next claim look at all gates at which lanes wait.
func (s *Store) lookAgain() {
	s.epoch++ // lanes may have other gates
	s.stirAll = true
	s.idle = [store.Pools]bool{}
}

// limits tells which gates may allow something else than before: each queue and dependency by its
// key, those of a job by its number alone.
type limits map[gateKey]struct{}

func (l limits) ofJob(id int64) { l[gateKey{job: id}] = struct{}{} }

// of adds what a document is about; ok: it is about a gate.
func (l limits) of(n named) (ok bool) {
	kind := gateKindOf(n.kind)
	if kind != 0 {
		l[gateKey{kind, 0, n.name}] = struct{}{}
	}
	return kind != 0
}

func (l limits) hold(key gateKey) bool {
	if key.job != 0 {
		key = gateKey{job: key.job}
	}
	_, ok := l[key]
	return ok
}

// allowAnew takes in that gates allow something else.
func (s *Store) allowAnew(tx Tx, changed limits, now jobs.Time) error {
	for key, g := range s.gates.byKey {
		if changed.hold(key) {
			s.forgetGate(g)
		}
	}
	s.lookAgain()
	tx.Wake()
	if err := s.unbreak(tx, changed, now); err != nil {
		return err
	}
	return s.reslot(tx, now)
}

// unbreak closes what held a dependency that has no breaker any more.
func (s *Store) unbreak(tx Tx, changed limits, now jobs.Time) error {
	for key := range changed {
		if key.kind != jobs.GateDependency {
			continue
		}
		g, err := s.gates.gate(tx, key)
		if err != nil {
			return err
		}
		if g == nil || g.Breaker != nil || g.State.Phase == jobs.BreakerClosed {
			continue
		}
		nothing := store.Finish{Now: now, Signal: jobs.Signal{Void: true}}
		if err := s.hear(tx, g, &nothing); err != nil {
			return fmt.Errorf("take the breaker of dependency %s away: %w", g.Name, err)
		}
	}
	return nil
}

// reslot gives the attempts under way the slots of limits that came to be while they run, so that
// what is in use is counted right.
func (s *Store) reslot(tx Tx, now jobs.Time) error {
	type holder struct {
		run     int64
		version int
		key     laneKey
		// alone: it holds the slots of its job's concurrency alone. It is between two slices, or a group
		// that waits for its members.
		alone bool
	}
	var holders []holder
	for _, q := range []string{selectHolders, selectHoldersSliced} {
		err := tx.Query(q, func(r Row) error {
			h := holder{r.Int(0), int(r.Int(2)), laneKey{
				job: r.Int(1), host: r.Text(3), ckey: r.Text(4), rkey: r.Text(5),
			}, false}
			state := jobs.State(r.Int(7))
			h.alone = state == jobs.Queued || state == jobs.Waiting && !r.Null(8)
			// Who waits for a callback has no worker.
			h.key.catchUp = jobs.Trigger(r.Text(6)) == jobs.TriggerCatchUp && state == jobs.Running
			holders = append(holders, h)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, h := range holders {
		p, err := s.pinnedSpec(tx, specKey{h.key.job, h.version})
		if err != nil {
			return err
		}
		job, err := s.jobByID(tx, h.key.job)
		if err != nil {
			return err
		}
		h.key.pool, h.key.host = p.pool, p.hostOf(h.key.host)
		for _, key := range keysOfLane(job, h.key) {
			g, err := s.makeGate(tx, key, now)
			if err != nil {
				return err
			}
			if g.Limit == 0 || h.alone && key.kind != jobs.GateConcurrency {
				continue
			}
			n, err := tx.Exec(upsertSlot, h.run, g.id)
			if err != nil {
				return err
			}
			if n == 1 {
				s.gates.hold(h.run, g.id)
			}
		}
	}
	return nil
}

// changeGates has the lanes of a job look at their gates anew.
func (v *saving) changeGates(row *storedJob, j *jobs.Job) error {
	v.limits.ofJob(row.id)
	if err := v.dropProbes(row, j); err != nil {
		return err
	}
	_, err := v.tx.Exec(updateLanesOfAnew, row.id)
	return err
}

// dropProbes leaves the probes of dependencies that the job names no more to other runs: the end of
// those under way will not tell them.
func (v *saving) dropProbes(row *storedJob, j *jobs.Job) error {
	for _, name := range row.job.Dependencies {
		if slices.Contains(j.Dependencies, name) {
			continue
		}
		g, err := v.gates.gate(v.tx, gateKey{jobs.GateDependency, 0, name})
		if err != nil {
			return err
		}
		if g == nil || g.State.Probe.IsNil() {
			continue
		}
		probe, err := v.runRow(v.tx, g.State.Probe)
		if err == nil && probe.job == row.id {
			end := store.Finish{Run: g.State.Probe, Now: v.by.Now, Signal: jobs.Signal{Void: true}}
			err = v.hear(v.tx, g, &end)
		}
		if err != nil {
			return fmt.Errorf("drop the probe of dependency %s: %w", name, err)
		}
	}
	return nil
}
