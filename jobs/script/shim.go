package script

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shimName is argv[0] of a shim: no user types it.
const shimName = "nightshift-shim"

// Descriptors of a shim beyond the script's own three.
const (
	controlFD = 3 // orders and commands; its end of file is the server's death
	statusFD  = 4 // what the shim says
	busyFD    = 5 // holds a lock until the shim ends: see awaitShims
	firstFree = 6
)

// linger is how long others may go on after the script's first process has ended by itself: the
// tee of `exec > >(tee log)` needs a moment to write what it has.
const linger = 500 * time.Millisecond

// IsShim reports whether this process was started as a shim: main then calls ShimMain, before
// anything else, and exits with what it returns.
func IsShim() bool { return len(os.Args) > 0 && os.Args[0] == shimName }

// ShimMain is the whole life of a shim: it starts the script it is told to, says what becomes of
// it, and returns when no process of it is left.
func ShimMain() int {
	runtime.LockOSThread() // the script's parent-death signal is bound to this thread
	closeInherited()
	for _, fd := range []int{controlFD, statusFD, busyFD} {
		unix.CloseOnExec(fd)
	}
	// Should the script have stopped this process, the server's death wakes it.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0)
	// No signal ends or stops it, and the script gets the defaults.
	signal.Notify(make(chan os.Signal, 1))
	_ = os.WriteFile("/proc/self/comm", []byte(shimName), 0) // what ps and top show
	s := &shim{deaths: make(chan death), commands: make(chan byte), over: make(chan int64, 1)}
	var err error
	if s.order, err = readOrder(descriptor(controlFD)); err != nil {
		return 2
	}
	if err := s.start(); err != nil {
		errno := syscall.EIO
		errors.As(err, &errno)
		s.say(saidFailed, int(errno))
		return 1
	}
	go s.listen()
	go s.reap()
	if s.order.Memory > 0 {
		go s.measure()
	}
	s.watch()
	_ = removeTree(s.order.Folder) // the server sees to what is left of it, if there is one
	return 0
}

type shim struct {
	order    order
	script   int // pid of its first process, and of its session and group
	commands chan byte
	deaths   chan death // closed when there is no child left
	over     chan int64 // what it holds, when that is more than it may

	mu     sync.Mutex // held where processes are reaped, and where the script's pid must stay its own
	reaped bool       // the first process
}

type death struct {
	pid    int
	status syscall.WaitStatus
}

// start makes this process ready and forks the script.
func (s *shim) start() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	unix.Umask(0o077)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if s.order.Cgroup != "" {
		fd, err := unix.Open(s.order.Cgroup, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		sys.UseCgroupFD, sys.CgroupFD = true, fd
	}
	if s.order.User != nil {
		sys.Credential = s.order.User
		keepCapabilities()
	}
	lower := raiseOOM()
	pid, err := s.fork(sys)
	lower()
	if err != nil {
		return err
	}
	s.script = pid
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	return dropOutput()
}

// fork starts the script, in its cgroup if it has one. That takes clone3(2), which is not to be had behind some filters,
// such as that of RestrictNamespaces= of systemd: then this process goes there to fork it.
func (s *shim) fork(sys *syscall.SysProcAttr) (pid int, err error) {
	attr := &syscall.ProcAttr{Dir: s.order.Dir, Env: s.order.Env, Files: []uintptr{0, 1, 2}, Sys: sys}
	pid, err = syscall.ForkExec(s.order.Path, s.order.Args, attr)
	if !sys.UseCgroupFD || !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return pid, err
	}
	leave, visitErr := visitCgroup(s.order.Cgroup)
	if visitErr != nil {
		return 0, err
	}
	sys.UseCgroupFD = false
	pid, err = syscall.ForkExec(s.order.Path, s.order.Args, attr)
	if left := leave(); left != nil && err == nil {
		_ = killCgroup(s.order.Cgroup) // this process with it
	}
	return pid, err
}

// listen passes commands on until the server closes the pipe or dies.
func (s *shim) listen() {
	defer close(s.commands)
	var b [1]byte
	for {
		if _, err := descriptor(controlFD).Read(b[:]); err != nil {
			return
		}
		s.commands <- b[0]
	}
}

// reap collects children as they end, orphans that became this process's included, until none is.
func (s *shim) reap() {
	defer close(s.deaths)
	for {
		const peek = unix.WEXITED | unix.WNOWAIT | unix.WALL
		err := unix.Waitid(unix.P_ALL, 0, &unix.Siginfo{}, peek, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // ECHILD: none left
		}
		s.mu.Lock()
		var ended []death
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
			if err != nil || pid <= 0 {
				break
			}
			s.reaped = s.reaped || pid == s.script
			ended = append(ended, death{pid, ws})
		}
		s.mu.Unlock()
		for _, d := range ended {
			s.deaths <- d
		}
	}
}

// watch is what a shim does: it returns when nothing of the script is left.
func (s *shim) watch() {
	var lingered, look <-chan time.Time
	stopping := false
	for {
		select {
		case c, ok := <-s.commands:
			switch {
			case !ok:
				s.sweep()
				return
			case c == stopCommand && s.signal(syscall.SIGTERM, syscall.SIGCONT):
				stopping = true
				s.say(saidStopping, 0)
			default: // a kill, or a stop that came after the end
				if s.signal() {
					s.say(saidStopping, 0)
				}
				s.sweep()
				return
			}
		case d, ok := <-s.deaths:
			if !ok {
				s.finish(0)
				return
			}
			if !s.told(d) {
				continue
			}
			if stopping {
				look = time.Tick(10 * time.Millisecond)
			} else {
				lingered = time.After(linger)
			}
		case <-look:
			if errors.Is(unix.Kill(-s.script, 0), unix.ESRCH) {
				s.sweep()
				return
			}
		case <-lingered:
			s.sweep()
			return
		case used := <-s.over:
			s.say(saidMemory, int(used>>10))
			s.sweep()
			return
		}
	}
}

// told says the end of the script's first process, if this death is that.
func (s *shim) told(d death) bool {
	if d.pid != s.script {
		return false
	}
	s.say(saidExited, int(d.status))
	return true
}

// signal sends signals to the script's group unless its first process has ended, and reports that.
func (s *shim) signal(signals ...syscall.Signal) (alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return false
	}
	var info unix.Siginfo
	const peek = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT
	if err := unix.Waitid(unix.P_PID, s.script, &info, peek, nil); err != nil || info.Signo != 0 {
		return false
	}
	for _, sig := range signals {
		_ = unix.Kill(-s.script, sig)
	}
	return true
}

// sweep kills everything below the shim until there is nothing. A process forked while one round
// looks is met by the next; that this process has no child left proves that no descendant is.
func (s *shim) sweep() {
	killed := make(map[process]bool)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		all, _ := processes() // without /proc only the cgroup is left
		victims := below(all, os.Getpid())
		if s.order.Cgroup != "" {
			_ = killCgroup(s.order.Cgroup)
		}
		for _, p := range victims {
			if p.kill() == nil && !p.dead && p.pid != s.script {
				killed[process{pid: p.pid, start: p.start}] = true
			}
		}
		if s.emptied(wait) {
			s.finish(len(killed))
			return
		}
	}
}

// emptied waits a while for the last child to be gone.
func (s *shim) emptied(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case d, ok := <-s.deaths:
			if !ok {
				return true
			}
			s.told(d)
		case <-timer.C:
			return false
		}
	}
}

func (s *shim) finish(left int) {
	if s.order.Cgroup != "" {
		s.tellMemory()
		_ = removeCgroup(s.order.Cgroup)
	}
	s.say(saidLeft, left)
}

// tellMemory says what the kernel has counted.
func (s *shim) tellMemory() {
	killed, used, own, known := outOfMemory(s.order.Cgroup)
	switch {
	case own:
		s.say(saidMemory, int(used>>10))
	case known:
		s.say(saidStarved, int(killed))
	}
}

// say tells the server. A server that is gone does not hear it.
func (s *shim) say(word string, n int) {
	_, _ = unix.Write(statusFD, fmt.Appendf(nil, "%s %d\n", word, n))
}
