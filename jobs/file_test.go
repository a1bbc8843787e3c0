package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const quickstart = `# comment
jobs:
  - name: hello
    script: |
      #!/bin/sh
      echo "hello {{ }}"
    labels: {team: data, on: yes}
  - name: sync
    webhook:
      url: https://example.com/hooks/sync
      headers: {X-Key: "5"}
    payload: {id: 9007199254740993, price: 1.10, big: 1e400, when: 2026-01-02, no: no, list: [~,
	"1", -0.5E+3]}
    timeout: 90s
    retry:
      max_attempts: 3
      rules:
        - if: http.status == 429
          then: retry
`

func TestParseFileReadsYAML(t *testing.T) {
	f, err := ParseFile("quickstart.yaml", []byte(quickstart))
	if err != nil {
		t.Fatal(err)
	}
	want := []*Job{
		{
			Name: "hello", Labels: map[string]string{"team": "data", "on": "yes"},
			Script: &Script{Source: "#!/bin/sh\necho \"hello {{ }}\"\n"},
		},
		{
			Name: "sync",
			Webhook: &Webhook{
				URL: "https://example.com/hooks/sync", Headers: map[string]string{"X-Key": "5"},
			},
			Payload: Raw(`{"id":9007199254740993,"price":1.10,"big":1e400,"when":"2026-01-02","no":"no",` +
				`"list":[null,"1",-0.5E+3]}`),
			Timeout: new(Duration(90e9)),
			Retry: Retry{
				MaxAttempts: new(3), Rules: []Rule{{If: "http.status == 429", Then: "retry"}},
			},
		},
	}
	if diff := cmp.Diff(want, f.Jobs); diff != "" {
		t.Error(diff)
	}
}

func TestParseFileReadsAMapByNameAndShortForms(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "jobs:\n  a:\n    webhook: http://127.0.0.1:9/\n  b: {name: b, script: 'true'}\n",
		"JSON": `{"jobs": {"a": {"webhook": "http://127.0.0.1:9/"}, "b": {"name": "b", ` +
			`"script": "true"}}}`,
	} {
		f, err := ParseFile("f", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []*Job{
			{Name: "a", Webhook: &Webhook{URL: "http://127.0.0.1:9/"}},
			{Name: "b", Script: &Script{Source: "true"}},
		}
		if diff := cmp.Diff(want, f.Jobs); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestParseFileKeepsThePayloadOfJSONByteForByte(t *testing.T) {
	payload := `{ "a" : 1.10,"b":9007199254740993 , "c":"\u00e9" }`
	f, err := ParseFile("f.json", []byte("\xef\xbb\xbf "+
		"\n{\"jobs\":[{\"name\":\"a\",\"script\":\"x\",\"payload\":"+payload+"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(f.Jobs[0].Payload); got != payload {
		t.Errorf("got %s, want %s", got, payload)
	}
}

const wantWork = "want jobs, schedules, policies, queues, dependencies or alerts, each a list, or a map by name"

func TestParseFileTellsPlaceAndWhatWouldBeRight(t *testing.T) {
	job := func(lines string) string { return "jobs:\n- name: a\n  script: x\n" + lines }
	tests := []struct{ text, want string }{
		{"", "f: holds nothing: the file is empty"},
		{"# nothing\n", "f: holds nothing: the file is empty"},
		{"{}", "f: holds nothing to apply: " + wantWork},
		{"jobs:\n", "f: holds nothing to apply: " + wantWork},
		{"- a\n", "f:1:1: want an object, got a list"},
		{"hello", "f:1:1: want an object, got a string"},
		{"jobs: 5\n", "f:1:7: jobs: want a list of jobs, or a map of jobs by name, got a number"},
		{"jobs: [5]\n", "f:1:8: jobs[0]: want an object, got a number"},
		{"jobs:\n- script: x\n", "f:2:3: jobs[0]: want a name"},
		{"job: []\n", `f:1:1: job: unknown field: did you mean "jobs"?`},
		{"webhook: x\njobs: []\n", "f:1:1: webhook: unknown field: it belongs to a job, in the " +
			"list or map below jobs"},
		{"policies: 5\n", "f:1:11: policies: want a list of policies, or a map of policies by name, " +
			"got a number"},
		{"policies:\n- {max_attempts: 3}\n", "f:2:3: policies[0]: want a name"},
		{"policies:\n  Big: {max_attempts: 3}\n", "f:2:8: policies.Big.name: " + errName.Error()},
		{"policies:\n  a: {policy: b}\n", "f:2:7: policies.a.policy: unknown field: a policy has the " +
			"fields of a job's retry at its top level, and starts from no other"},
		{"policies:\n  a: {max_attempts: 0}\n", "f:2:21: policies.a.max_attempts: is 0: want a whole " +
			"number from 1 to 1000"},
		{"policies:\n- {name: a, rules: [{if: '1', then: retry}]}\n- {name: a}\n", "f:2:26: " +
			"policies[0].rules[0].if: line 1, column 1: gives a number: want true or false\n" +
			"f:3:10: policies[1].name: this name stands at policies[0] too, on line 2"},
		{job("  timeout: 90\n"), "f:4:12: jobs[0].timeout: want " + durationForm +
			", got a number"},
		{job("  retry:\n    timeout: 1s\n"), "f:5:5: jobs[0].retry.timeout: unknown field: it " +
			"belongs at the top level of the job"},
		{job("  max_attempts: 3\n"), "f:4:3: jobs[0].max_attempts: unknown field: it belongs " +
			"below retry"},
		{job("  args: [1]\n"), "f:4:3: jobs[0].args: unknown field: it belongs below script"},
		{job("  labels: {a: 1}\n"), "f:4:15: jobs[0].labels.a: want a string, got a number: put " +
			"it in double quotes"},
		{job("  labels: {a: yes, b: true}\n"), "f:4:23: jobs[0].labels.b: want a string, got " +
			"true or false: put it in double quotes"},
		{job("  priority: yes\n"), "f:4:13: jobs[0].priority: want a whole number, got a string"},
		{job("  priority: 101\n"), "f:4:13: jobs[0].priority: want from -100 to 100"},
		{job("  priority: 007\n"), "f:4:13: this number is not read alike everywhere: put it in " +
			"quotes if it is text, else write it in decimal without leading zeros"},
		{job("  priority: 0x1F\n"), "f:4:13: this number is not read alike everywhere: put it " +
			"in quotes if it is text, else write it in decimal without leading zeros"},
		{job("  payload: [.inf, -.INF, .nan]\n"), strings.Join([]string{
			"f:4:13: JSON has no infinity and no NaN: put it in quotes if it is text",
			"f:4:19: JSON has no infinity and no NaN: put it in quotes if it is text",
			"f:4:26: JSON has no infinity and no NaN: put it in quotes if it is text",
		}, "\n")},
		{job("  payload: !!binary aGk=\n"), "f:4:12: the tag !!binary has no meaning here"},
		{job("  payload: !mine {a: 1}\n"), "f:4:12: the tag !mine has no meaning here"},
		{job("  payload: !!int x\n"), "f:4:12: want a value that the tag !!int fits"},
		{job("  payload: {? [a] : 1}\n"), "f:4:15: want text as key"},
		{job("  payload: {~: 1}\n"), "f:4:13: want text as key"},
		{job("  payload: {<<: 1}\n"), "f:4:17: want a map or a list of maps to merge"},
		{job("  name: b\n"), `f:4:3: the key "name" stands twice in the same map: on line 2 too`},
		{job("  payload: {a: 1, 'a': 2}\n"), `f:4:19: the key "a" stands twice in the same map: ` +
			`on line 4 too`},
		{
			job("- name: b\n  script: x\n- {name: a, script: y}\n"),
			"f:6:10: jobs[2].name: this name stands at jobs[0] too, on line 2",
		},
		{"jobs:\n  a: {name: b, script: x}\n", "f:2:3: jobs.a: its name is another than the key " +
			"that it stands under"},
		{"jobs:\n  A.b: {script: x}\n", `f:2:8: jobs["A.b"].name: ` + errName.Error()},
		{"jobs:\n  a: {webhook: ftp://x/}\n", "f:2:16: jobs.a.webhook.url: want it to begin " +
			"with http:// or https://"},
		{
			"jobs:\n  a: {webhook: x, script: y}\n",
			"f:2:16: jobs.a.webhook.url: want it to begin with http:// or https://\n" +
				"f:2:27: jobs.a.script: want exactly one of webhook, script, mail, group: webhook is there too",
		},
		{"jobs: []\n---\njobs: []\n", "f:2:1: want one document: a second one begins here"},
		{"jobs:\n\t- a\n", "f:2:1: not YAML: found character that cannot start any token"},
		{"jobs: \"\n", "f:1:1: not YAML: found unexpected end of stream"},
		{"jobs: *x\n", "f:1:1: not YAML: unknown anchor 'x' referenced"},
		{"jobs:\n- \xff\n", "f:2:3: want UTF-8"},
		{"{\"jobs\":\n [{\"name\":\"a\",}]}", "f:2:15: want a key in double quotes"},
		{
			"{\"jobs\":[\n {\"name\":\"é\",\"script\":\"x\",\n  \"retyr\":{}}]}",
			"f:2:10: jobs[0].name: " + errName.Error() + "\n" +
				"f:3:3: jobs[0].retyr: unknown field: did you mean \"retry\"?",
		},
		{
			"{\"jobs\":[\n {\"name\":\"é\",\"script\":\"x\", \"queue\":\"A\"}]}",
			"f:2:10: jobs[0].name: " + errName.Error() + "\n" + "f:2:36: jobs[0].queue: " +
				errName.Error(),
		},
		{
			"{\"jobs\":[{\"name\":\"a\",\n\"name\":\"a\",\"script\":\"x\"}]}",
			"f:2:1: jobs[0].name: this key stands twice in the same object",
		},
	}
	for _, tt := range tests {
		_, err := ParseFile("f", []byte(tt.text))
		if err == nil {
			t.Errorf("%q: taken", tt.text)
			continue
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
}

func TestParseFileErrorsTellSyntaxFromTheRest(t *testing.T) {
	var syntax *SyntaxError
	var invalid *InvalidError
	var file *FileError
	for _, text := range []string{"jobs: [", "\xff", `{"jobs"`} {
		if _, err := ParseFile("f", []byte(text)); !errors.As(err, &syntax) || !errors.As(err,
			&file) {
			t.Errorf("%q: got %v, want a SyntaxError", text, err)
		}
	}
	for _, text := range []string{"", "jobs: 5", "jobs: {a: {}}", "a: 1\na: 2", "jobs: []\n---\n"} {
		if _, err := ParseFile("f", []byte(text)); !errors.As(err, &invalid) || !errors.As(err,
			&file) {
			t.Errorf("%q: got %v, want an InvalidError", text, err)
		}
	}
}

func TestFaultyJobsDoNotHideThoseOfOthers(t *testing.T) {
	_, err := ParseFile("f", []byte("jobs:\n- {name: a, webhook: 5}\n- {name: B, script: x}\n- "+
		"{name: c}\n"))
	want := "f:2:22: jobs[0].webhook: want an object, got a number\n" +
		"f:3:10: jobs[1].name: " + errName.Error() + "\n" +
		"f:4:3: jobs[2]: want exactly one of webhook, script, mail, group"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatCouldNotBeReadDoesNotHideWhatElseIsWrongWithADocument(t *testing.T) {
	_, err := ParseFile("f", []byte(`policies:
  p: {max_attempts: 0, after: 1s, backoff: {base: 5}}
jobs:
  a: {script: x, timeuot: 1m, priority: 200, retry: {rules: [{if: nope, then: fail, what: 1}, 5]}}
  b: {webhook: 5, queue: Q}
  c: 5
`))
	want := "f:2:21: policies.p.max_attempts: is 0: want a whole number from 1 to 1000\n" +
		"f:2:24: policies.p.after: unknown field: it belongs below rules\n" +
		"f:2:51: policies.p.backoff.base: want " + durationForm + ", got a number\n" +
		"f:4:18: jobs.a.timeuot: unknown field: did you mean \"timeout\"?\n" +
		"f:4:41: jobs.a.priority: want from -100 to 100\n" +
		"f:4:67: jobs.a.retry.rules[0].if: line 1, column 1: unknown name nope; known here: attempt, elapsed, " +
		"error, exit, http, job, max_attempts, output, payload, progress\n" +
		"f:4:85: jobs.a.retry.rules[0].what: unknown field: known here are if, then, after, max_attempts, reason\n" +
		"f:4:95: jobs.a.retry.rules[1]: want an object, got a number\n" +
		"f:5:16: jobs.b.webhook: want an object, got a number\n" +
		"f:5:26: jobs.b.queue: " + errName.Error() + "\n" +
		"f:6:6: jobs.c: want an object, got a number"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v, want\n%s", err, want)
	}
}

func TestAliasesAndMergesAreWrittenOut(t *testing.T) {
	f, err := ParseFile("f", []byte(`jobs:
- &base
  name: a
  script: &text |
    true
  labels: &labels {team: data, tier: one}
- <<: *base
  name: b
  labels: {<<: [{tier: two, x: y}, *labels], team: web}
  description: *text
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{
		Name: "b", Script: &Script{Source: "true\n"}, Description: "true\n",
		Labels: map[string]string{"team": "web", "tier": "two", "x": "y"},
	}
	if diff := cmp.Diff(want, f.Jobs[1]); diff != "" {
		t.Error(diff)
	}
}

func TestAliasBombsAreRefused(t *testing.T) {
	levels := func(first, format string) string {
		var b strings.Builder
		b.WriteString("jobs: []\nl0: &l0 " + first + "\n")
		for i := range 30 {
			fmt.Fprintf(&b, format, i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d,", i), 9))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"lists":  levels("[x]", "l%d: &l%d [%s]\n"),
		"merges": levels("{a: 1}", "l%d: &l%d {<<: [%s]}\n"),
		"long text": "jobs: []\na: &a " + strings.Repeat("x", 1<<20) + "\nb: [" +
			strings.Repeat("*a,", 20) + "]\n",
		"itself":      "jobs: &a [*a]\n",
		"merged self": "jobs: &a {<<: *a}\n",
		"deep":        "jobs: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
	} {
		_, err := ParseFile("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "aliases stand for") &&
			!strings.Contains(err.Error(), "nested too deep") {
			t.Errorf("%s: got %.200v", name, err)
		}
	}
	if _, err := ParseFile("f", make([]byte,
		MaxFile+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too large: got %v", err)
	}
}

func TestYAMLScalarsBecomeJSON(t *testing.T) {
	tests := map[string]string{
		"1": "1", "-1": "-1", "+1": "1", "1.10": "1.10", "1e3": "1e3", "1E-3": "1E-3", ".5": "0.5",
		"-.5e1": "-0.5e1", "5.": "5", "5.e3": "5e3", "0": "0", "-0": "-0", "0.0": "0.0",
		"18446744073709551616": "18446744073709551616", "true": "true", "True": "true",
		"FALSE": "false",
		"null":  "null", "~": "null", "yes": `"yes"`, "no": `"no"`, "on": `"on"`, "off": `"off"`,
		"y":     `"y"`,
		"1_000": `"1_000"`, "0b11": `"0b11"`, "12:30:45": `"12:30:45"`,
		"2026-01-02":           `"2026-01-02"`,
		"2026-01-02T03:04:05Z": `"2026-01-02T03:04:05Z"`, "1.2.3": `"1.2.3"`, "1e": `"1e"`,
		"e1": `"e1"`,
		"-":  "", ".": `"."`, "'1'": `"1"`, `"true"`: `"true"`, "''": `""`,
		`"\u00e9\0"`: `"é\u0000"`,
		"!!str 1":    `"1"`, "!!str": `""`, "!!int 5": "5", "!!float 5": "5", "!!bool true": "true",
		"!!null ''": "null", "! 1": "1", "NULL": "null", "nUll": `"nUll"`, "a b": `"a b"`,
		"é": `"é"`,
	}
	for yaml, want := range tests {
		if want == "" {
			continue
		}
		f, err := ParseFile("f", []byte("jobs: [{name: a, script: x, payload: {v: "+yaml+" }}]"))
		if err != nil {
			t.Errorf("%s: %v", yaml, err)
			continue
		}
		if got := string(f.Jobs[0].Payload); got != `{"v":`+want+`}` {
			t.Errorf("%s: got %s, want %s", yaml, got, want)
		}
	}
}

func TestPositionFindsLocationsOrWhatIsAroundThem(t *testing.T) {
	text := `{"jobs":[{"name":"hello"},
{"name":"sync",
 "retry":{"rules":[{"if":"a"},
  {"if":"b"}]}, "labels":{"a.b/c":"x"}}]}`
	yaml, err := ParseFile("q.yaml", []byte(quickstart))
	if err != nil {
		t.Fatal(err)
	}
	json := &File{Name: "q.json", text: []byte(text), lines: newPositions([]byte(text))}
	tests := []struct {
		file     *File
		location string
		want     string
	}{
		{yaml, "", "2:1"},
		{yaml, "jobs", "3:3"},
		{yaml, "jobs[1]", "8:5"},
		{yaml, "jobs[1].retry.rules[0].if", "18:15"},
		{yaml, "jobs[1].retry.rules[0].after", "18:11"},
		{yaml, "jobs[1].retry.rules[7].if", "18:9"},
		{yaml, "jobs[1].webhook.url", "10:12"},
		{yaml, "jobs[0].script.source", "4:13"},
		{yaml, "jobs[9]", "3:3"},
		{yaml, "nothing.here", "2:1"},
		{yaml, "jobs[x", "3:3"},
		{json, "jobs[1].retry.rules[1].if", "4:9"},
		{json, `jobs[1].labels["a.b/c"]`, "4:35"},
		{json, `jobs[1].labels["a.b…"]`, "4:35"},
		{json, "jobs[1].timeout", "2:1"},
	}
	for _, tt := range tests {
		line, column := tt.file.Position(tt.location)
		if got := fmt.Sprintf("%d:%d", line, column); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.file.Name, tt.location, got, tt.want)
		}
	}
	placed := yaml.PlaceFaults(RefJob, 1, []Fault{{"retry.rules[0].if", "unknown name foo"}, {"", "no"}})
	want := "q.yaml:18:15: jobs[1].retry.rules[0].if: unknown name foo"
	if got := placed[0].String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := placed[1].String(); got != "q.yaml:8:5: jobs[1]: no" {
		t.Errorf("got %s", got)
	}
}

func TestAFileAsJSONIsTheSameFile(t *testing.T) {
	f, err := ParseFile("f", []byte(quickstart))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseFile("f", f.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Jobs, again.Jobs); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseFileNeverPanics(f *testing.F) {
	f.Add([]byte(quickstart))
	f.Add([]byte(`{"jobs":{"a":{"webhook":"http://x/"}}}`))
	f.Add([]byte(defaulted))
	f.Add([]byte("defaults: {webhook: {url: 'http://x/'}, retry: {rules: [{if: 'true', then: fail}]}}\njobs: [{name: a, webhook: {}}]\n"))
	f.Add([]byte("policies: {a: {rules: [{if: 'true', then: retry, after: 1s}]}}\njobs: {a: {script: x, payload: !json '{ }'}}\n"))
	f.Add([]byte("jobs: &a [{<<: *a}]\n"))
	f.Add([]byte("jobs:\n  a: {script: x, payload: {007: .inf, !!binary x: !!int 5}}\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseFile("f", data)
		if err != nil {
			var e *FileError
			if !errors.As(err, &e) || len(e.Faults) == 0 || e.Unwrap() == nil {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		for i, j := range file.Jobs {
			if _, err := ParseJob(j.Document()); err != nil {
				t.Fatalf("%q: job %d: %v", data, i, err)
			}
		}
		for i, p := range file.Policies {
			if _, err := ParsePolicy(p.Document()); err != nil {
				t.Fatalf("%q: policy %d: %v", data, i, err)
			}
		}
		roundTrip(t, file)
	})
}

func TestFileFaultsAreListedUpToABound(t *testing.T) {
	const n = maxFileFaults + 5
	for name, text := range map[string]string{
		"numbers": "jobs: [" + strings.Repeat("007,", n) + "]",
		"types":   `{"jobs":[` + strings.Repeat("5,", n-1) + "5]}",
		"checks":  `{"jobs":[` + strings.Repeat(`{"script":"x"},`, n-1) + `{"script":"x"}]}`,
	} {
		_, err := ParseFile("f", []byte(text))
		var e *FileError
		if !errors.As(err, &e) || len(e.Faults) != maxFileFaults+1 {
			t.Fatalf("%s: got %.100v", name, err)
		}
		if got := e.Faults[maxFileFaults].String(); got != "f: and 5 more faults" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestAFileHoldsABoundedNumberOfJobs(t *testing.T) {
	want := fmt.Sprintf("f:%d:1: jobs[%d]: want at most %d jobs in a file", maxJobs+1, maxJobs, maxJobs)
	named := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{\"name\":\"j%d\",\"script\":\"x\"},\n", i)
		}
		return `{"jobs":[` + strings.TrimSuffix(b.String(), ",\n") + "]}"
	}
	if f, err := ParseFile("f", []byte(named(maxJobs))); err != nil || len(f.Jobs) != maxJobs {
		t.Fatalf("got %.200v", err)
	}
	if _, err := ParseFile("f", []byte(named(maxJobs+3))); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPositionsHoldOverLongLines(t *testing.T) {
	line := strings.Repeat("aé😀", positionStep)
	text := line + "\n" + line
	p := newPositions([]byte(text))
	// Each three characters have seven bytes, so steps end within characters.
	for _, n := range []int{0, 1, 2, positionStep / 7, positionStep/7 + 1, positionStep - 1, 3} {
		if line, column := p.at(7 * n); line != 1 || column != 3*n+1 {
			t.Errorf("%d: got %d:%d, want 1:%d", 7*n, line, column, 3*n+1)
		}
		if line, column := p.at(len(line) + 1 + 7*n + 1); line != 2 || column != 3*n+2 {
			t.Errorf("%d in line 2: got %d:%d, want 2:%d", 7*n+1, line, column, 3*n+2)
		}
	}
	if line, column := p.at(len(text) + 9); line != 2 || column != 3*positionStep+1 {
		t.Errorf("past the end: got %d:%d", line, column)
	}
}
