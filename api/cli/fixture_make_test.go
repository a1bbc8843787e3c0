package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A fixture is a file as a server of a released schema left it when it was killed, with every feature in
// use. Each is made once, by the last program of its schema, and never again:
//
//	go test ./api/cli -run TestMakeFixture -make-fixture store/sqlite/testdata/schema-N.db.gz
//	go test ./api -run TestFileOfEachReleasedSchema -golden schema-N
//
// The first writes the file, the second what the API answers from it. Paths are of the module.
var makeFixture = flag.String("make-fixture", "", "where to write the file of a schema, from the root of the module")

// What the servers of fixtures are given.
const (
	fixtureKey      = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	fixtureToken    = "fixture-token-of-the-admin"
	fixtureReceiver = "127.87.0.1:8799" // the files name it: nobody else listens there
	fixtureMail     = "127.87.0.1:8798" // and here nobody at all
	fixturePayload  = `{"n": 1.50,  "a": "ü\u00e9"}`
)

func fixtureEnv() []string {
	return []string{"NIGHTSHIFT_KEY=" + fixtureKey, "NIGHTSHIFT_TOKEN=" + fixtureToken}
}

// startFixture starts a server on the file of a folder as that of a fixture.
func startFixture(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	// The helpers of these tests read it there.
	if err := os.WriteFile(filepath.Join(dir, "nightshift.db.token"), []byte(fixtureToken), 0o600); err != nil {
		t.Fatal(err)
	}
	return startWith(t, dir, fixtureEnv(), append([]string{
		"--url", "https://jobs.example.com", "--smtp", "smtp://" + fixtureMail + "?tls=none", "--mail-from", "jobs@example.com",
	}, args...)...)
}

// fixtureSink is what the jobs of fixtures call.
func fixtureSink(t testing.TB) {
	t.Helper()
	ln, err := net.Listen("tcp", fixtureReceiver)
	if err != nil {
		t.Skipf("the receiver of the fixtures cannot listen: %v", err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			fmt.Fprint(w, `{"rows": 3}`)
		case "/slices":
			if r.Header.Get("Nightshift-Checkpoint") == "" {
				w.Header().Set("Nightshift-Continue", "true")
				fmt.Fprint(w, `{"checkpoint": {"at": 1}, "progress": {"done": 1, "total": 2}}`)
				return
			}
			fmt.Fprint(w, `{"done": true}`)
		case "/callback":
			w.WriteHeader(http.StatusAccepted)
		case "/later":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"type": "https://example.com/problems/no-such-user", "title": "No such user", "detail": "no user 4711"}`)
		}
	}))
	_ = s.Listener.Close()
	s.Listener = ln
	s.Start()
	t.Cleanup(s.Close)
}

// fixtureJobs is registered by one apply. Nothing of it is pruned for ten years.
const fixtureJobs = `
defaults:
  timezone: Europe/Berlin
  retain: {succeeded: 3650d, cancelled: 3650d, failed: 3650d}
policies:
  patient: {max_attempts: 20, backoff: {kind: fixed, base: 20h, jitter: 0}, rules: [{if: 'http.status == 500', then: retry, reason: later}]}
dependencies:
  stripe: {concurrency: 5, rate: {limit: 100, per: 1m}, breaker: {failures: 5, open_for: 30s, max_open: 10m}}
queues:
  narrow: {concurrency: 1}
alerts:
  tell-data: {on: [run.failed, run.recovered], if: 'labels.team == "data"', run: tell, throttle: 10m}
schedules:
  nightly: {job: ok, cron: "0 2 * * *", catch_up: {mode: none}, payload: {by: nightly}}
  gone: {job: ok, every: 15m, end: "2030-01-01T00:00:00Z", catch_up: {mode: none}}
jobs:
  ok:
    description: A webhook that goes well
    labels: {team: web}
    webhook: {url: "http://` + fixtureReceiver + `/ok", headers: {Authorization: "Bearer {{ secrets.KEY }}"}, signing_secret: "{{ secrets.SIGN }}"}
    dependencies: [stripe]
    on_success: [{job: chained, if: 'result.rows > 0', payload: "{{ result }}"}]
    inbound: [{name: door, verify: secret, secret: "{{ secrets.DOOR }}"}]
  chained: {script: {source: 'cat; nightshift result "{\"seen\": true}"'}, queue: narrow}
  slices: {webhook: {url: "http://` + fixtureReceiver + `/slices"}}
  callback: {webhook: {url: "http://` + fixtureReceiver + `/callback", completion: callback}, timeout: 24h, retry: {max_attempts: 1}}
  later: {webhook: {url: "http://` + fixtureReceiver + `/later"}, retry: {policy: patient}}
  bad: {webhook: {url: "http://` + fixtureReceiver + `/bad"}, labels: {team: data}, retry: {max_attempts: 3}}
  records:
    script: {source: 'nightshift checkpoint set "{\"at\": 41}"; nightshift progress 41/100; echo "Traceback (most recent call last):" >&2; echo "  File \"a.py\", line 3, in f" >&2; echo "ValueError: row 42" >&2; exit 1'}
    retry: {max_attempts: 2, backoff: {kind: fixed, base: 0s}, rules: [{if: 'exit.code == 1', then: retry}]}
    checkpoint: {ttl: 3650d}
  batch: {script: {source: 'nightshift checkpoint set 7; exit 1'}, retry: {max_attempts: 1}, checkpoint: {key: payload.batch, ttl: 3650d}}
  flaky: {script: {source: 'test "$NIGHTSHIFT_ATTEMPT" = 2'}, retry: {backoff: {kind: fixed, base: 0s}, rules: [{if: 'true', then: retry}]}}
  long: {script: {source: 'echo begun; exec sleep 3'}, concurrency: {limit: 1, key: payload.customer}, long_after: 1s, retry: {interrupted: rerun}}
  once: {script: {source: "true"}, unique: {key: payload.order, while: active}, rate: {limit: 100, per: 1m}}
  idle: {script: {source: "echo at last"}}
  stalled: {script: {source: "true"}, dependencies: [warehouse]}
  secretive: {script: {source: 'test -n "$S"', env: {S: "{{ secrets.NOT_THERE }}"}}}
  mailing: {mail: {to: [ops@example.com], subject: "{{ payload.n }}", body: hello}, retry: {policy: patient, rules: [{if: 'true', then: retry}]}}
  old: {script: {source: "true"}, schedules: [{cron: "0 0 1 1 *"}]}
  tell: {script: {source: 'cat "$NIGHTSHIFT_PAYLOAD"'}}
  ticking:
    script: {source: "true"}
    schedules: [{name: each, cron: "* * * * * *", overlap: skip, catch_up: {mode: none}}]
  whole: {group: {members: [{name: a, job: idle2, payload: {n: 1.50}}, {name: b, job: bad}], merge: {job: merging}, need: 1}}
  half: {group: {members: [{name: a, job: idle2}, {name: b, job: idle}], merge: {job: merging}, need: all}}
  idle2: {script: {source: 'echo "::nightshift {\"result\": {\"n\": 1.50}}"'}}
  merging: {script: {source: 'nightshift result "$(cat)"'}}
`

func TestMakeFixture(t *testing.T) {
	if *makeFixture == "" {
		t.Skip("needs -make-fixture FILE")
	}
	fixtureSink(t)
	dir := t.TempDir()
	p := startFixture(t, dir)
	f := &fixture{process: p}
	f.fill(t)
	p.kill()
	db := filepath.Join(dir, "nightshift.db")
	if out := sqlite(t, db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA integrity_check"); !strings.Contains(out, "ok") {
		t.Fatal(out)
	}
	text, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "..", *makeFixture), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KiB, packed %d KiB", len(text)>>10, packed.Len()>>10)
}

type fixture struct{ *process }

// do makes a call that must go well, and gives the answer's id, if it has one.
func (f *fixture) do(method, path string, body any) (id string) {
	f.t.Helper()
	status, text, err := f.try(method, path, body)
	if err != nil || status/100 != 2 {
		f.t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
	var answer struct{ ID string }
	_ = json.Unmarshal(text, &answer)
	return answer.ID
}

func (f *fixture) ends(id, state string) string {
	f.t.Helper()
	if run := f.end(id); run.State != state {
		f.t.Fatalf("run %s is %s %+v, want %s", id, run.State, run.Error, state)
	}
	return id
}

func (f *fixture) is(id, state string) string {
	f.t.Helper()
	f.awaitRun(id, "the run is "+state, func(r *aRun) bool { return r.State == state })
	return id
}

// fill uses every feature that leaves something in the file.
func (f *fixture) fill(t *testing.T) {
	f.access()
	f.cli("apply", "-f", write(t, t.TempDir(), "jobs.yaml", fixtureJobs), "--set", "fixture").want(0)
	f.do("POST", "/v1/jobs/idle/pause", doc{"note": "kept for later"})
	f.ended()
	f.failures()
	f.standing()
	f.until("ticks were skipped and ran", func() bool {
		_, text, _ := f.try("GET", "/v1/schedules/ticking:each/ticks", nil)
		return bytes.Count(text, []byte(`"ran"`)) >= 3
	})
	f.do("POST", "/v1/schedules/ticking:each/pause", doc{"note": "enough"})
	f.until("the alert was told", func() bool {
		_, text, _ := f.try("GET", "/v1/runs?job=tell&state=succeeded", nil)
		return bytes.Contains(text, []byte(`"alert"`))
	})
	// A run that is cut off by the kill.
	f.is(f.enqueue("long", doc{"payload": doc{"customer": "a"}}), "running")
	f.is(f.enqueue("long", doc{"payload": doc{"customer": "a"}}), "queued")
	time.Sleep(2500 * time.Millisecond) // what is kept in passing is on disk within 2 s
	f.is(f.enqueue("long", doc{"payload": doc{"customer": "b"}}), "running")
}

func (f *fixture) access() {
	for name, value := range map[string]string{"KEY": "key-0123456789", "SIGN": "sign-0123456789", "DOOR": "door-0123456789"} {
		f.do("PUT", "/v1/secrets/"+name, doc{"value": value})
	}
	f.do("PUT", "/v1/tokens/web", doc{"scopes": []string{"enqueue"}, "jobs": []string{"ok", "bad*"}})
	f.do("PUT", "/v1/tokens/watcher", doc{"scopes": []string{"read"}, "expires_at": "2036-01-01T00:00:00Z"})
	f.do("POST", "/v1/sessions", doc{"token": fixtureToken})
}

// ended makes runs that succeed, and one that is cancelled.
func (f *fixture) ended() {
	f.ends(f.enqueue("ok", `{"payload": `+fixturePayload+`, "idempotency_key": "order-1", "correlation_id": "c-1",
		"labels": {"tenant": "7"}, "priority": 5}`), "succeeded")
	f.ends(f.enqueue("slices", nil), "succeeded")
	f.ends(f.enqueue("flaky", nil), "succeeded")
	f.ends(f.enqueue("once", doc{"payload": doc{"order": 1}}), "succeeded")
	f.ends(f.do("POST", "/in/ok/door/door-0123456789", doc{"event": "push"}), "succeeded")
	f.ends(f.enqueue("whole", nil), "succeeded")
	f.do("POST", "/v1/groups", doc{"members": []doc{{"name": "x", "job": "idle2"}, {"name": "y", "job": "once", "payload": doc{"order": 2}}}})
	f.ends(f.enqueue("old", nil), "succeeded")
	f.do("DELETE", "/v1/jobs/old", nil)
	f.do("PUT", "/v1/jobs/chained", doc{"script": doc{"source": "cat # version 2"}, "queue": "narrow"})
	cancelled := f.enqueue("idle", doc{"delay": "10h"})
	f.do("POST", "/v1/runs/"+cancelled+"/cancel", nil)
}

// failures makes some that are open, requeued, resolved and ignored.
func (f *fixture) failures() {
	f.ends(f.enqueue("records", nil), "failed")
	f.ends(f.enqueue("batch", doc{"payload": doc{"batch": "monday"}}), "failed")
	first := f.ends(f.enqueue("bad", doc{"payload": doc{"user": 1}}), "failed")
	second := f.ends(f.do("POST", "/v1/failures/"+first+"/requeue", doc{"note": "once more"}), "failed")
	f.ends(f.do("POST", "/v1/runs/"+second+"/requeue", doc{"payload": doc{"user": 2}}), "failed")
	f.do("POST", "/v1/failures/"+f.ends(f.enqueue("bad", nil), "failed")+"/resolve", doc{"note": "by hand"})
	f.do("POST", "/v1/failures/"+f.ends(f.enqueue("records", nil), "failed")+"/ignore", doc{"note": "known", "until": "2036-01-01T00:00:00Z"})
	for range 3 {
		f.ends(f.enqueue("bad", doc{"payload": doc{"user": 3}}), "failed")
	}
	f.do("POST", "/v1/failures/requeue", doc{
		"filter": doc{"job": "bad"}, "patch": doc{"patched": true}, "rate": "1/h", "stop_after": 5, "note": "slowly",
	})
}

// standing makes runs that have not ended, one for each reason.
func (f *fixture) standing() {
	f.is(f.enqueue("idle", nil), "queued")
	f.is(f.enqueue("idle", doc{"run_at": "2036-01-01T00:00:00Z"}), "scheduled")
	f.is(f.enqueue("secretive", nil), "queued")
	f.is(f.enqueue("later", nil), "retrying")
	f.is(f.enqueue("mailing", doc{"payload": doc{"n": 3}}), "retrying")
	f.is(f.enqueue("callback", nil), "waiting")
	half := f.is(f.enqueue("half", nil), "waiting")
	f.until("half of the group is done", func() bool {
		_, text, _ := f.try("GET", "/v1/runs/"+half+"/members", nil)
		return bytes.Contains(text, []byte(`"succeeded"`)) && bytes.Contains(text, []byte(`"queued"`))
	})
	f.do("POST", "/v1/dependencies/warehouse/trip", nil)
	f.do("POST", "/v1/dependencies/warehouse/pause", doc{"note": "moving house"})
	f.is(f.enqueue("stalled", nil), "queued")
	f.do("POST", "/v1/queues/narrow/pause", doc{"note": "no"})
	f.is(f.enqueue("chained", nil), "queued")
	f.do("POST", "/v1/jobs/once/pause", nil)
	f.is(f.enqueue("once", doc{"payload": doc{"order": 3}}), "queued")
	f.do("POST", "/v1/jobs/once/runs", doc{"payload": doc{"order": 3}}) // it is folded into that one
}
