package jobs

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// scheduleOf makes one from its texts; empty ones are left out.
func scheduleOf(t *testing.T, cron, every, zone, start, end string) *Schedule {
	t.Helper()
	s := &Schedule{Cron: cron, Timezone: zone}
	if every != "" {
		d, err := ParseDuration(every)
		if err != nil {
			t.Fatal(err)
		}
		s.Every = &d
	}
	if start != "" {
		s.Start = instantOf(t, start)
	}
	if end != "" {
		s.End = instantOf(t, end)
	}
	return s
}

func TestTicksOfEveryAndWithinStartAndEnd(t *testing.T) {
	const anchor = "2026-11-29T15:04:05.678Z"
	for _, c := range []struct {
		what, cron, every, zone, start, end, from string
		want                                      string
	}{
		{
			what: "every counts from the anchor", every: "15m", from: anchor,
			want: "2026-11-29T15:19:05 2026-11-29T15:34:05",
		},
		{
			what: "which has no tick soon after it", every: "3653d", from: anchor, want: "2036-11-29T15:04:05",
		},
		{
			what: "and before it, for a clock that was set back", every: "15m", from: "2026-11-29T14:00:00Z",
			want: "2026-11-29T14:04:05 2026-11-29T14:19:05",
		},
		{
			what: "every counts from start, which is a tick", every: "7d", start: "2026-12-01T08:00:00Z",
			from: anchor, want: "2026-12-01T08:00 2026-12-08T08:00",
		},
		{
			what: "a start that has passed", every: "7d", start: "2026-01-01T08:00:00Z", from: anchor,
			want: "2026-12-03T08:00 2026-12-10T08:00",
		},
		{
			what: "no tick before start, none after end", every: "1h", start: "2026-12-01T08:00:00Z",
			end: "2026-12-01T09:00:00Z", from: anchor, want: "2026-12-01T08:00 2026-12-01T09:00",
		},
		{
			what: "every counts real time", every: "24h", zone: "America/New_York",
			start: "2026-10-31T16:00:00Z", from: anchor, want: "2026-11-29T16:00 2026-11-30T16:00",
		},
		{
			what: "start and end are ticks where they match", cron: "0 * * * *",
			start: "2026-12-01T08:00:00Z", end: "2026-12-01T10:00:00Z", from: anchor,
			want: "2026-12-01T08:00 2026-12-01T09:00 2026-12-01T10:00",
		},
		{
			what: "milliseconds of start and end count", cron: "0 * * * *",
			start: "2026-12-01T08:00:00.001Z", end: "2026-12-01T09:59:59.999Z", from: anchor,
			want: "2026-12-01T09:00",
		},
		{
			what: "an end that has passed", cron: "0 * * * *", end: "2026-11-01T00:00:00Z", from: anchor,
		},
	} {
		table, err := scheduleOf(t, c.cron, c.every, c.zone, c.start, c.end).Timetable(instantOf(t, anchor))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		got := strings.Join(ticksAfter(table, instantOf(t, c.from), max(1, len(strings.Fields(c.want)))), " ")
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}

func TestPrevAndCountKeepWithinStartAndEnd(t *testing.T) {
	for _, s := range []*Schedule{
		scheduleOf(t, "0 * * * *", "", "Europe/Berlin", "2026-12-01T08:00:00Z", "2026-12-01T10:00:00Z"),
		scheduleOf(t, "", "1h", "", "2026-12-01T08:00:00Z", "2026-12-01T10:00:00Z"),
	} {
		table, err := s.Timetable(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Prev(s.End + 1_000_000_000); got != s.End {
			t.Errorf("the last is %s, want %s", got, s.End)
		}
		if got := table.Next(s.End); got != 0 {
			t.Errorf("after the end comes %s", got)
		}
		if got := table.Prev(s.Start + 1); got != s.Start {
			t.Errorf("the first is %s, want %s", got, s.Start)
		}
		if got := table.Prev(s.Start); got != 0 {
			t.Errorf("before the start comes %s", got)
		}
		for _, c := range []struct {
			from, to Time
			want     int
		}{
			{0, lastSecond * 1000, 3},
			{1 << 62, 1<<63 - 1, 0},
			{-1 << 63, 1<<63 - 1, 3},
			{s.Start, s.Start, 1},
			{s.Start + 1, s.End - 1, 1},
			{s.Start, s.End, 3},
			{s.End, s.Start, 0},
			{s.End + 1, s.End + 1_000_000_000, 0},
		} {
			if got := table.Count(c.from, c.to); got != c.want {
				t.Errorf("%d ticks from %s to %s, want %d", got, c.from, c.to, c.want)
			}
		}
	}
}

func TestTicksEndWithTheYear9999(t *testing.T) {
	end := Time(lastSecond * 1000)
	for _, zone := range []string{"UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/Adak"} {
		for _, line := range []string{"* * * * * *", "59 59 * * * *", "0 0 29 2 *"} {
			table := timetable(t, line, zone)
			last := table.Prev(1<<63 - 1)
			if last > end || last < end.Add(-5*366*24*time.Hour) || table.Next(last) != 0 ||
				table.Next(1<<63-1) != 0 || table.Next(last-1) != last {
				t.Errorf("%q in %s: the last tick is %s", line, zone, last)
			}
			first := table.Next(-1 << 63)
			if first <= 0 || table.Prev(first) != 0 || table.Next(0) != first || table.Prev(-1<<63) != 0 {
				t.Errorf("%q in %s: the first tick is %s", line, zone, first)
			}
		}
	}
}

// Until 1972 the clocks of Liberia were 44 minutes and 30 seconds behind.
func TestOffsetsWithSeconds(t *testing.T) {
	for line, want := range map[string]string{
		"*/30 * * * *": "1972-01-06T23:44:30 1972-01-07T00:14:30 1972-01-07T01:00 1972-01-07T01:30",
		"0 0 * * *":    "1972-01-07T00:44:30 1972-01-08T00:00",
		"15 0 7 1 *":   "1972-01-07T00:44:30 1973-01-07T00:15",
		"30 0 * * * *": "1972-01-06T23:45 1972-01-07T01:00:30",
	} {
		table := timetable(t, line, "Africa/Monrovia")
		got := strings.Join(ticksAfter(table, instantOf(t, "1972-01-06T23:30:00Z"), len(strings.Fields(want))), " ")
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestLinesWithSecondsAroundShifts(t *testing.T) {
	for _, c := range []struct{ cron, zone, from, want string }{
		{ // all of the gap is one tick, and the one right after it too
			"*/20 30 2 * * *", "Europe/Berlin", "2027-03-27T01:30:00Z",
			"2027-03-27T01:30:20 2027-03-27T01:30:40 2027-03-28T01:00 2027-03-29T00:30",
		},
		{
			"0,30 0,30 2,3 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			"2027-03-28T01:00 2027-03-28T01:00:30 2027-03-28T01:30 2027-03-28T01:30:30",
		},
		{ // once
			"*/30 59 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:59 2026-10-25T00:59:30 2026-10-26T01:59",
		},
		{ // in real time
			"30 */30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:00:30 2026-10-25T00:30:30 2026-10-25T01:00:30 2026-10-25T01:30:30 2026-10-26T01:00:30",
		},
		{
			"59 */30 1,2 * * *", "Europe/Berlin", "2027-03-27T23:00:00Z",
			"2027-03-28T00:00:59 2027-03-28T00:30:59 2027-03-28T23:00:59 2027-03-28T23:30:59 2027-03-29T00:00:59",
		},
	} {
		want := strings.Fields(c.want)
		got := strings.Join(ticksAfter(timetable(t, c.cron, c.zone), instantOf(t, c.from), len(want)), " ")
		if got != c.want {
			t.Errorf("%q, %s:\n got %s\nwant %s", c.cron, c.zone, got, c.want)
		}
	}
}

func TestCheckTicksRefusesWhatNeverFires(t *testing.T) {
	for _, c := range []struct{ cron, every, zone, start, end, want string }{
		{cron: "0 2 * * *"},
		{cron: "@reboot"},
		{cron: "@reboot", start: "2026-12-01T00:00:00Z", end: "2026-11-01T00:00:00Z"},
		{every: "15m"},
		{every: "3653d", end: "2000-01-01T00:00:00Z"},
		{every: "1h", start: "2026-12-01T00:00:00Z", end: "2026-12-01T00:00:00Z"},
		{cron: "0 2 * * *", end: "2000-01-01T00:00:00Z"},
		{cron: "0 2 * * *", start: "9999-12-31T00:00:00Z"},
		{cron: "0 2 * * *", start: "9990-01-01T00:00:00Z", end: "9999-12-31T23:59:59Z"},
		{cron: "0 0 29 2 */7", zone: "Pacific/Apia"},
		{cron: "0 12 30 12 *", zone: "Pacific/Apia"},
		{
			cron: "0 2 * * *", start: "2026-12-01T03:00:00Z", end: "2026-12-02T01:00:00Z",
			want: "never fires: no tick comes between start 2026-12-01T03:00:00.000Z and end " +
				"2026-12-02T01:00:00.000Z; leave the schedule out, and run the job by hand",
		},
		{
			cron: "0 2 * * *", start: "2026-12-02T00:00:00Z", end: "2026-12-01T00:00:00Z",
			want: "never fires: no tick comes between start",
		},
		{
			every: "1h", start: "2026-12-02T00:00:00Z", end: "2026-12-01T00:00:00Z",
			want: "never fires: no tick comes between start",
		},
		{
			cron: "0 2 * * *", start: "9999-12-31T03:00:00Z",
			want: "never fires: no tick comes from start 9999-12-31T03:00:00.000Z on; leave the schedule out",
		},
		{
			cron: "0 0 29 2 *", end: "1971-06-01T00:00:00Z",
			want: "never fires: no tick comes up to end 1971-06-01T00:00:00.000Z; leave the schedule out",
		},
		{ // that is the hour which the change to summer time leaves out, and it follows real time
			cron: "*/30 2 * 3 sun#2", zone: "America/New_York",
			want: "never fires again: in America/New_York the clock no longer shows such a time; leave the schedule out",
		},
		{cron: "30 2 * 3 sun#2", zone: "America/New_York"},
		{cron: "*/30 2 * 3 sun#2", zone: "America/New_York", end: "2000-01-01T00:00:00Z"},
		{cron: "0 0 30 2 *", want: "never fires"},
		{every: "1500ms", want: "every: 1.5s is not understood: want whole seconds, at least 1s"},
		{every: "500ms", want: "every: 500ms is not understood: want whole seconds, at least 1s"},
		{cron: "* * * *", want: "cron: want 5 fields"},
		{cron: "* * * * *", zone: "Europe/Berln", want: "timezone: "},
	} {
		got := ""
		if err := scheduleOf(t, c.cron, c.every, c.zone, c.start, c.end).CheckTicks(); err != nil {
			got = err.Error()
		}
		if got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s:\n got %s\nwant %s", fmt.Sprint(c), got, c.want)
		}
	}
}

// The host's own zone does not matter.
func TestTicksDoNotDependOnTheZoneOfTheHost(t *testing.T) { // case 7
	zone, err := LoadZone("Australia/Sydney")
	if err != nil {
		t.Fatal(err)
	}
	host := time.Local
	defer func() { time.Local = host }()
	time.Local = zone
	got := strings.Join(ticksAfter(timetable(t, "0 * * * *", ""), instantOf(t, "2027-10-02T13:00:00Z"), 6), " ")
	want := "2027-10-02T14:00 2027-10-02T15:00 2027-10-02T16:00 2027-10-02T17:00 2027-10-02T18:00 2027-10-02T19:00"
	if got != want {
		t.Errorf("ticks at %s, want %s", got, want)
	}
}
