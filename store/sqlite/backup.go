package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	lib "modernc.org/sqlite/lib"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
)

// Backup implements sqldb.DB. The copy is made by VACUUM INTO on a connection of its own, which sees one state
// of the file and waits for nobody. It is checked, and on disk, before it gets its name.
func (d *db) Backup(ctx context.Context, dest string, now jobs.Time) (c store.Copy, err error) {
	temp, err := tempBeside(dest)
	if err != nil {
		return c, fmt.Errorf("write a backup: %w", err)
	}
	defer os.Remove(temp)
	if c, err = d.copyTo(ctx, temp, now); err == nil {
		err = publish(temp, dest)
	}
	if err != nil {
		return c, fmt.Errorf("write the backup %s: %w", dest, explainCopy(err))
	}
	c.Path = dest
	return c, nil
}

// tempPrefix begins the names of copies that are not whole yet; see removeCutOff.
const tempPrefix = ".nightshift-copy-"

// tempBeside makes an empty file that nobody else may read.
func tempBeside(dest string) (string, error) {
	dir := filepath.Dir(dest)
	f, err := os.CreateTemp(dir, tempPrefix+"*") // 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// copyTo writes a copy that says that it is one, and checks it.
func (d *db) copyTo(ctx context.Context, temp string, now jobs.Time) (c store.Copy, err error) {
	from := d.pool(d.quiet + "mode=ro&_pragma=cache_size(-8192)")
	defer from.Close()
	if _, err := from.ExecContext(ctx, "VACUUM INTO ?", temp); err != nil {
		return c, classifyRead(err)
	}
	// Nobody else has this file, and what is half done of it is thrown away.
	to := openFile(temp, "mode=rw&_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=cache_size(-8192)")
	defer to.Close()
	err = within(ctx, to, func(c *conn) error {
		if err := sqldb.MarkCopy(c, d.path, now); err != nil {
			return err
		}
		_, err := c.Exec(fmt.Sprintf("PRAGMA application_id = %d", appBackup))
		return err
	})
	if err != nil {
		return c, err
	}
	if err := findDamage(ctx, to, "quick_check"); err != nil {
		return c, err
	}
	if err := within(ctx, to, func(tx *conn) error { c, err = sqldb.ReadCopy(tx); return err }); err != nil {
		return c, err
	}
	if err := to.Close(); err != nil {
		return c, err
	}
	info, err := os.Stat(temp)
	if err == nil {
		c.Size = info.Size()
	}
	return c, err
}

// findDamage runs quick_check or integrity_check.
func findDamage(ctx context.Context, p *sql.DB, pragma string) error {
	rows, err := p.QueryContext(ctx, "PRAGMA "+pragma+"(10)")
	if err != nil {
		return err
	}
	defer rows.Close()
	var bad []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			bad = append(bad, line)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if bad != nil {
		return &damaged{bad}
	}
	return nil
}

// damaged is what SQLite's checks found.
type damaged struct{ found []string }

func (e *damaged) Error() string {
	return "the file is damaged: " + strings.ReplaceAll(strings.Join(e.found, "; "), "\n", " ")
}

// publish gives a file that is whole its name.
func publish(temp, dest string) error {
	err := syncFile(temp)
	if err == nil {
		err = os.Rename(temp, dest)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(dest))
	}
	return err
}

// explainCopy says in words what keeps a copy from being made.
func explainCopy(err error) error {
	switch {
	case code(err)&0xff == lib.SQLITE_FULL:
		return fmt.Errorf("the disk is full: a copy needs about as much room as the database: %w", err)
	case isDamage(err), errors.As(err, new(*damaged)):
		if e := (*explained)(nil); errors.As(err, &e) {
			err = e.error // what to do is said once
		}
		return fmt.Errorf("the database is damaged, and no copy of it would be whole: stop the server, restore the "+
			"newest backup that nightshift verify finds good: %w", err)
	}
	return err
}

// Copy implements sqldb.DB.
func (d *db) Copy(ctx context.Context, path string) (store.Copy, error) { return ReadCopy(ctx, path) }

// ReadCopy reads what a copy says of itself, and takes no lock: no server may be at work on it.
func ReadCopy(ctx context.Context, path string) (c store.Copy, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, fmt.Errorf("%s: %w", path, store.ErrNotFound)
	}
	if err != nil {
		return c, err
	}
	p := openFile(path, "mode=ro&immutable=1")
	defer p.Close()
	err = within(ctx, p, func(tx *conn) error { c, err = sqldb.ReadCopy(tx); return err })
	if err != nil {
		return c, fmt.Errorf("read the backup %s: %w", path, err)
	}
	c.Path, c.Size = path, info.Size()
	return c, nil
}

// openFile opens a file that is not served.
func openFile(path, params string) *sql.DB {
	p, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+params)
	if err != nil {
		panic(err) // only an unregistered driver
	}
	p.SetMaxOpenConns(1)
	return p
}

// within runs fn on a connection of a pool.
func within(ctx context.Context, p *sql.DB, fn func(*conn) error) error {
	sc, err := p.Conn(ctx)
	if err != nil {
		return err
	}
	defer sc.Close()
	return sc.Raw(func(raw any) error {
		c, err := newConn(raw)
		if err != nil {
			return err
		}
		defer c.close()
		c.ctx = ctx
		return fn(c)
	})
}
