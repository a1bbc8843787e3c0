package runtime

import "nightshift/jobs"

// uncallable gives what a job's kind cannot execute on this server, as far as it knows that when
// the job is saved.
func (r *Runtime) uncallable(j *jobs.Job) []jobs.Fault {
	checker, ok := r.cfg.Kinds[j.Kind()].(jobs.Checker)
	if !ok {
		return nil
	}
	return checker.Check(j.Spec())
}
