package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// tally is what the histories of all runs add up to.
type tally struct {
	runs     map[string]int // by job and state
	attempts map[string]int // by outcome and kind
	calls    map[string]int // by name and status
	saves    map[string]int // acknowledged, or said, by job
	reads    int            // attempts that went on from a checkpoint
	slices   int
}

func (h *history) tally() tally {
	t := tally{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, 0, 0}
	for _, r := range h.runs {
		if r.final == nil {
			continue
		}
		t.runs[r.job+" "+r.final.State]++
		for _, a := range r.final.Attempts {
			kind := a.Outcome
			if a.Error != nil {
				kind += " " + a.Error.Kind
			}
			t.attempts[kind]++
		}
		for _, c := range append(slices.Clip(r.calls), r.cancels...) {
			t.calls[fmt.Sprint(c.name, " ", c.status)]++
		}
		for _, s := range r.saves {
			t.saves[r.job] += max(0, s.sent-s.read.N)
			if s.read.N > 0 {
				t.reads++
			}
		}
		if r.job == sliced {
			t.slices += len(r.deliveries)
		}
	}
	return t
}

// counts writes a tally in a line.
func counts(of map[string]int) string {
	var parts []string
	for what, n := range of {
		parts = append(parts, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// report prints the summary and what was violated.
func (s *storm) report(faults []string) {
	t := s.history.tally()
	r := rig.Report{Faults: faults}
	r.Row("seed", s.seed)
	r.Row("kills", fmt.Sprintf("%d (%d of them before it was ready), orderly stops %d, freezes %d", s.kills, s.server.Early,
		s.stops, s.freezes))
	r.Row("runs", counts(t.runs))
	r.Row("attempts", counts(t.attempts))
	r.Row("checkpoints sent", counts(t.saves))
	r.Row("attempts that went on from one", t.reads)
	r.Row("slices delivered", t.slices)
	r.Row("calls by their answer", counts(t.calls))
	r.Row("drained after the last kill in", s.drained.Round(time.Millisecond))
	s.server.Tell(&r)
	r.Print()
}
