package rig

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

func TestIDOfPutsTheHalvesTogether(t *testing.T) {
	cases := []struct{ row, want string }{
		{"0|0", "00000000-0000-7000-0000-000000000000"},
		{"7087771754941726|-8142506875285960277", "0192e4a7-5b3c-7d1e-8f00-0123456789ab"},
		{"1152921504606846975|-1", "ffffffff-ffff-7fff-ffff-ffffffffffff"},
	}
	for _, c := range cases {
		if got, err := RunID(c.row); err != nil || got != c.want {
			t.Errorf("RunID(%q) = %s, %v; want %s", c.row, got, err, c.want)
		}
	}
	for _, row := range []string{"", "1", "1|x", "x|1"} {
		if got, err := RunID(row); err == nil {
			t.Errorf("RunID(%q) = %s, want an error", row, got)
		}
	}
}

func TestInspectReadsRunsAndRefusesDamage(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("needs the sqlite3 tool")
	}
	file := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"CREATE TABLE runs (seq INTEGER PRIMARY KEY, tail INTEGER NOT NULL, job TEXT)",
		"CREATE INDEX runs_job ON runs (job)",
		"INSERT INTO runs VALUES (7087771754941726, -8142506875285960277, 'a')",
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ids, err := Inspect(context.Background(), file)
	if err != nil || len(ids) != 1 || !ids["0192e4a7-5b3c-7d1e-8f00-0123456789ab"] {
		t.Errorf("Inspect = %v, %v", ids, err)
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = text[:len(text)-4096] // the last page is the index
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, err = Inspect(context.Background(), file); err == nil {
		t.Errorf("a file without its last page is taken as sound: %v", ids)
	}
	_, err = Inspect(context.Background(), filepath.Join(t.TempDir(), "none.db"))
	if err == nil || !strings.Contains(err.Error(), "no such table: runs") {
		t.Errorf("an empty file: %v; want that the table is missing", err)
	}
}
