package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// programName is what scripts call the running binary.
const programName = "nightshift"

// A program is the running binary, held open: whatever an upgrade puts in its place on disk, shims and
// the nightshift of scripts are this one.
type program struct {
	path string // an upgrade does not change what it names; this process alone can use it
	file *os.File

	mu     sync.Mutex
	folder string // holds nightshift, for the PATH of scripts; "": not made yet
}

// beyondShims is a number that no descriptor of a shim can have.
const beyondShims = 64

func openProgram(self string) (*program, error) {
	fd, err := unix.Open(self, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("there is no %s, and no script runs without /proc: mount it, "+
			"or start with --scripts off", self)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, beyondShims)
	if err != nil {
		return nil, err
	}
	path := "/proc/self/fd/" + strconv.Itoa(n)
	return &program{path: path, file: os.NewFile(uintptr(n), path)}, nil
}

// forScripts gives a folder below parent that holds the binary as nightshift. It is made when the
// first script needs it, and again where somebody has removed it.
func (p *program) forScripts(parent string) (folder string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	folder = filepath.Join(parent, "bin")
	path := filepath.Join(folder, programName)
	if _, err := os.Lstat(path); err == nil && p.folder == folder {
		return folder, nil
	}
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := os.Chmod(folder, 0o755); err != nil { // whatever the umask
		return "", err
	}
	if err := p.put(path); err != nil {
		return "", err
	}
	p.folder = folder
	return folder, nil
}

// put makes a second name of the very file or, where that is on another file system, not everybody's
// to run, or not ours to give a name, a copy. Where nothing can be run from there (noexec) it is a
// link to the path that the server was started from.
func (p *program) put(path string) error {
	_ = os.Remove(path) // of a try that failed
	if unix.Linkat(unix.AT_FDCWD, p.path, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW) == nil {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && st.Mode&0o555 == 0o555 {
			return nil
		}
		_ = os.Remove(path)
	}
	if err := p.copyTo(path); err != nil {
		_ = os.Remove(path)
		return err
	}
	if unix.Access(path, unix.X_OK) == nil {
		return nil
	}
	started, err := os.Executable()
	if err != nil {
		return err
	}
	_ = os.Remove(path)
	return os.Symlink(started, path)
}

func (p *program) copyTo(path string) error {
	from, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := copyFile(from, path); err != nil {
		return err
	}
	return os.Chmod(path, 0o755) // for everybody, whatever the umask
}

func (p *program) close() {
	if p != nil {
		p.file.Close()
	}
}
