package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"nightshift/store"
	"nightshift/store/sqlite"
	"nightshift/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, opener())
}

// opener opens one file for each t.
func opener() func(testing.TB) store.Store {
	var files sync.Map
	// Each begins with a copy of one empty file: to make the tables takes longer than most tests.
	empty := sync.OnceValue(func() []byte {
		dir, err := os.MkdirTemp("", "nightshift-empty-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "n.db")
		s, err := sqlite.Open(context.Background(), path, sqlite.Config{})
		if err != nil {
			panic(err)
		}
		if err := s.Close(); err != nil {
			panic(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		return text
	})
	return func(t testing.TB) store.Store {
		t.Helper()
		path, ok := files.Load(t)
		if !ok {
			path = filepath.Join(inMemory(t), "n.db")
			if err := os.WriteFile(path.(string), empty(), 0o600); err != nil {
				t.Fatal(err)
			}
			files.Store(t, path)
			t.Cleanup(func() { verified(t, path.(string)) })
		}
		return open(t, path.(string))
	}
}

// verified demands that a file is sound, whatever a test did to its store.
func verified(t testing.TB, path string) {
	t.Helper()
	v, err := sqlite.Verify(context.Background(), path, false)
	if err != nil || v.Problems != nil || v.Skipped != "" {
		t.Errorf("verify: %v, skipped %q, problems %v", err, v.Skipped, v.Problems)
	}
}

func open(t testing.TB, path string) store.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inMemory is a folder in memory where the machine has that: what a test does here does not hang on the disk.
func inMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nightshift-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
