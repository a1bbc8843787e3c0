package api

import (
	"context"
	"strings"
	"testing"

	"nightshift/api/client"
	"nightshift/jobs"
)

func TestAlertsAreMadeReplacedAndDeleted(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/tell", `{"script":{"source":"x"}}`).want(201)
	const doc = `{"name":"failures","on":["run.failed","run.recovered"],"run":"tell","throttle":"5m"}`
	made := ts.call("POST", "/v1/alerts", doc).want(201)
	if made.header.Get("Location") != "/v1/alerts/failures" || made.header.Get("ETag") != `"1"` {
		t.Errorf("headers: %v", made.header)
	}
	ts.call("POST", "/v1/alerts", doc).problem(probExists)
	ts.call("POST", "/v1/alerts", `{"on":["run.failed"],"run":"tell"}`).problem(probInvalid)
	// The answer may be sent back: state is ignored.
	if a := ts.call("PUT", "/v1/alerts/failures", string(made.body)).want(200); a.header.Get("ETag") != `"1"` {
		t.Errorf("the same document again changed it: %s", a.body)
	}
	const other = `{"on":["run.failed"],"run":"tell","after":3}`
	ts.call("PUT", "/v1/alerts/failures", other, "If-Match", `"9"`).problem(probStale)
	ts.call("PUT", "/v1/alerts/failures", other, "If-None-Match", `*`).problem(probStale)
	if a := ts.call("PUT", "/v1/alerts/failures", other, "If-Match", `"1"`).want(200); a.header.Get("ETag") != `"2"` || a.field("after") != "3" {
		t.Errorf("replaced: %v %s", a.header, a.body)
	}
	ts.call("PUT", "/v1/alerts/none", other, "If-Match", `"1"`).problem(probStale)
	ts.call("GET", "/v1/alerts/failures", "", "If-None-Match", `"2"`).want(304)
	ts.call("PUT", "/v1/alerts/failures", `{"name":"x","on":["run.failed"],"run":"tell"}`).problem(probInvalid)
	ts.call("PUT", "/v1/alerts/Failures", other).problem(probInvalid)
	ts.call("PUT", "/v1/alerts/test", other).want(201) // a name as others: POST alone tests
	if got := ts.call("GET", "/v1/alerts?limit=1", "").want(200); got.field("items.0.name") != "test" || got.field("next") == "" {
		t.Errorf("the list is %s", got.body)
	}
	ts.call("DELETE", "/v1/alerts/test", "").want(204)
	ts.call("GET", "/v1/alerts/absent", "").problem(probNotFound)
	ts.call("DELETE", "/v1/alerts/absent", "").problem(probNotFound)
	ts.call("DELETE", "/v1/alerts/failures", "", "If-Match", `"1"`).problem(probStale)
	ts.call("DELETE", "/v1/alerts/failures", "", "If-Match", `"2"`).want(204)
	ts.call("GET", "/v1/alerts/failures", "").problem(probNotFound)
}

func TestAnAlertAndItsJobGoTogether(t *testing.T) {
	ts := newTestServer(t)
	const alert = `{"on":["run.failed"],"run":"tell"}`
	if p := ts.call("PUT", "/v1/alerts/a", alert).problem(probInvalid); !strings.Contains(p, "body.run: there is no job tell") {
		t.Errorf("it says %q", p)
	}
	ts.call("PUT", "/v1/jobs/other", `{"script":{"source":"x"}}`).want(201)
	ts.call("PUT", "/v1/jobs/tell", `{"script":{"source":"x"},"on_success":[{"job":"other"}]}`).want(201)
	if p := ts.call("PUT", "/v1/alerts/a", alert).problem(probInvalid); !strings.Contains(p, "body.run: job tell has on_success") {
		t.Errorf("it says %q", p)
	}
	ts.call("PUT", "/v1/jobs/tell", `{"script":{"source":"x"}}`).want(200)
	ts.call("PUT", "/v1/alerts/a", alert).want(201)
	p := ts.call("PUT", "/v1/jobs/tell", `{"script":{"source":"x"},"on_success":[{"job":"other"}]}`).problem(probInvalid)
	if !strings.Contains(p, "body.on_success: alert a runs this job") {
		t.Errorf("it says %q", p)
	}
	if p := ts.call("DELETE", "/v1/jobs/tell", "").problem(probNamed); !strings.Contains(p, "job tell is named by alert a") {
		t.Errorf("it says %q", p)
	}
	ts.call("DELETE", "/v1/alerts/a", "").want(204)
	ts.call("DELETE", "/v1/jobs/tell", "").want(200)
}

func TestApplySetsAlertsAndExportGivesThemBack(t *testing.T) {
	ts := newTestServer(t)
	const file = `{"jobs":[{"name":"tell","script":"x"}],"alerts":{"data":{"on":["run.failed","run.recovered"],
"if":"labels.team == \"data\"","run":"tell","after":2,"key":"labels.customer"},"all":{"on":["disk.low"],"run":"tell"}}}`
	for _, action := range []string{"created", "unchanged"} {
		wantActions(t, ts.call("POST", "/v1/apply", file).actions(), "job tell "+action, "alert data "+action, "alert all "+action)
	}
	export := string(ts.call("GET", "/v1/export", "").want(200).body)
	want := `{"jobs":[{"name":"tell","script":{"source":"x"}}],"alerts":[{"name":"all","on":["disk.low"],"run":"tell"},` +
		`{"name":"data","on":["run.failed","run.recovered"],"if":"labels.team == \"data\"","run":"tell","after":2,` +
		`"key":"labels.customer"}]}` + "\n"
	if export != want {
		t.Errorf("exported\n%s, want\n%s", export, want)
	}
	wantActions(t, ts.call("POST", "/v1/apply?prune=true", export).actions(), "job tell unchanged", "alert all unchanged", "alert data unchanged")
	docs, err := jobs.ParseFile("export", []byte(export))
	if err != nil {
		t.Fatal(err)
	}
	docs.Alerts[1].After = 5
	done, err := client.New(ts.url, ts.admin).Apply(context.Background(), client.Apply{Documents: docs.Documents, DryRun: true})
	if err != nil || len(done.Items) != 3 || done.Items[2].Action != changed || len(done.Items[2].Changes) != 1 ||
		done.Items[2].Changes[0].Location != "after" {
		t.Errorf("a dry run says %+v, %v", done, err)
	}
	const less = `{"jobs":[{"name":"tell","script":"x"}],"alerts":[{"name":"all","on":["disk.low"],"run":"tell"}]}`
	wantActions(t, ts.call("POST", "/v1/apply?prune=true", less).actions(), "job tell unchanged", "alert all unchanged", "alert data removed")
	p := ts.call("POST", "/v1/apply", `{"alerts":{"all":{"on":["disk.low","no.such"],"run":"tell"},"b":{"on":["run.failed"],"run":"gone"}}}`).
		problem(probInvalid)
	if !strings.Contains(p, `body.alerts.all.on[1]: "no.such" is no event`) {
		t.Errorf("it says %q", p)
	}
	p = ts.call("POST", "/v1/apply", `{"alerts":{"b":{"on":["run.failed"],"run":"gone"}}}`).problem(probInvalid)
	if !strings.Contains(p, `body.alerts.b.run: there is no job gone`) {
		t.Errorf("it says %q", p)
	}
	ts.call("PUT", "/v1/alerts/mine", `{"on":["run.failed"],"run":"tell"}`).want(201)
	ts.call("POST", "/v1/apply?set=other", `{"alerts":{"all":{"on":["disk.low"],"run":"tell"}}}`).problem(probSet)
}

func TestANarrowedTokenSeesTheAlertsOfItsJobs(t *testing.T) {
	ts := newTestServer(t)
	for _, job := range []string{"mail-tell", "tell"} {
		ts.call("PUT", "/v1/jobs/"+job, `{"script":{"source":"x"}}`).want(201)
		ts.call("PUT", "/v1/alerts/of-"+job, `{"on":["run.failed"],"run":"`+job+`"}`).want(201)
	}
	narrow := as(ts.token(`{"name":"n","scopes":["admin"],"jobs":["mail-*"]}`))
	list := ts.call("GET", "/v1/alerts", "", narrow...).want(200)
	if list.field("items.0.name") != "of-mail-tell" || list.field("items.1.name") != "" {
		t.Errorf("it sees %s", list.body)
	}
	ts.call("GET", "/v1/alerts/of-mail-tell", "", narrow...).want(200)
	ts.call("GET", "/v1/alerts/of-tell", "", narrow...).problem(probNotFound)
	ts.call("PUT", "/v1/alerts/of-mail-tell", `{"on":["run.failed"],"run":"mail-tell"}`, narrow...).problem(probForbidden)
	ts.call("POST", "/v1/alerts/test", `{"job":"mail-tell"}`, narrow...).problem(probForbidden)
	ts.call("POST", "/v1/apply", `{"alerts":{"x":{"on":["run.failed"],"run":"mail-tell"}}}`, narrow...).problem(probInvalid)
	if export := string(ts.call("GET", "/v1/export", "", narrow...).want(200).body); strings.Contains(export, "of-tell") ||
		!strings.Contains(export, "of-mail-tell") {
		t.Errorf("the export has %s", export)
	}
}
