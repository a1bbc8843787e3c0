package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"nightshift/jobs"
	"nightshift/store"
)

// plans are the jobs as they stand, compiled over their policies, by name. A change drops the entry,
// that of a policy all of them; the next use reads it again.
type plans struct {
	store store.Store
	log   *slog.Logger

	mu       sync.RWMutex
	byName   map[string]*planned
	policies map[string]*jobs.Policy
	changes  int64 // grows with each change, so that an old read is not kept
}

type planned struct {
	plan     *jobs.Plan
	prepared *jobs.Prepared // what its newest version executes; nil: of a deleted job
	deleted  bool
}

// host is the host:port of a webhook whose URL takes it from the payload, "" where it is written
// out.
func (e *planned) host(payload jobs.Raw) (string, *jobs.Failure) {
	if e.prepared == nil {
		return "", nil
	}
	return e.prepared.Host(payload, e.plan.Job)
}

// maxPlans bounds the entries, deleted jobs among them.
const maxPlans = 20_000

// live is a job that stands; store.ErrNotFound else, and for jobs.GroupJob, which nobody may name.
func (p *plans) live(ctx context.Context, name string) (*planned, error) {
	e, err := p.get(ctx, name)
	if err == nil && (e.deleted || name == jobs.GroupJob) {
		err = fmt.Errorf("job %q: %w", name, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (p *plans) get(ctx context.Context, name string) (*planned, error) {
	p.mu.RLock()
	e, changes := p.byName[name], p.changes
	p.mu.RUnlock()
	if e != nil {
		return e, nil
	}
	e, err := p.read(ctx, name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changes == changes {
		if p.byName == nil || len(p.byName) >= maxPlans {
			p.byName = map[string]*planned{}
		}
		p.byName[name] = e
	}
	return e, nil
}

// known is a job that was used lately; nil: it is to be read.
func (p *plans) known(name string) *planned {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byName[name]
}

func (p *plans) read(ctx context.Context, name string) (*planned, error) {
	if name == jobs.GroupJob {
		return groupPlan()
	}
	job, err := p.store.Job(ctx, name)
	deleted := errors.Is(err, store.ErrNotFound)
	if deleted {
		job, err = &jobs.Job{Name: name}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", name, err)
	}
	policy := func(name string) (*jobs.Policy, error) { return p.policy(ctx, name) }
	plan, err := compileOver(job, policy)
	if invalid := (*jobs.InvalidError)(nil); err != nil && !errors.As(err, &invalid) {
		return nil, err
	}
	if err != nil {
		// It compiled when it was saved, by another version perhaps. Its runs must end all the
		// same: by the policy default.
		p.log.Error("a job does not compile any more: the policy default decides, its doors are shut, "+
			"nothing follows its runs, and they have no keys", "job", name, "error", err)
		plain := *job
		plain.Retry, plain.Inbound, plain.OnSuccess = jobs.Retry{}, nil, nil
		plain.Concurrency, plain.Rate, plain.Unique = nil, nil, nil
		if plan, err = jobs.Compile(&plain, nil, nil); err != nil {
			return nil, fmt.Errorf("compile the rules of job %s: %w", name, err)
		}
	}
	e := &planned{plan: plan, deleted: deleted}
	if !deleted {
		if e.prepared, err = jobs.Prepare(job.Spec()); err != nil {
			p.log.Error("what a job executes does not compile any more: its attempts fail", "job", name, "error", err)
		}
	}
	return e, nil
}

// groupPlan is the job of groups that no job describes: what each is made of comes with its run.
func groupPlan() (*planned, error) {
	plan, err := jobs.Compile(&jobs.Job{Name: jobs.GroupJob, Version: 1, Group: &jobs.Group{}}, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("compile the job %s: %w", jobs.GroupJob, err)
	}
	return &planned{plan: plan}, nil
}

// changed drops what was read of jobs before their change.
func (p *plans) changed(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	for _, n := range names {
		delete(p.byName, n)
	}
}

// changedPolicies drops what was made of policies before their change.
func (p *plans) changedPolicies() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	p.byName, p.policies = nil, nil
}

// policy is a policy as it stands; nil: none does.
func (p *plans) policy(ctx context.Context, name string) (*jobs.Policy, error) {
	p.mu.RLock()
	policy, known := p.policies[name]
	changes := p.changes
	p.mu.RUnlock()
	if known {
		return policy, nil
	}
	policy, err := readPolicy(ctx, p.store, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changes == changes {
		if p.policies == nil {
			p.policies = map[string]*jobs.Policy{}
		}
		p.policies[name] = policy
	}
	return policy, nil
}

// compileOver compiles a job over the policies that it falls to. One that it names and that does
// not stand is left to the store, which refuses it.
func compileOver(job *jobs.Job, policy func(string) (*jobs.Policy, error)) (*jobs.Plan, error) {
	def, err := policy(jobs.PolicyDefault)
	if err != nil {
		return nil, err
	}
	var named *jobs.Policy
	if job.Retry.Policy != "" {
		if named, err = policy(job.Retry.Policy); err != nil {
			return nil, err
		}
	}
	return jobs.Compile(job, named, def)
}

// readPolicy reads a policy; the policy default is built in until somebody changes it.
func readPolicy(ctx context.Context, st store.Store, name string) (*jobs.Policy, error) {
	d, err := st.Document(ctx, store.KindPolicy, name)
	if errors.Is(err, store.ErrNotFound) && name == jobs.PolicyDefault {
		builtIn := *jobs.DefaultPolicy()
		builtIn.BuiltIn = true
		return &builtIn, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", name, err)
	}
	return policyOf(d)
}

func policyOf(d *store.Document) (*jobs.Policy, error) {
	p, err := jobs.ParsePolicyDocument(d.Name, d.Doc)
	if err != nil {
		return nil, err
	}
	p.Set, p.Revision, p.CreatedAt, p.UpdatedAt = d.Set, d.Revision, d.CreatedAt, d.UpdatedAt
	return p, nil
}
