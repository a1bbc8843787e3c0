package runtime

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

// Deal resolves or ignores one failure.
func (r *Runtime) Deal(ctx context.Context, run jobs.ID, d store.Dealing, by store.By) error {
	return store.ErrNotFound
}

// StartBulk begins to deal with many failures, and gives their number. It goes on after a restart.
func (r *Runtime) StartBulk(ctx context.Context, b store.Bulk, by store.By) (id jobs.ID, count int, err error) {
	return jobs.NilID, 0, store.ErrNotFound
}

// Sample is a failure as it is and as an order would leave its payload.
type Sample struct {
	Failure *store.Failure
	After   jobs.Raw
	Skip    string // why it would be left as it is; "": it would not
}

// SampleBulk is a dry run of an order: how many failures it would deal with, and the first few.
func (r *Runtime) SampleBulk(ctx context.Context, b store.Bulk) (count int, samples []Sample, err error) {
	return 0, nil, store.ErrNotFound
}

// StopBulk calls off what an order has not begun.
func (r *Runtime) StopBulk(ctx context.Context, id jobs.ID, by store.By) (*store.BulkInfo, error) {
	return nil, store.ErrNotFound
}
