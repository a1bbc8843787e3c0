package script

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

const (
	// patience is how long a shim may take to kill what is left. A shim that takes longer is
	// killed, being perhaps stopped, and the server goes on in its place.
	patience = 5 * time.Second
	// lastPatience is how long the server goes on at that once it is told to stop at once.
	lastPatience = time.Second
)

// shimEnvironment is all that a shim has of its own: it waits for four things and computes nothing.
// A build with the race detector would else sleep a second before it exits.
var shimEnvironment = []string{"GOMAXPROCS=4", "GORACE=atexit_sleep_ms=0"}

// An attempt is one script under way.
type attempt struct {
	kind  *Kind
	call  *jobs.Call
	kills int64 // of the machine's out-of-memory killer, before the start; -1: unknown

	user   *identity // nil: the server's
	claim  claim     // in which its folder is
	folder string    // of this attempt
	stdin  *os.File  // the payload: a file, so nobody waits for its reader
	order  order
	crlf   bool // a shell reads lines that end in CRLF
	cgroup string

	shim    *exec.Cmd
	control *os.File
	lines   chan string // what the shim says; closed at its end
	output  *output

	told     told
	cause    error // why it was told to stop; nil: it was not
	lost     bool  // the shim ended before its work was done: it was killed
	replaced bool  // by the server, which does its work
	failure  *jobs.Failure
	passing  bool // it could not be started for want of what may be there soon
	notes    []string
}

// start makes the folder and starts the shim, which starts the script.
func (a *attempt) start() (failure *jobs.Failure) {
	if a.user, failure = a.identity(); failure != nil {
		return failure
	}
	var err error
	if a.claim, err = a.kind.standing(); err == nil {
		err = a.makeFolder()
	}
	if err != nil {
		return a.cannot("the attempt's folder could not be made in "+a.kind.cfg.Temp, err)
	}
	if a.order, failure = a.decide(); failure != nil {
		return failure
	}
	if err := a.handOver(); err != nil {
		return a.cannot("the attempt's folder could not be given to "+a.user.name, err)
	}
	if err := a.makeCgroup(); err != nil {
		a.notes = append(a.notes, fmt.Sprintf("no cgroup could be made: %v", reason(err)))
	}
	a.order.Cgroup = a.cgroup
	a.boundMemory()
	if err := a.startShim(); err != nil {
		return a.cannot("the script could not be started", err)
	}
	return nil
}

func (a *attempt) makeCgroup() error {
	if a.kind.cgroup.Path == "" {
		return nil
	}
	path := filepath.Join(a.kind.cgroup.Path, filepath.Base(a.folder))
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	a.cgroup = path
	return nil
}

// boundMemory has the kernel see to the limit of the job, or else the shim.
func (a *attempt) boundMemory() {
	limit := a.call.Spec.Script.Memory
	if limit == nil || a.cgroup != "" && a.kind.memory && limitMemory(a.cgroup, *limit) == nil {
		return
	}
	a.order.Memory = int64(*limit)
}

// startShim starts the shim with its pipes and gives it the order.
func (a *attempt) startShim() error {
	var p pipes
	defer p.closeTheirs()
	if err := p.open(a.user); err != nil {
		p.closeOurs()
		return err
	}
	a.shim = &exec.Cmd{
		Path: a.kind.program.path, Args: []string{shimName}, Dir: "/",
		Env:   shimEnvironment,
		Stdin: a.stdin, Stdout: p.stdoutEnd, Stderr: p.stderrEnd,
		ExtraFiles: []*os.File{
			controlFD - 3: p.controlEnd, statusFD - 3: p.statusEnd, busyFD - 3: a.claim.busy,
		},
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:     true, // Ctrl-C is the server's affair
			AmbientCaps: a.user.capabilities(),
		},
	}
	if err := a.shim.Start(); err != nil {
		p.closeOurs()
		return err
	}
	a.control = p.control
	a.output = newOutput(&p, a.call)
	go a.output.copy()
	a.lines = make(chan string)
	go func() {
		defer close(a.lines)
		defer p.status.Close()
		for scan := bufio.NewScanner(p.status); scan.Scan(); {
			a.lines <- scan.Text()
		}
	}()
	_, _ = a.control.Write(a.order.encode()) // a shim that is gone shows in watch
	return nil
}

// watch waits for the shim's end, and passes stop and kill on.
func (a *attempt) watch(ctx context.Context) {
	done, kill := ctx.Done(), a.call.Kill
	var grace, late <-chan time.Time
	for {
		select {
		case line, ok := <-a.lines:
			if !ok {
				return
			}
			if a.told.hear(line); a.told.exited && a.cause == nil {
				late = time.After(linger + patience)
			}
		case <-done:
			done = nil
			a.cause = jobs.StopCause(ctx)
			a.command(stopCommand)
			grace = time.After(graceOf(a.call.Spec.Script))
		case <-kill:
			if kill, done, grace = nil, nil, nil; a.cause == nil {
				a.cause = jobs.ErrShutdown
				if ctx.Err() != nil {
					a.cause = jobs.StopCause(ctx)
				}
			}
			a.command(killCommand)
			late = time.After(patience)
		case <-grace:
			a.command(killCommand)
			late = time.After(patience)
		case <-late:
			a.replaced = true
			_ = a.shim.Process.Kill()
		}
	}
}

func graceOf(s *jobs.Script) time.Duration {
	if s.Grace != nil {
		return s.Grace.Std()
	}
	return jobs.DefaultGrace
}

// command tells the shim, and wakes it should the script have stopped it.
func (a *attempt) command(c byte) {
	_, _ = a.control.Write([]byte{c})
	_ = a.shim.Process.Signal(syscall.SIGCONT)
}

// end waits until nothing of the script is left, and takes in the rest of its output.
func (a *attempt) end() {
	_ = a.shim.Wait() // what it said counts, not how it exits
	a.control.Close()
	if a.lost = !a.told.over && a.told.failed == 0; a.lost {
		a.sweep()
	}
	if !a.output.finish() {
		a.notes = append(a.notes, "its output is held open by a process out of reach")
	}
	if said := a.output.notes.summary(); said != "" {
		a.notes = append(a.notes, said)
	}
}

// sweep does what the shim that was killed can no longer do: its orphans are this process's now.
// Orphans of another attempt's shim that was killed too are killed as well: none may live.
func (a *attempt) sweep() {
	var giveUp <-chan time.Time
	kill, complain := a.call.Kill, time.After(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		if a.cgroup != "" {
			_ = killCgroup(a.cgroup)
		}
		roots, all, err := orphans()
		if err != nil {
			a.notes = append(a.notes, fmt.Sprintf("what it left cannot be looked for: %v", err))
			return
		}
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			_ = p.kill()
		}
		for _, p := range roots {
			_, _ = syscall.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
		select {
		case <-time.After(wait):
		case <-complain:
			a.output.say("nightshift: this attempt is not over before these processes are, " +
				"which cannot be killed: " + list(all) + "\n")
		case <-kill:
			kill, giveUp = nil, time.After(lastPatience)
		case <-giveUp:
			a.notes = append(a.notes, "could not be killed: "+list(all))
			return
		}
	}
}

func list(all []process) string {
	text := ""
	for i, p := range all {
		if i == 10 {
			return text + ", ..."
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d (%s)", p.pid, p.name)
	}
	return text
}

// clear removes what the attempt had. All its processes are gone.
func (a *attempt) clear() {
	closeAll(a.stdin)
	if a.cgroup != "" {
		_ = removeCgroup(a.cgroup) // the shim has done it, unless it was killed
	}
	if a.folder == "" {
		return
	}
	if err := removeTree(a.folder); err != nil {
		a.notes = append(a.notes, fmt.Sprintf("its folder could not be removed: %v", reason(err)))
	}
}
