package cli_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mailServer starts the mail server of the tests of jobs/mail, and gives its URL and what it sees.
func mailServer(t testing.TB) (url string, seen *lockedBuffer) {
	t.Helper()
	const python = "/usr/bin/python3" // Debian's: others may not see its packages
	if err := exec.Command(python, "-c", "import aiosmtpd").Run(); err != nil {
		t.Skipf("%s has no module aiosmtpd (Debian: python3-aiosmtpd): no mail is sent", python)
	}
	cmd := exec.Command(python, filepath.Join("..", "..", "jobs", "mail", "testdata", "smtpd.py"), "[{}]")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	port, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	seen = &lockedBuffer{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = lines.WriteTo(seen)
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-read
		_ = cmd.Wait()
	})
	return "smtp://127.0.0.1:" + strings.TrimSpace(port) + "?tls=none", seen
}

// letter is a message that the mail server took.
type letter struct {
	Event    string
	Envelope struct{ To []string }
	Headers  [][2]string
	Body     string
}

func (l letter) header(name string) string {
	for _, h := range l.Headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

func letters(seen *lockedBuffer) []letter {
	var found []letter
	for line := range strings.SplitSeq(seen.String(), "\n") {
		var l letter
		if json.Unmarshal([]byte(line), &l) == nil && l.Event == "message" {
			found = append(found, l)
		}
	}
	return found
}

func TestMailIsRetriedOnlyToThoseWhoHaveNotTakenIt(t *testing.T) {
	url, seen := mailServer(t)
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  report:
    mail:
      to: ["{{ payload.to }}", grey-451@example.com]
      subject: "{{ payload.rows }} rows"
      body: "In run {{ run.operation_id }}."
    retry: {backoff: {base: 10ms}}
  refused:
    mail: {to: [one@example.com, no-550@example.com], subject: "a", body: "b"}
`)
	p := start(t, dir, "--smtp", url, "--mail-from", "Jobs <jobs@here.test>", "--apply", file)
	run := p.cli("run", "report", "--payload", `{"to": "Ada <ada@example.com>", "rows": 12}`, "--wait", "--json").want(0).json()
	result, _ := run["result"].(map[string]any)
	if accepted, _ := result["accepted"].([]any); !slices.Equal(accepted, []any{"ada@example.com", "grey-451@example.com"}) {
		t.Errorf("result %v", result)
	}
	got := letters(seen)
	if len(got) != 2 || !slices.Equal(got[0].Envelope.To, []string{"ada@example.com"}) ||
		!slices.Equal(got[1].Envelope.To, []string{"grey-451@example.com"}) {
		t.Fatalf("letters %+v", got)
	}
	for name, want := range map[string]any{
		"Message-ID": result["message_id"], "Subject": "12 rows", "From": "Jobs <jobs@here.test>",
		"To": "Ada <ada@example.com>, grey-451@example.com", "Nightshift-Run": run["id"],
	} {
		if a, b := got[0].header(name), got[1].header(name); a != want || b != want {
			t.Errorf("%s: %q, then %q: want %q", name, a, b, want)
		}
	}
	attempts, _ := run["attempts"].([]any)
	if len(attempts) != 2 {
		t.Fatalf("attempts %v", attempts)
	}
	decision, _ := attempts[0].(map[string]any)["decision"].(map[string]any)
	if by, _ := decision["by"].(string); !strings.HasPrefix(by, "policy default rule ") {
		t.Errorf("decision %v", decision)
	}
	// 5yz fails at once and names who refused.
	p.cli("run", "refused", "--wait").want(1).has("refused by no-550@example.com: 550 5.1.1")
}

// A payload cannot reach beyond the field it is rendered into.
func TestPayloadCannotAddHeadersOrRecipients(t *testing.T) {
	url, seen := mailServer(t)
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  report:
    mail: {to: ["{{ payload.to }}"], subject: "{{ payload.subject }}", body: "{{ payload.body }}"}
`)
	p := start(t, dir, "--smtp", url, "--mail-from", "jobs@here.test", "--apply", file)
	send := func(to, subject string) *output {
		payload, err := json.Marshal(map[string]string{"to": to, "subject": subject, "body": "b\r\n.\r\nMAIL FROM:<x@x>"})
		if err != nil {
			t.Fatal(err)
		}
		return p.cli("run", "report", "--payload", string(payload), "--wait")
	}
	for _, subject := range []string{"a\r\nBcc: x@example.com", "a\nb", "a\rb", "a\u2028b"} {
		send("ada@example.com", subject).want(1).has("mail.subject")
	}
	for _, to := range []string{"ada@example.com, x@example.com", "ada@example.com\nx@example.com", "=?utf-8?q?=0A?= <ada@example.com>"} {
		send(to, "a").want(1).has("mail.to[0]")
	}
	if got := letters(seen); len(got) != 0 {
		t.Errorf("letters %+v", got)
	}
	send("ada@example.com", "=?utf-8?q?=0ABcc:?=").want(0)
	if got := letters(seen); len(got) != 1 || got[0].header("Subject") != "=?utf-8?q?=0ABcc:?=" || got[0].header("Bcc") != "" {
		t.Errorf("letters %+v", got)
	}
}

// Case 146: a mail server that takes connections and says nothing holds the mail workers alone.
func TestMailServerThatSaysNothingHoldsUpNoOtherJob(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  report:
    mail: {to: [ops@example.com], subject: a, body: b}
    timeout: 10m
  brief: {script: echo ran}
`)
	p := start(t, dir, "--smtp", "smtp://"+l.Addr().String(), "--mail-from", "jobs@here.test", "--apply", file)
	var ids []string
	for range 10 {
		id, _ := p.cli("run", "report", "--json").want(0).json()["id"].(string)
		ids = append(ids, id)
	}
	p.until("the mail workers are taken", func() bool {
		return strings.Count(p.cli("runs", "--job", "report").stdout, "running") == 4
	})
	for range 5 {
		p.cli("run", "brief", "--wait").want(0).has("ran")
	}
	if n := strings.Count(p.cli("runs", "--job", "report").stdout, "running"); n != 4 {
		t.Errorf("%d mails are being sent", n)
	}
	for _, id := range ids {
		p.cli("cancel", id).want(0)
	}
	p.until("all are cancelled", func() bool {
		return strings.Count(p.cli("runs", "--job", "report").stdout, "cancelled") == 10
	})
}

func TestMailThatCannotBeSentIsRefusedWhenSaved(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", "jobs:\n  report:\n    mail: {to: [ops@example.com], subject: a, body: b}\n")
	p := start(t, dir) // neither --smtp nor --mail-from, whether there is a sendmail or not
	p.cli("apply", "-f", file).want(1).has("jobs.report.mail", "this server ")
	if out := p.cli("jobs").want(0).stdout; strings.Contains(out, "report") {
		t.Errorf("saved: %s", out)
	}
	second := start(t, t.TempDir(), "--smtp", "smtp://127.0.0.1:1", "--mail-from", "jobs@here.test", "--apply", file)
	second.cli("jobs").want(0).has("report")
}

func TestMailExampleSendsItsReport(t *testing.T) {
	url, seen := mailServer(t)
	p := start(t, t.TempDir(), "--smtp", url, "--mail-from", "Jobs <jobs@example.com>", "--apply", example(t, "mail/jobs.yaml"))
	p.cli("run", "night-report", "--payload", `{"to": "ada@example.com", "rows": 12, "failed": 1}`, "--wait").want(0)
	p.cli("run", "welcome", "--payload", `{"email": "no-550@example.com", "name": "Ada"}`, "--wait").want(1).has("no such mailbox")
	got := letters(seen)
	if len(got) != 1 || got[0].header("Subject") != "Night report: 12 rows" || !strings.Contains(got[0].Body, "1 failed") ||
		!slices.Equal(got[0].Envelope.To, []string{"ada@example.com", "archive@example.com"}) {
		t.Errorf("letters %+v", got)
	}
}
