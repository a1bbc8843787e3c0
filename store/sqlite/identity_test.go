package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/store"
)

// servedFile makes a file with history and stops its server. It gives the path.
func servedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	saveJob(t, s, "a")
	check(t, s.Close())
	return path
}

func saveJob(t *testing.T, s store.Store, name string) {
	t.Helper()
	_, err := s.Save(t.Context(), store.Changes{Jobs: []store.PutJob{{Job: plainJob(name)}}},
		store.By{Actor: "test", Now: testTime})
	check(t, err)
}

// whyHeld opens a file and tells what holds it; "": nothing.
func whyHeld(t *testing.T, path string) store.HeldWhy {
	t.Helper()
	s := openAt(t, path)
	defer func() { check(t, s.Close()) }()
	h, err := s.Restored(t.Context())
	check(t, err)
	if h == nil {
		return ""
	}
	return h.Why
}

func wantHeld(t *testing.T, what, path string, want store.HeldWhy) {
	t.Helper()
	if got := whyHeld(t, path); got != want {
		t.Errorf("%s: held %q, want %q", what, got, want)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	check(t, err)
	check(t, os.WriteFile(to, text, 0o600))
}

func TestFileIsHeldWhereItWasNotServedLast(t *testing.T) {
	path := servedFile(t)
	dir := filepath.Dir(path)
	wantHeld(t, "started again", path, "")

	elsewhere := filepath.Join(t.TempDir(), "m.db")
	copyFile(t, path, elsewhere)
	wantHeld(t, "copied elsewhere", elsewhere, store.HeldElsewhere)
	wantHeld(t, "still, after a restart", elsewhere, store.HeldElsewhere)
	wantHeld(t, "the original", path, "")

	older := filepath.Join(dir, "older")
	copyFile(t, path, older)
	wantHeld(t, "again", path, "")
	copyFile(t, older, path)
	wantHeld(t, "an older copy in its place", path, store.HeldElsewhere)

	moved := filepath.Join(t.TempDir(), "whole")
	check(t, os.Mkdir(moved, 0o700))
	path = servedFile(t)
	check(t, os.Rename(path, filepath.Join(moved, "n.db")))
	check(t, os.Rename(path+".served", filepath.Join(moved, "n.db.served")))
	wantHeld(t, "moved with its note", filepath.Join(moved, "n.db"), store.HeldElsewhere)

	path = servedFile(t)
	check(t, os.Remove(path+".served"))
	wantHeld(t, "without its note", path, store.HeldElsewhere)
	path = servedFile(t)
	check(t, os.WriteFile(path+".served", []byte("{"), 0o600))
	wantHeld(t, "with a note that nobody can read", path, store.HeldElsewhere)

	empty := filepath.Join(t.TempDir(), "e.db")
	check(t, openAt(t, empty).Close())
	copyFile(t, empty, empty+"2")
	wantHeld(t, "a file without history", empty+"2", "")
}

func TestHeldFileIsLetGoOnce(t *testing.T) {
	path := servedFile(t)
	check(t, os.Remove(path+".served"))
	s := openAt(t, path)
	check(t, s.LetGo(t.Context(), store.By{Actor: "test", Now: testTime}))
	check(t, s.LetGo(t.Context(), store.By{Actor: "test", Now: testTime}))
	h, err := s.Restored(t.Context())
	check(t, err)
	entries, _, err := s.Audit(t.Context(), store.AuditFilter{}, store.Page{Limit: 10})
	check(t, err)
	if h != nil || len(entries) != 2 || entries[0].Action != "let-go" {
		t.Errorf("held %v, audit %v", h, entries)
	}
	check(t, s.Close())
	wantHeld(t, "afterwards", path, "")
}

// killed is a file whose server died: with its log, its lock and its note.
func killed(t *testing.T) string { return killedAfter(t, func(store.Store) {}) }

// killedAfter has something more in its log.
func killedAfter(t *testing.T, more func(store.Store)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n.db")
	at := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	saveJob(t, s, "a")
	check(t, s.Close())
	s = openAt(t, path)
	saveJob(t, s, "b")
	more(s)
	// As a power cut leaves it: the files as they are on disk now, under one name.
	for _, suffix := range []string{"", "-wal", ".served"} {
		copyFile(t, path+suffix, at+suffix)
	}
	check(t, s.Close())
	note, err := os.ReadFile(at + ".served")
	check(t, err)
	check(t, os.WriteFile(at+".served", noteFor(t, note, path, at), 0o600))
	return at
}

// noteFor is a note for a file under another name.
func noteFor(t *testing.T, note []byte, from, to string) []byte {
	t.Helper()
	text := strings.Replace(string(note), from, to, 1)
	return []byte(strings.Replace(text, inodeText(t, from), inodeText(t, to), 1))
}

func TestFileOfAServerThatDiedGoesOn(t *testing.T) {
	path := killed(t)
	wantHeld(t, "after a kill", path, "")
	s := openAt(t, path)
	defer s.Close()
	if _, err := s.Job(t.Context(), "b"); err != nil {
		t.Errorf("what was in the log: %v", err)
	}
}

func TestLogThatIsGoneHoldsTheFile(t *testing.T) {
	path := killed(t)
	check(t, os.Remove(path+"-wal"))
	wantHeld(t, "killed, and its log removed", path, store.HeldNoLog)
}

// In its first life all that a server knows may be in the log: without it the file looks like a new one.
func TestLogThatIsGoneHoldsAFileWithNothingElseToo(t *testing.T) {
	path, at := filepath.Join(t.TempDir(), "n.db"), filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	saveJob(t, s, "a")
	copyFile(t, path, at)
	note, err := os.ReadFile(path + ".served")
	check(t, err)
	check(t, s.Close())
	check(t, os.WriteFile(at+".served", noteFor(t, note, path, at), 0o600))
	wantHeld(t, "killed in its first life, and its log removed", at, store.HeldNoLog)
}

func TestLogOfAnotherFileIsRefused(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, path string){
		"a backup in its place": func(t *testing.T, path string) {
			other := openAt(t, servedFile(t))
			defer other.Close()
			_, err := other.Backup(t.Context(), filepath.Join(t.TempDir(), "b.db"), testTime)
			check(t, err)
			c, err := other.Backup(t.Context(), path, testTime)
			check(t, err)
			if c.Path != path {
				t.Errorf("path %s", c.Path)
			}
		},
		"a backup written over it":  func(t *testing.T, path string) { copyFile(t, backupOf(t, servedFile(t)), path) },
		"another file in its place": func(t *testing.T, path string) { check(t, os.Rename(servedFile(t), path)) },
		"another file, without note": func(t *testing.T, path string) {
			copyFile(t, backupOf(t, servedFile(t)), path)
			check(t, os.Remove(path+".served"))
		},
		"nothing in its place": func(t *testing.T, path string) { check(t, os.Remove(path)) },
		"nothing in it":        func(t *testing.T, path string) { check(t, os.Truncate(path, 0)); check(t, os.Remove(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := killed(t)
			put(t, path)
			before := filesIn(t, filepath.Dir(path))
			s, err := Open(t.Context(), path, Config{})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), path+"-wal") {
				t.Errorf("it does not name the log: %v", err)
			}
			if after := filesIn(t, filepath.Dir(path)); after != before {
				t.Errorf("changed: %s, was %s", after, before)
			}
		})
	}
}

func TestFileThatIsGoneIsNotBegunAnew(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			path := servedFile(t)
			check(t, lose(path))
			before := filesIn(t, filepath.Dir(path))
			for _, want := range []string{"nightshift restore BACKUP --db " + path, "nightshift restore " + path + ".rescued-2"} {
				s, err := Open(t.Context(), path, Config{})
				if err == nil {
					s.Close()
					t.Fatal("begun anew")
				}
				if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path+".served") {
					t.Errorf("want %q: %v", want, err)
				}
				if _, err := Peek(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("peek, want %q: %v", want, err)
				}
				if after := filesIn(t, filepath.Dir(path)); after != before {
					t.Errorf("changed: %s, was %s", after, before)
				}
				// An earlier incident's, and this one's.
				write(t, path+".rescued-1", "x", time.Now().Add(-time.Hour))
				write(t, path+".rescued-2", "x", time.Now().Add(time.Hour))
				before = filesIn(t, filepath.Dir(path))
			}
			check(t, os.Remove(path+".served"))
			wantHeld(t, "without its note", path, "")
		})
	}
}

func write(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o600))
	check(t, os.Chtimes(path, at, at))
}

func TestNoteThatWasRemovedIsWrittenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	saveJob(t, s, "a")
	check(t, os.Remove(path+".served"))
	check(t, s.Close())
	wantHeld(t, "its note was removed while it was served", path, "")
}

func TestBackupReplacesABackupAlone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	db := servedFile(t)
	copyFile(t, backupOf(t, db), at("backup"))
	copyFile(t, db, at("database"))
	check(t, os.WriteFile(at("key"), []byte("secret"), 0o600))
	check(t, os.WriteFile(at("empty"), nil, 0o600))
	check(t, os.Symlink("backup", at("link")))
	check(t, os.Symlink("database", at("link to a database")))
	check(t, os.Symlink("/dev/null", at("device")))
	check(t, os.Symlink(filepath.Join("none", "x"), at("dangling")))
	copyFile(t, at("backup"), at("served"))
	check(t, os.WriteFile(at("served.lock"), nil, 0o600))
	for name, want := range map[string]string{
		"new": "new", "backup": "backup", "empty": "empty", "link": "backup",
	} {
		if got, err := Destination(at(name)); err != nil || got != at(want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"database": "no backup", "key": "no backup", "link to a database": "no backup", "device": "not a file",
		"dangling": "link to nothing", "served": "is being served", filepath.Join("none", "x"): "does not exist",
	} {
		if got, err := Destination(at(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// filesIn lists the files of a folder with what is in them.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	var b strings.Builder
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		check(t, err)
		b.WriteString(e.Name() + " " + string(text) + "\n")
	}
	return b.String()
}

func backupOf(t *testing.T, path string) string {
	t.Helper()
	s := openAt(t, path)
	defer func() { check(t, s.Close()) }()
	dest := filepath.Join(t.TempDir(), "backup.db")
	_, err := s.Backup(t.Context(), dest, testTime)
	check(t, err)
	return dest
}

func TestBackupIsWholeAndHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	saveJob(t, s, "a")
	dest := filepath.Join(t.TempDir(), "b.db")
	check(t, os.WriteFile(dest, []byte("what was here"), 0o644))
	c, err := s.Backup(t.Context(), dest, testTime)
	check(t, err)
	saveJob(t, s, "b")
	got, err := s.Copy(t.Context(), dest)
	check(t, err)
	if got != c || got.AsOf != testTime || got.Size == 0 {
		t.Errorf("copy %+v, said %+v", got, c)
	}
	info, err := os.Stat(dest)
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	if left := filesIn(t, filepath.Dir(dest)); strings.Count(left, "\n") == 0 || strings.Contains(left, "copy-") {
		t.Error("a file is left that is not whole")
	}
	v, err := Verify(t.Context(), dest, true)
	check(t, err)
	if v.Copy == nil || *v.Copy != c || v.Problems != nil || v.Skipped != "" || v.Counts.Jobs != 1 {
		t.Errorf("verified %+v", v)
	}
	check(t, s.Close())

	wantHeld(t, "a backup that is served", dest, store.HeldBackup)
	wantHeld(t, "again", dest, store.HeldBackup)
	restored := openAt(t, dest)
	h, err := restored.Restored(t.Context())
	check(t, err)
	if h.AsOf != testTime {
		t.Errorf("as of %v", h.AsOf)
	}
	if got, err := restored.Copy(t.Context(), dest+".none"); err == nil {
		t.Errorf("a copy that is not there: %+v", got)
	}
	check(t, restored.Close())
	if v, err := Verify(t.Context(), dest, true); err != nil || v.Copy != nil {
		t.Errorf("one that was served says that it is a backup: %+v, %v", v.Copy, err)
	}
}

func TestBackupIsGivenUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	defer s.Close()
	saveJob(t, s, "a")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Backup(ctx, filepath.Join(dir, "b.db"), testTime); err == nil {
		t.Fatal("written")
	}
	if left := filesIn(t, dir); left != "" {
		t.Errorf("left: %s", left)
	}
}

// A damaged page makes no backup, and says what to do; the one before stays.
func TestDamagedFileMakesNoBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	s := openAt(t, path)
	for i := range 200 {
		saveJob(t, s, "job-"+strings.Repeat("x", i%40)+time.Duration(i).String())
	}
	dest := filepath.Join(t.TempDir(), "b.db")
	_, err := s.Backup(t.Context(), dest, testTime)
	check(t, err)
	check(t, s.Close())
	before, err := os.ReadFile(dest)
	check(t, err)
	damage(t, path)
	v, err := Verify(t.Context(), path, true)
	check(t, err)
	if v.Problems == nil || v.Skipped == "" {
		t.Errorf("damage was not found: %+v", v)
	}
	s = openAt(t, path)
	defer s.Close()
	_, err = s.Backup(t.Context(), dest, testTime.Add(time.Hour))
	if err == nil || !strings.Contains(err.Error(), "restore the newest backup") {
		t.Errorf("said %v", err)
	}
	if after, _ := os.ReadFile(dest); string(after) != string(before) {
		t.Error("the backup before is gone")
	}
}

// damage overwrites the middle of each page of the table of jobs but the first of the file.
func damage(t *testing.T, path string) {
	t.Helper()
	p := sqlOn(t, path)
	rows, err := p.Query("SELECT pageno FROM dbstat WHERE name = 'audit' AND pagetype = 'leaf'")
	check(t, err)
	var pages []int64
	for rows.Next() {
		var n int64
		check(t, rows.Scan(&n))
		pages = append(pages, n)
	}
	check(t, rows.Err())
	check(t, p.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	for _, n := range pages {
		_, err := f.WriteAt([]byte(strings.Repeat("\xff", 200)), (n-1)*4096)
		check(t, err)
	}
	if pages == nil {
		t.Fatal("nothing to damage")
	}
}

// inodeText is how a note names the file of a path.
func inodeText(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	check(t, err)
	return fmt.Sprintf(`"inode":%d`, inodeOf(info))
}

func TestRestoreLeavesWhatIsNoFileAlone(t *testing.T) {
	backup, folder := backupOf(t, servedFile(t)), t.TempDir()
	check(t, os.WriteFile(filepath.Join(folder, "mine"), []byte("mine"), 0o600))
	_, err := Restore(t.Context(), backup, folder, testTime)
	if err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder in its place: %v", err)
	}
	if got := filesIn(t, folder); got != "mine mine\n" {
		t.Errorf("the folder holds %q", got)
	}
}

// A restore that is killed leaves the file that was there, or the one that is restored, and no gap between.
func TestRestoreByRootIsTheUsersFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root alone gives files away")
	}
	backup := backupOf(t, servedFile(t))
	for name, own := range map[string]func(path string) error{
		"the file's":   func(path string) error { copyFile(t, backup, path); return os.Chown(path, 65534, 65533) },
		"the folder's": func(path string) error { return os.Chown(filepath.Dir(path), 65534, 65533) },
	} {
		path := filepath.Join(t.TempDir(), "n.db")
		check(t, own(path))
		_, err := Restore(t.Context(), backup, path, testTime)
		check(t, err)
		info, err := os.Stat(path)
		check(t, err)
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 65534 || st.Gid != 65533 || info.Mode() != 0o600 {
			t.Errorf("%s: of %d:%d, %v", name, st.Uid, st.Gid, info.Mode())
		}
	}
}

func TestRestoreLeavesNoGap(t *testing.T) {
	path, backup := servedFile(t), backupOf(t, servedFile(t))
	before, err := os.ReadFile(path)
	check(t, err)
	moved, err := moveAside(path, testTime)
	check(t, err)
	for _, name := range []string{path, moved} {
		if after, err := os.ReadFile(name); err != nil || string(after) != string(before) {
			t.Errorf("killed in between, %s is not what was there: %v", name, err)
		}
	}
	if s, err := Open(t.Context(), path, Config{}); err == nil {
		s.Close()
		t.Error("it is served though half of the restore is to come")
	}
	r, err := Restore(t.Context(), backup, path, testTime.Add(time.Second))
	check(t, err)
	wantHeld(t, "restored again", path, store.HeldBackup)
	if after, err := os.ReadFile(r.Moved); err != nil || string(after) != string(before) {
		t.Errorf("what was there is not kept: %v", err)
	}
}
