package cli_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// setupSlack has failures told to a sink.
func (p *process) setupSlack(k *slackSink) *output {
	p.t.Helper()
	return run(p.t, p.dir, k.URL+slackPath+"\n", []string{"NIGHTSHIFT_SERVER=" + p.url}, "alerts", "setup", "slack")
}

// told fails the test unless the sink takes so many messages, of which the newest holds texts.
func (k *slackSink) told(p *process, n int, texts ...string) {
	p.t.Helper()
	p.until("so many messages", func() bool { return len(k.messages()) >= n })
	all := k.messages()
	if len(all) != n {
		p.t.Fatalf("%d messages, want %d:\n%s", len(all), n, strings.Join(all, "\n---\n"))
	}
	for _, text := range texts {
		if !strings.Contains(all[n-1], text) {
			p.t.Errorf("%q is not in\n%s", text, all[n-1])
		}
	}
	k.sound(p.t)
}

// switched is a webhook that fails, with a body, until it is turned well.
func switched(t testing.TB, fault string) (url string, well *atomic.Bool) {
	well = &atomic.Bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(422)
			_ = json.NewEncoder(w).Encode(map[string]string{"type": "BadRow", "detail": fault})
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", well
}

func TestFailuresAreToldInAMinute(t *testing.T) {
	k := newSlackSink(t, nil)
	hook, well := switched(t, "row <7> is bad, <!channel> "+strings.Repeat("&`", 5000))
	p := start(t, t.TempDir())
	p.until("the log says that failures are silent", func() bool {
		return strings.Contains(p.log.String(), "no alert tells of failures")
	})
	p.cli("alerts").want(0).has("Failures are silent", "alerts setup slack")
	p.cli("jobs").want(0).has("Failures are silent")
	p.cli("alerts", "test").want(1).has("No alert tells of it", "Failures are silent")

	p.setupSlack(k).want(0).has("secret ALERT_SLACK is made", "job alert-slack is made", "alert failures is made", "told by run")
	k.told(p, 1, "TEST: ", "nothing has failed")
	if o := p.cli("jobs", "show", "alert-slack").want(0); strings.Contains(o.stdout, "s3cr3t") {
		t.Errorf("the job holds the secret: %s", o.stdout)
	}
	p.setupSlack(k).want(0).has("secret ALERT_SLACK has the new value", "job alert-slack stands", "alert failures stands")
	k.told(p, 2, "TEST: ")
	if o := p.cli("alerts").want(0).has("failures", "alert-slack", "run.failed"); strings.Contains(o.stderr, "silent") {
		t.Errorf("it says that failures are silent: %s", o.stderr)
	}

	write(t, p.dir, "jobs.yaml", "jobs: {sync: {webhook: "+hook+", labels: {team: data}}}\n")
	p.cli("apply", "-f", "jobs.yaml").want(0)
	p.cli("run", "sync", "--wait").want(1)
	k.told(p, 3, "sync failed", "BadRow", "row &lt;7&gt; is bad, &lt;!channel&gt;", "team=data", "|Open the run>")
	well.Store(true)
	p.cli("run", "sync", "--wait").want(0)
	k.told(p, 4, "sync is well again")
	p.cli("alerts", "test", "sync").want(0).has("failures: told by run")
	k.told(p, 5, "TEST: sync failed")
	p.cli("run", "sync", "--wait").want(0)
	k.told(p, 5) // a test is no failure: nothing recovers
}

func TestWhatASlackRefusesIsSaidLoudly(t *testing.T) {
	k := newSlackSink(t, func(int) (int, string) { return 404, "" })
	p := start(t, t.TempDir())
	p.setupSlack(k).want(1).has("failures: NOT told.", "404", "alerts test to try again")
	p.until("it is counted", func() bool {
		return strings.Contains(p.cli("alerts").want(0).stderr, "could not be delivered: ")
	})
	res, err := http.Get(p.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), "could not be delivered, and nobody has dealt with") {
		t.Errorf("readyz says %d %s %v", res.StatusCode, body, err)
	}
	p.cli("runs", "--trigger", "alert", "--state", "failed").want(0).has("alert-slack")
}

// tellBy is a job file of an alert whose job tries again at once.
func tellBy(job string) string {
	return "alerts: {failures: {on: [run.failed, run.recovered], run: tell}}\njobs:\n  tell:\n    " + job +
		"\n    timeout: 500ms\n    retry: {backoff: {kind: fixed, base: 50ms, jitter: 0}}\n"
}

func TestAlertsGetThroughToAReceiverInTrouble(t *testing.T) {
	for name, answer := range map[string]func(call int) (int, string){
		"one that asks to wait": func(call int) (int, string) {
			if call == 1 {
				return 429, "1"
			}
			return 200, ""
		},
		"one that hangs": func(call int) (int, string) {
			if call < 3 {
				return -1, ""
			}
			return 200, ""
		},
		"one that is down for longer than any number of attempts": func(call int) (int, string) {
			if call <= 12 { // max_attempts is 8
				return 503, ""
			}
			return 200, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newSlackSink(t, answer)
			hook, _ := switched(t, "boom")
			dir := t.TempDir()
			write(t, dir, "jobs.yaml", tellBy(`webhook: {url: "`+k.URL+slackPath+`", body: "{{ slack(payload) }}"}`)+
				"  sync: {webhook: "+hook+", dependencies: []}\n"+
				"dependencies: {\""+strings.TrimPrefix(k.URL, "http://")+"\": {breaker: null}}\n")
			p := start(t, dir, "--apply", "jobs.yaml")
			p.cli("run", "sync", "--wait").want(1)
			k.told(p, 1, "sync failed", "boom")
		})
	}
}

// Case 146.
func TestABlackHoleForMailDoesNotSlowFailingRuns(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	dir := t.TempDir()
	write(t, dir, "jobs.yaml", strings.ReplaceAll(
		tellBy(`mail: {to: [ops@example.com], subject: "{{ text(payload, 1) }}", body: "{{ text(payload) }}"}`), "500ms", "2m")+
		"  bad: {script: exit 1}\n")
	p := start(t, dir, "--apply", "jobs.yaml", "--smtp", "smtp://"+hole.Addr().String()+"?tls=none", "--mail-from", "a@example.com")
	var list []map[string]any
	for range 50 {
		list = append(list, map[string]any{"job": "bad"})
	}
	body, _ := json.Marshal(map[string]any{"runs": list})
	token, err := os.ReadFile(filepath.Join(dir, "nightshift.db.token"))
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("POST", p.url+"/v1/runs/batch", strings.NewReader(string(body)))
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 202 {
		t.Fatal(res, err)
	}
	res.Body.Close()
	states := func(args ...string) string {
		return strings.Join(strings.Fields(p.cli(append([]string{"runs", "--json", "--limit", "100"}, args...)...).want(0).stdout), "")
	}
	p.until("all have failed", func() bool { return strings.Count(states("--job", "bad", "--state", "failed"), `"job":"bad"`) == 50 })
	// The mail to the black hole is still under way: nobody has waited for it.
	if got := states("--trigger", "alert"); !strings.Contains(got, `"state":"running"`) {
		t.Errorf("runs that tell: %s", got)
	}
}

func TestFailuresAreToldByMail(t *testing.T) {
	smtp, seen := mailServer(t)
	hook, _ := switched(t, "boom")
	p := start(t, t.TempDir(), "--smtp", smtp, "--mail-from", "jobs@here.test")
	write(t, p.dir, "jobs.yaml", "jobs: {sync: {webhook: "+hook+"}}\n")
	p.cli("apply", "-f", "jobs.yaml").want(0)
	p.cli("alerts", "setup", "email", "--to", "ops@example.com,boss@example.com").want(0).
		has("job alert-email is made", "alert failures is made", "told by run")
	p.cli("run", "sync", "--wait").want(1)
	p.until("a mail came", func() bool { return len(letters(seen)) >= 2 })
	l := letters(seen)[1]
	if l.header("Subject") != "[nightshift] sync failed" || !strings.Contains(l.Body, "boom") || len(l.Envelope.To) != 2 {
		t.Errorf("the mail is %+v", l)
	}
}

func TestAWebhookIsToldAsCloudEvents(t *testing.T) {
	got := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.URL.String() + " " + string(body)
	}))
	defer s.Close()
	p := start(t, t.TempDir())
	o := run(t, p.dir, s.URL+"/hooks/alerting?v=1&sig=s3cr3tsignature%2B1", []string{"NIGHTSHIFT_SERVER=" + p.url},
		"alerts", "setup", "webhook", "--json").want(0).json()
	if o["job"] != "alert-webhook" || o["alert"] != "failures" || len(o["secrets"].([]any)) != 2 {
		t.Errorf("set up %v", o)
	}
	path, body, _ := strings.Cut(<-got, " ")
	var event struct {
		SpecVersion, Type string
		Data              struct{ Test bool }
	}
	if err := json.Unmarshal([]byte(body), &event); err != nil || event.SpecVersion != "1.0" || event.Type != "run.failed" || !event.Data.Test {
		t.Errorf("%v: %s", err, body)
	}
	if path != "/hooks/alerting?v=1&sig=s3cr3tsignature%2B1" {
		t.Errorf("told at %s", path)
	}
	if doc := p.cli("jobs", "show", "alert-webhook").want(0).stdout; strings.Contains(doc, "s3cr3t") || strings.Contains(doc, "alerting") {
		t.Errorf("the job holds the secret: %s", doc)
	}
}

func TestSetupsSideBySideHaveAlertsOfTheirOwn(t *testing.T) {
	k := newSlackSink(t, nil)
	p := start(t, t.TempDir(), "--smtp", "smtp://127.0.0.1:1?tls=none", "--mail-from", "a@example.com")
	p.cli("alerts", "setup", "email", "--to", "ops@example.com", "--no-test").want(0).has("alert failures is made")
	p.setupSlack(k).has("alert failures-slack is made", "failures-slack: told by run")
	p.cli("alerts", "setup", "email", "--to", "x", "--no-test").want(1).has("mail.to[0]")
	p.cli("alerts", "setup", "email", "--no-test").want(2).has("want at least one address")
	for _, text := range []string{"", "hooks.slack.com", "https://u:p@hooks.slack.com/services/x/y/zzzz", "https://hooks.slack.com/", "https://a/ b"} {
		o := run(t, p.dir, text, []string{"NIGHTSHIFT_SERVER=" + p.url}, "alerts", "setup", "slack").want(2).has("the URL: ")
		if strings.Contains(o.stderr, "zzzz") {
			t.Errorf("the URL is printed: %s", o.stderr)
		}
	}
	run(t, p.dir, k.URL+slackPath, []string{"NIGHTSHIFT_SERVER=" + p.url}, "alerts", "setup", "slack", "--job", "alert-email").
		want(1).has("the job alert-email stands already and is a mail, not a webhook")
	p.cli("alerts", "delete", "failures").want(0).has("failures deleted")
	p.cli("jobs", "delete", "alert-slack").want(1).has("is named by alert failures-slack")
	p.cli("alerts", "show", "failures-slack").want(0).has(`"run": "alert-slack"`)
	write(t, p.dir, "alerts.yaml", "alerts:\n- {name: team, on: [run.failed], run: alert-slack, if: 'labels.team == \"x\"'}\n")
	p.cli("alerts", "set", "-f", "alerts.yaml").want(0).has("alert team created")
	write(t, p.dir, "bad.yaml", "alerts:\n- {name: team, on: [run.failed], run: none}\n")
	p.cli("alerts", "set", "-f", "bad.yaml").want(1).has("bad.yaml:2:39: alerts[0].run: there is no job none")
	text := p.cli("export").want(0).stdout
	write(t, p.dir, "all.yaml", text)
	p.cli("apply", "-f", "all.yaml").want(0).has("alert team", "alert failures-slack")
	p.cli("apply", "-f", "all.yaml", "--dry-run").want(0).has("unchanged")
	write(t, p.dir, "all.yaml", strings.ReplaceAll(text, "labels.team == \"x\"", "labels.team == \"y\""))
	p.cli("apply", "-f", "all.yaml", "--dry-run").want(0).has("alert team changed", "labels.team")
}

func TestSetupAsksForTheURLWithoutShowingIt(t *testing.T) {
	k := newSlackSink(t, nil)
	p := start(t, t.TempDir())
	user, program := terminal(t)
	shown := &lockedBuffer{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(shown, user)
	}()
	cmd := exec.Command(binary, "alerts", "setup", "slack")
	cmd.Dir, cmd.Env = p.dir, environment("NIGHTSHIFT_SERVER="+p.url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("it asks", func() bool { return strings.Contains(shown.String(), "URL of the incoming webhook") })
	p.until("nothing is shown", func() bool {
		now, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		return err == nil && now.Lflag&unix.ECHO == 0
	})
	if _, err := user.WriteString(k.URL + slackPath + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, shown)
	}
	program.Close()
	<-copied
	if strings.Contains(shown.String(), "s3cr3t") || !strings.Contains(shown.String(), "a message that begins with TEST has come") {
		t.Errorf("shown: %s", shown)
	}
	k.told(p, 1, "TEST: ")
}
