package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

var errNoCgroup = errors.New("cgroup v2 is not mounted")

// ownCgroup is the folder of the cgroup v2 that this process is in, cgroups(7).
func ownCgroup() (string, error) {
	folder, err := presentCgroup()
	if filepath.Base(folder) == ownGroup { // where DelegateSubgroup= or an earlier start has put it
		folder = filepath.Dir(folder)
	}
	return folder, err
}

func presentCgroup() (string, error) {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", errNoCgroup
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", errNoCgroup
	}
	return cgroupFolder(string(raw), string(mounts))
}

// visitCgroup moves this process into a cgroup, and back when leave is called: what it starts in between stays there.
func visitCgroup(folder string) (leave func() error, err error) {
	home, err := presentCgroup()
	if err != nil {
		return nil, err
	}
	if err := put(filepath.Join(folder, "cgroup.procs"), "0"); err != nil {
		return nil, err
	}
	return func() error { return put(filepath.Join(home, "cgroup.procs"), "0") }, nil
}

// cgroupFolder finds the line "0::PATH" in the text of /proc/PID/cgroup and where that path is
// mounted, from the text of /proc/PID/mountinfo.
func cgroupFolder(cgroups, mounts string) (string, error) {
	path := ""
	for line := range strings.Lines(cgroups) {
		if p, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::"); ok {
			path = p
		}
	}
	if path == "" {
		return "", errNoCgroup
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if !ok || len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, at := f[3], f[4]
		rel, err := filepath.Rel(root, path)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.Join(at, rel), nil
		}
	}
	return "", errNoCgroup
}

// killCgroup kills all that is in a cgroup and below it, at one instant.
func killCgroup(folder string) error {
	if err := put(filepath.Join(folder, "cgroup.kill"), "1"); err != nil {
		return fmt.Errorf("kill a cgroup: %w", err)
	}
	return nil
}

// put writes to a file of a cgroup; it makes none.
func put(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// ownGroup is the name of the cgroup that the server itself moves to, so that the one it was started
// in may hand its controllers down: one with processes may not, cgroups(7).
const ownGroup = "nightshift-server"

// handDown sees that cgroups made below a folder can have the memory controller, where the folder is
// ours to arrange: nobody else's processes are in it, and where systemd is in charge it was delegated.
func handDown(folder string) error {
	control := filepath.Join(folder, "cgroup.subtree_control")
	if on, err := os.ReadFile(control); err == nil && hasWord(string(on), "memory") {
		return nil
	}
	if all, err := os.ReadFile(filepath.Join(folder, "cgroup.controllers")); err != nil || !hasWord(string(all), "memory") {
		return errors.New("it has no memory controller")
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil && !delegated(folder) {
		return errors.New("systemd did not delegate it: Delegate=yes")
	}
	err := put(control, "+memory")
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	inside, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(inside)) != strconv.Itoa(os.Getpid()) {
		return errors.New("other processes are in it")
	}
	own := filepath.Join(folder, ownGroup)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := put(filepath.Join(own, "cgroup.procs"), "0"); err != nil {
		return err
	}
	return put(control, "+memory")
}

func hasWord(text, word string) bool { return slices.Contains(strings.Fields(text), word) }

// delegated reports whether systemd has left a cgroup to who lives in it, systemd.exec(5).
func delegated(folder string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [1]byte
		if n, err := unix.Getxattr(folder, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// removeCgroup removes an empty cgroup, and those that a script made below it, from the leaves up.
func removeCgroup(folder string) error {
	var folders []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		if err = os.Remove(folders[i]); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}
