package jobs

import (
	"regexp"
	"strings"
)

var (
	celeryCron = regexp.MustCompile(`^(?:celery\.schedules\.)?crontab\((.*)\)$`)
	celeryPart = regexp.MustCompile(`^(minute|hour|day_of_week|day_of_month|month_of_year)=["']?([^"']+)["']?$`)
)

// celeryCall knows crontab(minute=0, hour='*/3').
func celeryCall(text string) *foreignLine {
	m := celeryCron.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	const what = "crontab(...) is Celery's"
	fields := map[string]string{
		"minute": "*", "hour": "*", "day_of_month": "*", "month_of_year": "*", "day_of_week": "*",
	}
	for _, part := range celeryParts(m[1]) {
		p := celeryPart.FindStringSubmatch(part)
		if p == nil {
			return foreign(what)
		}
		fields[p[1]] = strings.ReplaceAll(p[2], " ", "")
	}
	// Celery wants both day fields to match where crontab takes either.
	if !strings.HasPrefix(fields["day_of_month"], "*") && !strings.HasPrefix(fields["day_of_week"], "*") {
		return foreign(what + ", where both day fields must match; crontab takes either")
	}
	return foreign(what, plainLine{cron: join([]string{
		fields["minute"], fields["hour"], fields["day_of_month"], fields["month_of_year"],
	}, fields["day_of_week"])})
}

// celeryParts cuts arguments at the commas that are not inside of quotes.
func celeryParts(text string) (parts []string) {
	start, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		case c == ',' && quote == 0:
			parts = append(parts, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		parts = append(parts, rest)
	}
	return parts
}
