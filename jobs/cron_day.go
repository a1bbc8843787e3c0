package jobs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// specialDay reads the terms of the day of month that depend on the month.
func specialDay(text string) (term cronTerm, is bool, err error) {
	t := strings.ToUpper(text)
	switch {
	case t == "L":
		return cronTerm{form: cronLast}, true, nil
	case t == "LW":
		return cronTerm{form: cronLastWorkday}, true, nil
	case t == "WL":
		return term, true, fmt.Errorf("%q is not understood: want LW for the last day from Monday to Friday",
			text)
	case strings.HasPrefix(t, "L"):
		n, ok := smallNumber(strings.TrimPrefix(t, "L-"), 1, 30)
		if !ok {
			return term, true, fmt.Errorf("%q is not understood: want L for the last day, "+
				"L-1 to L-30 for days before it, or LW", clip(text, 40))
		}
		return cronTerm{form: cronLast, from: n}, true, nil
	case strings.HasSuffix(t, "W"):
		n, ok := smallNumber(strings.TrimSuffix(t, "W"), 1, 31)
		if !ok {
			return term, true, fmt.Errorf("%q is not understood: want 1W to 31W for the nearest day "+
				"from Monday to Friday, or LW", clip(text, 40))
		}
		return cronTerm{form: cronWorkday, from: n}, true, nil
	}
	return term, false, nil
}

// specialWeekday reads the terms of the day of week that depend on the month.
func specialWeekday(text string) (term cronTerm, is bool, err error) {
	unit := cronUnits[cronWeekday]
	lower := strings.ToLower(text)
	if lower == "l" {
		return term, true, errors.New(`"L" alone is ambiguous: write sat for Saturday, ` +
			`or friL for the last Friday of the month`)
	}
	if day, ok := strings.CutSuffix(lower, "l"); ok {
		n, err := unit.value(day)
		return cronTerm{form: cronLastOf, from: unit.wrap(n)}, err == nil, nil
	}
	if day, nth, ok := strings.Cut(lower, "#"); ok {
		n, err := unit.value(day)
		if err != nil {
			return term, true, err
		}
		k, ok := smallNumber(nth, 1, 5)
		if !ok {
			return term, true, fmt.Errorf("%q is not understood: want 1 to 5 after the #", clip(text, 40))
		}
		return cronTerm{form: cronNth, from: unit.wrap(n), step: k}, true, nil
	}
	return term, false, nil
}

// smallNumber reads digits.
func smallNumber(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && text[0] != '+' && text[0] != '-' && n >= least && n <= most
}

// daysOf has a bit for each day of a month that the line matches.
func (c *Cron) daysOf(m month) uint32 {
	if c.monthSet&(1<<m.number) == 0 {
		return 0
	}
	days, weekdays := c.monthDays(&m), c.weekdayDays(&m)
	all := uint32(1)<<(m.days+1) - 2
	if c.eitherDay {
		return (days | weekdays) & all
	}
	return days & weekdays & all
}

// monthDays are those the day of month asks for.
func (c *Cron) monthDays(m *month) uint32 {
	set := uint32(c.daySet)
	for i := range c.fields[cronDay].terms {
		switch t := &c.fields[cronDay].terms[i]; t.form {
		case cronLast:
			if day := m.days - t.from; day >= 1 {
				set |= 1 << day
			}
		case cronLastWorkday:
			set |= 1 << m.workday(m.days)
		case cronWorkday:
			if t.from <= m.days {
				set |= 1 << m.workday(t.from)
			}
		}
	}
	return set
}

// weekdayDays are those the day of week asks for.
func (c *Cron) weekdayDays(m *month) uint32 {
	// Bit 0 is to be the day of the week of the 1st, then the week repeats.
	week := (c.weekdaySet | c.weekdaySet<<7) >> m.first & 0x7f
	set := uint32((week | week<<7 | week<<14 | week<<21 | week<<28) << 1)
	for i := range c.fields[cronWeekday].terms {
		t := &c.fields[cronWeekday].terms[i]
		first := (t.from-m.first+7)%7 + 1 // of that day of the week
		switch t.form {
		case cronLastOf:
			set |= 1 << (first + (m.days-first)/7*7)
		case cronNth:
			set |= 1 << (first + (t.step-1)*7)
		}
	}
	return set
}
