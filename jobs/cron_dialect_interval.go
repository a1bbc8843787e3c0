package jobs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// everyText is an interval as every takes it, "" where it does not.
func everyText(d time.Duration) string {
	if d < time.Second || d > MaxDuration || d%time.Second != 0 {
		return ""
	}
	return Duration(d).String()
}

// spokenUnits are words for units.
var spokenUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
	"week": 7 * 24 * time.Hour,
}

// intervalOf is the interval of a number and a unit, "" where they are none.
func intervalOf(number, unit string) string {
	n, err := strconv.ParseInt(number, 10, 64)
	size := spokenUnits[singular(unit)]
	if err != nil || size == 0 || n < 1 || n > int64(MaxDuration/size) {
		return ""
	}
	return everyText(time.Duration(n) * size)
}

// singular leaves out the s of several.
func singular(unit string) string {
	if len(unit) > 2 {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

// iso8601 is a duration of ISO 8601, alone or with repetitions, a start or an end.
var iso8601 = regexp.MustCompile(`^(?:R\d*/)?(?:\d[^/\s]*/)?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?` +
	`(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?(?:/\d[^/\s]*)?$`)

// isoDuration knows PT15M, P1D, R/PT1H.
func isoDuration(text string) *foreignLine {
	m := iso8601.FindStringSubmatch(text)
	if m == nil || strings.Join(append(append([]string{}, m[1:5]...), m[6:]...), "") == "" {
		return nil
	}
	const what = "this is a duration of ISO 8601: an interval has the field every here"
	var n [9]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(m[i], 10, 64)
	}
	months := n[1]*12 + n[2]
	exact := [...]struct{ n, size int64 }{
		{n[3], 7 * 86400}, {n[4], 86400}, {n[6], 3600}, {n[7], 60}, {n[8], 1},
	}
	seconds := int64(0)
	for _, part := range exact {
		if part.n > int64(MaxDuration/time.Second) {
			return foreign(what)
		}
		seconds += part.n * part.size
	}
	if months > 0 && seconds > 0 || seconds > int64(MaxDuration/time.Second) {
		return foreign(what)
	}
	return foreign(what, plainLine{cron: monthsLine(months)},
		plainLine{every: everyText(time.Duration(seconds) * time.Second)})
}

// monthsLine is midnight on the first of each n-th month, "" where that is not the same each year.
func monthsLine(n int64) string {
	switch {
	case n == 1:
		return "0 0 1 * *"
	case n == 12:
		return "0 0 1 1 *"
	case n > 1 && n < 12 && 12%n == 0:
		return fmt.Sprintf("0 0 1 */%d *", n)
	}
	return ""
}

// bareDuration knows an interval that stands where a line should: 15m, 5 minutes.
func bareDuration(text string) *foreignLine {
	const what = "this is an interval, which has a field of its own"
	if d, err := ParseDuration(text); err == nil && d > 0 {
		return foreign(what, plainLine{every: everyText(d.Std())})
	}
	fields := strings.Fields(strings.ToLower(text))
	if len(fields) == 2 && spokenUnits[singular(fields[1])] > 0 {
		if every := intervalOf(fields[0], fields[1]); every != "" {
			return foreign(what, plainLine{every: every})
		}
	}
	return nil
}
