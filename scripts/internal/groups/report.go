package main

import (
	"fmt"
	"time"

	"nightshift/scripts/internal/rig"
)

// report prints the summary and what was violated.
func (s *storm) report(faults []string) {
	r := rig.Report{Faults: faults}
	lasts := map[string]int{}
	large, again := 0, 0
	for _, g := range s.groups {
		lasts[g.last]++
		again += max(0, len(g.merged)-1)
		if g.large {
			large++
		}
	}
	r.Row("seed", s.seed)
	r.Row("kills", fmt.Sprintf("%d, and %d before the start was ready", s.kills, s.server.Early))
	r.Row("groups", len(s.groups))
	r.Row("the last member ended by", fmt.Sprintf("%s %d, %s %d, %s %d", byAnswer, lasts[byAnswer], byFailure,
		lasts[byFailure], byCancel, lasts[byCancel]))
	r.Row("results by reference", large)
	r.Row("merges called once more after a kill", again)
	r.Row("last end after a start", s.slowest.Round(time.Millisecond))
	s.server.Tell(&r)
	r.Print()
}
