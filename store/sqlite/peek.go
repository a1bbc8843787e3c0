package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"nightshift/store"
)

// Peeked is what a file says of itself that nobody serves.
type Peeked struct {
	Schema int64         // the last migration it has seen; 0: it is empty
	Newest int64         // when the newest of runs, events and changes was made, in milliseconds; 0: there is none
	Held   store.HeldWhy // why a start would hold it; "": it would not
	Log    bool          // the last writes are in its log: Schema and Newest are not known
}

// Peek reads a file that no process serves. It changes nothing, not even the files beside it: SQLite is told that
// the file cannot change, so it takes no lock and makes no log. The error is why a start would refuse it.
func Peek(ctx context.Context, path string) (p Peeked, err error) {
	facts, err := (&db{path: path}).lookAt()
	if err == nil {
		p.Held, err = facts.judge()
	}
	if p.Log = facts.log > 0; err != nil || p.Log || facts.empty {
		return p, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?mode=ro&immutable=1&_pragma=query_only(1)")
	if err != nil {
		return p, err
	}
	defer db.Close()
	tables, err := tablesOf(ctx, db)
	if code(err)&0xff == lib.SQLITE_NOTADB {
		return p, errors.New(notOurs)
	}
	if err != nil {
		return p, fmt.Errorf("read the schema: %w", err)
	}
	if len(tables) == 0 {
		return p, nil
	}
	if !slices.Contains(tables, "goose_db_version") {
		return p, errors.New(notOurs)
	}
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version").Scan(&p.Schema)
	if err != nil {
		return p, fmt.Errorf("read the schema's version: %w", err)
	}
	for table, query := range map[string]string{
		"runs":   "SELECT created_at FROM runs ORDER BY seq DESC LIMIT 1",
		"events": "SELECT at FROM events ORDER BY id DESC LIMIT 1",
		"audit":  "SELECT at FROM audit ORDER BY id DESC LIMIT 1",
	} {
		if !slices.Contains(tables, table) {
			continue
		}
		var at int64
		switch err := db.QueryRowContext(ctx, query).Scan(&at); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return p, fmt.Errorf("read the newest of %s: %w", table, err)
		}
		p.Newest = max(p.Newest, at)
	}
	return p, nil
}

func tablesOf(ctx context.Context, db *sql.DB) (names []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Version is that of the SQLite that is built in.
func Version() string {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return ""
	}
	defer db.Close()
	var version string
	if err := db.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		return ""
	}
	return version
}

// Schema is the newest that this program knows.
func Schema() (newest int64) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		panic(err) // it is built in
	}
	for _, f := range files {
		var n int64
		if _, err := fmt.Sscanf(f.Name(), "%d_", &n); err == nil && strings.HasSuffix(f.Name(), ".sql") {
			newest = max(newest, n)
		}
	}
	return newest
}
