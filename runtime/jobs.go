package runtime

import (
	"context"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// PutJobs compiles the rules of documents that have been checked and saves them, all or none.
// Faults are *jobs.InvalidError, located as in the document for one, jobs[2].retry... for several;
// *store.EntryError, joined, where one stands already or has changed.
func (r *Runtime) PutJobs(ctx context.Context, puts []store.PutJob, by store.By) ([]store.SavedJob, error) {
	var faults []jobs.Fault
	names := make([]string, len(puts))
	for i := range puts {
		names[i] = puts[i].Job.Name
		_, err := jobs.Compile(puts[i].Job, nil, nil)
		var invalid *jobs.InvalidError
		if errors.As(err, &invalid) {
			for _, f := range invalid.Faults {
				if len(puts) > 1 {
					f.Location = fmt.Sprintf("jobs[%d].%s", i, f.Location)
				}
				faults = append(faults, f)
			}
		} else if err != nil {
			return nil, err
		}
	}
	if err := jobs.Invalid(faults); err != nil {
		return nil, err
	}
	by.Now = r.Now()
	saved, err := r.store.Save(ctx, store.Changes{Jobs: puts}, by)
	r.plans.changed(names...)
	return saved.Jobs, r.wrote(err)
}

// DeleteJob deletes a job and cancels its runs that do not run.
func (r *Runtime) DeleteJob(ctx context.Context, name string, ifMatch *int64, by store.By) (cancelled int, err error) {
	by.Now = r.Now()
	cancelled, err = r.store.DeleteJob(ctx, name, ifMatch, by)
	r.plans.changed(name)
	r.hub.changedAll()
	return cancelled, r.wrote(err)
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
