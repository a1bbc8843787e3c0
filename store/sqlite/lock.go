package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is the advisory lock that makes one process the only one to serve a database. It is
// a file of its own: opening and closing the database's files here would drop SQLite's locks.
type lockFile struct {
	file *os.File
	path string
}

const lockSuffix = ".lock"

// resolve follows symbolic links, so that every route to a file meets the same lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if _, lerr := os.Lstat(abs); lerr == nil {
		return "", fmt.Errorf(
			"%s is a symbolic link to nothing: make the target's folder or remove the link", path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the folder of %s does not exist: make it first", path)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// lock takes the lock beside a resolved path.
func lock(path string) (*lockFile, error) {
	name := path + lockSuffix
	for range 100 {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			if errors.Is(err, os.ErrPermission) {
				err = fmt.Errorf("this user must be able to write the folder, and the lock file where there is one: %w", err)
			}
			return nil, fmt.Errorf("cannot make the lock file %s: %w", name, err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			holder := make([]byte, 32)
			n, _ := f.ReadAt(holder, 0)
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf(
					"%s is being served by another process (pid %s): one process serves a database; stop that one first",
					path,
					pidText(holder[:n]),
				)
			}
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		// The one before may have removed the file between our open and our lock.
		if l := (&lockFile{file: f, path: name}); l.held() {
			_ = f.Truncate(0)
			_, _ = fmt.Fprintf(f, "%d", os.Getpid())
			return l, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("cannot lock %s: the lock file keeps changing", path)
}

func pidText(b []byte) string {
	if len(b) == 0 {
		return "unknown"
	}
	return string(b)
}

// held reports whether the file that is locked still has its name: another server locks the one that has it.
func (l *lockFile) held() bool {
	ours, err1 := l.file.Stat()
	there, err2 := os.Stat(l.path)
	return err1 == nil && err2 == nil && os.SameFile(ours, there)
}

// release removes the file while it is still locked, so that nobody locks a removed one for good.
func (l *lockFile) release() {
	if l.held() {
		_ = os.Remove(l.path)
	}
	_ = l.file.Close()
}

// checkLinks refuses a file with several names: through each of them SQLite would make a WAL
// of its own.
func checkLinks(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return fmt.Errorf(
			"%s has %d hard links: SQLite would keep a separate log for each name; copy it and remove the other names",
			path,
			st.Nlink,
		)
	}
	return nil
}

// isServed tells whether a server is at work on a resolved path, or died at it.
func isServed(path string) bool {
	_, err := os.Lstat(path + lockSuffix)
	return err == nil
}
