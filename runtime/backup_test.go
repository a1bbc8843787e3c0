package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// backedUp makes a runtime anew that makes backups.
func (s *server) backedUp(change func(*runtime.BackupConfig)) string {
	s.t.Helper()
	dir := filepath.Join(filepath.Dir(s.path), "backups")
	s.reviveAs(s.st, func(cfg *runtime.Config) {
		cfg.Backups = runtime.BackupConfig{Dir: dir, Snapshot: 5 * time.Minute, Every: 24 * time.Hour, Keep: 3}
		change(&cfg.Backups)
	})
	return dir
}

func asUsual(*runtime.BackupConfig) {}

// copyOf reads what a copy says of itself.
func (s *server) copyOf(path string) store.Copy {
	s.t.Helper()
	c, err := s.st.Copy(context.Background(), path)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func dated(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "nightshift-") {
			names = append(names, e.Name())
		}
		if strings.HasPrefix(e.Name(), ".nightshift-") {
			t.Errorf("%s is left", e.Name())
		}
	}
	return names
}

func TestLatestIsPublishedAsTheFileChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(asUsual)
		latest := filepath.Join(dir, runtime.LatestName)
		began := s.rt.Now()
		s.rt.Start()
		// A small file has its first copy before it is ready.
		first := s.copyOf(latest)
		if first.AsOf != began || first.Size == 0 {
			t.Errorf("the first is %+v, started %v", first, began)
		}
		until(time.Hour)
		if got := s.copyOf(latest); got != first {
			t.Errorf("nothing was written, and it was published again: %+v", got)
		}
		s.put(webhookJob)
		id := s.submit(jobs.Request{Job: "a"})
		until(time.Hour + time.Minute)
		second := s.copyOf(latest)
		if second.Run != id || second.AsOf.Sub(began) < time.Hour {
			t.Errorf("after a run it is %+v", second)
		}
		for range 20 { // a change each 20 s
			s.submit(jobs.Request{Job: "a"})
			time.Sleep(20 * time.Second)
			if got := s.copyOf(latest); got != second {
				if apart := got.AsOf.Sub(second.AsOf); apart < 5*time.Minute || apart > 5*time.Minute+20*time.Second {
					t.Errorf("published again after %v", apart)
				}
				second = got
			}
		}
		last := s.submit(jobs.Request{Job: "a"})
		s.stop()
		s.open()
		if got := s.copyOf(latest); got.Run != last {
			t.Errorf("at the stop it is %+v, want the run %s", got, last)
		}
		s.close()
	})
}

func TestLatestThatIsRemovedIsPublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(asUsual)
		s.rt.Start()
		until(time.Hour) // nothing is written meanwhile
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		until(time.Hour + 30*time.Second)
		if got := s.copyOf(filepath.Join(dir, runtime.LatestName)); got.AsOf == 0 {
			t.Errorf("it is %+v", got)
		}
		s.stop()
	})
}

func TestSnapshotsCanBeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(func(c *runtime.BackupConfig) { c.Snapshot, c.Every = 0, time.Hour })
		s.put(webhookJob)
		s.rt.Start()
		until(3*time.Hour - time.Minute)
		if names := dated(t, dir); len(names) != 3 {
			t.Errorf("dated copies: %v", names)
		}
		if _, err := s.st.Copy(context.Background(), filepath.Join(dir, runtime.LatestName)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("latest: %v", err)
		}
		if got := s.rt.Backups(); got.Stale || got.Path != "" {
			t.Errorf("%+v", got)
		}
		s.stop()
	})
}

func TestDatedCopiesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		hourly := func(c *runtime.BackupConfig) { c.Every = time.Hour }
		dir := s.backedUp(hourly)
		other := filepath.Join(dir, "nightshift-mine.db")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.put(webhookJob)
		s.rt.Start()
		until(5*time.Hour + time.Minute)
		names := dated(t, dir)
		if len(names) != 4 || names[3] != "nightshift-mine.db" || s.rt.Backups().Dated != 3 {
			t.Fatalf("kept %v, said %d", names, s.rt.Backups().Dated)
		}
		for i, name := range names[:3] {
			c := s.copyOf(filepath.Join(dir, name))
			at, err := time.Parse("nightshift-20060102T150405Z.db", name)
			if err != nil {
				t.Fatal(err)
			}
			// Nothing was written: what it is of may be older than its name.
			if i > 0 && names[i] <= names[i-1] || c.AsOf.Std().After(at.Add(time.Second)) {
				t.Errorf("%s is as of %v", name, c.AsOf)
			}
		}
		s.stop()
		before := dated(t, dir)
		s.open()
		s.backedUp(hourly)
		s.rt.Start()
		until(5*time.Hour + 20*time.Minute)
		if got := dated(t, dir); len(got) != len(before) || got[0] != before[0] {
			t.Errorf("after a restart: %v, before %v", got, before)
		}
		s.stop()
	})
}

func TestBackupThatFailsIsToldOnceUntilOneIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		var full atomic.Bool
		full.Store(true)
		dir := s.backedUp(func(c *runtime.BackupConfig) {
			c.Disk = func() (jobs.Disk, error) {
				if full.Load() {
					return jobs.Disk{Path: "/backups", Free: 1 << 20, Total: 1 << 40}, nil
				}
				return jobs.Disk{Path: "/backups", Free: 1 << 39, Total: 1 << 40}, nil
			}
		})
		s.put(webhookJob)
		s.rt.Start()
		until(minutes(30))
		s.wantTold(jobs.EventBackupFailed, "00:00 backup")
		failed := eventsOf[jobs.BackupFailed](s, jobs.EventBackupFailed)[0]
		if !strings.Contains(failed.Reason, "no room for a backup: the disk of /backups has 1 MiB free") || failed.Path != filepath.Join(dir, "latest.db") {
			t.Errorf("it tells %+v", failed)
		}
		if got := s.rt.Backups(); got.Failed == "" || got.Failing == 0 || got.AsOf != 0 {
			t.Errorf("%+v", got)
		}
		if _, _, err := s.rt.Backup(context.Background()); !errors.As(err, new(*runtime.NoRoomError)) {
			t.Errorf("one that is asked for: %v", err)
		}
		until(24*time.Hour + time.Minute)
		s.wantTold(jobs.EventBackupStale, "00:00 backup") // after a day
		if stale := eventsOf[jobs.BackupStale](s, jobs.EventBackupStale)[0]; !strings.Contains(stale.Reason, "for a day") {
			t.Errorf("it tells %+v", stale)
		}
		full.Store(false)
		until(24*time.Hour + 3*time.Minute)
		if got := s.rt.Backups(); got.Failed != "" || got.Failing != 0 || got.AsOf == 0 || got.Stale {
			t.Errorf("with room again: %+v", got)
		}
		full.Store(true)
		s.submit(jobs.Request{Job: "a"})
		until(25 * time.Hour)
		if n := len(s.told(jobs.EventBackupFailed)); n != 2 {
			t.Errorf("told %d times", n)
		}
		s.stop()
	})
}

// Two servers with one folder of backups would each take the other's for their own.
func TestFolderOfBackupsIsOneServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(asUsual)
		s.rt.Start()
		before := s.copyOf(filepath.Join(dir, runtime.LatestName))
		other := newServer(t, succeed)
		other.reviveAs(other.st, func(cfg *runtime.Config) {
			cfg.Backups = runtime.BackupConfig{Dir: dir, Snapshot: 5 * time.Minute, Keep: 1}
		})
		other.put(webhookJob)
		other.rt.Start()
		until(minutes(20))
		if got := other.rt.Backups().Failed; !strings.Contains(got, "another server has its backups in "+dir) {
			t.Errorf("said %q", got)
		}
		if n := counter(t, other.rt, "nightshift_backup_failures_total"); n < 10 || n > 21 {
			t.Errorf("tried %v times in 20 minutes", n)
		}
		if got := s.copyOf(filepath.Join(dir, runtime.LatestName)); got != before {
			t.Errorf("it was overwritten: %+v", got)
		}
		other.stop()
		s.stop()
		// Nor does it take it over afterwards, while the other's file is there.
		other.open()
		other.reviveAs(other.st, func(cfg *runtime.Config) {
			cfg.Backups = runtime.BackupConfig{Dir: dir, Snapshot: 5 * time.Minute, Keep: 1}
		})
		latest := other.copyOf(filepath.Join(dir, runtime.LatestName))
		other.rt.Start()
		until(minutes(22))
		if got := other.rt.Backups().Failed; !strings.Contains(got, "is the backup of another database, "+s.path) {
			t.Errorf("said %q", got)
		}
		if err := os.Rename(s.path, s.path+".gone"); err != nil {
			t.Fatal(err)
		}
		until(minutes(25))
		if got := other.copyOf(filepath.Join(dir, runtime.LatestName)); got == latest || got.Of != other.path {
			t.Errorf("it is not taken over: %+v", got)
		}
		other.stop()
	})
}

func TestBackupThatIsAskedForHoldsWhatWasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(webhookJob)
		id := s.submit(jobs.Request{Job: "a"})
		f, c, err := s.rt.Backup(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c.Run != id || c.AsOf != s.rt.Now() {
			t.Errorf("%+v", c)
		}
		if info, err := f.Stat(); err != nil || info.Size() != c.Size {
			t.Errorf("%v, %v", info, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if names, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), ".nightshift*")); names != nil {
			t.Errorf("left: %v", names)
		}
		s.rt.Start()
		s.stop()
	})
}

// A machine is made anew, the disk of backups is there, and the server starts before anybody could restore; or an
// older backup is restored than the last one.
func TestLastBackupOutlivesItsDatabase(t *testing.T) {
	for name, older := range map[string]bool{"begun anew": false, "an older one restored": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, succeed)
				dir := s.backedUp(asUsual)
				s.put(webhookJob)
				old := filepath.Join(tempDir(t), "old.db")
				if _, err := s.st.Backup(context.Background(), old, s.rt.Now()); err != nil {
					t.Fatal(err)
				}
				s.rt.Start()
				until(time.Minute)
				last := s.submit(jobs.Request{Job: "a"})
				s.stop() // and is published
				for _, suffix := range []string{"", ".served"} {
					if err := os.Remove(s.path + suffix); err != nil {
						t.Fatal(err)
					}
				}
				if older {
					if err := os.Rename(old, s.path); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 { // it is kept once
					var err error
					if s.st, err = sqlite.Open(context.Background(), s.path, sqlite.Config{Start: 4711}); err != nil {
						t.Fatal(err)
					}
					s.backedUp(asUsual)
					s.rt.Start()
					if s.rt.Restored() != nil {
						s.drain(false)
					}
					synctest.Wait()
					if got := s.copyOf(filepath.Join(dir, runtime.LatestName)); got.AsOf == 0 || got.Run == last {
						t.Errorf("latest is of the database before: %+v", got)
					}
					kept := 0
					for _, name := range dated(t, dir) {
						if s.copyOf(filepath.Join(dir, name)).Run == last {
							kept++
						}
					}
					if n := s.rt.Backups().Dated; kept != 1 || n != 2 {
						t.Errorf("of %d dated copies %d are the last of the database before", n, kept)
					}
					s.stop()
				}
			})
		})
	}
}

// restoredServer serves a backup that was taken while a run was due, one retried, one ran and a schedule had ticks.
func restoredServer(t *testing.T, kind kindFunc) (s *server, due, later jobs.ID) {
	t.Helper()
	orig := newServer(t, untilStopped)
	orig.put(webhookJob)
	orig.put(scheduled("tick", everyMinute))
	orig.put(`{"name":"tell","webhook":{"url":"http://127.0.0.1:9/"}}`)
	due, later = orig.submit(jobs.Request{Job: "a"}), orig.submit(jobs.Request{Job: "a", Delay: new(jobs.Duration(time.Hour))})
	dest := filepath.Join(tempDir(t), "n.db")
	if _, err := orig.st.Backup(context.Background(), dest, orig.rt.Now()); err != nil {
		t.Fatal(err)
	}
	orig.rt.Start()
	orig.stop()
	s = &server{t: t, path: dest, kind: kind}
	s.open()
	return s, due, later
}

func TestRestoredFileStandsStillUntilItIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, due, later := restoredServer(t, succeed)
		s.rt.Start()
		until(2*time.Hour + time.Second)
		h := s.rt.Restored()
		if h == nil || h.Why != store.HeldBackup || h.AsOf == 0 {
			t.Fatalf("held %+v", h)
		}
		for _, id := range []jobs.ID{due, later} {
			if run := s.run(id); run.State != jobs.Queued || run.HeldBy == nil || run.HeldBy.Kind != jobs.HeldRestored {
				t.Errorf("run %s: %s held by %+v", id, run.State, run.HeldBy)
			}
		}
		s.wantLedger("tick:default")
		if err := s.rt.Health(context.Background()); err == nil || !strings.Contains(err.Error(), "nightshift resume") {
			t.Errorf("health: %v", err)
		}
		if err := s.rt.Turning(); err != nil {
			t.Errorf("its loops: %v", err)
		}
		// What is asked of it is done: it is only not started.
		asked := s.submit(jobs.Request{Job: "a"})

		s.stop() // a restart does not let it go
		s.open()
		s.rt.Start()
		until(2*time.Hour + time.Minute)
		if s.rt.Restored() == nil || s.run(asked).State != jobs.Queued {
			t.Error("a restart has let it go")
		}
		s.drain(false)
		for _, id := range []jobs.ID{due, later, asked} {
			if run := s.awaitEnd(id); run.State != jobs.Succeeded {
				t.Errorf("run %s has %s", id, run.State)
			}
		}
		until(2*time.Hour + minutes(3) + time.Second)
		if s.rt.Restored() != nil || s.rt.Health(context.Background()) != nil {
			t.Error("it is held still")
		}
		if got := len(s.runsFor("tick:default")); got < 3 {
			t.Errorf("%d ticks made runs", got)
		}
		s.stop()
		s.open()
		if s.rt.Restored() != nil {
			t.Error("after the next start it is held again")
		}
		s.rt.Start()
		s.stop()
	})
}

func TestResumeMayCancelWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, due, later := restoredServer(t, func(context.Context, *jobs.Call) jobs.Report {
			t.Error("something was started")
			return jobs.Report{ExitCode: -1}
		})
		s.rt.Start()
		until(time.Second)
		n, err := s.rt.Resume(context.Background(), true, store.By{Actor: "test"})
		if err != nil || n != 2 {
			t.Errorf("cancelled %d: %v", n, err)
		}
		for _, id := range []jobs.ID{due, later} {
			run := s.run(id)
			if run.State != jobs.Cancelled {
				t.Errorf("run %s has %s", id, run.State)
			}
		}
		until(30 * time.Second)
		s.stop()
	})
}

// What was under way when the backup was made is left as it was, and lost once the file is let go.
func TestAttemptsOfARestoredFileAreLostAsItIsResumed(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			orig := newServer(t, untilStopped)
			orig.put(webhookJob)
			orig.rt.Start()
			id := orig.submit(jobs.Request{Job: "a"})
			orig.awaitState(id, jobs.Running)
			dest := filepath.Join(tempDir(t), "n.db")
			if _, err := orig.st.Backup(context.Background(), dest, orig.rt.Now()); err != nil {
				t.Fatal(err)
			}
			orig.stop()
			s := &server{t: t, path: dest, kind: kindFunc(succeed)}
			s.open()
			s.rt.Start()
			until(time.Hour)
			if run := s.run(id); run.State != jobs.Running || run.Attempts[0].FinishedAt != 0 {
				t.Errorf("held it has %s, its attempt ended at %v", run.State, run.Attempts[0].FinishedAt)
			}
			if _, err := s.rt.Resume(context.Background(), cancel, store.By{Actor: "test"}); err != nil {
				t.Fatal(err)
			}
			run, want := s.awaitEnd(id), jobs.Succeeded
			if cancel {
				want = jobs.Cancelled
			}
			if run.State != want || run.Attempts[0].Outcome != jobs.OutcomeInterrupted {
				t.Errorf("it has %s, first %s", run.State, run.Attempts[0].Outcome)
			}
			s.stop()
		})
	}
}
