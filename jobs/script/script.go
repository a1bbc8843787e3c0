package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// Config is what the kind needs to know. Its zero value works: no script by path, folders of
// attempts where temporary files go.
type Config struct {
	Scripts string // folder of the scripts that jobs name by path; "": such scripts are refused
	Temp    string // where attempts have their folders; "": os.TempDir()
	User    string // whom scripts run as whose job names nobody; "": the server's user

	// TraceOf finds the exception of a failed script in the end of its output; nil: none is read.
	TraceOf func(output string) (typ, message, stack string, ok bool)
}

// Kind runs scripts. It is safe for concurrent use.
type Kind struct {
	cfg     Config
	program *program
	making  sync.Mutex // held while temp is looked after
	temp    claim
	cgroup  claim
	noGroup error // why there is no cgroup
	memory  bool  // cgroups of attempts have the memory controller
	ooms    oomCount
	alone   error // why no script can run as another user; nil: it can
	base    environment
	attempt atomic.Int64
}

var (
	_ jobs.Kind    = (*Kind)(nil)
	_ jobs.Checker = (*Kind)(nil)
)

// New makes the kind ready: it opens the running binary, takes a folder below Temp and, where the
// machine permits, a cgroup below the server's own, waits for the shims of servers that died and
// clears away what those left there, and starts a shim to see that it works. It makes this process a
// subreaper and undumpable, so that scripts of the same user cannot read its environment, memory and
// descriptors.
func New(cfg Config) (*Kind, error) { return newKind(cfg, ownCgroup) }

func newKind(cfg Config, group func() (string, error)) (*Kind, error) {
	if IsShim() {
		return nil, errors.New("this process is a script shim: main must call script.ShimMain first")
	}
	k := &Kind{cfg: cfg, base: baseEnvironment(), alone: mayBecomeOthers(), ooms: oomCount{read: oomKills}}
	if err := k.prepare(group); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Kind) prepare(group func() (string, error)) (err error) {
	if k.cfg.User != "" {
		if _, err := k.identityOf(k.cfg.User); err != nil {
			return fmt.Errorf("--script-user: %w", err)
		}
	}
	if k.cfg.Scripts, err = scriptsFolder(k.cfg.Scripts); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of what scripts leave behind: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the server's memory from scripts: %w", err)
	}
	if k.program, err = openProgram("/proc/self/exe"); err != nil {
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

func (k *Kind) claimTemp() (err error) {
	parent := k.cfg.Temp
	if parent == "" {
		parent = os.TempDir()
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return err
	}
	k.cfg.Temp = parent
	dropStale(parent, isMarked, func(path string) error {
		if !awaitShims(path) {
			return errBusy
		}
		return removeClaim(path)
	})
	k.temp, err = k.newTemp()
	return err
}

func (k *Kind) newTemp() (c claim, err error) {
	if c, err = claimFolder(k.cfg.Temp); err == nil {
		c, err = markClaim(c)
	}
	if err == nil && k.alone == nil {
		err = os.Chmod(c.Path, 0o711) // others pass to their own folders, and see no more
	}
	return c, err
}

// standing is the folder for those of attempts. Where somebody has removed it (rm -rf /tmp/*) another takes
// its place: those under way have lost theirs, those to come have not.
func (k *Kind) standing() (claim, error) {
	k.making.Lock()
	defer k.making.Unlock()
	if same(k.temp.Path, k.temp.lock) {
		return k.temp, nil
	}
	c, err := k.newTemp()
	if err == nil {
		k.temp = c // shims hold on to what they have of the one before
	}
	return c, err
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
		return
	}
	k.memory = handDown(parent) == nil &&
		put(filepath.Join(k.cgroup.Path, "cgroup.subtree_control"), "+memory") == nil
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

// Level says in a sentence whom scripts run as and which isolation is in use (see the package's
// description).
func (k *Kind) Level() string {
	as := k.cfg.User
	if as == "" {
		as = k.base["USER"]
	}
	if as == "" { // which has no name
		as = strconv.Itoa(os.Geteuid())
	}
	if k.cgroup.Path != "" {
		text := fmt.Sprintf("as %s; cgroup: each script has a cgroup of its own; what it leaves is killed "+
			"with it at once", as)
		if k.memory {
			text += ", and the kernel sees to script.memory"
		}
		return text
	}
	return fmt.Sprintf("as %s; subreaper: what a script leaves is found by descent and killed "+
		"(no cgroup: %v)", as, reason(k.noGroup))
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
		_ = removeClaim(k.temp.Path)
		k.temp.lock.Close()
		k.temp.busy.Close()
		k.temp = claim{}
	}
	k.program.close()
}

// Check gives what this server cannot run.
func (k *Kind) Check(spec jobs.Spec) []jobs.Fault {
	if spec.Script == nil || spec.Script.User == "" {
		return nil
	}
	if _, err := k.identityOf(spec.Script.User); err != nil {
		return []jobs.Fault{{Location: "script.user", Message: err.Error()}}
	}
	return nil
}

// Run executes one attempt.
func (k *Kind) Run(ctx context.Context, call *jobs.Call) jobs.Report {
	if ctx.Err() != nil {
		return jobs.Report{Stopped: jobs.StopCause(ctx), ExitCode: -1}
	}
	if call.Spec.Script == nil {
		f := &jobs.Failure{Kind: jobs.FailInvalid, Message: "the job has no script"}
		return jobs.Report{Failure: f.Bound(), ExitCode: -1}
	}
	a := &attempt{kind: k, call: call, kills: k.ooms.recent()}
	a.failure = a.start()
	if a.failure == nil {
		a.watch(ctx)
		a.end()
		a.failure = a.outcome()
	}
	a.clear()
	report := a.report()
	if a.output == nil && ctx.Err() != nil { // it was stopped before it came to that
		report.Stopped = jobs.StopCause(ctx)
	}
	return report
}
