package sqlite

import (
	"path/filepath"
	"testing"

	"nightshift/store"
	"nightshift/store/storetest"
)

// What is kept is counted as it comes and goes, and in a file of before once: after whatever happens that is what the
// rows say, as is all else that has to hold in a file.
func TestWhatIsKeptIsCountedRightWhateverHappens(t *testing.T) {
	sound := func(t *testing.T, path string) {
		t.Helper()
		v, err := Verify(t.Context(), path, false)
		check(t, err)
		if v.Skipped != "" {
			t.Errorf("it was not looked at: %s", v.Skipped)
		}
		for _, p := range v.Problems {
			t.Errorf("%s: %d, %q", p.What, p.Count, p.Samples)
		}
	}
	for name, walk := range map[string]func(*testing.T, func(testing.TB) store.Store){
		"runs":   func(t *testing.T, open func(testing.TB) store.Store) { storetest.Walk(t, open, 1500) },
		"groups": func(t *testing.T, open func(testing.TB) store.Store) { storetest.WalkGroups(t, open, 400) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.db")
			walk(t, func(t testing.TB) store.Store { return openAt(t, path) })
			sound(t, path)
		})
	}
	t.Run("of before", func(t *testing.T) {
		path := unpackFixture(t, 1)
		check(t, openAt(t, path).Close())
		sound(t, path)
	})
}
