package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// problem is the last part of the type of an answer that is not 2xx.
func problem(t testing.TB, text []byte) string {
	t.Helper()
	var p struct{ Type string }
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("no problem: %s", text)
	}
	return p.Type[strings.LastIndexByte(p.Type, ':')+1:]
}

// gated is a sink whose answers wait until open is called.
func gated(t testing.TB) (s *sink, open func()) {
	gate := make(chan struct{})
	s = newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		<-gate
		_, _ = w.Write([]byte(`"the outcome"`))
	})
	done := false
	open = func() {
		if !done {
			done = true
			close(gate)
		}
	}
	t.Cleanup(open)
	return s, open
}

// underWay makes a run of a webhook that waits for its answer.
func (p *process) underWay(s *sink) (id string) {
	p.t.Helper()
	p.put("job", doc{"webhook": doc{"url": s.URL}, "retry": doc{"backoff": quick}})
	id = p.enqueue("job", nil)
	p.until("the webhook is called", func() bool { return len(s.deliveries()) == 1 })
	return id
}

func TestForeignLockIsBusyAndLosesNothing(t *testing.T) { // contract 2, "Locked by another process"
	t.Parallel()
	p := start(t, t.TempDir())
	s, open := gated(t)
	id := p.underWay(s)
	release := p.lock("IMMEDIATE")
	open()
	began := time.Now()
	status, text, err := p.try("POST", "/v1/jobs/job/runs", doc{"idempotency_key": "k"})
	if err != nil || status != 503 || problem(t, text) != "busy" {
		t.Errorf("while it is locked: %d %s %v", status, text, err)
	}
	if waited := time.Since(began); waited < 9*time.Second {
		t.Errorf("it gave up after %v, not after ten seconds", waited)
	}
	if run := p.run(id); run.ended() {
		t.Errorf("the run is %s while nothing can be written", run.State)
	}
	release()
	if run := p.end(id); run.State != "succeeded" || string(run.Result) != `"the outcome"` ||
		len(run.Attempts) != 1 {
		t.Errorf("%s with %s: %s", run.State, run.Result, run.outcomes())
	}
	var made aRun
	if status := p.call("POST", "/v1/jobs/job/runs", doc{"idempotency_key": "k"}, &made); status != 202 {
		t.Errorf("afterwards the same call: %d", status)
	}
	p.end(made.ID)
}

// lock has another process hold the file, in a transaction of a sort, until release.
func (p *process) lock(sort string) (release func()) {
	p.t.Helper()
	tool, err := exec.LookPath("sqlite3")
	if err != nil {
		p.t.Skip("the sqlite3 tool is not installed")
	}
	locker := exec.Command(tool, "-init", "/dev/null", filepath.Join(p.dir, "nightshift.db"))
	in, _ := locker.StdinPipe()
	out, _ := locker.StdoutPipe()
	if err := locker.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		in.Close()
		_ = locker.Wait()
	})
	fmt.Fprintln(in, ".timeout 5000\nBEGIN "+sort+";\nSELECT 'locked';")
	if _, err := out.Read(make([]byte, 64)); err != nil {
		p.t.Fatal(err)
	}
	return func() { fmt.Fprintln(in, "ROLLBACK;") }
}

// inject makes calls to the system fail, in all threads of the server, until undone.
func (p *process) inject(calls, failure string) (undo func()) {
	p.t.Helper()
	tool, err := exec.LookPath("strace")
	if err != nil {
		p.t.Skip("strace is not installed")
	}
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if out, err := exec.Command(tool, "-f", "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		p.t.Skipf("strace may not trace here: %s", out)
	}
	cmd := exec.Command(tool, "-f", "-qq", "-o", "/dev/null", "-p", pid, "-e", "trace="+calls,
		"-e", "inject="+calls+":error="+failure)
	log := &lockedBuffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	undo = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-over
	}
	p.t.Cleanup(undo)
	p.until("all threads are traced", func() bool {
		select {
		case <-over:
			p.t.Skipf("strace may not attach: %s", log)
		default:
		}
		tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/status")
		for _, file := range tasks {
			if text, err := os.ReadFile(file); err == nil &&
				strings.Contains(string(text), "TracerPid:\t0\n") {
				return false
			}
		}
		return true
	})
	return undo
}

func TestFullDiskIsToldAndPasses(t *testing.T) { // F7, F11
	t.Parallel()
	p := start(t, t.TempDir())
	s, open := gated(t)
	id := p.underWay(s)
	undo := p.inject("pwrite64", "ENOSPC")
	status, text, err := p.try("POST", "/v1/jobs/job/runs", doc{"idempotency_key": "k"})
	if err != nil || status != 507 || problem(t, text) != "disk-full" {
		t.Errorf("while the disk is full: %d %s %v", status, text, err)
	}
	open()
	p.until(
		"the server says so",
		func() bool { return strings.Contains(p.log.String(), "cannot be written") },
	)
	if run := p.run(id); run.State != "running" {
		t.Errorf("while the disk is full the run is %s", run.State)
	}
	if status := p.call("GET", "/readyz", nil, nil); status != 503 {
		t.Errorf("ready: %d", status)
	}
	if status := p.call("GET", "/v1/jobs", nil, nil); status != 200 {
		t.Errorf("reads: %d", status)
	}
	undo()
	if run := p.end(id); run.State != "succeeded" || string(run.Result) != `"the outcome"` ||
		len(run.Attempts) != 1 {
		t.Errorf("%s with %s: %s", run.State, run.Result, run.outcomes())
	}
	var made aRun
	if status := p.call("POST", "/v1/jobs/job/runs", doc{"idempotency_key": "k"}, &made); status != 202 {
		t.Errorf("afterwards the same call: %d", status)
	}
	if run := p.end(made.ID); run.State != "succeeded" {
		t.Errorf("afterwards: %s", run.State)
	}
	p.until("it is ready", func() bool { return p.call("GET", "/readyz", nil, nil) == 200 })
	if n := strings.Count(p.log.String(), "nothing is started until it can"); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}

func TestFailedSyncEndsTheServerAndARestartKnows(t *testing.T) { // F9, F10
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("job", doc{"script": doc{"source": "true"}})
	acknowledged := []string{p.enqueue("job", nil), p.enqueue("job", doc{"delay": "1h"})}
	p.end(acknowledged[0])
	undo := p.inject("fsync,fdatasync", "EIO")
	status, text, err := p.try("POST", "/v1/jobs/job/runs", doc{"idempotency_key": "k"})
	if err != nil || status != 503 || problem(t, text) != "outcome-unknown" {
		t.Errorf("when the sync fails: %d %s %v", status, text, err)
	}
	if code := p.exit(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(p.log.String(), "must restart to find out what is on disk") {
		t.Errorf("it does not say why it ends: %s", p.log)
	}
	undo()
	next := start(t, p.dir)
	for _, id := range acknowledged {
		next.run(id)
	}
	var first, second aRun
	for _, run := range []*aRun{&first, &second} {
		if status := next.call("POST", "/v1/jobs/job/runs", doc{"idempotency_key": "k"}, run); status/100 != 2 {
			t.Errorf("the call repeated: %d", status)
		}
	}
	if first.ID != second.ID || !second.Duplicate {
		t.Errorf("one key made %s and %s", first.ID, second.ID)
	}
	var list struct{ Items []aRun }
	if next.call("GET", "/v1/runs", nil, &list); len(list.Items) != 3 {
		t.Errorf("%d runs, want 3", len(list.Items))
	}
}

// asPlainUser is a server in a folder that may not write everywhere, even where the tests run as root.
func asPlainUser(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = dir, environment()
	if os.Getuid() == 0 {
		const nobody = 65534
		for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, path := range append(files, dir) {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		}
	}
	return cmd
}

// startAsPlainUser starts one that is to end by itself.
func startAsPlainUser(t testing.TB, dir string, args ...string) *output {
	t.Helper()
	cmd, out := asPlainUser(t, dir, args...), &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	timer.Stop()
	return &output{t, cmd.ProcessState.ExitCode(), out.String(), ""}
}

func TestFilesThatMayNotBeWrittenAreAClearError(t *testing.T) { // F18
	t.Parallel()
	made := t.TempDir()
	p := start(t, made)
	p.put("job", doc{"script": doc{"source": "true"}})
	p.stop(syscall.SIGTERM)
	db := filepath.Join(made, "nightshift.db")
	if err := os.Chmod(db, 0o400); err != nil {
		t.Fatal(err)
	}
	startAsPlainUser(t, made).want(1).has("nightshift.db", "read-only")

	empty := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	closed := startAsPlainUser(t, empty, "--db", "/proc/nightshift.db")
	closed.want(1).has("nightshift.db")
	startAsPlainUser(t, empty, "--db", "absent/nightshift.db").want(1).has("absent")
	startAsPlainUser(t, empty, "--db", ".").want(1)
	// As it was once the mode is right again.
	if err := os.Chmod(db, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		files, _ := filepath.Glob(filepath.Join(made, "*"))
		for _, path := range append(files, made) {
			if err := os.Chown(path, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	start(t, made).cli("jobs").want(0).has("job")
}
