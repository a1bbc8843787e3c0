package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
	lib "modernc.org/sqlite/lib"
)

const notOurs = "the file is not a Nightshift database (or is damaged): give another --db, or restore a backup"

// checkOwner refuses another program's file before anything in it is changed.
func (d *db) checkOwner(ctx context.Context) error {
	// Read-only: the last connection that writes would move the log into the file as it is closed.
	params := "mode=ro"
	if !hasLog(d.path) {
		params += "&immutable=1"
	}
	p := d.pool(params)
	defer p.Close()
	var tables, ours int
	err := p.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(CASE WHEN name = 'goose_db_version' THEN 1 END) FROM sqlite_master").
		Scan(&tables, &ours)
	if code(err)&0xff == lib.SQLITE_NOTADB || err == nil && tables > 0 && ours == 0 {
		return errors.New(notOurs)
	}
	if err != nil {
		return fmt.Errorf("read the schema: %w", classifyRead(err))
	}
	return nil
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
	var version string
	if err := p.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
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

func migrate(ctx context.Context, p *sql.DB, log *slog.Logger) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	g, err := goose.NewProvider(goose.DialectSQLite3, p, files,
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	have, err := g.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	sources := g.ListSources()
	if newest := sources[len(sources)-1].Version; have > newest {
		return fmt.Errorf(
			"the file was written by a newer Nightshift (schema %d, this one knows %d): start that one, or restore a backup",
			have,
			newest,
		)
	}
	done, err := g.Up(ctx)
	if err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	for _, m := range done {
		if log != nil {
			log.Debug("schema migrated", "version", m.Source.Version, "took", m.Duration)
		}
	}
	return nil
}
