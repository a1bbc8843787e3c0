package sqldb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// DB runs closures in transactions. Closures may be run again after a rollback, so they
// must set what they capture anew each time.
type DB interface {
	// Write runs fn in a transaction that may be shared with other calls, each in a
	// savepoint. It returns after the commit. fn must not block. ctx only bounds the wait
	// for the transaction to begin: once begun, the outcome is awaited.
	Write(ctx context.Context, fn func(Tx) error) error
	// Read runs fn in a read transaction of one snapshot. fn must be short, and neither write nor
	// read again: writers may wait for it.
	Read(ctx context.Context, fn func(Tx) error) error
	// OnRollback is called in the writer's turn whenever something written was undone: by the call under way, or
	// all by the calls of the transaction.
	OnRollback(fn func(all bool))
	// OnWake is called in the writer's turn, before the commit, when a closure called
	// Tx.Wake: the writer waits a moment so that who is woken can join the transaction.
	OnWake(fn func())
	// Size is how large the file is.
	Size(ctx context.Context) (store.FileSize, error)
	// OnCommit is called in the writer's turn, before a commit, and may write in its transaction: with its error that
	// is undone. What it gives is called after the commit, with what became of it.
	OnCommit(fn func(Tx) (done func(error), err error))
	// Tidy checkpoints.
	Tidy(ctx context.Context, idle bool) error
	// Backup and Copy are those of store.Copies.
	Backup(ctx context.Context, dest string, now jobs.Time) (store.Copy, error)
	Copy(ctx context.Context, path string) (store.Copy, error)
	// Shrink gives free pages back.
	Shrink(ctx context.Context, pages int) error
	Close() error
}

// Tx executes statements within a transaction. Statements are kept prepared by their text.
type Tx interface {
	Exec(query string, args ...driver.Value) (int64, error)
	Query(query string, each func(Row) error, args ...driver.Value) error
	// Wake says that something may have become startable.
	Wake()
}

// Row is one row of an answer; it is valid until the callback returns. NULL reads as zero.
type Row []driver.Value

// Int reads an integer column.
func (r Row) Int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

// Time reads a column of milliseconds.
func (r Row) Time(i int) jobs.Time { return jobs.Time(r.Int(i)) }

// Null reports whether the column is NULL.
func (r Row) Null(i int) bool { return r[i] == nil }

// Text reads a text column.
func (r Row) Text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// Bytes copies a blob or text column; nil for NULL.
func (r Row) Bytes(i int) []byte {
	switch v := r[i].(type) {
	case string:
		return []byte(v)
	case []byte:
		return append([]byte{}, v...)
	}
	return nil
}

// ID reads an id from a blob column; NilID for NULL.
func (r Row) ID(i int) jobs.ID {
	var id jobs.ID
	if b, ok := r[i].([]byte); ok {
		copy(id[:], b)
	}
	return id
}

// one runs a query that gives at most one row and reports whether it did.
func one(tx Tx, query string, each func(Row), args ...driver.Value) (found bool, err error) {
	err = tx.Query(query, func(r Row) error {
		found = true
		each(r)
		return nil
	}, args...)
	return found, err
}

// insertSparse inserts a row by the statement whole, or by most where all of seldom are NULL: a NULL
// takes as long to hand over as a value.
func insertSparse(tx Tx, most, whole string, always, seldom []driver.Value) error {
	query, args := most, always
	if slices.ContainsFunc(seldom, func(v driver.Value) bool { return v != nil }) {
		query, args = whole, append(always, seldom...)
	}
	_, err := tx.Exec(query, args...)
	return err
}

// values are arguments that were put together.
func values(args []any) []driver.Value {
	list := make([]driver.Value, len(args))
	for i, a := range args {
		list[i] = a
	}
	return list
}

// none is NULL for the zero value, so that absent columns cost a byte.
func none[T ~int | ~int64](n T) driver.Value {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func noneText(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func noneID(id jobs.ID) driver.Value {
	if id.IsNil() {
		return nil
	}
	return id[:]
}

func must(n int64, err error) error {
	if err == nil && n != 1 {
		return fmt.Errorf("changed %d rows where one was meant", n)
	}
	return err
}
