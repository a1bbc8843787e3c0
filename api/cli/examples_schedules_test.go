package cli_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quickSchedules is the file of examples/schedules, with what ticks each few seconds made quicker:
// who tries it by hand wants to read what comes.
func quickSchedules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(example(t, "schedules/jobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	quick := string(text)
	for slow, fast := range map[string]string{
		"every: 5s": "every: 1s", "every: 10s": "every: 1s", "sleep 7": "sleep 2",
	} {
		if !strings.Contains(quick, slow) {
			t.Fatalf("there is no %q", slow)
		}
		quick = strings.ReplaceAll(quick, slow, fast)
	}
	return write(t, t.TempDir(), "jobs.yaml", quick)
}

func TestSchedulesExampleMakesUpForAnOutage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "--apply", quickSchedules(t))
	p.cli("schedules").want(0).has("nightly-sync:night", "at 02:30, Monday to Friday, Europe/Berlin",
		"poll-inbox:default", "report-acme", "America/New_York", "report-small")
	p.until("a look at the inbox takes too long", func() bool {
		return strings.Contains(p.cli("schedules", "ticks", "poll-inbox:default").want(0).stdout, "skipped (overlap)")
	})
	p.until("a count", func() bool { return len(p.ticks("count-usage:default")) > 0 })
	p.stop(syscall.SIGTERM)
	down := time.Now()
	p.until("six ticks have passed", func() bool { return time.Since(down) > 6*time.Second })
	p = start(t, dir)
	var caughtUp []aTick
	p.until("the ticks of the outage are decided", func() bool {
		all := p.ticks("count-usage:default")
		caughtUp = slices.DeleteFunc(slices.Clone(all), func(tick aTick) bool { return tick.Outcome != "caught_up" })
		return len(caughtUp) >= 3
	})
	p.cli("schedules", "ticks", "count-usage:default").want(0).has("skipped (limit)")
	if len(caughtUp) != 3 {
		t.Errorf("caught up: %+v", caughtUp)
	}
	slices.Reverse(caughtUp) // the newest is the last
	for _, tick := range caughtUp {
		if run := p.end(tick.Run); run.State != "succeeded" {
			t.Errorf("the run for %s: %s", tick.At, run.State)
		}
		p.cli("logs", tick.Run).want(0).has("usage up to "+tick.At, "late: true")
	}
	p.until("the poller's ticks are told of", func() bool {
		return strings.Contains(p.cli("events").want(0).stdout, "schedule/poll-inbox:default")
	})
}

func TestSchedulesExampleLetsAnApplicationKeepThoseOfItsCustomers(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--apply", quickSchedules(t))
	p.cli("apply", "-f", example(t, "schedules/jobs.yaml"), "--dry-run").want(0).has("4 unchanged", "2 changed")
	p.cli("schedules", "preview", "0 18 LW * *", "--timezone", "Europe/Berlin", "--count", "3").want(0).has("18:00:00 +0")
	made, _ := p.cli("tokens", "create", "portal", "--scope", "enqueue", "--jobs", "report", "--json").want(0).json()["secret"].(string)
	set := write(t, t.TempDir(), "lamps.yaml",
		`schedules: [{name: report-lamps, job: report, cron: "0 9 * * mon", timezone: Asia/Tokyo, payload: {customer: lamps}}]`)
	p.cli("schedules", "set", "-f", set, "--token", made).want(0).has("schedule report-lamps created", "Asia/Tokyo")
	if got := p.cli("run", "report", "--payload", `{"customer": "lamps"}`, "--wait").want(0).stdout; got != "a report for lamps\n" {
		t.Errorf("printed %q", got)
	}
}
