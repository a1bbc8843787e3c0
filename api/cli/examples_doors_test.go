package cli_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// sent is what examples/doors/send.py printed.
type sent struct {
	status string
	aRun
}

// send plays a sender of examples/doors.
func (p *process) send(args ...string) (s sent) {
	p.t.Helper()
	cmd := exec.Command("python3", append([]string{"-B", example(p.t, "doors/send.py")}, args...)...)
	cmd.Env = environment("NIGHTSHIFT_SERVER=" + p.url)
	out, err := cmd.CombinedOutput()
	var text string
	s.status, text, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	if (err == nil) != strings.HasPrefix(s.status, "2") {
		p.t.Fatalf("send.py %q: %v: %s", args, err, out)
	}
	if s.status == "202" {
		if err := json.Unmarshal([]byte(text), &s.aRun); err != nil {
			p.t.Fatalf("send.py %q: %s", args, out)
		}
	}
	return s
}

// sendOK sends and gives the log of the run that it made.
func (p *process) sendOK(args ...string) string {
	p.t.Helper()
	made := p.send(args...)
	if made.status != "202" || made.Duplicate {
		p.t.Fatalf("%q: %s, duplicate %v", args, made.status, made.Duplicate)
	}
	if run := p.end(made.ID); run.State != "succeeded" {
		p.t.Errorf("%q: %s %+v", args, run.State, run.Error)
	}
	return p.logOf(made.ID)
}

func TestDoorsExampleLetsEachSenderIn(t *testing.T) {
	needs(t, "python3")
	p := start(t, t.TempDir())
	p.cli("apply", "-f", example(t, "doors/jobs.yaml")).want(0)
	if s := p.send("github"); s.status != "503" {
		t.Errorf("without its secret the door answers %s", s.status)
	}
	for name, value := range map[string]string{
		"GITHUB_WEBHOOK": "octocats like fish", "STRIPE_WEBHOOK": "whsec_example_of_stripe",
		"CONTACTS_WEBHOOK": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "IMPORT_URL": "a/long+random=text",
	} {
		p.set(name, value).want(0)
	}
	for sender, want := range map[string]string{
		"standard-webhooks": `syncing {"type": "contact.created", "data": {"name": "Ada"}}`,
		"secret":            `importing {"file": "orders-17.csv"}`,
	} {
		if log := p.sendOK(sender); log != want {
			t.Errorf("%s: %s", sender, log)
		}
	}
	if s := p.send("secret"); s.status != "202" || !s.Duplicate {
		t.Errorf("the same file again: %s, duplicate %v", s.status, s.Duplicate)
	}
	for _, sender := range []string{"github", "stripe", "standard-webhooks", "secret"} {
		if s := p.send(sender, "--forged"); s.status != "401" {
			t.Errorf("%s forged: %s", sender, s.status)
		}
	}
	for _, sender := range []string{"stripe", "standard-webhooks"} {
		if s := p.send(sender, "--age", "600"); s.status != "401" {
			t.Errorf("%s of ten minutes ago: %s", sender, s.status)
		}
	}
	if n := len(p.runsOf("")); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
	if s := p.send("github", "--body", `{"ref": "refs/heads/dev"}`); s.status != "204" {
		t.Errorf("a push to another branch: %s", s.status)
	}
}

func TestDoorsExampleIsFollowedByItsChains(t *testing.T) {
	needs(t, "python3")
	p := start(t, t.TempDir(), "--apply", example(t, "doors/jobs.yaml"))
	p.set("GITHUB_WEBHOOK", "octocats like fish").want(0)
	p.set("STRIPE_WEBHOOK", "whsec_example_of_stripe").want(0)
	if log := p.sendOK("github", "--id", "7"); !strings.HasPrefix(log, `deploying {"ref": "refs/heads/main"`) {
		t.Errorf("deploy: %s", log)
	}
	if s := p.send("github", "--id", "7"); s.status != "202" || !s.Duplicate {
		t.Errorf("again: %s, duplicate %v", s.status, s.Duplicate)
	}
	if log := p.logOf(p.followUp("announce").ID); log != `announcing {"text":"acme/shop is at 6dcb09b"}` {
		t.Errorf("announce: %s", log)
	}
	p.sendOK("stripe")
	if log := p.logOf(p.followUp("send-receipt").ID); log != `a receipt for {"to":"ada@example.com","cents":1990}` {
		t.Errorf("send-receipt: %s", log)
	}
	p.sendOK("stripe", "--body", `{"type": "checkout.session.completed", "data": {"object": {"customer_email": "eve@example.com", "amount_total": 0}}}`)
	p.until("both payments are announced", func() bool { return len(p.runsOf("job=announce")) == 3 })
	if n := len(p.runsOf("job=send-receipt")); n != 1 {
		t.Errorf("%d receipts", n)
	}
}
