package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
)

// dated are the names of the dated copies, oldest first; before all others those of the future, which a clock has made
// that was set since.
func (r *Runtime) dated() (names []string, err error) {
	list, err := os.ReadDir(r.cfg.Backups.Dir)
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	for _, e := range list {
		if datedName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	ahead := BackupName(r.Now().Std().Add(r.cfg.Backups.Every))
	i, same := slices.BinarySearch(names, ahead)
	if same {
		i++
	}
	return slices.Concat(names[i:], names[:i]), nil
}

func (r *Runtime) datedDue() (bool, error) {
	if r.cfg.Backups.Every <= 0 {
		return false, nil
	}
	names, err := r.dated()
	if err != nil || len(names) == 0 {
		return err == nil, err
	}
	at, err := time.Parse(datedForm, names[len(names)-1])
	now := r.Now().Std()
	return err != nil || now.Sub(at) >= r.cfg.Backups.Every || at.Sub(now) > r.cfg.Backups.Every, nil
}

// keepDated gives the published copy, which holds all that was written, a name with the time, and drops the oldest of
// those.
func (r *Runtime) keepDated() error {
	c := &r.cfg.Backups
	if c.Snapshot > 0 {
		dest := filepath.Join(c.Dir, BackupName(r.Now().Std()))
		// A second name: the next one that is published does not touch what this one names.
		if err := os.Link(filepath.Join(c.Dir, LatestName), dest); err != nil && !errors.Is(err, os.ErrExist) {
			r.backups.making.Lock() // the file system has no links
			_, err = r.backupTo(r.stopping, dest)
			r.backups.making.Unlock()
			if err != nil {
				return fmt.Errorf("keep the backup of today: %w", err)
			}
		}
	}
	names, err := r.dated()
	if err != nil {
		return err
	}
	for len(names) > c.Keep {
		if err := os.Remove(filepath.Join(c.Dir, names[0])); err != nil {
			return fmt.Errorf("drop the oldest backup: %w", err)
		}
		names = names[1:]
	}
	r.backups.set(func(s *BackupState) { s.Dated = len(names) })
	r.log.Info("backup kept", "name", strings.Join(names[max(0, len(names)-1):], ""), "kept", len(names))
	return nil
}

// keepForeign gives the last backup of a database that was here before the name of a dated one: where that database is
// gone, and this one begins in its place, or an older backup was restored, it holds what nothing else does.
func (r *Runtime) keepForeign(path string, asOf jobs.Time) error {
	name := BackupName(asOf.Std())
	dest := filepath.Join(r.cfg.Backups.Dir, name)
	if _, err := os.Lstat(dest); errors.Is(err, os.ErrNotExist) {
		if err := os.Rename(path, dest); err != nil {
			return fmt.Errorf("keep the last backup of the database before: %w", err)
		}
	} else if err != nil {
		return err
	}
	r.log.Warn("the last backup is not of this database, but of one that was here before: it is kept (nightshift restore)",
		"backup", dest, "as_of", asOf)
	names, err := r.dated()
	r.backups.set(func(s *BackupState) { s.Dated = len(names) })
	return err
}
