package script

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// decide says what is started: the program, its arguments, its environment, its folder.
func (a *attempt) decide() (order, *jobs.Failure) {
	s := a.call.Spec.Script
	env, failure := a.environment()
	if failure != nil {
		return order{}, failure
	}
	for name, words := range map[string][]string{"interpreter": s.Interpreter, "args": s.Args} {
		for i, w := range words {
			if strings.IndexByte(w, 0) >= 0 {
				return order{}, spawnFailure("%s[%d] %s", name, i, holdsNUL)
			}
		}
	}
	dir, failure := a.dir(s)
	if failure != nil {
		return order{}, failure
	}
	text, failure := a.text(s)
	if failure != nil {
		return order{}, failure
	}
	look := lookup{path: env["PATH"], dir: dir, user: a.user}
	words := look.interpreter(s.Interpreter, text)
	a.crlf = readsCRLF(words, text)
	if s.Path == "" {
		text.file += endingOf(words)
		if err := os.WriteFile(text.file, []byte(s.Source), 0o700); err != nil {
			return order{}, a.cannot("the script could not be written", err)
		}
	}
	words = append(append(words, text.file), s.Args...)
	program, failure := look.program(words[0])
	if failure != nil {
		return order{}, failure
	}
	return order{
		Path: program, Dir: dir, Folder: a.folder, User: a.user.credential(), Args: words, Env: env.list(),
	}, nil
}

// dir is where the script starts: its own empty folder, unless the job names one.
func (a *attempt) dir(s *jobs.Script) (string, *jobs.Failure) {
	if s.Dir == "" {
		return a.work(), nil
	}
	if !filepath.IsAbs(s.Dir) {
		return "", spawnFailure("dir %q is not absolute: want a path such as /srv/app", s.Dir)
	}
	info, err := os.Stat(s.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", spawnFailure("dir %q does not exist", s.Dir)
	case err != nil:
		return "", spawnFailure("dir %q: %v", s.Dir, reason(err))
	case !info.IsDir():
		return "", spawnFailure("dir %q is not a folder", s.Dir)
	case unix.Access(s.Dir, unix.X_OK) != nil:
		return "", spawnFailure("dir %q may not be entered by the server's user", s.Dir)
	}
	return s.Dir, nil
}

// A text is what an interpreter is given.
type text struct {
	file string // a source's is not written yet, and its ending is still to come
	head string // enough of its start for a #! line
}

const headSize = 4 << 10

func (a *attempt) text(s *jobs.Script) (text, *jobs.Failure) {
	if s.Path == "" {
		return text{
			file: filepath.Join(a.folder, "script"),
			head: s.Source[:min(len(s.Source), headSize)],
		}, nil
	}
	return a.scriptFile(s.Path)
}

// scriptFile finds a file below the scripts folder. It is run where it lies, so that what lies
// beside it (modules, node_modules, a file to source) is found; what it holds is read when the
// attempt starts. A user who may not read it there gets a copy. Symbolic links may not lead out of
// the folder.
func (a *attempt) scriptFile(path string) (text, *jobs.Failure) {
	folder := a.kind.cfg.Scripts
	if folder == "" {
		return text{}, spawnFailure("path %q: this server has no scripts folder: "+
			"start it with --scripts DIR", path)
	}
	if !filepath.IsLocal(path) {
		return text{}, spawnFailure("path %q leads out of the scripts folder: "+
			"want a path below it, such as nightly/sync.py", path)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return text{}, spawnFailure("the scripts folder cannot be opened: %v", reason(err))
	}
	defer root.Close()
	f, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would block
	if errors.Is(err, fs.ErrNotExist) {
		return text{}, spawnFailure("path %q does not exist in the scripts folder", path)
	}
	if err != nil {
		return text{}, spawnFailure("path %q in the scripts folder: %v", path, reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return text{}, spawnFailure("path %q in the scripts folder is not a file", path)
	}
	full := filepath.Join(folder, path)
	if now, err := os.Stat(full); err != nil || !os.SameFile(now, info) {
		return text{}, spawnFailure("path %q in the scripts folder was replaced as it was opened", path)
	}
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	if n == 0 && err != nil && info.Size() > 0 {
		return text{}, spawnFailure("path %q in the scripts folder: %v", path, reason(err))
	}
	if a.user != nil && !a.user.may(full, 4) {
		full = filepath.Join(a.folder, "script"+filepath.Ext(path))
		if err := copyFile(f, full); err != nil {
			return text{}, a.cannot("the script could not be copied for "+a.user.name, err)
		}
	}
	return text{file: full, head: string(head[:n])}, nil
}

// copyFile makes a file that its owner may execute.
func copyFile(from io.Reader, path string) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) // copy_file_range(2): shared where the file system can
	if closed := to.Close(); err == nil {
		err = closed
	}
	return err
}
