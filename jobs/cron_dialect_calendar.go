package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// calendarWords are words that stand alone in other systems, and the line of each.
var calendarWords = map[string]string{
	"secondly": "* * * * * *", "minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *",
	"nightly": "0 0 * * *", "midnight": "0 0 * * *", "monthly": "0 0 1 * *", "yearly": "0 0 1 1 *",
	"annually": "0 0 1 1 *", "quarterly": "0 0 1 1,4,7,10 *", "semiannually": "0 0 1 1,7 *",
	"weekdays": "0 0 * * 1-5", "weekends": "0 0 * * 0,6", "reboot": "@reboot", "weekly": "0 0 * * 1",
}

// calendarWord knows systemd's words and the like. systemd's week begins on Monday, crontab's on
// Sunday.
func calendarWord(text string) *foreignLine {
	word := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(text, "OnCalendar=")))
	line := calendarWords[word]
	switch {
	case line == "":
		return nil
	case word == "weekly":
		return foreign("a word without @ is systemd's OnCalendar",
			plainLine{cron: line, when: "on Monday, as systemd has it"},
			plainLine{cron: "0 0 * * 0", when: "on Sunday, crontab's @weekly"})
	}
	return foreign("a word without @ is systemd's OnCalendar or another's", plainLine{cron: line})
}

// Parts of systemd's OnCalendar: days of the week, a date, a time, a zone; each may be left out.
// https://www.freedesktop.org/software/systemd/man/latest/systemd.time.html
var (
	calendarDays = regexp.MustCompile(`^(?i)[a-z]{3,9}((\.\.|,|-)[a-z]{3,9})*$`)
	calendarDate = regexp.MustCompile(`^(?:([\d*,./]+)-)?([\d*,./]+)([-~])([\d*,./]+)$`)
	calendarTime = regexp.MustCompile(`^([\d*,./]+):([\d*,./]+)(?::([\d*,./]+))?$`)
)

const calendarForm = "this is systemd's OnCalendar"

// onCalendar knows lines of that form.
func onCalendar(text string) *foreignLine {
	text, named := strings.CutPrefix(text, "OnCalendar=")
	fields := strings.Fields(text)
	var days, zone string
	var date, at []string
	if len(fields) > 0 && calendarDays.MatchString(fields[0]) {
		if days = calendarWeek(fields[0]); days == "" {
			return nil
		}
		named = named || strings.Contains(fields[0], "..")
		fields = fields[1:]
	}
	if len(fields) > 0 {
		if date = calendarDate.FindStringSubmatch(fields[0]); date != nil {
			fields = fields[1:]
		}
	}
	if len(fields) > 0 {
		if at = calendarTime.FindStringSubmatch(fields[0]); at != nil {
			fields = fields[1:]
		}
	}
	if len(fields) == 1 && isZone(fields[0]) {
		zone, fields = fields[0], nil
	}
	if len(fields) > 0 || !named && date == nil && at == nil {
		return nil
	}
	return calendarLine(days, date, at, zone)
}

// calendarLine writes it in crontab's way. Where a day of the week and one of the month both count,
// systemd wants both and crontab takes either, so there is a line for the n-th such day alone.
func calendarLine(days string, date, at []string, zone string) *foreignLine {
	if date == nil {
		date = []string{"", "", "*", "-", "*"}
	}
	if at == nil {
		at = []string{"", "0", "0", ""}
	}
	if at[3] == "" {
		at[3] = "0"
	}
	hour, minute, second := calendarPart(at[1]), calendarPart(at[2]), calendarPart(at[3])
	month, day := calendarPart(date[2]), calendarPart(date[4])
	if date[3] == "~" {
		back, err := strconv.Atoi(day)
		if err != nil || back < 1 || back > 28 {
			return foreign(calendarForm)
		}
		day = lastOfMonth(back)
	}
	if days == "" {
		days = "*"
	}
	if nth, ok := weekOfMonth[day]; ok && len(days) == 1 && days != "*" {
		day, days = "*", days+nth
	}
	if day != "*" && days != "*" {
		return foreign(calendarForm + ", where both the day of the week and the date must match; " +
			"crontab takes either")
	}
	line := join([]string{minute, hour, day, month}, days)
	if second != "0" {
		line = plainCron(second + " " + line)
	}
	write := plainLine{cron: line, timezone: zone}
	if year := strings.Replace(date[1], "..", "-", 1); year != "" && line != "" {
		if _, err := strconv.Atoi(year + month + day); err == nil {
			return oneTime(date[1] + "-01-01") // one day of one year
		}
		return withYear(calendarForm, year, write)
	}
	return foreign(calendarForm, write)
}

// weekOfMonth is which of its days of the week falls into these days of a month.
var weekOfMonth = map[string]string{"1-7": "#1", "8-14": "#2", "15-21": "#3", "22-28": "#4"}

// calendarPart writes ranges with a dash and numbers without leading zeros.
func calendarPart(part string) string {
	parts := strings.Split(strings.ReplaceAll(part, "..", "-"), ",")
	for i, p := range parts {
		parts[i] = fromZero(leadingZeros.ReplaceAllString(p, "$1"))
	}
	return strings.Join(parts, ",")
}

var leadingZeros = regexp.MustCompile(`\b0+(\d)`)

// calendarWeek writes days of the week by number; "" where one is no day.
func calendarWeek(text string) string {
	parts := strings.Split(strings.ToLower(text), ",")
	for i, part := range parts {
		first, last, ranged := strings.Cut(strings.Replace(part, "..", "-", 1), "-")
		from, ok := spokenDays[first]
		if !ok {
			return ""
		}
		parts[i] = from
		if ranged {
			to, ok := spokenDays[last]
			if !ok {
				return ""
			}
			parts[i] += "-" + to
		}
	}
	return strings.Join(parts, ",")
}
