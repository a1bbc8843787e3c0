package runtime

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

// DeleteJob deletes a job and cancels its runs that do not run.
func (r *Runtime) DeleteJob(ctx context.Context, name string, ifMatch *int64, by store.By) (cancelled int, err error) {
	by.Now = r.Now()
	cancelled, stop, err := r.store.DeleteJob(ctx, name, ifMatch, by)
	r.plans.changed(name)
	r.jobsGone([]string{name}, err)
	r.stopAll(stop)
	return cancelled, r.wrote(err)
}

// jobsGone takes in that the runs of jobs have ended that no worker had.
func (r *Runtime) jobsGone(names []string, err error) {
	if err == nil {
		r.caughtUp()
		r.waits.dropJobs(names)
		r.active.dropWhere(func(u *underway) bool { return u.isOf(names) })
	}
	r.hub.changedAll()
}

// stopAll stops attempts that are to end, for their group was cancelled.
func (r *Runtime) stopAll(runs []jobs.ID) {
	for _, id := range runs {
		r.stopAttempt(id, jobs.ErrCancelled)
	}
}

// PauseJob pauses or resumes a job.
func (r *Runtime) PauseJob(ctx context.Context, name string, paused bool, note string, by store.By) (*jobs.Job, error) {
	by.Now = r.Now()
	j, err := r.store.PauseJob(ctx, name, paused, note, by)
	r.plans.changed(name)
	return j, r.wrote(err)
}

// UpgradeRuns moves unfinished runs of a job to its newest version.
func (r *Runtime) UpgradeRuns(ctx context.Context, job string, by store.By) (moved int, err error) {
	by.Now = r.Now()
	moved, err = r.store.UpgradeRuns(ctx, job, by)
	return moved, r.wrote(err)
}
