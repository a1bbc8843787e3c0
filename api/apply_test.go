package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

// actions are what an apply said it did, such as "job a created".
func (a *answer) actions() []string {
	a.t.Helper()
	var done wire.Applied
	a.want(200).into(&done)
	var list []string
	for _, item := range done.Items {
		list = append(list, item.Kind+" "+item.Name+" "+item.Action)
	}
	return list
}

func wantActions(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

const both = `{"policies":{"gentle":{"max_attempts":3}},
"jobs":[{"name":"a","script":"x","retry":{"policy":"gentle"}},{"name":"b","webhook":"http://127.0.0.1:9/"}]}`

func TestApplySetsPoliciesAndJobsAtOnce(t *testing.T) {
	ts := newTestServer(t)
	wantActions(t, ts.call("POST", "/v1/apply", both).actions(),
		"policy gentle created", "job a created", "job b created")
	audit := string(ts.call("GET", "/v1/audit", "").body)
	wantActions(t, ts.call("POST", "/v1/apply", both).actions(),
		"policy gentle unchanged", "job a unchanged", "job b unchanged")
	if again := string(ts.call("GET", "/v1/audit", "").body); again != audit {
		t.Errorf("an apply that changes nothing was written down: %s", again)
	}
	if got := ts.call("GET", "/v1/jobs/a", "").field("set"); got != "default" {
		t.Errorf("the set is %q", got)
	}
	if got := ts.call("GET", "/v1/policies/gentle", "").field("set"); got != "default" {
		t.Errorf("the set of the policy is %q", got)
	}
}

func TestADryRunTellsWhatWouldChangeAndChangesNothing(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", both).want(200)
	ts.call("PUT", "/v1/jobs/alone", `{"script":{"source":"x"}}`).want(201)
	before := string(ts.call("GET", "/v1/export", "").body)
	next := `{"policies":[{"name":"gentle","max_attempts":4}],
"jobs":{"a":{"script":"y","timeout":"5m","retry":{"policy":"gentle"}},"c":{"script":"x"},"alone":{"script":"x"}}}`
	got := ts.call("POST", "/v1/apply?dry_run=true&prune=true", next)
	wantActions(t, got.actions(), "policy gentle changed", "job a changed", "job c created", "job alone adopted",
		"job b removed")
	var done wire.Applied
	got.into(&done)
	want := []jobs.Change{
		{Location: "script.source", Before: jobs.Raw(`"x"`), After: jobs.Raw(`"y"`)},
		{Location: "timeout", After: jobs.Raw(`"5m"`)},
	}
	for i, c := range done.Items[1].Changes {
		if c.Location != want[i].Location || string(c.Before) != string(want[i].Before) || string(c.After) != string(want[i].After) {
			t.Errorf("change %d: %s %s → %s", i, c.Location, c.Before, c.After)
		}
	}
	if v := done.Items[1].Version; v == nil || *v != 2 {
		t.Errorf("the version would be %v", v)
	}
	if after := string(ts.call("GET", "/v1/export", "").body); after != before {
		t.Errorf("it changed\n%s to\n%s", before, after)
	}
	ts.call("GET", "/v1/jobs/c", "").problem(probNotFound)
	wantActions(t, ts.call("POST", "/v1/apply?prune=true", next).actions(), "policy gentle changed", "job a changed",
		"job c created", "job alone adopted", "job b removed")
	ts.call("GET", "/v1/jobs/b", "").problem(probNotFound)
}

func TestPruneRemovesOnlyWhatBearsTheSet(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply?set=one", `{"jobs":{"a":{"script":"x"},"b":{"script":"x"}}}`).want(200)
	ts.call("POST", "/v1/apply?set=two", `{"jobs":{"c":{"script":"x"}}}`).want(200)
	ts.call("PUT", "/v1/jobs/d", `{"script":{"source":"x"}}`).want(201)
	wantActions(t, ts.call("POST", "/v1/apply?set=one&prune=true", `{"jobs":{"a":{"script":"x"}}}`).actions(),
		"job a unchanged", "job b removed")
	for _, name := range []string{"a", "c", "d"} {
		ts.call("GET", "/v1/jobs/"+name, "").want(200)
	}
	p := ts.call("POST", "/v1/apply?set=one", `{"jobs":[{"name":"a","script":"y"},{"name":"c","script":"y"}]}`)
	if detail := p.problem(probSet); !strings.Contains(detail, "body.jobs[1].name: job c belongs to the set two") {
		t.Errorf("it says %q", detail)
	}
	if got := ts.call("GET", "/v1/jobs/a", "").field("script.source"); got != "x" {
		t.Errorf("half of it was done: %s", got)
	}
	ts.call("POST", "/v1/apply?set=A", `{"jobs":[]}`).problem(probInvalid)
	ts.call("POST", "/v1/apply?dry_run=yes", `{"jobs":[]}`).problem(probInvalid)
}

func TestANameThatNothingBearsIsRefusedWhereItStands(t *testing.T) {
	ts := newTestServer(t)
	for body, want := range map[string]string{
		`{"jobs":{"a":{"script":"x","retry":{"policy":"gone"}}}}`:         "body.jobs.a.retry.policy: there is no policy gone",
		`{"jobs":[{"name":"a","script":"x","on_success":[{"job":"a"}]}]}`: "body.jobs[0].on_success[0].job: a circle",
		`{"jobs":[{"name":"a","script":"x","on_success":[{"job":"gone"}]}]}`: "body.jobs[0].on_success[0].job: " +
			"there is no job gone",
		`{"defaults":{"retry":{"policy":"gone"}},"jobs":{"a":{"script":"x"}}}`: "body.defaults.retry.policy: there is no",
	} {
		if detail := ts.call("POST", "/v1/apply", body).problem(probInvalid); !strings.HasPrefix(detail, want) {
			t.Errorf("%s: %q, want %q", body, detail, want)
		}
	}
	p := ts.call("PUT", "/v1/jobs/a", `{"script":{"source":"x"},"retry":{"policy":"gone"}}`).problem(probInvalid)
	if !strings.HasPrefix(p, "body.retry.policy: there is no policy gone") {
		t.Errorf("PUT says %q", p)
	}
	ts.call("POST", "/v1/apply", both).want(200)
	if d := ts.call("POST", "/v1/apply?prune=true", `{"jobs":{"a":{"script":"x","retry":{"policy":"gentle"}}}}`).
		problem(probInvalid); !strings.Contains(d, "there is no policy gentle") {
		t.Errorf("it says %q", d)
	}
}

func TestNarrowedTokensApplyToTheirOwnJobsAlone(t *testing.T) {
	ts := newTestServer(t)
	narrow := as(ts.token(`{"name":"n","scopes":["admin"],"jobs":["mail-*"]}`))
	ts.call("POST", "/v1/apply", `{"jobs":{"mail-a":{"script":"x"},"b":{"script":"x"}}}`).want(200)
	wantActions(t, ts.call("POST", "/v1/apply", `{"jobs":{"mail-a":{"script":"x"}}}`, narrow...).actions(), "job mail-a unchanged")
	ts.call("POST", "/v1/apply?dry_run=true", `{"jobs":{"b":{"script":"x"}}}`, narrow...).problem(probInvalid)
	for _, list := range []string{"policies", "queues", "dependencies"} {
		detail := ts.call("POST", "/v1/apply", `{"`+list+`":{"p":{}}}`, narrow...).problem(probInvalid)
		if want := "body." + list + ": a token that is narrowed to some jobs does not reach " + list; !strings.HasPrefix(detail, want) {
			t.Errorf("it says %q", detail)
		}
	}
	ts.call("POST", "/v1/apply?prune=true", `{"jobs":{"mail-a":{"script":"x"}}}`, narrow...).problem(probForbidden)
	if body := string(ts.call("GET", "/v1/export", "", narrow...).body); strings.Contains(body, `"b"`) {
		t.Errorf("the export shows more: %s", body)
	}
}

func TestApplyWarnsOfSecretsThatAreMissing(t *testing.T) {
	ts := newTestServer(t)
	body := `{"jobs":{"a":{"webhook":{"url":"http://127.0.0.1:9/","headers":{"Authorization":"Bearer {{ secrets.SYNC }}"}}}}}`
	var done wire.Applied
	for range 2 {
		ts.call("POST", "/v1/apply", body).want(200).into(&done)
		if len(done.Warnings) != 1 || done.Warnings[0].Name != "a" || !strings.Contains(done.Warnings[0].Message, "the secret SYNC is not set") {
			t.Fatalf("warnings: %v", done.Warnings)
		}
	}
	ts.call("PUT", "/v1/secrets/SYNC", `{"value":"long enough"}`).want(201)
	if ts.call("POST", "/v1/apply", body).want(200).into(&done); len(done.Warnings) != 0 {
		t.Errorf("warnings: %v", done.Warnings)
	}
	ts.call("POST", "/v1/apply", `{"jobs":{"b":{"script":"x","inbound":[{"name":"in","verify":"github","secret":"{{ secrets.GH }}"}]}}}`).into(&done)
	if len(done.Warnings) != 1 || !strings.Contains(done.Warnings[0].Message, "doors") {
		t.Errorf("warnings: %v", done.Warnings)
	}
}

func TestAnExportAppliedAgainChangesNothing(t *testing.T) {
	ts := newTestServer(t)
	doc := func(i int) string {
		odd := []string{"yes", "1.10", "null", "0x1F", "2001-01-01", "a\nb\n", "\ta\n", "a \nb", " x", "é😀\u2028", "a: b #c", "{{x", "\x01", "'\"\\"}
		s := string(jobs.AppendJSONString(nil, odd[i%len(odd)]))
		payload := []string{`{"v":` + s + `}`, `{ "v" : ` + s + ` }`, `[1.10,1e400,-0,` + s + `]`, `{` + s + `:"\u00e9"}`, s}[i%5]
		return fmt.Sprintf(`{"name":"j%d","description":%s,"script":{"source":%s},"payload":%s,"retry":{"rules":[{"if":"output contains \"x\"","then":"fail"}]}}`,
			i, string(jobs.AppendJSONString(nil, strings.Trim(odd[i%len(odd)], "\x01"))), string(jobs.AppendJSONString(nil, strings.Trim(odd[i%len(odd)], "{")+"x")), payload)
	}
	var docs []string
	for i := range 100 {
		docs = append(docs, doc(i))
	}
	ts.call("POST", "/v1/apply", `{"policies":{"p":{"rules":[{"if":"true","then":"retry","after":"2m"}]}},"jobs":[`+strings.Join(docs, ",")+`]}`).want(200)
	text := ts.call("GET", "/v1/export?set=default", "").want(200).body
	yaml, err := jobs.ToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	file, err := jobs.ParseFile("export.yaml", yaml)
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	c := client.New(ts.url, ts.admin)
	done, err := c.Apply(context.Background(), client.Apply{Documents: file.Documents})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range done.Items {
		if item.Action != "unchanged" {
			t.Errorf("%s %s %s: %v", item.Kind, item.Name, item.Action, item.Changes)
		}
	}
	if len(done.Items) != 101 {
		t.Errorf("%d items", len(done.Items))
	}
	if got := string(ts.call("GET", "/v1/export?set=other", "").body); got != "{\"jobs\":[]}\n" {
		t.Errorf("another set: %s", got)
	}
}

// thousand are jobs as a team has them.
func thousand(version int) []*jobs.Job {
	list := make([]*jobs.Job, 1000)
	for i := range list {
		j, err := jobs.ParseJob(fmt.Appendf(nil, `{"name":"job-%d","labels":{"team":"data"},"webhook":{
"url":"https://example.com/hooks/{{ payload.id }}?v=%d","headers":{"X-Tenant":"{{ payload.tenant }}"}},"timeout":"2m",
"retry":{"max_attempts":5,"rules":[{"if":"http.status == 429","then":"retry","max_attempts":20}]}}`, i, version))
		if err != nil {
			panic(err)
		}
		list[i] = j
	}
	return list
}

func BenchmarkApplyOfThousandJobs(b *testing.B) {
	for _, name := range []string{"changed", "unchanged"} {
		b.Run(name, func(b *testing.B) {
			ts := newTestServer(b)
			c := client.New(ts.url, ts.admin)
			version := 0
			all := thousand(version)
			if _, err := c.Apply(context.Background(), client.Apply{Documents: jobs.Documents{Jobs: all}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if name == "changed" {
					b.StopTimer()
					version++
					all = thousand(version)
					b.StartTimer()
				}
				if _, err := c.Apply(context.Background(), client.Apply{Documents: jobs.Documents{Jobs: all}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAnApplyListsABoundedNumberOfFaults(t *testing.T) {
	ts := newTestServer(t)
	var body strings.Builder
	for i := range 700 {
		fmt.Fprintf(&body, `,"j%d":{"script":"x","on_success":[{"job":"gone"}],"retry":{"policy":"gone"}}`, i)
	}
	a := ts.call("POST", "/v1/apply", `{"jobs":{`+body.String()[1:]+`}}`)
	a.problem(probInvalid)
	if got := a.field("errors.1000.message"); got != "and 400 more faults" || a.field("errors.1001.message") != "" {
		t.Errorf("the list ends with %q, %q", got, a.field("errors.1001.message"))
	}
}
