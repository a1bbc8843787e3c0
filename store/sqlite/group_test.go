package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/store"
	"nightshift/store/sqldb"
)

const (
	insertMeta = "INSERT INTO meta (name, value) VALUES ($1, $2)"
	selectMeta = "SELECT name FROM meta ORDER BY name"
)

func openTest(t testing.TB) *db {
	t.Helper()
	d, err := openDB(context.Background(), filepath.Join(t.TempDir(), "n.db"), Config{})
	check(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func insert(name, value string) func(sqldb.Tx) error {
	return func(tx sqldb.Tx) error {
		_, err := tx.Exec(insertMeta, name, value)
		return err
	}
}

// names are those in the table.
func names(t *testing.T, d *db) map[string]bool {
	t.Helper()
	var all map[string]bool
	check(t, d.Read(context.Background(), func(tx sqldb.Tx) error {
		all = map[string]bool{}
		return tx.Query(selectMeta, func(r sqldb.Row) error {
			all[r.Text(0)] = true
			return nil
		})
	}))
	return all
}

// together makes calls that share one transaction: they are sent while the writer is held.
func together(t *testing.T, d *db, fns ...func(sqldb.Tx) error) []error {
	t.Helper()
	return togetherAfter(t, d, func() {}, fns...)
}

// togetherAfter does something first, while the writer stands still.
func togetherAfter(t *testing.T, d *db, first func(), fns ...func(sqldb.Tx) error) []error {
	t.Helper()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var once sync.Once
	wg.Go(func() {
		if err := d.w.do(context.Background(), &call{tidy: func(*conn) error {
			once.Do(func() { close(held) })
			<-release
			return nil
		}}); err != nil {
			t.Errorf("hold the writer: %v", err)
			once.Do(func() { close(held) })
		}
	})
	<-held
	errs := make([]error, len(fns))
	for i, fn := range fns {
		before := len(d.w.calls)
		wg.Go(func() { errs[i] = d.Write(context.Background(), fn) })
		for len(d.w.calls) == before { // in this order
			yield()
		}
	}
	first()
	close(release)
	wg.Wait()
	return errs
}

var errRefused = errors.New("refused")

func refuseAfter(fn func(sqldb.Tx) error) func(sqldb.Tx) error {
	return func(tx sqldb.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errRefused
	}
}

func TestClosureThatFailsSpoilsNoOther(t *testing.T) {
	d := openTest(t)
	var undone atomic.Int64
	d.OnRollback(func(bool) { undone.Add(1) })
	errs := together(t, d,
		insert("a", ""),
		refuseAfter(insert("b", "")),
		insert("c", ""),
		func(sqldb.Tx) error { return errRefused }, // wrote nothing
		insert("c", ""),                            // taken
		func(tx sqldb.Tx) error {
			_ = insert("p", "")(tx)
			panic("a bug")
		},
		insert("d", ""),
	)
	for i, ok := range []bool{true, false, true, false, false, false, true} {
		if (errs[i] == nil) != ok {
			t.Errorf("call %d: %v", i, errs[i])
		}
	}
	wantText(t, errs[5], "panic in a transaction: a bug")
	if got, want := fmt.Sprint(names(t, d)), fmt.Sprint(map[string]bool{"a": true, "c": true, "d": true}); got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	// Once for the group, which then runs again, and for each of the three that had written.
	if n := undone.Load(); n != 4 {
		t.Errorf("OnRollback was called %d times, want 4", n)
	}
}

func TestAClosureThatFailsAloneRunsOnce(t *testing.T) {
	d := openTest(t)
	ran := 0
	err := d.Write(context.Background(), func(tx sqldb.Tx) error {
		ran++
		check(t, insert("a", "1")(tx))
		return store.ErrStale
	})
	if !errors.Is(err, store.ErrStale) || ran != 1 || names(t, d)["a"] {
		t.Errorf("it ran %d times and ended with %v; there is %v", ran, err, names(t, d))
	}
	check(t, d.Write(context.Background(), insert("b", "1")))
	if !names(t, d)["b"] {
		t.Error("what came behind it is not there")
	}
}

func TestQueryThatWritesIsUndoneToo(t *testing.T) {
	d := openTest(t)
	errs := together(t, d, insert("a", ""), refuseAfter(func(tx sqldb.Tx) error {
		return tx.Query(insertMeta+" RETURNING name", func(sqldb.Row) error { return nil }, "b", "")
	}))
	if errs[0] != nil || !errors.Is(errs[1], errRefused) || len(names(t, d)) != 1 {
		t.Fatalf("%v, rows %v", errs, names(t, d))
	}
}

func TestManyWritersOfWhomSomeFail(t *testing.T) {
	d := openTest(t)
	var wg sync.WaitGroup
	for i := range 48 {
		wg.Go(func() {
			for j := range 20 {
				fn, fails := insert(fmt.Sprintf("%d-%d", i, j), ""), (i+j)%3 == 0
				if fails {
					fn = refuseAfter(fn)
				}
				if err := d.Write(context.Background(), fn); (err != nil) != fails {
					t.Errorf("write %d-%d: %v", i, j, err)
				}
			}
		})
	}
	wg.Wait()
	got := names(t, d)
	for i := range 48 {
		for j := range 20 {
			if name := fmt.Sprintf("%d-%d", i, j); got[name] != ((i+j)%3 != 0) {
				t.Errorf("row %s: there is %v", name, got[name])
			}
		}
	}
}

func TestFullDiskIsToldAndLaterWritesWork(t *testing.T) {
	d := openTest(t)
	pages := func(n string) func(sqldb.Tx) error {
		return func(tx sqldb.Tx) error {
			return tx.Query("PRAGMA max_page_count="+n, func(sqldb.Row) error { return nil })
		}
	}
	check(t, d.Write(context.Background(), pages("1"))) // SQLite takes the pages there are
	large := strings.Repeat("x", 1<<20)
	errs := together(t, d, insert("a", ""), insert("large", large), refuseAfter(insert("b", "")),
		insert("c", ""))
	if errs[0] != nil || !errors.Is(errs[1], store.ErrFull) || !errors.Is(errs[2], errRefused) ||
		errs[3] != nil {
		t.Fatalf("results %v", errs)
	}
	if got := names(t, d); len(got) != 2 || !got["a"] || !got["c"] {
		t.Fatalf("rows %v, want a and c", got)
	}
	check(t, d.Write(context.Background(), pages("1000000")))
	check(t, d.Write(context.Background(), insert("large", large)))
}

func TestForeignLockIsToldToAllWhoWait(t *testing.T) {
	d := openTest(t)
	check(t, d.w.do(context.Background(), &call{tidy: func(c *conn) error {
		_, err := c.Exec("PRAGMA busy_timeout=100")
		return err
	}}))
	other := sqlOn(t, d.path)
	lock := func() {
		_, err := other.Exec("BEGIN IMMEDIATE")
		check(t, err)
	}
	errs := togetherAfter(t, d, lock, insert("a", ""), insert("b", ""), insert("c", ""))
	for _, err := range errs {
		if !errors.Is(err, store.ErrBusy) {
			t.Errorf("error is %v, want ErrBusy", err)
		}
	}
	err := d.Tidy(context.Background(), false)
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("upkeep: %v, want ErrBusy", err)
	}
	if len(names(t, d)) != 0 {
		t.Error("a refused write is there")
	}
	_, err = other.Exec("ROLLBACK")
	check(t, err)
	check(t, d.Write(context.Background(), insert("a", "")))
}

// broken is a statement that fails as a disk does.
type broken struct{ err error }

func (b broken) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return nil, b.err
}

func TestUnknownCommitEndsTheWriter(t *testing.T) {
	d := openTest(t)
	check(t, d.Write(context.Background(), insert("before", "")))
	errs := togetherAfter(t, d, func() {
		d.w.conn.stmts["COMMIT"] = &stmt{exec: broken{errors.New("fsync failed")}}
	}, insert("a", ""), refuseAfter(insert("b", "")))
	if !errors.Is(errs[0], store.ErrUnknown) || !errors.Is(errs[1], errRefused) {
		t.Fatalf("results %v", errs)
	}
	for range 3 {
		if err := d.Write(context.Background(), insert("later", "")); !errors.Is(err,
			store.ErrUnknown) {
			t.Fatalf("a later write: %v", err)
		}
	}
	if err := d.Tidy(context.Background(), true); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("upkeep: %v", err)
	}
	if got := names(t, d); !got["before"] {
		t.Fatalf("reads do not go on: %v", got)
	}
	if err := d.Close(); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("Close does not tell: %v", err)
	}
}

func TestEveryWakeIsToldOf(t *testing.T) {
	wake := func(tx sqldb.Tx) error { tx.Wake(); return nil }
	for name, last := range map[string]func(sqldb.Tx) error{
		"in a full group":        wake,
		"in a group run anew":    wake,
		"by the first of a few":  insert("x", ""),
		"by one that fails":      refuseAfter(wake),
		"with more than a group": insert("y", ""),
	} {
		t.Run(name, func(t *testing.T) {
			d := openTest(t)
			var woken atomic.Int64
			d.OnWake(func() { woken.Add(1) })
			var fns []func(sqldb.Tx) error
			switch name {
			case "in a full group", "with more than a group":
				for range maxGroup - 1 {
					fns = append(fns, func(sqldb.Tx) error { return nil })
				}
				fns[len(fns)-1] = wake
			case "in a group run anew":
				fns = append(fns, func(tx sqldb.Tx) error { // SQLite ends the transaction under it
					_, err := tx.Exec("ROLLBACK")
					return err
				})
			case "by the first of a few":
				fns = append(fns, wake)
			}
			together(t, d, append(fns, last)...)
			if woken.Load() == 0 {
				t.Error("nobody was told")
			}
		})
	}
}

func TestCallIsRefusedOnceItsContextHasEnded(t *testing.T) {
	d := openTest(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Write(ctx, insert("a", "")); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if err := d.Read(ctx, func(sqldb.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	if len(names(t, d)) != 0 {
		t.Error("it was written all the same")
	}
}

func TestStatementWithinItsOwnRowsIsRefused(t *testing.T) {
	d := openTest(t)
	check(t, d.Write(context.Background(), insert("a", "")))
	err := d.Read(context.Background(), func(tx sqldb.Tx) error {
		return tx.Query(selectMeta, func(sqldb.Row) error {
			return tx.Query(selectMeta, func(sqldb.Row) error { return nil })
		})
	})
	wantText(t, err, "within its own rows")
	err = d.Read(context.Background(), func(tx sqldb.Tx) error {
		return tx.Query(selectMeta+" LIMIT $2", func(sqldb.Row) error { return nil }, 1)
	})
	wantText(t, err, "wants 2 arguments, got 1")
	names(t, d)
}

// A read that goes on would keep the log from being begun anew.
func TestReadIsCutAtItsTime(t *testing.T) {
	d := openTest(t)
	check(t, d.Read(t.Context(), func(tx sqldb.Tx) error {
		until, bounded := tx.(*reader).ctx.Deadline()
		if left := time.Until(until); !bounded || left > 30*time.Second {
			t.Errorf("it may take %v more", left)
		}
		return nil
	}))
	ctx, cut := context.WithCancel(t.Context())
	rows := 0
	err := d.Read(ctx, func(tx sqldb.Tx) error {
		return tx.Query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", func(sqldb.Row) error {
			if rows++; rows == 3 {
				cut()
			}
			return nil
		})
	})
	if !errors.Is(err, context.Canceled) || rows != 3 {
		t.Errorf("after %d rows: %v", rows, err)
	}
}
