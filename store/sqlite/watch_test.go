package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

func TestFilesTakenAwayEndTheWriterAndNothingIsLost(t *testing.T) {
	remove := func(t *testing.T, name string) { check(t, os.Remove(name)) }
	replace := func(t *testing.T, name string) {
		remove(t, name)
		check(t, os.WriteFile(name, nil, 0o600))
	}
	for _, c := range []struct {
		name, suffix string
		take         func(*testing.T, string)
		says         string
		rescued      bool // all is in a file of its own, not in the database
	}{
		{"log removed", "-wal", remove, "n.db-wal was removed", false},
		{"index removed", "-shm", remove, "n.db-shm was removed", false},
		{"log replaced", "-wal", replace, "n.db-wal was replaced by another file", true},
		{"database removed", "", remove, "n.db was removed", true},
		{"database replaced", "", replace, "n.db was replaced by another file", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.db")
			s, err := Open(context.Background(), path, Config{})
			check(t, err)
			ctx := context.Background()
			_, err = s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}}, store.By{Actor: "test", Now: testTime})
			check(t, err)
			ids := jobs.NewIDs(0, func() uint64 { return 1 })
			for range 30 {
				_, err := s.Enqueue(ctx, []store.Submission{submission(ids, "a")})
				check(t, err)
			}
			c.take(t, path+c.suffix)
			for range 2 {
				_, err = s.Enqueue(ctx, []store.Submission{submission(ids, "a")})
				wantText(t, err, c.says, "while the server had it open")
				if !errors.Is(err, store.ErrUnknown) {
					t.Errorf("%v: not an unknown outcome: the server would go on", err)
				}
			}
			if err := s.Close(); err == nil {
				t.Error("the store closes as if all were well")
			}
			found, _ := filepath.Glob(path + ".rescued-*")
			if !c.rescued {
				if len(found) > 0 {
					t.Errorf("%v: nothing needed to be rescued", found)
				}
				found = []string{filepath.Join(t.TempDir(), "copy.db")} // without a log that is there still
				text, err := os.ReadFile(path)
				check(t, err)
				check(t, os.WriteFile(found[0], text, 0o600))
			}
			if len(found) != 1 {
				t.Fatalf("rescued: %v, want one file", found)
			}
			if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v: want a file for its owner alone", info, err)
			}
			p := sqlOn(t, found[0])
			if got := readText(t, p, "PRAGMA integrity_check"); got != "ok" {
				t.Error(got)
			}
			// The last call was written, and nobody knows whether it stays.
			if n, _ := strconv.Atoi(readText(t, p, "SELECT count(*) FROM runs")); n < 30 {
				t.Errorf("%d of 30 acknowledged runs are there", n)
			}
		})
	}
}

// Whoever takes a lock for a leftover of a crash, and removes it, lets a second server in: the first one ends before it
// acknowledges anything more, and leaves what is the second one's.
func TestServerWhoseLockWasRemovedMakesRoomForTheSecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	first := openAt(t, path)
	saveJob(t, first, "a")
	check(t, os.Remove(path+".lock"))
	second := openAt(t, path)
	ids := jobs.NewIDs(0, func() uint64 { return 1 })
	_, err := first.Enqueue(t.Context(), []store.Submission{submission(ids, "a")})
	wantText(t, err, "n.db.lock was replaced by another file", "while the server had it open")
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v: not an unknown outcome: the server would go on", err)
	}
	if err := first.Close(); err == nil {
		t.Error("the store closes as if all were well")
	}
	if found, _ := filepath.Glob(path + ".rescued-*"); len(found) > 0 {
		t.Errorf("%v: nothing needed to be rescued", found)
	}
	if _, err := Open(t.Context(), path, Config{}); err == nil || !strings.Contains(err.Error(), "is being served") {
		t.Errorf("a third one: %v", err)
	}
	saveJob(t, second, "b")
	check(t, second.Close())
	wantHeld(t, "afterwards", path, "")

	first = openAt(t, path)
	check(t, os.Remove(path+".lock"))
	second = openAt(t, path)
	_ = first.Close() // before it has noticed
	saveJob(t, second, "c")
	check(t, second.Close())
	wantHeld(t, "afterwards", path, "")
}

// A file that grows past what the system lets it is a full disk: SQLite calls it an I/O error.
func TestLimitOfFilesIsAFullDiskUntilItIsRaised(t *testing.T) {
	lines, _, _ := child(t, "limited", filepath.Join(t.TempDir(), "n.db"))
	var got []string
	for lines.Scan() {
		got = append(got, lines.Text())
	}
	if len(got) != 3 || got[0] != "full: the server may write no file larger than 600000 bytes (ulimit -f, LimitFSIZE= of systemd), and "+
		"the database has grown to that: raise the limit" || got[1] != "rows are as many as acknowledged: true" || got[2] != "after it was raised: <nil>" {
		t.Errorf("got %q", got)
	}
}

func TestFolderThatCanBeWrittenIsNotRefused(t *testing.T) {
	if why := refused(filepath.Join(t.TempDir(), "n.db")); why != "" {
		t.Errorf("a folder that can be written: refused as %q", why)
	}
}
