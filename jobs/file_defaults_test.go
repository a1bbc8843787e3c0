package jobs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const defaulted = `jobs:
  plain: {script: 'true'}
  full:
    script: {source: x, env: {B: "3"}, grace: 1s}
    labels: {team: web}
    priority: 0
    timeout: null
    payload: {b: 2}
    retry: {max_attempts: 2, backoff: {base: 1s}, rules: []}
    retain: {failed: 2d}
  hook: {webhook: http://127.0.0.1:9/, payload: null}
  nulled: {script: x, webhook: null}
defaults:
  description: d
  labels: {team: data, tier: one}
  priority: 5
  timeout: 1m
  queue: slow
  payload: {a: 1.0}
  webhook: {method: PUT, headers: {X-A: a}}
  script: {interpreter: [sh], env: {A: "1", B: "2"}, grace: 5s}
  retry:
    max_attempts: 9
    backoff: {base: 2s, factor: 2}
    rules: [{if: attempt > 3, then: fail}]
    otherwise: retry
  retain: {succeeded: 1d, failed: 1d}
`

func TestDefaultsHoldWhereAJobSaysNothingElse(t *testing.T) {
	f, err := ParseFile("f", []byte(defaulted))
	if err != nil {
		t.Fatal(err)
	}
	day := Duration(24 * 3600e9)
	retry := Retry{
		MaxAttempts: new(9), Backoff: &Backoff{Base: new(Duration(2e9)), Factor: new(2.0)},
		Rules: []Rule{{If: "attempt > 3", Then: "fail"}}, Otherwise: "retry",
	}
	plain := Job{
		Name: "plain", Description: "d", Labels: map[string]string{"team": "data", "tier": "one"},
		Script: &Script{
			Source: "true", Interpreter: []string{"sh"}, Env: map[string]string{"A": "1", "B": "2"},
			Grace: new(Duration(5e9)),
		},
		Payload: Raw(`{"a":1.0}`), Timeout: new(Duration(60e9)), Queue: "slow", Priority: 5,
		Retry: retry, Retain: Retain{Succeeded: &day, Failed: &day},
	}
	full, hook, nulled := plain, plain, plain
	full.Name, full.Priority, full.Payload = "full", 0, Raw(`{"b":2}`)
	full.Labels = map[string]string{"team": "web", "tier": "one"}
	full.Script = &Script{
		Source: "x", Interpreter: []string{"sh"}, Env: map[string]string{"A": "1", "B": "3"},
		Grace: new(Duration(1e9)),
	}
	full.Retry.MaxAttempts, full.Retry.Rules = new(2), []Rule{}
	full.Retry.Backoff = &Backoff{Base: new(Duration(1e9)), Factor: new(2.0)}
	full.Retain.Failed = new(2 * day)
	hook.Name, hook.Script = "hook", nil
	hook.Webhook = &Webhook{
		URL: "http://127.0.0.1:9/", Method: "PUT", Headers: map[string]string{"X-A": "a"},
	}
	nulled.Name = "nulled"
	nulled.Script = &Script{
		Source: "x", Interpreter: []string{"sh"}, Env: plain.Script.Env, Grace: plain.Script.Grace,
	}
	if diff := cmp.Diff([]*Job{&plain, &full, &hook, &nulled}, f.Jobs); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsOfOneJobAreNotThoseOfAnother(t *testing.T) {
	f, err := ParseFile("f", []byte("defaults: {labels: {a: '1'}, retry: {backoff: {base: 1s}}}\n"+
		"jobs:\n- {name: a, script: x, labels: {b: '2'}, retry: {backoff: {base: 9s}}}\n"+
		"- {name: b, script: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if b := f.Jobs[1]; len(b.Labels) != 1 || *b.Retry.Backoff.Base != 1e9 {
		t.Errorf("got %s", b.Document())
	}
}

func TestFaultsOfDefaultsAreToldOnceWhereTheyStand(t *testing.T) {
	jobs := "jobs:\n- {name: a, script: x}\n- {name: b, script: x}\n"
	for text, want := range map[string]string{
		"defaults: {priority: 101}\n" + jobs: "f:1:22: defaults.priority: want from -100 to 100",
		"defaults:\n  retry: {rules: [{if: '1', then: fail}]}\n" + jobs: "f:2:24: " +
			"defaults.retry.rules[0].if: line 1, column 1: gives a number: want true or false",
		"defaults: {name: a}\n" + jobs: "f:1:18: defaults.name: want no name: the defaults are for all " +
			"jobs of the file",
		"defaults: {cron: '@daily'}\n" + jobs: "f:1:12: defaults.cron: unknown field: want \"schedules\", " +
			`such as [{"cron": "0 2 * * *", "timezone": "Europe/Berlin"}]`,
		"defaults: {schedules: [{every: 0s}]}\n" + jobs: "f:1:32: defaults.schedules[0].every: is 0s: want a " +
			"duration of whole seconds from 1s to 3653d",
		"defaults: {max_attempts: 3}\n" + jobs: "f:1:12: defaults.max_attempts: unknown field: it " +
			"belongs below retry",
		"defaults: 5\n" + jobs:            "f:1:11: defaults: want an object, got a number",
		"defaults: {timeout: 5}\n" + jobs: "f:1:21: defaults.timeout: want " + durationForm + ", got a number",
		"defaults: {queue: A}\n" + jobs:   "f:1:19: defaults.queue: " + errName.Error(),
		"defaults: {labels: {a: 1}}\n" + jobs: "f:1:24: defaults.labels.a: want a string, got a number: put " +
			"it in double quotes",
		"defaults: {webhook: {headers: {a b: x}}}\njobs:\n- {name: a, webhook: 'http://127.0.0.1/'}\n": "f:1:37: " +
			`defaults.webhook.headers["a b"]: want a header name of letters, digits and !#$%&'*+-.^_` + "`|~",
		// The job's own value is at fault, short as it stands there.
		"defaults: {webhook: {url: 'http://127.0.0.1/'}}\njobs:\n- {name: a, webhook: 'ftp://x'}\n": "f:3:22: " +
			"jobs[0].webhook.url: want it to begin with http:// or https://",
	} {
		_, err := ParseFile("f", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestDefaultsThatStandForTooMuchAreRefused(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"defaults":{"description":"%s"},"jobs":{`, strings.Repeat("x", 4000))
	for i := range maxJobs {
		fmt.Fprintf(&b, "%q:{\"script\":\"x\"},\n", fmt.Sprint("j", i))
	}
	_, err := ParseFile("f", []byte(strings.TrimSuffix(b.String(), ",\n")+"}}"))
	want := "f:4166:9: jobs.j4165: up to here the defaults stand for more than 16777216 bytes"
	if err == nil || !strings.HasPrefix(err.Error(), "f:41") || !strings.HasSuffix(err.Error(), want[len("f:4166:9: jobs.j4165"):]) {
		t.Errorf("got %.300v", err)
	}
}

func TestAFileMayHoldPoliciesAlone(t *testing.T) {
	f, err := ParseFile("f", []byte("policies:\n  gentle: {max_attempts: 3, backoff: {base: 1s}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []*Policy{{Name: "gentle", MaxAttempts: new(3), Backoff: &Backoff{Base: new(Duration(1e9))}}}
	if diff := cmp.Diff(want, f.Policies); diff != "" {
		t.Error(diff)
	}
	placed := f.PlaceFaults(RefPolicy, 0, []Fault{{"backoff.base", "no"}})
	if got := placed[0].String(); got != "f:2:45: policies.gentle.backoff.base: no" {
		t.Errorf("got %s", got)
	}
}

func TestTaggedJSONIsTakenByteForByte(t *testing.T) {
	payload := `{ "a" : 1.10, "b":"\u00e9\ud800" }`
	f, err := ParseFile("f", []byte("jobs:\n- {name: a, script: x, payload: !json '"+payload+"'}\n"))
	if err != nil || string(f.Jobs[0].Payload) != payload {
		t.Fatalf("got %v, %s", err, f.Jobs[0].Payload)
	}
	_, err = ParseFile("f", []byte("jobs:\n- {name: a, script: x, payload: !json '{a: 1}'}\n"))
	want := "f:2:33: want JSON text behind the tag !json: line 1, column 2: want a key in double quotes"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBoundsHoldForPoliciesAndDefaults(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for text, want := range map[string]string{
		bomb + "policies: [*f,*f,*f,*f]\n":                            "aliases stand for more than",
		bomb + "defaults: {payload: [*f,*f,*f,*f]}\n":                 "aliases stand for more than",
		"policies: {a: {}, a: {}}\n":                                  "f:1:19: the key \"a\" stands twice",
		"defaults: {queue: a, queue: b}\n":                            "f:1:22: the key \"queue\" stands twice",
		"defaults: {}\ndefaults: {}\n":                                "f:2:1: the key \"defaults\" stands twice",
		`{"defaults":{"queue":"a","queue":"b"},"jobs":[]}`:            "f:1:26: defaults.queue: this key stands twice",
		`{"policies":[{"name":"a","rules":[{"if":"a","if":"b"}]}]}`:   "f:1:45: policies[0].rules[0].if: this key stands twice",
		"policies: {}\n---\npolicies: {}\n":                           "f:2:1: want one document",
		"jobs: []\ndefaults: {payload: " + deep + "}\n":               ": nested too deep: want at most 64 levels",
		"policies: {a: {rules: " + deep + "}}\n":                      "policies.a.rules",
		`{"policies":[` + strings.Repeat(`{},`, maxPolicies) + `{}]}`: "want at most 1000 policies in a file",
		"defaults: {webhook: [1]}\njobs: {a: {webhook: http://x/}}\n": "f:1:21: defaults.webhook: want an object, got a list",
		"policies: {'a/b': {}}\n":                                     "policies[\"a/b\"].name: " + errName.Error(),
		"policies: {\"a\\u0000b\": {}}\n":                             errName.Error(),
		"policies: {аdmin: {}}\n":                                     errName.Error(), // a Cyrillic letter
	} {
		_, err := ParseFile("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %.300v, want %s", text, err, want)
		}
	}
}
