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

// plans are the jobs as they stand, compiled, by name. A change drops the entry; the next use
// reads it again.
type plans struct {
	store store.Store
	log   *slog.Logger

	mu      sync.RWMutex
	byName  map[string]*planned
	changes int64 // grows with each change, so that an old read is not kept
}

type planned struct {
	plan    *jobs.Plan
	deleted bool
}

// maxPlans bounds the entries, deleted jobs among them.
const maxPlans = 20_000

// live is the plan of a job that stands; store.ErrNotFound else.
func (p *plans) live(ctx context.Context, name string) (*jobs.Plan, error) {
	e, err := p.get(ctx, name)
	if err == nil && e.deleted {
		err = fmt.Errorf("job %q: %w", name, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return e.plan, nil
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

func (p *plans) read(ctx context.Context, name string) (*planned, error) {
	job, err := p.store.Job(ctx, name)
	deleted := errors.Is(err, store.ErrNotFound)
	if deleted {
		job, err = &jobs.Job{Name: name}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", name, err)
	}
	plan, err := jobs.Compile(job, nil, nil)
	if err != nil {
		// It compiled when it was saved, by another version perhaps. Its runs must end all the
		// same: by the policy default.
		p.log.Error("rules of a job do not compile any more: the policy default decides", "job", name, "error", err)
		plain := *job
		plain.Retry = jobs.Retry{}
		if plan, err = jobs.Compile(&plain, nil, nil); err != nil {
			return nil, fmt.Errorf("compile the rules of job %s: %w", name, err)
		}
	}
	return &planned{plan: plan, deleted: deleted}, nil
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
