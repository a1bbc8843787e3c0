package script

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refuseClone3 has the kernel answer "not implemented" to clone3(2) from now on, as RestrictNamespaces= of systemd does:
// its arguments are in memory, where a filter does not look.
func refuseClone3() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE3, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

func TestScriptHasACgroupOfItsOwnWhereClone3IsRefused(t *testing.T) {
	if kinds(t, Config{})["cgroup"] == nil {
		t.Skip("there are no cgroups for scripts")
	}
	const source = "sed -n s/^0:://p /proc/self/cgroup; sed -n s/^0:://p /proc/$PPID/cgroup; sleep 600 &"
	for _, env := range []string{"", "NO_CLONE3=1"} {
		s := startServer(t, source, 0, env)
		script, shim, end := s.line(t), s.line(t), s.line(t)
		if !strings.Contains(script, "/"+claimPrefix) {
			t.Errorf("%s: the script is in %s", env, script)
		}
		if strings.Contains(shim, "/"+claimPrefix) {
			t.Errorf("%s: the shim is in %s", env, shim)
		}
		if !strings.HasPrefix(end, "ended: {Failure:<nil> ") {
			t.Errorf("%s: %s", env, end)
		}
	}
}
