package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func (p *process) set(name, value string) *output {
	p.t.Helper()
	return run(p.t, p.dir, value, []string{"NIGHTSHIFT_SERVER=" + p.url}, "secrets", "set", name)
}

func TestSecretsAreSetFromStdinAndNeverFromArguments(t *testing.T) {
	p := start(t, t.TempDir())
	p.cli("secrets", "set", "API", "hunter2hunter2").want(2).has("a value is not taken as an argument")
	p.set("API", "hunter2hunter2\n").want(0).has("made API")
	p.set("API", "another-value").want(0).has("set API")
	p.set("API", "short\n").want(1).has("want at least 8 bytes")
	p.set("API", "seven77\r\n").want(1).has("want at least 8 bytes")
	p.set("API", strings.Repeat("x", 64<<10)+"\n").want(0)
	p.set("API", strings.Repeat("x", 64<<10)+"y\n").want(1).has("want at most 65536 bytes")
	p.set("API", "binary \xff\xfe value").want(1).has("want UTF-8")
	p.set("a-b", "hunter2hunter2").want(2).has("beginning with a letter")
	list := p.cli("secrets").want(0).has("API", "set")
	if strings.Contains(list.stdout, "another-value") {
		t.Errorf("the list shows a value: %s", list.stdout)
	}
	items, _ := p.cli("secrets", "list", "--json").want(0).json()["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["name"] != "API" {
		t.Errorf("items %v", items)
	}
	file := write(t, p.dir, "jobs.yaml", "jobs: {sync: {script: {source: 'true', env: {A: '{{ secrets.API }}'}}}}")
	if out := p.cli("apply", "-f", file).want(0); strings.Contains(out.stderr, "Warning") {
		t.Errorf("it warns: %s", out.stderr)
	}
	p.cli("secrets", "delete", "API").want(0).has("API deleted", "sync")
	p.cli("apply", "-f", file).want(0).has("Warning: job sync: the secret API is not set")
	p.cli("secrets", "delete", "API").want(1)
}

func TestSecretsSetAsksWithoutShowing(t *testing.T) {
	p := start(t, t.TempDir())
	user, program := terminal(t)
	shown := &lockedBuffer{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(shown, user)
	}()
	ask := func(answer string, code int) {
		t.Helper()
		cmd := exec.Command(binary, "secrets", "set", "API")
		cmd.Dir, cmd.Env = p.dir, environment("NIGHTSHIFT_SERVER="+p.url)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Count(shown.String(), "Value of API: ")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.until("it asks without showing", func() bool {
			now, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
			return err == nil && now.Lflag&unix.ECHO == 0 &&
				strings.Count(shown.String(), "Value of API: ") == asked+1
		})
		if _, err := user.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("exit code %d, want %d: %s", got, code, shown)
		}
		after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil || after.Lflag != before.Lflag {
			t.Errorf("the terminal is left with %x, was %x: %v", after.Lflag, before.Lflag, err)
		}
	}
	ask("hunter2hunter2\n", 0)
	ask("hunter2\x03", -1) // killed by the signal
	program.Close()
	<-copied
	if text := shown.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "made API") {
		t.Errorf("shown: %q", text)
	}
}

func TestTheKeyIsRotatedInTheFileAndByTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "nightshift.db.key")
	lines := func() []string {
		t.Helper()
		text, err := os.ReadFile(keyFile)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(keyFile)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		return strings.Fields(string(text))
	}
	readable := func(p *process) bool {
		t.Helper()
		return strings.Contains(p.cli("secrets", "list", "--json").want(0).stdout, `"readable":true`)
	}
	p := start(t, dir)
	p.set("API", "hunter2hunter2").want(0)
	first := lines()
	p.cli("secrets", "rotate-key").want(0).has("sealed anew: 1")
	second := lines()
	if len(first) != 1 || len(second) != 2 || second[1] != first[0] || second[0] == first[0] {
		t.Errorf("keys %d, then %d", len(first), len(second))
	}
	p.stop(syscall.SIGTERM)

	// The key before opens nothing that stands, but does no harm.
	if err := os.WriteFile(keyFile, []byte(second[0]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir)
	if !readable(p) {
		t.Error("what was sealed anew cannot be read")
	}
	p.stop(syscall.SIGTERM)

	third := strings.Repeat("3c", 32)
	p = startWith(t, dir, []string{"NIGHTSHIFT_KEY=" + third})
	if !readable(p) {
		t.Error("the key file opens nothing where the environment gives a key")
	}
	p.cli("secrets", "rotate-key").want(0).has("sealed anew: 1")
	p.cli("secrets", "rotate-key").want(1).has("NIGHTSHIFT_KEY=NEW,OLD")
	p.stop(syscall.SIGTERM)
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	fourth := strings.Repeat("4d", 32)
	p = startWith(t, dir, []string{"NIGHTSHIFT_KEY=" + fourth + "," + third})
	p.cli("secrets", "rotate-key").want(0).has("sealed anew: 1")
	p.stop(syscall.SIGTERM)
	p = startWith(t, dir, []string{"NIGHTSHIFT_KEY=" + fourth})
	if !readable(p) {
		t.Error("what was sealed with the first cannot be read")
	}
	p.stop(syscall.SIGTERM)

	p = startWith(t, dir, []string{"NIGHTSHIFT_KEY=" + first[0]})
	if readable(p) || !strings.Contains(p.log.String(), "sealed with another key") {
		t.Errorf("with another key: %s", p.log)
	}
	p.cli("secrets").want(0).has("unreadable")
	p.stop(syscall.SIGTERM)
	p = startWith(t, dir, []string{"NIGHTSHIFT_KEY=too-short"})
	if p.exit() == 0 || !strings.Contains(p.log.String(), "NIGHTSHIFT_KEY: want 64 hexadecimal digits") {
		t.Errorf("with no key at all: %s", p.log)
	}
	if bytes.Contains([]byte(p.log.String()), []byte("too-short")) {
		t.Errorf("the key is shown: %s", p.log)
	}
	write(t, dir, "nightshift.db.key", "")
	run(t, dir, "", nil, "serve", "--listen", "127.0.0.1:0").want(1).has("nightshift.db.key: want 64", "Put the one back")
}
