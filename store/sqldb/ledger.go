package sqldb

import (
	"context"
	"errors"
	"strconv"

	"nightshift/jobs"
)

const (
	selectFloor = `SELECT MAX(seq) FROM runs`
	selectMeta  = `SELECT value FROM meta WHERE name = $1`
	metaClock   = "clock"
	upsertMeta  = `
INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE
SET value = excluded.value`
)

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
