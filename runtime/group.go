package runtime

import (
	"context"
	"io"

	"nightshift/jobs"
	"nightshift/store"
)

// GroupRequest asks for a run of a group that no job describes.
type GroupRequest struct {
	Group   *jobs.Group
	Request jobs.Request // of the run; its Job is ignored
}

// RunGroup makes a run of a group that no job describes, as Submit makes one of a job. The group has been
// checked. What is wrong with it is an *jobs.InvalidError: a job that does not stand, a circle, an
// expression.
func (r *Runtime) RunGroup(ctx context.Context, rq *GroupRequest) (store.Submitted, error) {
	return store.Submitted{}, store.ErrNotFound
}

// Remerge makes one more merge run of a group that has ended. store.ErrState while the group, a member or a
// merge has not ended, or where it merges nothing.
func (r *Runtime) Remerge(ctx context.Context, id jobs.ID, by store.By) (store.Submitted, error) {
	return store.Submitted{}, store.ErrNotFound
}

// Results writes what has become of each member of a group as a JSON array, in their order, to an attempt
// of its merge. Nothing is written where it gives store.ErrNotFound, for the run merges nothing, or a
// *store.OverError.
func (r *Runtime) Results(ctx context.Context, f store.Fence, w io.Writer) error {
	return store.ErrNotFound
}
