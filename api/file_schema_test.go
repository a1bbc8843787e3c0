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
		"JSON": []byte(`{"jobs": {"a": {"script": {"path": "a/b.py"}, "priority": 1e1}}}`),
		"long work": []byte(`
jobs:
  a:
    webhook: {url: 'https://example.com/', completion: callback, heartbeat_timeout: 90s}
    checkpoint: {ttl: 7d, key: payload.batch}
    timeout: 24h
  b: {webhook: {url: 'https://example.com/', completion: response, heartbeat_timeout: null}, checkpoint: {}}
  c: {script: {source: x, user: www-data, memory: 512MiB}, checkpoint: {ttl: null, key: null}}
  d: {script: {source: x, user: null, memory: 1.5 gb}, checkpoint: null}
`),
		"no jobs":        []byte("jobs: []\n"),
		"policies alone": []byte("policies: {a: {rules: []}}\njobs: null\n"),
		"what runs share": []byte(`
defaults: {dependencies: [warehouse], concurrency: {limit: 3}, unique: {while: queued, on_conflict: replace}}
queues: {reports: {concurrency: 2}, mail: {concurrency: null}, plain: {}}
dependencies:
  - {name: stripe, concurrency: 5, rate: {limit: 100, per: 1m}, breaker: {failures: 3, open_for: 1m, max_open: null}}
  - {name: 'api.example.com:443', concurrency: null, rate: null, breaker: null}
  - {name: '[2001:db8::1]:8080', breaker: {}}
  - name: warehouse
jobs:
  a: {script: x, concurrency: {key: payload.a}, rate: {limit: 1, per: 100ms, key: null}, queue: reports}
  b: {script: x, unique: {key: payload.order_id, while: 1d, on_conflict: reject}, dependencies: [stripe, warehouse]}
  c: {script: x, unique: {}, concurrency: null, rate: null, dependencies: []}
`),
		"alerts alone": []byte("alerts: [{name: a, on: [run.failed], run: b, throttle: null, after: 0}]\n"),
		"alerts": []byte(`
jobs: {tell: {webhook: {url: 'https://example.com/', body: "{{ slack(payload) }}"}}}
alerts:
  all: {on: [run.failed, run.recovered, alert.undelivered], run: tell, if: null, key: null}
  team: {on: [run.failed], if: labels.team == "data", run: tell, throttle: 0s, after: 1000, key: labels.customer}
`),
		"queues alone":    []byte("queues: [{name: a}]\n"),
		"schedules alone": []byte("schedules: [{name: a, job: b, cron: '@daily', every: null}]\n"),
		"schedules": []byte(`
defaults: {timezone: Europe/Berlin}
jobs:
  a:
    script: x
    schedules:
    - cron: 0 2 * * *
    - {name: b, every: 15m, timezone: UTC, payload: {a: 1}, catch_up: {mode: all, window: 1h, limit: 10000}}
    - {name: c, cron: '@hourly', catch_up: {mode: latest, window: null, limit: 100}, overlap: skip, spread: 0s}
  b: {script: x, schedules: null}
schedules:
  d: {job: a, cron: 0 0 2 L * *, start: '2026-01-01T00:00:00Z', end: null, late_after: 1h, catch_up: null}
  e: {name: e, job: b, every: 1d, overlap: replace, catch_up: {mode: none}}
`),
		"dependencies alone": []byte("dependencies: {a: {}}\n"),
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
		`{"jobs":[],"defaults":{"name":"a"}}`, `{"jobs":[],"defaults":{"timezone":5}}`, `{"jobs":[],"timezone":"UTC"}`, `{"jobs":[],"defaults":5}`,
		`{"alerts":{"a":{"on":["run.failed"]}}}`, `{"alerts":{"a":{"run":"b"}}}`, `{"alerts":{"a":{"on":[],"run":"b"}}}`,
		`{"alerts":{"a":{"on":["run.faild"],"run":"b"}}}`, `{"alerts":{"a":{"on":["run.failed"],"run":"B"}}}`,
		`{"alerts":{"a":{"on":["run.failed"],"run":"b","after":1001}}}`, `{"alerts":{"a":{"on":["run.failed"],"run":"b","throttle":10}}}`,
		`{"alerts":{"a":{"on":["run.failed"],"run":"b","job":"c"}}}`, `{"alerts":[{"on":["run.failed"],"run":"b"}]}`,
		`{"policies":{"a":{"policy":"b"}}}`, `{"policies":[{}]}`, `{"policies":{"a":{"max_attempts":0}}}`,
		job(`,"webhook":"http://x/"`), job(`,"timeout":90`), job(`,"timeout":"90"`), job(`,"timeout":"1y"`), job(`,"timeout":""`),
		job(`,"priority":101`), job(`,"priority":"high"`), job(`,"priority":1.5`), job(`,"labels":{"a":1}`),
		job(`,"retry":{"rules":[{"if":"true"}]}`), job(`,"retry":{"rules":[{"if":"true","then":"retri"}]}`),
		job(`,"retry":{"rules":[{"if":null,"then":"fail"}]}`), job(`,"retry":{"otherwise":"maybe"}`),
		job(`,"retry":{"backoff":{"jitter":2}}`), job(`,"retry":{"timeout":"1s"}`), job(`,"retyr":{}`),
		job(`,"inbound":[{"name":"a"}]`), job(`,"on_success":[{"if":"true"}]`), job(`,"mail":{"to":["a@b.c"],"subject":"x","body":"y"}`),
		`{"jobs":{"a":{"mail":{"to":"a@b.c","subject":"x","body":"y"}}}}`,
		`{"jobs":{"a":{"webhook":{"url":"http://x/","signing_secret":7}}}}`,
		job(`,"inbound":[{"name":"a","verify":"md5","secret":"x"}]`), job(`,"on_success":[{"job":"B"}]`),
		job(`,"concurrency":1`), job(`,"concurrency":{"limit":0}`), job(`,"concurrency":{"limit":10001}`),
		job(`,"rate":{"limit":1,"per":"1 minute"}`), job(`,"rate":{"limit":1.5,"per":"1s"}`), job(`,"rate":"1/s"`),
		job(`,"unique":{"while":"done"}`), job(`,"unique":{"while":24}`), job(`,"unique":{"on_conflict":"drop"}`),
		job(`,"checkpoint":"24h"`), job(`,"checkpoint":{"ttl":"a day"}`), job(`,"checkpoint":{"key":1}`),
		`{"jobs":{"a":{"webhook":{"url":"http://x/","completion":"later"}}}}`,
		`{"jobs":{"a":{"webhook":{"url":"http://x/","completion":"callback","heartbeat_timeout":30}}}}`,
		`{"jobs":{"a":{"script":{"source":"x","memory":512}}}}`, `{"jobs":{"a":{"script":{"source":"x","memory":"512"}}}}`,
		`{"jobs":{"a":{"script":{"source":"x","memory":"512 MBit"}}}}`,
		`{"jobs":{"a":{"script":{"source":"x","user":"-r"}}}}`, `{"jobs":{"a":{"script":{"source":"x","user":"a b"}}}}`,
		job(`,"dependencies":"stripe"`), job(`,"dependencies":["Stripe"]`), job(`,"dependencies":["a:443"]`),
		job(`,"dependencies":["a","a"]`), job(`,"dependencies":["a","b","c","d","e","f","g","h","i","j","k"]`),
		job(`,"schedules":["@daily"]`), job(`,"schedules":{"a":{"cron":"@daily"}}`), job(`,"schedules":[{}]`),
		job(`,"schedules":[{"cron":"@daily","every":"1h"}]`), job(`,"schedules":[{"job":"a","every":"1h"}]`),
		job(`,"schedules":[{"every":"1h","timezone":5}]`), job(`,"schedules":[{"cron":5}]`),
		job(`,"schedules":[{"every":"1h","overlap":"forbid"}]`), job(`,"schedules":[{"every":"1h","catch_up":"all"}]`),
		job(`,"schedules":[{"every":"1h","catch_up":{"limit":0}}]`), job(`,"schedules":[{"every":"1h","catch_up":{"mode":"on"}}]`),
		job(`,"schedules":[{"every":"1h","name":"A"}]`), job(`,"schedules":[{"schedule":"@daily"}]`),
		`{"schedules":{"a":{"every":"1h"}}}`, `{"schedules":[{"job":"a","every":"1h"}]}`, `{"schedules":{"a":{"job":"a"}}}`,
		`{"schedules":{"a:b":{"job":"a","every":"1h"}}}`, `{"schedules":{"a":{"job":null,"every":"1h"}}}`, `{"schedules":5}`,
		`{"queues":{"a":{"concurrency":0}}}`, `{"queues":{"a":{"rate":null}}}`, `{"queues":{"a:1":{}}}`, `{"queues":[{}]}`,
		`{"queues":["a"]}`, `{"dependencies":{"a":{"concurrency":{"limit":1}}}}`, `{"dependencies":{"A":{}}}`,
		`{"dependencies":{"a":{"rate":{"limit":1}}}}`, `{"dependencies":{"a":{"rate":{"limit":1,"per":"1m","key":"1"}}}}`,
		`{"dependencies":{"a":{"breaker":{"failures":0}}}}`, `{"dependencies":{"a":{"breaker":{"open_for":30}}}}`,
		`{"dependencies":{"https://a:443":{}}}`, `{"dependencies":{"a":{"failures":3}}}`, `{"dependencies":[5]}`,
	} {
		if _, err := jobs.ParseFile("f", []byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
		if validate(t, schema, []byte(text)) == nil {
			t.Errorf("%s fits the schema", text)
		}
	}
}
