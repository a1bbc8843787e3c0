package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"nightshift/store"
	"nightshift/store/sqldb"
)

// Size implements sqldb.DB.
func (d *db) Size(ctx context.Context) (size store.FileSize, err error) {
	size.Path = d.path
	err = d.Read(ctx, func(tx sqldb.Tx) error {
		var facts [3]int64
		for i, query := range [...]string{"PRAGMA page_size", "PRAGMA page_count", "PRAGMA freelist_count"} {
			err := tx.Query(query, func(r sqldb.Row) error {
				facts[i] = r.Int(0)
				return nil
			})
			if err != nil {
				return fmt.Errorf("ask how large the file is: %w", err)
			}
		}
		size.Size, size.Free = facts[0]*facts[1], facts[0]*facts[2]
		return nil
	})
	if err != nil {
		return size, err
	}
	log, err := os.Stat(d.path + "-wal")
	switch {
	case err == nil:
		size.Log = log.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return size, fmt.Errorf("ask how large the write-ahead log is: %w", err)
	}
	return size, nil
}
