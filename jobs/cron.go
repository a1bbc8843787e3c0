package jobs

import (
	"errors"
	"fmt"
	"strings"
)

// Cron is a cron line that was read: the wall times it means, whatever the zone.
type Cron struct {
	text    string       // as it was written, without the blanks around it
	atStart bool         // @reboot; there are no fields then
	seconds bool         // whether the line has six fields
	fields  [6]cronField // of five, the first is 0

	// What follows is worked out of the fields.
	secondSet, minuteSet, hourSet, daySet, monthSet, weekdaySet uint64

	realTime  bool // follows real time, not each wall time once
	eitherDay bool // a day of the month or one of the week will do
}

// The places of the fields.
const (
	cronSecond = iota
	cronMinute
	cronHour
	cronDay
	cronMonth
	cronWeekday
)

const (
	maxCronText = 512
	cronForm    = `5 fields, or 6 with seconds first`
	leaveOut    = "leave the schedule out, and run the job by hand"
)

// cronWords are the lines that have a name.
var cronWords = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

const cronReboot = "@reboot"

// ParseCron reads a cron line: 5 fields, 6 with seconds first, or a word such as @daily. It refuses
// a line of another dialect, and one that no day matches.
func ParseCron(text string) (*Cron, error) {
	c, err := parseCron(text)
	if err == nil {
		return c, nil
	}
	if refusal := ForeignCron(text); refusal != "" {
		return nil, errors.New(refusal)
	}
	return nil, err
}

// parseCron reads a line as one of crontab's.
func parseCron(text string) (*Cron, error) {
	line := strings.Trim(text, " \t\r\n")
	switch {
	case len(text) > maxCronText:
		return nil, fmt.Errorf("want at most %d bytes, got %d", maxCronText, len(text))
	case line == "":
		return nil, errors.New(`want ` + cronForm + `, such as "0 2 * * *", got nothing`)
	}
	c := &Cron{text: line}
	if strings.HasPrefix(line, "@") {
		word := strings.ToLower(line)
		if word == cronReboot {
			c.atStart = true
			return c, nil
		}
		written, ok := cronWords[word]
		if !ok {
			return nil, fmt.Errorf("there is no %q: want @hourly, @daily, @midnight, @weekly, @monthly, "+
				"@yearly, @annually or @reboot", clip(line, 40))
		}
		line = written
	}
	if err := c.parse(line); err != nil {
		return nil, err
	}
	return c, nil
}

// parse reads the fields.
func (c *Cron) parse(line string) error {
	texts := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	switch len(texts) {
	case 5:
		texts = append([]string{"0"}, texts...)
	case 6:
		c.seconds = true
	default:
		return fmt.Errorf("want %s, got %d: %q", cronForm, len(texts), clip(line, 80))
	}
	for i, text := range texts {
		field, err := parseCronField(i, text)
		if err != nil {
			return fmt.Errorf("%s%w", cronUnits[i].name, err)
		}
		c.fields[i] = field
	}
	c.compile()
	if _, ok := c.nextDay(0); !ok {
		return c.neverFires()
	}
	return nil
}

// neverFires is the refusal of a line that no day matches.
func (c *Cron) neverFires() error {
	text := func(field int) string { return clip(c.fields[field].text, 40) }
	weekday := ""
	if text(cronWeekday) != "*" {
		weekday = fmt.Sprintf(" on day of week %q", text(cronWeekday))
	}
	return fmt.Errorf("day of month: never fires: no year has a day %q in month %q%s; %s",
		text(cronDay), text(cronMonth), weekday, leaveOut)
}

// compile works out what the search goes by.
func (c *Cron) compile() {
	sets := []*uint64{
		cronSecond: &c.secondSet, cronMinute: &c.minuteSet, cronHour: &c.hourSet,
		cronDay: &c.daySet, cronMonth: &c.monthSet, cronWeekday: &c.weekdaySet,
	}
	for i, set := range sets {
		*set = c.fields[i].set(i)
	}
	c.realTime = c.fields[cronMinute].isStar() || c.fields[cronHour].isStar()
	c.eitherDay = c.fields[cronDay].restricts() && c.fields[cronWeekday].restricts()
}
