package runtime

import (
	"context"
	"errors"

	"nightshift/jobs"
	"nightshift/store"
)

// maxSamples is how many failures a dry run shows.
const maxSamples = 5

// Deal resolves or ignores one failure.
func (r *Runtime) Deal(ctx context.Context, run jobs.ID, d store.Dealing, by store.By) error {
	by.Now = r.Now()
	err := r.wrote(r.store.Deal(ctx, run, d, by))
	r.hub.changed(run)
	return err
}

// StartBulk begins to deal with many failures, and gives their number. It goes on after a restart.
func (r *Runtime) StartBulk(ctx context.Context, b store.Bulk, by store.By) (id jobs.ID, count int, err error) {
	by.Now = r.Now()
	id = r.ids.Next(by.Now.Std())
	count, err = r.store.StartBulk(ctx, id, b, by)
	if r.wrote(err) != nil {
		return jobs.NilID, 0, err
	}
	r.orders.poke()
	return id, count, nil
}

// Sample is a failure as it is and as an order would leave its payload.
type Sample struct {
	Failure *store.Failure
	After   jobs.Raw
	Skip    string // why it would be left as it is; "": it would not
}

// SampleBulk is a dry run of an order: how many failures it would deal with, and the first few.
func (r *Runtime) SampleBulk(ctx context.Context, b store.Bulk) (count int, samples []Sample, err error) {
	count, list, err := r.store.SampleBulk(ctx, b.Filter, b.IDs, maxSamples)
	if err != nil {
		return 0, nil, err
	}
	for _, f := range list {
		sample := Sample{Failure: f, After: f.Run.Payload}
		if b.Action == store.BulkRequeue {
			rq := r.orderedRequeue(ctx, &b, f.Run, store.By{Now: r.Now()})
			if sample.Skip = rq.Skip; rq.Payload != nil && sample.Skip == "" {
				sample.After = rq.Payload
			}
		}
		samples = append(samples, sample)
	}
	return count, samples, nil
}

// StopBulk calls off what an order has not begun.
func (r *Runtime) StopBulk(ctx context.Context, id jobs.ID, by store.By) (*store.BulkInfo, error) {
	by.Now = r.Now()
	if err := r.wrote(r.store.StopBulk(ctx, id, by)); err != nil {
		return nil, err
	}
	r.orders.poke()
	return r.store.Bulk(ctx, id)
}

// orderedRequeue is the requeue of one failure of an order.
func (r *Runtime) orderedRequeue(ctx context.Context, b *store.Bulk, run *jobs.Run, by store.By) store.BulkRun {
	out := store.BulkRun{Requeue: store.Requeue{
		Of: run.ID, ID: r.ids.Next(by.Now.Std()), Trigger: jobs.TriggerRequeue, By: by, Creator: b.Creator,
		Most: r.cfg.MaxUnfinished,
	}}
	if b.Patch != nil {
		payload, err := jobs.MergePatch(run.Payload, b.Patch)
		if err != nil {
			out.Skip = err.Error()
			return out
		}
		out.Payload = payload
	}
	job, err := r.plans.live(ctx, run.Job)
	if err == nil {
		err = fitTo(job, &out.Requeue, run)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		out.Skip = "there is no job " + run.Job + " any more"
	case err != nil:
		out.Skip = err.Error()
	}
	return out
}
