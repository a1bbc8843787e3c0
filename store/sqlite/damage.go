package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	lib "modernc.org/sqlite/lib"
)

// A file that is damaged can be served for a while, until a statement meets the damage. A write that does ends the
// server. So that one which is started again and again does not begin work each time, to end by it, it leaves a mark
// beside the file: the next start looks at the whole file first, and refuses one that is not sound.

// whatToDo is said of damage, wherever it is met.
const whatToDo = "the database file is damaged: stop the server, keep the file (nightshift verify tells what is wrong in it), " +
	"and restore a backup: nightshift restore backups/latest.db"

func markPath(path string) string { return path + ".damaged" }

// isDamage reports whether SQLite has met damage.
func isDamage(err error) bool {
	c := code(err) & 0xff
	return c == lib.SQLITE_CORRUPT || c == lib.SQLITE_NOTADB
}

// explainDamage adds what to do, once.
func explainDamage(err error) error {
	if !isDamage(err) || errors.As(err, new(*explained)) {
		return err
	}
	return &explained{err}
}

type explained struct{ error }

func (e *explained) Error() string { return whatToDo + ": " + e.error.Error() }
func (e *explained) Unwrap() error { return e.error }

// markDamage leaves the mark. Where it cannot be left the next start begins work again.
func markDamage(path string, err error) {
	_ = writeWhole(markPath(path), []byte(err.Error()+"\n"))
}

// checkMark looks at a file that is marked. A sound one, as after a restore, loses the mark.
func (d *db) checkMark(ctx context.Context) error {
	_, err := os.Stat(markPath(d.path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p := d.pool("mode=rw")
	defer p.Close()
	err = findDamage(ctx, p, "quick_check")
	if found := (*damaged)(nil); errors.As(err, &found) {
		return fmt.Errorf("%s: %w", whatToDo, err)
	}
	if err != nil {
		return fmt.Errorf("look for damage: %w", explainDamage(err))
	}
	return os.Remove(markPath(d.path))
}
