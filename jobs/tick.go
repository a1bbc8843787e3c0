package jobs

import (
	"hash/fnv"
	"time"
)

// What becomes of a tick.
const (
	TickRan      = "ran"
	TickCaughtUp = "caught_up"
	TickSkipped  = "skipped"
)

// Why a tick was skipped.
const (
	SkipMissed  = "missed"  // it was too late for the schedule's catch_up
	SkipLimit   = "limit"   // more were missed than catch_up.limit
	SkipOverlap = "overlap" // an earlier run of the schedule had not ended
	SkipPaused  = "paused"  // the schedule was paused
	SkipUnique  = "unique"  // a run stood by the job's unique key
)

// Tick is a line of the ledger: one planned instant that was decided, or neighbours that were
// skipped for one reason.
type Tick struct {
	From, To Time // equal for one
	Count    int  // of instants
	Outcome  string
	Reason   string // of a skipped one
	Run      ID     // NilID: none was made
	Late     bool   // its run had not started, or not succeeded, in time
}

// TickRange is neighbouring ticks.
type TickRange struct {
	From, To Time // the first and the last
	Count    int  // 0: there are none
	Reason   string
	// Before is the tick before From, by the schedule as it stands; zero: there is none.
	Before Time
}

// TickInput is what PlanTicks goes by.
type TickInput struct {
	Timetable *Timetable
	CatchUp   CatchUp
	Cursor    Time // all ticks up to here are decided
	Now       Time
	Paused    bool
}

// TickPlan is what becomes of the ticks after the cursor, up to now. Whether one overlaps a run, or
// conflicts with one, is seen when its run is made.
type TickPlan struct {
	Skipped []TickRange // oldest first
	CatchUp TickRange   // each to be caught up, oldest first
	OnTime  Time        // the newest, where it is not late; zero: none
}

// Missed are how many ticks were skipped because they were missed, and the first and last of them.
func (p *TickPlan) Missed() (r TickRange) {
	for _, s := range p.Skipped {
		if s.Reason != SkipMissed && s.Reason != SkipLimit {
			continue
		}
		if r.Count == 0 {
			r.From = s.From
		}
		r.To = s.To
		r.Count += s.Count
	}
	return r
}

// PlanTicks decides about ticks that have come. A restart, a timer that was late and a clock that
// was set forward are all the same to it.
func PlanTicks(in TickInput) (p TickPlan) {
	newest := in.Timetable.Prev(in.Now + 1)
	if newest == 0 || newest <= in.Cursor {
		return p
	}
	skip := func(from, to Time, reason string) {
		p.Skipped = append(p.Skipped, in.rangeOf(from, to, reason))
	}
	first := in.Timetable.Next(in.Cursor)
	if in.Paused {
		skip(first, newest, SkipPaused)
		return p
	}
	last := newest // of those missed
	if in.Now.Sub(newest) <= OnTimeWithin {
		p.OnTime = newest
		last = in.Timetable.Prev(newest)
	}
	if last < first {
		return p
	}
	begin, limited := in.caughtUpFrom(first, last)
	switch {
	case begin == 0:
		skip(first, last, SkipMissed)
		return p
	case begin > first:
		in.skipBefore(first, begin, limited, skip)
	}
	p.CatchUp = in.rangeOf(begin, last, "")
	return p
}

func (in *TickInput) rangeOf(from, to Time, reason string) TickRange {
	return TickRange{
		From: from, To: to, Count: in.Timetable.Count(from, to), Reason: reason,
		Before: in.Timetable.Prev(from),
	}
}

// caughtUpFrom is the first of the ticks from first to last that is caught up; zero: none is.
// limited: those before it within the window are too many.
func (in *TickInput) caughtUpFrom(first, last Time) (begin Time, limited bool) {
	oldest := first
	if w := in.CatchUp.WindowOf(); w > 0 {
		oldest = max(oldest, in.Now.Add(-w))
	}
	limit := in.CatchUp.LimitOf()
	for at := last; at >= oldest && at != 0; at = in.Timetable.Prev(at) {
		if limit == 0 {
			return begin, begin != 0
		}
		begin = at
		limit--
	}
	return begin, false
}

// skipBefore skips the ticks before the first that is caught up: those out of the window as missed,
// those within it that are past the limit for that. In mode latest all are missed: it has no limit.
func (in *TickInput) skipBefore(first, begin Time, limited bool, skip func(from, to Time, reason string)) {
	last := in.Timetable.Prev(begin)
	if !limited || in.CatchUp.ModeOf() != CatchUpAll {
		skip(first, last, SkipMissed)
		return
	}
	inWindow := first
	if w := in.CatchUp.WindowOf(); w > 0 {
		inWindow = max(first, in.Timetable.Next(in.Now.Add(-w)-1))
	}
	if inWindow > first {
		skip(first, in.Timetable.Prev(inWindow), SkipMissed)
	}
	skip(inWindow, last, SkipLimit)
}

// SpreadOf is by how much a tick starts later than planned, the same for each tick of the schedule,
// before the next one is due.
func (s *Schedule) SpreadOf(name string, tick, next Time) time.Duration {
	if s.Spread == nil || *s.Spread <= 0 {
		return 0
	}
	spread := s.Spread.Std()
	if next != 0 {
		spread = min(spread, next.Sub(tick))
	}
	return time.Duration(float64(spread) * fractionOfName(name)).Truncate(time.Millisecond)
}

// fractionOfName spreads names evenly over [0, 1).
func fractionOfName(name string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return float64(mix(h.Sum64())>>11) / (1 << 53)
}

// mix lets each bit of n move all others (the finaliser of SplitMix64): alike names must not be close
// to each other.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
