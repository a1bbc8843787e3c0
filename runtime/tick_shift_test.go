package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
)

// What fires over a shift of the clock, and where both day fields count, is what a preview says; a
// restart within the shift changes nothing.
func TestTicksFireAsPreviewed(t *testing.T) { // cases 1, 2, 3, 6, 15, 16, 18
	unraced(t)
	cases := []struct {
		zone    string
		from    string        // the server works for two days from then
		restart time.Duration // and is away for a minute after so long
		want    map[string]string
	}{
		{"Europe/Berlin", "2000-03-25T12:00:00Z", 13*time.Hour + 5*time.Minute, map[string]string{ // gap
			"30 2 * * *":        "26 01:00, 27 00:30",
			"0,20,40 2 * * *":   "26 01:00, 27 00:00, 27 00:20, 27 00:40",
			"0 2-3 * * *":       "26 01:00, 27 00:00, 27 01:00",
			"*/30 2 * * *":      "27 00:00, 27 00:30",
			"30 */12 26-27 * *": "25 23:30, 26 10:30, 26 22:30, 27 10:30",
		}},
		{"America/New_York", "2000-04-01T12:00:00Z", 19*time.Hour + 5*time.Minute, map[string]string{ // gap
			"30 2 * * *": "02 07:00, 03 06:30",
			"0 16 * * *": "01 21:00, 02 20:00",
			"0 0 * 4 *":  "02 05:00, 03 04:00",
		}},
		{"Australia/Lord_Howe", "2000-08-26T12:00:00Z", 3*time.Hour + 35*time.Minute, map[string]string{ // gap
			"15 2 * * *":     "26 15:30, 27 15:15",
			"*/30 1-2 * * *": "26 14:30, 26 15:00, 26 15:30, 27 14:00, 27 14:30, 27 15:00, 27 15:30",
		}},
		{"Europe/Berlin", "2000-10-28T12:00:00Z", 13*time.Hour + 5*time.Minute, map[string]string{ // fold
			"30 2 * * *":   "29 00:30, 30 01:30",
			"*/30 2 * * *": "29 00:00, 29 00:30, 29 01:00, 29 01:30, 30 01:00, 30 01:30",
		}},
		{"America/New_York", "2000-10-28T12:00:00Z", 18*time.Hour + 5*time.Minute, map[string]string{ // fold
			"30 1 * * *": "29 05:30, 30 06:30",
			"0 17 * * *": "28 21:00, 29 22:00",
		}},
		{"UTC", "2000-01-12T15:00:00Z", time.Hour, map[string]string{
			"0 12 13 * 5":    "13 12:00, 14 12:00",
			"0 0 1-31 * 4":   "13 00:00, 14 00:00",
			"0 0 * * 4":      "13 00:00",
			"0 0 */13 * 4":   "",
			"0 0 1-31 * */4": "13 00:00",
		}},
	}
	for _, c := range cases {
		t.Run(c.zone+" "+c.from[:10], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, err := time.Parse(time.RFC3339, c.from)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(from))
				s := newServer(t, succeed)
				if c.zone != "Australia/Lord_Howe" { // where the hour begins half an hour later
					c.want["0 * * * *"] = hourly(from) // in real time, whatever the clock shows
				}
				lines := make([]string, 0, len(c.want))
				for line := range c.want {
					lines = append(lines, line)
				}
				s.put(webhookJob)
				for i, line := range lines {
					s.schedule(fmt.Sprintf("s%d", i), fmt.Sprintf(`{"job":"a","cron":%q,"timezone":%q}`, line, c.zone))
				}
				s.rt.SetHeartbeat(time.Hour)
				s.rt.Start()
				time.Sleep(c.restart)
				s.stop()
				time.Sleep(time.Minute)
				s.open()
				s.rt.SetHeartbeat(time.Hour)
				s.rt.Start()
				time.Sleep(time.Until(from.Add(48*time.Hour + time.Second)))
				synctest.Wait()
				for i, line := range lines {
					s.wantFired(fmt.Sprintf("s%d", i), line, c.zone, from, c.want[line])
				}
				s.stop()
			})
		})
	}
}

// hourly are the full hours of two days.
func hourly(from time.Time) string {
	var list []string
	for n := range 48 {
		list = append(list, from.Add(time.Duration(n+1)*time.Hour).Format("02 15:04"))
	}
	return strings.Join(list, ", ")
}

// wantFired compares the runs of a schedule with the ticks that are wanted, and with those that a
// preview shows.
func (s *server) wantFired(name, line, zone string, from time.Time, want string) {
	s.t.Helper()
	table, err := (&jobs.Schedule{Cron: line, Timezone: zone}).Timetable(0)
	if err != nil {
		s.t.Fatal(err)
	}
	var previewed, fired []string
	for at := table.Next(jobs.TimeOf(from)); at <= jobs.TimeOf(from.Add(48*time.Hour)); at = table.Next(at) {
		previewed = append(previewed, at.Std().Format("02 15:04"))
	}
	for _, run := range s.runsFor(name) {
		fired = append(fired, run.ScheduledFor.Std().Format("02 15:04"))
		if late := run.StartedAt.Sub(run.ScheduledFor); late < 0 || late > time.Minute {
			s.t.Errorf("%q: the run for %s started at %s", line, run.ScheduledFor, run.StartedAt)
		}
	}
	if got := strings.Join(fired, ", "); got != want || !slices.Equal(fired, previewed) {
		s.t.Errorf("%q in %s fired at %s,\nwant %s;\na preview has %s", line, zone, got, want,
			strings.Join(previewed, ", "))
	}
}
