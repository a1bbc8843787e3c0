package script

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Folders that belong to a server begin so; they are locked while it lives. Those of files bear a
// mark as well: nothing is removed on account of its name alone, which a user may have chosen too.
const (
	claimPrefix = "nightshift-attempts-"
	claimMark   = ".nightshift-attempts"
)

var errClaim = errors.New("a folder of its own could not be kept: another server removes it")

// A claim is a folder that belongs to this process for as long as it lives.
type claim struct {
	Path string
	lock *os.File
}

// claimFolder makes a folder below parent and locks it with flock(2): the kernel unlocks it when
// the process dies, and systemd-tmpfiles leaves locked folders alone.
func claimFolder(parent string) (claim, error) {
	for range 10 {
		path, err := os.MkdirTemp(parent, claimPrefix+"*")
		if err != nil {
			return claim{}, err
		}
		lock, err := lockFolder(path, unix.LOCK_EX)
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropStale of another server came between
		}
		if err != nil {
			return claim{}, err
		}
		if same(path, lock) {
			return claim{Path: path, lock: lock}, nil
		}
		lock.Close()
	}
	return claim{}, errClaim
}

// markClaim makes the mark in a folder that was just claimed.
func markClaim(c claim) error {
	return os.WriteFile(filepath.Join(c.Path, claimMark), nil, 0o600)
}

// isMarked reports whether a folder bears the mark.
func isMarked(path string) bool {
	info, err := os.Lstat(filepath.Join(path, claimMark))
	return err == nil && info.Mode().IsRegular()
}

// dropStale calls drop for each folder below parent that was claimed by a process of this user
// that is dead, where ours says so.
func dropStale(parent string, ours func(path string) bool, drop func(path string) error) {
	paths, _ := filepath.Glob(filepath.Join(parent, claimPrefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		lock, err := lockFolder(path, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			continue // its server lives
		}
		if same(path, lock) && ours(path) {
			_ = drop(path) // what cannot be removed now is tried again at the next start
		}
		lock.Close()
	}
}

func lockFolder(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "flock", Path: path, Err: err}
	}
	return f, nil
}

// same reports whether path still names the open folder.
func same(path string, f *os.File) bool {
	a, err := os.Lstat(path)
	if err != nil {
		return false
	}
	b, err := f.Stat()
	return err == nil && os.SameFile(a, b)
}

// removeTree removes a folder and all in it, also what its owner may not read for lack of mode.
func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
