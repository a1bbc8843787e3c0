package jobs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJobReadsWhatLongWorkNeeds(t *testing.T) {
	for text, want := range map[string]*Job{
		`{"name":"a","webhook":{"url":"` + webhookURL + `","completion":"callback","heartbeat_timeout":"30s"},` +
			`"checkpoint":{"ttl":"7d","key":"payload.batch"}}`: {
			Name:       "a",
			Webhook:    &Webhook{URL: webhookURL, Completion: CompletionCallback, HeartbeatTimeout: new(Duration(30e9))},
			Checkpoint: &Checkpointing{TTL: new(Duration(7 * 24 * 3600e9)), Key: "payload.batch"},
		},
		`{"name":"a","script":{"source":"x","user":"www-data","memory":"512MiB"}}`: {
			Name: "a", Script: &Script{Source: "x", User: "www-data", Memory: new(Size(512 << 20))},
		},
	} {
		got, err := ParseJob([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if doc := string(got.Document()); doc != text {
			t.Errorf("the document is %s", doc)
		}
		file, err := ParseFile("f", []byte(`{"jobs":[`+text+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, file)
	}
}

func TestParseJobChecksCompletion(t *testing.T) {
	const (
		completion = "webhook.completion: want response: the answer tells what came of it; or callback: an answer 202 " +
			"takes the work on, and a call tells later"
		length = "webhook.heartbeat_timeout: want more than 0s and at most 24h"
		alone  = "webhook.heartbeat_timeout: want it with completion callback alone: only work that was taken on has heartbeats"
		hidden = "webhook.nightshift_headers: with completion callback they cannot be left out: they say where to call " +
			"back, and by which token"
		callback = `"completion":"callback",`
	)
	for member, want := range map[string]string{
		`"completion":null,"heartbeat_timeout":null`:         "",
		`"completion":"response"`:                            "",
		`"completion":"callback"`:                            "",
		`"completion":"Callback"`:                            completion,
		`"completion":"async"`:                               completion,
		`"completion":true`:                                  "webhook.completion: want a string, got true or false: put it in double quotes",
		callback + `"nightshift_headers":true`:               "",
		callback + `"nightshift_headers":false`:              hidden,
		`"completion":"response","nightshift_headers":false`: "",
		callback + `"heartbeat_timeout":"1ms"`:               "",
		callback + `"heartbeat_timeout":"24h"`:               "",
		callback + `"heartbeat_timeout":"24h1ms"`:            length,
		callback + `"heartbeat_timeout":"0s"`:                length,
		callback + `"heartbeat_timeout":30`:                  "webhook.heartbeat_timeout: want " + durationForm + ", got a number",
		`"heartbeat_timeout":"30s"`:                          alone,
		`"completion":"response","heartbeat_timeout":"30s"`:  alone,
		`"completion":"other","heartbeat_timeout":"0s"`:      completion + "; " + length,
		`"method":"GET","completion":"callback"`:             "",
	} {
		checks(t, "", map[string]string{`"webhook":{"url":"` + webhookURL + `",` + member + `}`: want})
	}
}

func TestParseJobChecksWhatBoundsAScript(t *testing.T) {
	const (
		user   = "script.user: want the name of a user of this machine, such as www-data"
		least  = "script.memory: want at least 1MiB"
		noSize = `is not a size: want one such as "512MiB" or "2GiB"`
	)
	for member, want := range map[string]string{
		`"user":null,"memory":null`: "", `"user":""`: "", `"user":"www-data"`: "", `"user":"_ci.runner"`: "",
		`"user":"-x"`: user, `"user":"a b"`: user, `"user":"a:b"`: user, `"user":"a/b"`: user, `"user":"a\u0000"`: user,
		`"user":"é"`: user, `"user":"` + strings.Repeat("a", 33) + `"`: user, `"user":"` + strings.Repeat("a", 32) + `"`: "",
		`"memory":"1MiB"`: "", `"memory":"1.5 GiB"`: "", `"memory":"1048575B"`: least, `"memory":"0B"`: least,
		`"memory":"512"`:  `script.memory: "512" ` + noSize,
		`"memory":"512M"`: `script.memory: "512M" ` + noSize,
		`"memory":512`:    "script.memory: want a string, got a number: put it in double quotes",
		`"memory":"1ZiB"`: `script.memory: "1ZiB" ` + noSize,
	} {
		checks(t, "", map[string]string{`"script":{"source":"x",` + member + `}`: want})
	}
}

func TestParseJobChecksHowLongCheckpointsAreKept(t *testing.T) {
	known := `: known here are ttl, key`
	checks(t, `,"script":{"source":"x"}`, map[string]string{
		`"checkpoint":null`:                        "",
		`"checkpoint":{}`:                          "",
		`"checkpoint":{"ttl":"1ms","key":null}`:    "",
		`"checkpoint":{"ttl":"3653d"}`:             "",
		`"checkpoint":{"ttl":"0s"}`:                "checkpoint.ttl: want more than 0s, such as 24h: it is kept at least until its run has ended",
		`"checkpoint":{"ttl":24}`:                  "checkpoint.ttl: want " + durationForm + ", got a number",
		`"checkpoint":{"key":"payload.a + run.b"}`: "checkpoint.key: line 1, column 17: run has no member b; known there: attempt, correlation_id, id, labels, operation_id, schedule, scheduled_for, trigger",
		`"checkpoint":"24h"`:                       `checkpoint: want an object such as {"ttl": "24h", "key": "payload.batch"}, got a string`,
		`"checkpoint":{"keep":"24h"}`:              `checkpoint.keep: unknown field` + known,
	})
}

func TestFieldsOfLongWorkAreFoundWhereTheyBelong(t *testing.T) {
	completion := `unknown field: want "completion", which may be "callback"`
	memory := `unknown field: want "memory", such as "512MiB"`
	checks(t, `,"script":{"source":"x"}`, map[string]string{
		`"completion":"callback"`:   "completion: unknown field: it belongs below webhook",
		`"heartbeat_timeout":"30s"`: "heartbeat_timeout: unknown field: it belongs below webhook",
		`"memory":"1GiB"`:           "memory: unknown field: it belongs below script",
		`"user":"x"`:                "user: unknown field: it belongs below script",
		`"ttl":"24h"`:               "ttl: unknown field: it belongs below checkpoint",
		`"checkpoints":{}`:          `checkpoints: unknown field: did you mean "checkpoint"?`,
		`"checkpoint_ttl":"24h"`:    `checkpoint_ttl: unknown field: want "checkpoint", such as {"ttl": "24h"}`,
		`"checkpoint_key":"a"`:      `checkpoint_key: unknown field: want "checkpoint", such as {"key": "payload.batch"}`,
	})
	for member, want := range map[string]string{
		`"webhook":{"url":"http://x/","callback":true}`:            "webhook.callback: " + completion,
		`"webhook":{"url":"http://x/","async":true}`:               "webhook.async: " + completion,
		`"webhook":{"url":"http://x/","heartbeat":"30s"}`:          `webhook.heartbeat: unknown field: want "heartbeat_timeout", such as "30s"`,
		`"webhook":{"url":"http://x/","checkpoint":{}}`:            "webhook.checkpoint: unknown field: it belongs at the top level of the job",
		`"script":{"source":"x","run_as":"www-data"}`:              `script.run_as: unknown field: want "user", such as "www-data"`,
		`"script":{"source":"x","memory_limit":"1G"}`:              "script.memory_limit: " + memory,
		`"script":{"source":"x","max_memory":"1G"}`:                "script.max_memory: " + memory,
		`"script":{"source":"x","heartbeat_timeout":"1s"}`:         "script.heartbeat_timeout: unknown field: it belongs below webhook",
		`"script":{"source":"x","timeout":"1s"}`:                   "script.timeout: unknown field: it belongs at the top level of the job",
		`"webhook":{"url":"http://x/","memory":"1GiB","user":"x"}`: "webhook.memory: unknown field: it belongs below script; webhook.user: unknown field: it belongs below script",
	} {
		checks(t, "", map[string]string{member: want})
	}
}

func TestTimeoutOfACallbackIsADayUnlessGiven(t *testing.T) {
	for member, want := range map[string]string{
		`"webhook":{"url":"http://x/"}`:                                         "5m",
		`"webhook":{"url":"http://x/","completion":"response"}`:                 "5m",
		`"webhook":{"url":"http://x/","completion":"callback"}`:                 "1d",
		`"webhook":{"url":"http://x/","completion":"callback"},"timeout":"10m"`: "10m",
		`"script":{"source":"x"}`:                                               "6h",
	} {
		j, err := ParseJob([]byte("{" + member + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := Duration(j.TimeoutOf()).String(); got != want {
			t.Errorf("%s: %s, want %s", member, got, want)
		}
	}
}

func TestCheckpointIsKeptADayUnlessGiven(t *testing.T) {
	for job, want := range map[*Job]Duration{
		{}: Duration(DefaultCheckpointTTL), {Checkpoint: &Checkpointing{Key: "1"}}: Duration(DefaultCheckpointTTL),
		{Checkpoint: &Checkpointing{TTL: new(Duration(1e9))}}: 1e9,
	} {
		if got := Duration(job.CheckpointTTL()); got != want {
			t.Errorf("%+v: %s, want %s", job.Checkpoint, got, want)
		}
	}
}

// How long a checkpoint is kept, and whose it is, is read from the job as it stands: it neither makes a
// version nor changes what runs wait for by gates.
func TestCheckpointingIsNoPartOfAVersionNorOfTheGates(t *testing.T) {
	a := &Job{Name: "a", Webhook: &Webhook{URL: webhookURL}}
	b := &Job{Name: "a", Webhook: &Webhook{URL: webhookURL}, Checkpoint: &Checkpointing{Key: "payload.a"}}
	if !SameSpec(a.Spec(), b.Spec()) || !a.SameGates(b) {
		t.Error("a checkpoint key changes more than whose the checkpoints are")
	}
	if string(a.Document()) == string(b.Document()) {
		t.Error("the documents are the same")
	}
}

func TestDefaultsOfAFileHoldForLongWork(t *testing.T) {
	f, err := ParseFile("f", []byte(`
defaults:
  checkpoint: {ttl: 7d}
jobs:
  plain: {script: x}
  own:
    script: {source: x, memory: 1 GiB}
    checkpoint: {key: payload.batch}
  none: {script: x, checkpoint: null}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"name":"plain","script":{"source":"x"},"checkpoint":{"ttl":"7d"}}`,
		`{"name":"own","script":{"source":"x","memory":"1GiB"},"checkpoint":{"ttl":"7d","key":"payload.batch"}}`,
		`{"name":"none","script":{"source":"x"},"checkpoint":{"ttl":"7d"}}`,
	} {
		if doc := string(f.Jobs[i].Document()); doc != want {
			t.Errorf("got %s\nwant %s", doc, want)
		}
	}
	_, err = ParseFile("f", []byte("jobs:\n  a: {script: x, checkpoint: {ttl: 0s, key: nope}}\n"))
	if got := errText(err); !strings.Contains(got, "f:2:36: jobs.a.checkpoint.ttl: want more than 0s") ||
		!strings.Contains(got, "f:2:45: jobs.a.checkpoint.key: line 1, column 1: unknown name nope") {
		t.Errorf("got %s", got)
	}
}

// Where an attempt is rendered anew, how it is completed stays.
func TestRenderKeepsHowAWebhookIsCompleted(t *testing.T) {
	w := &Webhook{
		URL: "http://x/{{ payload.a }}", Completion: CompletionCallback, HeartbeatTimeout: new(Duration(30e9)),
	}
	p, err := Prepare(Spec{Webhook: w})
	if err != nil {
		t.Fatal(err)
	}
	r, failure := p.Render(&Scope{Run: &Run{}, Job: &Job{}, Payload: Raw(`{"a":"b"}`), Host: "x:80"})
	if failure != nil || r.Spec.Webhook.URL != "http://x/b" || !r.Spec.Webhook.CallsBack() ||
		*r.Spec.Webhook.HeartbeatTimeout != *w.HeartbeatTimeout {
		t.Errorf("%+v, %v", r, failure)
	}
}
