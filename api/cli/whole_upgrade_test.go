package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// filesIn reads all files of a folder that has no folders.
func filesIn(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestFileOfANewerNightshiftIsRefusedAndLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	p.put("a", doc{"script": doc{"source": "true"}})
	id := p.enqueue("a", nil)
	p.end(id)
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
	sqlite(t, filepath.Join(dir, "nightshift.db"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	before := filesIn(t, dir)
	for range 2 {
		run(t, dir, "", nil, "serve", "--listen", "127.0.0.1:0").want(1).
			has("was written by a newer Nightshift (schema 9999, this one knows ", "start that one, or restore a backup")
	}
	after := filesIn(t, dir)
	for name, text := range before {
		if !bytes.Equal(text, after[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files are beside it, there were %d", len(after), len(before))
	}
	sqlite(t, filepath.Join(dir, "nightshift.db"), "DELETE FROM goose_db_version WHERE version_id = 9999")
	if p = start(t, dir); p.run(id).State != "succeeded" {
		t.Error("the run is gone")
	}
}
