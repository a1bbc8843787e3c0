package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// aFinding is one of doctor's.
type aFinding struct{ Check, Level, Found, Advice string }

// findings are those that doctor --json printed.
func (o *output) findings() (all []aFinding) {
	o.t.Helper()
	var sum struct {
		Errors, Warnings int
		Checks           []aFinding
	}
	if err := json.Unmarshal([]byte(o.stdout), &sum); err != nil {
		o.t.Fatalf("no JSON: %v\n%s%s", err, o.stdout, o.stderr)
	}
	errors, warnings := 0, 0
	for _, f := range sum.Checks {
		switch f.Level {
		case "error":
			errors++
		case "warning":
			warnings++
		case "ok":
			continue
		}
		if f.Advice == "" || strings.Contains(f.Found+f.Advice, "\n") {
			o.t.Errorf("no line of advice: %+v", f)
		}
	}
	if errors != sum.Errors || warnings != sum.Warnings || (errors > 0) != (o.code == 1) {
		o.t.Errorf("%d errors, %d warnings, exit code %d:\n%s", errors, warnings, o.code, o.stdout)
	}
	return sum.Checks
}

// finds fails the test unless a check found something of that level and with that text.
func (o *output) finds(check, level, text string) {
	o.t.Helper()
	all := o.findings()
	for _, f := range all {
		if f.Check == check && f.Level == level && strings.Contains(f.Found, text) {
			return
		}
	}
	o.t.Errorf("no %s of %s with %q:\n%s", level, check, text, o.stdout)
}

func TestDoctorLooksAtAFileBeforeWhileAndAfterItIsServed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	alone := func() *output {
		return run(t, dir, "", []string{"NIGHTSHIFT_SERVER=http://127.0.0.1:1"}, "doctor", "--json")
	}
	before := alone().want(0)
	before.finds("server", "ok", "no server serves")
	before.finds("file", "ok", "the first start makes it")
	before.finds("scripts", "ok", "as ")
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Fatalf("doctor made %v", left)
	}

	p := start(t, dir)
	during := p.cli("doctor", "--json").want(0)
	during.finds("server", "ok", fmt.Sprintf("process %d serves the file at %s", p.cmd.Process.Pid, p.url))
	during.finds("limits", "ok", fmt.Sprintf("limits of the server, process %d", p.cmd.Process.Pid))
	during.finds("permissions", "ok", "")
	during.finds("alerts", "warning", "nobody is told of failures")
	p.cli("doctor").want(0).has("ok       server", "warning  alerts", "→ nightshift alerts setup", "0 errors, ")
	alone().want(1).finds("server", "error", "http://127.0.0.1:1 answers nothing")
	p.cli("drain").want(0)
	p.cli("doctor", "--json").want(0).finds("server", "warning", "starts nothing: it was drained")
	p.cli("resume").want(0)
	// By another name of the file and without a token it is the same file.
	other := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "nightshift.db"), filepath.Join(other, "link.db")); err != nil {
		t.Fatal(err)
	}
	run(t, other, "", []string{"NIGHTSHIFT_SERVER=" + p.url}, "doctor", "--json", "--db", "link.db").want(0).
		finds("server", "ok", fmt.Sprintf("process %d serves the file", p.cmd.Process.Pid))
	run(t, other, "", []string{"NIGHTSHIFT_SERVER=" + p.url, "NIGHTSHIFT_TOKEN=wrong"}, "doctor", "--json", "--db", "link.db").want(0).
		finds("server", "warning", "does not tell of itself")
	run(t, other, "", []string{"NIGHTSHIFT_SERVER=" + p.url, "NIGHTSHIFT_TOKEN=" + p.tokenOf()}, "doctor", "--json", "--db", "mine.db").want(0).
		finds("server", "ok", "serves another file")

	// The server still has its locks: a second one is refused, a write goes through.
	run(t, dir, "", nil, "serve", "--listen", "127.0.0.1:0").want(1).has("being served by another process")
	p.cli("queues", "pause", "default").want(0)

	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
	state := lying(t, dir)
	after := alone().want(0)
	after.finds("server", "ok", "no server serves")
	after.finds("file", "ok", "KiB")
	if now := lying(t, dir); now != state {
		t.Errorf("the folder was\n%s, is\n%s", state, now)
	}

	// What dies leaves its log, which nobody touches; what was put in the place of the file is seen.
	p = start(t, dir)
	p.cli("queues", "resume", "default").want(0)
	p.stop(syscall.SIGKILL)
	state = lying(t, dir)
	alone().want(0).finds("file", "warning", "it died")
	if now := lying(t, dir); now != state {
		t.Errorf("the folder was\n%s, is\n%s", state, now)
	}
}

func TestDoctorSaysOneThingOfAFileThatNoServerWouldServe(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	p.cli("backup", "backup.db").want(0)
	p.put("a", map[string]any{"webhook": map[string]any{"url": "http://127.0.0.1:9/"}})
	p.stop(syscall.SIGKILL)
	alone := func() *output {
		return run(t, dir, "", []string{"NIGHTSHIFT_SERVER=http://127.0.0.1:1"}, "doctor", "--json")
	}
	at := filepath.Join(dir, "nightshift.db")
	if err := os.Rename(filepath.Join(dir, "backup.db"), at); err != nil {
		t.Fatal(err)
	}
	replaced := alone().want(1)
	replaced.finds("file", "error", "the log of that one")
	for _, f := range replaced.findings() {
		if strings.Contains(f.Found, "it died") {
			t.Errorf("a start would not take in what it names: %+v", f)
		}
	}
	for _, name := range []string{at, at + "-wal", at + "-shm"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "", nil, "serve", "--listen", "127.0.0.1:0").want(1).has("gone or empty", "nightshift restore")
		alone().want(1).finds("file", "error", "gone or empty")
	}
}

// lying is what lies in a folder, with sizes and times.
func lying(t *testing.T, dir string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintln(info.Name(), info.Size(), info.Mode(), info.ModTime())
	}
	return all
}

func TestDoctorSeesWhatIsWrongWithAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	p.stop(syscall.SIGTERM)
	look := func(args ...string) *output {
		return run(t, dir, "", []string{"NIGHTSHIFT_SERVER=http://127.0.0.1:1"}, append([]string{"doctor", "--json"}, args...)...)
	}
	chmod := func(name string, mode os.FileMode) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod("nightshift.db.key", 0o644)
	look().want(1).finds("permissions", "error", "nightshift.db.key (0644), which opens all secrets")
	chmod("nightshift.db.key", 0o600)
	chmod("nightshift.db", 0o640)
	look().want(0).finds("permissions", "warning", "its group may read")
	chmod("nightshift.db", 0o600)
	chmod(".", 0o777)
	look().want(1).finds("permissions", "error", "everybody may write the folder")
	chmod(".", 0o700)
	look("--db", "missing/n.db").want(1).finds("permissions", "error", "there is no such folder")
	look("--db", write(t, dir, "text.db", strings.Repeat("a text\n", 200))).want(1).finds("file", "error", "not a Nightshift database")
	look("--scripts", "missing").want(1).finds("scripts folder", "error", "cannot be read")
	look("--scripts", "off").want(0).finds("scripts", "ok", "off")
	look("--script-user", "nobody-by-that-name").want(1).finds("scripts", "error", "nobody-by-that-name")
	look("--workers", "1000000").want(1).finds("limits", "error", "1000000 webhooks")
	look("--ntp", "127.0.0.1:1").want(0).finds("clock", "warning", "asked for in vain")
	if err := os.Remove(filepath.Join(dir, "nightshift.db.key")); err != nil {
		t.Fatal(err)
	}
	look().want(0).finds("file", "warning", "nightshift.db.key is not there")
	if err := os.Link(filepath.Join(dir, "nightshift.db"), filepath.Join(dir, "second.db")); err != nil {
		t.Fatal(err)
	}
	look().want(1).finds("file", "error", "2 hard links")
	run(t, dir, "", nil, "doctor", "--db", "").want(2).has("--db: want the path")
}

func TestDoctorSaysWhatAUserMayNotDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "program")
	if out, err := exec.Command("cp", binary, program).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	asNobody := func(args ...string) *output {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, environment()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		var errs strings.Builder
		cmd.Stderr = &errs
		text, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return &output{t, cmd.ProcessState.ExitCode(), string(text), errs.String()}
	}
	p := start(t, dir)
	for _, f := range asNobody("doctor", "--json", "--server", p.url).findings() {
		if strings.Contains(f.Found, "may not") {
			t.Errorf("root serves the file, and may: %+v", f)
		}
	}
	asNobody("verify", "nightshift.db").want(1).has("this user must be able to read it")
	p.stop(syscall.SIGTERM)
	o := asNobody("doctor", "--json", "--server", "http://127.0.0.1:1")
	o.want(1).finds("permissions", "error", "may not read "+filepath.Join(dir, "nightshift.db")+", which belongs to root")
	o.finds("permissions", "error", "may not write "+dir)
}

func TestNetworkFileSystemsAreRefusedUnlessForced(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if _, err := exec.LookPath("bindfs"); err != nil {
		t.Skip("bindfs is not installed")
	}
	dir := mounted(t, exec.Command("bindfs", t.TempDir(), "ON"))
	args := []string{"serve", "--listen", "127.0.0.1:0", "--scripts", "off"}
	run(t, dir, "", nil, args...).want(1).has(dir+" is on fuse", "--force-network-filesystem", "local disk")
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the refused server made %v", left)
	}
	run(t, dir, "", nil, "doctor", "--json", "--server", "http://127.0.0.1:1").want(1).
		finds("file system", "error", "fuse")

	forced := []string{"NIGHTSHIFT_FORCE_NETWORK_FILESYSTEM=1"}
	p := startWith(t, dir, forced, "--scripts", "off")
	if !strings.Contains(p.log.String(), "which you have forced") {
		t.Errorf("the log does not warn:\n%s", p.log)
	}
	p.cli("doctor", "--json", "--force-network-filesystem").want(0).finds("file system", "warning", "forced")
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}

func TestAStartWarnsOfWhatIsGoneAfterARestart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := mounted(t, exec.Command("mount", "-t", "tmpfs", "-o", "size=256m,mode=0700", "tmpfs", "ON"))
	p := start(t, dir, "--scripts", "off")
	for _, want := range []string{"gone after a restart", `"check":"file system"`, `"advice":"put --db on a disk`} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, p.log)
		}
	}
	p.cli("doctor", "--json").finds("file system", "warning", "tmpfs")
	p.stop(syscall.SIGTERM)
}

// mounted mounts a file system on a folder of its own, ON in the command, until the test is over.
func mounted(t *testing.T, mount *exec.Cmd) string {
	t.Helper()
	on := t.TempDir()
	for i, arg := range mount.Args {
		if arg == "ON" {
			mount.Args[i] = on
		}
	}
	if out, err := mount.CombinedOutput(); err != nil {
		t.Skipf("this machine cannot mount it: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", on).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	return on
}

func TestLimitsOfTheServerAreLookedAtNotOnesOwn(t *testing.T) {
	dir := t.TempDir()
	script := write(t, dir, "low.sh", "ulimit -n 300\nulimit -f 200000\nexec "+binary+" serve --listen 127.0.0.1:0\n")
	cmd := exec.Command("sh", script)
	cmd.Dir, cmd.Env = dir, environment()
	p := startCommand(t, dir, cmd)
	if !strings.Contains(p.log.String(), `"check":"limits"`) {
		t.Errorf("the start does not warn:\n%s", p.log)
	}
	o := p.cli("doctor", "--json")
	o.finds("limits", "warning", "300 files may be open")
	o.finds("limits", "warning", "no file may grow past")
	o.finds("limits", "warning", "process "+strconv.Itoa(p.cmd.Process.Pid))
	p.stop(syscall.SIGTERM)
}
