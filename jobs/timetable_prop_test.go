package jobs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawCron makes a line of any form.
func drawCron(t *rapid.T) string {
	field := func(name string, least, most int, special ...string) string {
		number := rapid.IntRange(least, most)
		item := rapid.Custom(func(t *rapid.T) string {
			switch rapid.IntRange(0, 4+min(1, len(special))).Draw(t, "form") {
			case 0:
				return fmt.Sprintf("%d-%d", number.Draw(t, "from"), number.Draw(t, "to"))
			case 1:
				return fmt.Sprintf("%d/%d", number.Draw(t, "from"), rapid.IntRange(1, most).Draw(t, "step"))
			case 2:
				return fmt.Sprintf("*/%d", rapid.IntRange(1, most).Draw(t, "step"))
			case 5:
				return rapid.SampledFrom(special).Draw(t, "special")
			}
			return fmt.Sprint(number.Draw(t, "value"))
		})
		if rapid.Bool().Draw(t, name+" is *") {
			return "*"
		}
		return strings.Join(rapid.SliceOfN(item, 1, 3).Draw(t, name), ",")
	}
	line := []string{
		field("minute", 0, 59), field("hour", 0, 23), field("day", 1, 31, "L", "LW", "L-5", "15W", "1W", "31W"),
		field("month", 1, 12), field("weekday", 0, 6, "friL", "sun#2", "sun#5", "fri-mon"),
	}
	if rapid.IntRange(0, 3).Draw(t, "six") == 0 {
		line = append([]string{field("second", 0, 59)}, line...)
	}
	return strings.Join(line, " ")
}

// oddZones have shifts of many kinds.
var oddZones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Antarctica/Troll",
	"Asia/Beirut", "Africa/Cairo", "Africa/Casablanca", "Pacific/Apia", "Pacific/Kwajalein", "Africa/Monrovia",
	"America/Caracas", "Asia/Pyongyang", "Europe/Dublin", "Asia/Gaza", "America/Nuuk", "Antarctica/Casey",
}

// drawInstant is often near a shift of the zone's clock.
func drawInstant(t *rapid.T, zone *time.Location) Time {
	at := rapid.Int64Range(1, 4_200_000_000).Draw(t, "at")
	if s := stretchFrom(zone, at); rapid.Bool().Draw(t, "near a shift") && s.to < 4_300_000_000 {
		at = max(1, s.to+rapid.Int64Range(-90_000, 90_000).Draw(t, "from the shift"))
	}
	return Time(at*1000 + rapid.Int64Range(-1, 999).Draw(t, "ms"))
}

func TestNextPrevAndCountAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, err := LoadZone(rapid.SampledFrom(oddZones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCron(drawCron(t))
		if err != nil {
			if !strings.Contains(err.Error(), "never fires") {
				t.Fatal(err)
			}
			t.Skip("never fires")
		}
		table := &Timetable{cron: c, zone: zone, first: 1, last: lastSecond - 7000*366*daySeconds}
		checkTimetable(t, table, drawInstant(t, zone))
	})
}

func TestNextPrevAndCountAgreeForEvery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &Timetable{
			every:  rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 3653*daySeconds)).Draw(t, "every"),
			anchor: rapid.Int64Range(0, 4_200_000_000).Draw(t, "anchor"),
			first:  1, last: lastSecond,
		}
		checkTimetable(t, table, drawInstant(t, time.UTC))
	})
}

// checkTimetable checks the ticks around an instant.
func checkTimetable(t *rapid.T, table *Timetable, at Time) {
	next, prev := table.Next(at), table.Prev(at+1)
	if next != 0 && next <= at || prev > at {
		t.Fatalf("around %s are %s and %s", at, prev, next)
	}
	if n := table.Count(prev+1, at); prev != 0 && n != 0 {
		t.Fatalf("%d ticks are counted from %s to %s, want none", n, prev+1, at)
	}
	ticks := []Time{prev}
	for range 40 {
		if next == 0 {
			break
		}
		between := at + Time(rapid.Int64Range(0, int64(next-at)-1).Draw(t, "between"))
		if got := table.Next(between); got != next {
			t.Fatalf("after %s comes %s, after %s %s", at, next, between, got)
		}
		last := ticks[len(ticks)-1]
		if got := table.Prev(next); got != last {
			t.Fatalf("before %s comes %s, want %s", next, got, last)
		}
		if got := table.Prev(between + 1); got != last {
			t.Fatalf("before %s comes %s, want %s", between+1, got, last)
		}
		if last != 0 && table.Next(last) != next {
			t.Fatalf("after %s comes %s, want %s", last, table.Next(last), next)
		}
		if n := table.Count(next, next); n != 1 {
			t.Fatalf("%d ticks at %s", n, next)
		}
		ticks = append(ticks, next)
		at, next = next, table.Next(next)
	}
	if n := len(ticks) - 1; n > 0 {
		if got := table.Count(ticks[1], ticks[n]); got != n {
			t.Fatalf("%d ticks are counted from %s to %s, want %d", got, ticks[1], ticks[n], n)
		}
	}
}

func TestTheCalendarIsThatOfTheStandardLibrary(t *testing.T) {
	day := func(year int) int64 {
		return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
	}
	m, _ := monthOf(day(1600))
	for n := day(1600); n < day(2421); n++ {
		want := time.Unix(n*daySeconds, 0).UTC()
		got, d := monthOf(n)
		if got.year != want.Year() || got.number != int(want.Month()) || d != want.Day() ||
			got.weekday(d) != int(want.Weekday()) {
			t.Fatalf("day %d is %d-%d-%d, want %s", n, got.year, got.number, d, want)
		}
		if d == 1 && n > day(1600) {
			if m.next() != got || got.prev() != m {
				t.Fatalf("after %v comes %v, want %v", m, m.next(), got)
			}
			m = got
		}
	}
}
