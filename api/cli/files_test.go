package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder makes a folder of files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, text)
	}
	return dir
}

func TestApplyTakesFoldersFilesAndTheStandardInput(t *testing.T) {
	p := start(t, t.TempDir())
	dir := folder(t, map[string]string{
		"b.yaml":      "jobs: {b: {script: x}}\n",
		"a.yml":       "policies: {gentle: {max_attempts: 3}}\n",
		"c.json":      `{"jobs": [{"name": "c", "script": "x", "retry": {"policy": "gentle"}}]}`,
		"notes.txt":   "not a job file",
		".b.yaml":     "{",
		"sub/d.yaml":  "jobs: {d: {script: x}}\n",
		"x.yaml/no":   "",
		"README.yaml": "defaults: {queue: slow}\njobs: {e: {script: x}}\n",
	})
	more := write(t, t.TempDir(), "more.yaml", "jobs: {f: {script: x}}\n")
	o := run(t, p.dir, "jobs: {g: {script: x}}\n", []string{"NIGHTSHIFT_SERVER=" + p.url}, "apply", "-f", dir, more, "-").want(0)
	want := "policy gentle created\ne created, version 1\nb created, version 1\nc created, version 1\nf created, version 1\ng created, version 1\n"
	if o.stdout != want {
		t.Errorf("printed\n%s, want\n%s", o.stdout, want)
	}
	p.cli("apply", "-f", filepath.Join(dir, "sub", "..", "x.yaml")).want(1).has("holds no job files: no *.yaml, *.yml or *.json")
	o = run(t, p.dir, "jobs: {g: {script: x, timeout: 1}}\n", []string{"NIGHTSHIFT_SERVER=" + p.url}, "apply", "-f", "-").want(1)
	o.has("stdin:1:32: jobs.g.timeout: want a duration")
}

func TestANameInTwoFilesIsOneFaultWithBothPlaces(t *testing.T) {
	p := start(t, t.TempDir())
	dir := folder(t, map[string]string{
		"a.yaml": "jobs:\n- {name: one, script: x}\npolicies: {p: {}}\nqueues: {one: {}}\n",
		"b.yaml": "jobs:\n\n- {script: x, name: one}\n- {name: two, script: x}\npolicies: {p: {}}\nqueues:\n- name: one\n",
	})
	o := p.cli("apply", "-f", dir).want(1)
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	o.has(b+":3:21: jobs[0].name: the job one stands at "+a+":2:10 too", b+":5:15: policies.p.name: the policy p stands at "+a+":3:15 too",
		b+":7:9: queues[0].name: the queue one stands at "+a+":4:15 too")
	if n := strings.Count(o.stderr, "stands at"); n != 3 {
		t.Errorf("%d faults: %s", n, o.stderr)
	}
	p.cli("jobs", "show", "two").want(1)
}

func TestADryRunShowsWhatIsTurnedOff(t *testing.T) {
	p := start(t, t.TempDir())
	file := write(t, p.dir, "shared.yaml", `queues: {etl: {concurrency: 2}, mail: {}}
dependencies:
  stripe: {concurrency: 5, rate: {limit: 100, per: 1m}}
  api.example.com:443: {breaker: null}
`)
	p.cli("apply", "-f", file).want(0)
	write(t, p.dir, "shared.yaml", `queues: {etl: {concurrency: 3}}
dependencies:
  stripe: {concurrency: 5, rate: {limit: 50, per: 1m}, breaker: {failures: 3}}
  api.example.com:443: {concurrency: null}
`)
	o := p.cli("apply", "-f", file, "--dry-run", "--prune").want(0)
	want := `~ queue etl changed
    ~ concurrency: 2 → 3
~ dependency stripe changed
    rate:
      ~ limit: 100 → 50
    + breaker: {"failures":3}
~ dependency api.example.com:443 changed
    + concurrency: null
    - breaker: null
- queue mail removed
A dry run, nothing was changed: 3 changed, 1 removed.
`
	if o.stdout != want {
		t.Errorf("printed\n%s, want\n%s", o.stdout, want)
	}
	p.cli("export").want(0).has("queues:\n  - name: etl\n    concurrency: 2\n", "  - name: api.example.com:443\n    breaker: null\n")
	p.cli("apply", "-f", file, "--prune").want(0).has("queue mail removed")
	p.cli("export", "--set", "default").want(0).has("    concurrency: null\n")
	p.cli("apply", "-f", file, "--set", "other").want(1).has(
		file+":1:15: queues.etl.name: queue etl belongs to the set default",
		file+":4:24: dependencies[\"api.example.com:443\"].name: dependency api.example.com:443 belongs to the set default")
	p.cli("policies", "set", "-f", write(t, p.dir, "more.yaml", "policies: {p: {}}\nqueues: {q: {}}\n")).want(2).
		has("want a file with policies alone")
}

func TestWhatOnlyTheServerKnowsIsToldWithItsPlaceInTheFile(t *testing.T) {
	p := start(t, t.TempDir())
	dir := folder(t, map[string]string{
		"a.yaml": "jobs:\n  fine: {script: x}\n",
		"b.yaml": "jobs:\n  lost:\n    script: x\n    retry: {policy: gone}\n",
	})
	p.cli("apply", "-f", dir).want(1).has(filepath.Join(dir, "b.yaml") + ":4:21: jobs.lost.retry.policy: there is no policy gone")
	p.cli("jobs", "show", "fine").want(1)
	one := write(t, dir, "one.yaml", "jobs:\n- {name: mine, script: x}\n")
	p.cli("apply", "-f", one, "--set", "first").want(0)
	p.cli("apply", "-f", one, "--set", "second").want(1).has(one + ":2:10: jobs[0].name: job mine belongs to the set first")
	p.cli("apply", "-f", one, "--set", "No").want(1).has("query.set")
}

const before = `policies:
  gentle: {max_attempts: 3}
jobs:
  same: {script: x}
  gone: {script: x}
  report:
    script: |
      #!/bin/sh
      one
      two
      three
      four
      five
      six
    timeout: 1m
    labels: {team: data, tier: one}
    retry: {policy: gentle, max_attempts: 3}
`

const after = `policies:
  gentle: {max_attempts: 4}
jobs:
  same: {script: x}
  new: {script: x}
  report:
    script: |
      #!/bin/sh
      one
      two
      three
      4
      five
      six
    timeout: 2m
    labels: {team: web}
    retry: {policy: gentle, max_attempts: 3, rules: [{if: attempt > 2, then: fail}]}
`

func TestADryRunShowsTheDifference(t *testing.T) {
	p := start(t, t.TempDir())
	file := write(t, p.dir, "jobs.yaml", before)
	p.cli("apply", "-f", file).want(0)
	write(t, p.dir, "jobs.yaml", after)
	o := p.cli("apply", "-f", file, "--dry-run", "--prune").want(0)
	want := `~ policy gentle changed
    ~ max_attempts: 3 → 4
  same unchanged, version 1
+ new created, version 1
~ report changed, version 2
    labels:
      ~ team: "data" → "web"
      - tier: "one"
    script:
      ~ source:
            …
            two
            three
          - four
          + 4
            five
            six
    ~ timeout: "1m" → "2m"
    retry:
      + rules: [{"if":"attempt > 2","then":"fail"}]
- gone removed
A dry run, nothing was changed: 1 created, 2 changed, 1 unchanged, 1 removed.
`
	if o.stdout != want {
		t.Errorf("printed\n%s, want\n%s", o.stdout, want)
	}
	p.cli("jobs", "show", "gone").want(0)
	p.cli("apply", "-f", file, "--prune").want(0).has("report changed, version 2", "gone removed")
	p.cli("jobs", "show", "gone").want(1)
	p.cli("apply", "-f", file, "--prune", "--dry-run").want(0).has("nothing was changed: 4 unchanged.")
}

func TestExportRoundTripsThroughTheCommandLine(t *testing.T) {
	p := start(t, t.TempDir())
	file := write(t, p.dir, "jobs.yaml", before)
	p.cli("apply", "-f", file).want(0)
	odd := `{ "a" : 1.10, "b": ["yes", "0x1F", "a \n\tb", "\u00e9"], "null": null }`
	p.cli("apply", "-f", write(t, p.dir, "odd.json", `{"jobs":{"odd":{"script":"x","payload":`+odd+`}}}`)).want(0)
	export := p.cli("export").want(0)
	export.has("policies:\n  - name: gentle\n", "      source: |\n        #!/bin/sh\n", "payload: !json '{ \"a\" : 1.10")
	for name, text := range map[string]string{
		"export.yaml": export.stdout, "export.json": p.cli("export", "--json").want(0).stdout,
	} {
		again := p.cli("apply", "-f", write(t, p.dir, name, text), "--prune", "--dry-run", "--json").want(0).json()
		items := again["items"].([]any)
		for _, item := range items {
			if item.(map[string]any)["action"] != "unchanged" {
				t.Errorf("%s: %v", name, item)
			}
		}
		if len(items) != 5 {
			t.Errorf("%s: %d items", name, len(items))
		}
	}
	p.cli("export", "--set", "other").want(0).has("jobs: []")
}

func TestSchemaIsPrintedWithoutAServer(t *testing.T) {
	o := run(t, t.TempDir(), "", nil, "schema").want(0)
	if v := o.json(); v["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("printed %v", v["$schema"])
	}
}

func TestPoliciesAreSetShownListedAndDeleted(t *testing.T) {
	p := start(t, t.TempDir())
	file := write(t, p.dir, "policies.yaml", "policies:\n  gentle:\n    max_attempts: 3\n    rules: [{if: http.status == 429, then: retry, after: 2m}]\n")
	p.cli("policies", "set", "-f", file).want(0).has("policy gentle created")
	p.cli("policies", "set", "-f", file).want(0).has("policy gentle saved")
	p.cli("policies", "set", "-f", write(t, p.dir, "j.yaml", before)).want(2).has("want a file with policies alone")
	p.cli("policies").want(0).has("gentle", "default", "built in")
	p.cli("policies", "show", "gentle").want(0).has(`"after": "2m"`)
	p.cli("policies", "show", "default").want(0).has(`"built_in": true`)
	p.cli("policies", "show", "absent").want(1)
	job := write(t, p.dir, "job.yaml", "jobs:\n  a: {script: x, retry: {policy: gentle, max_attempts: 2, backoff: {base: 5s}}}\n")
	p.cli("apply", "-f", job).want(0)
	p.cli("policies", "delete", "gentle").want(1).has("policy gentle is named by job a")
	o := p.cli("jobs", "show", "a").want(0)
	o.has(`"policy": "gentle"`, "backoff.base    5s           job", "backoff.max     30m          policy default", "policy gentle rule 1", "reported", "policy default rule 1")
	if v := p.cli("jobs", "retry", "a", "--json").want(0).json(); v["max_attempts"].(map[string]any)["from"] != "job" {
		t.Errorf("it goes by %v", v)
	}
	p.cli("jobs", "show", "a", "--json").want(0).json()
	p.cli("jobs", "delete", "a").want(0)
	p.cli("policies", "delete", "gentle").want(0)
	p.cli("policies", "delete", "default").want(0).has("as it is built in")
}

func TestServeAppliesAFolderInTheSetDefault(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": "policies: {p: {max_attempts: 2}}\nqueues: {etl: {concurrency: 1}}\n", "b.yaml": "jobs: {a: {script: x, retry: {policy: p}}}\n"})
	p := start(t, t.TempDir(), "--apply", dir)
	if v := p.cli("jobs", "show", "a", "--json").want(0).json(); v["set"] != "default" {
		t.Errorf("the set is %v", v["set"])
	}
	p.cli("export", "--set", "default").want(0).has("queues:\n  - name: etl\n    concurrency: 1\n")
	bad := write(t, t.TempDir(), "bad.yaml", "jobs:\n  a: {script: x, retry: {policy: gone}}\n")
	failed := start(t, t.TempDir(), "--apply", bad)
	if code := failed.exit(); code != 1 || !strings.Contains(failed.log.String(), bad+":2:34: jobs.a.retry.policy: there is no policy gone") {
		t.Errorf("exit code %d: %s", code, failed.log)
	}
}
