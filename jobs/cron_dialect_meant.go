package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lines are what the words mean, empty where there is no one line for it.
func (s *spoken) lines() []plainLine {
	count, err := strconv.Atoi(s.n)
	if s.n != "" && (err != nil || count < 1) {
		return nil
	}
	size := spokenUnits[s.unit]
	fine := size > 0 && size < 24*time.Hour
	d, exactErr := ParseDuration(s.unit)
	switch {
	case exactErr == nil && d > 0:
		return s.only(plainLine{every: s.unit})
	case s.dom != "" || s.nth != "" || s.unit == "month" || s.unit == "year":
		return s.monthLines(max(1, count))
	case fine:
		return s.shortLines(size, count)
	case len(s.days) > 0 && count <= 1:
		return s.dayLines("*", strings.Join(s.sorted(), ","))
	case s.unit == "day" && count <= 1 && len(s.days) == 0:
		return s.dayLines("*", "*")
	case len(s.days) > 0 || len(s.times) > 0:
		return nil
	case s.unit == "week" && count <= 1:
		sundays := plainLine{cron: "0 0 * * 0", timezone: s.zone, when: "on Sundays"}
		return []plainLine{{every: "7d"}, sundays}
	case size > 0:
		return s.only(plainLine{every: intervalOf(s.n, s.unit)})
	}
	return nil
}

// only is a line that leaves no room for more to be said.
func (s *spoken) only(line plainLine) []plainLine {
	if len(s.times) > 0 || len(s.days) > 0 || s.dom != "" || s.nth != "" || s.minute >= 0 {
		return nil
	}
	return []plainLine{line}
}

// sorted are the days of the week in order, each once.
func (s *spoken) sorted() []string {
	days := slices.Clone(s.days)
	slices.Sort(days)
	return slices.Compact(days)
}

// shortLines are those of seconds, minutes and hours. An interval goes on from where it began; a
// line keeps to the clock, where the interval divides it.
func (s *spoken) shortLines(size time.Duration, count int) []plainLine {
	if len(s.times) > 0 {
		return nil
	}
	within := map[time.Duration]int{time.Second: 60, time.Minute: 60, time.Hour: 24}[size]
	step := "*"
	if count > 1 {
		step = "*/" + strconv.Itoa(count)
	}
	days := "*"
	if len(s.days) > 0 {
		days = strings.Join(s.sorted(), ",")
	}
	minute := "0"
	if s.minute >= 0 {
		minute = strconv.Itoa(s.minute)
	}
	line := plainLine{timezone: s.zone}
	if n := max(1, count); n < within && within%n == 0 {
		line.cron = map[time.Duration]string{
			time.Second: step + " * * * * ", time.Minute: step + " * * * ", time.Hour: minute + " " + step + " * * ",
		}[size] + days
	}
	if s.n == "" || s.minute >= 0 || len(s.days) > 0 {
		return []plainLine{line}
	}
	line.when = "by the clock"
	every := plainLine{every: intervalOf(s.n, s.unit)}
	if size == time.Second || line.cron == "" {
		return []plainLine{every}
	}
	return []plainLine{every, line}
}

// monthLines are those of days of the month.
func (s *spoken) monthLines(count int) []plainLine {
	if s.minute >= 0 {
		return nil
	}
	switch {
	case s.every && s.unit == "" && s.nth >= "2" && s.nth <= "5":
		return nil // every second Monday: of the month, or every other
	case s.nth != "" && s.unit != "year" && count == 1:
		days := s.sorted()
		for i := range days {
			if len(days[i]) > 1 {
				return nil
			}
			days[i] += map[bool]string{true: "L", false: "#" + s.nth}[s.nth == "L"]
		}
		return s.dayLines("*", strings.Join(days, ","))
	case len(s.days) > 0:
		return nil
	}
	dom, month := s.dom, int64(count)
	if dom == "" {
		dom = "1"
	}
	switch s.unit {
	case "", "month", "day":
	case "year":
		month *= 12
		if s.dom != "" {
			return nil
		}
	default:
		return nil
	}
	line := monthsLine(month)
	if line == "" {
		return nil
	}
	return s.dayLines(dom, "*", strings.Fields(line)[3])
}

// dayLines are those of days at times. Times of different minutes need a schedule each.
func (s *spoken) dayLines(dom, dow string, month ...string) []plainLine {
	if s.minute >= 0 {
		return nil
	}
	if s.times == nil {
		s.times = [][2]int{{0, 0}}
	}
	hours := make([]string, len(s.times))
	for i, at := range s.times {
		if at[1] != s.times[0][1] {
			return nil
		}
		hours[i] = strconv.Itoa(at[0])
	}
	line := fmt.Sprintf("%d %s %s %s %s", s.times[0][1], strings.Join(hours, ","), dom,
		strings.Join(append(month, "*")[:1], ""), dow)
	return []plainLine{{cron: line, timezone: s.zone}}
}
