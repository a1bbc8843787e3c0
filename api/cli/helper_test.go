package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nightshift-cli-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "nightshift")
	build := exec.Command("go", "build", "-o", binary, "nightshift")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // it needs nothing from the host
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// process is a server under test: the real program on a real file.
type process struct {
	t    testing.TB
	dir  string
	cmd  *exec.Cmd
	url  string
	done chan struct{} // closed when it has ended
	out  *lockedBuffer
	log  *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start starts a server in a folder and waits until it serves, or has ended.
func start(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	return startWith(t, dir, nil, args...)
}

// startWith is start with more in the environment.
func startWith(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = dir, environment(env...)
	return startCommand(t, dir, cmd)
}

// startCommand is start with a command that serves the file in a folder.
func startCommand(t testing.TB, dir string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, dir: dir, cmd: cmd, done: make(chan struct{}), out: &lockedBuffer{}, log: &lockedBuffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	p.until("the server serves", func() bool {
		for line := range strings.SplitSeq(p.log.String(), "\n") {
			var entry struct{ Msg, URL, Listen string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
				p.url = "http://" + entry.Listen
				return true
			}
		}
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	return p
}

// environment is that of the test without what would steer the program.
func environment(more ...string) []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "NIGHTSHIFT_") {
			env = append(env, pair)
		}
	}
	return append(env, more...)
}

// until waits for a condition.
func (p *process) until(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			p.t.Fatalf("in vain: %s\n%s\n%s", what, p.out, p.log)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stop sends a signal and gives the exit code.
func (p *process) stop(sig syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	return p.exit()
}

func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.t.Fatalf("it does not end\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// output is what a command printed.
type output struct {
	t              testing.TB
	code           int
	stdout, stderr string
}

// cli runs a command against the server, in its folder, where its token lies.
func (p *process) cli(args ...string) *output {
	p.t.Helper()
	return run(p.t, p.dir, "", []string{"NIGHTSHIFT_SERVER=" + p.url}, args...)
}

func run(t testing.TB, dir, stdin string, env []string, args ...string) *output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env = dir, environment(env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return &output{t, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want fails the test unless the exit code is that.
func (o *output) want(code int) *output {
	o.t.Helper()
	if o.code != code {
		o.t.Fatalf("exit code %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
	}
	return o
}

// has fails the test unless each text was printed.
func (o *output) has(texts ...string) *output {
	o.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.stdout+o.stderr, text) {
			o.t.Errorf("%q was not printed:\n%s%s", text, o.stdout, o.stderr)
		}
	}
	return o
}

// json reads what was printed.
func (o *output) json() map[string]any {
	o.t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
		o.t.Fatalf("no JSON: %v\n%s%s", err, o.stdout, o.stderr)
	}
	return v
}

// write makes a file.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
