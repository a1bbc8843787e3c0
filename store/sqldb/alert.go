package sqldb

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

// tellEnded keeps the events that the end of a run is.
func (s *Store) tellEnded(tx Tx, e *ended) error { return nil }

// AlertCursor implements store.Alerts.
func (s *Store) AlertCursor(ctx context.Context) (int64, error) { return 0, nil }

// Folds implements store.Alerts.
func (s *Store) Folds(ctx context.Context, keys []store.FoldKey) ([]store.Fold, error) {
	return nil, nil
}

// DueFolds implements store.Alerts.
func (s *Store) DueFolds(ctx context.Context, now jobs.Time, limit int) ([]store.Fold, jobs.Time, error) {
	return nil, 0, nil
}

// KeepAlerts implements store.Alerts.
func (s *Store) KeepAlerts(ctx context.Context, step store.AlertStep) ([]store.Submitted, error) {
	return nil, nil
}

// Happened implements store.Alerts.
func (s *Store) Happened(ctx context.Context, e store.Event) error {
	return s.write(ctx, func(tx Tx) error { return s.keepEvent(tx, e) })
}

// Undelivered implements store.Alerts.
func (s *Store) Undelivered(ctx context.Context) (int, jobs.ID, error) { return 0, jobs.NilID, nil }
