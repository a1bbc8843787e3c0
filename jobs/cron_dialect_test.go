package jobs

import (
	"strings"
	"testing"
	"unicode"
)

// foreignText is a line of another dialect, what names it, and what is written instead: nothing
// where the dialect has no equal here, or where what is meant is not known.
type foreignText struct{ text, names, write string }

// realForeignLines are in use somewhere, or stand in the documentation of what reads them.
var realForeignLines = []foreignText{
	{"every day at 3:00am", "Fugit's", `cron: "0 3 * * *"`},
	{"every 2 minutes", "Fugit's", `every: 2m; cron: "*/2 * * * *" (by the clock)`},
	{"every day at 4:00am", "Fugit's", `cron: "0 4 * * *"`},
	{"every 15 minutes", "Fugit's", `every: 15m; cron: "*/15 * * * *" (by the clock)`},
	{"every day at 1 am", "Fugit's", `cron: "0 1 * * *"`},
	{"every day at 2 am", "Fugit's", `cron: "0 2 * * *"`},
	{"every day at 12:00am", "Fugit's", `cron: "0 0 * * *"`},
	{"every day at 12:03am", "Fugit's", `cron: "3 0 * * *"`},
	{"every day at 12:06am", "Fugit's", `cron: "6 0 * * *"`},
	{"every day at 12:09am", "Fugit's", `cron: "9 0 * * *"`},
	{"every day at 12:12am", "Fugit's", `cron: "12 0 * * *"`},
	{"every 5 minutes", "Fugit's", `every: 5m; cron: "*/5 * * * *" (by the clock)`},
	{"every 7 days", "Fugit's", `every: 7d`},
	{"every 1 month", "Fugit's", `cron: "0 0 1 * *"`},
	{"every minute", "Fugit's", `cron: "* * * * *"`},
	{"@every 24h", "robfig's", `every: 24h`},
	{"@every 5s", "robfig's", `every: 5s`},
	{"@every 10s", "robfig's", `every: 10s`},
	{"every 30 minutes", "Fugit's", `every: 30m; cron: "*/30 * * * *" (by the clock)`},
	{"every sunday at noon", "Fugit's", `cron: "0 12 * * 0"`},
	{"every hour", "Fugit's", `cron: "0 * * * *"`},
	{"every day at 04:00", "Fugit's", `cron: "0 4 * * *"`},
	{"every hour at minute 12", "Fugit's", `cron: "12 * * * *"`},
	{"every hour at minute 52", "Fugit's", `cron: "52 * * * *"`},
	{"every 4 hours", "Fugit's", `every: 4h; cron: "0 */4 * * *" (by the clock)`},
	{"every day at 05:00", "Fugit's", `cron: "0 5 * * *"`},
	{"every 60 seconds", "Fugit's", `every: 1m`},
	{"every 10 seconds", "Fugit's", `every: 10s`},
	{"CRON_TZ=America/New_York 0 9 18 * * 1", "crontab's variable", `cron: "0 9 18 * * 1", timezone: America/New_York`},
	{"CRON_TZ=America/New_York 0 4 * * *", "crontab's variable", `cron: "0 4 * * *", timezone: America/New_York`},
	{"cron(0 17 L * ? *)", "EventBridge", `cron: "0 17 L * *"`},
	{"cron(10 18 L * ? *)", "EventBridge", `cron: "10 18 L * *"`},
	{"cron(0 22 L * ? *)", "EventBridge", `cron: "0 22 L * *"`},
	{"cron(50 23 L * ? *)", "EventBridge", `cron: "50 23 L * *"`},
	{"cron(0 15 L * ? *)", "EventBridge", `cron: "0 15 L * *"`},
	{"cron(0 8 LW * ? *)", "EventBridge", `cron: "0 8 LW * *"`},
	{"cron(0 9 ? * 2#1 *)", "EventBridge", `cron: "0 9 * * 1#1"`},
	{"cron(0 0 ? * MON#1 *)", "EventBridge", `cron: "0 0 * * MON#1"`},
	{"cron(0 3 ? * SUN#1 *)", "EventBridge", `cron: "0 3 * * SUN#1"`},
	{"cron(30 6 ? * 1,7 *)", "EventBridge", `cron: "30 6 * * 0,6"`},
	{"cron(01 06 ? * MON-FRI *)", "EventBridge", `cron: "01 06 * * MON-FRI"`},
	{"cron(0/2 * ? * MON-FRI *)", "EventBridge", `cron: "*/2 * * * MON-FRI"`},
	{"cron(0 8 ? * MON-FRI *)", "EventBridge", `cron: "0 8 * * MON-FRI"`},
	{"cron(0 12 * * ? *)", "EventBridge", `cron: "0 12 * * *"`},
	{"cron(0 */3 * * ? *)", "EventBridge", `cron: "0 */3 * * *"`},
	{"rate(1 minute)", "EventBridge", `every: 1m`},
	{"0 15 10 15 * ?", "Quartz's form", `cron: "15 10 15 * *"`},
	{"0 0 1 * * ?", "Quartz's form", `cron: "0 1 * * *"`},
	{"0 0/5 * * * ?", "Quartz's form", `cron: "*/5 * * * *"`},
	{"0 0 12 1 * ?", "Quartz's form", `cron: "0 12 1 * *"`},
	{"H H(8-16)/2 * * 1-5", "Jenkins'", `cron: "0 8-16/2 * * 1-5", spread: 1h`},
	{"H/2 * * * *", "Jenkins'", `cron: "*/2 * * * *", spread: 2m`},
	{"H/5 * * * *", "Jenkins'", `cron: "*/5 * * * *", spread: 5m`},
	{"H */15 * * *", "Jenkins'", `cron: "0 */15 * * *", spread: 1h`},
	{"0/20 * * * * ?", "Quartz's form", `cron: "*/20 * * * * *"`},
	{"15 0/2 * * * ?", "Quartz's form", `cron: "15 */2 * * * *"`},
	{"0 0/2 8-17 * * ?", "Quartz's form", `cron: "*/2 8-17 * * *"`},
	{"0 0/3 17-23 * * ?", "Quartz's form", `cron: "*/3 17-23 * * *"`},
	{"0,30 * * ? * MON-FRI", "Quartz's form", `cron: "0,30 * * * * MON-FRI"`},
	{"0,30 * * ? * SAT,SUN", "Quartz's form", `cron: "0,30 * * * * SAT,SUN"`},
	{"0 0 14-6 ? * FRI-MON", "Quartz's form", `cron: "0 14-6 * * FRI-MON"`},
	{"0 0 12 * * ?", "Quartz's form", `cron: "0 12 * * *"`},
	{"0 15 10 ? * *", "Quartz's form", `cron: "15 10 * * *"`},
	{"0 15 10 * * ?", "Quartz's form", `cron: "15 10 * * *"`},
	{"0 * 14 * * ?", "Quartz's form", `cron: "* 14 * * *"`},
	{"0 0/5 14 * * ?", "Quartz's form", `cron: "*/5 14 * * *"`},
	{"0 0/5 14,18 * * ?", "Quartz's form", `cron: "*/5 14,18 * * *"`},
	{"0 0-5 14 * * ?", "Quartz's form", `cron: "0-5 14 * * *"`},
	{"0 10,44 14 ? 3 WED", "Quartz's form", `cron: "10,44 14 * 3 WED"`},
	{"0 15 10 ? * MON-FRI", "Quartz's form", `cron: "15 10 * * MON-FRI"`},
	{"0 15 10 L * ?", "Quartz's form", `cron: "15 10 L * *"`},
	{"0 15 10 ? * 6L", "Quartz's form", `cron: "15 10 * * 5L" (as Quartz has it, where Sunday is 1); cron: "15 10 * * 6L" (as Spring has it, where Sunday is 0 or 7)`},
	{"0 15 10 ? * 6L 2002-2005", "Quartz's form", `cron: "15 10 * * 5L", start: 2002-01-01T00:00:00Z, end: 2005-12-31T23:59:59Z`},
	{"0 15 10 ? * 6#3", "Quartz's form", `cron: "15 10 * * 5#3" (as Quartz has it, where Sunday is 1); cron: "15 10 * * 6#3" (as Spring has it, where Sunday is 0 or 7)`},
	{"* * * * * ?", "Quartz's form", `cron: "* * * * * *"`},
	{"0 15 10 * * ? 2005", "Quartz's form", `cron: "15 10 * * *", start: 2005-01-01T00:00:00Z, end: 2005-12-31T23:59:59Z`},
}

var foreignLines = []foreignText{
	{"0 15 10 ? * 1,7", "Quartz's form", `cron: "15 10 * * 0,6" (as Quartz has it, where Sunday is 1); cron: "15 10 * * 1,7" (as Spring has it, where Sunday is 0 or 7)`},
	{"0 15 10 ? * 0", "Spring's form", `cron: "15 10 * * 0"`},
	{"0 0 0 ? * L", "Quartz's form", `cron: "0 0 * * 6" (as Quartz has it, where Sunday is 1)`},
	{"0 0 ? * 2", "EventBridge", `cron: "0 0 * * 2" (where Sunday is 0 or 7); cron: "0 0 * * 1" (where Sunday is 1)`},
	{"0 0 ? * MON", "EventBridge", `cron: "0 0 * * MON"`},
	{"0 9 ? * 2#1 *", "EventBridge", `cron: "0 9 * * 1#1"`},
	{"0 9 1 * ? *", "EventBridge", `cron: "0 9 1 * *"`},
	{"0 9 1 * ? 2027", "EventBridge", `cron: "0 9 1 * *", start: 2027-01-01T00:00:00Z, end: 2027-12-31T23:59:59Z`},
	{"? ? ? ? ?", "EventBridge", ``},
	{"0 0 0 ? ? ?", "EventBridge", ``},
	{"0 0 12 ? * 2/2", "Quartz's form", `cron: "0 12 * * 1-6/2" (as Quartz has it, where Sunday is 1); cron: "0 12 * * 2/2" (as Spring has it, where Sunday is 0 or 7)`},
	{"0 0 12 * * * 2025", "Quartz's year", `cron: "0 12 * * *", start: 2025-01-01T00:00:00Z, end: 2025-12-31T23:59:59Z`},
	{"0 0 * * 1 2024", "a year last", `cron: "0 0 * * 1", start: 2024-01-01T00:00:00Z, end: 2024-12-31T23:59:59Z`},
	{"cron(0 12 * * *)", "EventBridge", `cron: "0 12 * * *"`},
	{"cron(0 12 * * MON)", "EventBridge", `cron: "0 12 * * MON"`},
	{"rate(5 minutes)", "EventBridge", `every: 5m`},
	{"rate(7 days)", "EventBridge", `every: 7d`},
	{"rate(foo)", "EventBridge", ``},
	{"at(2022-11-20T13:00:00)", "EventBridge", ``},
	{"H H * * *", "Jenkins'", `cron: "0 0 * * *", spread: 24h`},
	{"H(0-29)/10 * * * *", "Jenkins'", `cron: "0-29/10 * * * *", spread: 10m`},
	{"H H(0-7) * * *", "Jenkins'", `cron: "0 0 * * *", spread: 8h`},
	{"30 H * * *", "Jenkins'", `cron: "30 0 * * *"`},
	{"H H 1,15 1-11 *", "Jenkins'", `cron: "0 0 1,15 1-11 *", spread: 24h`},
	{"TZ=UTC", "crontab's variable", ``},
	{"TZ=UTC 0 0 * * *", "crontab's variable", `cron: "0 0 * * *", timezone: UTC`},
	{"TZ=Europe/Berln 0 0 * * *", "crontab's variable", ``},
	{"CRON_TZ=Europe/Berlin @every 10s", "robfig's", `every: 10s`},
	{"CRON_TZ=Europe/Berlin @daily", "crontab's variable", `cron: "@daily", timezone: Europe/Berlin`},
	{"CRON_TZ=Europe/Berlin 0 15 10 ? * 6L", "Quartz's form", `cron: "15 10 * * 5L", timezone: Europe/Berlin (as Quartz has it, where Sunday is 1); cron: "15 10 * * 6L", timezone: Europe/Berlin (as Spring has it, where Sunday is 0 or 7)`},
	{"@every -5s", "robfig's", ``},
	{"@every 0s", "robfig's", ``},
	{"@every", "robfig's", ``},
	{"@every 1.5h", "robfig's", `every: 1.5h`},
	{"@every 1h 30m", "robfig's", `every: 1h30m`},
	{"@every 500ms", "robfig's", ``},
	{"@every 1d", "robfig's", `every: 1d`},
	{"@every 10", "robfig's", ``},
	{"@minutely", "none of crontab's words", `cron: "* * * * *"`},
	{"@600", "FreeBSD's", `every: 10m`},
	{"every weekday at 9am", "Fugit's", `cron: "0 9 * * 1-5"`},
	{"every weekday at 9am and 5pm", "Fugit's", `cron: "0 9,17 * * 1-5"`},
	{"every day at 9:30 and 17:00", "Fugit's", ``},
	{"every 1st of month at 5am", "Fugit's", `cron: "0 5 1 * *"`},
	{"every month on the 15th at noon", "Fugit's", `cron: "0 12 15 * *"`},
	{"every monday, wednesday at 10:00", "Fugit's", `cron: "0 10 * * 1,3"`},
	{"every monday 09:00", "Fugit's", `cron: "0 9 * * 1"`},
	{"1st monday of month 09:00", "Fugit's", `cron: "0 9 * * 1#1"`},
	{"last friday of month 17:00", "Fugit's", `cron: "0 17 * * 5L"`},
	{"every 5 minutes from 10:00 to 14:00", "Fugit's", ``},
	{"every day at 5pm America/Los_Angeles", "Fugit's", `cron: "0 17 * * *", timezone: America/Los_Angeles`},
	{"every day at 5pm in europe/berlin", "Fugit's", `cron: "0 17 * * *", timezone: Europe/Berlin`},
	{"every other day", "Fugit's", `every: 2d`},
	{"every half hour", "Fugit's", ``},
	{"every year", "Fugit's", `cron: "0 0 1 1 *"`},
	{"every 3 months", "Fugit's", `cron: "0 0 1 */3 *"`},
	{"every 5 months", "Fugit's", ``},
	{"every 2 hours at minute 30", "Fugit's", `cron: "30 */2 * * *"`},
	{"every second", "Fugit's", `cron: "* * * * * *"`},
	{"every second monday", "Fugit's", ``},
	{"every 5m", "Fugit's", `every: 5m`},
	{"every sunday", "Fugit's", `cron: "0 0 * * 0"`},
	{"every monday to friday at 8:00", "Fugit's", `cron: "0 8 * * 1-5"`},
	{"every 10 minutes on weekdays", "Fugit's", `cron: "*/10 * * * 1-5"`},
	{"every", "Fugit's", ``},
	{"every week", "Fugit's", `every: 7d; cron: "0 0 * * 0" (on Sundays)`},
	{"every 2 weeks", "Fugit's", `every: 14d`},
	{"at noon", "Fugit's", `cron: "0 12 * * *"`},
	{"at 5", "Fugit's", `cron: "0 5 * * *"`},
	{"9am", "time of day", `cron: "0 9 * * *"`},
	{"noon", "time of day", `cron: "0 12 * * *"`},
	{"daily at 3am", "Fugit's", `cron: "0 3 * * *"`},
	{"daily", "systemd's", `cron: "0 0 * * *"`},
	{"weekly", "systemd's", `cron: "0 0 * * 1" (on Monday, as systemd has it); cron: "0 0 * * 0" (on Sunday, crontab's @weekly)`},
	{"Mon..Fri *-*-* 02:00:00", "systemd's", `cron: "0 2 * * 1-5"`},
	{"*-*-* 02:00", "systemd's", `cron: "0 2 * * *"`},
	{"*:0/15", "systemd's", `cron: "*/15 * * * *"`},
	{"Mon *-*-01..07 09:00", "systemd's", `cron: "0 9 * * 1#1"`},
	{"*-*~01 00:00", "systemd's", `cron: "0 0 L * *"`},
	{"Sat,Thu,Mon..Wed *-*-* 10:00 Europe/Berlin", "systemd's", `cron: "0 10 * * 6,4,1-3", timezone: Europe/Berlin`},
	{"2027-*-* 10:00", "systemd's", `cron: "0 10 * * *", start: 2027-01-01T00:00:00Z, end: 2027-12-31T23:59:59Z`},
	{"2027-05-05 10:00", "one instant", ``},
	{"02:00", "systemd's", `cron: "0 2 * * *"`},
	{"Mon 02:00", "systemd's", `cron: "0 2 * * 1"`},
	{"OnCalendar=daily", "systemd's", `cron: "0 0 * * *"`},
	{"now + 5 minutes", "one instant", ``},
	{"4pm + 3 days", "one instant", ``},
	{"noon tomorrow", "one instant", ``},
	{"PT15M", "ISO 8601", `every: 15m`},
	{"P1D", "ISO 8601", `every: 1d`},
	{"P1M", "ISO 8601", `cron: "0 0 1 * *"`},
	{"P1Y", "ISO 8601", `cron: "0 0 1 1 *"`},
	{"P1W", "ISO 8601", `every: 7d`},
	{"R/PT1H", "ISO 8601", `every: 1h`},
	{"15m", "an interval", `every: 15m`},
	{"10 minutes", "an interval", `every: 10m`},
	{"crontab(minute=0, hour='*/3')", "Celery's", `cron: "0 */3 * * *"`},
	{"crontab(hour=7, minute=30, day_of_week=1)", "Celery's", `cron: "30 7 * * 1"`},
	{"crontab(hour=7, minute=30, day_of_week='mon,tue', day_of_month=1)", "Celery's", ``},
	{"0 5 * * * UTC", "Fugit's", `cron: "0 5 * * *", timezone: UTC`},
	{"0 5 * * * Europe/Berlin", "Fugit's", `cron: "0 5 * * *", timezone: Europe/Berlin`},
	{"0 0 -1 * *", "Fugit's", `cron: "0 0 L * *"`},
	{"0 0 * * mon#-1", "Fugit's", `cron: "0 0 * * monL"`},
	{"0 0 * * sun%2", "Fugit's", ``},
	{"0 5 * * * /usr/bin/backup -x", "whole line", `cron: "0 5 * * *"`},
	{"0 5 * * * root run-parts /etc/cron.daily", "whole line", `cron: "0 5 * * *"`},
	{"*/5 * * * * cd /x && y", "whole line", `cron: "*/5 * * * *"`},
	{"0 0~5 * * *", "OpenBSD's", `cron: "0 0 * * *"`},
	{"~ ~ * * *", "OpenBSD's", `cron: "0 0 * * *", spread: 24h`},
	{"CRON_TZ=Europe/Berlin 0 15 10 * * ? 2027", "Quartz's form", `cron: "15 10 * * *", timezone: Europe/Berlin, start: 2027-01-01T00:00:00+01:00, end: 2027-12-31T23:59:59+01:00`},
	{"0 0 0 13 * FRI 2027", "Quartz's year", ``},
	{"0 0 12 ? * 2-6 2027-2029/2", "Quartz's form", ``},
	{"0 0 12 LW * ?", "Quartz's form", `cron: "0 12 LW * *"`},
	{"0 0 12 ? * 7-2", "Quartz's form", `cron: "0 12 * * 6-1" (as Quartz has it, where Sunday is 1); cron: "0 12 * * 7-2" (as Spring has it, where Sunday is 0 or 7)`},
	{"0 0 0 30 2 ?", "Quartz's form", ``},
	{"cron(0 9 1 * 2 *)", "EventBridge", ``},
	{"cron(0 9 ? * 8 *)", "EventBridge", ``},
	{"CRON(0 12 * * ? *)", "EventBridge", `cron: "0 12 * * *"`},
	{"RATE(1 hour)", "EventBridge", `every: 1h`},
	{"rate(0 minutes)", "EventBridge", ``},
	{"TZ=Europe/Berlin H 8 * * *", "Jenkins'", `cron: "0 8 * * *", timezone: Europe/Berlin, spread: 1h`},
	{"TZ=TZ=UTC 0 0 * * *", "crontab's variable", ``},
	{"CRON_TZ='Europe/Berlin' 0 4 * * *", "crontab's variable", `cron: "0 4 * * *", timezone: Europe/Berlin`},
	{"H(30-10) * * * *", "Jenkins'", `cron: "30 * * * *"`},
	{"H H H H H", "Jenkins'", `cron: "0 0 1 1 0", spread: 24h`},
	{"every 99999999999999999999 minutes", "Fugit's", ``},
	{"every 0 minutes", "Fugit's", ``},
	{"every day at 13:00pm", "Fugit's", ``},
	{"every day at 25:00", "Fugit's", ``},
	{"EVERY DAY AT 3AM", "Fugit's", `cron: "0 3 * * *"`},
	{"each monday and thursday at noon and midnight", "Fugit's", `cron: "0 12,0 * * 1,4"`},
	{"mondays at 9:30pm", "Fugit's", `cron: "30 21 * * 1"`},
	{"first day of month at 6:00", "Fugit's", `cron: "0 6 1 * *"`},
	{"every month on day 15 at 6:00", "Fugit's", `cron: "0 6 15 * *"`},
	{"every last day of month", "Fugit's", `cron: "0 0 L * *"`},
	{"Mon *-*-13 00:00", "systemd's", ``},
	{"Mon *-*-22..28", "systemd's", `cron: "0 0 * * 1#4"`},
	{"*-01,07-01 00:00:00", "systemd's", `cron: "0 0 1 1,7 *"`},
	{"*-*-* *:*:0/10", "systemd's", `cron: "*/10 * * * * *"`},
	{"PT90S", "ISO 8601", `every: 1m30s`},
	{"P1Y6M", "ISO 8601", ``},
	{"P99999999999999999999D", "ISO 8601", ``},
	{"2027-01-01T00:00:00Z", "one instant", ``},
}

func TestForeignLinesAreNamedWithTheLineToWrite(t *testing.T) {
	for _, c := range append(realForeignLines, foreignLines...) {
		f := foreignForm(c.text)
		if f == nil {
			t.Errorf("%q is not known", c.text)
			continue
		}
		var lines []string
		for _, line := range f.write {
			lines = append(lines, line.String())
		}
		if got := strings.Join(lines, "; "); got != c.write || !strings.Contains(f.what, c.names) {
			t.Errorf("%q: %s: %s\nwant %s: %s", c.text, f.what, got, c.names, c.write)
		}
		text := ForeignCron(c.text)
		if !strings.HasPrefix(text, f.what) || len(lines) > 0 && !strings.Contains(text, ": write "+lines[0]) {
			t.Errorf("%q: %s", c.text, text)
		}
	}
}

func TestForeignLinesAreNoneOfCrontabs(t *testing.T) {
	for _, c := range append(realForeignLines, foreignLines...) {
		if _, err := ParseCron(c.text); err == nil {
			t.Errorf("%q is read", c.text)
		}
	}
}

func TestLinesToWriteAreRead(t *testing.T) {
	for _, c := range append(realForeignLines, foreignLines...) {
		for _, line := range foreignForm(c.text).write {
			s := Schedule{Cron: line.cron, Timezone: line.timezone}
			if line.every != "" {
				every, err := ParseDuration(line.every)
				if err != nil || line.cron != "" {
					t.Errorf("%q: %s: %v", c.text, line, err)
				}
				s.Every = &every
			}
			if start, end := line.years(); start != "" {
				s.Start, s.End = instantOf(t, start), instantOf(t, end)
			}
			if err := s.CheckTicks(); err != nil {
				t.Errorf("%q: %s: %v", c.text, line, err)
			}
			if line.spread != "" {
				if _, err := ParseDuration(line.spread); err != nil {
					t.Errorf("%q: %s: %v", c.text, line, err)
				}
			}
		}
	}
}

func TestCrontabsOwnLinesAreNotForeign(t *testing.T) {
	for _, text := range []string{
		"", " ", "* * * * *", "0 0 * * MON", "0 0 * * THU", "0 0 1 JAN *", "*/10 * 9 * * *", "0 0 0 13 * FRI",
		"0 0 L * 5L", "0 0 15W,LW * fri#3", "@daily", "@reboot", "@YEARLY", "0 0 * * 1 7", "0 0 1 1 * 0",
		// What is just wrong is not another dialect's either.
		"0 0 * *", "* * * * * * * *", "0 0 * * * FRY", "61 * * * *", "hello", "@foo", "P", "-", "日本 * * * *",
		"\x00", "\xff\xff", strings.Repeat("* ", 1000), strings.Repeat("?", 1000), "every" + strings.Repeat(" a", 1000),
	} {
		if got := ForeignCron(text); got != "" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestForeignTextsHoldNoControlCharacters(t *testing.T) {
	for _, text := range []string{
		"@every \x1b[31m", "TZ=\x1b[31m 0 0 * * *", "TZ=\u202e 0 * * * *", "every \x00", "0 0 \x07? * *", "rate(\x1b 1)",
		"0 0 * * * /bin/\x1b", "H \x1b * * *",
	} {
		got := ForeignCron(text)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Days of the week that count from 1 for Sunday are moved whatever form they are written in: worked
// out here value by value.
func TestDaysThatCountFromOneAreMoved(t *testing.T) {
	for field, want := range map[string][]int{
		"1": {0}, "7": {6}, "2-6": {1, 2, 3, 4, 5}, "7-2": {6, 0, 1}, "6-7": {5, 6}, "1-7": {0, 1, 2, 3, 4, 5, 6},
		"2/2": {1, 3, 5}, "1/3": {0, 3, 6}, "*/2": {0, 2, 4, 6}, "2-6/2": {1, 3, 5}, "1,7": {0, 6}, "7/2": {6},
		"MON-FRI": {1, 2, 3, 4, 5}, "SUN,3": {0, 2}, "MON/2": {1, 3, 5}, "sat": {6}, "6-2": {5, 6, 0, 1},
		"*": {0, 1, 2, 3, 4, 5, 6}, "?": {0, 1, 2, 3, 4, 5, 6}, "L": {6},
	} {
		moved, _, ok := shiftDays(field)
		c := new(Cron)
		if err := c.parse("0 0 * * " + moved); err != nil || !ok {
			t.Errorf("%s: %s: %v", field, moved, err)
			continue
		}
		set := uint64(0)
		for _, day := range want {
			set |= 1 << day
		}
		if c.weekdaySet != set {
			t.Errorf("%s: %s is %v, want %v", field, moved, values(c.weekdaySet), want)
		}
	}
	for field, want := range map[string]string{
		"6L": "5L", "1L": "0L", "friL": "friL", "2#1": "1#1", "7#5": "6#5", "MON#1": "MON#1", "1#2,7#2": "0#2,6#2",
	} {
		if got, _, ok := shiftDays(field); got != want || !ok {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	for _, field := range []string{"0", "8", "0-5", "1-8", "99999999999999999999"} {
		if got, _, ok := shiftDays(field); ok {
			t.Errorf("%s: %s", field, got)
		}
	}
}
