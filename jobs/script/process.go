package script

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A process is one row of /proc.
type process struct {
	pid     int
	start   string // ticks since boot: pid and start name a process for good
	name    string
	parent  int
	session int
	dead    bool // a zombie without threads

	resident int64 // memory in bytes
}

// processes reads all of /proc. What ends meanwhile is left out.
func processes() ([]process, error) {
	f, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := processOf(pid); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// processOf reads /proc/PID/stat, proc_pid_stat(5): "pid (name) state ppid pgrp session ...", the
// number of threads as field 20, the start as field 22 and the resident pages as field 24.
func processOf(pid int) (process, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	text := string(raw)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 22 {
		return process{}, false
	}
	p := process{pid: pid, name: text[open+1 : end], start: f[19]}
	p.parent, _ = strconv.Atoi(f[1])
	p.session, _ = strconv.Atoi(f[3])
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	p.resident = pages * int64(os.Getpagesize())
	p.dead = f[0] == "Z" && f[17] == "1" || f[0] == "X"
	return p, true
}

// below gives those of all that descend from a root, the roots left out.
func below(all []process, roots ...int) []process {
	children := make(map[int][]process)
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for len(roots) > 0 {
		next := children[roots[0]]
		delete(children, roots[0])
		roots = roots[1:]
		for _, p := range next {
			found = append(found, p)
			roots = append(roots, p.pid)
		}
	}
	return found
}

// kill sends SIGKILL to this very process: a pidfd is taken before its start is compared, so that
// a pid used again meanwhile is not hit. A process that is gone is no error.
func (p process) kill() error {
	err := p.killExactly()
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func (p process) killExactly() error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.3
		return unix.Kill(p.pid, unix.SIGKILL)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := processOf(p.pid); !ok || now.start != p.start {
		return nil
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// orphans are the processes that scripts with a dead shim left to this process, and all below
// them. Shims share the server's session, scripts never do: so a child in another session is an
// orphan.
func orphans() (roots, all []process, err error) {
	every, err := processes()
	if err != nil {
		return nil, nil, err
	}
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return nil, nil, err
	}
	var pids []int
	for _, p := range every {
		if p.parent == self && p.session != session {
			roots = append(roots, p)
			pids = append(pids, p.pid)
		}
	}
	return roots, append(below(every, pids...), roots...), nil
}
