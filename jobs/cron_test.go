package jobs

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// valuesOf writes the bits of a set.
func valuesOf(set uint64) string {
	var values []string
	for v := range 64 {
		if set&(1<<v) != 0 {
			values = append(values, fmt.Sprint(v))
		}
	}
	return strings.Join(values, " ")
}

func TestValuesOfFields(t *testing.T) {
	for _, c := range []struct {
		place int
		text  string
		want  string
	}{
		{cronSecond, "0", "0"},
		{cronSecond, "*/20", "0 20 40"},
		{cronMinute, "00", "0"},
		{cronMinute, "59", "59"},
		{cronMinute, "05,010,5", "5 10"},
		{cronMinute, "3-6", "3 4 5 6"},
		{cronMinute, "7-7", "7"},
		{cronMinute, "10-20/5", "10 15 20"},
		{cronMinute, "10-19/5", "10 15"},
		{cronMinute, "50/4", "50 54 58"},
		{cronMinute, "*/30", "0 30"},
		{cronMinute, "*/60", "0"},
		{cronMinute, "58-1", "0 1 58 59"},
		{cronMinute, "55-5/5", "0 5 55"},
		{cronMinute, "1,10-12,*/25", "0 1 10 11 12 25 50"},
		{cronHour, "04", "4"},
		{cronHour, "22-2", "0 1 2 22 23"},
		{cronHour, "22-2/2", "0 2 22"},
		{cronHour, "23-3/3", "2 23"},
		{cronHour, "*/7", "0 7 14 21"},
		{cronDay, "1,15,31", "1 15 31"},
		{cronDay, "30-2", "1 2 30 31"},
		{cronDay, "*/10", "1 11 21 31"},
		{cronDay, "5/10", "5 15 25"},
		{cronMonth, "jan", "1"},
		{cronMonth, "NOV-Feb", "1 2 11 12"},
		{cronMonth, "nov-feb/2", "1 11"},
		{cronMonth, "dec,6", "6 12"},
		{cronMonth, "*/3", "1 4 7 10"},
		{cronMonth, "mar/3", "3 6 9 12"},
		{cronWeekday, "0", "0"},
		{cronWeekday, "7", "0"},
		{cronWeekday, "007", "0"},
		{cronWeekday, "Sun", "0"},
		{cronWeekday, "mon-FRI", "1 2 3 4 5"},
		{cronWeekday, "fri-mon", "0 1 5 6"},
		{cronWeekday, "5-7", "0 5 6"},
		{cronWeekday, "7-2", "0 1 2"},
		{cronWeekday, "7-7", "0"},
		{cronWeekday, "0-7", "0 1 2 3 4 5 6"},
		{cronWeekday, "1-7/2", "0 1 3 5"},
		{cronWeekday, "sat-7", "0 6"},
		{cronWeekday, "fri-mon/2", "0 5"},
		{cronWeekday, "mon-sun", "0 1 2 3 4 5 6"},
		{cronWeekday, "1/2", "1 3 5"},
		{cronWeekday, "7/3", "0 3 6"},
		{cronWeekday, "*/2", "0 2 4 6"},
		{cronWeekday, "2,sun,4", "0 2 4"},
	} {
		f, err := parseCronField(c.place, c.text)
		if got := valuesOf(f.set(c.place)); err != nil || got != c.want {
			t.Errorf("%s %s: %s, %v, want %s", cronUnits[c.place].name, c.text, got, err, c.want)
		}
	}
}

func TestDaysOfMonths(t *testing.T) {
	for _, c := range []struct {
		day, month, weekday string
		year                int
		want                string // days of that month
	}{
		{"L", "2", "*", 2027, "28"},
		{"l", "2", "*", 2028, "29"},
		{"L", "2", "*", 2100, "28"},
		{"L", "2", "*", 2000, "29"},
		{"L-3", "4", "*", 2027, "27"},
		{"L-30", "12", "*", 2027, "1"},
		{"L-30", "4,12", "*", 2027, "1"}, // none in April
		{"31", "4,5", "*", 2027, "31"},
		{"1,L", "6", "*", 2027, "1 30"},
		{"LW", "1", "*", 2027, "29"}, // the 31st is a Sunday
		{"lw", "7", "*", 2027, "30"}, // a Saturday
		{"LW", "3", "*", 2027, "31"},
		{"1W", "5", "*", 2027, "3"},   // a Saturday: not 30 April
		{"1W", "8", "*", 2027, "2"},   // a Sunday
		{"31W", "1", "*", 2027, "29"}, // a Sunday: not 1 February
		{"15w", "5", "*", 2027, "14"}, // a Saturday
		{"15W", "8", "*", 2027, "16"}, // a Sunday
		{"15W", "6", "*", 2027, "15"},
		{"31W", "4,3", "*", 2027, "31"}, // none in April
		{"1W,15W,LW", "5", "*", 2027, "3 14 31"},
		{"*", "5", "fri", 2027, "7 14 21 28"},
		{"*", "5", "friL", 2027, "28"},
		{"*", "5", "5L", 2027, "28"},
		{"*", "5", "sunl", 2027, "30"},
		{"*", "5", "7L", 2027, "30"},
		{"*", "5", "monL", 2027, "31"},
		{"*", "5", "tueL", 2027, "25"},
		{"*", "5", "fri#3", 2027, "21"},
		{"*", "5", "5#1", 2027, "7"},
		{"*", "5", "7#5", 2027, "30"},
		{"*", "6,5", "sun#5", 2027, "30"}, // June has four
		{"*", "5", "sat#1,mon#2,friL", 2027, "1 10 28"},
		{"13", "8", "fri", 2027, "6 13 20 27"},
		{"13", "8", "mon#1", 2027, "2 13"},
		{"L", "8", "mon#1", 2027, "2 31"},
		{"1-7", "8", "*/7", 2027, "1"},     // both, as one begins with a star
		{"*/2", "8", "fri", 2027, "13 27"}, // likewise
		{"*,13", "8", "fri", 2027, "6 13 20 27"},
		{"1-31", "2", "fri", 2027, valuesOf(1<<29 - 2)},
		{"*", "2", "*", 2027, valuesOf(1<<29 - 2)},
	} {
		line := fmt.Sprintf("0 0 %s %s %s", c.day, c.month, c.weekday)
		table := timetable(t, line, "")
		var got []string
		first := Time(time.Date(c.year, monthOfText(t, c.month), 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		for at := table.Next(first - 1); at.Std().Month() == first.Std().Month() && at.Std().Year() == c.year; {
			got = append(got, fmt.Sprint(at.Std().Day()))
			at = table.Next(at)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%q in %d: %s, want %s", line, c.year, got, c.want)
		}
	}
}

// monthOfText is the last month of a list.
func monthOfText(t *testing.T, list string) time.Month {
	t.Helper()
	last := list[strings.LastIndex(list, ",")+1:]
	n, ok := smallNumber(last, 1, 12)
	if !ok {
		t.Fatalf("%q is no month", last)
	}
	return time.Month(n)
}

func TestLinesThatMeanTheSame(t *testing.T) {
	for _, same := range [][]string{
		{"0 2 * * *", "00 02 * * *", " \t0\t2  *\t * *\n", "0 0 2 * * *", "0 2 */1 * *"},
		{"0 0 1 1 *", "@yearly", "@annually", "@Yearly", "0 0 1 JAN *"},
		{"0 0 1 * *", "@monthly", " @monthly "},
		{"0 0 * * 0", "@weekly", "0 0 * * 7", "0 0 * * sun", "0 0 * * */7"},
		{"0 0 * * *", "@daily", "@midnight", "@MIDNIGHT"},
		{"0 * * * *", "@hourly", "0 */1 * * *", "0 0 * * * *"},
		{"0 0 * * fri-mon", "0 0 * * 5-7,1", "0 0 * * 0,1,5,6"},
	} {
		first := timetable(t, same[0], "America/New_York")
		for _, line := range same[1:] {
			other := timetable(t, line, "America/New_York")
			at := instantOf(t, "2027-03-01T00:00:00Z")
			for range 300 {
				want := first.Next(at)
				if got := other.Next(at); got != want {
					t.Fatalf("%q ticks at %s, %q at %s", line, got, same[0], want)
				}
				at = want
			}
		}
	}
}

func TestRefusedLines(t *testing.T) { // case 19
	for line, want := range map[string]string{
		"":                             `want 5 fields, or 6 with seconds first, such as "0 2 * * *", got nothing`,
		" \t ":                         `want 5 fields, or 6 with seconds first, such as "0 2 * * *", got nothing`,
		"* * * *":                      `want 5 fields, or 6 with seconds first, got 4: "* * * *"`,
		"1 2 3 4 5 6 7 8":              `want 5 fields, or 6 with seconds first, got 8: "1 2 3 4 5 6 7 8"`,
		strings.Repeat(" ", 513):       `want at most 512 bytes, got 513`,
		"@dayly":                       `there is no "@dayly": want @hourly, @daily, @midnight, @weekly`,
		"75 * * * *":                   `minute: 75 is out of range: want 0 to 59`,
		"60 0 0 * * *":                 `second: 60 is out of range: want 0 to 59`,
		"0 24 * * *":                   `hour: 24 is out of range: want 0 to 23`,
		"0 0 0 * *":                    `day of month: 0 is out of range: want 1 to 31`,
		"0 0 1 13 *":                   `month: 13 is out of range: want 1 to 12 or jan to dec`,
		"0 0 * * 8":                    `day of week: 8 is out of range: want 0 to 7 (0 and 7 are Sunday) or sun to sat`,
		"99999999999999999999 * * * *": `minute: 99999999999999999999 is out of range: want 0 to 59`,
		"1,2,99 * * * *":               `minute, item 3 of its list: 99 is out of range: want 0 to 59`,
		"10-75 * * * *":                `minute: 75 is out of range: want 0 to 59`,
		"1,,2 * * * *":                 `minute, item 2 of its list: nothing stands beside a comma: want 0 to 59`,
		"1, * * * *":                   `minute, item 2 of its list: nothing stands beside a comma: want 0 to 59`,
		"5- * * * *":                   `minute: "5-" lacks an end: want a range such as 0-59`,
		"-5 * * * *":                   `minute: "-5" lacks an end: want a range such as 0-59`,
		"1-2-3 * * * *":                `minute: "2-3" is not understood: want 0 to 59`,
		"*-5 * * * *":                  `minute: "*" is not understood: want 0 to 59`,
		"*5 * * * *":                   `minute: "*5" is not understood: want 0 to 59`,
		"+5 * * * *":                   `minute: "+5" is not understood: want 0 to 59`,
		"5.0 * * * *":                  `minute: "5.0" is not understood: want 0 to 59`,
		"\u0663 * * * *":               `minute: "٣" is not understood: want 0 to 59`,
		"5\n * * * *":                  `minute: "5\n" is not understood: want 0 to 59`,
		"0 mon * * *":                  `hour: "mon" is not understood: want 0 to 23`,
		"*/ * * * *":                   `minute: "*/" has no number after the slash: want a step, such as */2`,
		"*/-2 * * * *":                 `minute: "*/-2" has no number after the slash: want a step, such as */2`,
		"*/2/3 * * * *":                `minute: "*/2/3" has no number after the slash: want a step, such as */2`,
		"*/0 * * * *":                  `minute: "*/0" steps by 0: want a step from 1 to 60`,
		"5/99 * * * *":                 `minute: "5/99" steps past the end of the field: want a step from 1 to 60`,
		"*/90 * * * *": `minute: "*/90" steps past the end of the field: want a step from 1 to 60; ` +
			`to run at intervals of 90m write every: 90m instead of cron`,
		"0 */36 * * *": `hour: "*/36" steps past the end of the field: want a step from 1 to 24; ` +
			`to run at intervals of 36h write every: 36h instead of cron`,
		"0 0 */45 * *":          `write every: 45d instead of cron`,
		"*/90 * * * * *":        `write every: 90s instead of cron`,
		"0 0 1 */18 *":          `month: "*/18" steps past the end of the field: want a step from 1 to 12`,
		"0 0 * january *":       `month: "january" is not understood: want 1 to 12 or jan to dec, so write jan`,
		"0 0 * * Monday":        `day of week: "Monday" is not understood: want 0 to 7 (0 and 7 are Sunday) or sun to sat, so write mon`,
		"0 0 32W * *":           `day of month: "32W" is not understood: want 1W to 31W`,
		"0 0 W * *":             `day of month: "W" is not understood: want 1W to 31W`,
		"0 0 +1W * *":           `day of month: "+1W" is not understood: want 1W to 31W`,
		"0 0 WL * *":            `day of month: "WL" is not understood: want LW`,
		"0 0 L-31 * *":          `day of month: "L-31" is not understood: want L for the last day, L-1 to L-30`,
		"0 0 L-0 * *":           `day of month: "L-0" is not understood: want L for the last day, L-1 to L-30`,
		"0 0 L/2 * *":           `day of month: "L/2" is not understood: want L for the last day, L-1 to L-30`,
		"0 0 1,LAST * *":        `day of month, item 2 of its list: "LAST" is not understood: want L for the last day`,
		"0 L * * *":             `hour: "L" is not understood: want 0 to 23`,
		"0 0 * * L":             `day of week: "L" alone is ambiguous: write sat for Saturday, or friL`,
		"0 0 * * 9L":            `day of week: "9L" is not understood: want 0 to 7`,
		"0 0 * * fri#6":         `day of week: "fri#6" is not understood: want 1 to 5 after the #`,
		"0 0 * * fri#":          `day of week: "fri#" is not understood: want 1 to 5 after the #`,
		"0 0 * * 8#1":           `day of week: 8 is out of range: want 0 to 7`,
		"0 0 30 2 *":            `day of month: never fires: no year has a day "30" in month "2"; leave the schedule out, and run the job by hand`,
		"0 0 31 2,4,6,9,11 *":   `never fires`,
		"0 0 30W feb *":         `never fires`,
		"0 0 L-30 sep *":        `never fires`,
		"0 0 30-31 feb */2":     `no year has a day "30-31" in month "feb" on day of week "*/2"; leave the schedule out`,
		"* * * * ?":             ForeignCron("* * * * ?"),
		"CRON_TZ=UTC 0 0 * * *": ForeignCron("CRON_TZ=UTC 0 0 * * *"),
		"@every 10s":            ForeignCron("@every 10s"),
	} {
		c, err := ParseCron(line)
		if err == nil || c != nil {
			t.Errorf("%q is taken", line)
		} else if want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %s\nwant %s", line, err, want)
		}
	}
}

// A line in which either day counts fires even where one of the two never comes.
func TestADayThatNeverComesBesidesOneThatDoes(t *testing.T) {
	table := timetable(t, "0 0 31 2 mon", "")
	got := ticksAfter(table, instantOf(t, "2027-02-01T12:00:00Z"), 2)
	if want := "[2027-02-08T00:00 2027-02-15T00:00]"; fmt.Sprint(got) != want {
		t.Errorf("ticks at %s, want %s", got, want)
	}
}

func TestAtStartHasNoInstants(t *testing.T) {
	for _, line := range []string{"@reboot", " @Reboot "} {
		table := timetable(t, line, "Europe/Berlin")
		if !table.AtStart() || table.Next(1) != 0 || table.Prev(lastSecond*1000) != 0 ||
			table.Count(1, lastSecond*1000) != 0 {
			t.Errorf("%q gives instants", line)
		}
	}
	if timetable(t, "@daily", "").AtStart() {
		t.Error("@daily is at start")
	}
}

func FuzzParseCron(f *testing.F) {
	for _, line := range scannedLines {
		f.Add(line.cron)
	}
	for _, line := range []string{
		"", "* * * *", "0 0 29 2 */7", "0 0 30 2 *", "*/90 * * * *", "59 59 23 31 12 7", "0 0 L-30,LW,1W * 7L,sun#5",
		"@reboot", "TZ=", "TZ=UTC", "CRON_TZ= * * * * *", "H H * * *", "0-0-0 * * * *", "0 0 , , ,",
	} {
		f.Add(line)
	}
	zone, err := LoadZone("Australia/Lord_Howe")
	if err != nil {
		f.Fatal(err)
	}
	from := Time(1_796_000_000_000)
	f.Fuzz(func(t *testing.T, line string) {
		c, err := ParseCron(line)
		if err != nil {
			if c != nil || len(err.Error()) > 2000 {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		table := &Timetable{cron: c, zone: zone, first: 1, last: from.Std().Unix() + 41*366*daySeconds}
		next := table.Next(from)
		if c.atStart {
			return
		}
		if next == 0 {
			if !c.realTime {
				t.Fatalf("%q does not tick in 41 years", line)
			}
			return
		}
		if prev := table.Prev(next); prev > from || table.Next(prev) != next && prev != 0 || table.Count(from+1, next) != 1 {
			t.Fatalf("%q: after %s comes %s, before that %s", line, from, next, prev)
		}
	})
}
