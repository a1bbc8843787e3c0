package jobs

import (
	"math/bits"
	"strings"
	"time"
)

// dayWords tell on which days, with a blank or a comma before; nothing where it is every day.
func (c *Cron) dayWords() string {
	const all = 1<<32 - 2 // the days 1 to 31
	months := c.monthWords()
	days, weekdays := c.daySet != all || c.eitherDay, c.weekdaySet != 1<<7-1 || c.eitherDay
	week, in := c.weekdayParts(), ""
	if months != "" {
		in = ", in " + months
	}
	switch {
	case c.eitherDay:
		return " on " + c.monthDayWords("the month") + " or on " + andWords(week) + in
	case days && weekdays:
		return " on " + c.monthDayWords("the month") + ", and only where that is " +
			strings.Join(week, " or ") + in
	case days && months != "":
		return " on " + c.monthDayWords(months)
	case days:
		return " on " + c.monthDayWords("the month")
	case weekdays && len(week) == 1 && strings.Contains(week[0], " to "):
		return ", " + week[0] + in
	case weekdays:
		return " on " + andWords(week) + in
	}
	return in
}

// monthWords name the months; nothing where it is each.
func (c *Cron) monthWords() string {
	all := values(c.monthSet)
	if len(all) == 12 {
		return ""
	}
	return andWords(runWords(all, cronUnits[cronMonth], func(n int) string {
		return time.Month(n).String()
	}))
}

// monthDayWords tell the day of month: "days 1 and 15 of the month", "the last day of the month".
func (c *Cron) monthDayWords(month string) string {
	var parts []string
	if set := c.daySet; set != 0 {
		word := "day "
		if bits.OnesCount64(set) > 1 {
			word = "days "
		}
		parts = append(parts, word+numberWords(set, cronUnits[cronDay])+" of "+month)
	}
	for _, t := range c.fields[cronDay].terms {
		switch t.form {
		case cronLast:
			word := "the last day of "
			if t.from > 0 {
				word = "the " + nthWord(t.from) + " day before the last of "
			}
			parts = append(parts, word+month)
		case cronLastWorkday:
			parts = append(parts, "the last day from Monday to Friday of "+month)
		case cronWorkday:
			parts = append(parts, "the day from Monday to Friday nearest to the "+nthWord(t.from)+" of "+month)
		}
	}
	return andWords(parts)
}

// weekdayParts tell the day of week: "Monday to Friday", "the first Monday of the month".
func (c *Cron) weekdayParts() []string {
	// The week begins with Monday here, so that the weekend stays together.
	week := values(c.weekdaySet>>1 | c.weekdaySet&1<<6)
	name := func(n int) string { return time.Weekday((n + 1) % 7).String() }
	parts := runWords(week, cronUnits[cronWeekday], name)
	for _, t := range c.fields[cronWeekday].terms {
		switch t.form {
		case cronLastOf:
			parts = append(parts, "the last "+time.Weekday(t.from).String()+" of the month")
		case cronNth:
			parts = append(parts, "the "+[]string{"first", "second", "third", "fourth", "fifth"}[t.step-1]+
				" "+time.Weekday(t.from).String()+" of the month")
		}
	}
	return parts
}
