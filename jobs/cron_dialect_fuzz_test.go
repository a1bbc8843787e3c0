package jobs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzForeignCron(f *testing.F) {
	for _, text := range []string{
		"0 2 * * *", "0 15 10 ? * 6L 2002-2005", "cron(0 9 ? * 2#1 *)", "rate(5 minutes)", "H H(8-16)/2 * * 1-5",
		"CRON_TZ=Europe/Berlin 0 4 * * *", "TZ=UTC", "TZ=TZ=TZ=", "@every 10s", "every day at 3:00am",
		"1st,third monday of month 09:00", "Mon..Fri *-*~03 02:00:00 UTC", "now + 5 minutes", "R/P1Y2M3DT4H5M6S",
		"crontab(hour='*/3', minute=\"", "0 0~5 * * mon#-1", "*/5 * * * * root /bin/true", "every ٣ days",
		"\x00", "\xff\xff", "cron(cron(cron(", "日本 * * * *", strings.Repeat("? ", 150),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := ForeignCron(text)
		if len(got) > 1500 {
			t.Errorf("%q: a text of %d bytes", text, len(got))
		}
		if _, err := ParseCron(text); got != "" && err == nil {
			t.Errorf("%q is read, and refused with %s", text, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q: %q is not UTF-8", text, got)
		}
	})
}
