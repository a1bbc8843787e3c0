package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func TestPeekChangesNothingAndTellsTheNewestRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b #%20.db")
	st, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	at := jobs.TimeOf(time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC))
	if err := st.Note(t.Context(), store.By{Actor: "somebody", Now: at}, "drain", "server", "server"); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, path)
	got, err := Peek(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Peeked{Schema: Schema(), Newest: int64(at)}); got != want {
		t.Errorf("peeked %+v, want %+v", got, want)
	}
	if after := listing(t, path); after != before {
		t.Errorf("the folder was %s, is %s", before, after)
	}
}

func TestPeekRefusesWhatIsNoDatabaseOfOurs(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Peek(t.Context(), text); err == nil || err.Error() != notOurs {
		t.Errorf("of a text it says %v", err)
	}
	if got, err := Peek(t.Context(), filepath.Join(dir, "missing.db")); err != nil || got != (Peeked{}) {
		t.Errorf("of a missing file it says %+v, %v", got, err)
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Peek(t.Context(), empty); err != nil || got != (Peeked{}) {
		t.Errorf("of an empty file it says %+v, %v", got, err)
	}
}

func TestPeekTellsWhatAStartWouldDoWithTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n.db")
	st, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copy.db")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{copied, path + "-wal"} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Peek(t.Context(), copied); err != nil || got.Held != store.HeldElsewhere || got.Schema != Schema() {
		t.Errorf("of a copy it says %+v, %v", got, err)
	}
	if got, err := Peek(t.Context(), path); err != nil || !got.Log || got.Schema != 0 {
		t.Errorf("of a file with a log it says %+v, %v", got, err)
	}
	// Another file in its place, with the log of the one that was there.
	if err := os.Rename(copied, path); err != nil {
		t.Fatal(err)
	}
	if got, err := Peek(t.Context(), path); err == nil || !strings.Contains(err.Error(), "n.db-wal and") {
		t.Errorf("of a file with the log of another it says %+v, %v", got, err)
	}
}

// listing is what lies in the folder of a file, with sizes and times.
func listing(t *testing.T, path string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all += info.Name() + " " + info.Mode().String() + " " + info.ModTime().String() + "\n"
	}
	return all
}
