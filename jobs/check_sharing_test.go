package jobs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJobReadsWhatItsRunsShare(t *testing.T) {
	text := `{"name":"a","script":{"source":"x"},"concurrency":{"limit":1,"key":"payload.customer"},` +
		`"rate":{"limit":100,"per":"1m","key":"job.name"},` +
		`"unique":{"key":"payload.order_id","while":"1d","on_conflict":"reject"},"dependencies":["stripe","warehouse"]}`
	got, err := ParseJob([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{
		Name: "a", Script: &Script{Source: "x"}, Concurrency: &Concurrency{Limit: 1, Key: "payload.customer"},
		Rate:         &Rate{Limit: 100, Per: Duration(60e9), Key: "job.name"},
		Unique:       &Unique{Key: "payload.order_id", While: "1d", OnConflict: ConflictReject},
		Dependencies: []string{"stripe", "warehouse"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if doc := string(got.Document()); doc != text {
		t.Errorf("the document is %s", doc)
	}
}

func TestParseJobChecksWhatItsRunsShare(t *testing.T) {
	limit := "concurrency.limit: is 0 or missing: want a whole number from 1 to 10000"
	per := ": want a duration from 100ms to 31d"
	while := ": want queued, active, or a duration from 1s to 365d, such as 24h"
	replace := ": a run that may have started cannot take another payload"
	host := ": want a name such as stripe: the host of a webhook is a dependency by itself, whose limits stand in a " +
		"document of its own, and needs no naming"
	ten := `"a","b","c","d","e","f","g","h","i","j"`
	checks(t, `,"script":{"source":"x"}`, map[string]string{
		`"concurrency":null,"rate":null,"unique":null,"dependencies":null`: "",
		`"concurrency":{"limit":1},"dependencies":[],"unique":{}`:          "",
		`"concurrency":{"limit":10000,"key":"payload.a.b ?? run.id"}`:      "",
		`"concurrency":{"limit":10001}`:                                    strings.Replace(limit, "0 or missing", "10001", 1),
		`"concurrency":{"limit":0}`:                                        limit,
		`"concurrency":{"key":"payload.a"}`:                                limit,
		`"concurrency":{"limit":1.5}`:                                      "concurrency.limit: want a whole number, got a fraction",
		`"concurrency":5`:                                                  `concurrency: want an object such as {"limit": 1}, got a number`,
		`"concurrency":{"limit":1,"per":"1m"}`:                             "concurrency.per: unknown field: it belongs below rate",

		`"rate":{"limit":1000000,"per":"31d"}`:            "",
		`"rate":{"limit":1,"per":"100ms","key":"run.id"}`: "",
		`"rate":{"limit":1000001,"per":"1m"}`:             "rate.limit: is 1000001: want a whole number from 1 to 1000000",
		`"rate":{"per":"99ms"}`: "rate.limit: is 0 or missing: want a whole number from 1 to 1000000; " +
			"rate.per: is 99ms" + per,
		`"rate":{"limit":1}`:               "rate.per: is 0s or missing" + per,
		`"rate":{"limit":1,"per":"31d1s"}`: "rate.per: is 31d1s" + per,
		`"rate":"100/1m"`:                  `rate: want an object such as {"limit": 100, "per": "1m"}, got a string`,

		`"unique":{"while":"queued","on_conflict":"replace"}`: "",
		`"unique":{"while":"365d","on_conflict":"existing"}`:  "",
		`"unique":{"while":"1s","key":"payload"}`:             "",
		`"unique":{"while":"999ms"}`:                          `unique.while: is "999ms"` + while,
		`"unique":{"while":"365d1s"}`:                         `unique.while: is "365d1s"` + while,
		`"unique":{"while":"Active"}`:                         `unique.while: is "Active"` + while,
		`"unique":{"while":24}`:                               "unique.while: want a string, got a number: put it in double quotes",
		`"unique":{"on_conflict":"discard"}`:                  `unique.on_conflict: is "discard": want one of existing, reject, replace`,
		`"unique":{"on_conflict":"replace"}`:                  "unique.on_conflict: replace goes with while: queued alone, and while is active" + replace,
		`"unique":{"while":"24h","on_conflict":"replace"}`:    "unique.on_conflict: replace goes with while: queued alone, and while is 24h" + replace,
		`"unique":{"while":"soon","on_conflict":"replace"}`:   `unique.while: is "soon"` + while,
		`"unique":true`:                                       `unique: want an object such as {"key": "payload.order_id", "while": "active"}, got true or false`,

		`"dependencies":[` + ten + `]`:               "",
		`"dependencies":[` + ten + `,"k"]`:           "dependencies: want at most 10 of them, got 11",
		`"dependencies":["api.example.com"]`:         "",
		`"dependencies":["a","b","a","a"]`:           "dependencies[2]: stands twice: dependencies[0] is the same; dependencies[3]: stands twice: dependencies[0] is the same",
		`"dependencies":["Stripe",""]`:               "dependencies[0]: " + errName.Error() + "; dependencies[1]: " + errName.Error(),
		`"dependencies":["api.example.com:443"]`:     "dependencies[0]" + host,
		`"dependencies":["https://api.example.com"]`: "dependencies[0]" + host,
		`"dependencies":["[::1]:443"]`:               "dependencies[0]" + host,
		`"dependencies":"stripe"`:                    "dependencies: want a list, got a string: put it in [ ]",
		`"dependencies":[null]`:                      "dependencies[0]: want a string, got null",

		`"dependency":"stripe"`:    `dependency: unknown field: did you mean "dependencies"?`,
		`"breaker":{"failures":5}`: "breaker: unknown field: it belongs to a dependency, which the job names in dependencies",
		`"max_concurrency":5`:      `max_concurrency: unknown field: want "concurrency", such as {"limit": 1}`,
		`"limit":5`:                "limit: unknown field: it belongs below concurrency or rate",
		`"key":"payload.a"`:        "key: unknown field: it belongs below concurrency, rate, unique or checkpoint, or in an entry of inbound",
		`"rate_limit":5`:           `rate_limit: unknown field: want "rate", such as {"limit": 100, "per": "1m"}`,
		`"unique":{"ttl":"24h"}`:   `unique.ttl: unknown field: want "while", such as "active" or "24h"`,
	})
}

func TestMistakesInKeysAreLocated(t *testing.T) {
	known := "; known here: job, payload, run"
	fixed := "; a key is fixed when the run is made: it depends on payload, run and job alone"
	for key, want := range map[string]string{
		`customer`:             "line 1, column 1: unknown name customer" + known,
		"payload.a +\\n nope":  "line 2, column 2: unknown name nope" + known,
		`secrets.KEY`:          "line 1, column 1: unknown name secrets" + known + fixed,
		`checkpoint.page`:      "line 1, column 1: unknown name checkpoint" + known + fixed,
		`result`:               "line 1, column 1: unknown name result" + known + fixed,
		`{{ payload.a }}`:      "line 1, column 1: want the expression alone, without {{ and }}",
		`run.state`:            "line 1, column 5: run has no member state; known there: attempt, correlation_id, id, labels, operation_id, schedule, scheduled_for, trigger",
		` `:                    "want an expression such as payload.customer, or no key",
		`{\"a\": payload.a}`:   "line 1, column 1: objects cannot be written in keys",
		`payload.a < 1 < 2`:    "line 1, column 13: comparisons cannot be chained: write a < b && b < c",
		`payload[`:             "line 1, column 8: unexpected end of the expression",
		`len(payload.a, 1, 2)`: "line 1, column 1: ",
	} {
		for _, field := range []string{
			`"concurrency":{"limit":1,"key":"KEY"}`, `"rate":{"limit":1,"per":"1s","key":"KEY"}`, `"unique":{"key":"KEY"}`,
			`"checkpoint":{"key":"KEY"}`,
		} {
			name, _, _ := strings.Cut(field[1:], `"`)
			_, err := ParseJob([]byte(`{"name":"a","script":{"source":"x"},` + strings.Replace(field, "KEY", key, 1) + `}`))
			if got := errText(err); !strings.HasPrefix(got, name+".key: "+want) {
				t.Errorf("%s of %s: got %s\nwant %s", key, name, got, want)
			}
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAJobSharesItsQueueItsDependenciesAndItsHost(t *testing.T) {
	for doc, want := range map[string][]Ref{
		`"script":{"source":"x"}`: {{RefQueue, "default", "queue"}},
		`"queue":"etl","script":{"source":"x"},"dependencies":["b","a"]`: {
			{RefQueue, "etl", "queue"}, {RefDependency, "b", "dependencies[0]"}, {RefDependency, "a", "dependencies[1]"},
		},
		`"webhook":{"url":"https://API.example.com./{{ payload.id }}"},"dependencies":["a"]`: {
			{RefQueue, "default", "queue"},
			{RefDependency, "a", "dependencies[0]"},
			{RefDependency, "api.example.com:443", "webhook.url"},
		},
		`"webhook":{"url":"https://{{ payload.host }}/x"}`: {{RefQueue, "default", "queue"}},
	} {
		j, err := ParseJob([]byte(`{"name":"a",` + doc + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Shares()); diff != "" {
			t.Errorf("%s: %s", doc, diff)
		}
		if refs := j.Refs(); refs != nil {
			t.Errorf("%s must stand: %v", doc, refs)
		}
	}
}

func TestDefaultsOfAFileHoldForWhatRunsShare(t *testing.T) {
	f, err := ParseFile("f", []byte(`
defaults:
  concurrency: {limit: 3, key: payload.a}
  rate: {limit: 10, per: 1m}
  unique: {while: queued}
  dependencies: [stripe]
jobs:
  plain: {script: x}
  own:
    script: x
    concurrency: {limit: 1}
    rate: {per: 1s, key: payload.b}
    unique: {on_conflict: replace}
    dependencies: [other, stripe]
  none: {script: x, dependencies: [], concurrency: null}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`"concurrency":{"limit":3,"key":"payload.a"},"rate":{"limit":10,"per":"1m"},"unique":{"while":"queued"},"dependencies":["stripe"]}`,
		`"concurrency":{"limit":1,"key":"payload.a"},"rate":{"limit":10,"per":"1s","key":"payload.b"},` +
			`"unique":{"while":"queued","on_conflict":"replace"},"dependencies":["other","stripe"]}`,
		`"concurrency":{"limit":3,"key":"payload.a"},"rate":{"limit":10,"per":"1m"},"unique":{"while":"queued"}}`,
	}
	for i, j := range f.Jobs {
		if doc := string(j.Document()); !strings.HasSuffix(doc, want[i]) {
			t.Errorf("%s is %s\nwant %s", j.Name, doc, want[i])
		}
	}
	_, err = ParseFile("f", []byte("defaults: {rate: {limit: 0, per: 1m, key: nope}}\njobs: {a: {script: x}, b: {script: y}}\n"))
	if got := errText(err); got != "f:1:26: defaults.rate.limit: is 0 or missing: want a whole number from 1 to 1000000\n"+
		"f:1:43: defaults.rate.key: line 1, column 1: unknown name nope; known here: job, payload, run" {
		t.Errorf("got %s", got)
	}
}
