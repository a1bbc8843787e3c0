package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	lib "modernc.org/sqlite/lib"
)

const notOurs = "the file is not a Nightshift database (or is damaged): give another --db, or restore a backup"

// look refuses another program's file and tells the version of the schema of one of ours: 0 where there
// is none yet. It changes nothing, not even the log that a crash has left: a file that is refused goes
// on as it was with the Nightshift that it belongs to.
func (d *db) look(ctx context.Context) (version int64, err error) {
	params := "mode=ro"
	switch {
	case isThere(d.path + "-journal"):
		params = "mode=rw" // the file cannot be read before what was cut off is rolled back
	case !hasLog(d.path):
		params += "&immutable=1" // else reading makes a log, or what lies beside an empty one
	}
	p := d.pool(params)
	defer p.Close()
	var others, versions, ours int
	err = p.QueryRowContext(ctx, `SELECT COUNT(CASE WHEN name <> 'goose_db_version' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' THEN 1 END),
		COUNT(CASE WHEN name = 'goose_db_version' THEN 1 END), COUNT(CASE WHEN name IN ('jobs', 'runs') THEN 1 END)
		FROM sqlite_master`).Scan(&others, &versions, &ours)
	// Other programs count their versions in a table of this name too.
	if code(err)&0xff == lib.SQLITE_NOTADB || err == nil && others > 0 && (versions == 0 || ours < 2) {
		return 0, errors.New(notOurs)
	}
	if err == nil && versions > 0 {
		err = p.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	}
	if err != nil {
		return 0, fmt.Errorf("read the schema: %w", classifyRead(err))
	}
	return version, nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// checkPragmas reads back what was asked for: a misspelled name is ignored by SQLite.
func checkPragmas(ctx context.Context, p *sql.DB) error {
	want := []struct{ name, value string }{
		{"journal_mode", "wal"},
		{"synchronous", "2"},
		{"foreign_keys", "1"},
		{"busy_timeout", "10000"},
		{"wal_autocheckpoint", "0"},
		{"auto_vacuum", "2"},
	}
	for _, w := range want {
		var got string
		if err := p.QueryRowContext(ctx, "PRAGMA "+w.name).Scan(&got); err != nil {
			return fmt.Errorf("read %s: %w", w.name, err)
		}
		if got != w.value {
			return fmt.Errorf("pragma %s is %s, must be %s: was the file made by another program?",
				w.name, got, w.value)
		}
	}
	// The log is made with the first read: from here on it is there.
	var tables int
	if err := p.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&tables); err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	var version string
	if err := p.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	return checkVersion(version)
}

func checkVersion(version string) error {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return fmt.Errorf("read SQLite's version %q: %w", version, err)
	}
	if major*1000000+minor*1000+patch < 3051003 {
		return fmt.Errorf(
			"SQLite %s can lose commits (the WAL reset bug); 3.51.3 or later is needed", version)
	}
	return nil
}
