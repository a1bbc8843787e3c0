package api

import (
	"context"
	"strings"
	"testing"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

const sharing = `{"policies":{"gentle":{"max_attempts":3}},"queues":{"etl":{"concurrency":2},"mail":{}},
"dependencies":[{"name":"stripe","concurrency":5,"rate":{"limit":100,"per":"60s"}},
{"name":"api.example.com:443","concurrency":null,"breaker":null}],
"jobs":[{"name":"a","script":"x","queue":"etl","dependencies":["stripe","lock"],"concurrency":{"limit":1,"key":"payload.a"},
"rate":{"limit":10,"per":"1m"},"unique":{"key":"payload.b","while":"24h","on_conflict":"reject"}}]}`

func TestApplySetsQueuesAndDependencies(t *testing.T) {
	ts := newTestServer(t)
	for _, action := range []string{"created", "unchanged"} {
		wantActions(t, ts.call("POST", "/v1/apply", sharing).actions(),
			"policy gentle "+action, "queue etl "+action, "queue mail "+action, "dependency stripe "+action,
			"dependency api.example.com:443 "+action, "job a "+action)
	}
	export := string(ts.call("GET", "/v1/export", "").want(200).body)
	want := `{"policies":[{"name":"gentle","max_attempts":3}],"queues":[{"name":"etl","concurrency":2},{"name":"mail"}],` +
		`"dependencies":[{"name":"api.example.com:443","concurrency":null,"breaker":null},` +
		`{"name":"stripe","concurrency":5,"rate":{"limit":100,"per":"1m"}}],` +
		`"jobs":[{"name":"a","script":{"source":"x"},"queue":"etl","concurrency":{"limit":1,"key":"payload.a"},` +
		`"rate":{"limit":10,"per":"1m"},"unique":{"key":"payload.b","while":"24h","on_conflict":"reject"},` +
		`"dependencies":["stripe","lock"]}]}` + "\n"
	if export != want {
		t.Errorf("exported\n%s, want\n%s", export, want)
	}
	wantActions(t, ts.call("POST", "/v1/apply?prune=true", export).actions(), "policy gentle unchanged", "queue etl unchanged",
		"queue mail unchanged", "dependency api.example.com:443 unchanged", "dependency stripe unchanged", "job a unchanged")
	if other := string(ts.call("GET", "/v1/export?set=other", "").body); other != "{\"jobs\":[]}\n" {
		t.Errorf("another set holds %s", other)
	}
	yaml, err := jobs.ToYAML([]byte(export))
	if err != nil {
		t.Fatal(err)
	}
	file, err := jobs.ParseFile("export.yaml", yaml)
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	done, err := client.New(ts.url, ts.admin).Apply(context.Background(), client.Apply{Documents: file.Documents, DryRun: true})
	if err != nil || len(done.Items) != 6 {
		t.Fatalf("%v, %v", done, err)
	}
	for _, item := range done.Items {
		if item.Action != unchanged {
			t.Errorf("%s %s %s: %v", item.Kind, item.Name, item.Action, item.Changes)
		}
	}
}

func TestTurningOffIsToldFromSayingNothing(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", `{"dependencies":{"a.b:1":{"concurrency":4}}}`).want(200)
	for _, step := range []struct{ doc, want string }{
		{`{"concurrency":null}`, `[{"location":"concurrency","before":4,"after":null}]`},
		{`{}`, `[{"location":"concurrency","before":null}]`},
		{`{"concurrency":null}`, `[{"location":"concurrency","after":null}]`},
		{`{"concurrency":16}`, `[{"location":"concurrency","before":null,"after":16}]`},
		{`{"concurrency":16,"breaker":{}}`, `[{"location":"breaker","after":{}}]`},
	} {
		var done struct {
			Items []struct{ Changes jobs.Raw }
		}
		got := ts.call("POST", "/v1/apply", `{"dependencies":{"a.b:1":`+step.doc+`}}`).want(200)
		got.into(&done)
		if text := string(done.Items[0].Changes); text != step.want {
			t.Errorf("%s changes %s, want %s", step.doc, text, step.want)
		}
		var typed wire.Applied
		if got.into(&typed); string(jobs.AppendJSON(nil, typed.Items[0].Changes)) != step.want {
			t.Errorf("%s: a client reads %s", step.doc, jobs.AppendJSON(nil, typed.Items[0].Changes))
		}
	}
}

func TestPruneRemovesQueuesAndDependenciesThatJobsName(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply", sharing).want(200)
	ts.call("POST", "/v1/apply?set=other", `{"queues":{"kept":{"concurrency":1}}}`).want(200)
	job := sharing[strings.Index(sharing, `"jobs"`):]
	wantActions(t, ts.call("POST", "/v1/apply?prune=true", "{"+job).actions(), "job a unchanged", "policy gentle removed",
		"queue etl removed", "queue mail removed", "dependency stripe removed", "dependency api.example.com:443 removed")
	if export := string(ts.call("GET", "/v1/export", "").body); !strings.HasPrefix(export, `{"queues":[{"name":"kept","concurrency":1}],"jobs":[{"name":"a"`) {
		t.Errorf("what is left: %s", export)
	}
}

// Faults and conflicts stand where the document is, whatever other kinds are before it.
func TestFaultsOfSharedDocumentsStandWhereTheyAre(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/apply?set=one", `{"policies":{"p":{}},"queues":{"q":{}},"dependencies":{"d":{}}}`).want(200)
	for body, want := range map[string]string{
		`{"queues":[{"name":"a"},{"name":"q"}],"policies":[{"name":"z"}]}`:                   "body.queues[1].name: queue q belongs to the set one",
		`{"dependencies":{"a":{},"d":{}},"queues":[{"name":"a"},{"name":"b"},{"name":"c"}]}`: "body.dependencies.d.name: dependency d belongs to the set one",
		`{"policies":[{"name":"p"}],"queues":[{"name":"q"}],"dependencies":[{"name":"d"}]}`: "body.policies[0].name: policy p belongs to the set one " +
			"body.queues[0].name: queue q belongs to the set one body.dependencies[0].name: dependency d belongs to the set one",
	} {
		var p wire.Problem
		a := ts.call("POST", "/v1/apply?set=two", body)
		a.problem(probSet)
		a.into(&p)
		var told []string
		for _, f := range p.Errors {
			told = append(told, f.Location+": "+f.Message)
		}
		if got := strings.Join(told, " "); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	detail := ts.call("POST", "/v1/apply", `{"queues":{"a":{"concurrency":0}},"dependencies":[{"name":"A.b:1"}],`+
		`"jobs":[{"name":"a","script":"x","unique":{"key":"nope"}}]}`)
	detail.problem(probInvalid)
	var p wire.Problem
	detail.into(&p)
	var places []string
	for _, f := range p.Errors {
		places = append(places, f.Location)
	}
	if got := strings.Join(places, " "); got != "body.queues.a.concurrency body.dependencies[0].name body.jobs[0].unique.key" {
		t.Errorf("got %s", got)
	}
}
