package sqlite

import (
	"fmt"
	"os"
	"syscall"

	"nightshift/store"
	"nightshift/store/sqldb"
)

// sameFiles knows the files of a database that SQLite holds open, so that it is noticed when somebody removes or
// replaces them while they are served: SQLite goes on with what has no name any more, and all of that is gone with
// the process. The lock is one of them: who removes it lets a second server in. They are asked for by stat alone; see
// the package for why none is opened.
type sameFiles struct {
	path  string
	known [4]fileID // zero: not looked at yet
}

// fileID tells one file from another.
type fileID struct{ device, inode uint64 }

var suffixes = [4]string{"", "-wal", "-shm", lockSuffix}

// lost is a file that is not the one that is served any more.
type lost struct {
	main     bool   // it is the database itself
	lock     bool   // it is what keeps others from it
	replaced bool   // another file has its name
	what     string // "nightshift.db-wal was removed"
}

// check gives the first file that is not the one any more that it was at the first look; nil: all are. SQLite makes
// the log when it first needs it. What cannot be told is not taken for lost.
func (f *sameFiles) check() *lost {
	for i, suffix := range suffixes {
		id, err := idOf(f.path + suffix)
		switch {
		case f.known[i] == (fileID{}):
			f.known[i] = id
		case os.IsNotExist(err):
			return &lost{main: i == 0, lock: suffix == lockSuffix, what: f.path + suffix + " was removed"}
		case err == nil && id != f.known[i]:
			return &lost{main: i == 0, lock: suffix == lockSuffix, replaced: true, what: f.path + suffix + " was replaced by another file"}
		}
	}
	return nil
}

func idOf(path string) (fileID, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, nil
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, nil
}

// lostFiles ends the writer when files of the database are not there any more, and saves what it can: what only an
// open file without a name holds would go with the process. It reports nil where all is as it was.
func (w *writer) lostFiles() error {
	if w.failed != nil {
		return nil
	}
	gone := w.files.check()
	if gone == nil {
		return nil
	}
	w.failed = fmt.Errorf("%w: %s while the server had it open: %s", store.ErrUnknown, gone.what, w.rescue(gone))
	return w.failed
}

// rescuedSuffix begins, behind the name of the database, that of a file in which it is saved; a number follows.
const rescuedSuffix = ".rescued-"

// rescue saves what was committed and says where to.
func (w *writer) rescue(gone *lost) string {
	if gone.lock {
		return "it keeps other servers from the file, one of which may be at work on it now. All that was committed is in the database"
	}
	if !gone.main && !gone.replaced {
		// All of the log goes into the database: who opened the files since would have made new ones.
		left := int64(-1)
		err := checkpoint(w.conn, "PASSIVE")
		if err == nil {
			_, left, err = walPages(w.conn)
		}
		if err == nil && left == 0 {
			return "all that was committed is in the database file"
		}
	}
	name := freeName(w.files.path + rescuedSuffix)
	err := makeFile(name)
	if err == nil {
		err = w.conn.Query("VACUUM INTO $1", func(sqldb.Row) error { return nil }, name)
	}
	if err != nil {
		_ = os.Remove(name)
		return fmt.Sprintf("what was committed could not be saved (%v): restore backups/latest.db", err)
	}
	return fmt.Sprintf("all that was committed is saved as %s: look at it with nightshift verify, and restore it where it is what you want", name)
}

// freeName adds the first number under which there is no file.
func freeName(prefix string) string {
	for n := 1; ; n++ {
		name := fmt.Sprint(prefix, n)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}
