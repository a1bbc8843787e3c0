package script

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// litter makes a folder with whatever a script may leave.
func litter(t *testing.T, top string) {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"a/b/c", "empty", "locked/in", ".nightshift-1", ".nightshift-3/full"} {
		if err := os.MkdirAll(filepath.Join(top, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"file", "a/file", "a/b/file", "a/b/c/file", "locked/in/file", ".nightshift-2"} {
		if err := os.WriteFile(filepath.Join(top, file), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"link", "a/link", "a/b/c/link"} {
		if err := os.Symlink(filepath.Dir(outside), filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(top, "a", "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		if err := os.Mkdir(filepath.Join(top, "a", strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"locked/in", "locked", "a/b", "."} {
		if err := os.Chmod(filepath.Join(top, folder), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := os.Stat(outside); err != nil {
			t.Errorf("what a link leads to was removed: %v", err)
		}
	})
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s stands: %v", path, err)
	}
}

func TestAllThatAScriptLeavesIsRemoved(t *testing.T) {
	temp := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"file":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"link":    func(path string) error { return os.Symlink(temp, path) },
		"folder":  func(path string) error { err := os.Mkdir(path, 0o700); litter(t, path); return err },
	} {
		path := filepath.Join(temp, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if err := removeTree(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		gone(t, path)
	}
}

// deepen makes so many folders, one in the other.
func deepen(t *testing.T, path string, levels int) {
	t.Helper()
	at, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	for ; err == nil && levels > 0; levels-- {
		next := -1
		if err = unix.Mkdirat(at, "d", 0o700); err == nil {
			next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
		}
		unix.Close(at)
		at = next
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(at)
}

// One that descends has a descriptor open for each level, of which there are not so many.
func TestDeepFoldersAreRemovedWithAFewDescriptors(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: min(limit.Cur, 200), Max: limit.Max}
	path := filepath.Join(t.TempDir(), "deep")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	deepen(t, path, 5000)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	if err := removeTree(path); err != nil {
		t.Error(err)
	}
	gone(t, path)
}

// A script may end before it has unmounted what holds data.
func TestWhatIsMountedInAFolderStays(t *testing.T) {
	temp := t.TempDir()
	data, path := filepath.Join(temp, "data"), filepath.Join(temp, "attempt")
	mount := filepath.Join(path, "work", "mount")
	for _, folder := range []string{data, mount, filepath.Join(path, "work", "other", "more")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(data, "kept")
	if err := os.WriteFile(kept, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(data, mount, "", unix.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	err := removeTree(path)
	if _, lost := os.Stat(kept); lost != nil {
		t.Errorf("what was mounted was removed: %v", lost)
	}
	if err == nil {
		t.Error("a folder with a mount in it is said to be removed")
	}
	gone(t, filepath.Join(path, "work", "other"))
	if err := unix.Unmount(mount, 0); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(path); err != nil {
		t.Errorf("unmounted: %v", err)
	}
	gone(t, path)
}

func TestWhatCannotBeRemovedIsTriedAgainAtTheNextStart(t *testing.T) {
	temp := t.TempDir()
	dead, err := claimFolder(temp)
	if err == nil {
		dead, err = markClaim(dead)
	}
	mount := filepath.Join(dead.Path, "1", "work", "mount")
	if err := errors.Join(err, os.MkdirAll(mount, 0o700)); err != nil {
		t.Fatal(err)
	}
	dead.busy.Close()
	dead.lock.Close()
	if err := unix.Mount(t.TempDir(), mount, "", unix.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	start := func() {
		t.Helper()
		k, err := New(Config{Temp: temp})
		if err != nil {
			t.Fatal(err)
		}
		k.Close()
	}
	start()
	if err := unix.Unmount(mount, 0); err != nil {
		t.Fatal(err)
	}
	start()
	gone(t, dead.Path)
}
