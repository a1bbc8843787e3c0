package runtime

import (
	"cmp"

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
		next := r.newRun(&jobs.Request{
			Job: f.Job, Payload: f.Payload, CorrelationID: run.CorrelationID, Traceparent: run.Traceparent,
			Trigger: jobs.TriggerChain,
		}, target, now)
		next.sub.Quiet, next.sub.By = true, run.ID.String()
		next.endAtBirth(cmp.Or(f.Failure, next.keys))
		subs = append(subs, next.sub)
	}
	return subs
}

// spawned tells what became of the runs that a finish made.
func (r *Runtime) spawned(f *store.Finish) {
	for i := range f.Spawn {
		run := f.Spawn[i].Run
		r.hub.changed(run.ID)
		r.bornFailed(run, "after", f.Run.String())
	}
}

// bornFailed tells of a run that was made failed; where says where it comes from.
func (r *Runtime) bornFailed(run *jobs.Run, where, from string) {
	if run.State != jobs.Failed {
		return
	}
	r.log.Error("run failed before it could start", AboutRun(run, where, from, "error", run.Error.Message)...)
	if run.Tells != jobs.TellsNothing {
		r.undelivered(run, run.Error)
	}
}

// draft is a run to be made, and what is wrong with what it brings.
type draft struct {
	sub store.Submission
	// host: its webhook's cannot be read. A run made all the same fails for it as it starts.
	host *jobs.Failure
	// keys: one cannot be worked out. A run made all the same has ended.
	keys *jobs.Failure
	// tell is what its end says, should it end as it is made.
	tell func(run *jobs.Run, failure *jobs.Failure) store.Tell
}

// newRun drafts a run of the job as it stands: its keys are fixed, and its webhook's host where the
// payload names it.
func (r *Runtime) newRun(rq *jobs.Request, job *planned, now jobs.Time) draft {
	return r.fitted(jobs.NewRun(r.ids.Next(now.Std()), rq, job.plan.Job, now), job)
}

// fitted drafts a run, of the job as it stands.
func (r *Runtime) fitted(run *jobs.Run, job *planned) draft {
	run.Version, run.Queue = job.plan.Job.Version, job.plan.Job.QueueOf()
	d := draft{sub: store.Submission{Run: run}, tell: func(run *jobs.Run, failure *jobs.Failure) store.Tell {
		return r.tellOf(run, jobs.Failed, failure, job.plan.Job)
	}}
	run.Host, d.host = job.host(run.Payload)
	run.Keys, d.sub.Unique, d.keys = job.plan.RunKeys(run)
	return d
}

// faults are what an answer says of what is wrong.
func (d *draft) faults(location string) (list []jobs.Fault) {
	for _, f := range []*jobs.Failure{d.host, d.keys} {
		if f != nil {
			list = append(list, jobs.Fault{Location: location, Message: f.Message})
		}
	}
	return list
}

// endAtBirth makes it a run that has ended of a failure; nil: of none.
func (d *draft) endAtBirth(failure *jobs.Failure) {
	if failure == nil {
		return
	}
	run := d.sub.Run
	run.State, run.FinishedAt, run.Error = jobs.Failed, run.CreatedAt, failure.Bound()
	run.AlertKeys = d.tell(run, run.Error).Keys
}
