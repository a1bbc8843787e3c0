package sqldb

import (
	"context"
	"errors"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectAudit = `
SELECT id, at, actor, action, kind, name, note, change FROM audit WHERE id < $1
ORDER BY id DESC LIMIT $2`
	selectFloor = `SELECT MAX(seq) FROM runs`
	selectMeta  = `SELECT value FROM meta WHERE name = $1`
	metaClock   = "clock"
	upsertMeta  = `
INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE
SET value = excluded.value`
)

// Note implements store.Ledger.
func (s *Store) Note(ctx context.Context, by store.By, action, kind, name string) error {
	return s.write(ctx, func(tx Tx) error { return s.audit(tx, by, action, kind, name, nil) })
}

// Audit implements store.Ledger.
func (s *Store) Audit(
	ctx context.Context, p store.Page,
) (list []store.AuditEntry, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		return tx.Query(selectAudit, func(r Row) error {
			if len(list) == sizeOf(p) {
				next = strconv.FormatInt(list[len(list)-1].ID, 10)
				return nil
			}
			list = append(list, store.AuditEntry{
				ID: r.Int(0), At: r.Time(1), Actor: r.Text(2), Action: r.Text(3), Kind: r.Text(4),
				Name: r.Text(5), Note: r.Text(6), Change: r.Bytes(7),
			})
			return nil
		}, before, sizeOf(p)+1)
	})
	return list, next, err
}

// Floor implements store.Ledger.
func (s *Store) Floor(ctx context.Context) (floor int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		_, err := one(tx, selectFloor, func(r Row) { floor = r.Int(0) })
		if err != nil {
			return err
		}
		var bad error
		_, err = one(tx, selectMeta, func(r Row) {
			var removed int64
			removed, bad = strconv.ParseInt(r.Text(0), 10, 64)
			floor = max(floor, removed)
		}, "floor")
		return errors.Join(err, bad)
	})
	return floor, err
}

// Clock implements store.Ledger.
func (s *Store) Clock(ctx context.Context) (clock string, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		_, err := one(tx, selectMeta, func(r Row) { clock = r.Text(0) }, metaClock)
		return err
	})
	return clock, err
}

// Probe implements store.Ledger.
func (s *Store) Probe(ctx context.Context, now jobs.Time) error {
	return s.write(ctx, func(tx Tx) error {
		_, err := tx.Exec(upsertMeta, "probe", now.String())
		return err
	})
}
