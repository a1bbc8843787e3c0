package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal gives both ends of a pseudo terminal.
func terminal(t testing.TB) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, program
}

// startOnTerminal starts a server, built as exe, whose output goes to a terminal.
func startOnTerminal(t testing.TB, dir, exe string, env []string, args ...string) *process {
	t.Helper()
	user, program := terminal(t)
	p := &process{t: t, dir: dir, done: make(chan struct{}), out: &lockedBuffer{}, log: &lockedBuffer{}}
	p.cmd = exec.Command(exe, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Dir, p.cmd.Env = dir, environment(env...)
	p.cmd.Stdout, p.cmd.Stderr = program, program
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	go func() { _, _ = io.Copy(p.out, user) }()
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	p.until("it says what to try", func() bool { return strings.Contains(p.out.String(), "/v1/runs") })
	return p
}

func TestTerminalShowsEachAttemptOnce(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "jobs.yaml", `
jobs:
  fails: {script: "exit 75", retry: {max_attempts: 3, backoff: {kind: fixed, base: 50ms}}}
  works: {script: "true"}
`)
	p := startOnTerminal(t, dir, binary, nil, "--apply", file, "--run-all", "--log-level", "debug")
	p.until("all runs have ended", func() bool { return strings.Contains(p.out.String(), "All runs have ended.") })
	address := ""
	for line := range strings.Lines(p.out.String()) {
		if rest, found := strings.CutPrefix(line, "address"); found {
			address = strings.TrimSpace(rest)
		}
	}
	p.url = address
	p.cli("run", "fails", "--max-attempts", "1", "--wait").want(1)
	p.until("it logs the end of another run", func() bool { return strings.Contains(p.out.String(), "run failed") })
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out := p.out.String()
	if shown, logged := strings.Count(out, "  failed in "), strings.Count(out, " run failed "); shown != 3 || logged != 1 {
		t.Errorf("%d shown, want 3; %d logged, want 1, of the other run:\n%s", shown, logged, out)
	}
	for _, text := range []string{"attempt 1", "attempt 2", "attempt 3", "stopping", " call "} {
		if !strings.Contains(out, text) {
			t.Errorf("%q is missing in\n%s", text, out)
		}
	}
	if strings.Contains(out, "attempt failed") {
		t.Errorf("a shown attempt is logged too:\n%s", out)
	}
}

func TestLinesToTryWorkAsTyped(t *testing.T) {
	copied := func(path ...string) string {
		exe := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(exe), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(binary, exe); err != nil {
			t.Fatal(err)
		}
		return exe
	}
	base, err := os.MkdirTemp(filepath.Dir(binary), "lines")
	if err != nil {
		t.Fatal(err)
	}
	module := t.TempDir()
	write(t, module, "go.mod", "module nightshift\n\ngo 1.26\n")
	hash := strings.Repeat("0a", 32)
	cases := []struct {
		name, dir, exe string
		env            []string
		want           string
	}{
		{"go run", module, copied(base, "go-build12/b001/exe/nightshift"), nil, "  go run . runs"},
		{"go run from its cache", module, copied(base, "cache/0a", hash+"-d/nightshift"), nil, "  go run . runs"},
		{"go run from elsewhere", t.TempDir(), filepath.Join(base, "go-build12/b001/exe/nightshift"), nil, "  " + base + "/go-build12/b001/exe/nightshift runs"},
		{"on PATH", t.TempDir(), copied(base, "bin/nightshift"), []string{"PATH=" + base + "/bin:" + os.Getenv("PATH")}, "  nightshift runs"},
		{"not on PATH", t.TempDir(), filepath.Join(base, "bin/nightshift"), nil, "  " + base + "/bin/nightshift runs"},
		{"a path with a space", t.TempDir(), copied(base, "my bin/nightshift"), nil, "  '" + base + "/my bin/nightshift' runs"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := startOnTerminal(t, c.dir, c.exe, c.env, "--db", "my data.db")
			out := p.out.String()
			if !strings.Contains(out, c.want+"\r\n") {
				t.Errorf("%q is missing in\n%s", c.want, out)
			}
			var lines []string
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "  export ") || strings.HasPrefix(line, "  curl ") {
					lines = append(lines, line)
				}
			}
			lines = append(lines, "'"+binary+"' runs")
			sh := exec.Command("sh", "-ec", strings.ReplaceAll(strings.Join(lines, "\n"), "\r", ""))
			sh.Dir, sh.Env = c.dir, environment()
			if text, err := sh.CombinedOutput(); err != nil || !strings.Contains(string(text), `{"items":[]`) {
				t.Errorf("%v: %s\n%s", err, text, out)
			}
		})
	}
}

func TestADifferenceHasColoursOnATerminalAlone(t *testing.T) {
	p := start(t, t.TempDir())
	file := write(t, p.dir, "jobs.yaml", "jobs: {a: {script: x}}\n")
	p.cli("apply", "-f", file).want(0)
	write(t, p.dir, "jobs.yaml", "jobs: {a: {script: y}, b: {script: x}}\n")
	if out := p.cli("apply", "-f", file, "--dry-run").want(0).stdout; strings.Contains(out, "\x1b") {
		t.Errorf("no terminal, and printed %q", out)
	}
	user, program := terminal(t)
	cmd := exec.Command(binary, "apply", "-f", file, "--dry-run")
	cmd.Dir, cmd.Env = p.dir, environment("NIGHTSHIFT_SERVER="+p.url)
	cmd.Stdout = program
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	out, _ := io.ReadAll(user) // it ends with an error: the other end is closed
	for _, want := range []string{"\x1b[33m~ a changed, version 2\x1b[0m", "\x1b[32m+ b created, version 1\x1b[0m"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in %q", want, out)
		}
	}
}

// onTerminal runs a command whose output goes to a terminal, and gives what is seen there.
func (p *process) onTerminal(args ...string) string {
	p.t.Helper()
	user, program := terminal(p.t)
	seen := &lockedBuffer{}
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = p.dir, environment("NIGHTSHIFT_SERVER="+p.url)
	cmd.Stdout, cmd.Stderr = program, program
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	program.Close()
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(seen, user) // ends as nobody has the other end open
		close(copied)
	}()
	if err := cmd.Wait(); err != nil {
		p.t.Errorf("%v: %v\n%s", args, err, seen)
	}
	<-copied
	return seen.String()
}
