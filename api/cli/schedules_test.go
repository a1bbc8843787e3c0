package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const scheduleJobs = `
jobs:
  sync:
    script: "true"
    schedules:
      - {cron: "0 3 1 1 *", timezone: Europe/Berlin}
      - {name: often, every: 15m, overlap: skip, catch_up: {mode: all, limit: 20}}
  mail-out: {script: "true"}
`

func scheduled(t *testing.T) *process {
	t.Helper()
	dir := t.TempDir()
	return start(t, dir, "--apply", write(t, dir, "jobs.yaml", scheduleJobs))
}

func TestSchedulesAreListedShownSetAndDeleted(t *testing.T) {
	t.Parallel()
	p := scheduled(t)
	p.cli("schedules").want(0).has("SCHEDULE", "JOB", "WHEN", "NEXT", "LAST", "sync:default", "sync:often",
		"every 15 minutes", "Europe/Berlin", "-01-01 ")
	file := write(t, p.dir, "own.yaml", `
schedules:
  acme: {job: mail-out, cron: "0 3 * * mon-fri", timezone: Europe/Berlin, payload: {customer: acme}, late_after: 2h}
`)
	p.cli("schedules", "set", "-f", file).want(0).has("schedule acme created: at 03:00, Monday to Friday, Europe/Berlin")
	p.cli("schedules", "set", "-f", file).want(0).has("schedule acme saved: ")
	p.cli("schedules", "show", "acme").want(0).has(
		"The schedule acme makes runs of mail-out at 03:00, Monday to Friday, Europe/Berlin. It ticks next in ",
		"by itself", " 03:00:00 +0", ` UTC`, `{"customer":"acme"}`, "late after", "2h", "queue")
	p.cli("schedules", "show", "sync:often").want(0).has("in its job", "all, 20 at most, of the last ", "skip", "15m")
	if o := p.cli("schedules", "--job", "mail-out").want(0); strings.Contains(o.stdout, "sync") || !strings.Contains(o.stdout, "acme") {
		t.Errorf("of one job: %s", o.stdout)
	}
	var list struct {
		Items []struct{ Name, Reads, Next string }
	}
	if err := json.Unmarshal([]byte(p.cli("schedules", "--json").want(0).stdout), &list); err != nil || len(list.Items) != 3 {
		t.Errorf("as JSON: %+v, %v", list, err)
	}
	wrong := write(t, p.dir, "wrong.yaml", "schedules:\n  a: {job: mail-out, every: 1h}\n  b: {job: absent, every: 1h}\n")
	p.cli("schedules", "set", "-f", wrong).want(1).has("wrong.yaml:3:", "absent")
	p.cli("schedules", "set", "-f", write(t, p.dir, "more.yaml", scheduleJobs)).want(2).has("want a file with schedules alone")
	p.cli("schedules", "delete", "sync:often").want(1).has("it is written with the job sync")
	p.cli("schedules", "delete", "acme").want(0).has("acme deleted")
	p.cli("schedules", "show", "acme").want(1).has("there is no such schedule")
	p.cli("schedules", "ticks", "acme").want(1).has("there is no such schedule")
	p.cli("schedules", "--help").want(0).has("preview", "ticks", "pause")
}

func TestSchedulesArePausedAndResumed(t *testing.T) {
	t.Parallel()
	p := scheduled(t)
	p.cli("pause", "schedule/sync:often", "--note", "it moves").want(0).
		has("The schedule sync:often makes runs of sync every 15 minutes. It is paused, its ticks are skipped: it moves.")
	p.cli("schedules").want(0).has("paused: it moves")
	p.cli("resume", "schedule/sync:often").want(0).has("It ticks next in ")
	p.cli("schedules", "pause", "sync:often").want(0).has("It is paused: its ticks are skipped.")
	p.cli("schedules", "resume", "sync:often").want(0).has("It ticks next in ")
	p.cli("pause", "schedule/absent").want(1).has("there is no such schedule")
	p.cli("pause", "sync:often").want(2).has("say schedule/sync:often")
	p.cli("pause", "schedule/A:b").want(2).has("is no schedule's name")
	p.cli("pause", "--help").want(0).has("schedule/JOB:NAME")
}

func TestAPreviewPrintsTheReadingAndInstants(t *testing.T) {
	t.Parallel()
	p := scheduled(t)
	o := p.cli("schedules", "preview", "0 2 * * *", "--timezone", "Europe/Berlin", "--from", "2027-03-26T12:00:00Z",
		"--count", "3").want(0)
	want := "at 02:00, Europe/Berlin\n\n" +
		"Sat 2027-03-27 02:00:00 +01:00  2027-03-27 01:00:00 UTC\n" +
		"Sun 2027-03-28 03:00:00 +02:00  2027-03-28 01:00:00 UTC\n" +
		"Mon 2027-03-29 02:00:00 +02:00  2027-03-29 00:00:00 UTC\n"
	if !strings.HasSuffix(o.stdout, want[strings.Index(want, "\n\n"):]) || !strings.Contains(o.stdout, "02:00") {
		t.Errorf("got\n%s want\n%s", o.stdout, want)
	}
	o = p.cli("schedules", "preview", "--every", "90m", "--from", "2027-01-01T00:00:00Z", "--count", "1").want(0)
	if !strings.HasSuffix(o.stdout, "\n\nFri 2027-01-01 01:30:00 UTC\n") {
		t.Errorf("an interval: %s", o.stdout)
	}
	var out struct {
		Items []time.Time
		Reads string
	}
	o = p.cli("schedules", "preview", "@daily", "--json", "--count", "2").want(0)
	if err := json.Unmarshal([]byte(o.stdout), &out); err != nil || len(out.Items) != 2 || out.Reads == "" {
		t.Errorf("as JSON: %s %v", o.stdout, err)
	}
	p.cli("schedules", "preview", "0 2 * * *").want(0).has("  (in ")
	p.cli("schedules", "preview", "@reboot").want(0).has("It has no tick at a planned instant after that.")
	p.cli("schedules", "preview", "0 0 31 2 *").want(1).has("body.cron: ", "never fires")
	p.cli("schedules", "preview", "0 2 * * *", "--timezone", "Europe/Berlyn").want(1).has("body.timezone: ", "Europe/Berlin")
	p.cli("schedules", "preview").want(2).has("want either a cron line in quotes")
	p.cli("schedules", "preview", "0 2 * * *", "--every", "1h").want(2)
	p.cli("schedules", "preview", "0", "2", "*", "*", "*").want(2)
	p.cli("schedules", "preview", "0 2 * * *", "--from", "tomorrow").want(2).has("--from: ")
	p.cli("schedules", "preview", "--help").want(0).has("--every 90m")
}
