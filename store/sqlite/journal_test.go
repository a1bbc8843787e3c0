package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// hotJournal leaves a file whose last transaction was cut off in rollback mode, as another program may write it, with
// the journal that takes it back.
func hotJournal(t *testing.T, path string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "n.db")
	copyFile(t, path, at)
	p := openFile(at, "mode=rw&_pragma=journal_mode(DELETE)&_pragma=cache_size(5)&_pragma=cache_spill(1)")
	defer p.Close()
	tx, err := p.BeginTx(t.Context(), nil)
	check(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, query := range []string{
		"CREATE TABLE big (x)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO big SELECT randomblob(3000) FROM n",
	} {
		_, err := tx.ExecContext(t.Context(), query)
		check(t, err)
	}
	copyFile(t, at, path)
	copyFile(t, at+"-journal", path+"-journal")
}

// A journal belongs to the file that it is beside: SQLite would write its pages over those of what is restored.
func TestRestoreTakesTheJournalAside(t *testing.T) {
	path, backup := servedFile(t), backupOf(t, servedFile(t))
	hotJournal(t, path)
	r, err := Restore(t.Context(), backup, path, testTime)
	check(t, err)
	if isThere(path+"-journal") || !isThere(r.Moved+"-journal") {
		t.Error("the journal is not beside the file that it belongs to")
	}
	v, err := Verify(t.Context(), path, true)
	check(t, err)
	if v.Problems != nil {
		t.Errorf("what is restored is damaged: %v", v.Problems)
	}
	wantHeld(t, "restored", path, "backup")
	info, err := os.Stat(path)
	check(t, err)
	old, err := os.Stat(backup)
	check(t, err)
	if info.Size() < old.Size() {
		t.Errorf("of %d bytes %d are left", old.Size(), info.Size())
	}
	v, err = Verify(t.Context(), path, true)
	check(t, err)
	if v.Problems != nil {
		t.Errorf("once it is served it is damaged: %v", v.Problems)
	}
}
