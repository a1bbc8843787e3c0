package main

import (
	"fmt"
	"slices"
	"time"
)

// span is the time in which a run is known to have been under way.
type span struct {
	run        *tickRun
	begun, end time.Time
}

// spans are those of the runs that were delivered, in order of their ticks.
func (s *seen) spans(only string) (list []span) {
	for _, r := range s.runs {
		deliveries := s.receiver.of(r.ID)
		if len(deliveries) == 0 || only != "" && r.Trigger != only {
			continue
		}
		w := span{run: r, begun: deliveries[0].begun}
		for _, d := range deliveries {
			w.end = d.begun
			// What answers one that was given up is not heard.
			if d.answered.After(w.end) && r.State != "cancelled" {
				w.end = d.answered
			}
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b span) int { return a.run.ScheduledFor.Compare(b.run.ScheduledFor) })
	return list
}

// checkDeliveries wants no two runs at once but with overlap: allow, and what is caught up in order, one after
// another.
func (s *seen) checkDeliveries() (faults []string) {
	if s.overlap != "allow" {
		faults = s.checkApart(s.spans(""))
	}
	caught := s.spans("catch_up")
	if s.overlap == "allow" {
		faults = s.checkApart(caught)
	}
	for i := 1; i < len(caught); i++ {
		if caught[i].begun.Before(caught[i-1].begun) {
			faults = append(faults, fmt.Sprintf("the tick %s was caught up before %s",
				stamp(caught[i].run.ScheduledFor.UnixMilli()), stamp(caught[i-1].run.ScheduledFor.UnixMilli())))
		}
	}
	return faults
}

func (s *seen) checkApart(list []span) (faults []string) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b span) int { return a.begun.Compare(b.begun) })
	for i := 1; i < len(list); i++ {
		if before, r := list[i-1], list[i]; r.begun.Before(before.end) {
			faults = append(faults, fmt.Sprintf("run %s (%s, %s) was delivered at %s, and run %s (%s, %s) was under way until %s",
				r.run.ID, r.run.Trigger, r.run.State, stamp(r.begun.UnixMilli()), before.run.ID, before.run.Trigger,
				before.run.State, stamp(before.end.UnixMilli())))
		}
	}
	return faults
}
