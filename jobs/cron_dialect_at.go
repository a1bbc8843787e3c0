package jobs

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var (
	atEvery   = regexp.MustCompile(`^(?i)@every\b\s*(.*)$`)
	atSeconds = regexp.MustCompile(`^@(\d+)$`)
)

// foreignAtWords are those that this does not have.
var foreignAtWords = map[string]string{
	"@every_minute": "* * * * *", "@minutely": "* * * * *",
	"@every_second": "* * * * * *", "@secondly": "* * * * * *",
	"@weekdays": "0 0 * * 1-5", "@weekends": "0 0 * * 0,6", "@noon": "0 12 * * *",
	"@quarterly": "0 0 1 1,4,7,10 *", "@startup": "@reboot", "@start": "@reboot", "@restart": "@reboot",
}

// atWords knows @every with a duration, and words with an @ that are not crontab's own.
func atWords(text string) *foreignLine {
	if line := foreignAtWords[strings.ToLower(text)]; line != "" {
		return foreign(text+" is none of crontab's words", plainLine{cron: line})
	}
	if m := atSeconds.FindStringSubmatch(text); m != nil {
		return foreign("@ with a number is FreeBSD's, in seconds", plainLine{every: intervalOf(m[1], "s")})
	}
	m := atEvery.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	const what = "@every is robfig's (the Go library): here an interval has a field of its own"
	words := strings.Join(strings.Fields(m[1]), "")
	d, err := time.ParseDuration(words)
	if err != nil {
		own, ownErr := ParseDuration(words)
		d, err = own.Std(), ownErr
	}
	switch every := everyText(d.Truncate(time.Second)); {
	case err != nil:
		return foreign(fmt.Sprintf("%s: every wants %s, not %q", what, durationForm, clip(m[1], 40)))
	case every == "":
		return foreign(fmt.Sprintf("%s: every wants 1s to 3653d, not %q", what, clip(m[1], 40)))
	default:
		if own, err := ParseDuration(words); err == nil && own.Std() == d.Truncate(time.Second) {
			every = words
		}
		return foreign(what, plainLine{every: every})
	}
}

var (
	atOnce = regexp.MustCompile(`(?i)^(now\b|teatime\b|.*\b(today|tomorrow)$)` +
		`|^[^+]* \+ \d+ (minute|hour|day|week)s?$`)
	timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$`)
)

// oneTime knows an instant: one of Unix' at, or a timestamp.
func oneTime(text string) *foreignLine {
	if !atOnce.MatchString(text) && !timestamp.MatchString(text) {
		return nil
	}
	return foreign("this is one instant, as the command at takes it, which is no schedule: " +
		"enqueue a run with run_at")
}
