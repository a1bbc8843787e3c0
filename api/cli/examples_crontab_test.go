package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCrontabExampleIsWhatTheImportGives(t *testing.T) {
	root := filepath.Join("..", "..")
	o := run(t, root, "", nil, "import", "crontab", "examples/crontab/crontab", "--timezone", "Europe/Berlin", "--home", "/tmp").want(0)
	want, err := os.ReadFile(example(t, "crontab/jobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if o.stdout != string(want) {
		t.Errorf("examples/crontab/jobs.yaml is not what the import gives; that is:\n%s", o.stdout)
	}
	readme, err := os.ReadFile(example(t, "crontab/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(o.stderr) {
		begin, _, _ := strings.Cut(line, "want a number")
		if !strings.Contains(string(readme), strings.TrimRight(begin, "\n")) {
			t.Errorf("the README does not tell %q", begin)
		}
	}
}

func TestCrontabExampleRuns(t *testing.T) {
	p := start(t, t.TempDir(), "--smtp", "smtp://127.0.0.1:1?tls=none",
		"--mail-from", "nightshift@example.com", "--apply", example(t, "crontab/jobs.yaml"))
	if got := p.cli("run", "sort", "--wait").want(0).stdout; got != "1\n2\n3\n" {
		t.Errorf("printed %q", got)
	}
	p.cli("run", "df", "--wait").want(0).has("Good morning")
	p.cli("run", "echo-rebuilt", "--wait").want(0).has("rebuilt")
	p.cli("schedules").want(0).has("df:default", "Monday to Friday, Europe/Berlin", "America/New_York")
}

// What the README says of schedules, as it stands there, on a server that has nothing.
func TestSchedulesOfTheReadmeApply(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## Schedules\n")
	part, _, _ = strings.Cut(part, "\n## ")
	_, file, _ := strings.Cut(part, "```yaml\n")
	file, _, ok := strings.Cut(file, "```")
	if !ok {
		t.Fatal("the README has no file with schedules")
	}
	p := start(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(p.dir, "jobs.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cli("apply", "-f", "jobs.yaml").want(0).has("nightly-sync created", "schedule mail-acme created")
	p.cli("schedules").want(0).has("nightly-sync:night", "at 02:00, Monday to Friday, Europe/Berlin", "nightly-sync:pulse", "mail-acme")
	for line := range strings.Lines(part) {
		if words := strings.Fields(line); len(words) > 3 && words[0] == "nightshift" && words[1] == "pause" {
			p.cli("pause", words[2]).want(0).has("It is paused")
		}
	}
	p.cli("schedules", "ticks", "nightly-sync:night").want(0).has("TICK")
}
