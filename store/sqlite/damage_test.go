//go:build linux

package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
	"nightshift/store"
)

// A server that meets damage ends, and is started again: were the file not refused then, it would begin work each
// time, to end by the same damage.
func TestDamageThatEndedTheServerKeepsItFromStartingAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	ctx := context.Background()
	s := openAt(t, path)
	_, err := s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("a")}}}, store.By{Actor: "test", Now: testTime})
	check(t, err)
	check(t, s.Close())
	sound, err := os.ReadFile(path)
	check(t, err)

	p := sqlOn(t, path)
	root := readText(t, p, "SELECT rootpage FROM sqlite_master WHERE name = 'runs'")
	check(t, p.Close())
	page := 0
	for _, c := range root {
		page = page*10 + int(c-'0')
	}
	broken := append([]byte(nil), sound...)
	broken[(page-1)*4096] = 0xff // the sort of the page
	check(t, os.WriteFile(path, broken, 0o600))

	s = openAt(t, path)
	ids := jobs.NewIDs(0, func() uint64 { return 1 })
	_, err = s.Enqueue(ctx, []store.Submission{submission(ids, "a")})
	wantText(t, err, "the database file is damaged", "nightshift restore backups/latest.db")
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v: the server would go on", err)
	}
	_ = s.Close()
	_, err = Open(ctx, path, Config{})
	wantText(t, err, "the database file is damaged", "nightshift restore backups/latest.db")

	// What is put in its place is looked at, and served.
	check(t, os.WriteFile(path, sound, 0o600))
	check(t, openAt(t, path).Close())
	if _, err := os.Stat(markPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark stays: %v", err)
	}
	check(t, os.WriteFile(markPath(path), []byte("x"), 0o600))
	_, err = Restore(ctx, backupOf(t, servedFile(t)), path, testTime)
	check(t, err)
	if _, err := os.Stat(markPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is of the file that was moved aside: %v", err)
	}
}

func TestFileThatIsMountedByItselfIsRefused(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "n.db"), filepath.Join(dir, "other.db")
	check(t, openAt(t, path).Close())
	check(t, os.WriteFile(other, nil, 0o600))
	if err := unix.Mount(path, other, "", unix.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(other, unix.MNT_DETACH) })
	_, err := Open(context.Background(), other, Config{})
	wantText(t, err, "mounted as a single file", "mount its folder instead")
	check(t, openAt(t, path).Close())
}
