package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// Config is what the kind needs to know. Its zero value works: no script by path, folders of
// attempts where temporary files go.
type Config struct {
	Scripts string // folder of the scripts that jobs name by path; "": such scripts are refused
	Temp    string // where attempts have their folders; "": os.TempDir()

	// TraceOf finds the exception of a failed script in the end of its output; nil: none is read.
	TraceOf func(output string) (typ, message, stack string, ok bool)
}

// Kind runs scripts. It is safe for concurrent use.
type Kind struct {
	cfg     Config
	program string // the running binary, as a path that an upgrade does not change
	exe     *os.File
	temp    claim
	cgroup  claim
	noGroup error // why there is no cgroup
	base    environment
	attempt atomic.Int64
}

var _ jobs.Kind = (*Kind)(nil)

// New makes the kind ready: it opens the running binary, takes a folder below Temp and, where the
// machine permits, a cgroup below the server's own, waits for the shims of servers that died and
// clears away what those left there, and starts a shim to see that it works. It makes this process a subreaper and undumpable, so
// that scripts of the same user cannot read its environment, memory and descriptors.
func New(cfg Config) (*Kind, error) { return newKind(cfg, ownCgroup) }

func newKind(cfg Config, group func() (string, error)) (*Kind, error) {
	if IsShim() {
		return nil, errors.New("this process is a script shim: main must call script.ShimMain first")
	}
	k := &Kind{cfg: cfg, base: baseEnvironment()}
	if err := k.prepare(group); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Kind) prepare(group func() (string, error)) (err error) {
	if k.cfg.Scripts, err = scriptsFolder(k.cfg.Scripts); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of what scripts leave behind: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the server's memory from scripts: %w", err)
	}
	if err := k.openProgram(); err != nil {
		return fmt.Errorf("open the running binary: %w", err)
	}
	if err := k.claimTemp(); err != nil {
		return fmt.Errorf("make a folder for scripts: %w", err)
	}
	k.claimCgroup(group)
	if err := k.probe(); err != nil {
		return fmt.Errorf("start a script to see that it works: %w", err)
	}
	return nil
}

func scriptsFolder(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("scripts folder: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("scripts folder: %s is not a folder", path)
	}
	return filepath.Abs(path)
}

// openProgram keeps the running binary open at a number that no descriptor of a shim can have.
func (k *Kind) openProgram() error {
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const beyondShims = 64
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, beyondShims)
	if err != nil {
		return err
	}
	k.program = "/proc/self/fd/" + strconv.Itoa(n)
	k.exe = os.NewFile(uintptr(n), k.program)
	return nil
}

func (k *Kind) claimTemp() (err error) {
	parent := k.cfg.Temp
	if parent == "" {
		parent = os.TempDir()
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return err
	}
	dropStale(parent, isMarked, func(path string) error {
		if !awaitShims(path) {
			return errBusy
		}
		return removeTree(path)
	})
	if k.temp, err = claimFolder(parent); err != nil {
		return err
	}
	k.temp, err = markClaim(k.temp)
	return err
}

// claimCgroup takes a cgroup for the attempts' own where cgroup.kill is there.
func (k *Kind) claimCgroup(group func() (string, error)) {
	parent, err := group()
	if err != nil {
		k.noGroup = err
		return
	}
	// Below the server's own cgroup nobody else makes any.
	dropStale(parent, func(string) bool { return true }, func(path string) error {
		_ = killCgroup(path)
		return removeCgroup(path)
	})
	if k.cgroup, k.noGroup = claimFolder(parent); k.noGroup != nil {
		return
	}
	if _, k.noGroup = os.Stat(filepath.Join(k.cgroup.Path, "cgroup.kill")); k.noGroup != nil {
		k.dropCgroup()
	}
}

func (k *Kind) dropCgroup() {
	if k.cgroup.Path != "" {
		_ = removeCgroup(k.cgroup.Path)
		k.cgroup.lock.Close()
		k.cgroup = claim{}
	}
}

// probe runs an empty script the whole way; where that fails in a cgroup it tries without.
func (k *Kind) probe() error {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	call := &jobs.Call{
		Job:  "probe",
		Spec: jobs.Spec{Script: &jobs.Script{Source: ":", Interpreter: []string{shell}}},
	}
	for {
		rep := k.Run(context.Background(), call)
		if rep.Failure == nil && (k.cgroup.Path == "" || len(rep.Notes) == 0) {
			return nil
		}
		if k.cgroup.Path == "" {
			return rep.Failure
		}
		if k.noGroup = errors.New("no process can be put there"); rep.Failure != nil {
			k.noGroup = rep.Failure
		}
		k.dropCgroup()
	}
}

// Level says in a sentence which isolation is in use (see the package's description).
func (k *Kind) Level() string {
	if k.cgroup.Path != "" {
		return "cgroup: each script has a cgroup of its own; what it leaves is killed with it at once"
	}
	return fmt.Sprintf("subreaper: what a script leaves is found by descent and killed "+
		"(no cgroup: %v)", reason(k.noGroup))
}

// reason leaves the path out of an error about a file.
func reason(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// Close gives folders and descriptors back. No Run may be under way.
func (k *Kind) Close() {
	k.dropCgroup()
	if k.temp.Path != "" {
		_ = removeTree(k.temp.Path)
		k.temp.lock.Close()
		k.temp.busy.Close()
		k.temp = claim{}
	}
	if k.exe != nil {
		k.exe.Close()
		k.exe = nil
	}
}

// Run executes one attempt.
func (k *Kind) Run(ctx context.Context, call *jobs.Call) jobs.Report {
	if ctx.Err() != nil {
		return jobs.Report{Stopped: jobs.StopCause(ctx), ExitCode: -1}
	}
	a := &attempt{kind: k, call: call, kills: oomKills()}
	a.failure = a.start()
	if a.failure == nil {
		a.watch(ctx)
		a.end()
	}
	a.clear()
	return a.report()
}
