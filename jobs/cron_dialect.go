package jobs

import (
	"strings"
	"time"
)

// maxForeign is how long a line may be that is looked at for its dialect, in bytes.
const maxForeign = 300

// foreignLine is a line in another dialect than crontab's.
type foreignLine struct {
	what  string      // names the dialect and says what differs
	write []plainLine // what to write instead: one for each meaning it may have; none: there is nothing
}

// plainLine is what a schedule's fields say in place of a foreign line. Empty ones are left out.
type plainLine struct {
	cron, every, timezone, spread string
	first, last                   int    // the years that it is for; 0: all
	when                          string // which reading this is, where there are several
}

// ForeignCron is the refusal of a line that is recognisably another dialect's than crontab's: it
// names the dialect, says what is different, and where there is one gives the line to write
// instead. It is empty for all else: crontab's own lines, and what is just wrong.
func ForeignCron(text string) string {
	if f := foreignForm(text); f != nil {
		return f.String()
	}
	return ""
}

// foreignForm asks those who know each a dialect, or some that are alike: the first that knows a
// line names it. None goes by the number of fields alone.
func foreignForm(text string) *foreignLine {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxForeign || new(Cron).parse(text) == nil {
		return nil
	}
	for _, form := range []func(text string) *foreignLine{
		zonedLine, eventBridgeCall, celeryCall, atWords, isoDuration, questionMarks, yearLast,
		jenkinsLine, randomRanges, fugitLine, wholeCrontabLine, calendarWord, onCalendar, bareDuration,
		oneTime, spokenLine,
	} {
		if f := form(text); f != nil {
			return f
		}
	}
	return nil
}

func (f *foreignLine) String() string {
	if len(f.write) == 0 {
		return f.what
	}
	lines := make([]string, len(f.write))
	for i, line := range f.write {
		lines[i] = line.String()
	}
	return f.what + ": write " + strings.Join(lines, ", or ")
}

func (l plainLine) String() string {
	var b strings.Builder
	start, end := l.years()
	for _, part := range [][2]string{
		{"cron", l.cron},
		{"every", l.every},
		{"timezone", l.timezone},
		{"spread", l.spread},
		{"start", start},
		{"end", end},
	} {
		if part[1] == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if part[0] == "cron" {
			part[1] = `"` + part[1] + `"`
		}
		b.WriteString(part[0] + ": " + part[1])
	}
	if l.when != "" {
		b.WriteString(" (" + l.when + ")")
	}
	return b.String()
}

// years are the first and the last second of the years that it is for, in its zone.
func (l plainLine) years() (start, end string) {
	if l.first == 0 {
		return "", ""
	}
	zone, err := LoadZone(l.timezone)
	if err != nil {
		zone = time.UTC
	}
	return time.Date(l.first, 1, 1, 0, 0, 0, 0, zone).Format(time.RFC3339),
		time.Date(l.last, 12, 31, 23, 59, 59, 0, zone).Format(time.RFC3339)
}

// foreign makes one with the lines that are not empty.
func foreign(what string, lines ...plainLine) *foreignLine {
	f := &foreignLine{what: what}
	for _, line := range lines {
		if line.cron != "" || line.every != "" {
			f.write = append(f.write, line)
		}
	}
	return f
}

// plainCron gives a line with its blanks made single where it is one of crontab's, else "".
func plainCron(line string) string {
	line = strings.Join(strings.Fields(line), " ")
	if new(Cron).parse(line) != nil {
		return ""
	}
	return line
}
