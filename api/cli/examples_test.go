package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// example is the path of a file of the examples.
func example(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// needs skips the test where an interpreter is missing.
func needs(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: the example that needs it is not run", program)
	}
}

func TestQuickstartShowsWhatBecomesOfItsRuns(t *testing.T) {
	needs(t, "python3")
	p := start(t, t.TempDir(), "--apply", example(t, "quickstart.yaml"), "--run-all")
	p.until("all runs have ended", func() bool { return strings.Contains(p.out.String(), "All runs have ended.") })
	attempts := map[string][]string{}
	for line := range strings.SplitSeq(p.out.String(), "\n") {
		job, rest, found := strings.Cut(line, "  attempt ")
		if found {
			attempts[strings.TrimSpace(job)] = append(attempts[strings.TrimSpace(job)], rest)
		}
	}
	for job, want := range map[string][]string{
		"hello":     {"1  succeeded"},
		"flaky":     {"1  failed", "2  succeeded"},
		"bad-order": {"1  failed"},
		"nobody-listens": {
			"1  failed", "2  failed", "3  failed", "4  failed",
		},
	} {
		got := attempts[job]
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %q", job, got, want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: %q, want %q", job, got[i], want[i])
			}
		}
	}
	for _, want := range []string{
		"exit 75", "ValidationError", "not tried again: job rule 1 (the order itself is wrong)",
		"nothing listens there → tried again: ", "max_attempts is used up",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("%q is not in\n%s", want, p.out)
		}
	}
	p.cli("logs", "hello").want(0).has("Hello from run", `{"name":`)
	p.cli("runs", "--error-type", "ValidationError").want(0).has("bad-order")
}

func TestWebhookExampleShipsOrders(t *testing.T) {
	url := receiving(t, "webhook/receiver.py")
	p := start(t, t.TempDir(), "--apply",
		calling(t, "webhook/job.yaml", "http://127.0.0.1:8900/orders", url))
	run := p.cli("run", "ship-order", "--payload", `{"number": 1}`, "--wait", "--json").want(0).json()
	if result, _ := run["result"].(map[string]any); result["shipped"] != 1.0 {
		t.Errorf("result: %v", run["result"])
	}
	run = p.cli("run", "ship-order", "--payload", `{"number": 3}`, "--wait", "--json").want(0).json()
	if attempts, _ := run["attempts"].([]any); len(attempts) != 2 {
		t.Errorf("attempts: %v", run["attempts"])
	}
}

func TestPythonExampleCountsWords(t *testing.T) {
	needs(t, "python3")
	p := start(t, t.TempDir(), "--apply", example(t, "python/job.yaml"))
	o := p.cli("run", "word-count", "--wait").want(0)
	if o.stdout != "2\tto\n2\tbe\n1\tor\n1\tnot\n" {
		t.Errorf("printed %q", o.stdout)
	}
	p.cli("run", "word-count", "--payload", `{"text": 1}`, "--wait").want(1).has("TypeError")
}

func TestNodeExampleRendersAnInvoice(t *testing.T) {
	needs(t, "node")
	p := start(t, t.TempDir(), "--apply", example(t, "node/job.yaml"))
	p.cli("run", "render-invoice", "--wait").want(0).has("Invoice for Ada", "total                     7.70")
	p.cli("run", "render-invoice", "--payload", `{"lines": []}`, "--wait").want(1).has("RangeError")
}

func TestShellExampleReportsTheDisk(t *testing.T) {
	p := start(t, t.TempDir(), "--apply", example(t, "shell/job.yaml"))
	p.cli("run", "disk-report", "--wait").want(0).has("% full, allowed are 101 %")
	p.cli("run", "disk-report", "--payload", `{"max_percent": 0}`, "--wait").want(1).has("too full")
}
