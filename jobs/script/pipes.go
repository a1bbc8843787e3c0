package script

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipes are what joins a shim to the server: the server's ends and the shim's.
type pipes struct {
	control, status                             *os.File // the server's
	stdout, stderr                              int      // the server's; -1: not open
	wake                                        *os.File // tells, edge-triggered, when one of these two can be read
	controlEnd, statusEnd, stdoutEnd, stderrEnd *os.File // the shim's
}

func (p *pipes) open(user *identity) (err error) {
	p.stdout, p.stderr = -1, -1
	if p.controlEnd, p.control, err = pipe(1); err != nil {
		return err
	}
	if p.status, p.statusEnd, err = pipe(0); err != nil {
		return err
	}
	if err := p.openOutput(); err != nil || user == nil {
		return err
	}
	// Else the user may write to them, but not open them anew: echo > /dev/stderr.
	for _, end := range []*os.File{p.stdoutEnd, p.stderrEnd} {
		if err := end.Chown(int(user.uid), int(user.gid)); err != nil {
			return err
		}
	}
	return nil
}

// openOutput makes the pipes of stdout and stderr. The server's ends are bare descriptors, so that
// its own epoll alone tells in which order they were written to.
func (p *pipes) openOutput() error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(epoll, true); err != nil { // for the deadline of finish
		unix.Close(epoll)
		return os.NewSyscallError("fcntl", err)
	}
	p.wake = os.NewFile(uintptr(epoll), "epoll")
	for i, ends := range []struct {
		ours   *int
		theirs **os.File
	}{{&p.stdout, &p.stdoutEnd}, {&p.stderr, &p.stderrEnd}} {
		fds, err := rawPipe(0)
		if err != nil {
			return err
		}
		*ends.ours, *ends.theirs = fds[0], os.NewFile(uintptr(fds[1]), "pipe")
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fds[0], &unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(i),
		})
		if err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	return nil
}

func (p *pipes) closeOurs() {
	closeAll(p.control, p.status, p.wake)
	for _, fd := range []int{p.stdout, p.stderr} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (p *pipes) closeTheirs() {
	closeAll(p.controlEnd, p.statusEnd, p.stdoutEnd, p.stderrEnd)
}

// pipe makes a pipe of which only end ours (0 reads, 1 writes) does not block: scripts expect
// theirs to.
func pipe(ours int) (r, w *os.File, err error) {
	fds, err := rawPipe(ours)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

func rawPipe(ours int) (fds [2]int, err error) {
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return fds, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return fds, os.NewSyscallError("fcntl", err)
	}
	return fds, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
