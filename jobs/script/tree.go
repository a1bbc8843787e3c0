package script

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeTree removes a folder and all in it, also what its owner may not read for lack of mode. It
// follows no symbolic link, whoever may put one there meanwhile, and enters no file system that a script
// has mounted there.
//
// However deep a script has nested folders, it takes a few descriptors and a time that grows with their
// number: what lies below a folder is moved up before that goes. Whoever descends instead has one open
// for each level, or walks down from the top for each.
func removeTree(path string) error {
	top, err := openFolder(unix.AT_FDCWD, path)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return os.Remove(path)
	case err != nil:
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer top.Close()
	r := remover{top: top}
	if err := r.empty(); err != nil {
		return &fs.PathError{Op: "remove what is in", Path: path, Err: err}
	}
	return os.Remove(path)
}

// openFolder opens a folder to change what it holds.
func openFolder(at int, name string) (*os.File, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := openat(at, name, how)
	if errors.Is(err, unix.EACCES) && allowOwner(at, name) == nil {
		fd, err = openat(at, name, how)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700)
	}
	return os.NewFile(uintptr(fd), filepath.Base(name)), nil
}

func openat(at int, name string, how int) (fd int, err error) {
	for {
		if fd, err = unix.Openat(at, name, how, 0); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// allowOwner gives the owner of a folder all rights to it. What chmod(2) is told is what was opened,
// whatever bears the name by then.
func allowOwner(at int, name string) error {
	fd, err := openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}

// A remover empties a folder.
type remover struct {
	top   *os.File
	done  int // what was removed or moved up
	moved int // names that were given to what was moved up
}

// empty goes through the folder until nothing is left that can be removed: what comes up while it looks
// it may not see.
func (r *remover) empty() error {
	for {
		before := r.done
		err := eachEntry(r.top, r.drop)
		if r.done == before {
			return err
		}
		if _, err := r.top.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// eachEntry calls fn for all entries of a folder, and gives what kept the first that was left.
func eachEntry(in *os.File, fn func(name string) error) (first error) {
	for {
		names, err := in.Readdirnames(1000)
		for _, name := range names {
			if err := fn(name); first == nil {
				first = err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return first
		case err != nil:
			return err
		}
	}
}

// drop removes an entry of the top folder. What lies below it comes up first.
func (r *remover) drop(name string) error {
	err := r.remove(r.top, name)
	if !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	in, err := openFolder(int(r.top.Fd()), name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := eachEntry(in, func(name string) error { return r.raise(in, name) }); err != nil {
		return err
	}
	return r.remove(r.top, name)
}

// raise removes an entry of a folder in the top one; a folder that is not empty it moves up.
func (r *remover) raise(in *os.File, name string) error {
	err := r.remove(in, name)
	for errors.Is(err, unix.ENOTEMPTY) {
		r.moved++
		to := ".nightshift-" + strconv.Itoa(r.moved)
		err = unix.Renameat(int(in.Fd()), name, int(r.top.Fd()), to)
		if errors.Is(err, unix.EACCES) && allowOwner(int(in.Fd()), name) == nil { // it must be ours to write
			err = unix.Renameat(int(in.Fd()), name, int(r.top.Fd()), to)
		}
		switch {
		case err == nil:
			r.done++
		case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTDIR):
			err = unix.ENOTEMPTY // the script has used that name: the next one
		}
	}
	return err
}

// remove removes an entry of a folder that is no folder, or an empty one. A file system that is mounted
// there stays as it is.
func (r *remover) remove(in *os.File, name string) error {
	err := unix.Unlinkat(int(in.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(int(in.Fd()), name, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil:
		r.done++
	case errors.Is(err, unix.EEXIST):
		return unix.ENOTEMPTY
	}
	return err
}
