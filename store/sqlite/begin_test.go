package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"nightshift/store"
	"nightshift/store/sqldb"
)

// failedStarts are starts that end between two steps, as on a disk that is full; each closes the file in good order.
func failedStarts(t *testing.T, path string) map[string]func() {
	fail := func(hold func(d *db, s *sqldb.Store, cancel func()) error, before func() (after func())) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d, err := openDB(ctx, path, Config{})
		check(t, err)
		s := sqldb.New(d)
		after := before()
		err = d.begin(ctx, 0, d.was, func() error { return hold(d, s, cancel) })
		after()
		if err == nil {
			t.Error("the start has not failed")
		}
		check(t, s.Close())
	}
	nothing := func() func() { return func() {} }
	held := func(d *db, s *sqldb.Store, _ func()) error { return s.Hold(t.Context(), d.why, testTime) }
	return map[string]func(){
		"the note cannot be written": func() {
			fail(held, func() func() {
				var limit syscall.Rlimit
				check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
				small := limit
				small.Cur = 3
				check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &small))
				return func() { check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }
			})
		},
		"that it is held cannot be written": func() {
			fail(func(*db, *sqldb.Store, func()) error { return errors.New("full") }, nothing)
		},
		"its number cannot be written": func() {
			fail(func(d *db, s *sqldb.Store, cancel func()) error { defer cancel(); return held(d, s, cancel) }, nothing)
		},
	}
}

func TestStartThatFailedChangesNotWhetherTheFileIsHeld(t *testing.T) {
	for what := range failedStarts(t, "") {
		path := servedFile(t)
		failedStarts(t, path)[what]()
		wantHeld(t, what, path, "")
		at := filepath.Join(t.TempDir(), "n.db")
		copyFile(t, backupOf(t, path), at)
		failedStarts(t, at)[what]()
		s := openAt(t, at)
		h, err := s.Restored(t.Context())
		check(t, err)
		if h == nil || h.Why != store.HeldBackup || h.AsOf == 0 {
			t.Errorf("a backup, where %s: held %+v", what, h)
		}
		check(t, s.Close())
		wantHeld(t, "again, "+what, at, store.HeldBackup)
	}
}

// A kill may come at any time: also just before the file of a backup says itself that it is held.
func TestKillLosesNotThatTheFileIsToBeHeld(t *testing.T) {
	at := filepath.Join(t.TempDir(), "n.db")
	copyFile(t, backupOf(t, servedFile(t)), at)
	d, err := openDB(t.Context(), at, Config{})
	check(t, err)
	s := sqldb.New(d)
	check(t, d.begin(t.Context(), 0, d.was, func() error {
		killed, err := d.lookAt()
		check(t, err)
		if why, err := killed.judge(); err != nil || why != store.HeldBackup {
			t.Errorf("killed there, the next start holds it for %q: %v", why, err)
		}
		return s.Hold(t.Context(), d.why, testTime)
	}))
	check(t, s.Close())
	wantHeld(t, "afterwards", at, store.HeldBackup)
}
