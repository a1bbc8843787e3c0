package sqldb

import (
	"context"

	"nightshift/jobs"
)

// TellLong implements store.Alerts.
func (s *Store) TellLong(ctx context.Context, now jobs.Time, limit int) (int, jobs.Time, error) {
	return 0, 0, nil
}

// TellStuck implements store.Alerts.
func (s *Store) TellStuck(ctx context.Context, before, now jobs.Time) (int, error) { return 0, nil }

// TellMany implements store.Alerts.
func (s *Store) TellMany(ctx context.Context, most int, now jobs.Time) (bool, error) {
	return false, nil
}
