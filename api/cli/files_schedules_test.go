package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

const schedulesBefore = `defaults: {timezone: Europe/Berlin}
jobs:
  sync:
    script: x
    schedules:
    - cron: 0 2 * * *
    - {name: often, every: 15m}
schedules:
  acme: {job: sync, cron: '@daily', payload: {customer: acme}}
  gone: {job: sync, every: 1h}
  same: {job: sync, every: 1h}
`

const schedulesAfter = `defaults: {timezone: America/New_York}
jobs:
  sync:
    script: x
    schedules:
    - cron: 30 2 * * *
      catch_up: {mode: all, window: 12h}
schedules:
  acme: {job: sync, cron: '*/5 * * * *', overlap: skip, payload: {customer: acme}}
  same: {job: sync, every: 60m}
  new: {job: sync, every: 1d}
`

func TestADryRunShowsWhatChangesOfSchedules(t *testing.T) {
	p := start(t, t.TempDir())
	file := write(t, p.dir, "jobs.yaml", schedulesBefore)
	o := p.cli("apply", "-f", file).want(0)
	if want := "sync created, version 1\nschedule acme created\nschedule gone created\nschedule same created\n"; o.stdout != want {
		t.Errorf("printed\n%s, want\n%s", o.stdout, want)
	}
	write(t, p.dir, "jobs.yaml", schedulesAfter)
	o = p.cli("apply", "-f", file, "--dry-run", "--prune").want(0)
	want := `~ sync changed, version 1
    ~ schedules[0].cron: "0 2 * * *" → "30 2 * * *"
    ~ schedules[0].timezone: "Europe/Berlin" → "America/New_York"
    + schedules[0].catch_up: {"mode":"all","window":"12h"}
    - schedules[1]: {"name":"often","every":"15m"}
~ schedule acme changed
    ~ cron: "@daily" → "*/5 * * * *"
    ~ timezone: "Europe/Berlin" → "America/New_York"
    + overlap: "skip"
  schedule same unchanged
+ schedule new created
- schedule gone removed
A dry run, nothing was changed: 1 created, 2 changed, 1 unchanged, 1 removed.
`
	if o.stdout != want {
		t.Errorf("printed\n%s, want\n%s", o.stdout, want)
	}
	p.cli("apply", "-f", file, "--prune").want(0).has("schedule acme changed", "schedule gone removed")
	export := p.cli("export").want(0)
	export.has("schedules:\n      - cron: \"30 2 * * *\"\n        timezone: America/New_York\n", "\nschedules:\n  - name: acme\n    job: sync\n")
	for name, text := range map[string]string{
		"export.yaml": export.stdout, "export.json": p.cli("export", "--json").want(0).stdout,
	} {
		p.cli("apply", "-f", write(t, p.dir, name, text), "--prune", "--dry-run").want(0).has("nothing was changed: 4 unchanged.")
	}
}

func TestFaultsOfSchedulesAreToldWithTheirPlaceInTheFile(t *testing.T) {
	p := start(t, t.TempDir())
	dir := folder(t, map[string]string{
		"a.yaml": "jobs:\n  a: {script: x}\nschedules:\n  one: {job: a, every: 1h}\n",
		"b.yaml": "schedules:\n- name: two\n  job: a\n  every: 1h\n- name: three\n  job: gone\n  every: 1h\n",
	})
	b := filepath.Join(dir, "b.yaml")
	p.cli("apply", "-f", dir).want(1).has(b + ":6:8: schedules[1].job: there is no job gone")
	write(t, dir, "b.yaml", "schedules:\n- {name: one, job: a, every: 1h}\n")
	p.cli("apply", "-f", dir).want(1).has(b + ":2:10: schedules[0].name: the schedule one stands at " + filepath.Join(dir, "a.yaml") + ":4:8 too")
	write(t, dir, "b.yaml", "schedules:\n- name: two\n  job: a\n  cron: */5 * * * *\n")
	p.cli("apply", "-f", dir).want(1).has(b + ":4:1: not YAML: did not find expected alphabetic or numeric character: a text that begins with * wants quotes")
	write(t, dir, "b.yaml", "schedules:\n- name: two\n  job: a\n  cron: 0 0 31 2 *\n  catchup: all\n")
	p.cli("apply", "-f", dir).want(1).has(b+":4:9: schedules[0].cron: ", "never fires", b+`:5:3: schedules[0].catchup: unknown field: want "catch_up"`)
	p.cli("policies", "set", "-f", filepath.Join(dir, "a.yaml")).want(2).has("want a file with policies alone")
}

func TestServeAppliesSchedules(t *testing.T) {
	p := start(t, t.TempDir(), "--apply", write(t, t.TempDir(), "jobs.yaml", schedulesBefore))
	p.cli("export", "--set", "default").want(0).has("\nschedules:\n  - name: acme\n")
	bad := write(t, t.TempDir(), "bad.yaml", "jobs: {a: {script: x}}\nschedules: {b: {job: gone, every: 1h}}\n")
	failed := start(t, t.TempDir(), "--apply", bad)
	if code := failed.exit(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if want := bad + ":2:22: schedules.b.job: there is no job gone"; !strings.Contains(failed.log.String(), want) {
		t.Errorf("it says %s, want %s", failed.log, want)
	}
}
