package main

import (
	"fmt"
	"slices"
	"time"
)

// mostFaults are printed; the rest is counted.
const mostFaults = 40

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
	slices.Sort(s.ready)
	rows := []struct {
		what  string
		value any
	}{
		{"seed", s.seed},
		{"kills", fmt.Sprintf("%d (%d of them before it was ready)", s.kills, s.early)},
		{"keys sent", len(s.history.keys)},
		{"runs acknowledged", len(s.history.acked)},
		{"  of them made by the end of another", s.history.chains()},
		{"requests repeated, outcome unknown", s.history.lost},
		{"answers for a known key", s.history.repeats},
		{"starts of jobs seen", t.deliveries},
		{"  more than one per run", t.surplus},
		{"attempts cut off by a kill", t.lost},
		{"attempts answered 503", t.failed},
		{"runs ended by five deaths in a row", t.looped},
		{"ready after, median", s.ready[len(s.ready)/2].Round(time.Millisecond)},
		{"ready after, slowest", s.ready[len(s.ready)-1].Round(time.Millisecond)},
		{"drained after the last kill in", s.drained.Round(time.Millisecond)},
		{"stopped within", s.stopped.Round(time.Millisecond)},
		{"database", fmt.Sprintf("%.1f MiB", float64(s.fileBytes)/(1<<20))},
		{"violations", len(faults)},
	}
	for _, r := range rows {
		fmt.Printf("%-36s %v\n", r.what, r.value)
	}
	for _, f := range faults[:min(len(faults), mostFaults)] {
		fmt.Println("VIOLATION:", f)
	}
	if more := len(faults) - mostFaults; more > 0 {
		fmt.Printf("and %d more\n", more)
	}
}
