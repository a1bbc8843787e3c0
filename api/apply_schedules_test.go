package api

import (
	"slices"
	"strings"
	"testing"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// scheduled holds a job with a schedule, one that says the zone of the file, and two by themselves.
const scheduled = `{"defaults":{"timezone":"Europe/Berlin"},` +
	`"jobs":{"a":{"script":"x","schedules":[{"cron":"0 2 * * *"},{"name":"often","every":"15m","payload":{ "n": 1.0 }}]},"b":{"script":"x"}},` +
	`"schedules":{"one":{"job":"a","cron":"@daily","overlap":"skip"},"two":{"job":"b","every":"1h","payload":{ "a":1.10 }}}}`

const scheduledExport = `{"jobs":[{"name":"a","script":{"source":"x"},"schedules":[{"cron":"0 2 * * *","timezone":"Europe/Berlin"},` +
	`{"name":"often","every":"15m","payload":{ "n": 1.0 }}]},{"name":"b","script":{"source":"x"}}],` +
	`"schedules":[{"name":"one","job":"a","cron":"@daily","timezone":"Europe/Berlin","overlap":"skip"},` +
	`{"name":"two","job":"b","every":"1h","payload":{ "a":1.10 }}]}` + "\n"

// schedules are the names of those that stand, sorted.
func (ts *testServer) schedules() string {
	ts.t.Helper()
	var list wire.Schedules
	ts.call("GET", "/v1/schedules", "").want(200).into(&list)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestSchedulesAreAppliedExportedAndComeBack(t *testing.T) {
	ts := newTestServer(t)
	dry := ts.call("POST", "/v1/apply?dry_run=true", scheduled).want(200)
	wantActions(t, dry.actions(), "job a created", "job b created", "schedule one created", "schedule two created")
	if names := ts.schedules(); names != "" {
		t.Fatalf("a dry run made %s", names)
	}
	wantActions(t, ts.call("POST", "/v1/apply", scheduled).want(200).actions(),
		"job a created", "job b created", "schedule one created", "schedule two created")
	if names := ts.schedules(); names != "a:default a:often one two" {
		t.Errorf("there are %s", names)
	}
	export := string(ts.call("GET", "/v1/export", "").want(200).body)
	if export != scheduledExport {
		t.Errorf("the export is\n%s, want\n%s", export, scheduledExport)
	}
	again := ts.call("POST", "/v1/apply", export).want(200)
	wantActions(t, again.actions(), "job a unchanged", "job b unchanged", "schedule one unchanged", "schedule two unchanged")
	if got := string(ts.call("GET", "/v1/export?set=other", "").want(200).body); got != "{\"jobs\":[]}\n" {
		t.Errorf("the export of another set is %s", got)
	}
}

func TestWhatChangesOfASchedulesDocumentIsTold(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", scheduled).want(200)
	for _, step := range []struct{ doc, action, want string }{
		{`{"job":"a","cron":"@daily","timezone":"Europe/Berlin","overlap":"skip","paused":true}`, "unchanged", `[]`},
		{`{"job":"b","cron":"@daily","timezone":"Europe/Berlin","overlap":"skip"}`, "changed", `[{"location":"job","before":"a","after":"b"}]`},
		{`{"job":"b","every":"90m"}`, "changed", `[{"location":"every","after":"1h30m"},{"location":"cron","before":"@daily"},` +
			`{"location":"timezone","before":"Europe/Berlin"},{"location":"overlap","before":"skip"}]`},
		{`{"job":"b","every":"90m","catch_up":{"mode":"all"}}`, "changed", `[{"location":"catch_up","after":{"mode":"all"}}]`},
		{`{"job":"b","every":"90m","catch_up":{"mode":"all","limit":7}}`, "changed", `[{"location":"catch_up.limit","after":7}]`},
	} {
		got := ts.call("POST", "/v1/apply", `{"schedules":{"one":`+step.doc+`}}`).want(200)
		var done wire.Applied
		got.into(&done)
		if text := string(jobs.AppendJSON(nil, done.Items[0].Changes)); done.Items[0].Action != step.action || text != step.want {
			t.Errorf("%s: %s %s, want %s", step.doc, done.Items[0].Action, text, step.want)
		}
	}
}

func TestTheSchedulesOfAJobMakeNoNewVersion(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", scheduled).want(200)
	got := ts.call("POST", "/v1/apply", `{"jobs":{"a":{"script":"x","schedules":[{"name":"often","every":"30m"}]}}}`).want(200)
	if got.field("items.0.action") != "changed" || got.field("items.0.version") != "1" {
		t.Errorf("got %s", got.body)
	}
	if names := ts.schedules(); names != "a:often one two" {
		t.Errorf("there are %s", names)
	}
}

func TestPruneRemovesSchedulesByThemselves(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", scheduled).want(200)
	ts.call("POST", "/v1/apply?set=other", `{"schedules":{"kept":{"job":"a","every":"1h"}}}`).want(200)
	got := ts.call("POST", "/v1/apply?prune=true", `{"jobs":{"a":{"script":"x"},"b":{"script":"x"}},"schedules":{"one":{"job":"a","every":"1h"}}}`)
	wantActions(t, got.want(200).actions(), "job a changed", "job b unchanged", "schedule one changed", "schedule two removed")
	if names := ts.schedules(); names != "kept one" {
		t.Errorf("there are %s", names)
	}
	// With its job go those of other sets too.
	got = ts.call("POST", "/v1/apply?prune=true", `{"jobs":{"b":{"script":"x"}}}`).want(200)
	wantActions(t, got.actions(), "job b unchanged", "job a removed", "schedule one removed", "schedule kept removed")
	if names := ts.schedules(); names != "" {
		t.Errorf("there are %s", names)
	}
}

func TestFaultsOfSchedulesStandWhereTheyAre(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply?set=one", scheduled).want(200)
	for body, want := range map[string]string{
		`{"queues":{"q":{}},"policies":[{"name":"z"}],"schedules":[{"name":"x","job":"a","every":"1h"},{"name":"y","job":"gone","every":"1h"}]}`: "" +
			"body.schedules[1].job: there is no job gone: make it first, or in the same apply",
		`{"schedules":{"x":{"job":"gone","every":"1h"},"y":{"job":"a"}}}`: "body.schedules.y: want exactly one of cron, such as " +
			`"0 2 * * *", and every, such as "15m"`,
		`{"jobs":{"c":{"script":"x","schedules":[{"every":"1h"},{"every":"1h","nam":"x"}]}}}`: "body.jobs.c.schedules[1].nam: unknown field: " +
			`did you mean "name"?`,
		`{"schedules":{"one":{"job":"a","every":"1h"}},"dependencies":{"d":{}}}`:         "body.schedules.one.name: schedule one belongs to the set one",
		`{"defaults":{"timezone":"Mars"},"schedules":{"x":{"job":"a","cron":"@daily"}}}`: "body.defaults.timezone: " + zoneFault(t, "Mars"),
	} {
		var p wire.Problem
		ts.call("POST", "/v1/apply?set=two", body).into(&p)
		var told []string
		for _, f := range p.Errors {
			told = append(told, f.Location+": "+f.Message)
		}
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
	if names := ts.schedules(); names != "a:default a:often one two" {
		t.Errorf("there are %s", names)
	}
}

func zoneFault(t *testing.T, name string) string {
	t.Helper()
	_, err := jobs.LoadZone(name)
	if err == nil {
		t.Fatalf("there is a zone %s", name)
	}
	return err.Error()
}

func TestAJobsListLeavesOutThePayloadsOfSchedules(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", scheduled).want(200)
	if list := string(ts.call("GET", "/v1/jobs", "").want(200).body); strings.Contains(list, "1.0") || !strings.Contains(list, `"name":"often"`) {
		t.Errorf("the list is %s", list)
	}
	if one := string(ts.call("GET", "/v1/jobs/a", "").want(200).body); !strings.Contains(one, `"payload":{ "n": 1.0 }`) {
		t.Errorf("the job is %s", one)
	}
}

func TestANarrowedTokenAppliesSchedulesOfItsOwnJobs(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", scheduled).want(200)
	mine := as(ts.token(`{"name":"mine","scopes":["admin"],"jobs":["a*"]}`))
	apply := func(body, want string) {
		t.Helper()
		var p wire.Problem
		a := ts.call("POST", "/v1/apply", body, mine...)
		a.problem(probInvalid)
		a.into(&p)
		if len(p.Errors) != 1 || p.Errors[0].Location+": "+p.Errors[0].Message != want {
			t.Errorf("%s: %+v, want %s", body, p.Errors, want)
		}
	}
	apply(`{"schedules":[{"name":"x","job":"b","every":"1h"}]}`, "body.schedules[0].job: the token does not reach a job of this name")
	apply(`{"schedules":{"new":{"job":"a","every":"1h"},"two":{"job":"a","every":"1h"}}}`,
		"body.schedules.two.name: a schedule of this name stands, and the token does not reach its job")
	got := ts.call("POST", "/v1/apply", `{"schedules":{"new":{"job":"a","every":"1h"},"one":{"job":"a","every":"2h"}}}`, mine...).want(200)
	wantActions(t, got.actions(), "schedule new created", "schedule one changed")
	export := string(ts.call("GET", "/v1/export", "", mine...).want(200).body)
	if !strings.HasSuffix(export, `"schedules":[{"name":"new","job":"a","every":"1h"},{"name":"one","job":"a","every":"2h"}]}`+"\n") {
		t.Errorf("the export is %s", export)
	}
}
