package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

// Versions implements store.Catalog. Those of a deleted job are gone from sight until it is made again.
func (s *Store) Versions(
	ctx context.Context, job string, p store.Page,
) ([]jobs.Version, string, error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	var list []jobs.Version
	next := ""
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := liveJobRow(tx, job)
		if err != nil {
			return err
		}
		return tx.Query(selectVersions, func(r Row) error {
			if len(list) == sizeOf(p) {
				next = strconv.Itoa(list[len(list)-1].Version)
				return nil
			}
			v, err := scanVersion(r, job)
			list = append(list, v)
			return err
		}, row.id, before, sizeOf(p)+1)
	})
	return list, next, err
}

// Version implements store.Catalog.
func (s *Store) Version(ctx context.Context, job string, version int) (*jobs.Version, error) {
	var v jobs.Version
	err := s.db.Read(ctx, func(tx Tx) error {
		row, err := storedJobRow(tx, job)
		if err != nil {
			return err
		}
		if row == nil {
			return fmt.Errorf("job %q: %w", job, store.ErrNotFound)
		}
		var bad error
		found, err := one(tx, selectVersion, func(r Row) { v, bad = scanVersion(r, job) }, row.id,
			version)
		if err == nil && !found {
			err = fmt.Errorf("version %d of job %q: %w", version, job, store.ErrNotFound)
		}
		return errors.Join(err, bad)
	})
	if err != nil {
		return nil, err
	}
	return &v, nil
}

func scanVersion(r Row, job string) (jobs.Version, error) {
	spec, err := parseSpec(r.Bytes(1))
	if err != nil {
		return jobs.Version{}, fmt.Errorf("read version %d of job %s: %w", r.Int(0), job, err)
	}
	return jobs.Version{Job: job, Version: int(r.Int(0)), CreatedAt: r.Time(2), Spec: *spec}, nil
}

// UpgradeRuns implements store.Catalog.
func (s *Store) UpgradeRuns(ctx context.Context, job string, by store.By) (moved int, err error) {
	err = s.db.Write(ctx, func(tx Tx) error {
		row, err := s.liveJob(tx, job)
		if err != nil {
			return err
		}
		l, err := s.lane(tx, row)
		if err != nil {
			return err
		}
		waiting := []string{updateQueuedVersion, updateDueVersion}
		moved, err = changeEach(tx, waiting, row.id, row.version, l.id)
		if err != nil || moved == 0 {
			return err
		}
		if err := s.moveHosts(tx, row); err != nil {
			return err
		}
		if err := s.refreshLanesOf(tx, row.id); err != nil {
			return err
		}
		tx.Wake()
		change := jobs.Raw(fmt.Sprintf(`{"version":%d,"runs":%d}`, row.version, moved))
		return s.audit(tx, by, "upgrade-runs", "job", job, change)
	})
	return moved, err
}
