package sqlite

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// madeSchemas are schema 1 of the product and, up to newest, the made ones of testdata/upgrades: made
// so that all that a migration may do is in them.
func madeSchemas(newest int) fstest.MapFS {
	first, err := fs.ReadFile(migrations, "migrations/0001_spine.sql")
	if err != nil {
		panic(err)
	}
	made := fstest.MapFS{"0001_spine.sql": &fstest.MapFile{Data: first}}
	names := []string{"0002_columns.sql", "0003_rebuild.sql"}
	for _, name := range names[:newest-1] {
		text, err := os.ReadFile(filepath.Join("testdata", "upgrades", name))
		if err != nil {
			panic(err)
		}
		made[name] = &fstest.MapFile{Data: text}
	}
	return made
}

// firstOf are the first n migrations.
func firstOf(t *testing.T, up *upgrade, n int) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, s := range up.steps[:n] {
		text, err := fs.ReadFile(up.files, s.name)
		check(t, err)
		files[s.name] = &fstest.MapFile{Data: text}
	}
	return files
}

// someRows fill a file of schema 1: jobs that others refer to, and payloads of some size.
const someRows = `
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO jobs (name, revision, version, doc, queue, created_at, updated_at)
SELECT 'job-' || i, i, 1, '{"name":"job-' || i || '"}', 'default', 1000 + i, 2000 + i FROM n;
INSERT INTO versions (job, version, spec, created_at) SELECT id, 1, doc, created_at FROM jobs WHERE name <> '_group';
INSERT INTO refs (job, kind, name) SELECT id, 'job', 'job-1' FROM jobs WHERE name <> '_group';
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO payloads (run, body) SELECT i, '"' || printf('%.*c', i * 10, 'x') || '"' FROM n;`

// factsOf is what all made schemas must have kept of someRows.
const factsOf = `
SELECT group_concat(x, char(10)) FROM (
	SELECT id || ' ' || name || ' ' || revision || ' ' || doc || ' ' || updated_at AS x FROM jobs
	UNION ALL SELECT job || ' ' || version || ' ' || spec FROM versions
	UNION ALL SELECT job || ' ' || kind || ' ' || name FROM refs
	UNION ALL SELECT run || ' ' || body FROM payloads
	ORDER BY x)`

// madeUpgrade is a file of schema 1 that is brought to the newest of the made schemas, and all that it
// may be on the way.
type madeUpgrade struct {
	newest int
	file   []byte
	served servedNote // beside it
	states []string   // the schemas, from 1 on
	facts  string
}

func makeUpgrade(t *testing.T) *madeUpgrade {
	t.Helper()
	m := &madeUpgrade{newest: 3}
	path := filepath.Join(t.TempDir(), "n.db")
	for newest := 1; newest <= m.newest; newest++ {
		goesOn(t, path, Config{migrations: madeSchemas(newest)})
		if newest == 1 {
			check(t, sqlOn(t, path, someRows).Close())
			var err error
			m.file, err = os.ReadFile(path)
			check(t, err)
			note, err := readNote(path)
			check(t, err)
			m.served = *note
			p := sqlOn(t, path)
			m.facts = readText(t, p, factsOf)
			check(t, p.Close())
		}
		m.states = append(m.states, schemaOf(t, path))
	}
	if len(slices.Compact(slices.Clone(m.states))) != m.newest {
		t.Fatal("made schemas are alike")
	}
	return m
}

// start gives a file as it is before the upgrade, where it was served.
func (m *madeUpgrade) start(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "n.db")
	check(t, os.WriteFile(path, m.file, 0o600))
	info, err := os.Stat(path)
	check(t, err)
	note := m.served
	note.Path, note.Inode = path, inodeOf(info)
	check(t, note.write(path))
	return path
}

// check looks at what a kill has left, and whether the next start goes on from there.
func (m *madeUpgrade) check(t *testing.T, path string) (left string) {
	t.Helper()
	copied := asLeft(t, path)
	left = mustBeOneOf(t, copied, m.states)
	m.mustHold(t, copied)
	saved := filepath.Join(filepath.Dir(path), "backups", "before-schema-2.db")
	if _, err := os.Stat(saved); err == nil {
		mustBeOneOf(t, saved, m.states[:1])
		m.mustHold(t, saved)
	} else if left != "schema 1" {
		t.Fatalf("%s without a copy from before: %v", left, err)
	}
	goesOn(t, path, Config{migrations: madeSchemas(m.newest)})
	mustBeOneOf(t, path, m.states[m.newest-1:])
	m.mustHold(t, path)
	if parts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "backups", ".*")); parts != nil {
		t.Fatalf("left behind: %v", parts)
	}
	return left
}

// asLeft copies a file and its log: who looks at them takes the log back, which the next start would miss.
func asLeft(t *testing.T, path string) (copied string) {
	t.Helper()
	copied = filepath.Join(t.TempDir(), "n.db")
	copyFile(t, path, copied)
	if isThere(path + "-wal") {
		copyFile(t, path+"-wal", copied+"-wal")
	}
	return copied
}

// goesOn opens a file that a start before was cut off at, and wants it served as if that had not been.
func goesOn(t *testing.T, path string, cfg Config) {
	t.Helper()
	cfg.Now = testTime
	s, err := Open(context.Background(), path, cfg)
	check(t, err)
	held, err := s.Restored(context.Background())
	check(t, err)
	check(t, s.Close())
	if held != nil {
		t.Fatalf("the file is held: %+v", held)
	}
}

func (m *madeUpgrade) mustHold(t *testing.T, path string) {
	t.Helper()
	p := sqlOn(t, path)
	defer p.Close()
	if facts := readText(t, p, factsOf); facts != m.facts {
		t.Fatalf("%s has changed: it holds\n%.500s\nwant\n%.500s", path, facts, m.facts)
	}
}

// mustBeOneOf demands a file that is whole and has one of these schemas, and gives that schema's name.
func mustBeOneOf(t *testing.T, path string, states []string) string {
	t.Helper()
	got := schemaOf(t, path)
	if !slices.Contains(states, got) {
		t.Fatalf("the schema is none of those that are wanted:\n%s", got)
	}
	name, _, _ := strings.Cut(got, "\n")
	return name
}

// schemaOf is the version of a file, and all that sqlite_master says. The file must be whole.
func schemaOf(t *testing.T, path string) string {
	t.Helper()
	p := sqlOn(t, path)
	defer p.Close()
	if got := readText(t, p, "PRAGMA integrity_check"); got != "ok" {
		t.Fatalf("%s: %s", path, got)
	}
	if got := readText(t, p, "SELECT count(*) FROM pragma_foreign_key_check"); got != "0" {
		t.Fatalf("%s: %s rows refer to none", path, got)
	}
	version := "0"
	if readText(t, p, "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'") == "1" {
		version = readText(t, p, "SELECT max(version_id) FROM goose_db_version")
	}
	objects := readText(t, p, `SELECT coalesce(group_concat(x, char(10)), '') FROM (
		SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS x FROM sqlite_master ORDER BY x)`)
	return strings.TrimSuffix("schema "+version+"\n"+objects, "\n")
}
