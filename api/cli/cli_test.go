package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const someJobs = `
jobs:
  say:
    description: Says what it is told
    script: |
      echo "first line"
      cat
      echo
  fail:
    script: |
      echo "bad luck" >&2
      exit 3
  slow:
    script: "echo begun; sleep 600"
`

func serving(t *testing.T) *process {
	t.Helper()
	dir := t.TempDir()
	return start(t, dir, "--apply", write(t, dir, "jobs.yaml", someJobs))
}

func TestRunWaitsAndPrintsTheLog(t *testing.T) {
	p := serving(t)
	o := p.cli("run", "say", "--payload", `{"x": 1.0}`, "--wait").want(0)
	if o.stdout != "first line\n{\"x\": 1.0}\n" {
		t.Errorf("the log is %q", o.stdout)
	}
	o.has("It succeeded.")
	p.cli("run", "fail", "--wait").want(1).has("bad luck", "It failed: exit: exit 3", "not tried again")
	o = run(t, p.dir, `"from stdin"`, []string{"NIGHTSHIFT_SERVER=" + p.url}, "run", "say", "--payload", "-", "--wait")
	o.want(0).has(`"from stdin"`)
	write(t, p.dir, "payload.json", `[1, 2]`)
	p.cli("run", "say", "--payload", "@payload.json", "--wait").want(0).has("[1, 2]")
	done := p.cli("run", "say", "--wait", "--json").want(0).json()
	if done["state"] != "succeeded" || done["trigger"] != "cli" {
		t.Errorf("run: %v", done)
	}
	p.cli("run", "absent").want(1).has("There is no such thing")
	first := p.cli("run", "say", "--key", "k", "--label", "a=b").want(0)
	p.cli("run", "say", "--key", "k", "--label", "a=b").want(0).has(strings.Fields(first.stdout)[0], "made before")
	p.cli("runs", "--label", "a=b").want(0).has(strings.Fields(first.stdout)[0])
}

func TestRunsShowSaysWhyARunHasNotStarted(t *testing.T) {
	p := serving(t)
	id := func(args ...string) string {
		return strings.Fields(p.cli(append([]string{"run"}, args...)...).want(0).stdout)[0]
	}
	later := id("say", "--delay", "2h")
	p.cli("runs", "show", later).want(0).has("It has not started: it is not due until", "(in ")
	p.cli("jobs", "pause", "say", "--note", "until monday").want(0).has("say is paused")
	held := id("say")
	p.cli("runs", "show", held).want(0).has("It has not started: the job say is paused (until monday).")
	p.cli("runs").want(0).has("paused: until monday")
	p.cli("jobs").want(0).has("paused until monday")
	p.cli("resume", "say").want(0).has("say is not paused")
	p.until("it ends", func() bool { return strings.Contains(p.cli("runs", "show", held).stdout, "It succeeded.") })
	p.cli("drain").want(0).has("starts nothing until")
	drained := id("say")
	p.cli("runs", "show", drained).want(0).has("It has not started: the server starts nothing")
	p.cli("runs").want(0).has(drained, "queued")
	p.cli("resume").want(0).has("The server starts attempts")
	p.until("it ends", func() bool { return strings.Contains(p.cli("runs", "show", drained).stdout, "It succeeded.") })
	p.cli("runs", "run-now", later).want(0)
	p.until("it ends", func() bool { return strings.Contains(p.cli("runs", "show", later).stdout, "It succeeded.") })
}

func TestRunsShowSaysThatWorkersAreBusy(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "--apply", write(t, dir, "jobs.yaml", someJobs), "--script-workers", "1")
	slow := strings.Fields(p.cli("run", "slow").want(0).stdout)[0]
	p.until("it runs", func() bool { return strings.Contains(p.cli("runs", "show", slow).stdout, "It runs since") })
	behind := strings.Fields(p.cli("run", "say").want(0).stdout)[0]
	p.cli("runs", "show", behind).want(0).has("It has not started: it waits for a free worker: 1 of 1 script workers are busy.")
	p.cli("drain", "--wait", "50ms").want(1).has("1 attempt runs")
	p.cli("cancel", slow).want(0)
	p.until("it is cancelled", func() bool {
		return strings.Contains(p.cli("runs", "show", slow).stdout, "It was cancelled.")
	})
	p.cli("drain", "--wait", "1m").want(0).has("0 attempts run")
}

func TestDrainReturnsWhenNoneRuns(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  a: {script: 'echo begun; while [ ! -e "+
		filepath.Join(dir, "go")+" ]; do sleep 0.05; done'}\n")
	p := start(t, dir, "--apply", file, "--log-level", "debug")
	id := strings.Fields(p.cli("run", "a").want(0).stdout)[0]
	p.until("it has begun", func() bool { return strings.Contains(p.cli("logs", id).stdout, "begun") })
	p.cli("drain", "--wait", "0s").want(0).has("1 attempt runs")
	p.cli("drain", "--wait", "10ms").want(1).has("1 attempt runs")
	drained := make(chan *output, 1)
	looked := func() int { return strings.Count(p.log.String(), `"path":"/v1/server"`) }
	before := looked()
	go func() { drained <- p.cli("drain") }()
	p.until("it has looked and gone on", func() bool { return looked() > before+1 })
	select {
	case o := <-drained:
		t.Fatalf("it returned: %s%s", o.stdout, o.stderr)
	default:
	}
	write(t, dir, "go", "")
	(<-drained).want(0).has("0 attempts run")
	p.cli("runs", "show", id).want(0).has("It succeeded.")

	// Resumed meanwhile, it is no drain.
	if err := os.Remove(filepath.Join(dir, "go")); err != nil {
		t.Fatal(err)
	}
	p.cli("resume").want(0)
	id = strings.Fields(p.cli("run", "a").want(0).stdout)[0]
	p.until("it has begun", func() bool { return strings.Contains(p.cli("logs", id).stdout, "begun") })
	go func() { drained <- p.cli("drain") }()
	p.until("it drains", func() bool {
		return p.cli("drain", "--wait", "0s", "--json").want(0).json()["draining"] == true
	})
	p.until("the other drain sees the resume", func() bool {
		p.cli("resume").want(0)
		select {
		case o := <-drained:
			o.want(1).has("The server starts attempts")
			return true
		default:
			return false
		}
	})
	write(t, dir, "go", "")
}

func TestLogsFollow(t *testing.T) {
	dir := t.TempDir()
	doc := `{"jobs": [{"name": "talk", "script": {"source": "printf 'one \\303'; sleep 0.3; printf '\\251\\n'; ` +
		`while [ ! -e \"$GO\" ]; do sleep 0.05; done; printf 'two \\377\\n'", "interpreter": ["sh", "-e"], "env": {"GO": "` + dir + `/go"}}}]}`
	p := start(t, dir, "--apply", write(t, dir, "jobs.json", doc))
	id := strings.Fields(p.cli("run", "talk").want(0).stdout)[0]
	followed := make(chan *output, 1)
	go func() { followed <- p.cli("logs", "talk", "-f") }()
	p.until("it has begun", func() bool { return strings.Contains(p.cli("logs", id).want(0).stdout, "one é\n") })
	write(t, dir, "go", "")
	select {
	case o := <-followed:
		if o.want(0).stdout != "one é\ntwo \uFFFD\n" {
			t.Errorf("followed %q", o.stdout)
		}
	case <-time.After(time.Minute):
		t.Fatal("following does not end")
	}
	if o := p.cli("logs", "talk").want(0); o.stdout != "one é\ntwo \xff\n" {
		t.Errorf("the log is %q", o.stdout)
	}
}

func TestCancelAndRequeue(t *testing.T) {
	p := serving(t)
	id := strings.Fields(p.cli("run", "say", "--delay", "1h", "--payload", `"kept"`).want(0).stdout)[0]
	p.cli("requeue", id).want(1).has("the run is scheduled")
	p.cli("cancel", id).want(0).has("It was cancelled before it started.")
	p.cli("cancel", id).want(0)
	p.cli("requeue", id, "--note", "again", "--wait").want(0).has(`"kept"`, "It succeeded.")
	p.cli("runs", "show", id).want(0).has("requeued to")
	p.cli("requeue", id, "--payload", `"other"`, "--wait").want(0).has(`"other"`)
	p.cli("cancel", id, "0192e4a7-5b3c-7d1e-8f00-0123456789ab").want(1).has("There is no such thing")
	p.cli("runs", "delete", id).want(0)
	p.cli("runs", "show", id).want(1)
}

func TestApplySaysWhereTheFaultIs(t *testing.T) {
	p := serving(t)
	good := write(t, p.dir, "good.yaml", "jobs:\n  one: {webhook: 'http://h/'}\n")
	bad := write(t, p.dir, "bad.yaml", "jobs:\n  two:\n    webhook: http://h/\n    colour: red\n")
	rule := write(t, p.dir, "rule.yaml", "jobs:\n  - name: three\n    webhook: http://h/\n    retry:\n      rules:\n        - if: http.statsu == 1\n          then: fail\n")
	p.cli("apply", "-f", good, "-f", bad).want(1).has("bad.yaml:4:", "colour")
	p.cli("apply", "-f", good, "-f", rule).want(1).has("rule.yaml:6:", "jobs[0].retry.rules[0].if")
	p.cli("jobs", "show", "one").want(1)
	p.cli("apply", "-f", good).want(0).has("one created, version 1")
	p.cli("apply", "-f", good).want(0).has("one unchanged, version 1")
	if v := p.cli("apply", "-f", good, "--json").want(0).json(); v["items"] == nil {
		t.Errorf("apply --json: %v", v)
	}
	p.cli("apply", "-f", good, "-f", good).want(1).has("stands at")
	p.cli("apply", "-f", "absent.yaml").want(1).has("absent.yaml")
	p.cli("jobs", "show", "one").want(0).has(`"url": "http://h/"`)
	p.cli("jobs", "versions", "one").want(0).has("POST http://h/")
	p.cli("jobs", "upgrade", "one").want(0).has("0 runs moved")
	p.cli("jobs", "delete", "one").want(0).has("0 unfinished runs cancelled")
	p.cli("jobs", "delete", "one").want(1)
}

func TestVersionsSayWhomAMailGoesTo(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  tell: {mail: {to: [a@example.com, b@example.com], subject: s, body: b}}\n")
	p := start(t, dir, "--smtp", "smtp://127.0.0.1:9?tls=none", "--mail-from", "n@example.com", "--apply", file)
	p.cli("jobs", "versions", "tell").want(0).has("mail to a@example.com, b@example.com")
}

func TestTokensOnTheCommandLine(t *testing.T) {
	p := serving(t)
	secret := strings.TrimSpace(p.cli("tokens", "create", "ci", "--scope", "read,enqueue", "--jobs", "say", "--expires", "30d").want(0).stdout)
	if !strings.HasPrefix(secret, "ns_") {
		t.Fatalf("secret %q", secret)
	}
	p.cli("tokens").want(0).has("ci", "read,enqueue", "say")
	first := p.cli("tokens", "--limit", "1").want(0).has("ci", "More: --cursor ")
	_, cursor, _ := strings.Cut(first.stderr, "--cursor ")
	p.cli("tokens", "--cursor", strings.TrimSpace(cursor)).want(0).has("admin")
	p.cli("tokens", "create", "narrow", "--scope", "enqueue", "--job", "mail-*").want(0)
	p.cli("tokens").want(0).has("mail-*")
	p.cli("tokens", "revoke", "narrow").want(0)
	p.cli("run", "say", "--wait", "--token", secret).want(0)
	p.cli("run", "fail", "--token", secret).want(1).has("There is no such thing")
	p.cli("tokens", "--token", secret).want(1).has("it needs the scope admin")
	p.cli("tokens", "revoke", "ci").want(0)
	p.cli("run", "say", "--token", secret).want(1).has("A valid token is needed")
	p.cli("tokens", "revoke", "admin").want(1).has("the last token")
}

func TestEveryCommandPrintsJSON(t *testing.T) {
	p := serving(t)
	id, _ := p.cli("run", "say", "--json").want(0).json()["id"].(string)
	p.until("it ends", func() bool {
		return p.cli("runs", "show", id, "--json").want(0).json()["state"] == "succeeded"
	})
	for _, args := range [][]string{
		{"runs"},
		{"runs", "list", "--state", "succeeded"},
		{"runs", "show", id},
		{"jobs"},
		{"jobs", "list"},
		{"jobs", "show", "say"},
		{"jobs", "versions", "say"},
		{"jobs", "pause", "say"},
		{"jobs", "resume", "say"},
		{"pause", "say"},
		{"resume", "say"},
		{"tokens"},
		{"tokens", "create", "x", "--scope", "read"},
		{"drain"},
		{"resume"},
		{"logs", id},
		{"logs", "-f", id},
		{"logs", "say"},
		{"requeue", id},
		{"tokens", "revoke", "x"},
		{"runs", "delete", id},
		{"jobs", "upgrade", "say"},
		{"jobs", "delete", "slow"},
	} {
		p.cli(append(args, "--json")...).want(0).json()
	}
	o := p.cli("runs", "show", "0192e4a7-5b3c-7d1e-8f00-0123456789ab", "--json").want(1)
	var problem struct{ Type string }
	if err := json.Unmarshal([]byte(o.stderr), &problem); err != nil || problem.Type != "urn:nightshift:problem:not-found" {
		t.Errorf("problem: %v %s", err, o.stderr)
	}
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	p := serving(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(400)
		_, _ = w.Write([]byte(`{"type":"x\u001b[2Jy","detail":"a\u001b]0;owned\u0007b\nforged line\u202e"}`))
	}))
	defer evil.Close()
	write(t, p.dir, "evil.json", `{"jobs":{"evil":{"webhook":"`+evil.URL+`"}}}`)
	p.cli("apply", "-f", "evil.json").want(0)
	o := p.cli("run", "evil", "--wait").want(1)
	id := strings.Fields(o.stderr)[1]
	for _, shown := range []*output{o, p.cli("runs"), p.cli("runs", "show", id)} {
		if strings.ContainsAny(shown.stdout+shown.stderr, "\x1b\x07\u202e") {
			t.Errorf("printed %q", shown.stdout+shown.stderr)
		}
	}
}

func TestNoServerIsAClearFailure(t *testing.T) {
	o := run(t, t.TempDir(), "", nil, "jobs", "--server", "http://127.0.0.1:1").want(1)
	o.has("call http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused\nNo server answers there.")
	o = run(t, t.TempDir(), "", nil, "jobs", "--server", "http://127.0.0.1:1", "--json").want(1)
	var problem struct{ Detail string }
	if err := json.Unmarshal([]byte(o.stderr), &problem); err != nil || !strings.Contains(problem.Detail, "refused") {
		t.Errorf("%v: %s", err, o.stderr)
	}
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/jobs" {
			_, _ = w.Write([]byte("<html>hello</html>"))
			return
		}
		http.Redirect(w, r, "http://127.0.0.1:1/stolen", http.StatusFound)
	}))
	defer odd.Close()
	run(t, t.TempDir(), "", nil, "jobs", "--server", odd.URL).want(1).has("is it a Nightshift server?")
	run(t, t.TempDir(), "", nil, "runs", "--server", odd.URL, "--token", "t").want(1).has("unexpected answer 302")
}
