package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"nightshift/store"
)

// SQLite knows a full disk by ENOSPC alone. A limit on the size of files, a quota and a file system that became
// read-only it reports as an I/O error, without the system's number. They are states of the system as a full disk
// is: they pass, and until then nothing was written.
//
// That holds of the write of a frame of the log (SQLITE_IOERR_WRITE), not of its sync. SQLite writes the frames of a
// transaction in order, the one that commits it last, and takes them into its index only after that. A write that
// is refused leaves that last frame without its header, or without all of its page, so that its checksum does not
// hold: a recovery ends before it. What stood there before cannot complete it: a limit, a quota and a full disk
// refuse only what is new at the end of the file, and where all is refused from one instant on the page would have
// to be, byte for byte, what an older one of that place was.

// refused says why the system does not let the files of a database be written; "": it is not known to.
func refused(path string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err == nil && uint64(st.Flags)&1 != 0 { // ST_RDONLY
		return "the file system of the database is read-only: mount it read-write again"
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err == nil {
		for _, name := range []string{path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(name)
			if err == nil && uint64(info.Size())+frameSize > limit.Cur {
				return fmt.Sprintf("the server may write no file larger than %d bytes (ulimit -f, LimitFSIZE= of systemd), and the "+
					"database has grown to that: raise the limit", limit.Cur)
			}
		}
	}
	switch err := tryFolder(path); {
	case errors.Is(err, syscall.EDQUOT):
		return "the user's quota of the disk is used up"
	case errors.Is(err, syscall.ENOSPC):
		return store.ErrFull.Error()
	case errors.Is(err, syscall.EROFS):
		return "the file system of the database is read-only: mount it read-write again"
	}
	return ""
}

// frameSize is a page in the log with its header.
const frameSize = 4096 + 24

// tryFolder writes a file beside the database, as large as what SQLite adds to the index of its log at a time.
func tryFolder(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".write-test-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 32<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
