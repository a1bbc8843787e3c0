package runtime

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// secretsOf are the names of the secrets that a job's executions and its doors need, sorted. What
// does not compile needs none: it cannot be executed either.
func secretsOf(job *jobs.Job) []string {
	// Names are written out, behind this word: most jobs need not be compiled.
	if !bytes.Contains(job.Document(), []byte("secrets")) {
		return nil
	}
	var names []string
	if p, err := jobs.Prepare(job.Spec()); err == nil {
		names = append(names, p.Secrets()...)
	}
	if len(job.Inbound) > 0 {
		if plan, err := jobs.Compile(job, nil, nil); err == nil {
			for _, d := range job.Inbound {
				names = append(names, plan.Door(d.Name).Secrets()...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missingSecrets are, by job, the secrets it needs and that are not there, or cannot be read.
func (r *Runtime) missingSecrets(saved []store.SavedJob) map[string][]string {
	all := map[string][]string{}
	for i := range saved {
		if missing := r.secrets.Missing(secretsOf(saved[i].Job)); missing != nil {
			all[saved[i].Job.Name] = missing
		}
	}
	return all
}

// SecretUsers are the names of the jobs that need a secret.
func (r *Runtime) SecretUsers(ctx context.Context, name string) (users []string, err error) {
	err = store.Each(func(p store.Page) ([]*jobs.Job, string, error) {
		return r.store.Jobs(ctx, p)
	}, func(job *jobs.Job) {
		if slices.Contains(secretsOf(job), name) {
			users = append(users, job.Name)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look for jobs that name a secret: %w", err)
	}
	slices.Sort(users)
	return users, nil
}
