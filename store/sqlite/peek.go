package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	d := &db{path: path, driver: "sqlite"}
	facts, err := d.lookAt()
	if err == nil {
		p.Held, err = facts.judge()
	}
	if p.Log = facts.log > 0; err != nil || p.Log || facts.empty {
		return p, err
	}
	if p.Schema, err = d.look(ctx); err != nil || p.Schema == 0 {
		return p, err
	}
	db := openFile(path, "mode=ro&immutable=1")
	defer db.Close()
	for table, query := range map[string]string{
		"runs":   "SELECT created_at FROM runs ORDER BY seq DESC LIMIT 1",
		"events": "SELECT at FROM events ORDER BY id DESC LIMIT 1",
		"audit":  "SELECT at FROM audit ORDER BY id DESC LIMIT 1",
	} {
		var at int64
		err := db.QueryRowContext(ctx, query).Scan(&at)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return p, fmt.Errorf("read the newest of %s: %w", table, err)
		}
		p.Newest = max(p.Newest, at)
	}
	return p, nil
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
func Schema() int64 {
	up, err := newUpgrade(Config{})
	if err != nil {
		panic(err) // it is built in
	}
	return up.newest()
}
