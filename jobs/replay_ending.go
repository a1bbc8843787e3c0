package jobs

// EndingOf is the end of a recorded attempt that failed, as far as it is kept, to be decided anew:
// by these rules, with the jitter at its middle. Its counts are left to the caller; of the progress
// that the run had made then nothing is known.
func EndingOf(p *Plan, run *Run, a *Attempt) Ending {
	e := Ending{
		Plan: p, MaxAttempts: run.MaxAttempts, RunAt: run.RunAt, Payload: run.Payload,
		Timeout: run.Timeout.Std(), Now: a.FinishedAt, Random: middle,
		Report: Report{
			Failure: a.Error, HTTPStatus: a.HTTPStatus, ExitCode: a.ExitCode, OutputTail: a.OutputTail,
		},
	}
	if e.Report.Failure == nil {
		e.Report.Failure = &Failure{}
	}
	f := e.Report.Failure
	e.Report.RetryAfterFloor = f.HTTP.floorOf(a.FinishedAt)
	switch said, d := f.Reported, a.Decision; {
	case said != nil:
		e.Report.take(said)
	case d != nil && d.By == ByReported: // kept by a version that did not keep what it said
		e.Report.Retryable = new(d.Action == ActionRetry)
	}
	if a.Decision != nil && a.Decision.By == ByJobDeleted {
		e.Orphaned = true // which no rule changes
	}
	return e
}

// take makes what was kept of a report part of it again.
func (r *Report) take(said *Reported) {
	r.Retryable = said.Retryable
	if said.RetryAfter != nil {
		r.RetryAfter = new(said.RetryAfter.Std())
	}
}

// reported is what is to be kept of what the job said of another try; nil: it said nothing.
func (r *Report) reported() *Reported {
	if r.Retryable == nil && r.RetryAfter == nil {
		return nil
	}
	said := &Reported{Retryable: r.Retryable}
	if r.RetryAfter != nil {
		said.RetryAfter = new(Duration(min(max(*r.RetryAfter, 0), maxReported)))
	}
	return said
}

// watch lets one who decides over and over see what the rules did, and spares them reading the same
// body and payload again. Not safe for concurrent use.
type watch struct {
	notes []string // of the last decision: rules that failed
	dear  string   // a rule that took too long; "": none did
	read  needs
	body  any
	load  any // the payload
}

// next begins with another run, anew with another attempt of it.
func (w *watch) next() { *w = watch{dear: w.dear} }

func (w *watch) anew() { w.read.body, w.body = false, nil }

// lend gives what was read before to new evidence.
func (w *watch) lend(ev *evidence) {
	if w == nil {
		return
	}
	ev.read, ev.facts.HTTP.Body, ev.facts.Payload = w.read, w.body, w.load
}

// saw notes what came of a verdict.
func (w *watch) saw(v *verdict) {
	if w == nil {
		return
	}
	w.read, w.body, w.load = v.ev.read, v.ev.facts.HTTP.Body, v.ev.facts.Payload
	w.notes = v.notes
	if w.dear == "" {
		w.dear = v.dear
	}
}
