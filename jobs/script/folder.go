package script

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Folders that belong to a server begin so; they are locked while it lives. Those of files bear a
// mark as well: nothing is removed on account of its name alone, which a user may have chosen too.
const (
	claimPrefix = "nightshift-attempts-"
	claimMark   = ".nightshift-attempts"
)

var errBusy = errors.New("shims of a server that died are not done yet")

var errClaim = errors.New("a folder of its own could not be kept: another server removes it")

// A claim is a folder that belongs to this process for as long as it lives.
type claim struct {
	Path string
	lock *os.File
	busy *os.File // the mark, locked: its shims hold it too
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

// markClaim makes the mark in a folder that was just claimed. The mark is locked as long as the
// server or a shim of it lives, for they share what this opens.
func markClaim(c claim) (marked claim, err error) {
	c.busy, err = os.OpenFile(filepath.Join(c.Path, claimMark), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return c, err
	}
	return c, unix.Flock(int(c.busy.Fd()), unix.LOCK_SH)
}

// awaitShims waits until no shim of a server that died is left, each having killed its script
// before it ends, and reports that. They are quick: a start does not wait for what cannot be
// killed.
func awaitShims(path string) bool {
	f, err := os.OpenFile(filepath.Join(path, claimMark), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return true // it bears no mark, so it is not looked at
	}
	defer f.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
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

// removeClaim removes a folder that was claimed, its mark last: by that the next start finds what is left.
func removeClaim(path string) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != claimMark {
			err = errors.Join(err, removeTree(filepath.Join(path, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return removeTree(path)
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
