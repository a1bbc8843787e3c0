package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"nightshift/store"
)

// code is SQLite's extended result code of an error; 0 where it is none of SQLite's.
func code(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// explainOpen says in words what keeps a file from being opened.
func explainOpen(err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_READONLY:
		return fmt.Errorf("it is read-only: this user must be able to write the file: %w", err)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("this user must be able to read and write the file and its folder: %w", err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("another process holds it, for ten seconds already: %w", err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("the disk is full: make room, nothing is lost: %w", err)
	}
	return explainDamage(err)
}

// classify maps errors of statements by their code, never by their text.
func classify(err error) error {
	if err == nil {
		return nil
	}
	switch code(err) & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}

// classifyRead maps errors of reads, which leave nothing unknown.
func classifyRead(err error) error {
	if c := code(err) & 0xff; c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED {
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	}
	return explainDamage(err)
}

// classify maps errors of the writer's statements: those of package function classify, and writes to the log that the
// system refuses by something else than a full disk.
func (w *writer) classify(err error) error {
	if code(err) == lib.SQLITE_IOERR_WRITE {
		if why := w.refused(); why != "" {
			return fmt.Errorf("%w: %w", &store.FullError{Why: why}, err)
		}
	}
	if isDamage(err) {
		markDamage(w.files.path, err)
		err = explainDamage(err)
	}
	return classify(err)
}

// classifyCommit maps errors of COMMIT. Disk full and locked are known not to have committed:
// the frame that ends the transaction was not written. Anything else may have been.
func (w *writer) classifyCommit(err error) error {
	if err == nil {
		return nil
	}
	if known := w.classify(err); errors.Is(known, store.ErrBusy) || errors.Is(known, store.ErrFull) {
		return known
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// endsTransaction reports whether SQLite may have rolled the whole transaction back by itself,
// so that what follows would run outside of it.
func endsTransaction(err error) bool {
	switch code(err) & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_BUSY,
		lib.SQLITE_INTERRUPT, lib.SQLITE_CORRUPT, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return true
	}
	return false
}
