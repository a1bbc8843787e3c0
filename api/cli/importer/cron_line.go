package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nightshift/jobs"
)

// cronEntry is a line of a crontab that runs a command.
type cronEntry struct {
	schedule string // five fields, or @daily and the like
	user     string // of a system crontab
	command  string // as it stands: % not looked at
	quiet    bool   // a - before the line: it is not logged
	never    bool   // no day of any year matches
}

// cronWords are what cron knows behind an @.
var cronWords = strings.Fields("@reboot @yearly @annually @monthly @weekly @daily @midnight @hourly")

// parseEnv reads a line that sets an environment variable, as cron's load_env does: quotes around the
// name or the value are taken off, nothing is expanded. ok is false where it is no such line.
func parseEnv(line string) (name, value string, ok bool) {
	name, rest, ok := envName(line)
	if !ok {
		return "", "", false
	}
	rest = strings.TrimLeft(rest, cSpace)
	if rest == "" { // cronie takes it, Debian's cron does not
		return name, "", true
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		value, after, closed := strings.Cut(rest[1:], string(quote))
		return name, value, closed && strings.Trim(after, cSpace) == ""
	}
	return name, strings.TrimRight(rest, cSpace), true
}

// envName cuts the name and the equals sign off.
func envName(line string) (name, rest string, ok bool) {
	if line == "" {
		return "", "", false
	}
	if quote := line[0]; quote == '"' || quote == '\'' {
		name, rest, ok = strings.Cut(line[1:], string(quote))
		if !ok || strings.Contains(name, "=") {
			return "", "", false
		}
	} else {
		end := strings.IndexAny(line, "="+cSpace)
		if end < 0 {
			return "", "", false
		}
		name, rest = line[:end], line[end:]
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, cSpace), "=")
	return name, rest, ok
}

const (
	cSpace = " \t\v\f\r"
	blanks = " \t"
)

// cutWord gives the first word and what follows the blanks behind it.
func cutWord(s string) (word, rest string) {
	end := strings.IndexAny(s, blanks)
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], blanks)
}

// parseCronEntry reads a line that runs a command, with a user before the command in a system crontab.
// The error says why cron would not run it.
func parseCronEntry(line string, system bool) (e cronEntry, err error) {
	rest := line
	if strings.HasPrefix(rest, "-") {
		e.quiet, rest = true, rest[1:]
	}
	if strings.HasPrefix(rest, "@") {
		e.schedule, rest = cutWord(rest)
		if !slices.Contains(cronWords, e.schedule) {
			return e, fmt.Errorf("cron does not know %s: want one of %s", e.schedule, strings.Join(cronWords, ", "))
		}
	} else if e.schedule, e.never, rest, err = cutFields(rest); err != nil {
		return e, err
	}
	if _, err := jobs.ParseCron(e.schedule); err != nil && !e.never {
		return e, fmt.Errorf("cron takes %s, Nightshift does not: %w", e.schedule, err)
	}
	if system {
		if e.user, rest = cutWord(rest); !plausibleUser(e.user) {
			return e, fmt.Errorf("a system crontab has a user before the command, and %q is none", e.user)
		}
	}
	e.command = rest
	switch {
	case strings.Trim(rest, cSpace) == "" || rest[0] == '%':
		return e, fmt.Errorf("there is no command")
	case rest[0] == '*':
		return e, fmt.Errorf("the command begins with *: is there a field too many? cron reads five, of " +
			"which the first is the minute")
	}
	return e, nil
}

func plausibleUser(s string) bool {
	bad := func(r rune) bool {
		return r < 'a' && r != '-' && r != '_' && r != '.' && r != '$' && (r < '0' || r > '9') &&
			(r < 'A' || r > 'Z') || r > 'z'
	}
	return s != "" && !strings.ContainsFunc(s, bad) && s[0] != '-' && s[0] != '.'
}

// cronField is one of the five.
type cronField struct {
	noun      string
	low, high int
	names     []string // of its values, from low
}

var cronFields = []cronField{
	{noun: "minute", high: 59},
	{noun: "hour", high: 23},
	{noun: "day of the month", low: 1, high: 31},
	{
		noun: "month", low: 1, high: 12,
		names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec"),
	},
	{noun: "day of the week", high: 7, names: strings.Fields("sun mon tue wed thu fri sat")},
}

// cutFields reads the five fields as cron does: what it would refuse, or pass over in silence, is an
// error even where Nightshift's schedules give it a meaning.
func cutFields(line string) (schedule string, never bool, rest string, err error) {
	var texts []string
	var sets []uint64
	rest = line
	for _, f := range cronFields {
		var word string
		if word, rest = cutWord(rest); word == "" {
			return "", false, "", fmt.Errorf("want five fields and a command, or NAME=value")
		}
		set, err := f.read(word)
		if err != nil {
			return "", false, "", unread(line, err)
		}
		texts, sets = append(texts, word), append(sets, set)
	}
	return strings.Join(texts, " "), neverFires(texts, sets), rest, nil
}

// unread adds to what cron cannot read what other schedulers take it for.
func unread(line string, err error) error {
	words := strings.Fields(line)
	five := strings.Join(words[:min(len(words), len(cronFields))], " ")
	if text := jobs.ForeignCron(five); text != "" {
		return errors.New(text)
	}
	if _, parsed := jobs.ParseCron(five); parsed == nil {
		here := jobs.Schedule{Cron: five}
		return fmt.Errorf("%w. A schedule here would run it %s: add it by hand where that was meant", err, strings.TrimSuffix(here.Reads(), ", UTC"))
	}
	return err
}

// neverFires reports whether no month has one of the days: only then does a line that cron takes never
// run. Where both day fields are restricted a day of the week is enough.
func neverFires(texts []string, sets []uint64) bool {
	if texts[2][0] != '*' && texts[4][0] != '*' {
		return false
	}
	longest := [...]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	for month := 1; month <= 12; month++ {
		if sets[3]&(1<<month) != 0 && sets[2]&(1<<(longest[month]+1)-1) != 0 {
			return false
		}
	}
	return true
}

// read gives the set of a field's values.
func (f *cronField) read(text string) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, step, err := f.span(part)
		if err != nil {
			return 0, fmt.Errorf("cron cannot read %q as %s: %w", text, f.noun, err)
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

// span reads *, a number or a range, with a step behind all but a number.
func (f *cronField) span(part string) (from, to, step int, err error) {
	values, stepText, stepped := strings.Cut(part, "/")
	step = 1
	if stepped {
		if step, err = number(stepText); err != nil || step == 0 {
			return 0, 0, 0, fmt.Errorf("want a number above 0 behind the /")
		}
	}
	first, last, isRange := strings.Cut(values, "-")
	switch {
	case values == "*":
		return f.low, f.high, step, nil
	case stepped && !isRange:
		return 0, 0, 0, fmt.Errorf("a step wants * or a range before it, such as %s-%d/%s", values, f.high, stepText)
	}
	if from, err = f.value(first); err != nil {
		return 0, 0, 0, err
	}
	if to = from; isRange {
		if to, err = f.value(last); err != nil {
			return 0, 0, 0, err
		}
	}
	if from > to {
		return 0, 0, 0, fmt.Errorf("the range goes backwards")
	}
	return from, to, step, nil
}

// value reads a number, or a name of three letters.
func (f *cronField) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return i + f.low, nil
	}
	n, err := number(text)
	switch {
	case err != nil && f.names != nil:
		return 0, fmt.Errorf("want a number from %d to %d, or a name of three letters such as %s", f.low, f.high, f.names[0])
	case err != nil || n < f.low || n > f.high:
		return 0, fmt.Errorf("want a number from %d to %d", f.low, f.high)
	}
	return n, nil
}

// number reads digits.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}
