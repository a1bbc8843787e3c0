package runtime

import (
	"slices"
	"sync"

	"nightshift/jobs"
)

// preparedSpecs are what versions execute, their expressions compiled. A pinned spec never changes and
// the store gives the same pointer for it again, so that is the key.
type preparedSpecs struct {
	mu     sync.RWMutex
	bySpec map[*jobs.Spec]*jobs.Prepared
}

const maxPrepared = 4096

func (p *preparedSpecs) of(spec *jobs.Spec) (*jobs.Prepared, error) {
	p.mu.RLock()
	known := p.bySpec[spec]
	p.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := jobs.Prepare(*spec)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySpec == nil || len(p.bySpec) >= maxPrepared {
		p.bySpec = map[*jobs.Spec]*jobs.Prepared{}
	}
	p.bySpec[spec] = made
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
	p, err := r.prepared.of(a.lease.Spec)
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
	report.OutputTail = m.Text(report.OutputTail)
	report.Notes = slices.Clone(report.Notes)
	for i := range report.Notes {
		report.Notes[i] = m.Text(report.Notes[i])
	}
}
