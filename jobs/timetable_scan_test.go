package jobs

import (
	"slices"
	"time"
)

// The second computation of ticks: it looks at the wall clock minute by minute, and knows lines as
// predicates instead of by their text.

// wallClock is what a wall clock and a calendar show.
type wallClock struct{ minute, hour, day, month, weekday, days int }

func (w wallClock) at(hour, minute int) bool { return w.hour == hour && w.minute == minute }
func (w wallClock) every(minutes int) bool   { return w.minute%minutes == 0 }
func (w wallClock) on(days ...int) bool      { return slices.Contains(days, w.weekday) }
func (w wallClock) workday() bool            { return w.weekday >= 1 && w.weekday <= 5 }

// scannedLine is a line, what it means, and whether it follows real time.
type scannedLine struct {
	cron  string
	real  bool
	shows func(w wallClock) bool
}

// scannedLines, at most 64. Many are of the hours in which clocks are changed.
var scannedLines = []scannedLine{
	{"* * * * *", true, func(wallClock) bool { return true }},
	{"*/5 * * * *", true, func(w wallClock) bool { return w.every(5) }},
	{"*/20 * * * *", true, func(w wallClock) bool { return w.every(20) }},
	{"7-59/30 * * * *", true, func(w wallClock) bool { return w.minute == 7 || w.minute == 37 }},
	{"0 * * * *", true, func(w wallClock) bool { return w.minute == 0 }},
	{"@hourly", true, func(w wallClock) bool { return w.minute == 0 }},
	{"30 * * * *", true, func(w wallClock) bool { return w.minute == 30 }},
	{"59 */1 * * *", true, func(w wallClock) bool { return w.minute == 59 }},
	{"15 */2 * * *", true, func(w wallClock) bool { return w.hour%2 == 0 && w.minute == 15 }},
	{"0 */3 * * *", true, func(w wallClock) bool { return w.hour%3 == 0 && w.minute == 0 }},
	{"* 2 * * *", true, func(w wallClock) bool { return w.hour == 2 }},
	{"*/10 0 * * *", true, func(w wallClock) bool { return w.hour == 0 && w.every(10) }},
	{"*/15 1-3 * * *", true, func(w wallClock) bool { return w.hour >= 1 && w.hour <= 3 && w.every(15) }},
	{"*/30 22-2 * * *", true, func(w wallClock) bool { return (w.hour >= 22 || w.hour <= 2) && w.every(30) }},
	{"* 23 * * sat", true, func(w wallClock) bool { return w.hour == 23 && w.on(6) }},
	{"*/60 1 * * sun", true, func(w wallClock) bool { return w.at(1, 0) && w.on(0) }},
	{"0-59 2 * * *", false, func(w wallClock) bool { return w.hour == 2 }},
	{"0-59/10 0-23 * * *", false, func(w wallClock) bool { return w.every(10) }},
	{"0 0-23 * * *", false, func(w wallClock) bool { return w.minute == 0 }},
	{"5,35 0-23/2 * * *", false, func(w wallClock) bool { return w.hour%2 == 0 && w.minute%30 == 5 }},
	{"0 0 * * *", false, func(w wallClock) bool { return w.at(0, 0) }},
	{"@daily", false, func(w wallClock) bool { return w.at(0, 0) }},
	{"1 0 * * *", false, func(w wallClock) bool { return w.at(0, 1) }},
	{"30 0 * * *", false, func(w wallClock) bool { return w.at(0, 30) }},
	{"0 1 * * *", false, func(w wallClock) bool { return w.at(1, 0) }},
	{"30 1 * * *", false, func(w wallClock) bool { return w.at(1, 30) }},
	{"45 1 * * *", false, func(w wallClock) bool { return w.at(1, 45) }},
	{"0 2 * * *", false, func(w wallClock) bool { return w.at(2, 0) }},
	{"15 2 * * *", false, func(w wallClock) bool { return w.at(2, 15) }},
	{"30 2 * * *", false, func(w wallClock) bool { return w.at(2, 30) }},
	{"59 2 * * *", false, func(w wallClock) bool { return w.at(2, 59) }},
	{"0 3 * * *", false, func(w wallClock) bool { return w.at(3, 0) }},
	{"30 3 * * *", false, func(w wallClock) bool { return w.at(3, 30) }},
	{"0 4 * * *", false, func(w wallClock) bool { return w.at(4, 0) }},
	{"0 12 * * *", false, func(w wallClock) bool { return w.at(12, 0) }},
	{"30 23 * * *", false, func(w wallClock) bool { return w.at(23, 30) }},
	{"59 23 * * *", false, func(w wallClock) bool { return w.at(23, 59) }},
	{"10,20,30,40,50 1,2,3 * * *", false, func(w wallClock) bool {
		return w.hour >= 1 && w.hour <= 3 && w.every(10) && w.minute != 0
	}},
	{"30 2 * * 0", false, func(w wallClock) bool { return w.at(2, 30) && w.on(0) }},
	{"30 2 * * 7", false, func(w wallClock) bool { return w.at(2, 30) && w.on(0) }},
	{"0 0 * * fri-mon", false, func(w wallClock) bool { return w.at(0, 0) && w.on(5, 6, 0, 1) }},
	{"0 9 * * MON-FRI", false, func(w wallClock) bool { return w.at(9, 0) && w.workday() }},
	{"0 0 1 * *", false, func(w wallClock) bool { return w.at(0, 0) && w.day == 1 }},
	{"30 0 1,15 * *", false, func(w wallClock) bool { return w.at(0, 30) && (w.day == 1 || w.day == 15) }},
	{"0 0 1 * 0", false, func(w wallClock) bool { return w.at(0, 0) && (w.day == 1 || w.on(0)) }},
	{"30 2 8-14 * */7", false, func(w wallClock) bool {
		return w.at(2, 30) && w.day >= 8 && w.day <= 14 && w.on(0)
	}},
	{"30 1 * * sunL", false, func(w wallClock) bool { return w.at(1, 30) && w.on(0) && w.day+7 > w.days }},
	{"0 2 * 3 0#2", false, func(w wallClock) bool {
		return w.at(2, 0) && w.month == 3 && w.on(0) && (w.day+6)/7 == 2
	}},
	{"30 2 L * *", false, func(w wallClock) bool { return w.at(2, 30) && w.day == w.days }},
	{"0 3 L-2 */2 *", false, func(w wallClock) bool {
		return w.at(3, 0) && w.day == w.days-2 && w.month%2 == 1
	}},
	{"30 2 LW * *", false, func(w wallClock) bool {
		return w.at(2, 30) && w.workday() && (w.day == w.days || w.weekday == 5 && w.day+2 >= w.days)
	}},
	{"0 0 15W * *", false, func(w wallClock) bool {
		return w.at(0, 0) && w.workday() &&
			(w.day == 15 || w.weekday == 5 && w.day == 14 || w.weekday == 1 && w.day == 16)
	}},
	{"30 2 * nov-mar *", false, func(w wallClock) bool { return w.at(2, 30) && (w.month >= 11 || w.month <= 3) }},
	{"0 0 31 12 *", false, func(w wallClock) bool { return w.at(0, 0) && w.day == 31 && w.month == 12 }},
	{"@yearly", false, func(w wallClock) bool { return w.at(0, 0) && w.day == 1 && w.month == 1 }},
}

// scannedMargin, in minutes, is how much before and after the year is looked at.
const scannedMargin = 4 * 24 * 60

// scannedYear is a year, in minutes since 1970, and the lines that match each of its wall clocks, one
// bit a line.
type scannedYear struct {
	from, to int
	shows    []uint64 // by wall minute - (from - 2 * scannedMargin)
	real     uint64
}

func scanYear(year int) *scannedYear {
	minute := func(year int) int { return int(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / 60) }
	return scanTime(minute(year), minute(year+1))
}

// scanTime is another length of time than a year.
func scanTime(from, to int) *scannedYear {
	y := &scannedYear{from: from, to: to}
	for i, line := range scannedLines {
		if line.real {
			y.real |= 1 << i
		}
	}
	for m := y.from - 2*scannedMargin; m < y.to+2*scannedMargin; m++ {
		at := time.Unix(int64(m)*60, 0).UTC()
		w := wallClock{
			minute: at.Minute(), hour: at.Hour(), day: at.Day(), month: int(at.Month()),
			weekday: int(at.Weekday()), days: time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day(),
		}
		var set uint64
		for i, line := range scannedLines {
			if line.shows(w) {
				set |= 1 << i
			}
		}
		y.shows = append(y.shows, set)
	}
	return y
}

func (y *scannedYear) at(wall int) uint64 { return y.shows[wall-(y.from-2*scannedMargin)] }

// shift is an offset in minutes that holds from a minute on.
type shift struct{ from, offset int }

// shifts are those of a zone in the year and its margins. It looks each hour, and where that differs
// from the hour before each minute. whole: all offsets are of whole minutes.
func (y *scannedYear) shifts(zone *time.Location) (list []shift, whole bool) {
	whole = true
	offset := func(minute int) int {
		_, seconds := time.Unix(int64(minute)*60, 0).In(zone).Zone()
		whole = whole && seconds%60 == 0
		return seconds / 60
	}
	add := func(minute, offset int) {
		if n := len(list); n == 0 || list[n-1].offset != offset {
			list = append(list, shift{minute, offset})
		}
	}
	begin, end := y.from-scannedMargin, y.to+scannedMargin
	add(begin, offset(begin))
	for hour := begin + 60; hour <= end; hour += 60 {
		if offset(hour) != list[len(list)-1].offset {
			for minute := hour - 59; minute <= hour; minute++ {
				add(minute, offset(minute))
			}
		}
	}
	return list, whole
}

// ticks are those of each line in the year, in minutes since 1970.
func (y *scannedYear) ticks(shifts []shift) [][]int {
	begin, end := y.from-scannedMargin, y.to+scannedMargin
	fires := make([]uint64, end-begin) // lines, by minute
	seen := make([]bool, len(y.shows)) // by wall minute, as shows
	isSeen := func(wall int) *bool { return &seen[wall-(y.from-2*scannedMargin)] }
	type gap struct{ after, from, to int } // wall minutes from one to another do not come
	var gaps []gap
	k := 0
	for m := begin; m < end; m++ {
		if k+1 < len(shifts) && shifts[k+1].from == m {
			before := m + shifts[k].offset
			k++
			if now := m + shifts[k].offset; now > before {
				gaps = append(gaps, gap{m, before, now})
			}
		}
		wall := m + shifts[k].offset
		fires[m-begin] |= y.at(wall) & y.real
		if !*isSeen(wall) {
			fires[m-begin] |= y.at(wall) &^ y.real
			*isSeen(wall) = true
		}
	}
	for _, g := range gaps {
		for wall := g.from; wall < g.to; wall++ {
			if !*isSeen(wall) {
				fires[g.after-begin] |= y.at(wall) &^ y.real
				*isSeen(wall) = true
			}
		}
	}
	ticks := make([][]int, len(scannedLines))
	for m := y.from; m < y.to; m++ {
		for i, set := 0, fires[m-begin]; set != 0; i, set = i+1, set>>1 {
			if set&1 != 0 {
				ticks[i] = append(ticks[i], m)
			}
		}
	}
	return ticks
}
