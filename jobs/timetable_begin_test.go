package jobs

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

// TestTicksDoNotDependOnWhereOneBegins asks from each minute around shifts, also from within hours
// that come twice.
func TestTicksDoNotDependOnWhereOneBegins(t *testing.T) {
	step := 7
	if raced || testing.Short() {
		step = 23
	}
	for _, c := range []struct{ zone, day string }{
		{"Europe/Berlin", "2026-10-25"},
		{"Europe/Berlin", "2027-03-28"},
		{"Australia/Lord_Howe", "2027-04-03"},
		{"Antarctica/Troll", "2026-10-25"},
		{"America/Santiago", "2027-04-04"},
		{"Asia/Beirut", "2026-10-24"},
		{"Pacific/Apia", "2011-12-30"},
		{"Antarctica/Casey", "2020-10-03"},
	} {
		zone, err := LoadZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range scannedLines {
			middle := int(instantOf(t, c.day+"T12:00:00Z") / 60_000)
			checkFromEach(t, timetable(t, line.cron, c.zone), zone, middle-2*24*60, middle+2*24*60, step)
		}
	}
}

// checkFromEach compares what comes next and before, and counts, from each of some minutes with the
// ticks that follow one another from the first of them.
func checkFromEach(t *testing.T, table *Timetable, zone *time.Location, from, to, step int) {
	t.Helper()
	first, last := Time(from)*60_000, Time(to)*60_000
	ticks := []Time{table.Prev(first)}
	for at := table.Next(first - 1); at != 0; at = table.Next(at) {
		if ticks = append(ticks, at); at >= last {
			break
		}
	}
	for at := first; at < last; at += Time(step) * 60_000 {
		i, _ := slices.BinarySearch(ticks, at+1) // that of the first after it
		if next := table.Next(at); i < len(ticks) && next != ticks[i] {
			t.Errorf("%q in %s: after %s comes %s, want %s", table.cron.text, zone, at, next, ticks[i])
			return
		}
		if prev := table.Prev(at + 1); prev != ticks[i-1] {
			t.Errorf("%q in %s: before %s comes %s, want %s", table.cron.text, zone, at+1, prev, ticks[i-1])
			return
		}
		if n := table.Count(at+1, ticks[len(ticks)-1]); n != len(ticks)-i {
			t.Errorf("%q in %s: %d ticks are counted after %s, want %d", table.cron.text, zone, n, at, len(ticks)-i)
			return
		}
	}
}

// madeUpZone is UTC but for what is changed: minutes since 1970, and offsets in minutes.
func madeUpZone(t *testing.T, shifts ...shift) *time.Location {
	t.Helper()
	// A file of RFC 8536, version 1.
	data := append([]byte("TZif"), make([]byte, 16)...)
	word := func(n int) { data = binary.BigEndian.AppendUint32(data, uint32(n)) }
	for _, n := range []int{0, 0, 0, len(shifts), len(shifts) + 1, 4} {
		word(n)
	}
	for _, s := range shifts {
		word(s.from * 60)
	}
	for i := range shifts {
		data = append(data, byte(i+1))
	}
	for _, s := range append([]shift{{}}, shifts...) {
		word(s.offset * 60)
		data = append(data, 0, 0)
	}
	zone, err := time.LoadLocationFromTZData("made up", append(data, "ABC\x00"...))
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestTicksWhereClocksAreChangedTwiceInADay compares them with a scan of the wall clock.
func TestTicksWhereClocksAreChangedTwiceInADay(t *testing.T) {
	night := int(instantOf(t, "2027-03-27T23:30:00Z") / 60_000)
	y := scanTime(night-4*24*60, night+6*24*60)
	for name, shifts := range map[string][]shift{
		"back twice":                {{night, -60}, {night + 30, -120}},
		"forward twice":             {{night, 60}, {night + 30, 120}},
		"back and forward":          {{night, -60}, {night + 30, 0}},
		"back and forward again":    {{night, -60}, {night + 90, 0}},
		"back and further forward":  {{night, -60}, {night + 45, 60}},
		"back, forward, back":       {{night, -120}, {night + 30, -60}, {night + 45, -120}},
		"forward and back again":    {{night, 60}, {night + 150, 0}},
		"a day back":                {{night, -24 * 60}},
		"a day back and some":       {{night, -24 * 60}, {night + 600, -23 * 60}, {night + 900, -25 * 60}},
		"a day forward":             {{night, 24 * 60}},
		"a day and an hour forward": {{night, 25 * 60}, {night + 26*60, 24 * 60}},
	} {
		t.Run(name, func(t *testing.T) {
			zone := madeUpZone(t, shifts...)
			want := y.ticks(append([]shift{{y.from - scannedMargin, 0}}, shifts...))
			for i, line := range scannedLines {
				c, err := ParseCron(line.cron)
				if err != nil {
					t.Fatal(err)
				}
				table := &Timetable{cron: c, zone: zone, first: 1, last: lastSecond}
				y.compareTicks(t, table, want[i], y.from, y.to)
				y.compareCount(t, table, want[i])
				checkFromEach(t, table, zone, night-26*60, night+30*60, 31)
			}
		})
	}
}
