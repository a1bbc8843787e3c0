package runtime

import (
	"context"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// Submitted says what became of a request.
type Submitted struct {
	store.Submitted
	Run *jobs.Run // as it was made; nil where it is an earlier one
}

// Submit makes runs, all or none. Faults are *jobs.InvalidError, located runs[3].payload, or
// payload where single; *store.EntryError, joined, for unknown jobs and keys used before.
func (r *Runtime) Submit(ctx context.Context, single bool, reqs []jobs.Request) ([]Submitted, error) {
	subs := make([]store.Submission, len(reqs))
	var faults []jobs.Fault
	var missing []error
	now := r.Now()
	for i := range reqs {
		rq := &reqs[i]
		if len(rq.Payload) > jobs.MaxPayload {
			return nil, &jobs.TooLargeError{Location: at(single, i, "payload"), Size: len(rq.Payload), Limit: jobs.MaxPayload}
		}
		for _, f := range rq.Check() {
			f.Location = at(single, i, f.Location)
			faults = append(faults, f)
		}
		plan, err := r.plans.live(ctx, rq.Job)
		if errors.Is(err, store.ErrNotFound) {
			missing = append(missing, &store.EntryError{Index: i, Err: err})
			continue
		}
		if err != nil {
			return nil, err
		}
		subs[i] = store.Submission{Run: jobs.NewRun(r.ids.Next(now.Std()), rq, plan.Job, now)}
		if rq.IdempotencyKey != "" {
			subs[i].KeyHash, subs[i].KeyTTL = jobs.HashJSON(subs[i].Run.Payload), jobs.KeyTTL
		}
	}
	if err := jobs.Invalid(faults); err != nil {
		return nil, errors.Join(append(missing, err)...)
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	made, err := r.store.Enqueue(ctx, subs)
	if r.wrote(err) != nil {
		return nil, err
	}
	out := make([]Submitted, len(made))
	for i, m := range made {
		out[i].Submitted = m
		if !m.Duplicate {
			out[i].Run = subs[i].Run
			r.explain(subs[i].Run)
		}
	}
	return out, nil
}

func at(single bool, i int, location string) string {
	if single {
		return location
	}
	return fmt.Sprintf("runs[%d].%s", i, location)
}
