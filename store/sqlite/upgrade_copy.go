package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	lib "modernc.org/sqlite/lib"

	"nightshift/store"
)

// Copies of the file that are made before its schema is changed.
const (
	copiesKept  = 2
	copyFolder  = "backups" // beside the file; it may be a link to another disk
	copyPattern = "before-schema-%d.db"
)

// noRoom is what to do where the copy does not fit.
const noRoom = "make room, or copy the file to another disk yourself and then start once with --upgrade-without-copy"

// copyName is where the file is kept as it was before it got a schema, from its own folder.
func copyName(version int64) string {
	return filepath.Join(copyFolder, fmt.Sprintf(copyPattern, version))
}

// copyBefore keeps the file as it is before it gets a schema.
func (d *db) copyBefore(ctx context.Context, up *upgrade, version int64) error {
	dest := filepath.Join(filepath.Dir(d.path), copyName(version))
	began := time.Now()
	up.log.Info("copying the file before its schema is changed", "to", dest)
	c, err := d.copyAside(ctx, up, dest)
	if err != nil {
		return fmt.Errorf("keep the file as %s before its schema is changed from %d to %d: %w; the file was not changed",
			dest, up.have, up.newest(), err)
	}
	up.log.Info("file copied", "to", dest, "bytes", c.Size, "took", time.Since(began).Round(time.Millisecond).String())
	return nil
}

func (d *db) copyAside(ctx context.Context, up *upgrade, dest string) (c store.Copy, err error) {
	folder := filepath.Dir(dest)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return c, err
	}
	if err := removeCutOff(folder); err != nil { // it takes room too
		return c, err
	}
	if old, err := ReadCopy(ctx, dest); err == nil && old.Of != d.path { // one that cannot be read is replaced
		if _, err := os.Stat(old.Of); err == nil {
			return c, fmt.Errorf("there it is the copy of another database, %s: move that one somewhere else, or give each "+
				"database a folder of its own", old.Of)
		}
	}
	var size int64
	err = d.writing.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&size)
	if err != nil {
		return c, fmt.Errorf("ask how large the file is: %w", err)
	}
	if free, known := up.free(folder); known && free < size {
		return c, fmt.Errorf("it needs %dMiB, and %dMiB are free there: %s", (size+1<<20-1)>>20, free>>20, noRoom)
	}
	c, err = d.Backup(ctx, dest, up.now)
	if code(err)&0xff == lib.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: %s", err, noRoom)
	}
	return c, err
}

// removeCutOff removes what a kill has left of copies.
func removeCutOff(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropCopies removes all copies that were made before schemas but the newest.
func (d *db) dropCopies() error {
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(d.path), copyFolder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old copies: %w", err)
	}
	var versions []int64
	for _, e := range entries {
		var v int64
		if n, _ := fmt.Sscanf(e.Name(), copyPattern, &v); n == 1 && fmt.Sprintf(copyPattern, v) == e.Name() {
			versions = append(versions, v)
		}
	}
	slices.Sort(versions)
	for _, v := range versions[:max(0, len(versions)-copiesKept)] {
		if err := os.Remove(filepath.Join(filepath.Dir(d.path), copyName(v))); err != nil {
			return fmt.Errorf("remove old copies: %w", err)
		}
	}
	return nil
}
