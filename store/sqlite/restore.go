package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	lib "modernc.org/sqlite/lib"

	"nightshift/jobs"
	"nightshift/store"
)

// BackupFile writes a copy of a file that nobody serves, as Store.Backup does.
func BackupFile(ctx context.Context, path, dest string, now jobs.Time) (c store.Copy, err error) {
	real, unlock, err := takeUnserved(path)
	if err != nil {
		return c, fmt.Errorf("back up %s: %w", path, err)
	}
	defer unlock()
	d := &db{path: real, driver: "sqlite"}
	if err := d.checkHistory(ctx); err != nil {
		return c, fmt.Errorf("back up %s: %w", path, err)
	}
	if !hasLog(real) {
		d.quiet = "immutable=1&"
	}
	return d.Backup(ctx, dest, now)
}

// Destination gives the path that a backup is written to, links followed: of none, or of an earlier backup, which it
// takes the place of. Another file that has the name is kept: a database, its key, a device.
func Destination(path string) (string, error) {
	real, err := resolve(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if errors.Is(err, os.ErrNotExist) {
		return real, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", path)
	}
	if isServed(real) {
		return "", fmt.Errorf("%s is being served: give the backup another name", path)
	}
	if info.Size() == 0 {
		return real, nil
	}
	if h, err := readHead(real); err != nil || h.app != appBackup {
		return "", fmt.Errorf("%s is there and is no backup: give another name, or remove it; nothing was changed", path)
	}
	return real, nil
}

// takeUnserved locks a file that is there against servers.
func takeUnserved(path string) (real string, unlock func(), err error) {
	if real, err = resolve(path); err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(real); err != nil {
		return "", nil, fmt.Errorf("there is no such file: %w", err)
	}
	lk, err := lock(real)
	if err != nil {
		return "", nil, err
	}
	return real, lk.release, nil
}

// checkHistory refuses what is no file of ours, and a log that is not the file's own.
func (d *db) checkHistory(ctx context.Context) error {
	facts, err := d.lookAt()
	if err != nil {
		return err
	}
	if facts.empty {
		return errors.New("the file is empty")
	}
	if _, err := facts.judge(); err != nil {
		return err
	}
	_, err = d.look(ctx)
	return err
}

// Restored is what a restore has done.
type Restored struct {
	store.Verified        // of the backup
	Moved          string // where the file is now that was there before; "": there was none
}

// Restore puts a backup in the place of a file that nobody serves. What was there is moved aside, with its log:
// nothing is deleted. The backup is checked first, every page of it, and stays. The file starts held.
func Restore(ctx context.Context, backup, path string, now jobs.Time) (r Restored, err error) {
	if r.Verified, err = Verify(ctx, backup, true); err != nil {
		return r, err
	}
	if r.Problems != nil {
		return r, fmt.Errorf("%s is damaged (%s): nothing was changed; nightshift verify says more, and other backups "+
			"may be whole", backup, r.Problems[0].What)
	}
	if r.Schema > Schema() {
		return r, fmt.Errorf("%s: %s: nothing was changed", backup, r.Skipped)
	}
	real, err := resolve(path)
	if err != nil {
		return r, err
	}
	if info, err := os.Stat(real); err == nil && !info.Mode().IsRegular() {
		return r, fmt.Errorf("%s is not a file: give the database's own path with --db; nothing was changed", path)
	}
	if real == r.Path {
		return r, errors.New("the backup is the file itself: nothing was changed")
	}
	lk, err := lock(real)
	if err != nil {
		return r, err
	}
	defer lk.release()
	temp, err := tempBeside(real)
	if err != nil {
		return r, fmt.Errorf("restore %s: %w", path, err)
	}
	defer os.Remove(temp)
	if err := copyWhole(ctx, r.Path, temp); err != nil {
		return r, fmt.Errorf("restore %s from %s: %w", path, backup, err)
	}
	if err := ownAs(temp, real); err != nil {
		return r, fmt.Errorf("restore %s: %w", path, err)
	}
	if r.Moved, err = moveAside(real, now); err != nil {
		return r, fmt.Errorf("move %s aside: %w", path, err)
	}
	if err := publish(temp, real); err != nil {
		return r, fmt.Errorf("restore %s: %w", path, err)
	}
	return r, nil
}

// ownAs gives a file that root made to the user who has to serve it: to that of the file which it takes the place of, else
// of the folder.
func ownAs(made, place string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(place)
	if errors.Is(err, os.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(place))
	}
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
		return os.Chown(made, int(st.Uid), int(st.Gid))
	}
	return nil
}

// copyWhole copies a file that is checked, with what its log holds.
func copyWhole(ctx context.Context, from, to string) error {
	p := openFile(from, readingParams(from)+"&_pragma=cache_size(-8192)")
	defer p.Close()
	if _, err := p.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		if code(err)&0xff == lib.SQLITE_FULL {
			return fmt.Errorf("the disk is full: %w", err)
		}
		return err
	}
	made := openFile(to, "mode=ro&immutable=1")
	defer made.Close()
	return findDamage(ctx, made, "quick_check")
}

// moveAside gives a file another name, and its logs too, so that they can be opened there. Its own name it keeps, where
// the file system has links, until what is restored takes it: whatever is killed in between, no start finds nothing
// there and begins anew.
func moveAside(path string, now jobs.Time) (moved string, err error) {
	if _, err := os.Lstat(path); err == nil {
		moved = path + ".replaced-" + now.Std().UTC().Format("20060102T150405.000Z")
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	aside := moved
	if aside == "" {
		aside = path + ".lost-" + now.Std().UTC().Format("20060102T150405.000Z")
	}
	if !hasLog(path) {
		_ = os.Remove(path + "-wal") // an empty one
	}
	if moved != "" && os.Link(path, moved) != nil {
		if err := os.Rename(path, moved); err != nil {
			return "", err
		}
	}
	// SQLite would take what another program was cut off at for what is to be undone in the file that comes here.
	for _, log := range []string{"-wal", "-journal"} {
		if err := os.Rename(path+log, aside+log); err != nil && !errors.Is(err, os.ErrNotExist) {
			return moved, err
		}
	}
	for _, name := range []string{path + "-shm", notePath(path), markPath(path)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return moved, err
		}
	}
	return moved, syncFolder(filepath.Dir(path))
}
