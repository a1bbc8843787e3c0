package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// AwaitEnd blocks until the run has ended or ctx is done, and reports whether it has ended.
func (r *Runtime) AwaitEnd(ctx context.Context, id jobs.ID) (bool, error) {
	changed, stop := r.hub.watch(id)
	defer stop()
	for {
		run, err := r.store.Run(ctx, id)
		if ctx.Err() != nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if run.State.Terminal() {
			return true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, nil
		case <-r.stopping.Done():
			return false, nil
		}
	}
}

// Run reads a run whole, with HeldBy and the attempt that is under way.
func (r *Runtime) Run(ctx context.Context, id jobs.ID) (*jobs.Run, error) {
	run, err := r.store.Run(ctx, id)
	if err == nil {
		err = r.explainAll(ctx, run)
	}
	if err == nil {
		r.freshen(run)
	}
	return run, err
}

// Runs lists runs, newest first, with HeldBy.
func (r *Runtime) Runs(ctx context.Context, f store.RunFilter, p store.Page) ([]*jobs.Run, string, error) {
	list, next, err := r.store.Runs(ctx, f, p)
	if err == nil {
		err = r.explainAll(ctx, list...)
	}
	for _, run := range list {
		r.freshen(run)
	}
	return list, next, err
}

// freshen puts in what the attempt under way has said that is not on disk yet.
func (r *Runtime) freshen(run *jobs.Run) {
	if run.State.Terminal() {
		return
	}
	if u := r.active.find(run.ID); u != nil && u.fence.Number == run.Counts.Number {
		if p := u.newest(); p != nil {
			run.Progress = p
		}
	}
}

// MaxAttempts is the run's own, else that of its job as it stands; 0 where the job is gone.
func (r *Runtime) MaxAttempts(ctx context.Context, run *jobs.Run) (int, error) {
	if run.MaxAttempts > 0 {
		return run.MaxAttempts, nil
	}
	e, err := r.plans.get(ctx, run.Job)
	if err != nil || e.deleted {
		return 0, err
	}
	return e.plan.MaxAttempts(0), nil
}

// explainAll says what those of the runs wait for that do: for their first slice, or the next.
func (r *Runtime) explainAll(ctx context.Context, runs ...*jobs.Run) error {
	if !slices.ContainsFunc(runs, waitsForStart) {
		return nil
	}
	if err := r.store.Held(ctx, runs, r.Now()); err != nil {
		return err
	}
	for _, run := range runs {
		r.explain(run)
	}
	return nil
}

func waitsForStart(run *jobs.Run) bool { return run.State == jobs.Queued || run.HeldBy != nil }

// explain says what a run waits for, where the store cannot know.
func (r *Runtime) explain(run *jobs.Run) {
	if !waitsForStart(run) {
		return
	}
	if held := r.restored.Load(); held != nil {
		run.HeldBy = heldRestored(held)
		return
	}
	if run.HeldBy != nil && run.HeldBy.Kind != jobs.HeldWorkers {
		return
	}
	switch {
	case r.draining.Load():
		run.HeldBy = &jobs.HeldBy{Kind: jobs.HeldDrain, Name: "server", Reason: "the server is drained: nothing starts until it is resumed"}
	case r.stopping.Err() != nil:
		run.HeldBy = &jobs.HeldBy{Kind: jobs.HeldDrain, Name: "server", Reason: "the server is stopping"}
	case r.diskFull.Load():
		run.HeldBy = &jobs.HeldBy{Kind: jobs.HeldDisk, Name: "database", Reason: "the database cannot be written: nothing starts until it can"}
	case run.HeldBy == nil || run.HeldBy.Reason == jobs.WaitsForWorker:
		run.HeldBy = r.waitsForWorker(r.poolFor(run))
	} // else it catches up, and the store has told of which workers it waits for
}

// poolFor is the sort of worker that a queued run waits for: the store has told it, or it is new.
func (r *Runtime) poolFor(run *jobs.Run) store.Pool {
	if run.HeldBy != nil {
		return store.PoolOf(run.HeldBy.Name)
	}
	if e := r.plans.known(run.Job); e != nil {
		return store.PoolOf(e.plan.Job.Kind())
	}
	return store.PoolWebhook
}

// waitsForWorker is what a run waits for that nothing else holds.
func (r *Runtime) waitsForWorker(pool store.Pool) *jobs.HeldBy {
	busy, all := r.active.countIn(pool), r.cfg.Workers[pool]
	what := jobs.WaitsForWorker
	if busy < all {
		what = "it is about to start"
	}
	return &jobs.HeldBy{
		Kind: jobs.HeldWorkers, Name: pool.String(),
		Reason: fmt.Sprintf("%s: %d of %d %s workers are busy", what, busy, all, pool),
	}
}

// Cancel decides at its commit: Cancelled where nothing ran, Running where the attempt is being
// stopped; store.ErrState where the run had ended otherwise.
func (r *Runtime) Cancel(ctx context.Context, id jobs.ID, by store.By) (jobs.State, error) {
	by.Now = r.Now()
	out, err := r.store.Cancel(ctx, id, by)
	if r.wrote(err) != nil {
		return out.State, err
	}
	r.stopAll(out.Stop)
	if out.State == jobs.Cancelled {
		r.endedIdle(id)
	}
	r.hub.changed(id)
	r.hub.cascaded() // what stands in it ends with a group
	return out.State, nil
}

// stopAttempt stops the attempt of a run that is to be cancelled, where one is under way.
func (r *Runtime) stopAttempt(id jobs.ID, cause error) {
	r.caughtUp()
	if a := r.active.get(id); a != nil {
		a.stop(cause)
	}
}

// caughtUp waits until what the dispatcher has on disk is in memory too.
func (r *Runtime) caughtUp() {
	r.launching.Lock()
	defer r.launching.Unlock()
}

// endedIdle takes in that a run has ended while no worker had it.
func (r *Runtime) endedIdle(id jobs.ID) {
	r.caughtUp()
	r.waits.dropRun(id)
	r.active.drop(id)
}

// RunNow drops what is left of a delay or backoff.
func (r *Runtime) RunNow(ctx context.Context, id jobs.ID, by store.By) error {
	by.Now = r.Now()
	err := r.wrote(r.store.RunNow(ctx, id, by))
	r.hub.changed(id)
	return err
}

// Requeue makes a new run in place of an ended one.
func (r *Runtime) Requeue(ctx context.Context, rq store.Requeue) (store.Submitted, error) {
	if len(rq.Payload) > jobs.MaxPayload {
		return store.Submitted{}, &jobs.TooLargeError{Location: "payload", Size: len(rq.Payload), Limit: jobs.MaxPayload}
	}
	rq.By.Now = r.Now()
	rq.ID = r.ids.Next(rq.By.Now.Std())
	rq.Trigger, rq.Most = jobs.TriggerRequeue, r.cfg.MaxUnfinished
	if err := r.fitRequeue(ctx, &rq); err != nil {
		return store.Submitted{}, err
	}
	out, err := r.store.Requeue(ctx, rq)
	r.hub.changed(rq.Of)
	if err == nil {
		r.hub.made(out.ID)
	}
	return out, r.wrote(err)
}

// fitRequeue works out the keys of the new run. It refuses what Submit would refuse: a payload that
// gives no key, or from which the webhook's host cannot be read. What else is wrong the store finds.
func (r *Runtime) fitRequeue(ctx context.Context, rq *store.Requeue) error {
	old, err := r.store.Run(ctx, rq.Of)
	if err != nil {
		return ignoreNotFound(err)
	}
	job, err := r.plans.live(ctx, old.Job)
	if err != nil || !old.State.Terminal() {
		return ignoreNotFound(err)
	}
	return fitTo(job, rq, old)
}

// fitTo is fitRequeue to a job that stands.
func fitTo(job *planned, rq *store.Requeue, old *jobs.Run) error {
	next := draft{sub: store.Submission{Run: rq.Run(old)}}
	if run := next.sub.Run; merges(old) && len(run.Payload) == 0 { // it is composed before its first attempt
		run.Payload = jobs.NewMergePayload(old.Group).Payload()
	}
	_, next.host = job.host(next.sub.Run.Payload)
	rq.Keys, rq.Unique, next.keys = job.plan.RunKeys(next.sub.Run)
	return jobs.Invalid(next.faults("payload"))
}

// Remove deletes an ended run.
func (r *Runtime) Remove(ctx context.Context, id jobs.ID, by store.By) error {
	by.Now = r.Now()
	err := r.wrote(r.store.Remove(ctx, id, by))
	r.hub.changed(id)
	return err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
