package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	lib "modernc.org/sqlite/lib"

	"nightshift/store"
	"nightshift/store/sqldb"
)

// Verify looks at a file, which may be served meanwhile, and changes nothing. whole: every page and index is read,
// which takes about 0.1 s per MB; else what holds them together, a sixth of that. An error says why it could not
// look; what it found is no error.
func Verify(ctx context.Context, path string, whole bool) (v store.Verified, err error) {
	v, err = verify(ctx, path, whole)
	if err != nil {
		return v, fmt.Errorf("verify %s: %w", path, err)
	}
	return v, nil
}

func verify(ctx context.Context, path string, whole bool) (v store.Verified, err error) {
	real, err := resolve(path)
	if err != nil {
		return v, err
	}
	info, err := os.Stat(real)
	if errors.Is(err, os.ErrNotExist) {
		return v, errors.New("there is no such file")
	}
	if err != nil {
		return v, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return v, errors.New("it is not a file, or an empty one")
	}
	v.Path, v.Size, v.Whole = real, info.Size(), whole
	v.Served = isServed(real)
	p := openFile(real, readingParams(real)+"&_pragma=cache_size(-65536)")
	defer p.Close()
	err = within(ctx, p, func(c *conn) error {
		if _, err := c.Exec("BEGIN"); err != nil {
			return err
		}
		defer func() { _, _ = c.Exec("ROLLBACK") }()
		return look{&v, ctx, c}.all()
	})
	switch code(err) & 0xff {
	case lib.SQLITE_NOTADB:
		return v, errors.New(noBackup)
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
		return v, fmt.Errorf("this user must be able to read it, and to write it and its folder where it is served or a log (-wal) "+
			"lies beside it: %w", err)
	case lib.SQLITE_CORRUPT:
		v.Problems, v.Skipped = append(v.Problems, store.Problem{What: "the file is damaged: " + err.Error(), Count: 1}), "the file is damaged"
		return v, nil
	}
	return v, err
}

// readingParams are those of a connection that reads a file which may be served. A log has the newest rows; without
// one nothing is locked, nor made beside the file.
func readingParams(path string) string {
	if hasLog(path) || isServed(path) {
		return "mode=ro&_pragma=busy_timeout(10000)"
	}
	return "mode=ro&immutable=1"
}

func hasLog(path string) bool {
	log, err := os.Stat(path + "-wal")
	return err == nil && log.Size() > 0
}

// look is a look at a file under way.
type look struct {
	*store.Verified
	ctx context.Context
	c   *conn
}

func (v look) all() error {
	if err := v.schema(); err != nil {
		return err
	}
	pragma := "quick_check"
	if v.Whole {
		pragma = "integrity_check"
	}
	if err := v.list(pragma, "SQLite finds the file damaged"); err != nil {
		return err
	}
	if v.Problems != nil {
		v.Skipped = "the file is damaged"
		return nil
	}
	if err := v.list("foreign_key_check", "a row belongs to one that is not there"); err != nil {
		return err
	}
	copied, err := sqldb.ReadCopy(v.c)
	if err != nil {
		return err
	}
	if copied.AsOf != 0 {
		copied.Path, copied.Size = v.Path, v.Size
		v.Copy = &copied
	}
	newest := Schema()
	switch {
	case v.Schema > newest:
		v.Skipped = fmt.Sprintf("the file was written by a newer Nightshift (schema %d, this one knows %d)", v.Schema, newest)
		return nil
	case v.Schema < newest:
		v.Skipped = fmt.Sprintf("the file was written by an older Nightshift (schema %d, this one has %d): a start brings "+
			"it up to date", v.Schema, newest)
		return nil
	}
	found, err := sqldb.VerifyRows(v.c)
	if v.Problems = append(v.Problems, found...); err != nil {
		return err
	}
	v.Counts, err = sqldb.CountRows(v.c)
	return err
}

const noBackup = "the file is not a Nightshift database, nor a backup of one (or is damaged); one that was compressed is to be " +
	"unpacked first"

// schema refuses what is no file of ours.
func (v look) schema() error {
	ours := false
	err := v.c.Query("SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version'", func(sqldb.Row) error {
		ours = true
		return nil
	})
	if err == nil && !ours {
		err = errors.New(noBackup)
	}
	if err != nil {
		return err
	}
	return v.c.Query("SELECT MAX(version_id) FROM goose_db_version WHERE is_applied = 1", func(r sqldb.Row) error {
		v.Schema = r.Int(0)
		return nil
	})
}

// list takes in what a check of SQLite finds.
func (v look) list(pragma, what string) error {
	p := store.Problem{What: what}
	err := v.c.Query("PRAGMA "+pragma, func(r sqldb.Row) error {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if text := r.Text(0); text != "ok" {
			if p.Count++; p.Count <= 5 {
				p.Samples = append(p.Samples, text)
			}
		}
		return nil
	})
	if p.Count > 0 {
		v.Problems = append(v.Problems, p)
	}
	return err
}
