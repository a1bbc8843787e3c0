package jobs

import "math/bits"

// Wall times are seconds since 1970 as a wall clock tells them; days are numbered likewise. Here
// is the search for those that a line matches, which knows nothing of zones.

const (
	daySeconds = 24 * 60 * 60
	// cycleMonths is after how many months the calendar comes again, the days of the week too.
	cycleMonths = 400 * 12
)

// nextWall is the first matching wall time from w on.
func (c *Cron) nextWall(w int64) (int64, bool) {
	day, second := floorDiv(w, daySeconds)
	if c.onDay(day) {
		if at, ok := c.nextSecond(int(second)); ok {
			return day*daySeconds + int64(at), true
		}
	}
	day, ok := c.nextDay(day + 1)
	first, _ := c.nextSecond(0)
	return day*daySeconds + int64(first), ok
}

// prevWall is the last matching wall time before w.
func (c *Cron) prevWall(w int64) (int64, bool) {
	day, second := floorDiv(w, daySeconds)
	if c.onDay(day) {
		if at, ok := c.prevSecond(int(second)); ok {
			return day*daySeconds + int64(at), true
		}
	}
	day, ok := c.prevDay(day - 1)
	last, _ := c.prevSecond(daySeconds)
	return day*daySeconds + int64(last), ok
}

// countWalls counts the matching wall times from one on and before another.
func (c *Cron) countWalls(from, to int64) int {
	if from >= to {
		return 0
	}
	firstDay, first := floorDiv(from, daySeconds)
	lastDay, last := floorDiv(to, daySeconds)
	n := c.countDays(firstDay, lastDay) * c.secondsBefore(daySeconds)
	if c.onDay(firstDay) {
		n -= c.secondsBefore(int(first))
	}
	if c.onDay(lastDay) {
		n += c.secondsBefore(int(last))
	}
	return n
}

// nextSecond is the first matching second of a day from one on.
func (c *Cron) nextSecond(from int) (int, bool) {
	hour, minute, second := from/3600, from/60%60, from%60
	if c.hourSet&(1<<hour) != 0 {
		if c.minuteSet&(1<<minute) != 0 {
			if s := c.secondSet >> second << second; s != 0 {
				return from - second + bits.TrailingZeros64(s), true
			}
		}
		if m := c.minuteSet >> (minute + 1) << (minute + 1); m != 0 {
			return hour*3600 + bits.TrailingZeros64(m)*60 + bits.TrailingZeros64(c.secondSet), true
		}
	}
	h := c.hourSet >> (hour + 1) << (hour + 1)
	return bits.TrailingZeros64(h)*3600 + bits.TrailingZeros64(c.minuteSet)*60 +
		bits.TrailingZeros64(c.secondSet), h != 0
}

// prevSecond is the last matching second of a day before one.
func (c *Cron) prevSecond(before int) (int, bool) {
	below := func(set uint64, n int) uint64 { return set & (1<<n - 1) }
	hour, minute, second := before/3600, before/60%60, before%60
	if c.hourSet&(1<<hour) != 0 {
		if c.minuteSet&(1<<minute) != 0 {
			if s := below(c.secondSet, second); s != 0 {
				return before - second + highest(s), true
			}
		}
		if m := below(c.minuteSet, minute); m != 0 {
			return hour*3600 + highest(m)*60 + highest(c.secondSet), true
		}
	}
	h := below(c.hourSet, hour)
	return highest(h)*3600 + highest(c.minuteSet)*60 + highest(c.secondSet), h != 0
}

// secondsBefore counts the matching seconds of a day before one.
func (c *Cron) secondsBefore(before int) int {
	below := func(set uint64, n int) int { return bits.OnesCount64(set & (1<<n - 1)) }
	hour, minute, second := before/3600, before/60%60, before%60
	perMinute := bits.OnesCount64(c.secondSet)
	perHour := bits.OnesCount64(c.minuteSet) * perMinute
	n := below(c.hourSet, hour) * perHour
	if c.hourSet&(1<<hour) != 0 {
		n += below(c.minuteSet, minute) * perMinute
		if c.minuteSet&(1<<minute) != 0 {
			n += below(c.secondSet, second)
		}
	}
	return n
}

// onDay reports whether the line matches a day.
func (c *Cron) onDay(day int64) bool {
	m, d := monthOf(day)
	return c.daysOf(m)&(1<<d) != 0
}

// nextDay is the first matching day from one on.
func (c *Cron) nextDay(day int64) (int64, bool) {
	m, d := monthOf(day)
	set := c.daysOf(m) >> d << d
	for range cycleMonths {
		if set != 0 {
			break
		}
		m = m.next()
		set = c.daysOf(m)
	}
	return m.begin + int64(bits.TrailingZeros32(set)) - 1, set != 0
}

// prevDay is the last matching day up to one.
func (c *Cron) prevDay(day int64) (int64, bool) {
	m, d := monthOf(day)
	set := c.daysOf(m) & (2<<d - 1)
	for range cycleMonths {
		if set != 0 {
			break
		}
		m = m.prev()
		set = c.daysOf(m)
	}
	return m.begin + int64(highest(uint64(set))) - 1, set != 0
}

// countDays counts the matching days from one on and before another.
func (c *Cron) countDays(from, to int64) int {
	m, d := monthOf(from)
	n := -bits.OnesCount32(c.daysOf(m) & (1<<d - 1))
	for m.begin+int64(m.days) <= to {
		n += bits.OnesCount32(c.daysOf(m))
		m = m.next()
	}
	return n + bits.OnesCount32(c.daysOf(m)&(1<<(to-m.begin+1)-1))
}

// highest is the number of the highest bit, -1 where there is none.
func highest(set uint64) int { return bits.Len64(set) - 1 }

// floorDiv divides so that the rest is never negative.
func floorDiv(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		return quotient - 1, rest + by
	}
	return quotient, rest
}
