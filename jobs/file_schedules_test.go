package jobs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scheduleDocs are the documents of schedules of a file, those of its jobs first, one a line.
func scheduleDocs(f *File) string {
	var lines []string
	for _, j := range f.Jobs {
		for i := range j.Schedules {
			s := &j.Schedules[i]
			lines = append(lines, ScheduleName(j.Name, s.Name)+" "+string(s.Document()))
		}
	}
	for _, s := range f.Schedules {
		lines = append(lines, "schedule "+string(s.Document()))
	}
	return strings.Join(lines, "\n")
}

func TestFilesHoldSchedulesAsListsOrMaps(t *testing.T) {
	want := `schedule {"name":"night","job":"sync","cron":"0 2 * * *","timezone":"Europe/Berlin","catch_up":{"mode":"all"}}
schedule {"name":"often","job":"sync","every":"15m","payload":{"a":1.0}}`
	for _, text := range []string{
		`schedules:
- {name: night, job: sync, cron: 0 2 * * *, timezone: Europe/Berlin, catch_up: {mode: all}, overlap: null}
- {name: often, job: sync, every: 15m, payload: {a: 1.0}, paused: true, next: 2026-01-01}
`,
		`schedules:
  night:
    job: sync
    cron: 0 2 * * *
    timezone: Europe/Berlin
    catch_up:
      mode: all
  often: {name: often, job: sync, every: 900s, payload: {a: 1.0}}
`,
		`{"schedules":{"night":{"job":"sync","cron":"0 2 * * *","timezone":"Europe/Berlin","catch_up":{"mode":"all"}},
			"often":{"job":"sync","every":"15m","payload":{"a":1.0}}}}`,
	} {
		f, err := ParseFile("f", []byte(text))
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if diff := cmp.Diff(want, scheduleDocs(f)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
		if names := strings.Join(f.Names(RefSchedule), " "); names != "night often" {
			t.Errorf("the names are %s", names)
		}
	}
}

func TestTheDefaultTimeZoneIsForCronLinesThatSayNone(t *testing.T) {
	f, err := ParseFile("f", []byte(`defaults: {timezone: Europe/Berlin, priority: 5}
jobs:
  a:
    script: x
    schedules:
    - {cron: 0 2 * * *}
    - {name: own, cron: 0 2 * * *, timezone: America/New_York}
    - {name: none, cron: 0 3 * * *, timezone: null}
    - {name: utc, cron: '@daily', timezone: UTC}
    - {name: every, every: 15m}
schedules:
- {name: c, job: a, cron: '@hourly'}
- {name: d, job: a, every: 1h}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `a:default {"cron":"0 2 * * *","timezone":"Europe/Berlin"}
a:own {"name":"own","cron":"0 2 * * *","timezone":"America/New_York"}
a:none {"name":"none","cron":"0 3 * * *","timezone":"Europe/Berlin"}
a:utc {"name":"utc","cron":"@daily","timezone":"UTC"}
a:every {"name":"every","every":"15m"}
schedule {"name":"c","job":"a","cron":"@hourly","timezone":"Europe/Berlin"}
schedule {"name":"d","job":"a","every":"1h"}`
	if diff := cmp.Diff(want, scheduleDocs(f)); diff != "" {
		t.Error(diff)
	}
	if f.Jobs[0].Priority != 5 {
		t.Error("fields of jobs beside it do not count")
	}
}

func TestSchedulesMayBeDefaultsOfJobs(t *testing.T) {
	f, err := ParseFile("f", []byte(`defaults: {timezone: Asia/Tokyo, schedules: [{cron: 0 2 * * *, payload: {a: 1}}]}
jobs:
  a: {script: x}
  b: {script: x, schedules: [{name: own, every: 1h}]}
  c: {script: x, schedules: []}
  d: {script: x}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `a:default {"cron":"0 2 * * *","timezone":"Asia/Tokyo","payload":{"a":1}}
b:own {"name":"own","every":"1h"}
d:default {"cron":"0 2 * * *","timezone":"Asia/Tokyo","payload":{"a":1}}`
	if diff := cmp.Diff(want, scheduleDocs(f)); diff != "" {
		t.Error(diff)
	}
}

func TestFilesTellWhereSchedulesAreWrong(t *testing.T) {
	job := "jobs: {a: {script: x}}\n"
	for _, tt := range []struct{ text, want string }{
		{"schedules: 5\n", "f:1:12: schedules: want a list of schedules, or a map of schedules by name, got a number"},
		{"schedules: ['@daily']\n", `f:1:13: schedules[0]: want an object such as {"cron": "0 2 * * *", "timezone": "Europe/Berlin"}, got a string`},
		{"schedules:\n- {job: a, every: 1h}\n", "f:2:3: schedules[0]: want a name"},
		{"schedules:\n  A: {job: a, every: 1h}\n", "f:2:6: schedules.A.name: " + errName.Error()},
		{"schedules:\n  a:b: {job: a, every: 1h}\n", `f:2:8: schedules["a:b"].name: ` + checkScheduleName("a:b").Error()},
		{"schedules:\n  a: {every: 1h}\n", "f:2:6: schedules.a.job: is missing: want the name of the job whose runs it makes"},
		{
			"schedules:\n- {name: a, job: j, every: 1h}\n- {name: a, job: j, every: 1h}\n",
			"f:3:10: schedules[1].name: this name stands at schedules[0] too, on line 2",
		},
		{
			"schedules:\n  a:\n    job: a\n    overlap: never\n  b:\n    job: a\n    every: 1h\n    catch_up:\n      limit: 0\n",
			`f:3:5: schedules.a: want exactly one of cron, such as "0 2 * * *", and every, such as "15m"` + "\n" +
				`f:4:14: schedules.a.overlap: is "never": want one of queue, skip, replace, allow` + "\n" +
				"f:9:14: schedules.b.catch_up.limit: is 0: want a whole number from 1 to 10000",
		},
		{
			"jobs:\n  a:\n    script: x\n    schedules:\n    - every: 1h\n      job: a\n    - every: 0s\n",
			"f:6:12: jobs.a.schedules[0].job: want none here: it makes runs of the job that it stands in. A schedule with a job stands by " +
				"itself: below schedules of a file, or at /v1/schedules/NAME\n" +
				"f:7:7: jobs.a.schedules[1]: want a name: without one it is called default, as schedules[0] is\n" +
				"f:7:14: jobs.a.schedules[1].every: is 0s: want a duration of whole seconds from 1s to 3653d",
		},
		{"defaults: {timezone: Berlin}\n" + job + "schedules: {a: {job: a, cron: '@daily'}, b: {job: a, cron: '@daily'}}\n", "f:1:22: defaults.timezone: " + zoneText(t, "Berlin")},
		{"defaults: {timezone: 5}\n" + job, "f:1:22: defaults.timezone: want a string, got a number: put it in double quotes"},
		{"defaults: {timezone: UTC}\n", "f: holds nothing to apply: " + wantWork},
		{"timezone: UTC\n" + job, "f:1:1: timezone: unknown field: it belongs below defaults, or to a schedule"},
		{"cron: '@daily'\n" + job, "f:1:1: cron: unknown field: it belongs to a schedule, below schedules of the file or of a job"},
		{"schedule: {}\n" + job, `f:1:1: schedule: unknown field: did you mean "schedules"?`},
	} {
		_, err := ParseFile("f", []byte(tt.text))
		if got := errText(err); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// zoneText is what is said of a zone that does not exist.
func zoneText(t *testing.T, name string) string {
	t.Helper()
	_, err := LoadZone(name)
	if err == nil {
		t.Fatalf("there is a zone %s", name)
	}
	return err.Error()
}

func TestAnExportOfSchedulesComesBack(t *testing.T) {
	text := `{"jobs":[{"name":"a","script":{"source":"x"},"schedules":[{"cron":"* * * * *"},{"name":"b","cron":"*/5 0-6 * * mon#2"},` +
		`{"name":"c","cron":"@daily","timezone":"Europe/Berlin","payload":{ "a" : 1.10 }}]}],` +
		`"schedules":[{"name":"d","job":"a","cron":"0 2 L * *","start":"2026-01-01T00:00:00.000Z"},{"name":"e","job":"a","every":"1h30m"}]}`
	out, err := ToYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFile("f", out)
	if err != nil {
		t.Fatalf("%s\n%v", out, err)
	}
	want := `a:default {"cron":"* * * * *"}
a:b {"name":"b","cron":"*/5 0-6 * * mon#2"}
a:c {"name":"c","cron":"@daily","timezone":"Europe/Berlin","payload":{ "a" : 1.10 }}
schedule {"name":"d","job":"a","cron":"0 2 L * *","start":"2026-01-01T00:00:00.000Z"}
schedule {"name":"e","job":"a","every":"1h30m"}`
	if diff := cmp.Diff(want, scheduleDocs(f)); diff != "" {
		t.Errorf("%s\n%s", out, diff)
	}
}
