package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mount is a line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	id      int
	root    string // of the file system, what is mounted
	on      string
	typ     string
	source  string
	options string // of the super block
}

func readMounts() []mount {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseMounts(string(text))
}

func parseMounts(text string) (all []mount) {
	for line := range strings.SplitSeq(text, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if !ok || len(head) < 5 || len(tail) < 2 {
			continue
		}
		id, err := strconv.Atoi(head[0])
		if err != nil {
			continue
		}
		m := mount{id: id, root: unescape(head[3]), on: unescape(head[4]), typ: tail[0], source: unescape(tail[1])}
		if len(tail) > 2 {
			m.options = tail[2]
		}
		all = append(all, m)
	}
	return all
}

// unescape reads the octal escapes of a mount table: of space, tab, newline and backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// mountOf is the file system of a folder.
func mountOf(folder string, mounts []mount) Mount {
	m := Mount{Path: folder}
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		m.Err = reason(err)
		return m
	}
	// On some machines f_type is a 32-bit number with a sign.
	m.Magic, m.ReadOnly = int64(uint32(st.Type)), st.Flags&unix.ST_RDONLY != 0
	id := 0
	var sx unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, folder, 0, unix.STATX_MNT_ID, &sx) == nil && sx.Mask&unix.STATX_MNT_ID != 0 {
		id = int(sx.Mnt_id)
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if at := findMount(mounts, id, folder); at != nil {
		m.Type, m.Source, m.On = at.typ, at.source, at.on
	}
	return m
}

// findMount is the mount with an id, else the last of those with the longest path above folder.
func findMount(mounts []mount, id int, folder string) (found *mount) {
	for i := range mounts {
		m := &mounts[i]
		if id != 0 && m.id == id {
			return m
		}
		above := m.on == folder || m.on == "/" || strings.HasPrefix(folder, m.on+"/")
		if above && (found == nil || len(m.on) >= len(found.on)) {
			found = m
		}
	}
	return found
}

// holder tells whether a process holds a lock file, and which; pid 0: it cannot be seen. The table of
// locks is asked first: taking the lock, if only for a moment, could keep a server from its start.
func holder(path string) (held bool, pid int) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return false, 0
	}
	if table, err := os.ReadFile("/proc/locks"); err == nil {
		if pid := findLock(string(table), unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino); pid > 0 {
			return true, pid
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false, 0
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK), 0
}

// findLock reads /proc/locks: 1: FLOCK ADVISORY WRITE 1234 fd:00:567 0 EOF.
func findLock(table string, major, minor uint32, inode uint64) (pid int) {
	want := fmt.Sprintf("%02x:%02x:%d", major, minor, inode)
	for line := range strings.SplitSeq(table, "\n") {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" || f[5] != want {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}

func ownLimits(p Place) *Limits {
	l := &Limits{Of: "this process", Workers: p.Workers, ScriptWorkers: p.ScriptWorkers}
	if p.NoScripts {
		l.ScriptWorkers = 0
	}
	for _, ask := range []struct {
		what int
		to   *uint64
	}{
		{unix.RLIMIT_NOFILE, &l.NoFile},
		{unix.RLIMIT_FSIZE, &l.FSize},
		{unix.RLIMIT_NPROC, &l.NProc},
		{unix.RLIMIT_CORE, &l.Core},
	} {
		var r unix.Rlimit
		*ask.to = Unlimited
		if unix.Getrlimit(ask.what, &r) == nil {
			*ask.to = r.Cur
		}
	}
	return l
}

func limitsOf(pid int) (Limits, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return Limits{}, err
	}
	l := parseLimits(string(text))
	l.Of, l.Server = fmt.Sprintf("the server, process %d", pid), true
	return l, nil
}

// parseLimits reads /proc/PID/limits: a name of some words, then the soft limit.
func parseLimits(text string) Limits {
	l := Limits{NoFile: Unlimited, FSize: Unlimited, NProc: Unlimited, Core: Unlimited}
	for line := range strings.SplitSeq(text, "\n") {
		for name, to := range map[string]*uint64{
			"Max open files ": &l.NoFile, "Max file size ": &l.FSize, "Max processes ": &l.NProc,
			"Max core file size ": &l.Core,
		} {
			rest, ok := strings.CutPrefix(line, name)
			if !ok {
				continue
			}
			if f := strings.Fields(rest); len(f) > 0 {
				if n, err := strconv.ParseUint(f[0], 10, 64); err == nil {
					*to = n
				}
			}
		}
	}
	return l
}

// userIDOf is the effective user of a process.
func userIDOf(pid int) (int, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			if f := strings.Fields(ids); len(f) > 1 {
				id, err := strconv.Atoi(f[1])
				return id, err == nil
			}
		}
	}
	return 0, false
}

// readCgroup finds the least of what the groups above a process leave to it: of memory and of
// processes, in either version of control groups.
func readCgroup(root fs.FS, pid string, mounts []mount) Cgroup {
	c := Cgroup{Memory: Unlimited, Pids: Unlimited}
	text, err := fs.ReadFile(root, "proc/"+pid+"/cgroup")
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.Err = reason(err)
		}
		return c
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers, group := strings.Split(parts[1], ","), parts[2]
		if parts[0] == "0" && parts[1] == "" {
			at := mountOfGroup(mounts, "cgroup2", "")
			c.Memory = min(c.Memory, leastAbove(root, at, group, "memory.max"))
			c.Pids = min(c.Pids, leastAbove(root, at, group, "pids.max"))
		}
		if slices.Contains(controllers, "memory") {
			c.Memory = min(c.Memory, leastAbove(root, mountOfGroup(mounts, "cgroup", "memory"), group, "memory.limit_in_bytes"))
		}
		if slices.Contains(controllers, "pids") {
			c.Pids = min(c.Pids, leastAbove(root, mountOfGroup(mounts, "cgroup", "pids"), group, "pids.max"))
		}
	}
	return c
}

func mountOfGroup(mounts []mount, typ, controller string) *mount {
	for i := range mounts {
		m := &mounts[i]
		if m.typ == typ && (controller == "" || slices.Contains(strings.Split(m.options, ","), controller)) {
			return m
		}
	}
	return nil
}

// leastAbove is the least number in the files of that name of a group and all above it. What a
// container has mounted may be a part of the tree.
func leastAbove(root fs.FS, at *mount, group, name string) uint64 {
	least := uint64(Unlimited)
	if at == nil {
		return least
	}
	if at.root != "/" {
		group = strings.TrimPrefix(group, at.root)
	}
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, strings.TrimPrefix(path.Join(at.on, group, name), "/"))
		if err == nil {
			if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
				least = min(least, n)
			}
		}
		if group == "/" {
			break
		}
	}
	if least > math.MaxInt64/2 { // how the first version says that there is none
		return Unlimited
	}
	return least
}

// containerOf says what kind of container this is, by the marks they leave.
func containerOf(root fs.FS, env func(string) string, mounts []mount) string {
	there := func(name string) bool { _, err := fs.Stat(root, name); return err == nil }
	switch {
	case env("KUBERNETES_SERVICE_HOST") != "":
		return "Kubernetes"
	case there("run/.containerenv"):
		return "Podman"
	case there(".dockerenv"):
		return "Docker"
	}
	if text, err := fs.ReadFile(root, "run/systemd/container"); err == nil && len(strings.Fields(string(text))) == 1 {
		return strings.TrimSpace(string(text))
	}
	if kind := env("container"); kind != "" {
		return kind
	}
	if at := findMount(mounts, 0, "/"); at != nil && at.typ == "overlay" {
		return "its root is an overlay"
	}
	return ""
}
