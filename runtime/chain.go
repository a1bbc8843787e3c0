package runtime

import (
	"nightshift/jobs"
	"nightshift/store"
)

// followUps are the runs that on_success makes of a run that has succeeded, each of the job as it
// stands. They are made in the transaction that ends the run, so once. An `if` or a payload that
// fails gives a run that has ended as failed: nothing is lost in silence.
func (r *Runtime) followUps(l store.Lease, plan *jobs.Plan, result jobs.Raw, now jobs.Time) []store.Submission {
	run := l.Run
	var subs []store.Submission
	for _, f := range plan.FollowUps(run, result, l.Checkpoint) {
		target, err := r.planOf(r.base, f.Job) // which never ends
		if err != nil {
			continue
		}
		next, _ := r.newRun(&jobs.Request{
			Job: f.Job, Payload: f.Payload, CorrelationID: run.CorrelationID, Traceparent: run.Traceparent,
			Trigger: jobs.TriggerChain,
		}, target, now)
		if f.Failure != nil {
			next.State, next.FinishedAt, next.Error = jobs.Failed, now, f.Failure.Bound()
		}
		subs = append(subs, store.Submission{Run: next})
	}
	return subs
}

// spawned tells what became of the runs that a finish made.
func (r *Runtime) spawned(f *store.Finish) {
	for i := range f.Spawn {
		run := f.Spawn[i].Run
		r.hub.changed(run.ID)
		if run.State != jobs.Failed {
			continue
		}
		r.log.Error("run failed before it could start", "job", run.Job, "run", run.ID.String(),
			"correlation", run.CorrelationID, "after", f.Run.String(), "error", run.Error.Message)
	}
}

// newRun makes a run of the job as it stands, its webhook's host fixed where the payload names it.
// The failure says why that cannot be read: a run made all the same fails for it as it starts.
func (r *Runtime) newRun(rq *jobs.Request, job *planned, now jobs.Time) (*jobs.Run, *jobs.Failure) {
	run := jobs.NewRun(r.ids.Next(now.Std()), rq, job.plan.Job, now)
	run.Version = job.plan.Job.Version
	host, failure := job.host(run.Payload)
	run.Host = host
	return run, failure
}
