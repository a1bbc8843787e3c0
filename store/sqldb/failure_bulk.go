package sqldb

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

func (s *Store) bulkRunEnded(tx Tx, e *ended) error { return nil }

func pruneFailures(tx Tx, at *pruneCursor, now jobs.Time, limit int) (looked int, err error) {
	return pruneGroups(tx, at, now, limit)
}

// StartBulk implements store.Failures.
func (s *Store) StartBulk(ctx context.Context, id jobs.ID, b store.Bulk, by store.By) (int, error) {
	return 0, store.ErrNotFound
}

// SampleBulk implements store.Failures.
func (s *Store) SampleBulk(
	ctx context.Context, f store.FailureFilter, ids []jobs.ID, samples int,
) (int, []*store.Failure, error) {
	return 0, nil, nil
}

// BulkStep implements store.Failures.
func (s *Store) BulkStep(
	ctx context.Context, id jobs.ID, limit int, runs func([]*jobs.Run) []store.BulkRun, now jobs.Time,
) (store.BulkDone, bool, error) {
	return store.BulkDone{}, false, store.ErrNotFound
}

// Bulk implements store.Failures.
func (s *Store) Bulk(ctx context.Context, id jobs.ID) (*store.BulkInfo, error) {
	return nil, store.ErrNotFound
}

// BulksLeft implements store.Failures.
func (s *Store) BulksLeft(ctx context.Context) ([]jobs.ID, error) { return nil, nil }

// StopBulk implements store.Failures.
func (s *Store) StopBulk(ctx context.Context, id jobs.ID, by store.By) error {
	return store.ErrNotFound
}
