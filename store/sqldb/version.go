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
	err = s.write(ctx, func(tx Tx) error {
		row, err := s.liveJob(tx, job)
		if err != nil {
			return err
		}
		if moved, err = s.upgrade(tx, row); err != nil || moved == 0 {
			return err
		}
		tx.Wake()
		return s.audit(tx, by, "upgrade-runs", "job", job, changed("version", nil, row.version), changed("runs", nil, moved))
	})
	return moved, err
}

// upgrade moves runs to the newest version. The host that it calls may be another one, also by what
// each run brings: runs change lanes.
func (s *Store) upgrade(tx Tx, job *jobRow) (moved int, err error) {
	lanes, err := s.lanesOf(tx, job.id)
	if err != nil {
		return 0, err
	}
	h, err := s.hostsOf(tx, job)
	if err != nil {
		return 0, err
	}
	p, err := s.pinnedSpec(tx, specKey{job.id, job.version})
	if err != nil {
		return 0, err
	}
	for _, l := range lanes {
		if !l.ready && l.held == "" || l.slice { // between two slices a run is running
			continue
		}
		key := l.laneKey
		if key.pool, key.host = p.pool, p.host; !isLine(key.held) {
			key.held = "" // the newest version may not need that secret
		}
		n := 0
		if h == nil {
			n, err = s.upgradeLane(tx, job, l, key)
		} else {
			n, err = s.upgradeEach(tx, job, l, key, h)
		}
		if err != nil {
			return 0, err
		}
		moved += n
	}
	n, err := tx.Exec(updateDueVersion, job.id, job.version, membersOf(job.pool))
	if err != nil {
		return 0, err
	}
	if moved += int(n); moved == 0 {
		return 0, nil
	}
	if err := s.moveHosts(tx, job, h); err != nil {
		return 0, err
	}
	return moved, s.refreshLanesOf(tx, job.id)
}

// upgradeLane moves the runs of a lane at once.
func (s *Store) upgradeLane(tx Tx, job *jobRow, from *laneRow, key laneKey) (int, error) {
	to, err := s.laneAt(tx, key, !job.paused && key.held == "")
	if err != nil {
		return 0, err
	}
	n, err := tx.Exec(updateLaneVersion, from.id, to.id, job.version, membersOf(job.pool))
	return int(n), err
}

// upgradeEach moves them one by one: each may call another host.
func (s *Store) upgradeEach(
	tx Tx, job *jobRow, from *laneRow, key laneKey, h *hosts,
) (int, error) {
	runs := map[string][]int64{}
	moved := 0
	err := tx.Query(selectLaneVersion, func(r Row) error {
		host := h.of(payloadOf(r, 1))
		runs[host] = append(runs[host], r.Int(0))
		moved++
		return nil
	}, from.id, job.version)
	if err != nil {
		return 0, err
	}
	for host, seqs := range runs {
		key.host = host
		to, err := s.laneAt(tx, key, !job.paused && key.held == "")
		if err != nil {
			return 0, err
		}
		for _, seq := range seqs {
			err := must(tx.Exec(updateRunVersion, seq, to.id, job.version, noneText(host), membersOf(job.pool)))
			if err != nil {
				return 0, err
			}
		}
	}
	return moved, nil
}
