package main

import (
	"fmt"
	"time"

	"nightshift/scripts/internal/rig"
)

// tally is what the histories of all runs add up to.
type tally struct {
	deliveries, surplus, lost, failed, looped int
}

func (h *history) tally() tally {
	var t tally
	for _, r := range h.acked {
		t.deliveries += len(r.deliveries)
		t.surplus += max(0, len(r.deliveries)-1)
		if r.final == nil {
			continue
		}
		for _, a := range r.final.Attempts {
			switch {
			case lost(a):
				t.lost++
			case a.Outcome == "failed":
				t.failed++
			}
		}
		if r.final.State == "failed" {
			t.looped++
		}
	}
	return t
}

// report prints the summary and what was violated.
func (s *storm) report(faults []string) {
	t := s.history.tally()
	r := rig.Report{Faults: faults}
	r.Row("seed", s.seed)
	r.Row("kills", fmt.Sprintf("%d (%d of them before it was ready)", s.kills, s.server.Early))
	r.Row("keys sent", len(s.history.keys))
	r.Row("runs acknowledged", len(s.history.acked))
	r.Row("  of them made by the end of another", s.history.chains())
	r.Row("requests repeated, outcome unknown", s.history.lost)
	r.Row("answers for a known key", s.history.repeats)
	r.Row("starts of jobs seen", t.deliveries)
	r.Row("  more than one per run", t.surplus)
	r.Row("attempts cut off by a kill", t.lost)
	r.Row("attempts answered 503", t.failed)
	r.Row("runs ended by five deaths in a row", t.looped)
	r.Row("most in flight, of what is limited", s.history.reached())
	r.Row("drained after the last kill in", s.drained.Round(time.Millisecond))
	r.Row("stopped within", s.stopped.Round(time.Millisecond))
	r.Row("database", fmt.Sprintf("%.1f MiB", float64(s.fileBytes)/(1<<20)))
	s.server.Tell(&r)
	r.Print()
}
