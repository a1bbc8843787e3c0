package jobs

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// fewTimes is how many times of day a reading lists, at most.
const fewTimes = 6

// Reads is the schedule in words, such as "at 02:00, Monday to Friday, Europe/Berlin". Two that tick
// at different times never read the same, but for start and end, which are not told. It is empty
// where the schedule has not been checked and its line is none.
func (s *Schedule) Reads() string {
	if s.Every != nil {
		return "every " + intervalWords(s.Every.Std())
	}
	c, err := ParseCron(s.Cron)
	switch {
	case err != nil:
		return ""
	case c.atStart:
		return "at each start of the server"
	}
	zone := s.Timezone
	if zone == "" {
		zone = "UTC"
	}
	return c.timeWords() + c.dayWords() + ", " + zone
}

// intervalWords tells an interval. A day of it is always 24 hours, which "every day" would hide.
func intervalWords(d time.Duration) string {
	const day = 24 * time.Hour
	if d > day && d%day == 0 {
		return plural(int(d/day), "day")
	}
	var parts []string
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int(d / unit.size); n > 0 {
			parts = append(parts, plural(n, unit.name))
		}
		d %= unit.size
	}
	if len(parts) == 1 {
		return strings.TrimPrefix(parts[0], "1 ")
	}
	return andWords(parts)
}

// andWords lists: a, b and c.
func andWords(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// timeWords tell when on a day. Minutes and hours written as * or */n follow real time: they are
// told as "every", all others by number, since they tick otherwise where clocks are changed.
func (c *Cron) timeWords() string {
	second, minute, hour := c.secondSet, c.minuteSet, c.hourSet
	hours := c.fieldWords(cronHour)
	if !c.realTime && bits.OnesCount64(second)*bits.OnesCount64(minute)*bits.OnesCount64(hour) <= fewTimes {
		return "at " + c.clockWords()
	}
	if second == 1 {
		if c.everyValue(cronHour) && (c.everyValue(cronMinute) || c.evenStep(cronMinute) > 0) {
			return c.headWords(cronMinute)
		}
		return c.headWords(cronMinute) + " of " + hours
	}
	head := c.headWords(cronSecond)
	switch every := c.everyValue(cronMinute); {
	case every && c.everyValue(cronHour) && strings.HasPrefix(head, "every"):
		return head
	case every && c.everyValue(cronHour):
		return head + " of every minute"
	case every && strings.HasPrefix(head, "every"):
		return head + " of " + hours
	}
	return head + " of " + c.fieldWords(cronMinute) + " of " + hours
}

// clockWords are the times of day.
func (c *Cron) clockWords() string {
	var times []string
	for _, hour := range values(c.hourSet) {
		for _, minute := range values(c.minuteSet) {
			for _, second := range values(c.secondSet) {
				at := fmt.Sprintf("%02d:%02d", hour, minute)
				if c.secondSet != 1 {
					at += fmt.Sprintf(":%02d", second)
				}
				times = append(times, at)
			}
		}
	}
	return andWords(times)
}

// everyValue reports whether a field is *, or */1.
func (c *Cron) everyValue(unit int) bool {
	f := &c.fields[unit]
	return f.isStar() && f.terms[0].step == 1
}

// evenStep is n where a field's values come every n of its unit in real time, else 0.
func (c *Cron) evenStep(unit int) int {
	set, size := c.fields[unit].set(unit), cronUnits[unit].size()
	n := size / bits.OnesCount64(set)
	real := unit == cronSecond || c.fields[unit].isStar() || unit == cronMinute && c.fields[cronHour].isStar()
	if !real || size%n != 0 || n == size {
		return 0
	}
	for v := 0; v < size; v += n {
		if set&(1<<v) == 0 {
			return 0
		}
	}
	return n
}

// headWords begin with a field of seconds or minutes: "every 15 minutes", "at minute 5".
func (c *Cron) headWords(unit int) string {
	switch n := c.evenStep(unit); {
	case n == 1:
		return "every " + cronUnits[unit].name
	case n > 1:
		return "every " + plural(n, cronUnits[unit].name)
	}
	return "at " + c.fieldWords(unit)
}

// fieldWords tell a field of seconds, minutes or hours: "every hour", "hours 9 to 17", "every 2nd
// hour (0, 2, 4 … 22)".
func (c *Cron) fieldWords(unit int) string {
	name, f := cronUnits[unit].name, &c.fields[unit]
	numbers := numberWords(f.set(unit), cronUnits[unit])
	switch {
	case c.everyValue(unit) || unit == cronSecond && c.evenStep(unit) == 1:
		return "every " + name
	case f.isStar() && unit != cronSecond:
		return "every " + nthWord(f.terms[0].step) + " " + name + " (" + numbers + ")"
	case bits.OnesCount64(f.set(unit)) == 1:
		return name + " " + numbers
	}
	return name + "s " + numbers
}

// values are the numbers of a set.
func values(set uint64) (all []int) {
	for ; set != 0; set &= set - 1 {
		all = append(all, bits.TrailingZeros64(set))
	}
	return all
}

// numberWords tell the numbers of a set: "5", "9 to 17", "22 to 2", "5, 15, 25 … 55", "1, 15 to 20
// and 31".
func numberWords(set uint64, unit cronUnit) string {
	all := values(set)
	if step := evenly(all); step > 1 && len(all) >= fewTimes {
		return fmt.Sprintf("%d, %d, %d … %d", all[0], all[1], all[2], all[len(all)-1])
	}
	return andWords(runWords(all, unit, strconv.Itoa))
}

// evenly is the distance from each number to the next, 0 where it is not always the same.
func evenly(all []int) int {
	if len(all) < 2 {
		return 0
	}
	step := all[1] - all[0]
	for i := range all[1:] {
		if all[i+1]-all[i] != step {
			return 0
		}
	}
	return step
}

// runWords write three or more that follow one another as a range. One range alone may go past the
// end of the unit, as the hours 22 to 2 do.
func runWords(all []int, unit cronUnit, word func(int) string) (parts []string) {
	if len(all) < unit.size() {
		for i := 1; i < len(all); i++ {
			turned := append(append([]int{}, all[i:]...), all[:i]...)
			if len(all) > 2 && follow(turned, unit) {
				return []string{word(turned[0]) + " to " + word(turned[len(turned)-1])}
			}
		}
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n] == all[n-1]+1 {
			n++
		}
		if n < 3 {
			n = 1
			parts = append(parts, word(all[0]))
		} else {
			parts = append(parts, word(all[0])+" to "+word(all[n-1]))
		}
		all = all[n:]
	}
	return parts
}

// follow reports whether each is the next one's predecessor, the last value's being the first.
func follow(all []int, unit cronUnit) bool {
	for i := range all[1:] {
		if all[i+1] != unit.wrap(all[i]+1) {
			return false
		}
	}
	return true
}

// nthWord is 1st, 2nd, 3rd, 4th and so on.
func nthWord(n int) string {
	ending := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return strconv.Itoa(n) + ending
}
