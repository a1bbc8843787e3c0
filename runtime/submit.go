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
// payload where single; *store.EntryError, joined, for unknown jobs, keys used before and runs that
// stand; *store.TooManyError where too many have not ended.
func (r *Runtime) Submit(ctx context.Context, single bool, reqs []jobs.Request) ([]Submitted, error) {
	for i := range reqs {
		if size := len(reqs[i].Payload); size > jobs.MaxPayload {
			return nil, &jobs.TooLargeError{Location: at(single, i, "payload"), Size: size, Limit: jobs.MaxPayload}
		}
	}
	r.clock.moving.RLock()
	defer r.clock.moving.RUnlock()
	subs, err := r.prepare(ctx, single, reqs)
	if err != nil {
		return nil, errors.Join(err, r.conflicts(ctx, single, subs))
	}
	for i := range subs {
		subs[i].Most = r.cfg.MaxUnfinished
	}
	made, err := r.store.Enqueue(ctx, subs)
	if r.wrote(err) != nil {
		return nil, err
	}
	out := make([]Submitted, len(made))
	r.hub.made(newOf(made)...)
	for i, m := range made {
		out[i].Submitted = m
		if m.Duplicate {
			if m.Replaced {
				r.hub.changed(m.ID)
			}
			continue
		}
		run := subs[i].Run
		run.HeldBy = m.HeldBy
		out[i].Run = run
		r.explain(run)
	}
	return out, nil
}

// newOf are the runs that were made, and not found.
func newOf(made []store.Submitted) []jobs.ID {
	ids := make([]jobs.ID, 0, len(made))
	for i := range made {
		if !made[i].Duplicate {
			ids = append(ids, made[i].ID)
		}
	}
	return ids
}

// Refusal is the error that Submit would give, for requests that must not be made whatever it is:
// nil where Submit would take them.
func (r *Runtime) Refusal(ctx context.Context, single bool, reqs []jobs.Request) error {
	subs, err := r.prepare(ctx, single, reqs)
	return errors.Join(err, r.conflicts(ctx, single, subs))
}

// prepare makes the runs of good requests; those of others stay nil.
func (r *Runtime) prepare(
	ctx context.Context, single bool, reqs []jobs.Request,
) (subs []store.Submission, err error) {
	subs = make([]store.Submission, len(reqs))
	var faults []jobs.Fault
	var missing []error
	now := r.Now()
	for i := range reqs {
		rq := &reqs[i]
		wrong := rq.Check()
		for _, f := range wrong {
			f.Location = at(single, i, f.Location)
			faults = append(faults, f)
		}
		job, err := r.plans.live(ctx, rq.Job)
		if errors.Is(err, store.ErrNotFound) {
			missing = append(missing, &store.EntryError{Index: i, Err: err})
			continue
		}
		if err != nil {
			return nil, err
		}
		if job.plan.Job.Group != nil {
			for _, f := range rq.CheckOfGroup() {
				f.Location = at(single, i, f.Location)
				wrong, faults = append(wrong, f), append(faults, f)
			}
		}
		if wrong != nil {
			continue
		}
		next := r.newRun(rq, job, now)
		if wrong := next.faults(at(single, i, "payload")); wrong != nil {
			faults = append(faults, wrong...)
			continue
		}
		subs[i] = next.sub
		if rq.IdempotencyKey != "" {
			subs[i].KeyHash, subs[i].KeyTTL = jobs.HashJSON(subs[i].Run.Payload), jobs.KeyTTL
		}
	}
	if err := jobs.Invalid(faults); err != nil {
		missing = append(missing, err)
	}
	return subs, errors.Join(missing...)
}

// conflicts are those of requests that will not be made: of keys used before and with runs that
// stand, each a *store.EntryError. The store finds them as it refuses them: beside a run that no job
// has.
func (r *Runtime) conflicts(ctx context.Context, single bool, subs []store.Submission) error {
	var good []store.Submission
	var index []int
	for i, sub := range subs {
		if sub.Run != nil && mayConflict(&sub) {
			good, index = append(good, sub), append(index, i)
		}
	}
	if single || good == nil {
		return nil
	}
	_, err := r.store.Enqueue(ctx, append(good, store.Submission{Run: &jobs.Run{}}))
	joined, _ := r.wrote(err).(interface{ Unwrap() []error })
	if joined == nil {
		return nil
	}
	var found []error
	for _, e := range joined.Unwrap() {
		var entry *store.EntryError
		if errors.As(e, &entry) && !errors.Is(e, store.ErrNotFound) {
			found = append(found, &store.EntryError{Index: index[entry.Index], Err: inCall(entry.Err, index)})
		}
	}
	return errors.Join(found...)
}

func mayConflict(sub *store.Submission) bool {
	return sub.Run.IdempotencyKey != "" ||
		sub.Unique != nil && sub.Unique.Conflict == jobs.ConflictReject
}

// inCall lets a conflict with another entry name that one's place in the call.
func inCall(err error, index []int) error {
	if _, entry := store.ConflictOf(err); entry != nil && *entry != nil {
		*entry = &index[**entry]
	}
	return err
}

func at(single bool, i int, location string) string {
	if single {
		return location
	}
	return fmt.Sprintf("runs[%d].%s", i, location)
}
