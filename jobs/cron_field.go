package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cronField is one field of a line.
type cronField struct {
	text  string
	terms []cronTerm // what stands between its commas
}

// isStar reports whether it is * or */n.
func (f *cronField) isStar() bool { return len(f.terms) == 1 && f.terms[0].form == cronStar }

// restricts reports whether it counts beside the other day field.
func (f *cronField) restricts() bool { return !strings.HasPrefix(f.text, "*") }

// set has a bit for each plain value. Those of day fields that depend on the month are not in it.
func (f *cronField) set(unit int) (set uint64) {
	for _, term := range f.terms {
		set |= term.set(cronUnits[unit])
	}
	return set
}

// cronTerm is one item of a field's list.
type cronTerm struct {
	form     cronTermForm
	from, to int // to is the smaller where a range wraps around
	step     int // at least 1
}

// cronTermForm says what a term means, and how its numbers are used.
type cronTermForm int

const (
	cronValue       cronTermForm = iota // from
	cronStar                            // * or */step: from the field's first value to its last
	cronRange                           // from-to, from-to/step, or from/step, where to is the field's last
	cronLast                            // L or L-from: the day that many before the month's last
	cronLastWorkday                     // LW: the month's last from Monday to Friday
	cronWorkday                         // fromW: the day from Monday to Friday nearest to that one
	cronLastOf                          // fromL: the month's last such day of the week
	cronNth                             // from#step: the month's first to fifth such day of the week
)

// set has a bit for each value of a term that is the same in each month.
func (t *cronTerm) set(unit cronUnit) (set uint64) {
	switch t.form {
	case cronValue:
		return 1 << t.from
	case cronStar, cronRange:
		last := t.to
		if last < t.from {
			last += unit.size()
		}
		for v := t.from; v <= last; v += t.step {
			set |= 1 << unit.wrap(v)
		}
	}
	return set
}

// cronUnit is what a field counts.
type cronUnit struct {
	name     string
	min, max int
	names    []string // of the values from min up
	every    string   // what a duration calls it
	place    int
}

var (
	cronMonths   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	cronWeekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// cronUnits are those of the fields, in their order. Sunday may be written 7.
var cronUnits = []cronUnit{
	cronSecond:  {place: cronSecond, name: "second", max: 59, every: "s"},
	cronMinute:  {place: cronMinute, name: "minute", max: 59, every: "m"},
	cronHour:    {place: cronHour, name: "hour", max: 23, every: "h"},
	cronDay:     {place: cronDay, name: "day of month", min: 1, max: 31, every: "d"},
	cronMonth:   {place: cronMonth, name: "month", min: 1, max: 12, names: cronMonths},
	cronWeekday: {place: cronWeekday, name: "day of week", max: 6, names: cronWeekdays, every: "d"},
}

func (u cronUnit) size() int { return u.max - u.min + 1 }

// wrap brings a value that went past the last back to the first ones.
func (u cronUnit) wrap(v int) int { return (v-u.min)%u.size() + u.min }

// want says which values there are.
func (u cronUnit) want() string {
	switch {
	case u.place == cronWeekday:
		return "want 0 to 7 (0 and 7 are Sunday) or sun to sat"
	case u.names != nil:
		return fmt.Sprintf("want %d to %d or %s to %s", u.min, u.max, u.names[0], u.names[len(u.names)-1])
	}
	return fmt.Sprintf("want %d to %d", u.min, u.max)
}

// parseCronField reads a field. An error begins with its place in the field.
func parseCronField(unit int, text string) (cronField, error) {
	items := strings.Split(text, ",")
	f := cronField{text: text}
	for i, item := range items {
		term, err := cronUnits[unit].term(item)
		if err != nil {
			place := ""
			if len(items) > 1 {
				place = fmt.Sprintf(", item %d of its list", i+1)
			}
			return f, fmt.Errorf("%s: %w", place, err)
		}
		f.terms = append(f.terms, term)
	}
	return f, nil
}

// term reads one item of a list.
func (u cronUnit) term(text string) (cronTerm, error) {
	if text == "" {
		return cronTerm{}, fmt.Errorf("nothing stands beside a comma: %s", u.want())
	}
	if term, is, err := u.special(text); is {
		return term, err
	}
	span, step, stepped := strings.Cut(text, "/")
	term, err := u.span(span, stepped)
	if err != nil || !stepped {
		return term, err
	}
	term.step, err = u.step(text, step)
	return term, err
}

// special reads a term that depends on the month; is: it was meant to be one.
func (u cronUnit) special(text string) (term cronTerm, is bool, err error) {
	switch u.place {
	case cronDay:
		return specialDay(text)
	case cronWeekday:
		return specialWeekday(text)
	}
	return term, false, nil
}

// span reads what stands before a step: *, a value, or a range. A value that has a step begins a
// range.
func (u cronUnit) span(text string, stepped bool) (cronTerm, error) {
	term := cronTerm{form: cronStar, from: u.min, to: u.max, step: 1}
	if text == "*" {
		return term, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if ranged && (first == "" || last == "") {
		return term, fmt.Errorf("%q lacks an end: want a range such as %d-%d", clip(text, 40), u.min, u.max)
	}
	var err error
	if term.from, err = u.value(first); err != nil {
		return term, err
	}
	switch {
	case ranged:
		term.form = cronRange
		term.to, err = u.value(last)
		u.sunday(&term)
	case stepped:
		term.form = cronRange
		term.from = u.wrap(term.from)
	default:
		term.form = cronValue
		term.from = u.wrap(term.from)
		term.to = term.from
	}
	return term, err
}

// sunday lets a range begin or end with the 7 of Sunday: 5-7 ends with it, 7-2 begins with it.
func (u cronUnit) sunday(t *cronTerm) {
	switch {
	case t.from > u.max && t.to > u.max:
		t.from, t.to = u.wrap(t.from), u.wrap(t.to)
	case t.from > u.max:
		t.from = u.wrap(t.from)
	}
}

// value reads a number or a name.
func (u cronUnit) value(text string) (int, error) {
	if i := slices.Index(u.names, strings.ToLower(text)); i >= 0 {
		return u.min + i, nil
	}
	if strings.Trim(text, "0123456789") != "" || text == "" {
		return 0, fmt.Errorf("%q is not understood: %s%s", clip(text, 40), u.want(), u.guess(text))
	}
	last := u.max
	if u.place == cronWeekday {
		last = 7
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < u.min || n > last {
		return 0, fmt.Errorf("%s is out of range: %s", clip(text, 40), u.want())
	}
	return n, nil
}

// guess is a hint for a name that is written out.
func (u cronUnit) guess(text string) string {
	lower := strings.ToLower(text)
	for _, name := range u.names {
		if strings.HasPrefix(lower, name) {
			return ", so write " + name
		}
	}
	return ""
}

// step reads what stands after the slash.
func (u cronUnit) step(text, step string) (int, error) {
	if strings.Trim(step, "0123456789") != "" || step == "" {
		return 0, fmt.Errorf("%q has no number after the slash: want a step, such as */%d", clip(text, 40), 2)
	}
	n, err := strconv.Atoi(step)
	switch {
	case err == nil && n == 0:
		return 0, fmt.Errorf("%q steps by 0: want a step from 1 to %d", clip(text, 40), u.size())
	case err == nil && n <= u.size():
		return n, nil
	}
	hint := ""
	if err == nil && u.every != "" && strings.HasPrefix(text, "*/") && n <= 3653 {
		hint = fmt.Sprintf("; to run at intervals of %d%s write every: %[1]d%[2]s instead of cron", n, u.every)
	}
	return 0, fmt.Errorf("%q steps past the end of the field: want a step from 1 to %d%s",
		clip(text, 40), u.size(), hint)
}
