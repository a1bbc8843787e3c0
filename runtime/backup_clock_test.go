package runtime_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/runtime"
)

// A clock that was ahead when copies were made, and was set right since, costs no copies.
func TestDatedCopiesOfTheFutureDriveNoneOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		dir := s.backedUp(func(c *runtime.BackupConfig) { c.Keep = 4 })
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, at := range []time.Duration{-49 * time.Hour, -25 * time.Hour, 1000 * time.Hour, 1024 * time.Hour} {
			if err := os.WriteFile(filepath.Join(dir, runtime.BackupName(now.Add(at))), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.put(webhookJob)
		s.rt.Start()
		name := func(at time.Duration) string { return runtime.BackupName(now.Add(at)) }
		want := func(names ...string) {
			t.Helper()
			got := dated(t, dir)
			for i := range got {
				if len(got) != len(names) || got[i] != names[i] {
					t.Fatalf("there are %v, want %v", got, names)
				}
			}
		}
		until(time.Hour)
		want(name(-49*time.Hour), name(-25*time.Hour), name(0), name(1024*time.Hour))
		until(3*24*time.Hour + time.Hour)
		got := dated(t, dir)
		if len(got) != 4 || got[0] != name(0) {
			t.Errorf("after three days there are %v", got)
		}
		s.stop()
	})
}
