package script

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A server is the test binary as a server of its own, which runs one script.
type server struct {
	cmd  *exec.Cmd
	temp string
	out  *bufio.Reader
}

// startServer starts it, as another user where uid is not 0.
func startServer(t *testing.T, source string, uid uint32, env ...string) *server {
	t.Helper()
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH, 0) // another user cannot follow its path
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 100); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	temp, err := os.MkdirTemp("", "server-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/fd/" + strconv.Itoa(fd), Args: []string{"server"}, Dir: "/",
		Env: append([]string{
			serverEnv + "=" + source, "SERVER_TEMP=" + temp, "PATH=" + os.Getenv("PATH"),
			"NIGHTSHIFT_TOKEN=canary",
		}, env...),
		Stderr: os.Stderr,
	}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin")
	}
	if slices.Contains(env, "CAPABLE=1") {
		for _, c := range needed {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, c.number)
		}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &server{cmd: cmd, temp: temp, out: bufio.NewReader(out)}
}

// line reads one line that the script or the server prints.
func (s *server) line(t *testing.T) string {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the server printed %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (s *server) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
}

// users are those a server is tested as: the test's own and, where it is root, nobody.
func users() map[string]uint32 {
	all := map[string]uint32{"self": 0}
	if os.Geteuid() == 0 {
		all["nobody"] = 65534
	}
	return all
}

func TestNothingLivesOnWhenTheServerIsKilled(t *testing.T) {
	for user, uid := range users() {
		for _, env := range []string{"NO_CGROUP=1", "CGROUP=1"} {
			for name, leave := range leavers {
				t.Run(user+" "+env+" "+name, func(t *testing.T) {
					m := mark()
					s := startServer(t, leaver(leave, m, "echo up; trap '' TERM; sleep 600"), uid, env)
					if line := s.line(t); line != "up" {
						t.Fatal(line)
					}
					s.kill(t)
					await(t, "the end of all", func() bool { return len(marked(m)) == 0 })
					await(t, "the folder's removal", func() bool {
						left, err := filepath.Glob(s.temp + "/nightshift-*/[^.]*")
						return err == nil && len(left) == 0
					})
				})
			}
		}
	}
}

// The shim of a server that died is woken by the kernel where the script had stopped it. That
// this process, a subreaper, becomes its parent must not matter.
func TestStoppedShimLearnsOfTheServersDeath(t *testing.T) {
	newKindAny(t)
	m := mark()
	s := startServer(t, "setsid sleep "+m+" & kill -STOP $PPID; echo up; sleep "+m, 0)
	if line := s.line(t); line != "up" {
		t.Fatal(line)
	}
	s.kill(t)
	await(t, "the end of all", func() bool { return len(marked(m)) == 0 })
}

// A script that kills its server, and then its shim, is caught by one of the two.
func TestScriptThatKillsItsServerDiesToo(t *testing.T) {
	m := mark()
	s := startServer(t, "echo up; server=$(cut -d' ' -f4 /proc/$PPID/stat)\n"+
		"sleep "+m+" & kill -9 $server; sleep "+m, 0)
	if line := s.line(t); line != "up" {
		t.Fatal(line)
	}
	if err := s.cmd.Wait(); err == nil {
		t.Error("the server lives")
	}
	await(t, "the end of all", func() bool { return len(marked(m)) == 0 })
}

func TestKillPPIDLeavesTheServerWell(t *testing.T) {
	for user, uid := range users() {
		t.Run(user, func(t *testing.T) {
			s := startServer(t, "setsid sleep 600 & kill -9 $PPID; sleep 600", uid)
			line := s.line(t)
			if !strings.Contains(line, "signal: the process that watches over the script was killed") {
				t.Error(line)
			}
			if err := s.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a script of the same user finds of its server and its shim. As root it finds everything.
func TestScriptCannotReadItsServer(t *testing.T) { // S8
	if os.Geteuid() != 0 {
		t.Skip("a server of another user needs root")
	}
	const look = `shim=$PPID; server=$(cut -d' ' -f4 /proc/$shim/stat)
for p in $server $shim; do
	for f in environ mem maps fd/0 exe cwd; do
		[ -d /proc/$p ]
		if { cat /proc/$p/$f || readlink /proc/$p/$f; } >/dev/null 2>&1; then echo "$p $f"; fi
	done
	ls /proc/$p/fd 2>/dev/null || true
done
env | grep canary || true
echo end`
	s := startServer(t, look, 65534)
	if line := s.line(t); line != "end" {
		rest, _ := io.ReadAll(s.out)
		t.Errorf("readable: %s\n%s", line, rest)
	}
}

func TestFoldersThatMayNotBeReadAreRemoved(t *testing.T) {
	for user, uid := range users() {
		t.Run(user, func(t *testing.T) {
			s := startServer(t, "mkdir -p a/b/c; touch a/b/c/x; ln -s / a/root\n"+
				"chmod 000 a/b/c a/b; chmod 500 a; chmod 000 . \"$TMPDIR\"; echo done", uid)
			if line := s.line(t); line != "done" {
				t.Fatal(line)
			}
			line := s.line(t)
			if !strings.Contains(line, "Failure:<nil>") || strings.Contains(line, "folder") {
				t.Error(line)
			}
			if left, err := os.ReadDir(s.temp); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// In a cgroup even what outlived both server and shim ends, with the next start.
func TestNextStartKillsWhatOutlivedServerAndShim(t *testing.T) {
	k := newKindAny(t)
	if k.cgroup.Path == "" {
		t.Skip(k.Level())
	}
	m := mark()
	s := startServer(t, leaver("setsid sleep $mark & up", m, "echo up $PPID; sleep 600"), 0)
	shim, err := strconv.Atoi(strings.TrimPrefix(s.line(t), "up "))
	if err != nil {
		t.Fatal(err)
	}
	// The server, stopped, cannot sweep when its shim dies.
	for _, stop := range []struct {
		pid int
		sig syscall.Signal
	}{{s.cmd.Process.Pid, syscall.SIGSTOP}, {shim, syscall.SIGKILL}} {
		if err := syscall.Kill(stop.pid, stop.sig); err != nil {
			t.Fatal(err)
		}
	}
	s.kill(t)
	if len(marked(m)) == 0 {
		t.Fatal("there is nothing to kill")
	}
	newKindAny(t)
	await(t, "the end of all", func() bool { return len(marked(m)) == 0 })
}
