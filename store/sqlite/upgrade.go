package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"nightshift/jobs"
)

// upgrade is what brings a file to the schema of this program: migrations, each in one transaction
// with the row that says it is done, so that a kill leaves the schema before it or the one after it.
type upgrade struct {
	files fs.FS
	steps []step // by version
	have  int64  // the version of the file; 0: it has no schema yet
	copy  bool   // of the file, made first
	free  func(folder string) (n int64, known bool)
	now   jobs.Time // of the start
	log   *slog.Logger
}

// step is one migration.
type step struct {
	version int64
	name    string // of its file
}

func newUpgrade(cfg Config) (*upgrade, error) {
	up := &upgrade{files: cfg.migrations, copy: !cfg.NoUpgradeCopy, now: cfg.Now, log: cfg.Log}
	if up.free = cfg.freeOn; up.free == nil {
		up.free = freeOn
	}
	if up.log == nil {
		up.log = slog.New(slog.DiscardHandler)
	}
	if up.files == nil {
		var err error
		if up.files, err = fs.Sub(migrations, "migrations"); err != nil {
			return nil, err
		}
	}
	names, err := fs.Glob(up.files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		up.steps = append(up.steps, step{version: version, name: path.Base(name)})
	}
	if len(up.steps) == 0 {
		return nil, errors.New("this program has no migrations")
	}
	slices.SortFunc(up.steps, func(a, b step) int { return int(a.version - b.version) })
	return up, nil
}

// newest is the version that this program works with.
func (up *upgrade) newest() int64 { return up.steps[len(up.steps)-1].version }

// check refuses a file that only a newer program understands.
func (d *db) check(up *upgrade) error {
	if up.have <= up.newest() {
		return nil
	}
	err := fmt.Errorf(
		"the file was written by a newer Nightshift (schema %d, this one knows %d): start that one, or restore a backup",
		up.have, up.newest())
	if kept := filepath.Join(filepath.Dir(d.path), copyName(up.newest()+1)); isThere(kept) {
		err = fmt.Errorf("%w: as it was before the newer one, it is in %s", err, kept)
	}
	return err
}

// pending are the steps that the file has not had.
func (up *upgrade) pending() []step {
	i := slices.IndexFunc(up.steps, func(s step) bool { return s.version > up.have })
	if i < 0 {
		return nil
	}
	return up.steps[i:]
}

// upgrade carries out what is pending. A file that holds something is copied first.
func (d *db) upgrade(ctx context.Context, up *upgrade) error {
	pending := up.pending()
	if len(pending) == 0 {
		return nil
	}
	if up.have > 0 && up.copy {
		if err := d.copyBefore(ctx, up, pending[0].version); err != nil {
			return err
		}
	}
	if err := d.setPragmas(ctx, upgrading); err != nil {
		return err
	}
	if err := d.carryOut(ctx, up, pending); err != nil {
		return err
	}
	if err := d.setPragmas(ctx, serving); err != nil {
		return err
	}
	return d.dropCopies()
}

// What the writing connection is set to. A table that others refer to can only be made anew while nobody
// looks at references: they are looked at as a whole before each commit. And an index takes several times
// the cache while it is made, however large the table is.
var (
	upgrading = []string{"PRAGMA foreign_keys=0", "PRAGMA cache_size=-8192"}
	serving   = []string{"PRAGMA foreign_keys=1", "PRAGMA cache_size=-32768"}
)

func (d *db) setPragmas(ctx context.Context, list []string) error {
	for _, pragma := range list {
		if _, err := d.writing.ExecContext(ctx, pragma); err != nil {
			return fmt.Errorf("bring the schema up to date: %s: %w", pragma, err)
		}
	}
	return nil
}

func (d *db) carryOut(ctx context.Context, up *upgrade, pending []step) error {
	rows, err := newVersionRows()
	if err != nil {
		return err
	}
	g, err := goose.NewProvider(goose.DialectCustom, d.writing, up.files,
		goose.WithStore(rows), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	level := slog.LevelInfo
	if up.have == 0 {
		level = slog.LevelDebug // a new file is no news
	}
	have := up.have
	for _, s := range pending {
		up.log.Log(ctx, level, "changing the schema", "from", have, "to", s.version)
		began := time.Now()
		if _, err := g.UpByOne(ctx); err != nil {
			return up.explain(have, s, err)
		}
		// What a migration writes may be as much as the file: the log is not kept at that size.
		if err := truncateLog(ctx, d.writing); err != nil {
			return fmt.Errorf("after migration %s: %w", s.name, err)
		}
		up.log.Log(ctx, level, "schema changed",
			"from", have, "to", s.version, "took", time.Since(began).Round(time.Millisecond).String())
		have = s.version
	}
	return nil
}

// explain says what a migration that failed has left: nothing of itself.
func (up *upgrade) explain(have int64, s step, err error) error {
	if p := (*goose.PartialError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	if full := (*sqlite.Error)(nil); errors.As(err, &full) && code(full)&0xff == lib.SQLITE_FULL {
		err = fmt.Errorf("there was no room for what it writes, here or in the folder for temporary files, which may be "+
			"as much as the file holds: make room, then start again: %w", full)
	}
	if have == 0 {
		return fmt.Errorf("make the schema (%s): %w", s.name, err)
	}
	err = fmt.Errorf("change the schema from %d to %d (%s): %w; nothing of this was kept", have, s.version, s.name, err)
	if have == up.have {
		return fmt.Errorf("%w: the file is at schema %d as before, and the Nightshift that served it can go on", err, have)
	}
	return fmt.Errorf("%w: the file is at schema %d; as it was before, at schema %d, it is in %s", err, have, up.have, copyName(up.pending()[0].version))
}

// truncateLog copies the write-ahead log back and cuts it.
func truncateLog(ctx context.Context, p *sql.DB) error {
	var busy, pages, copied int
	err := p.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	if err != nil {
		return fmt.Errorf("copy the write-ahead log back: %w", err)
	}
	return nil
}

// versionRows keeps the versions of a file in goose's table. It makes the table in the transaction of
// the first migration, and before each version is written it looks whether all references hold.
type versionRows struct{ database.Store }

func newVersionRows() (versionRows, error) {
	s, err := database.NewStore(database.DialectSQLite3, goose.DefaultTablename)
	if err != nil {
		return versionRows{}, fmt.Errorf("read the schema's version: %w", err)
	}
	return versionRows{s}, nil
}

// TableExists keeps goose from making the table by itself.
func (versionRows) TableExists(context.Context, database.DBTxConn) (bool, error) { return true, nil }

// ListMigrations lists what the file has had; version 0 stands for none.
func (r versionRows) ListMigrations(ctx context.Context, c database.DBTxConn) ([]*database.ListMigrationsResult, error) {
	there, err := r.there(ctx, c)
	if err != nil {
		return nil, err
	}
	if !there {
		return []*database.ListMigrationsResult{{Version: 0, IsApplied: true}}, nil
	}
	return r.Store.ListMigrations(ctx, c)
}

// Insert notes a migration, in its transaction.
func (r versionRows) Insert(ctx context.Context, tx database.DBTxConn, req database.InsertRequest) error {
	if err := checkReferences(ctx, tx); err != nil {
		return err
	}
	there, err := r.there(ctx, tx)
	if err != nil {
		return err
	}
	if !there {
		if err := r.CreateVersionTable(ctx, tx); err != nil {
			return err
		}
		if err := r.Store.Insert(ctx, tx, database.InsertRequest{Version: 0}); err != nil {
			return err
		}
	}
	return r.Store.Insert(ctx, tx, req)
}

func (r versionRows) there(ctx context.Context, c database.DBTxConn) (there bool, err error) {
	err = c.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)",
		r.Tablename()).Scan(&there)
	return there, err
}

// checkReferences refuses rows that refer to none.
func checkReferences(ctx context.Context, tx database.DBTxConn) error {
	var from, to string
	err := tx.QueryRowContext(ctx, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1`).Scan(&from, &to)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check references: %w", err)
	}
	return fmt.Errorf("a row of %s would refer to a row of %s that is not there", from, to)
}
