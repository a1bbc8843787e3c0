package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nightshift/store"
	"nightshift/store/sqldb"
)

func TestSecondOpenIsRefusedByWhicheverWay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n.db")
	openAt(t, path)
	check(t, os.Symlink(path, filepath.Join(dir, "link.db")))
	check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	check(t, os.Symlink(dir, filepath.Join(dir, "sub", "dir")))
	t.Chdir(dir)
	for _, way := range []string{path, "n.db", "./sub/../n.db", "link.db", "sub/dir/n.db"} {
		_, err := Open(context.Background(), way, Config{})
		wantText(t, err, "served by another process", fmt.Sprint("pid ", os.Getpid()))
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	lines, _, _ := child(t, "serve", path)
	if lines.Scan(); lines.Text() == "serving" {
		t.Fatal("a second process serves the file")
	}
	wantText(t, fmt.Errorf("%s", lines.Text()), "refused", "served by another process",
		fmt.Sprint("pid ", os.Getpid()))

	check(t, s.Close())
	lines, stdin, cmd := child(t, "serve", path)
	if lines.Scan(); lines.Text() != "serving" {
		t.Fatal(lines.Text())
	}
	_, err := Open(context.Background(), path, Config{})
	wantText(t, err, "served by another process", fmt.Sprint("pid ", cmd.Process.Pid))
	check(t, stdin.Close())
	if lines.Scan(); lines.Text() != "closed: <nil>" {
		t.Fatal(lines.Text())
	}
	openAt(t, path)
}

func TestLinksToNoPlaceAndHardLinksAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n.db")
	check(t, openAt(t, path).Close())
	check(t, os.Link(path, filepath.Join(dir, "other.db")))
	for _, name := range []string{"n.db", "other.db"} {
		_, err := Open(context.Background(), filepath.Join(dir, name), Config{})
		wantText(t, err, "2 hard links")
	}
	check(t, os.Remove(filepath.Join(dir, "other.db")))
	check(t, openAt(t, path).Close())

	check(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "broken.db")))
	_, err := Open(context.Background(), filepath.Join(dir, "broken.db"), Config{})
	wantText(t, err, "symbolic link to nothing")
	_, err = Open(context.Background(), filepath.Join(dir, "no", "such", "n.db"), Config{})
	wantText(t, err, "does not exist: make it first")
	_, err = Open(context.Background(), dir, Config{})
	wantText(t, err, "is not a file")
}

func TestLockFileThatIsALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	check(t, os.WriteFile(precious, []byte("keep"), 0o600))
	check(t, os.Symlink(precious, filepath.Join(dir, "n.db.lock")))
	_, err := Open(context.Background(), filepath.Join(dir, "n.db"), Config{})
	wantText(t, err, "lock file")
	if text, err := os.ReadFile(precious); err != nil || string(text) != "keep" {
		t.Fatalf("the file behind the link holds %q, %v", text, err)
	}
}

func TestLockFileOfADeadProcessIsNoHindrance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	check(t, os.WriteFile(path+".lock", []byte("999999999"), 0o600))
	check(t, openAt(t, path).Close())
}

func TestFileThatIsNoneOfOursIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	check(t, os.WriteFile(text, slices.Repeat([]byte("no database. "), 1000), 0o600))
	foreign := filepath.Join(dir, "foreign.db")
	p := sqlOn(t, foreign, "PRAGMA auto_vacuum=INCREMENTAL", "CREATE TABLE bookmarks (url TEXT)")
	check(t, p.Close())
	for _, path := range []string{text, foreign} {
		before, err := os.ReadFile(path)
		check(t, err)
		_, err = Open(context.Background(), path, Config{})
		wantText(t, err, "not a Nightshift database", path)
		after, err := os.ReadFile(path)
		check(t, err)
		if !slices.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
			t.Errorf("files left behind: %v", left)
		}
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	check(t, openAt(t, path).Close())
	p := sqlOn(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	check(t, p.Close())
	_, err := Open(context.Background(), path, Config{})
	wantText(t, err, "newer Nightshift", "schema 9999")
	check(t, sqlOn(t, path, "DELETE FROM goose_db_version WHERE version_id = 9999").Close())
	check(t, openAt(t, path).Close())
}

func TestPragmasHoldOnEveryConnection(t *testing.T) {
	d, err := openDB(context.Background(), filepath.Join(t.TempDir(), "n.db"), Config{Readers: 2})
	check(t, err)
	defer d.Close()
	common := map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000", "auto_vacuum": "2",
	}
	ask := func(where, name, want string) func(sqldb.Tx) error {
		return func(tx sqldb.Tx) error {
			return tx.Query("PRAGMA "+name, func(r sqldb.Row) error {
				if got := fmt.Sprint(r[0]); got != want {
					t.Errorf("%s of a %s is %s, want %s", name, where, got, want)
				}
				return nil
			})
		}
	}
	for name, want := range common {
		check(t, d.Write(t.Context(), ask("writer", name, want)))
		for range 2 {
			check(t, d.Read(t.Context(), ask("reader", name, want)))
		}
	}
	check(t, d.Write(t.Context(), ask("writer", "wal_autocheckpoint", "0")))
	check(t, d.Read(t.Context(), ask("reader", "query_only", "1")))
	err = d.Read(t.Context(), func(tx sqldb.Tx) error {
		_, err := tx.Exec("INSERT INTO meta (name, value) VALUES ('a', 'b')")
		return err
	})
	wantText(t, err, "readonly")
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	check(t, s.Probe(t.Context(), testTime))
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		info, err := os.Stat(name)
		check(t, err)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, mode)
		}
	}
}

func TestCloseLeavesOneCompleteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n.db")
	s := openAt(t, path)
	_, err := s.Save(t.Context(), store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}},
		store.By{Actor: "test", Now: testTime})
	check(t, err)
	check(t, s.Close())
	check(t, s.Close())
	left, err := os.ReadDir(dir)
	check(t, err)
	// The note stays, with what the next start looks for.
	if len(left) != 2 || left[0].Name() != "n.db" || left[1].Name() != "n.db.served" {
		t.Fatalf("files left: %v", left)
	}
	p := sqlOn(t, path)
	if got := readText(t, p, "PRAGMA integrity_check") + " " + readText(t, p, "SELECT name FROM jobs WHERE name <> '_group'"); got != "ok a" {
		t.Fatal(got)
	}
}

func TestFailedOpenLeavesTheFileFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, Config{}); err == nil {
		t.Fatal("opened with a context that has ended")
	}
	check(t, openAt(t, path).Close())
}

func TestApplyOfWhatStandsWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	t.Cleanup(func() { check(t, s.Close()) })
	c := store.Changes{Set: "team", Prune: true, Jobs: []store.PutJob{{Job: plainJob("a")}}}
	size := func() int64 {
		t.Helper()
		wal, err := os.Stat(path + "-wal")
		check(t, err)
		return wal.Size()
	}
	save := func() {
		t.Helper()
		_, err := s.Save(t.Context(), c, store.By{Actor: "test", Now: testTime})
		check(t, err)
	}
	save()
	before := size()
	save()
	if c.DryRun, c.Jobs = true, append(c.Jobs, store.PutJob{Job: plainJob("b")}); size() != before {
		t.Errorf("the log grew from %d to %d bytes", before, size())
	}
	save()
	if size() != before {
		t.Errorf("a dry run made the log grow from %d to %d bytes", before, size())
	}
	c.DryRun = false
	if save(); size() == before {
		t.Error("the log does not tell of writes")
	}
}

func TestSQLiteThatCanLoseCommitsIsRefused(t *testing.T) {
	for version, good := range map[string]bool{
		"3.44.0": false, "3.51.2": false, "3.51.3": true, "3.54.1": true, "4.0.0": true, "new": false, "": false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
	if err := checkVersion(Version()); err != nil {
		t.Error(err)
	}
}
