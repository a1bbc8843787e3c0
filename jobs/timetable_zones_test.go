package jobs

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestAYearOfTicksInEveryZone compares the ticks of all lines in every zone with those that a scan
// of its wall clock gives. Under the race detector, and with -short, it takes some of the zones.
func TestAYearOfTicksInEveryZone(t *testing.T) { // F23
	y := scanYear(2027)
	names := zoneNames()
	if len(names) < 400 {
		t.Fatalf("there are only %d zones", len(names))
	}
	few := []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe",
		"Antarctica/Troll", "Asia/Beirut", "Africa/Cairo", "Africa/Casablanca", "Asia/Kathmandu",
		"Pacific/Chatham", "America/Nuuk",
	}
	switch {
	case raced:
		names = few[3:6]
	case testing.Short():
		names = few
	}
	// Zones that shift alike have the same ticks: these are scanned once.
	alike := map[string][]*time.Location{}
	shifts := map[string][]shift{}
	for _, name := range names {
		zone, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		list, whole := y.shifts(zone)
		if !whole {
			t.Fatalf("%s has offsets with seconds", name)
		}
		key := fmt.Sprint(list)
		alike[key] = append(alike[key], zone)
		shifts[key] = list
	}
	t.Logf("%d zones, %d kinds of them, %d lines", len(names), len(alike), len(scannedLines))
	var done sync.WaitGroup
	defer done.Wait()
	workers := make(chan struct{}, 2)
	for key, zones := range alike {
		workers <- struct{}{}
		done.Go(func() {
			defer func() { <-workers }()
			want := y.ticks(shifts[key])
			for i, zone := range zones {
				y.compare(t, zone, shifts[key], want, i == 0)
			}
		})
	}
}

// dense: of lines with more ticks a year, only the days of shifts are looked at tick by tick, but in
// one zone of each kind.
const dense = 10_000

// compare compares the year's ticks of all lines in a zone.
func (y *scannedYear) compare(t *testing.T, zone *time.Location, shifts []shift, want [][]int, all bool) {
	for i, line := range scannedLines {
		c, err := ParseCron(line.cron)
		if err != nil {
			t.Error(err)
			return
		}
		table := &Timetable{cron: c, zone: zone, first: 1, last: lastSecond}
		y.compareCount(t, table, want[i])
		if all || len(want[i]) <= dense {
			y.compareTicks(t, table, want[i], y.from, y.to)
			continue
		}
		for _, s := range shifts[1:] {
			y.compareTicks(t, table, want[i], max(y.from, s.from-1500), min(y.to, s.from+1500))
		}
	}
}

// compareTicks compares the ticks from one minute on and before another.
func (y *scannedYear) compareTicks(t *testing.T, table *Timetable, want []int, from, to int) {
	at := Time(from)*60_000 - 1
	for _, minute := range want {
		if minute < from || minute >= to {
			continue
		}
		if at = table.Next(at); at != Time(minute)*60_000 {
			t.Errorf("%q in %s: tick at %s, the scan says %s", table.cron.text, table.zone, at,
				Time(minute)*60_000)
			return
		}
	}
	if at = table.Next(at); at != 0 && at < Time(to)*60_000 {
		t.Errorf("%q in %s: tick at %s, the scan has none", table.cron.text, table.zone, at)
	}
}

func (y *scannedYear) compareCount(t *testing.T, table *Timetable, want []int) {
	if n := table.Count(Time(y.from)*60_000, Time(y.to)*60_000-1); n != len(want) {
		t.Errorf("%q in %s: %d ticks are counted, the scan has %d", table.cron.text, table.zone, n, len(want))
	}
}

// TestTicksInYearsInWhichClocksWereChangedOddly does the same for single years of zones.
func TestTicksInYearsInWhichClocksWereChangedOddly(t *testing.T) {
	for _, c := range []struct {
		zone   string
		year   int
		shifts int // in the year and its margins
	}{
		{"Pacific/Apia", 2011, 3},        // 30 December was left out
		{"Pacific/Kwajalein", 1993, 1},   // so was a day in August
		{"Africa/Casablanca", 2012, 4},   // summer time with the month of fasting in it
		{"Africa/Casablanca", 2026, 2},   // winter time for the month of fasting
		{"Africa/Cairo", 2014, 4},        // the same, at midnight
		{"Asia/Pyongyang", 2018, 1},      // half an hour forward
		{"Asia/Pyongyang", 2015, 1},      // and back
		{"America/Caracas", 2016, 1},     // half an hour forward
		{"Asia/Kathmandu", 1986, 1},      // a quarter of an hour
		{"Antarctica/Casey", 2020, 2},    // three hours
		{"Australia/Lord_Howe", 1985, 2}, // half an hour and a whole one
		{"Antarctica/Troll", 2026, 2},    // two hours
		{"America/Sao_Paulo", 2018, 2},   // at midnight
		{"America/Nuuk", 2024, 2},        // late in the evening
		{"Europe/Moscow", 2014, 1},       // an hour back, without summer time
	} {
		t.Run(fmt.Sprint(c.zone, " ", c.year), func(t *testing.T) {
			if (raced || testing.Short()) && c.zone != "Pacific/Apia" {
				t.Skip("takes long under the race detector")
			}
			t.Parallel()
			zone, err := LoadZone(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			y := scanYear(c.year)
			shifts, whole := y.shifts(zone)
			if len(shifts)-1 != c.shifts || !whole {
				t.Fatalf("shifts are %v, want %d of whole minutes", shifts[1:], c.shifts)
			}
			y.compare(t, zone, shifts, y.ticks(shifts), true)
		})
	}
}

func TestTwoYearsOfDailyTicksInEveryZone(t *testing.T) { // case 14
	for i, name := range zoneNames() {
		if (raced || testing.Short()) && i%20 != 0 {
			continue
		}
		for _, line := range []string{"0 2 * * *", "30 0 * * *"} {
			table := timetable(t, line, name)
			at := instantOf(t, "2026-11-29T15:00:00Z")
			for n := range 800 {
				next := table.Next(at)
				if gap := next.Sub(at); gap <= 0 || n > 0 && gap < 22*time.Hour || gap > 26*time.Hour {
					t.Fatalf("%q in %s: after %s comes %s", line, name, at, next)
				}
				at = next
			}
		}
	}
}
