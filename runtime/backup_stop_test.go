package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// largeStore is a store whose copies take for ever, as those of a very large file.
type largeStore struct {
	store.Store
	copying atomic.Int32
}

func (l *largeStore) Backup(ctx context.Context, _ string, _ jobs.Time) (store.Copy, error) {
	l.copying.Add(1)
	defer l.copying.Add(-1)
	<-ctx.Done()
	return store.Copy{}, ctx.Err()
}

// stopWithin stops the runtime, which must not take longer.
func (s *server) stopWithin(d time.Duration) {
	s.t.Helper()
	stopped := make(chan error, 1)
	go func() { stopped <- s.rt.Stop(nil) }()
	select {
	case err := <-stopped:
		if err != nil {
			s.t.Error(err)
		}
	case <-time.After(d):
		s.t.Fatalf("the stop takes longer than %v", d)
	}
}

// A stop neither waits for all of a copy that somebody asked for, nor lets the file be closed under it.
func TestStopEndsTheBackupThatIsAskedFor(t *testing.T) {
	for name, dir := range map[string]string{"beside those of the server": tempDir(t), "where it makes none": ""} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, succeed)
			large := &largeStore{Store: s.st}
			s.reviveAs(large, func(cfg *runtime.Config) {
				cfg.Backups = runtime.BackupConfig{Dir: dir, Every: 24 * time.Hour, Keep: 1}
			})
			s.rt.Start()
			asked := make(chan error, 1)
			go func() {
				_, _, err := s.rt.Backup(context.Background())
				asked <- err
			}()
			for large.copying.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			s.stopWithin(10 * time.Second)
			if n := large.copying.Load(); n != 0 {
				t.Errorf("%d copies are under way after the stop", n)
			}
			if err := <-asked; !errors.Is(err, store.ErrClosed) {
				t.Errorf("who asked is told: %v", err)
			}
			s.close()
		})
	}
}

func (l *largeStore) Size(context.Context) (store.FileSize, error) {
	return store.FileSize{Size: 1 << 30}, nil
}

// A copy that was given up at a stop, after longer than the last one may take, is not begun again.
func TestStopBeginsNoLongCopyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		large := &largeStore{Store: s.st}
		dir := tempDir(t)
		s.reviveAs(large, func(cfg *runtime.Config) {
			cfg.Backups = runtime.BackupConfig{Dir: dir, Snapshot: time.Minute}
		})
		s.rt.Start()
		until(10 * time.Second)
		if large.copying.Load() != 1 {
			t.Fatal("no copy is under way")
		}
		began := time.Now()
		if err := s.rt.Stop(nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		s.close()
	})
}

// slowCancelStore always has more to cancel.
type slowCancelStore struct {
	store.Store
	steps *atomic.Int32
}

func (s slowCancelStore) CancelWaiting(context.Context, int64, int, store.By) (store.CancelledSome, error) {
	s.steps.Add(1)
	time.Sleep(time.Millisecond)
	return store.CancelledSome{Runs: make([]jobs.ID, 1)}, nil
}

// Millions of runs may wait as a resume cancels them: a stop lets the step under way end, and the file is held still.
func TestStopEndsAResumeThatCancels(t *testing.T) {
	s, _, _ := restoredServer(t, succeed)
	slow := slowCancelStore{s.st, new(atomic.Int32)}
	s.reviveAs(slow, func(*runtime.Config) {})
	s.rt.Start()
	type resumed struct {
		n   int
		err error
	}
	done := make(chan resumed, 1)
	go func() {
		n, err := s.rt.Resume(context.Background(), true, store.By{Actor: "test"})
		done <- resumed{n, err}
	}()
	for slow.steps.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	s.stopWithin(10 * time.Second)
	if got := <-done; !errors.Is(got.err, store.ErrClosed) || got.n < 3 || s.rt.Restored() == nil {
		t.Errorf("the resume has cancelled %d and says %v; held: %v", got.n, got.err, s.rt.Restored())
	}
	s.close()
}
