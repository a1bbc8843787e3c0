package sqldb

import (
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// slot is an attempt under way that counts against the limit of a gate.
type slot struct{ run, gate int64 }

const (
	insertSlot = `INSERT INTO slots (run, gate) VALUES ($1, $2)`
	// Several at once: a claim may take many.
	insertSlots = `
INSERT INTO slots (run, gate) VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8), ($9, $10), ($11, $12), ($13, $14),
    ($15, $16)`
	slotsAtOnce   = 8
	deleteSlots   = `DELETE FROM slots WHERE run IN ($1, $2, $3, $4, $5, $6, $7, $8)`
	deleteSlotsOf = `DELETE FROM slots WHERE run = $1`
	deleteSlot    = `DELETE FROM slots WHERE run = $1 AND gate = $2`
)

// keepSlots writes the slots that a claim has taken.
func keepSlots(tx Tx, slots []slot) error {
	for len(slots) >= slotsAtOnce {
		args := make([]any, 0, 2*slotsAtOnce)
		for _, sl := range slots[:slotsAtOnce] {
			args = append(args, sl.run, sl.gate)
		}
		if _, err := tx.Exec(insertSlots, values(args)...); err != nil {
			return err
		}
		slots = slots[slotsAtOnce:]
	}
	for _, sl := range slots {
		if _, err := tx.Exec(insertSlot, sl.run, sl.gate); err != nil {
			return err
		}
	}
	return nil
}

// giveBack frees the slots of a run whose attempt is over; their rows go with dropSlots.
func (s *Store) giveBack(tx Tx, run jobs.ID) error {
	if err := s.gates.readSlots(tx); err != nil {
		return err
	}
	gates := s.gates.free(run.Seq())
	if len(gates) == 0 {
		return nil
	}
	for _, id := range gates {
		s.stirred[id] = struct{}{}
	}
	s.freed = append(s.freed, run.Seq())
	return nil
}

// giveSome frees the slots of a run at some of its gates alone.
func (s *Store) giveSome(tx Tx, run jobs.ID, of func(jobs.GateKind) bool) error {
	if err := s.gates.readSlots(tx); err != nil {
		return err
	}
	for _, id := range slices.Clone(s.gates.held[run.Seq()]) {
		g, err := s.gates.gateByID(tx, id)
		if err != nil {
			return err
		}
		if g == nil || !of(g.kind) {
			continue
		}
		s.gates.freeOne(run.Seq(), id)
		s.stirred[id] = struct{}{}
		if err := must(tx.Exec(deleteSlot, run.Seq(), id)); err != nil {
			return err
		}
	}
	return nil
}

// leaveSlots gives back what a run has no more use for whose attempt ends, waits for its callback or
// for its next slice.
func (s *Store) leaveSlots(tx Tx, f *store.Finish, sliced bool) error {
	switch {
	case f.Group != nil:
		return s.giveSome(tx, f.Run, func(k jobs.GateKind) bool { return k != jobs.GateConcurrency })
	case f.Held == "" && f.Transition.State == jobs.Waiting:
		return s.giveSome(tx, f.Run, func(k jobs.GateKind) bool { return k == jobs.GateCatchUp })
	case sliced:
		return s.giveSome(tx, f.Run, func(k jobs.GateKind) bool { return k != jobs.GateConcurrency })
	}
	return s.giveBack(tx, f.Run)
}

// dropSlots deletes the rows of slots that were given back in this transaction. It is done before
// any are taken, and before the call ends.
func (s *Store) dropSlots(tx Tx) error {
	runs := s.freed
	s.freed = s.freed[:0]
	return each(runs, slotsAtOnce, func(args []any, _ int) error {
		query := deleteSlots
		if len(args) == 1 {
			query = deleteSlotsOf
		}
		_, err := tx.Exec(query, values(args)...)
		return err
	})
}

// each calls fn with up to n numbers at a time: with one, or with n arguments, of which the last
// number fills up those that are too many. given is how many numbers these are.
func each(list []int64, n int, fn func(args []any, given int) error) error {
	for len(list) > 0 {
		given := min(n, len(list))
		args := make([]any, 1, n)
		if given > 1 {
			args = args[:n]
		}
		for i := range args {
			args[i] = list[min(i, given-1)]
		}
		if err := fn(args, given); err != nil {
			return err
		}
		list = list[given:]
	}
	return nil
}

// endAt tells the gates of a run how its attempt has ended, or its slice, and gives slots back.
func (s *Store) endAt(tx Tx, f *store.Finish) error {
	sliced := f.Transition.State == jobs.Running || f.Held != "" && f.Slices > 1
	if err := s.leaveSlots(tx, f, sliced); err != nil {
		return err
	}
	job, err := s.jobRow(tx, f.Job)
	if err != nil || job == nil {
		return err
	}
	names := job.dependencies
	if f.Host != "" {
		names = append(names[:len(names):len(names)], f.Host)
	}
	for _, name := range names {
		g, err := s.makeGate(tx, gateKey{jobs.GateDependency, 0, name}, f.Now)
		if err != nil {
			return err
		}
		if err := s.hear(tx, g, f); err != nil {
			return fmt.Errorf("tell dependency %s: %w", name, err)
		}
	}
	return nil
}

// hear has a dependency take in the end of an attempt.
func (s *Store) hear(tx Tx, g *gateRow, f *store.Finish) error {
	before, signal := g.State, f.Signal
	signal.Void = signal.Void || f.Group != nil // nothing was called
	if signal.Started == 0 {
		signal.Started = f.Started
	}
	event := g.Hear(f.Now, f.Run, signal)
	if g.State == before {
		return nil
	}
	s.stir(g)
	if err := keepGate(tx, g, f.Now); err != nil {
		return err
	}
	if event == "" {
		return nil
	}
	return s.tellDependency(tx, f.Now, &jobs.DependencyEvent{
		Type: event, Gate: &g.Gate, Was: before, Run: f.Run, Job: f.Job,
	})
}
