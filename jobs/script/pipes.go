package script

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipes are what joins a shim to the server: the server's ends and the shim's.
type pipes struct {
	control, status, output          *os.File // the server's
	controlEnd, statusEnd, outputEnd *os.File // the shim's
	stdin                            *os.File // the payload: a file, so nobody waits for its reader
}

func (p *pipes) open(payload string) (err error) {
	if p.stdin, err = os.Open(payload); err != nil {
		return err
	}
	if p.controlEnd, p.control, err = pipe(1); err != nil {
		return err
	}
	if p.status, p.statusEnd, err = pipe(0); err != nil {
		return err
	}
	p.output, p.outputEnd, err = pipe(0)
	return err
}

func (p *pipes) closeOurs() { closeAll(p.control, p.status, p.output) }

func (p *pipes) closeTheirs() { closeAll(p.stdin, p.controlEnd, p.statusEnd, p.outputEnd) }

// pipe makes a pipe of which only end ours (0 reads, 1 writes) does not block: scripts expect
// theirs to.
func pipe(ours int) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
