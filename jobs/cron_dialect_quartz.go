package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// Quartz's form: seconds first, a year last that may be left out, ? in one day field for any day,
// days of the week from 1 for Sunday. Spring's is like it, but for days of the week, where Sunday
// is 0 or 7, and it has no year. EventBridge's has minutes first, a year last always, and the days
// of the week of Quartz.
//
// https://www.quartz-scheduler.org/documentation/quartz-2.3.0/tutorials/crontrigger.html
// https://docs.spring.io/spring-framework/reference/integration/scheduling.html
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html

const (
	quartzForm      = "this is Quartz's form: seconds first, ? for any day, days of the week from 1 for Sunday"
	springForm      = "this is Spring's form: seconds first, ? for any day"
	eventBridgeForm = "this is EventBridge's form: minutes first, a year last, ? for any day, " +
		"days of the week from 1 for Sunday"
	sundayOne  = "where Sunday is 1"
	sundayZero = "where Sunday is 0 or 7"
)

// questionMarks knows lines with a ? for a field. Where it stands tells whose they are: Quartz has
// the day of the month fourth and the day of the week sixth, EventBridge third and fifth.
func questionMarks(text string) *foreignLine {
	fields := strings.Fields(text)
	var quartz, bridge, other bool
	for i, field := range fields {
		switch {
		case !strings.Contains(field, "?"):
		case field == "?" && (i == 3 || i == 5):
			quartz = true
		case field == "?" && (i == 2 || i == 4):
			bridge = true
		default:
			other = true
		}
	}
	const rule = "a ? is not crontab's: Quartz, Spring and EventBridge write it for any day"
	switch n := len(fields); {
	case !quartz && !bridge && !other:
		return nil
	case other, quartz && bridge, n < 5, n > 7:
		return foreign(rule + ", in the field for the day of the month or of the week alone; crontab has * there")
	case n == 5 && bridge:
		return fiveFields(fields, rule)
	case quartz && n >= 6:
		return quartzLine(fields)
	case bridge && n == 6:
		return eventBridgeLine(eventBridgeForm, fields)
	}
	return foreign(rule + "; crontab has * there")
}

// fiveFields are crontab's but for the ?: robfig's and others', whose Sunday is 0, or EventBridge's
// without the year.
func fiveFields(fields []string, what string) *foreignLine {
	for i := range fields {
		if fields[i] == "?" {
			fields[i] = "*"
		}
	}
	plain := join(fields[:4], fields[4])
	shifted, numbers, ok := shiftDays(fields[4])
	switch {
	case !numbers:
		return foreign(what, plainLine{cron: plain})
	case !ok:
		return foreign(what, plainLine{cron: plain, when: sundayZero})
	}
	return foreign(what, plainLine{cron: plain, when: sundayZero},
		plainLine{cron: join(fields[:4], shifted), when: sundayOne})
}

// quartzLine has six or seven fields, seconds first. Days of the week by number mean one thing to
// Quartz and another to Spring, which has no year.
func quartzLine(fields []string) *foreignLine {
	if bothDays(fields[3], fields[5]) {
		return foreign(quartzForm + "; crontab takes either of the two days")
	}
	rest := []string{anyDay(fields[3]), fields[4]}
	head := []string{fields[1], fields[2]}
	if strings.Trim(fields[0], "0") != "" {
		head = append([]string{fields[0]}, head...)
	}
	fixed := append(head, rest...)
	for i := range fixed[:len(head)] {
		fixed[i] = fromZero(fixed[i])
	}
	shifted, numbers, ok := shiftDays(fields[5])
	one := plainLine{cron: join(fixed, shifted)}
	zero := plainLine{cron: join(fixed, anyDay(fields[5])), when: sundayZero}
	switch {
	case len(fields) == 7:
		if !ok {
			return foreign(quartzForm)
		}
		return withYear(quartzForm+", a year last", fields[6], one)
	case !ok:
		zero.when = ""
		return foreign(springForm, zero)
	case !numbers:
		return foreign(quartzForm, one)
	}
	one.when = "as Quartz has it, " + sundayOne
	zero.when = "as Spring has it, " + sundayZero
	return foreign(quartzForm, one, zero)
}

// eventBridgeLine has six fields, the year last.
func eventBridgeLine(what string, fields []string) *foreignLine {
	days, _, ok := shiftDays(fields[4])
	if !ok || bothDays(fields[2], fields[4]) {
		return foreign(what)
	}
	fixed := []string{fromZero(fields[0]), fromZero(fields[1]), anyDay(fields[2]), fields[3]}
	return withYear(what, fields[5], plainLine{cron: join(fixed, days)})
}

// eventBridgeCall knows cron(...), rate(...) and at(...).
func eventBridgeCall(text string) *foreignLine {
	word, rest, _ := strings.Cut(text, "(")
	word = strings.ToLower(strings.TrimSpace(word))
	inner, closed := strings.CutSuffix(rest, ")")
	if !closed || word != "cron" && word != "rate" && word != "at" {
		return nil
	}
	fields := strings.Fields(inner)
	switch {
	case word == "at":
		return foreign("at(...) is EventBridge's for one instant, which is no schedule: " +
			"enqueue a run with run_at")
	case word == "rate":
		const what = "rate(...) is EventBridge's"
		if len(fields) == 2 {
			return foreign(what, plainLine{every: intervalOf(fields[0], fields[1])})
		}
		return foreign(what + ": want every with a duration, such as 15m")
	case len(fields) == 6:
		return eventBridgeLine("cron(...) is EventBridge's: minutes first, a year last, ? for any day, "+
			"days of the week from 1 for Sunday", fields)
	}
	const what = "cron(...) is EventBridge's, where it has six fields with a year last"
	if f := foreignForm(inner); f != nil {
		return foreign(what, f.write...)
	}
	return foreign(what, plainLine{cron: plainCron(inner)})
}

// yearField is a field that can be but a year.
var yearField = regexp.MustCompile(`^(19[7-9]\d|20\d\d)([-,/](\d+))*$`)

// yearLast knows lines that end in a year, without a ?.
func yearLast(text string) *foreignLine {
	fields := strings.Fields(text)
	n := len(fields)
	switch {
	case n == 7 && (fields[6] == "*" || yearField.MatchString(fields[6])):
		f := quartzLine(append([]string{}, fields...))
		f.what = "a seventh field is Quartz's year: crontab has none, and its Sunday is 0, Quartz's 1"
		return f
	case n == 6 && yearField.MatchString(fields[5]):
		return withYear("a year last is not crontab's, where a sixth field is seconds, first",
			fields[5], plainLine{cron: join(fields[:4], fields[4])})
	}
	return nil
}

// withYear gives the line for the years of a field: between start and end, where they are all those
// between two.
func withYear(what, year string, line plainLine) *foreignLine {
	first, last, _ := strings.Cut(year, "-")
	if last == "" {
		last = first
	}
	switch {
	case year == "*" || year == "?" || year == "*/1":
		return foreign(what, line)
	case !yearField.MatchString(first) || !yearField.MatchString(last) ||
		len(first) != 4 || len(last) != 4 || first > last:
		return foreign(what + "; there is no field for years here, but start and end")
	}
	line.first, _ = strconv.Atoi(first)
	line.last, _ = strconv.Atoi(last)
	return foreign(what+"; there is no field for years here, but start and end", line)
}

// bothDays reports whether both day fields count: then others want both to match, or take none such.
func bothDays(month, week string) bool {
	return !strings.HasPrefix(anyDay(month), "*") && !strings.HasPrefix(anyDay(week), "*")
}

// anyDay writes * for ?.
func anyDay(field string) string {
	if field == "?" {
		return "*"
	}
	return field
}

// fromZero writes 0/5, each fifth from 0 on, as crontabs do.
func fromZero(field string) string {
	if step, ok := strings.CutPrefix(field, "0/"); ok {
		return "*/" + step
	}
	return field
}

// join puts fields together; "" where one of them is not of crontab's alphabet.
func join(fields []string, last string) string {
	return plainCron(strings.Join(fields, " ") + " " + last)
}

// shiftDays writes days of the week that count from 1 for Sunday as those that count from 0.
// numbers reports whether any was given by number; ok is false where one is none of those.
func shiftDays(field string) (shifted string, numbers, ok bool) {
	if field == "?" || strings.HasPrefix(field, "*") {
		return strings.Replace(field, "?", "*", 1), false, true
	}
	parts := strings.Split(field, ",")
	for i, part := range parts {
		if part == "L" || part == "l" {
			parts[i], numbers = "6", true // the last day of the week
			continue
		}
		m := dayPart.FindStringSubmatch(part)
		if m == nil {
			return field, false, true
		}
		days := [2]string{m[1], m[2]}
		for j, day := range days {
			if day == "" || day[0] > '9' {
				continue
			}
			n, err := strconv.Atoi(day)
			if err != nil || n < 1 || n > 7 {
				return "", true, false
			}
			days[j], numbers = strconv.Itoa(n-1), true
		}
		parts[i] = days[0]
		switch {
		case days[1] != "":
			parts[i] += "-" + days[1]
		case strings.HasPrefix(m[3], "/"):
			parts[i] += "-6" // to the end of the week
		}
		parts[i] += m[3]
	}
	return strings.Join(parts, ","), numbers, true
}

// dayPart is one part of a list of days of the week: a day or a range, and what may follow.
var dayPart = regexp.MustCompile(`^(\d+|[A-Za-z]{3})(?:-(\d+|[A-Za-z]{3}))?(L|l|#\d+|/\d+)?$`)
