package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// A clock that was ahead when copies were made, and was set right since, costs no copies.
func TestDatedCopiesOfTheFutureDriveNoneOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(func(c *runtime.BackupConfig) { c.Keep = 4 })
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, at := range []time.Duration{-49 * time.Hour, -25 * time.Hour, 1000 * time.Hour, 1024 * time.Hour} {
			if err := os.WriteFile(filepath.Join(dir, runtime.BackupName(now.Add(at))), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.put(webhookJob)
		s.rt.Start()
		name := func(at time.Duration) string { return runtime.BackupName(now.Add(at)) }
		want := func(names ...string) {
			t.Helper()
			got := dated(t, dir)
			for i := range got {
				if len(got) != len(names) || got[i] != names[i] {
					t.Fatalf("there are %v, want %v", got, names)
				}
			}
		}
		until(time.Hour)
		want(name(-49*time.Hour), name(-25*time.Hour), name(0), name(1024*time.Hour))
		until(3*24*time.Hour + time.Hour)
		got := dated(t, dir)
		if len(got) != 4 || got[0] != name(0) {
			t.Errorf("after three days there are %v", got)
		}
		s.stop()
	})
}

// What kept a dated copy from being made is over with the next one, also where nothing is written that latest.db lacks.
func TestDatedCopyThatFailedIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		var full atomic.Bool
		dir := s.backedUp(func(c *runtime.BackupConfig) {
			c.Every = time.Hour
			c.Disk = func() (jobs.Disk, error) {
				if full.Load() {
					return jobs.Disk{Free: 1 << 20, Total: 1 << 40}, nil
				}
				return jobs.Disk{Free: 1 << 39, Total: 1 << 40}, nil
			}
		})
		s.rt.Start()
		until(minutes(30))
		full.Store(true)
		if err := os.Remove(filepath.Join(dir, runtime.LatestName)); err != nil { // so that it cannot be linked
			t.Fatal(err)
		}
		until(minutes(70))
		if s.rt.Backups().Failed == "" || len(dated(t, dir)) != 1 {
			t.Fatalf("%+v", s.rt.Backups())
		}
		full.Store(false)
		until(minutes(75))
		if got := s.rt.Backups(); got.Failed != "" || got.Failing != 0 || len(dated(t, dir)) != 2 {
			t.Errorf("with room again: %+v, %v", got, dated(t, dir))
		}
		s.stop()
	})
}

// Where the server makes none, one that is asked for is made beside the database, and must not fill its disk either.
func TestBackupThatIsAskedForNeedsRoomBesideTheDatabase(t *testing.T) {
	s := newServer(t, succeed)
	s.reviveAs(s.st, func(cfg *runtime.Config) {
		cfg.Disk = func() (jobs.Disk, error) { return jobs.Disk{Free: 1 << 20, Total: 1 << 40}, nil }
	})
	if _, _, err := s.rt.Backup(t.Context()); !errors.As(err, new(*runtime.NoRoomError)) {
		t.Errorf("with 1 MiB free: %v", err)
	}
	s.rt.Start()
	s.stop()
}

// Where no file can be opened any more nobody knows which copies there are: none is made or dropped for that.
func TestDatedCopiesWaitForAListOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(func(c *runtime.BackupConfig) { c.Every = time.Hour })
		s.rt.Start()
		until(minutes(30))
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		none := unix.Rlimit{Cur: 3, Max: limit.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
			t.Fatal(err)
		}
		until(minutes(90))
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if s.rt.Backups().Failed == "" || len(dated(t, dir)) != 1 {
			t.Errorf("it says %+v, there are %v", s.rt.Backups(), dated(t, dir))
		}
		until(minutes(95))
		if s.rt.Backups().Failed != "" || len(dated(t, dir)) != 2 {
			t.Errorf("afterwards it says %+v, there are %v", s.rt.Backups(), dated(t, dir))
		}
		s.stop()
	})
}

// sizelessStore cannot tell its size the first time.
type sizelessStore struct {
	store.Store
	asked atomic.Bool
}

func (s *sizelessStore) Size(ctx context.Context) (store.FileSize, error) {
	if !s.asked.Swap(true) {
		return store.FileSize{}, store.ErrBusy
	}
	return s.Store.Size(ctx)
}

// Whose the backups in a folder are is known before one is made there, whatever failed meanwhile; what a server that
// died has left is removed, whatever the folder is called.
func TestFolderOfBackupsIsLookedAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(tempDir(t), "back[1]*ups")
		here := func(cfg *runtime.Config) {
			cfg.Backups = runtime.BackupConfig{Dir: dir, Snapshot: 5 * time.Minute, Keep: 1}
		}
		s := newServer(t, succeed)
		s.reviveAs(s.st, here)
		s.rt.Start()
		before := s.copyOf(filepath.Join(dir, runtime.LatestName))
		s.stop()
		left := filepath.Join(dir, ".nightshift-copy-1")
		if err := os.WriteFile(left, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		other := newServer(t, succeed)
		other.reviveAs(&sizelessStore{Store: other.st}, here)
		other.put(webhookJob)
		other.rt.Start()
		until(minutes(20))
		if got := other.copyOf(filepath.Join(dir, runtime.LatestName)); got != before {
			t.Errorf("that of another database was overwritten: %+v", got)
		}
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s is left", left)
		}
		other.stop()
	})
}
