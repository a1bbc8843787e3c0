package jobs

import (
	"iter"
	"math"
	"time"
)

const (
	// zoneReach is more than any two offsets of a zone differ by, in seconds: a day for those who
	// changed sides of the date line, and a few hours.
	zoneReach = 53 * 60 * 60
	// farAway is after all ticks.
	farAway = 1 << 40
)

// stretch is a time in which the wall clock runs without a jump: instants, in seconds since 1970,
// from one on and before another.
type stretch struct {
	from, to int64
	offset   int64
	// reached is the wall time up to which the clock had come before: what is below comes for the
	// second time. Where it is before the wall time of from, there is a gap.
	reached int64
}

// first is the wall time at its beginning, end that at which it ends.
func (s *stretch) first() int64 { return s.from + s.offset }
func (s *stretch) end() int64   { return s.to + s.offset }

// instant is when a wall time of the stretch, or of the gap before it, is.
func (s *stretch) instant(wall int64) int64 { return max(wall-s.offset, s.from) }

// stretches are those between two instants, in order. They may be cut into parts.
func stretches(zone *time.Location, from, to int64) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		reached := int64(math.MinInt64)
		for at := from - zoneReach; at < to; {
			s := stretchFrom(zone, at)
			s.to = min(s.to, to)
			s.reached = reached
			if reached == math.MinInt64 {
				s.reached = s.first()
			}
			if s.from < from && s.to > from { // cut
				s.from = from
				s.reached = max(s.reached, s.first())
			}
			if s.from >= from && !yield(s) {
				return
			}
			reached = max(s.reached, s.end())
			at = s.to
		}
	}
}

// stretchFrom is the stretch that an instant is in, from there on. Of time.Location's bounds only the
// end is good, and that not always: past the zone's table it gives whole years as if none had a leap
// day.
func stretchFrom(zone *time.Location, at int64) stretch {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	s := stretch{from: at, to: farAway, offset: int64(offset)}
	if _, end := t.ZoneBounds(); !end.IsZero() {
		s.to = end.Unix()
	}
	if s.to <= at { // the 366th day of a year, in UTC
		day, _ := floorDiv(at, daySeconds)
		s.to = (day + 1) * daySeconds
	}
	return s
}
