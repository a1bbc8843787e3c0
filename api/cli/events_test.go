package cli_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// shuts makes a job whose host answers 503 until its breaker opens, which is an event. It gives the
// event's subject.
func (p *process) shuts(job string) string {
	p.t.Helper()
	s := newSink(p.t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	p.put(job, doc{"webhook": doc{"url": s.URL}, "retry": doc{"max_attempts": 1}})
	for range 5 {
		p.enqueue(job, nil)
	}
	return "dependency/" + strings.TrimPrefix(s.URL, "http://")
}

// background starts a command against the server and gives what it prints as it goes on.
func (p *process) background(args ...string) (stdout *lockedBuffer) {
	p.t.Helper()
	stdout = &lockedBuffer{}
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = p.dir, environment("NIGHTSHIFT_SERVER="+p.url)
	cmd.Stdout, cmd.Stderr = stdout, p.out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return stdout
}

func TestEventsAreFollowedOverAKill(t *testing.T) {
	const opened = "dependency.opened"
	p := start(t, t.TempDir())
	p.cli("events").want(0).has("ID", "SUBJECT")
	first := p.shuts("a")
	p.until("the first event is kept", func() bool { return strings.Contains(p.cli("events").want(0).stdout, first) })
	text, lines := p.background("events", "-f", "--type", opened), p.background("events", "-f", "--type", opened, "--after", "0", "--json")
	p.until("it is told", func() bool {
		return strings.Contains(text.String(), first) && strings.Contains(lines.String(), first)
	})
	p = p.kill9("--listen", strings.TrimPrefix(p.url, "http://"))
	second := p.shuts("b")
	p.until("the second is told", func() bool {
		return strings.Contains(text.String(), second) && strings.Contains(lines.String(), second)
	})
	for _, out := range []string{text.String(), lines.String()} {
		if strings.Count(out, "\n") != 2 || strings.Index(out, first) > strings.Index(out, second) {
			t.Errorf("told %s", out)
		}
	}
	if !strings.Contains(text.String(), "held: 5 errors in a row, the last: HTTP 503; the next probe comes at ") {
		t.Errorf("told %s", text)
	}
	p.cli("events").want(0).has("ID", opened, "run.failed", first, second, "a failed: http: 503 Service Unavailable")
	list := p.cli("events", "--json", "--limit", "1", "--type", opened).want(0).json()
	if items, _ := list["items"].([]any); len(items) != 1 || list["next"] == nil {
		t.Errorf("the list is %v", list)
	}
	if o := p.cli("events", "--after", "1", "--type", "dependency.closed").want(0); strings.Contains(o.stdout, second) {
		t.Errorf("of another type there is %s", o.stdout)
	}
	p.cli("events", "--type", "run.exploded").want(1).has("want one of run.failed")
	p.cli("events", "-f", "--type", "run.exploded").want(1).has("want one of run.failed")
	p.cli("events", "--after", "x").want(2).has("--after")
	p.cli("events", "-f", "--cursor", "3").want(2).has("give --after")
}
