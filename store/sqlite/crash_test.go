package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	var acknowledged []jobs.ID
	for round := range 3 {
		lines, _, cmd := child(t, "enqueue", path)
		for want := 50 + 100*round; want > 0 && lines.Scan(); want-- {
			id, err := jobs.ParseID(lines.Text())
			if err != nil {
				t.Fatal(lines.Text())
			}
			acknowledged = append(acknowledged, id)
		}
		check(t, cmd.Process.Kill())
		for lines.Scan() { // told before it died
			if id, err := jobs.ParseID(lines.Text()); err == nil {
				acknowledged = append(acknowledged, id)
			}
		}
		_ = cmd.Wait()
		if _, err := os.Stat(path + ".lock"); err != nil {
			t.Fatalf("the dead process left no lock file: the test proves nothing (%v)", err)
		}
		s := openAt(t, path)
		for _, id := range acknowledged {
			if _, err := s.Run(context.Background(), id); err != nil {
				t.Fatalf("round %d: acknowledged run: %v", round, err)
			}
		}
		check(t, s.Close())
		p := sqlOn(t, path)
		if got := readText(t, p, "PRAGMA integrity_check"); got != "ok" {
			t.Fatal(got)
		}
		check(t, p.Close())
	}
}

// A process that closes any descriptor of the database drops SQLite's locks, and another then
// writes under it.
func TestLocksAreHeldWhileTheServerWorks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	ctx := context.Background()
	_, err := s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}},
		store.By{Actor: "test", Now: testTime})
	check(t, err)
	lines, _, _ := child(t, "probe", path)
	var done atomic.Bool
	worked := make(chan error, 1)
	go func() {
		ids, err := jobs.NewIDs(0, func() uint64 { return 1 }), error(nil)
		for err == nil && !done.Load() {
			if _, err = s.Enqueue(ctx, []store.Submission{submission(ids, "a")}); err == nil {
				_, _, err = s.Runs(ctx, store.RunFilter{}, store.Page{Limit: 10})
			}
			if err == nil {
				err = s.Tidy(ctx, true)
			}
			if err == nil {
				_, err = s.Size(ctx)
			}
			if backup := filepath.Join(filepath.Dir(path), "b"); err == nil {
				if _, err = s.Backup(ctx, backup, testTime); err == nil {
					_, err = s.Copy(ctx, backup)
				}
			}
		}
		worked <- err
	}()
	asked := map[string]int{}
	for lines.Scan() {
		asked[lines.Text()]++
	}
	done.Store(true)
	check(t, <-worked)
	for _, what := range []string{".db ", ".db-shm "} {
		if n := asked[fmt.Sprint(what, os.Getpid())]; n != 100 {
			t.Errorf("of 100 times, %sheld by us: %d; answers %v", what, n, asked)
		}
	}
}

func TestLogStaysShortWhileReadsOverlap(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MiB")
	}
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	ctx := context.Background()
	_, err := s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}},
		store.By{Actor: "test", Now: testTime})
	check(t, err)
	ids := jobs.NewIDs(0, func() uint64 { return 1 })
	payload := jobs.Raw(`"` + strings.Repeat("x", 64<<10) + `"`)
	var done atomic.Bool
	failed := make(chan error, 10)
	for range 4 { // so many that there is always one
		go func() {
			var err error
			for err == nil && !done.Load() {
				_, _, err = s.Runs(ctx, store.RunFilter{LabelKey: "none"}, store.Page{Limit: 10})
			}
			failed <- err
		}()
	}
	longest := int64(0)
	for range 4 {
		go func() {
			var err error
			for i := 0; i < 26 && err == nil; i++ {
				var subs []store.Submission
				for range 16 {
					sub := submission(ids, "a")
					sub.Run.Payload = payload
					subs = append(subs, sub)
				}
				_, err = s.Enqueue(ctx, subs)
			}
			failed <- err
		}()
	}
	for ended := 0; ended < 4; {
		select {
		case err := <-failed:
			check(t, err)
			ended++
		default:
			longest = max(longest, sizeOf(t, path+"-wal"))
			time.Sleep(time.Millisecond)
		}
	}
	done.Store(true)
	for range 4 {
		check(t, <-failed)
	}
	t.Logf("the log was %d MiB at most", longest>>20)
	if longest > 64<<20 {
		t.Errorf("the log grew to %d MiB, want 64 at most", longest>>20)
	}
	if file := sizeOf(t, path); file < 90<<20 {
		t.Errorf("the file holds %d MiB: the log was not copied back", file>>20)
	}
	check(t, s.Tidy(ctx, true))
	if left := sizeOf(t, path+"-wal"); left != 0 {
		t.Errorf("the log of an idle store holds %d bytes", left)
	}
}

func TestShrinkGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	ctx := context.Background()
	by := store.By{Actor: "test", Now: testTime}
	_, err := s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}}, by)
	check(t, err)
	sub := submission(jobs.NewIDs(0, func() uint64 { return 1 }), "a")
	sub.Run.Payload = jobs.Raw(`"` + strings.Repeat("x", 2<<20) + `"`)
	_, err = s.Enqueue(ctx, []store.Submission{sub})
	check(t, err)
	check(t, s.Tidy(ctx, true))
	full := sizeOf(t, path)
	_, err = s.Cancel(ctx, sub.Run.ID, by)
	check(t, err)
	check(t, s.Remove(ctx, sub.Run.ID, by))
	check(t, s.Shrink(ctx, 100))
	check(t, s.Tidy(ctx, true))
	if left := sizeOf(t, path); left != full-100*4096 {
		t.Errorf("the file holds %d KiB after 100 pages of %d KiB were to be given back", left>>10, full>>10)
	}
	check(t, s.Shrink(ctx, 10_000))
	check(t, s.Tidy(ctx, true))
	if left := sizeOf(t, path); left > full-2<<20 {
		t.Errorf("the file holds %d KiB after 2 MiB of %d KiB were deleted", left>>10, full>>10)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	check(t, err)
	return info.Size()
}
