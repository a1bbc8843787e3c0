package sqldb

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

// failureEnded takes in that a run has failed, or what the end of a run means for the failure that it was
// requeued from.
func (s *Store) failureEnded(tx Tx, e *ended) error { return nil }

// Failures implements store.Failures.
func (s *Store) Failures(ctx context.Context, f store.FailureFilter, p store.Page) ([]*store.Failure, string, error) {
	return nil, "", nil
}

// Failure implements store.Failures.
func (s *Store) Failure(ctx context.Context, run jobs.ID) (*store.Failure, error) {
	return nil, store.ErrNotFound
}

// FailureGroups implements store.Failures.
func (s *Store) FailureGroups(
	ctx context.Context, f store.FailureGroupFilter, p store.Page,
) ([]*store.FailureGroup, string, error) {
	return nil, "", nil
}

// Deal implements store.Failures.
func (s *Store) Deal(ctx context.Context, run jobs.ID, d store.Dealing, by store.By) error {
	return store.ErrNotFound
}

// OpenFailures implements store.Failures.
func (s *Store) OpenFailures(ctx context.Context, most int) (int, error) { return 0, nil }

// ReopenIgnored implements store.Failures.
func (s *Store) ReopenIgnored(ctx context.Context, now jobs.Time) (int, error) { return 0, nil }

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
