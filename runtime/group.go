package runtime

import (
	"context"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// GroupRequest asks for a run of a group that no job describes.
type GroupRequest struct {
	Group   *jobs.Group
	Request jobs.Request // of the run; its Job is ignored
}

// RunGroup makes a run of a group that no job describes, as Submit makes one of a job. What is wrong with it
// is an *jobs.InvalidError: the group by itself, a job that does not stand, groups too deep inside one
// another; a *jobs.TooLargeError is a payload over its bound. A key used before is a *store.EntryError.
func (r *Runtime) RunGroup(ctx context.Context, rq *GroupRequest) (store.Submitted, error) {
	request := rq.Request
	request.Job = jobs.GroupJob
	if size := len(request.Payload); size > jobs.MaxPayload {
		return store.Submitted{}, &jobs.TooLargeError{Location: "payload", Size: size, Limit: jobs.MaxPayload}
	}
	r.clock.moving.RLock()
	defer r.clock.moving.RUnlock()
	faults, err := r.groupFaults(ctx, rq.Group)
	if err != nil {
		return store.Submitted{}, err
	}
	faults = append(append(faults, request.Check()...), request.CheckOfGroup()...)
	if err := jobs.Invalid(faults); err != nil {
		return store.Submitted{}, err
	}
	job, err := r.plans.get(ctx, jobs.GroupJob)
	if err != nil {
		return store.Submitted{}, err
	}
	sub := r.newRun(&request, job, r.Now()).sub
	sub.Group, sub.Most = rq.Group, r.cfg.MaxUnfinished
	if request.IdempotencyKey != "" {
		sub.KeyHash, sub.KeyTTL = jobs.HashJSON(jobs.AppendJSON(nil, struct {
			Group   *jobs.Group `json:"group"`
			Payload jobs.Raw    `json:"payload"`
		}{rq.Group.Plain(), sub.Run.Payload})), jobs.KeyTTL
	}
	made, err := r.store.Enqueue(ctx, []store.Submission{sub})
	if r.wrote(err) != nil {
		return store.Submitted{}, err
	}
	return made[0], nil
}

// groupFaults are what is wrong with a group, by itself and with the jobs that it names.
func (r *Runtime) groupFaults(ctx context.Context, g *jobs.Group) ([]jobs.Fault, error) {
	g.DropNulls()
	faults := jobs.CheckGroup("", g)
	if len(g.Members) > jobs.MaxMembers {
		return faults, nil
	}
	d := depths{Runtime: r, of: map[string]int{}}
	deepest, location := 0, ""
	for _, ref := range g.Jobs("") {
		if jobs.CheckName(ref.Name) != nil {
			continue // which was said already
		}
		depth, err := d.below(ctx, ref.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			missing := store.MissingRef{Kind: ref.Kind, Name: ref.Name}
			faults = append(faults, jobs.Fault{Location: ref.Location, Message: missing.Error()})
		case err != nil:
			return nil, err
		case depth > deepest:
			deepest, location = depth, ref.Location
		}
	}
	if deepest >= jobs.MaxGroupDepth {
		faults = append(faults, jobs.Fault{Location: location, Message: fmt.Sprintf(
			"groups stand %d deep inside one another by it, this one included: want at most %d", deepest+1, jobs.MaxGroupDepth)})
	}
	return faults, nil
}

// depths tell how deep groups stand inside the jobs that a group names. Circles are refused when jobs are
// saved.
type depths struct {
	*Runtime
	of map[string]int // by job
}

// below is 0 for a job that is no group. store.ErrNotFound: it does not stand.
func (d *depths) below(ctx context.Context, job string) (int, error) {
	if n, ok := d.of[job]; ok {
		return n, nil
	}
	e, err := d.plans.live(ctx, job)
	if err != nil {
		return 0, err
	}
	d.of[job] = 0
	if e.plan.Job.Group == nil {
		return 0, nil
	}
	deepest := 0
	for _, ref := range e.plan.Job.Group.Jobs("") {
		n, err := d.below(ctx, ref.Name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
		deepest = max(deepest, n)
	}
	d.of[job] = deepest + 1
	return deepest + 1, nil
}

// Remerge makes one more merge run of a group that has ended, of its merge's job as it stands.
// store.ErrState while the group, a member or a merge has not ended, or where it merges nothing;
// *jobs.InvalidError: such a run cannot be made.
func (r *Runtime) Remerge(ctx context.Context, id jobs.ID, by store.By) (store.Submitted, error) {
	r.clock.moving.RLock()
	defer r.clock.moving.RUnlock()
	by.Now = r.Now()
	info, err := r.store.Group(ctx, id)
	if err != nil {
		return store.Submitted{}, err
	}
	run, err := r.store.Run(ctx, id)
	if err != nil {
		return store.Submitted{}, err
	}
	switch {
	case info.Doc.Merge == nil:
		return store.Submitted{}, fmt.Errorf("group %s merges nothing: %w", id, store.ErrState)
	case !run.State.Terminal():
		return store.Submitted{}, fmt.Errorf("group %s has not ended: %w", id, store.ErrState)
	}
	if _, err := r.plans.live(ctx, info.Doc.Merge.Job); err != nil {
		return store.Submitted{}, err
	}
	draft, failure, err := r.draftMerge(ctx, run, info.Doc.Merge.Job, by.Now)
	if err != nil {
		return store.Submitted{}, err
	}
	if failure != nil {
		return store.Submitted{}, jobs.Invalid([]jobs.Fault{{Message: failure.Message}})
	}
	made, err := r.store.Remerge(ctx, id, draft, by)
	if r.wrote(err) != nil {
		return store.Submitted{}, err
	}
	r.hub.changed(id)
	return made, nil
}
