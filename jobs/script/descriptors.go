package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// What a shim does to itself: its descriptors, its rank as a victim, its capabilities.

// oomMore makes the kernel take a script before the server when memory runs out.
const oomMore = 500

// closeInherited closes what came with the start and is not the shim's: what the Go runtime opened
// itself is close-on-exec, what came through exec cannot be.
func closeInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		_ = unix.CloseRange(firstFree, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < firstFree {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil &&
			flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// raiseOOM makes this process, and so the child that is forked next, a better victim of the
// out-of-memory killer; the returned function takes that back.
func raiseOOM() (lower func()) {
	const file = "/proc/self/oom_score_adj"
	raw, err := os.ReadFile(file)
	var old int
	if _, scanErr := fmt.Sscan(string(raw), &old); err != nil || scanErr != nil {
		return func() {}
	}
	_ = os.WriteFile(file, []byte(strconv.Itoa(min(old+oomMore, 1000))), 0)
	return func() { _ = os.WriteFile(file, []byte(strconv.Itoa(old)), 0) }
}

// keepCapabilities sees that what this process may is not handed down to what it starts.
func keepCapabilities() {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) == nil {
		data[0].Inheritable, data[1].Inheritable = 0, 0
		_ = unix.Capset(&head, &data[0])
	}
}

// dropOutput lets go of the script's stdin and output, so that only the script holds them.
func dropOutput() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // without /dev they close when the shim ends
	}
	defer unix.Close(null)
	for fd := range controlFD {
		if err := unix.Dup3(null, fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// A descriptor reads without Go's poller, which a shim has no use for.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
