package runtime

import (
	"context"

	"nightshift/store"
)

// TestAlerts makes a failed run up, of a job or of none (""), and has it told the whole way: an event
// that is marked as a test and counted nowhere. event is its id; alerts are those that would tell of it,
// by name.
func (r *Runtime) TestAlerts(ctx context.Context, job string, by store.By) (event int64, alerts []string, err error) {
	return 0, nil, store.ErrNotFound
}

// alertsChanged lets the loop that tells read the alerts anew.
func (r *Runtime) alertsChanged() {}

// FailuresTold reports whether an alert tells of failures of at least some jobs.
func (r *Runtime) FailuresTold(ctx context.Context) (bool, error) { return false, nil }
