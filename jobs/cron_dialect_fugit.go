package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	numberField = regexp.MustCompile(`^[\d*][\d*,/-]*$`)
	monthDay    = regexp.MustCompile(`^[\d*LW][\d*,/LW-]*$`)
	fromEnd     = regexp.MustCompile(`^-(\d{1,2})$`)
	commandWord = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	lastDay     = regexp.MustCompile(`^(\w+)#(?:-1|L|last)$`)
)

// fugitLine knows what Fugit (Ruby: Sidekiq, GoodJob, Solid Queue) has beyond crontab: a zone at the
// end, days from the end of the month by minus, mon#-1, and % and & in day fields.
func fugitLine(text string) *foreignLine {
	fields := strings.Fields(text)
	n := len(fields)
	if n < 5 || n > 7 || !numberField.MatchString(fields[0]) || !numberField.MatchString(fields[1]) {
		return nil
	}
	if n > 5 && isZone(fields[n-1]) {
		return inZone("a zone at the end of a line is Fugit's: here it is in timezone", fields[n-1],
			strings.Join(fields[:n-1], " "))
	}
	if n > 6 {
		return nil
	}
	dom, dow := n-3, n-1
	if strings.ContainsAny(fields[dow], "%&") || strings.Contains(fields[dom], "&") {
		return foreign("% and & in a day field are Fugit's: crontab has neither")
	}
	const what = "days that count from the end with a minus are Fugit's: crontab's letter for the last is L"
	days := strings.Split(fields[dow], ",")
	found := false
	for i, day := range days {
		if m := lastDay.FindStringSubmatch(day); m != nil {
			days[i], found = m[1]+"L", true
		}
	}
	fields[dow] = strings.Join(days, ",")
	if m := fromEnd.FindStringSubmatch(fields[dom]); m != nil {
		back, _ := strconv.Atoi(m[1])
		if back < 1 || back > 31 {
			return nil
		}
		fields[dom], found = lastOfMonth(back), true
	}
	if !found {
		return nil
	}
	return foreign(what, plainLine{cron: plainCron(strings.Join(fields, " "))})
}

// isZone reports whether a field is the name of a zone.
func isZone(field string) bool {
	if field != "UTC" && !strings.Contains(field, "/") {
		return false
	}
	_, err := LoadZone(field)
	return err == nil
}

// lastOfMonth is the n-th day from the end of a month, the last one being the first.
func lastOfMonth(n int) string {
	if n == 1 {
		return "L"
	}
	return "L-" + strconv.Itoa(n-1)
}

// wholeCrontabLine knows a line with its command, or with a user and a command, as a crontab has it.
func wholeCrontabLine(text string) *foreignLine {
	fields := strings.Fields(text)
	if len(fields) < 6 || !numberField.MatchString(fields[0]) || !numberField.MatchString(fields[1]) ||
		!monthDay.MatchString(fields[2]) || !isCommand(fields[5:]) {
		return nil
	}
	return foreign("this is a whole line of a crontab, with its command: that stands in the job "+
		"(nightshift import crontab writes both)", plainLine{cron: join(fields[:4], fields[4])})
}

// isCommand tells a command from a field of a line with seconds: it has a path's or a shell's
// letters, or a word that is followed by others.
func isCommand(rest []string) bool {
	first := rest[0]
	if strings.HasPrefix(first, "/") || strings.ContainsAny(first, `.~$"'<>|;=_:@`) {
		return true
	}
	_, day := spokenDays[first]
	return len(rest) > 1 && !day && commandWord.MatchString(first)
}
