package sqldb

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	metaAsOf        = "as_of"      // milliseconds: the file is a backup of then
	metaAsOfPath    = "as_of_path" // of the file
	metaAsOfRun     = "as_of_run"  // the newest run that there was
	metaHeld        = "held"       // heldRow: nothing of the file starts
	metaFile        = "file"       // a name that no other file has, but for its copies until they are let go
	deleteMeta      = `DELETE FROM meta WHERE name = $1`
	anyHistory      = `SELECT EXISTS (SELECT 1 FROM runs) OR EXISTS (SELECT 1 FROM jobs WHERE name <> '_group') OR EXISTS (SELECT 1 FROM documents)`
	selectNewestRun = `SELECT seq, tail FROM runs ORDER BY seq DESC LIMIT 1`
)

// Backup implements store.Copies.
func (s *Store) Backup(ctx context.Context, dest string, now jobs.Time) (store.Copy, error) {
	return s.db.Backup(ctx, dest, now)
}

// Copy implements store.Copies.
func (s *Store) Copy(ctx context.Context, path string) (store.Copy, error) {
	c, err := s.db.Copy(ctx, path)
	if err != nil {
		return c, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		own, err := readMeta(tx, metaFile)
		c.Foreign = c.File != "" && c.File != own
		return err
	})
	return c, err
}

// Name gives a file that has none its name: each start calls it, with one that no other file has.
func (s *Store) Name(ctx context.Context, name string) error {
	named := false
	err := s.db.Read(ctx, func(tx Tx) error {
		had, err := readMeta(tx, metaFile)
		named = had != ""
		return err
	})
	if err != nil || named {
		return err
	}
	return s.write(ctx, func(tx Tx) error { return must(tx.Exec(upsertMeta, metaFile, name)) })
}

// MarkCopy has a copy of the file at path say that it is one: what was committed before now is in it.
func MarkCopy(tx Tx, path string, now jobs.Time) error {
	var newest jobs.ID
	_, err := one(tx, selectNewestRun, func(r Row) { newest = jobs.IDOf(r.Int(0), r.Int(1)) })
	if err == nil {
		_, err = tx.Exec(upsertMeta, metaAsOf, strconv.FormatInt(int64(now), 10))
	}
	if err == nil {
		_, err = tx.Exec(upsertMeta, metaAsOfPath, path)
	}
	if err == nil && !newest.IsNil() {
		_, err = tx.Exec(upsertMeta, metaAsOfRun, newest.String())
	}
	return err
}

// ReadCopy is what a copy says of itself; AsOf is 0 where it does not say that it is one.
func ReadCopy(tx Tx) (c store.Copy, err error) {
	text, err := readMeta(tx, metaAsOf)
	if err != nil || text == "" {
		return c, err
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return c, fmt.Errorf("read as of when the copy is: %w", err)
	}
	c.AsOf = jobs.Time(at)
	if c.Of, err = readMeta(tx, metaAsOfPath); err != nil {
		return c, err
	}
	if c.File, err = readMeta(tx, metaFile); err != nil {
		return c, err
	}
	if text, err = readMeta(tx, metaAsOfRun); err == nil && text != "" {
		err = c.Run.UnmarshalText([]byte(text))
	}
	return c, err
}

func readMeta(tx Tx, name string) (value string, err error) {
	_, err = one(tx, selectMeta, func(r Row) { value = r.Text(0) }, name)
	return value, err
}

// heldRow is how store.Restored is kept.
type heldRow struct {
	Why         store.HeldWhy `json:"why"`
	Since, AsOf int64
}

// Hold keeps that nothing of the file starts, where it has history: a start calls it before anything else, with
// the reason; "": there is none. What a backup says of itself is said no more.
func (s *Store) Hold(ctx context.Context, why store.HeldWhy, now jobs.Time) error {
	if why == "" {
		return nil
	}
	return s.write(ctx, func(tx Tx) error {
		history := false
		if _, err := one(tx, anyHistory, func(r Row) { history = r.Int(0) != 0 }); err != nil {
			return err
		}
		c, err := ReadCopy(tx)
		if err != nil {
			return err
		}
		for _, name := range []string{metaAsOf, metaAsOfPath, metaAsOfRun} {
			if _, err := tx.Exec(deleteMeta, name); err != nil {
				return err
			}
		}
		if !history && why != store.HeldNoLog { // all there was may have been in the log
			return nil
		}
		held, err := readHeld(tx)
		if err != nil {
			return err
		}
		if held != nil && c.AsOf == 0 { // a start has held it already, which did not get further
			c.AsOf = held.AsOf
		}
		text, err := json.Marshal(heldRow{why, int64(now), int64(c.AsOf)})
		if err == nil {
			_, err = tx.Exec(upsertMeta, metaHeld, string(text))
		}
		return err
	})
}

// Restored implements store.Copies.
func (s *Store) Restored(ctx context.Context) (h *store.Restored, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		h, err = readHeld(tx)
		return err
	})
	return h, err
}

// readHeld reads why a file is held; nil: it is not.
func readHeld(tx Tx) (*store.Restored, error) {
	text, err := readMeta(tx, metaHeld)
	if err != nil || text == "" {
		return nil, err
	}
	var row heldRow
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return nil, fmt.Errorf("read why the file is held: %w", err)
	}
	return &store.Restored{Why: row.Why, Since: jobs.Time(row.Since), AsOf: jobs.Time(row.AsOf)}, nil
}

// LetGo implements store.Copies. From here on the file goes its own way: what is copied of another one that went on
// from the same backup is no copy of it.
func (s *Store) LetGo(ctx context.Context, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		n, err := tx.Exec(deleteMeta, metaHeld)
		if err != nil || n == 0 {
			return err
		}
		name, err := readMeta(tx, metaFile)
		if err == nil {
			_, err = tx.Exec(upsertMeta, metaFile, name+"-"+strconv.FormatInt(int64(by.Now), 36))
		}
		if err != nil {
			return err
		}
		return s.audit(tx, by, "let-go", "server", "server")
	})
}
