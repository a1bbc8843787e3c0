package runtime

import (
	"context"
	"errors"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// Changes are documents to be saved at once: store.Changes in the types of the domain.
type Changes struct {
	Set          string // of an apply; "": what stands keeps its set
	Policies     []PutPolicy
	Queues       []PutQueue
	Dependencies []PutDependency
	Jobs         []store.PutJob
	Schedules    []PutSchedule // that stand by themselves
	Alerts       []PutAlert
	Prune        bool
	DryRun       bool
}

// PutPolicy is a policy to be saved.
type PutPolicy struct {
	Policy  *jobs.Policy
	IfMatch *int64 // the revision it must have
	Create  bool   // store.ErrExists where it stands
}

// PutQueue is a queue to be saved.
type PutQueue struct {
	Queue   *jobs.Queue
	IfMatch *int64
	Create  bool
}

// PutDependency is a dependency to be saved.
type PutDependency struct {
	Dependency *jobs.Dependency
	IfMatch    *int64
	Create     bool
}

// PutSchedule is a schedule that stands by itself, to be saved.
type PutSchedule struct {
	Schedule *jobs.Schedule
	IfMatch  *int64
	Create   bool
}

// PutAlert is an alert to be saved.
type PutAlert struct {
	Alert   *jobs.Alert
	IfMatch *int64
	Create  bool
}

// Saved says what Changes did, or would do.
type Saved struct {
	Jobs         []store.SavedJob
	Policies     []SavedPolicy
	Queues       []SavedQueue
	Dependencies []SavedDependency
	Schedules    []SavedSchedule
	Alerts       []SavedAlert
	Removed      []store.Removed
	// Missing are, by job, the secrets it needs and that are not there: its runs will be held,
	// its doors shut.
	Missing map[string][]string
	// Unreachable are the jobs whose receivers cannot call back.
	Unreachable []string
}

// SavedPolicy says what a PutPolicy did.
type SavedPolicy struct {
	Policy  *jobs.Policy // as it stands now
	Before  *jobs.Policy // as it stood; nil: it did not
	Created bool
	Changed bool
}

// SavedQueue says what a PutQueue did, of the document alone: that it is paused is state.
type SavedQueue struct {
	Queue   *jobs.Queue // as it stands now
	Before  *jobs.Queue // as it stood; nil: it had no document
	Created bool
	Changed bool
}

// SavedDependency says what a PutDependency did, of the document alone.
type SavedDependency struct {
	Dependency *jobs.Dependency
	Before     *jobs.Dependency
	Created    bool
	Changed    bool
}

// SavedSchedule says what a PutSchedule did, of the document alone: of a store.Schedule there is what
// stands in it, Set, Revision and times.
type SavedSchedule struct {
	Schedule *store.Schedule
	Before   *store.Schedule
	Created  bool
	Changed  bool
}

// SavedAlert says what a PutAlert did.
type SavedAlert struct {
	Alert   *jobs.Alert // as it stands now
	Before  *jobs.Alert // as it stood; nil: it did not
	Created bool
	Changed bool
}

// Save compiles documents that have been checked, over the policies that they will have, and saves
// them, all or none. Faults are those of store.Catalog.Save, and an *store.EntryError of a
// *jobs.InvalidError for each job whose rules do not compile or whose kind refuses it.
func (r *Runtime) Save(ctx context.Context, in Changes, by store.By) (Saved, error) {
	if err := r.compileAll(ctx, &in); err != nil {
		return Saved{}, err
	}
	changes := in.forStore()
	var done store.Saved
	err := r.settled(ctx, by, func(by store.By) (err error) {
		done, err = r.store.Save(ctx, changes, by)
		return r.wrote(err)
	})
	if !in.DryRun {
		r.forget(&in, done.Removed)
		r.stopAll(done.Stop)
	}
	if err != nil {
		return Saved{}, in.inLists(err)
	}
	saved, err := savedOf(done)
	saved.Missing, saved.Unreachable = r.missingSecrets(done.Jobs), r.unreachable(done.Jobs)
	if !in.DryRun {
		r.wakeDispatcher() // a limit may be higher than it was
		for name, missing := range saved.Missing {
			r.log.Warn("a job needs secrets that are not set: until they are, runs are held and doors are shut",
				"job", name, "secrets", strings.Join(missing, " "))
		}
		for _, name := range saved.Unreachable {
			r.log.Warn("a job waits for a callback to an address of this machine alone: give --url, by which its receiver "+
				"reaches the server", "job", name, "callback", r.served.url)
		}
	}
	return saved, err
}

func (r *Runtime) compileAll(ctx context.Context, in *Changes) error {
	given := make(map[string]*jobs.Policy, len(in.Policies))
	for _, p := range in.Policies {
		given[p.Policy.Name] = p.Policy
	}
	policy := func(name string) (*jobs.Policy, error) {
		if p := given[name]; p != nil {
			return p, nil
		}
		return r.plans.policy(ctx, name)
	}
	var wrong []error
	for i := range in.Jobs {
		_, err := compileOver(in.Jobs[i].Job, policy)
		var invalid *jobs.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			return err
		}
		found := r.uncallable(in.Jobs[i].Job)
		if err != nil {
			found = append(found, invalid.Faults...)
		}
		if err := jobs.Invalid(found); err != nil {
			wrong = append(wrong, &store.EntryError{Index: i, Kind: store.KindJob, Err: err})
		}
	}
	return errors.Join(wrong...)
}

// uncallable gives what a job's kind cannot execute on this server, as far as it knows that when
// the job is saved.
func (r *Runtime) uncallable(j *jobs.Job) []jobs.Fault {
	checker, ok := r.cfg.Kinds[j.Kind()].(jobs.Checker)
	if !ok {
		return nil
	}
	return checker.Check(j.Spec())
}

// forget drops what was read of documents before they changed.
func (r *Runtime) forget(in *Changes, removed []store.Removed) {
	policies, names := len(in.Policies) > 0, make([]string, 0, len(in.Jobs)+len(removed))
	for i := range in.Jobs {
		names = append(names, in.Jobs[i].Job.Name)
	}
	var gone []string
	for _, was := range removed {
		names = append(names, was.Name)
		policies = policies || was.Kind == store.KindPolicy
		if was.Kind == store.KindJob {
			gone = append(gone, was.Name)
		}
	}
	if len(in.Alerts)+len(removed) > 0 {
		r.alertsChanged()
	}
	if r.plans.changed(names...); policies {
		r.plans.changedPolicies()
	}
	if len(removed) > 0 {
		r.jobsGone(gone, nil)
	}
}

// PutJobs saves jobs alone, as Save does.
func (r *Runtime) PutJobs(ctx context.Context, puts []store.PutJob, by store.By) ([]store.SavedJob, error) {
	saved, err := r.Save(ctx, Changes{Jobs: puts}, by)
	return saved.Jobs, err
}

// Policy is the policy of that name as it stands; the policy default always does.
func (r *Runtime) Policy(ctx context.Context, name string) (*jobs.Policy, error) {
	return readPolicy(ctx, r.store, name)
}

// Policies lists them, newest first. The policy default ends the list while it is as it is
// built in.
func (r *Runtime) Policies(ctx context.Context, p store.Page) (list []*jobs.Policy, next string, err error) {
	if p.Cursor != cursorBuiltIn {
		docs, next, err := r.store.Documents(ctx, store.KindPolicy, p)
		if err != nil {
			return nil, "", err
		}
		for _, d := range docs {
			policy, err := policyOf(d)
			if err != nil {
				return nil, "", err
			}
			list = append(list, policy)
		}
		if next != "" {
			return list, next, nil
		}
	}
	def, err := r.Policy(ctx, jobs.PolicyDefault)
	if err != nil || !def.BuiltIn {
		return list, "", err
	}
	if len(list) == p.Limit {
		return list, cursorBuiltIn, nil
	}
	return append(list, def), "", nil
}

// cursorBuiltIn is the cursor of the page that holds the built-in policy alone.
const cursorBuiltIn = "built-in"

// DeletePolicy deletes a policy that no job names; the policy default becomes what is built in.
func (r *Runtime) DeletePolicy(ctx context.Context, name string, ifMatch *int64, by store.By) error {
	by.Now = r.Now()
	err := r.store.DeleteDocument(ctx, store.KindPolicy, name, ifMatch, by)
	r.plans.changedPolicies()
	return r.wrote(err)
}

// Plan is a job that stands, made ready for use.
func (r *Runtime) Plan(ctx context.Context, job string) (*jobs.Plan, error) {
	e, err := r.plans.live(ctx, job)
	if err != nil {
		return nil, err
	}
	return e.plan, nil
}
