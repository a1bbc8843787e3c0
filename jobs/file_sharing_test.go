package jobs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sharedDocs are the documents of queues and dependencies of a file, one a line.
func sharedDocs(f *File) string {
	var lines []string
	for _, q := range f.Queues {
		lines = append(lines, "queue "+string(q.Document()))
	}
	for _, d := range f.Dependencies {
		lines = append(lines, "dependency "+string(d.Document()))
	}
	return strings.Join(lines, "\n")
}

func TestFilesHoldQueuesAndDependenciesAsListsOrMaps(t *testing.T) {
	want := `queue {"name":"etl","concurrency":2}
queue {"name":"mail"}
dependency {"name":"stripe","concurrency":5,"rate":{"limit":100,"per":"1m"},"breaker":{"failures":3}}
dependency {"name":"api.example.com:443","concurrency":null,"breaker":null}
dependency {"name":"[::1]:8080"}`
	for _, text := range []string{
		`queues:
  - {name: etl, concurrency: 2}
  - {name: mail, concurrency: null, paused: true}
dependencies:
  - {name: stripe, concurrency: 5, rate: {limit: 100, per: 60s}, breaker: {failures: 3, open_for: null}}
  - {name: 'api.example.com:443', concurrency: null, breaker: ~}
  - {name: '[::1]:8080', state: open, set: other}
`,
		`queues: {etl: {concurrency: 2}, mail: {}}
dependencies:
  stripe: {concurrency: 5, rate: {limit: 100, per: 1m}, breaker: {failures: 3}}
  api.example.com:443:
    concurrency:
    breaker:
  "[::1]:8080": {name: '[::1]:8080'}
`,
		`{"queues":{"etl":{"concurrency":2},"mail":{}},"dependencies":{"stripe":{"concurrency":5,"rate":{"limit":100,"per":"1m"},
			"breaker":{"failures":3}},"api.example.com:443":{"concurrency":null,"breaker":null},"[::1]:8080":{}}}`,
	} {
		f, err := ParseFile("f", []byte(text))
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if diff := cmp.Diff(want, sharedDocs(f)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
		if limit := f.Dependencies[2].Concurrency; limit == nil || *limit != DefaultHostConcurrency {
			t.Errorf("%s\nthe host has not the concurrency of hosts", text)
		}
		names := strings.Join(append(f.Names(RefQueue), f.Names(RefDependency)...), " ")
		if names != "etl mail stripe api.example.com:443 [::1]:8080" {
			t.Errorf("the names are %s", names)
		}
	}
}

func TestFilesTellWhereQueuesAndDependenciesAreWrong(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"queues: 5\n", "f:1:9: queues: want a list of queues, or a map of queues by name, got a number"},
		{"dependencies: x\n", "f:1:15: dependencies: want a list of dependencies, or a map of dependencies by name, got a string"},
		{"dependencies: [stripe]\n", `f:1:16: dependencies[0]: want an object such as {"name": "stripe", "concurrency": 5}, got a string`},
		{"queues:\n- {}\n", "f:2:3: queues[0]: want a name"},
		{"queues:\n  Big: {}\n", "f:2:8: queues.Big.name: " + errName.Error()},
		{
			"queues:\n  a: {concurrency: 0}\n  b: {concurrency: many}\n",
			"f:2:20: queues.a.concurrency: is 0: want a whole number from 1 to 10000, or null for no limit; so that nothing starts, pause it\n" +
				"f:3:20: queues.b.concurrency: want a whole number, got a string",
		},
		{"dependencies:\n  API.example.com:443: {}\n", `f:2:24: dependencies["API.example.com:443"].name: want it as "api.example.com:443"`},
		{"dependencies:\n  a: {name: b}\n", "f:2:3: dependencies.a: its name is another than the key that it stands under"},
		{
			"dependencies:\n- name: a\n  rate: {limit: 1, per: 1m, key: x}\n- name: a\n  breaker: {failures: 0, max_open: 1s}\n",
			"f:3:29: dependencies[0].rate.key: unknown field: the rate of a dependency is one for all that name it: a key goes with the rate of a job\n" +
				"f:4:9: dependencies[1].name: this name stands at dependencies[0] too, on line 2\n" +
				"f:5:23: dependencies[1].breaker.failures: is 0: want a whole number from 1 to 1000\n" +
				"f:5:36: dependencies[1].breaker.max_open: is 1s: want no less than open_for, which is 30s",
		},
		{"dependency: {a: {}}\njobs: []\n", `f:1:1: dependency: unknown field: did you mean "dependencies"?`},
		{"queue: etl\njobs: []\n", "f:1:1: queue: unknown field: it belongs to a job, in the list or map below jobs"},
		{"concurrency: {limit: 1}\njobs: []\n", "f:1:1: concurrency: unknown field: it belongs to a job, in the list or map below jobs"},
		{"defaults: {breaker: {}}\nqueues: []\n", "f:1:12: defaults.breaker: unknown field: it belongs to a dependency, which the job names in dependencies"},
	} {
		_, err := ParseFile("f", []byte(tt.text))
		got := errText(err)
		if got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestAnExportOfQueuesAndDependenciesComesBack(t *testing.T) {
	text := `{"queues":[{"name":"etl","concurrency":2},{"name":"on"}],"dependencies":[{"name":"stripe","concurrency":5,` +
		`"rate":{"limit":100,"per":"1m"},"breaker":{"failures":3}},{"name":"1.2.3.4:80","concurrency":null,"rate":null,` +
		`"breaker":null},{"name":"[::1]:8080","breaker":{}}],"jobs":[]}`
	out, err := ToYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFile("f", out)
	if err != nil {
		t.Fatalf("%s\n%v", out, err)
	}
	want := `queue {"name":"etl","concurrency":2}
queue {"name":"on"}
dependency {"name":"stripe","concurrency":5,"rate":{"limit":100,"per":"1m"},"breaker":{"failures":3}}
dependency {"name":"1.2.3.4:80","concurrency":null,"rate":null,"breaker":null}
dependency {"name":"[::1]:8080","breaker":{}}`
	if diff := cmp.Diff(want, sharedDocs(f)); diff != "" {
		t.Errorf("%s\n%s", out, diff)
	}
}

func TestDiffTellsNullFromLeftOut(t *testing.T) {
	before, _ := ParseDependency([]byte(`{"name":"a:1"}`))
	after, _ := ParseDependency([]byte(`{"name":"a:1","concurrency":null,"breaker":{"open_for":"60s"}}`))
	want := []Change{{"concurrency", nil, Raw("null")}, {"breaker", nil, Raw(`{"open_for":"1m"}`)}}
	if diff := cmp.Diff(want, Diff(before.Document(), after.Document())); diff != "" {
		t.Error(diff)
	}
}
