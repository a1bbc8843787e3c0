package jobs

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScheduleReads(t *testing.T) { // cases 15, 16
	for line, want := range map[string]string{
		// Times of day.
		"0 2 * * 1-5":            "at 02:00, Monday to Friday",
		"0 2 * * *":              "at 02:00",
		"00 02 * * *":            "at 02:00",
		"@daily":                 "at 00:00",
		"45 04,10,16,22 * * *":   "at 04:45, 10:45, 16:45 and 22:45",
		"0,30 9,17 * * *":        "at 09:00, 09:30, 17:00 and 17:30",
		"0 8-16/2 * * 1-5":       "at 08:00, 10:00, 12:00, 14:00 and 16:00, Monday to Friday",
		"0 22-2 * * *":           "at 00:00, 01:00, 02:00, 22:00 and 23:00",
		"30 15 10 * * *":         "at 10:15:30",
		"0 15 10 * * *":          "at 10:15",
		"10,20 9 8 * * *":        "at 08:09:10 and 08:09:20",
		"0,30 15 10,11,12 * * *": "at 10:15:00, 10:15:30, 11:15:00, 11:15:30, 12:15:00 and 12:15:30",
		// Many times of day.
		"0 9-19 * * *":          "at minute 0 of hours 9 to 19",
		"4 07-19 * * 1-5":       "at minute 4 of hours 7 to 19, Monday to Friday",
		"5-55/10 7-19 * * *":    "at minutes 5, 15, 25 … 55 of hours 7 to 19",
		"0,15,30,45 9-17 * * *": "at minutes 0, 15, 30 and 45 of hours 9 to 17",
		"23 0-23/2 * * *":       "at minute 23 of hours 0, 2, 4 … 22",
		"0 20-3 * * *":          "at minute 0 of hours 20 to 3",
		"0-59 9 * * *":          "at minutes 0 to 59 of hour 9",
		"0 0-23 * * *":          "at minute 0 of hours 0 to 23",
		"1,2,3,7,20-22 5 * * *": "at minutes 1 to 3, 7 and 20 to 22 of hour 5",
		"30 0 9-17 * * *":       "at second 30 of minute 0 of hours 9 to 17",
		// Real time.
		"49 * * * *":        "at minute 49 of every hour",
		"@hourly":           "at minute 0 of every hour",
		"5,35 * * * *":      "at minutes 5 and 35 of every hour",
		"* * * * *":         "every minute",
		"*/1 * * * *":       "every minute",
		"0 * * * * *":       "every minute",
		"*/15 * * * *":      "every 15 minutes",
		"0/15 * * * *":      "every 15 minutes",
		"0,20,40 * * * *":   "every 20 minutes",
		"7/15 * * * *":      "at minutes 7, 22, 37 and 52 of every hour",
		"*/7 * * * *":       "at every 7th minute (0, 7, 14 … 56) of every hour",
		"0-59/7 * * * *":    "at minutes 0, 7, 14 … 56 of every hour",
		"*/45 * * * *":      "at every 45th minute (0 and 45) of every hour",
		"*/60 2 * * *":      "at every 60th minute (0) of hour 2",
		"*/10 7-19 * * *":   "every 10 minutes of hours 7 to 19",
		"* 9 * * *":         "every minute of hour 9",
		"0 */4 * * *":       "at minute 0 of every 4th hour (0, 4, 8 … 20)",
		"0 */12 * * *":      "at minute 0 of every 12th hour (0 and 12)",
		"0 */23 * * *":      "at minute 0 of every 23rd hour (0 and 23)",
		"0 */21 * * *":      "at minute 0 of every 21st hour (0 and 21)",
		"0 */11 * * *":      "at minute 0 of every 11th hour (0, 11 and 22)",
		"* */2 * * *":       "every minute of every 2nd hour (0, 2, 4 … 22)",
		"*/15 */2 * * *":    "every 15 minutes of every 2nd hour (0, 2, 4 … 22)",
		"*/15,7 9-10 * * *": "at minutes 0, 7, 15, 30 and 45 of hours 9 and 10",
		// Seconds.
		"* * * * * *":    "every second",
		"*/10 * * * * *": "every 10 seconds",
		"0,30 * * * * *": "every 30 seconds",
		"*/7 * * * * *":  "at seconds 0, 7, 14 … 56 of every minute",
		"5 * * * * *":    "at second 5 of every minute",
		"*/10 * 9 * * *": "every 10 seconds of hour 9",
		"5 * 9 * * *":    "at second 5 of every minute of hour 9",
		"*/10 5 * * * *": "every 10 seconds of minute 5 of every hour",
		"* 5,10 9 * * *": "every second of minutes 5 and 10 of hour 9",
		"15 */2 * * * *": "at second 15 of every 2nd minute (0, 2, 4 … 58) of every hour",
		// Days of the month.
		"0 0 1 * *":      "at 00:00 on day 1 of the month",
		"0 0 1,15 * *":   "at 00:00 on days 1 and 15 of the month",
		"0 0 2-31 * *":   "at 00:00 on days 2 to 31 of the month",
		"0 0 */2 * *":    "at 00:00 on days 1, 3, 5 … 31 of the month",
		"0 0 */1 * *":    "at 00:00",
		"0 0 30-2 * *":   "at 00:00 on days 30 to 2 of the month",
		"0 0 L * *":      "at 00:00 on the last day of the month",
		"0 0 L-1 * *":    "at 00:00 on the 1st day before the last of the month",
		"0 0 LW * *":     "at 00:00 on the last day from Monday to Friday of the month",
		"0 0 15W * *":    "at 00:00 on the day from Monday to Friday nearest to the 15th of the month",
		"0 0 1,15,L * *": "at 00:00 on days 1 and 15 of the month and the last day of the month",
		// Months.
		"@yearly":         "at 00:00 on day 1 of January",
		"0 0 29 2 *":      "at 00:00 on day 29 of February",
		"0 0 1 */3 *":     "at 00:00 on day 1 of January, April, July and October",
		"0 0 L feb,jun *": "at 00:00 on the last day of February and June",
		"0 0 * 11-2 *":    "at 00:00, in November to February",
		"0 0 * 5 mon-fri": "at 00:00, Monday to Friday, in May",
		"0 0 * 5,7 sun":   "at 00:00 on Sunday, in May and July",
		"0 0 * 1-12 *":    "at 00:00",
		// Days of the week.
		"0 0 * * 0":         "at 00:00 on Sunday",
		"0 0 * * 7":         "at 00:00 on Sunday",
		"0 0 * * 6,0":       "at 00:00 on Saturday and Sunday",
		"0 0 * * sat-sun":   "at 00:00 on Saturday and Sunday",
		"0 0 * * 1,2,3":     "at 00:00, Monday to Wednesday",
		"0 0 * * fri-mon":   "at 00:00, Friday to Monday",
		"0 0 * * 1,3,5":     "at 00:00 on Monday, Wednesday and Friday",
		"0 0 * * */2":       "at 00:00 on Tuesday, Thursday, Saturday and Sunday",
		"0 0 * * 1-5,0":     "at 00:00, Sunday to Friday",
		"0 0 * * 0-6":       "at 00:00",
		"0 0 * * friL":      "at 00:00 on the last Friday of the month",
		"0 0 * * 1#1":       "at 00:00 on the first Monday of the month",
		"0 0 * * 7#5":       "at 00:00 on the fifth Sunday of the month",
		"0 0 * * tue,fri#3": "at 00:00 on Tuesday and the third Friday of the month",
		// Both day fields: either, or both.
		"0 12 13 * 5":    "at 12:00 on day 13 of the month or on Friday",
		"0 0 1-31 * 4":   "at 00:00 on days 1 to 31 of the month or on Thursday",
		"0 0 13 * 0-6":   "at 00:00 on day 13 of the month or on Monday to Sunday",
		"0 0 L * 1-5":    "at 00:00 on the last day of the month or on Monday to Friday",
		"1 1 1 1 1":      "at 01:01 on day 1 of the month or on Monday, in January",
		"0 12 */2 * 1":   "at 12:00 on days 1, 3, 5 … 31 of the month, and only where that is Monday",
		"0 12 13 * */2":  "at 12:00 on day 13 of the month, and only where that is Tuesday or Thursday or Saturday or Sunday",
		"0 12 13 * *":    "at 12:00 on day 13 of the month",
		"0 12 * * 5":     "at 12:00 on Friday",
		"0 0 */10 5 1-3": "at 00:00 on days 1, 11, 21 and 31 of the month, and only where that is Monday to Wednesday, in May",
	} {
		for zone, end := range map[string]string{"": "UTC", "UTC": "UTC", "Europe/Berlin": "Europe/Berlin"} {
			s := Schedule{Cron: line, Timezone: zone}
			if got := s.Reads(); got != want+", "+end {
				t.Errorf("%q reads %q\nwant %q", line, got, want+", "+end)
			}
		}
	}
}

func TestAtStartReads(t *testing.T) {
	s := Schedule{Cron: "@reboot", Timezone: "Europe/Berlin"}
	if got := s.Reads(); got != "at each start of the server" {
		t.Error(got)
	}
}

func TestEveryReads(t *testing.T) {
	for every, want := range map[string]string{
		"1s": "every second", "10s": "every 10 seconds", "1m": "every minute", "15m": "every 15 minutes",
		"1h": "every hour", "90m": "every 1 hour and 30 minutes", "24h": "every 24 hours", "36h": "every 36 hours",
		"7d": "every 7 days", "3653d": "every 3653 days", "1d1s": "every 24 hours and 1 second",
		"1h1m1s": "every 1 hour, 1 minute and 1 second",
	} {
		d, err := ParseDuration(every)
		if err != nil {
			t.Fatal(err)
		}
		s := Schedule{Every: &d, Timezone: "Europe/Berlin"}
		if got := s.Reads(); got != want {
			t.Errorf("%s reads %q, want %q", every, got, want)
		}
	}
}

func TestWhatIsNoLineReadsNothing(t *testing.T) {
	for _, line := range []string{"", "x", "0 0 30 2 *", "0 0 ? * 1"} {
		if got := (&Schedule{Cron: line}).Reads(); got != "" {
			t.Errorf("%q reads %q", line, got)
		}
	}
}

// sameTicks compares two lines over a year with both changes of the clock, in a zone that has them.
func sameTicks(t testing.TB, a, b string) bool {
	t.Helper()
	one, other := timetable(t, a, "Europe/Berlin"), timetable(t, b, "Europe/Berlin")
	from, to := instantOf(t, "2028-01-01T00:00:00Z"), instantOf(t, "2029-01-01T00:00:00Z")
	day := Time(24 * time.Hour / time.Millisecond)
	for at := from; at < to; at += day {
		if one.Count(at, at+day-1) != other.Count(at, at+day-1) || one.Next(at) != other.Next(at) ||
			one.Prev(at) != other.Prev(at) {
			return false
		}
	}
	return true
}

// samePlan reports whether two lines are one but for how they are written.
func samePlan(a, b *Cron) bool {
	return a.secondSet == b.secondSet && a.minuteSet == b.minuteSet && a.hourSet == b.hourSet &&
		a.realTime == b.realTime && a.monthSet == b.monthSet && a.daySet == b.daySet &&
		a.weekdaySet == b.weekdaySet && a.eitherDay == b.eitherDay &&
		slices.Equal(special(a), special(b))
}

// special are the terms of the day fields that depend on the month.
func special(c *Cron) (terms []cronTerm) {
	for _, field := range []int{cronDay, cronWeekday} {
		for _, term := range c.fields[field].terms {
			if term.form >= cronLast {
				terms = append(terms, term)
			}
		}
	}
	return terms
}

// readers keeps the first line of each reading.
type readers map[string]*Cron

func (r readers) check(t testing.TB, line string) {
	t.Helper()
	c, err := ParseCron(line)
	if err != nil {
		return // such as 31 February
	}
	reads := (&Schedule{Cron: line}).Reads()
	if reads == "" || strings.Contains(reads, "  ") || strings.Contains(reads, "%!") {
		t.Fatalf("%q reads %q", line, reads)
	}
	if first := r[reads]; first == nil {
		r[reads] = c
	} else if !samePlan(first, c) && !sameTicks(t, first.text, c.text) {
		t.Fatalf("%q and %q both read %q", first.text, c.text, reads)
	}
}

func TestLinesWithOtherTicksReadOtherwise(t *testing.T) {
	times := []string{
		"*", "*/1", "*/2", "0-58/2", "*/7", "0-59/7", "*/20", "0,20,40", "0-59/20", "*/60", "0", "5", "0-59", "50-10", "*,5",
		"5,6,7,9",
	}
	hours := []string{"*", "*/2", "0-22/2", "*/5", "0-23/5", "2", "*/24", "0", "0-23", "9-17", "22-2", "*,3"}
	all := readers{}
	for _, minute := range times {
		for _, hour := range hours {
			all.check(t, minute+" "+hour+" * * *")
			for _, second := range times {
				all.check(t, second+" "+minute+" "+hour+" 1 * *")
			}
		}
	}
	for _, dom := range []string{
		"*", "*/1", "*/2", "1-31/2", "1-31", "13", "*/31", "1", "1,2,3", "30-1", "L", "L-1", "LW", "1W", "13,L", "*,L",
		"13W", "31W", "31", "1-7",
	} {
		for _, month := range []string{"*", "1-12", "*/3", "1,4,7,10", "2", "*/12", "1", "11-2"} {
			for _, dow := range []string{
				"*", "*/1", "*/2", "0,2,4,6", "0-6", "5", "1-5", "1,2,3,4,5", "7", "0", "*/7", "5L", "5#1", "5,5L", "5#4",
				"*,5", "6-1", "1#1,5#1",
			} {
				all.check(t, "0 0 "+dom+" "+month+" "+dow)
			}
		}
	}
	if len(all) < 2000 {
		t.Errorf("but %d readings", len(all))
	}
}

// Few numbers in many forms give many lines that tick alike, or nearly so.
func TestRandomLinesReadByTheirTicks(t *testing.T) {
	term := rapid.Custom(func(r *rapid.T) string {
		n := func(last int) string { return strconv.Itoa(rapid.IntRange(1, last).Draw(r, "n")) }
		switch rapid.IntRange(0, 4).Draw(r, "form") {
		case 0:
			return "*"
		case 1:
			return "*/" + n(7)
		case 2:
			return n(5) + "-" + n(5)
		case 3:
			return n(2) + "/" + n(7)
		}
		return n(5)
	})
	field := rapid.Custom(func(r *rapid.T) string {
		return strings.Join(rapid.SliceOfN(term, 1, 3).Draw(r, "terms"), ",")
	})
	all := readers{}
	rapid.Check(t, func(r *rapid.T) {
		for range 20 {
			n := rapid.SampledFrom([]int{5, 5, 6}).Draw(r, "fields")
			all.check(t, strings.Join(rapid.SliceOfN(field, n, n).Draw(r, "line"), " "))
		}
	})
}
