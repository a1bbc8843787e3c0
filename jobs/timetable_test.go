package jobs

import (
	"slices"
	"strings"
	"testing"
)

// timetable compiles a cron line.
func timetable(t testing.TB, cron, zone string) *Timetable {
	t.Helper()
	s := Schedule{Cron: cron, Timezone: zone}
	table, err := s.Timetable(0)
	if err != nil {
		t.Fatalf("%s, %s: %v", cron, zone, err)
	}
	return table
}

func instantOf(t testing.TB, text string) Time {
	t.Helper()
	at, err := ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// ticksAfter writes ticks without seconds of 0 and without milliseconds.
func ticksAfter(table *Timetable, after Time, n int) (ticks []string) {
	for range n {
		if after = table.Next(after); after == 0 {
			break
		}
		ticks = append(ticks, strings.TrimSuffix(strings.TrimSuffix(after.String(), ".000Z"), ":00"))
	}
	return ticks
}

func TestTicksOfCronLines(t *testing.T) { // cases 1, 2, 3, 6, 15, 16, 18, 21; F23
	for _, c := range []struct {
		what, cron, zone, from string
		want                   string // blanks between ticks
	}{
		{
			"one for each day where the clock is set back", "0 17 * * *", "America/New_York",
			"2027-11-06T22:00:00Z", "2027-11-07T22:00 2027-11-08T22:00 2027-11-09T22:00",
		},
		{
			"at the new offset on the day of the change", "0 16 * * *", "America/New_York",
			"2027-03-13T22:00:00Z", "2027-03-14T20:00 2027-03-15T20:00",
		},
		{
			"in a gap, right after it", "30 2 * * *", "Europe/Berlin",
			"2027-03-27T12:00:00Z", "2027-03-28T01:00 2027-03-29T00:30",
		},
		{
			"in a gap, right after it", "30 2 * * *", "America/New_York",
			"2027-03-13T12:00:00Z", "2027-03-14T07:00 2027-03-15T06:30",
		},
		{
			"in a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe",
			"2027-10-02T00:00:00Z", "2027-10-02T15:30 2027-10-03T15:15",
		},
		{
			"in a gap of two hours", "30 1,2 * * *", "Antarctica/Troll",
			"2027-03-27T12:00:00Z", "2027-03-28T01:00 2027-03-28T23:30 2027-03-29T00:30",
		},
		{
			"in a gap at midnight", "0 0 * * *", "America/Santiago",
			"2027-09-04T12:00:00Z", "2027-09-05T04:00 2027-09-06T03:00",
		},
		{
			"in a gap at midnight", "30 0 * * *", "Asia/Beirut",
			"2027-03-27T12:00:00Z", "2027-03-27T22:00 2027-03-28T21:30",
		},
		{
			"in a gap at midnight", "0 0 * * *", "Africa/Cairo",
			"2027-04-29T12:00:00Z", "2027-04-29T22:00 2027-04-30T21:00",
		},
		{
			"a day that is left out, at the first instant after it", "0 12 * * *", "Pacific/Apia",
			"2011-12-29T12:00:00Z", "2011-12-29T22:00 2011-12-30T10:00 2011-12-30T22:00 2011-12-31T22:00",
		},
		{
			"twice on the wall, the first time", "30 1 * * *", "America/New_York",
			"2026-10-31T12:00:00Z", "2026-11-01T05:30 2026-11-02T06:30",
		},
		{
			"each hour in real time", "0 * * * *", "America/New_York",
			"2026-11-01T04:00:00Z", "2026-11-01T05:00 2026-11-01T06:00 2026-11-01T07:00 2026-11-01T08:00",
		},
		{
			"each half hour in real time", "*/30 * * * *", "Australia/Lord_Howe",
			"2027-04-03T14:00:00Z", "2027-04-03T14:30 2027-04-03T15:00 2027-04-03T15:30 2027-04-03T16:00",
		},
		{
			"walls that fall on one instant are one tick", "0,20,40 2 * * *", "Europe/Berlin",
			"2027-03-27T12:00:00Z", "2027-03-28T01:00 2027-03-29T00:00",
		},
		{
			"each hour of another zone than the host's", "0 * * * *", "",
			"2027-10-02T13:00:00Z", "2027-10-02T14:00 2027-10-02T15:00 2027-10-02T16:00 2027-10-02T17:00",
		},
		{
			"either day", "0 12 13 * 5", "", "2026-11-29T15:00:00Z",
			"2026-12-04T12:00 2026-12-11T12:00 2026-12-13T12:00 2026-12-18T12:00 2026-12-25T12:00 " +
				"2027-01-01T12:00 2027-01-08T12:00 2027-01-13T12:00",
		},
		{
			"all days of the month are a restriction", "0 0 1-31 * 4", "", "2026-11-29T15:00:00Z",
			"2026-11-30T00:00 2026-12-01T00:00",
		},
		{"Thursdays", "0 0 * * 4", "", "2026-11-29T15:00:00Z", "2026-12-03T00:00 2026-12-10T00:00"},
		{
			"both days where one begins with a star", "0 0 */10 * 5", "", "2026-11-29T15:00:00Z",
			"2026-12-11T00:00 2027-01-01T00:00 2027-05-21T00:00",
		},
		{
			"a far month has its own offset", "* * * 4 *", "America/New_York",
			"2027-02-15T12:00:00Z", "2027-04-01T04:00",
		},
		{"leap days", "0 0 29 2 *", "", "2026-11-29T15:00:00Z", "2028-02-29T00:00 2032-02-29T00:00"},
		{"leap days around 2100", "0 0 29 2 *", "", "2095-01-01T00:00:00Z", "2096-02-29T00:00 2104-02-29T00:00"},
		{
			"leap days on one day of the week", "0 0 29 2 */7", "", "2088-02-01T00:00:00Z",
			"2088-02-29T00:00 2128-02-29T00:00",
		},
	} {
		want := strings.Fields(c.want)
		if got := ticksAfter(timetable(t, c.cron, c.zone), instantOf(t, c.from), len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, %s, after %s\n got %s\nwant %s", c.what, c.cron, c.zone, c.from, got, want)
		}
	}
}
