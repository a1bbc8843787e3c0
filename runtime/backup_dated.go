package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// dated are the names of the dated copies, oldest first; before all others those of the future, which a clock has made
// that was set since.
func (r *Runtime) dated() []string {
	list, err := os.ReadDir(r.cfg.Backups.Dir)
	if err != nil {
		return nil
	}
	var names []string
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
	return slices.Concat(names[i:], names[:i])
}

func (r *Runtime) datedDue() bool {
	if r.cfg.Backups.Every <= 0 {
		return false
	}
	names := r.dated()
	if len(names) == 0 {
		return true
	}
	at, err := time.Parse(datedForm, names[len(names)-1])
	now := r.Now().Std()
	return err != nil || now.Sub(at) >= r.cfg.Backups.Every || at.Sub(now) > r.cfg.Backups.Every
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
	names := r.dated()
	for len(names) > c.Keep {
		if err := os.Remove(filepath.Join(c.Dir, names[0])); err != nil {
			return fmt.Errorf("drop the oldest backup: %w", err)
		}
		names = names[1:]
	}
	r.backups.set(func(s *BackupState) { s.Dated = len(names) })
	r.log.Info("backup kept", "name", strings.Join(names[len(names)-1:], ""), "kept", len(names))
	return nil
}
