package sqlite

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"nightshift/jobs"
)

// openMade opens a file with other migrations than the product's, and closes it.
func openMade(t *testing.T, path string, cfg Config) error {
	t.Helper()
	d, err := openDB(context.Background(), path, cfg)
	if err != nil {
		return err
	}
	return d.Close()
}

func TestUpgradeKeepsTheFileAsItWasAndTellsWhatItDoes(t *testing.T) {
	m := makeUpgrade(t)
	path := m.start(t)
	var log bytes.Buffer
	check(t, openMade(t, path, Config{
		migrations: madeSchemas(3), Log: slog.New(slog.NewTextHandler(&log, nil)),
	}))
	for _, want := range []string{
		`msg="copying the file before its schema is changed" to=`, `before-schema-2.db`,
		`msg="file copied"`, `bytes=`, `took=`,
		`msg="changing the schema" from=1 to=2`, `msg="schema changed" from=1 to=2 took=`,
		`msg="schema changed" from=2 to=3 took=`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, &log)
		}
	}
	saved := filepath.Join(filepath.Dir(path), "backups", "before-schema-2.db")
	for name, mode := range map[string]os.FileMode{saved: 0o600, filepath.Dir(saved): 0o700} {
		info, err := os.Stat(name)
		check(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
	p := sqlOn(t, saved)
	if got := readText(t, p, "PRAGMA application_id"); got != "1314080834" {
		t.Errorf("the copy has the mark %s, want that of a backup", got)
	}
	check(t, p.Close())
	// The program from before goes on with it.
	check(t, openMade(t, saved, Config{migrations: madeSchemas(1)}))
	mustBeOneOf(t, saved, m.states[:1])
	m.mustHold(t, saved)

	log.Reset()
	check(t, openMade(t, path, Config{
		migrations: madeSchemas(3), Log: slog.New(slog.NewTextHandler(&log, nil)),
	}))
	if log.Len() > 0 {
		t.Errorf("a start that changes nothing says\n%s", &log)
	}
}

func TestUpgradeWithoutRoomForTheCopyIsRefused(t *testing.T) {
	m := makeUpgrade(t)
	path := m.start(t)
	cfg := Config{
		migrations: madeSchemas(3),
		freeOn:     func(string) (int64, bool) { return 100 << 10, true },
	}
	wantText(t, openMade(t, path, cfg), "from 1 to 3", "it needs 1MiB, and 0MiB are free there", "make room",
		"--upgrade-without-copy", "the file was not changed")
	mustBeOneOf(t, path, m.states[:1])
	m.mustHold(t, path)
	cfg.NoUpgradeCopy = true
	check(t, openMade(t, path, cfg))
	mustBeOneOf(t, path, m.states[2:])
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), copyName(2))); err == nil {
		t.Error("there is a copy")
	}
}

func TestUpgradeKeepsTheCopyOfAnotherDatabase(t *testing.T) {
	m := makeUpgrade(t)
	first, other := m.start(t), m.start(t)
	cfg := Config{migrations: madeSchemas(3)}
	check(t, openMade(t, first, cfg))
	second := filepath.Join(filepath.Dir(first), "second.db")
	check(t, os.Rename(other, second))
	kept := filepath.Join(filepath.Dir(first), copyName(2))
	before, err := os.ReadFile(kept)
	check(t, err)
	wantText(t, openMade(t, second, cfg), kept, "the copy of another database, "+first, "a folder of its own", "the file was not changed")
	mustBeOneOf(t, second, m.states[:1])
	after, err := os.ReadFile(kept)
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the copy of the first is another one now")
	}
	check(t, os.Rename(first, first+".away")) // nobody goes back to that copy any more
	check(t, openMade(t, second, cfg))
	mustBeOneOf(t, second, m.states[2:])
}

func TestMigrationsOfTheProductAreOneTransactionEach(t *testing.T) {
	up, err := newUpgrade(Config{})
	check(t, err)
	for i, s := range up.steps {
		if s.version != int64(i+1) {
			t.Errorf("%s: want version %d", s.name, i+1)
		}
		text, err := fs.ReadFile(up.files, s.name)
		check(t, err)
		for _, line := range strings.Split(string(text), "\n") {
			line, is := strings.CutPrefix(line, "-- +goose ")
			if is && !slices.Contains([]string{"Up", "StatementBegin", "StatementEnd"}, line) {
				t.Errorf("%s: says %q", s.name, line)
			}
		}
	}
}

func TestNewFileIsNotCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	var log bytes.Buffer
	check(t, openMade(t, path, Config{
		migrations: madeSchemas(3), Log: slog.New(slog.NewTextHandler(&log, nil)),
	}))
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 || log.Len() > 0 {
		t.Errorf("files %v, %v, and the log says %s", left, err, &log)
	}
}

func TestNewestTwoCopiesAreKept(t *testing.T) {
	m := makeUpgrade(t)
	path := m.start(t)
	backups := filepath.Join(filepath.Dir(path), "backups")
	check(t, os.Mkdir(backups, 0o700))
	others := []string{"latest.db", "before-schema-1.db.old", "before-schema-x.db", "before-schema-02.db"}
	for _, name := range append([]string{"before-schema-1.db", "before-schema-0.db"}, others...) {
		check(t, os.WriteFile(filepath.Join(backups, name), []byte(name), 0o600))
	}
	for newest := 2; newest <= 3; newest++ {
		check(t, openMade(t, path, Config{migrations: madeSchemas(newest)}))
	}
	entries, err := os.ReadDir(backups)
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := append([]string{"before-schema-2.db", "before-schema-3.db"}, others...)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("kept %v, want %v", names, want)
	}
}

func TestMigrationThatFailsLeavesTheSchemaBeforeIt(t *testing.T) {
	m := makeUpgrade(t)
	cases := map[string]struct {
		text string
		want []string
	}{
		"statement": {
			"CREATE TABLE a (b INTEGER);\nINSERT INTO a SELECT id FROM jobs;\nDELETE FROM refs;\nINSERT INTO nowhere VALUES (1);",
			[]string{"no such table: nowhere"},
		},
		"data": {
			"CREATE UNIQUE INDEX twice ON jobs (queue);", []string{"UNIQUE constraint failed: jobs.queue"},
		},
		"room": {
			"PRAGMA max_page_count=300;\nCREATE TABLE a (b TEXT);\n" +
				"INSERT INTO a SELECT printf('%.*c', 100000, 'x') FROM jobs, (SELECT 1 UNION ALL SELECT 2);",
			[]string{"(0002_bad.sql): there was no room for what it writes, here or in the folder for temporary files", "make room, then start again"},
		},
		"reference": {
			"DELETE FROM jobs WHERE name = 'job-7';", []string{"a row of ", "would refer to a row of jobs that is not there"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := m.start(t)
			bad := madeSchemas(1)
			bad["0002_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + c.text + "\n")}
			for range 2 {
				err := openMade(t, path, Config{migrations: bad})
				wantText(t, err, append(c.want, "change the schema from 1 to 2 (0002_bad.sql)",
					"the file is at schema 1 as before", path)...)
				mustBeOneOf(t, path, m.states[:1])
				m.mustHold(t, path)
			}
			check(t, openMade(t, path, Config{migrations: madeSchemas(1)}))
		})
	}
	t.Run("the second of two", func(t *testing.T) {
		path := m.start(t)
		bad := madeSchemas(2)
		bad["0003_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nDROP TABLE notes;\nDROP TABLE nowhere;\n")}
		err := openMade(t, path, Config{migrations: bad})
		wantText(t, err, "no such table: nowhere", "the file is at schema 2", "at schema 1, it is in backups/before-schema-2.db")
		mustBeOneOf(t, path, m.states[1:2])
		m.mustHold(t, path)
		check(t, openMade(t, path, Config{migrations: madeSchemas(3)}))
		mustBeOneOf(t, path, m.states[2:])
	})
}

// The program that a file is too new for leaves it as it is, and what a crash has left beside it too.
func TestFileThatIsTooNewIsLeftAlone(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		m := makeUpgrade(t)
		path := m.start(t)
		check(t, openMade(t, path, Config{migrations: madeSchemas(3)}))
		p := sqlOn(t, path, "PRAGMA wal_autocheckpoint=0", "PRAGMA user_version=7")
		if crashed {
			other := filepath.Join(t.TempDir(), "n.db")
			for _, name := range []string{"", "-wal", "-shm"} {
				copyFile(t, path+name, other+name)
			}
			path = other
		} else {
			check(t, p.Close())
			p = nil
		}
		before := filesOf(t, path)
		if (len(before["n.db-wal"]) > 0) != crashed {
			t.Fatalf("files %v", before)
		}
		err := openMade(t, path, Config{migrations: madeSchemas(1)})
		wantText(t, err, "written by a newer Nightshift (schema 3, this one knows 1)", path)
		if kept := filepath.Join(filepath.Dir(path), "backups", "before-schema-2.db"); !crashed {
			wantText(t, err, "as it was before the newer one, it is in "+kept)
		}
		after := filesOf(t, path)
		delete(before, "n.db-shm") // what SQLite keeps of the log in memory
		delete(after, "n.db-shm")
		for name, text := range before {
			if !bytes.Equal(text, after[name]) {
				t.Errorf("crashed %v: %s was changed", crashed, name)
			}
		}
		if len(before) != len(after) {
			t.Errorf("crashed %v: files %d, want %d", crashed, len(after), len(before))
		}
		if p != nil {
			check(t, p.Close())
		}
		check(t, openMade(t, path, Config{migrations: madeSchemas(3)}))
		p = sqlOn(t, path)
		if got := readText(t, p, "PRAGMA user_version"); got != "7" {
			t.Errorf("crashed %v: what was only in the log is gone", crashed)
		}
		check(t, p.Close())
	}
}

// filesOf are the file and what is beside it.
func filesOf(t *testing.T, path string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		files[e.Name()], err = os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		check(t, err)
	}
	return files
}

// Other programs keep their versions in a table of goose's too.
func TestAnotherProgramsMigrationsAreNoneOfOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	check(t, sqlOn(t, path, "CREATE TABLE goose_db_version (version_id INTEGER, is_applied INTEGER)",
		"INSERT INTO goose_db_version VALUES (0, 1), (1, 1)", "CREATE TABLE jobs (id INTEGER)").Close())
	before := filesOf(t, path)
	_, err := Open(context.Background(), path, Config{})
	wantText(t, err, "not a Nightshift database", path)
	if after := filesOf(t, path); len(after) != 1 || !bytes.Equal(after["n.db"], before["n.db"]) {
		t.Error("the file was changed")
	}
}

// A crash, then a program whose migration fails, then the one from before: it goes on, with all there was.
func TestUpgradeThatFailsAfterACrashHoldsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	lines, _, cmd := child(t, "enqueue", path)
	if !lines.Scan() {
		t.Fatal("no run was acknowledged")
	}
	id, err := jobs.ParseID(lines.Text())
	check(t, err)
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	up, err := newUpgrade(Config{})
	check(t, err)
	bad := firstOf(t, up, len(up.steps))
	bad["9999_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nDROP TABLE nowhere;\n")}
	_, err = Open(t.Context(), path, Config{migrations: bad, Now: testTime})
	wantText(t, err, "no such table: nowhere")
	s := openAt(t, path)
	held, err := s.Restored(t.Context())
	check(t, err)
	if held != nil {
		t.Errorf("the file is held: %+v", held)
	}
	_, err = s.Run(t.Context(), id)
	check(t, err)
}
