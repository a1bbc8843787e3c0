package jobs

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Timetable gives the ticks of a schedule. It is a pure function of time: firing, catch-up and
// preview all ask it. Ticks are whole seconds from 1970 to 9999.
type Timetable struct {
	cron *Cron // nil: every
	zone *time.Location

	every, anchor int64 // ticks are at the anchor and whole multiples of every away

	first, last int64 // no tick before, none after
}

const lastSecond = 253402300799 // 9999-12-31T23:59:59Z

// Timetable compiles the schedule, which has been checked. anchor is what every counts from where no
// start is given.
func (s *Schedule) Timetable(anchor Time) (*Timetable, error) {
	t := &Timetable{first: 1, last: lastSecond}
	// Of an instant that is no whole second, nothing may tick before it as a start, nor soon after it
	// as the time of a save.
	t.anchor = secondUpTo(anchor)
	if s.Start != 0 {
		t.anchor = secondFrom(s.Start)
		t.first = max(t.first, t.anchor)
	}
	if s.End != 0 {
		t.last = min(t.last, secondUpTo(s.End))
	}
	if s.Every != nil {
		t.every = int64(s.Every.Std() / time.Second)
		if t.every < 1 || s.Every.Std()%time.Second != 0 {
			return nil, fmt.Errorf("every: %s is not understood: want whole seconds, at least 1s", s.Every)
		}
		return t, nil
	}
	var err error
	if t.cron, err = ParseCron(s.Cron); err != nil {
		return nil, fmt.Errorf("cron: %w", err)
	}
	if t.zone, err = LoadZone(s.Timezone); err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	return t, nil
}

// CheckTicks reports a schedule, otherwise checked, that never ticks: because of its zone, or with
// nothing between start and end. An end that has passed is none of that.
func (s *Schedule) CheckTicks() error {
	t, err := s.Timetable(0)
	if err != nil || t.AtStart() {
		return err
	}
	if _, ok := t.next(t.first); !ok {
		return fmt.Errorf("never fires: no tick comes%s; "+leaveOut, s.between())
	}
	// Zones and the calendar go round in 400 years: what does not tick in the last of them comes
	// only in years for which the zone has had other rules.
	const cycle = 146097 * daySeconds
	if _, ok := t.next(max(t.first, lastSecond-cycle)); !ok && t.last == lastSecond {
		return errors.New("never fires again: in " + t.zone.String() +
			" the clock no longer shows such a time; " + leaveOut)
	}
	return nil
}

// between tells the bounds of the schedule.
func (s *Schedule) between() string {
	switch {
	case s.Start != 0 && s.End != 0:
		return fmt.Sprintf(" between start %s and end %s", s.Start, s.End)
	case s.Start != 0:
		return fmt.Sprintf(" from start %s on", s.Start)
	case s.End != 0:
		return fmt.Sprintf(" up to end %s", s.End)
	}
	return ""
}

// AtStart reports whether it ticks once at each start of the server, and at no planned instant.
func (t *Timetable) AtStart() bool { return t.cron != nil && t.cron.atStart }

// Next is the first tick after an instant; zero: there is none.
func (t *Timetable) Next(after Time) Time {
	from := t.first
	if after >= 0 {
		from = max(from, secondUpTo(after)+1)
	}
	if at, ok := t.next(from); ok {
		return Time(at * 1000)
	}
	return 0
}

// Prev is the last tick before an instant; zero: there is none.
func (t *Timetable) Prev(before Time) Time {
	if before <= 0 {
		return 0
	}
	if at, ok := t.prev(min(t.last, secondUpTo(before-1)) + 1); ok {
		return Time(at * 1000)
	}
	return 0
}

// Count is how many ticks there are from one instant to another, both included.
func (t *Timetable) Count(from, to Time) int {
	if to <= 0 {
		return 0
	}
	first, end := t.first, min(t.last, secondUpTo(to))+1
	if from > 0 {
		first = max(first, secondFrom(from))
	}
	if first >= end || t.AtStart() {
		return 0
	}
	if t.cron == nil {
		return int(t.gridBefore(end) - t.gridBefore(first))
	}
	return t.count(first, end)
}

// secondUpTo and secondFrom are the last whole second up to an instant, and the first from it on.
func secondUpTo(at Time) int64 {
	second, _ := floorDiv(int64(at), 1000)
	return second
}

func secondFrom(at Time) int64 {
	second, rest := floorDiv(int64(at), 1000)
	if rest > 0 {
		second++
	}
	return second
}

// gridBefore numbers the last tick of every that is before an instant.
func (t *Timetable) gridBefore(at int64) int64 {
	k, _ := floorDiv(at-1-t.anchor, t.every)
	return k
}

// next is the first tick from an instant on, which is not before t.first. Instants are seconds here.
func (t *Timetable) next(from int64) (int64, bool) {
	switch {
	case from > t.last || t.AtStart():
		return 0, false
	case t.cron == nil:
		at := t.anchor + (t.gridBefore(from)+1)*t.every
		return at, at <= t.last
	}
	// searched to found, there is no wall time that matches but the latter.
	searched, found, is := int64(0), int64(0), false
	for s := range stretches(t.zone, from, t.last+1) {
		low := t.low(&s)
		if low >= s.end() {
			continue
		}
		if !is || low < searched || low > found {
			searched = low
			if found, is = t.cron.nextWall(low); !is {
				return 0, false
			}
		}
		if found < s.end() {
			return s.instant(found), true
		}
	}
	return 0, false
}

// low is the first wall time of a stretch that the line looks at: the second pass of an hour that
// comes twice counts only in real time, an hour that is left out does not count there.
func (t *Timetable) low(s *stretch) int64 {
	if t.cron.realTime {
		return s.first()
	}
	return s.reached
}

// prev is the last tick before an instant, which is not after t.last.
func (t *Timetable) prev(to int64) (int64, bool) {
	switch {
	case to <= t.first || t.AtStart():
		return 0, false
	case t.cron == nil:
		at := t.anchor + t.gridBefore(to)*t.every
		return at, at >= t.first
	}
	// found to searched, there is no wall time that matches but the former.
	searched, found, is := int64(0), int64(0), false
	for width := int64(60 * daySeconds); to > t.first; width *= 2 {
		from := max(t.first, to-width)
		for _, s := range slices.Backward(slices.Collect(stretches(t.zone, from, to))) {
			low := t.low(&s)
			if low >= s.end() {
				continue
			}
			if !is || s.end() > searched || s.end() <= found {
				searched = s.end()
				if found, is = t.cron.prevWall(searched); !is {
					return 0, false
				}
			}
			if found >= low {
				return s.instant(found), true
			}
		}
		to = from
	}
	return 0, false
}

// count counts the ticks from one instant on and before another.
func (t *Timetable) count(from, to int64) (n int) {
	for s := range stretches(t.zone, from, to) {
		low := t.low(&s)
		if low < s.first() {
			// What falls into the gap is one tick with what is right after it.
			if t.cron.countWalls(low, s.first()+1) > 0 {
				n++
			}
			low = s.first() + 1
		}
		n += t.cron.countWalls(low, s.end())
	}
	return n
}
