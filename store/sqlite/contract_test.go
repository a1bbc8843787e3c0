package sqlite_test

import (
	"context"
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
	return func(t testing.TB) store.Store {
		t.Helper()
		path, ok := files.Load(t)
		if !ok {
			path = filepath.Join(t.TempDir(), "n.db")
			files.Store(t, path)
		}
		return open(t, path.(string))
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
