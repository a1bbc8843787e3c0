package runtime

import (
	"slices"
	"sync"

	"nightshift/jobs"
	"nightshift/store"
)

// preparedSpecs are what versions execute, their expressions compiled. A version never changes, and no
// job has its number again.
type preparedSpecs struct {
	mu        sync.RWMutex
	byVersion map[version]*jobs.Prepared
}

type version struct {
	job    string
	number int
}

const maxPrepared = 4096

func (p *preparedSpecs) of(l *store.Lease) (*jobs.Prepared, error) {
	v := version{l.Run.Job, l.Run.Version}
	p.mu.RLock()
	known := p.byVersion[v]
	p.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := jobs.Prepare(*l.Spec)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byVersion == nil || len(p.byVersion) >= maxPrepared {
		p.byVersion = map[version]*jobs.Prepared{}
	}
	p.byVersion[v] = made
	return made, nil
}

// launch is an attempt made ready: what is executed, and what must not be kept of what comes out.
type launch struct {
	*jobs.Rendered
	mask *jobs.Mask
}

// render fills the templates of an attempt in. held is the first secret it needs and does not get:
// nothing may be executed then. The failure says what cannot be rendered.
func (r *Runtime) render(a *attempt, job *jobs.Job) (l launch, held string, failure *jobs.Failure) {
	run := a.lease.Run
	p, err := r.prepared.of(&a.lease)
	if err != nil {
		return l, "", &jobs.Failure{
			Kind: jobs.FailInvalid, Message: "what this version executes cannot be read any more: " + err.Error(),
		}
	}
	opened, held := r.secrets.open(p)
	if held != "" {
		return l, held, nil
	}
	l.mask = opened.mask
	l.Rendered, failure = p.Render(&jobs.Scope{
		Run: run, Job: job, Payload: run.Payload, Checkpoint: a.lease.Checkpoint,
		Attempt: run.Counts.Attempt(), Host: run.Host,
		Secret: opened.value,
	})
	return l, "", failure
}

// maskOf hides the secrets that a version names, as far as they can be read.
func (r *Runtime) maskOf(l *store.Lease) *jobs.Mask {
	p, err := r.prepared.of(l)
	if err != nil {
		return nil // nothing of it was ever executed
	}
	if opened, held := r.secrets.open(p); held == "" {
		return opened.mask
	}
	var values []string
	for _, name := range p.Secrets() {
		if value, ok := r.secrets.Lookup(name); ok {
			values = append(values, value)
		}
	}
	return jobs.NewMask(values)
}

// hide masks what a report would keep of secrets. Checkpoints stay as they are.
func hide(m *jobs.Mask, report *jobs.Report) {
	if m == nil {
		return
	}
	if report.Failure != nil {
		m.Failure(report.Failure)
	}
	if report.Result != nil {
		report.Result = m.JSON(report.Result)
	}
	if p := report.Progress; p != nil {
		report.Progress = &jobs.Progress{Done: p.Done, Total: p.Total, Note: m.Text(p.Note)}
	}
	report.OutputTail = m.Text(report.OutputTail)
	report.Notes = slices.Clone(report.Notes)
	for i := range report.Notes {
		report.Notes[i] = m.Text(report.Notes[i])
	}
}
