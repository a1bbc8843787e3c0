package main

import (
	"fmt"
	"slices"
)

// covers reports whether nothing can have been decided from a tick until some time after it: all ticks that an
// outage covers were decided together.
func (o *outage) covers(at int64) bool {
	return at > o.down.UnixMilli()+slack && at < o.up.UnixMilli()-slack
}

// near reports whether a tick lies in an outage, or about its ends.
func (o *outage) near(at int64) bool {
	return at > o.down.UnixMilli()-2000 && at < o.up.UnixMilli()+5000
}

// checkOutcomes wants each outcome to be one that the schedule can have.
func (s *seen) checkOutcomes(ticks []decided) (faults []string) {
	bad := func(d *decided, text string, args ...any) {
		faults = append(faults, fmt.Sprintf("the tick %s: %s", d, fmt.Sprintf(text, args...)))
	}
	for i := range ticks {
		d := &ticks[i]
		if d.is("paused") != d.paused && !d.eitherPause && !d.eitherText {
			bad(d, "it was paused: %v", d.paused)
		}
		if !s.may(d) {
			bad(d, "not with overlap: %s, catch_up: %s", s.overlap, s.mode)
		}
		r := s.runs[d.run]
		if r == nil {
			continue
		}
		late := r.CreatedAt.UnixMilli() - d.at
		if late < 0 || d.outcome == ran && late > onTime {
			bad(d, "its run was made %d ms after it", late)
		}
	}
	return faults
}

// may reports whether a tick of the schedule may end so.
func (s *seen) may(d *decided) bool {
	switch {
	case d.outcome == ran, d.is("paused"):
		return true
	case d.outcome == caughtUp:
		return s.mode != "none"
	case d.is("missed"):
		return s.mode != "all" || s.window > 0
	case d.is("limit"):
		return s.mode == "all"
	case d.is("overlap"):
		return s.overlap == "skip"
	case d.is("unique"):
		return s.job == lone
	}
	return false
}

// checkGroups wants what was decided together to be as the mode says. Those skipped come first, then what is
// caught up, then perhaps one on time.
func (s *seen) checkGroups(ticks []decided) (faults []string) {
	for i := 0; i < len(ticks); i++ {
		first := i
		for i < len(ticks) && (ticks[i].is("missed") || ticks[i].is("limit")) {
			i++
		}
		if i == first {
			continue
		}
		caught := 0
		for i+caught < len(ticks) && (ticks[i+caught].outcome == caughtUp || ticks[i+caught].is("unique")) {
			caught++
		}
		least := 0
		switch {
		case s.mode == "latest":
			least = 1
		case s.mode == "all" && ticks[i-1].is("limit"):
			least = s.limitOf()
		}
		if caught < least {
			faults = append(faults, fmt.Sprintf("%d ticks from %s on were skipped, and %d after them caught up; want %d",
				i-first, &ticks[first], caught, least))
		}
	}
	if s.window > 0 {
		faults = append(faults, s.checkWindow(ticks)...)
	}
	return faults
}

// checkWindow wants of the missed ticks those within the window to be caught up, and no others. The run of the
// tick on time that follows was made with them, and tells when that was.
func (s *seen) checkWindow(ticks []decided) (faults []string) {
	first := -1
	for i := range ticks {
		d := &ticks[i]
		if d.madeUp() {
			if first < 0 {
				first = i
			}
			continue
		}
		if r := s.runs[d.run]; first >= 0 && d.outcome == ran && r != nil {
			oldest := r.CreatedAt.Add(-s.window).UnixMilli()
			for j := first; j < i; j++ {
				if ticks[j].is("missed") == (ticks[j].at >= oldest) {
					faults = append(faults, fmt.Sprintf("the tick %s: the window of catch_up began at %s", &ticks[j], stamp(oldest)))
				}
			}
		}
		first = -1
	}
	return faults
}

// checkOutages wants what an outage covers to be decided as one: all but the newest are missed.
func (s *seen) checkOutages(ticks []decided) (faults []string) {
	for _, o := range s.outages {
		var in []*decided
		for i := range ticks {
			if d := &ticks[i]; o.covers(d.at) && !d.paused {
				in = append(in, d)
			}
		}
		if len(in) == 0 {
			continue
		}
		bad := func(text string, args ...any) {
			faults = append(faults, fmt.Sprintf("outage from %s to %s: %s", stamp(o.down.UnixMilli()), stamp(o.up.UnixMilli()),
				fmt.Sprintf(text, args...)))
		}
		caught := 0
		for i, d := range in {
			newest := i == len(in)-1
			onTime := (d.outcome == ran || d.is("overlap") || d.is("unique")) && newest && d.at >= o.up.UnixMilli()-slack-onTime
			if !d.madeUp() && !onTime && !d.is("unique") {
				bad("the tick %s is one of %d that it covers", d, len(in))
			}
			if d.outcome == caughtUp {
				caught++
			}
			if d.outcome == caughtUp && s.mode == "latest" && i < len(in)-2 {
				bad("the tick %s was not the newest one", d)
			}
		}
		switch most := map[string]int{"none": 0, "latest": 1, "all": s.limitOf()}[s.mode]; {
		case caught > most:
			bad("%d of %d ticks were caught up, the most is %d", caught, len(in), most)
		case s.mode == "all" && s.window == 0 && s.job != lone && caught < min(most, len(in)-1):
			// The newest may be on time, and those after the outage are among the newest that count.
			if after := caughtAfter(ticks, o.up.UnixMilli()-slack); caught+after < min(most, len(in)-1) {
				bad("%d of %d ticks were caught up; want %d", caught, len(in), min(most, len(in)-1))
			}
		}
	}
	return faults
}

// caughtAfter is how many ticks in a row were caught up from an instant on.
func caughtAfter(ticks []decided, from int64) int {
	i := slices.IndexFunc(ticks, func(d decided) bool { return d.at >= from })
	if i < 0 {
		return 0
	}
	n := 0
	for ; i+n < len(ticks) && ticks[i+n].outcome == caughtUp; n++ {
	}
	return n
}
