package api

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nightshift/jobs"
)

// compiledFileSchema is the schema as a validator of another project reads it.
func compiledFileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := FileSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("jobs.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema.Validate(doc)
}

func TestFilesThatAreTakenFitTheSchema(t *testing.T) {
	schema := compiledFileSchema(t)
	files := map[string][]byte{
		"maps": []byte(`
policies:
  gentle: {max_attempts: 3, backoff: {base: 1s, kind: fixed}, otherwise: retry, interrupted: fail}
  empty: {}
jobs:
  a: {script: 'true'}
  b: {webhook: 'http://127.0.0.1:9/', name: b}
`),
		"lists and defaults": []byte(`
defaults:
  timeout: 5m
  labels: {team: data}
  retry: {policy: null, rules: [{if: http.status == 429, then: retry, after: 2m, max_attempts: 3}]}
  webhook: {method: PUT, headers: {X-A: a}}
policies: [{name: gentle, max_elapsed: 1h30m}]
jobs:
  - name: a
    webhook: {url: https://example.com/, nightshift_headers: false}
    payload: [1.10, null, {a: "x"}]
    retain: {failed: "0", succeeded: 1.5d}
    priority: -100
    description: null
    queue: null
    retry: null
  - {name: b, script: {source: x, interpreter: [python3], env: {A: b, C: null}, grace: 250ms}, webhook: null}
`),
		"kinds, doors and chains": []byte(`
jobs:
  hook:
    webhook:
      url: https://{{ payload.host }}/a
      body: {id: "{{ payload.id }}"}
      success: http.status == 202
      signing_secret: ["{{ secrets.NEW }}", "{{ secrets.OLD }}"]
      follow_redirects: true
    inbound:
      - {name: github, verify: github, secret: "{{ secrets.GH }}", if: 'headers["x-github-event"] == "push"', key: null}
    on_success:
      - {job: hook2, if: result.rows > 0, payload: "{{ result }}"}
  hook2: {webhook: {url: 'https://example.com', signing_secret: "{{ secrets.NEW }}", body: null}}
  post: {mail: {to: [ops@example.com], subject: "{{ payload.a }}", body: x, from: a@example.com}}
`),
		"JSON":           []byte(`{"jobs": {"a": {"script": {"path": "a/b.py"}, "priority": 1e1}}}`),
		"no jobs":        []byte("jobs: []\n"),
		"policies alone": []byte("policies: {a: {rules: []}}\njobs: null\n"),
	}
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("..", "examples", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if files[path], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(files) < 8 {
		t.Fatalf("the examples were not found: %d files", len(files))
	}
	for name, data := range files {
		f, err := jobs.ParseFile(name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := validate(t, schema, f.JSON()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesThatAreRefusedDoNotFitTheSchema(t *testing.T) {
	schema := compiledFileSchema(t)
	job := func(members string) string { return `{"jobs":[{"name":"a","script":"x"` + members + `}]}` }
	for _, text := range []string{
		`[]`, `{}`, `{"jobs":null}`, `{"jobs":5}`, `{"job":[]}`, `{"jobs":[5]}`, `{"jobs":[{"script":"x"}]}`,
		`{"jobs":{"A":{"script":"x"}}}`, `{"jobs":[{"name":"a"}]}`, `{"jobs":[{"name":"A","script":"x"}]}`,
		`{"jobs":[{"name":"a","webhook":"ftp://x"}]}`, `{"jobs":[{"name":"a","webhook":{"url":7}}]}`,
		`{"jobs":[{"name":"a","webhook":{"url":"http://x/","method":"post"}}]}`, `{"jobs":[{"name":"a","script":{}}, 1]}`,
		`{"jobs":[],"defaults":{"name":"a"}}`, `{"jobs":[],"defaults":{"timezone":"UTC"}}`, `{"jobs":[],"defaults":5}`,
		`{"policies":{"a":{"policy":"b"}}}`, `{"policies":[{}]}`, `{"policies":{"a":{"max_attempts":0}}}`,
		job(`,"webhook":"http://x/"`), job(`,"timeout":90`), job(`,"timeout":"90"`), job(`,"timeout":"1y"`), job(`,"timeout":""`),
		job(`,"priority":101`), job(`,"priority":"high"`), job(`,"priority":1.5`), job(`,"labels":{"a":1}`),
		job(`,"retry":{"rules":[{"if":"true"}]}`), job(`,"retry":{"rules":[{"if":"true","then":"retri"}]}`),
		job(`,"retry":{"rules":[{"if":null,"then":"fail"}]}`), job(`,"retry":{"otherwise":"maybe"}`),
		job(`,"retry":{"backoff":{"jitter":2}}`), job(`,"retry":{"timeout":"1s"}`), job(`,"retyr":{}`), job(`,"unique":{}`),
		job(`,"inbound":[{"name":"a"}]`), job(`,"on_success":[{"if":"true"}]`), job(`,"mail":{"to":["a@b.c"],"subject":"x","body":"y"}`),
		`{"jobs":{"a":{"mail":{"to":"a@b.c","subject":"x","body":"y"}}}}`,
		`{"jobs":{"a":{"webhook":{"url":"http://x/","signing_secret":7}}}}`,
		job(`,"inbound":[{"name":"a","verify":"md5","secret":"x"}]`), job(`,"on_success":[{"job":"B"}]`),
	} {
		if _, err := jobs.ParseFile("f", []byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
		if validate(t, schema, []byte(text)) == nil {
			t.Errorf("%s fits the schema", text)
		}
	}
}
