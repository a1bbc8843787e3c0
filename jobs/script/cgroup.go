package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var errNoCgroup = errors.New("cgroup v2 is not mounted")

// ownCgroup is the folder of the cgroup v2 that this process is in, cgroups(7).
func ownCgroup() (string, error) {
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
	if err := os.WriteFile(filepath.Join(folder, "cgroup.kill"), []byte("1"), 0); err != nil {
		return fmt.Errorf("kill a cgroup: %w", err)
	}
	return nil
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
