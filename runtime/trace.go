package runtime

import (
	"cmp"
	"time"

	"nightshift/jobs"
)

// Tracer shows elsewhere what becomes of runs. It waits for nobody, and is told no secret: of a report
// that is not masked yet it passes on no text.
type Tracer interface {
	// Calling gives the trace context that the call of an attempt passes on.
	Calling(run *jobs.Run) (traceparent string)
	// Called tells that this call is over.
	Called(c *TracedCall)
	// Ended tells that an attempt is over and its outcome on disk.
	Ended(run *jobs.Run, a *jobs.Attempt)
}

// TracedCall is a call of an attempt: a webhook's request, a script's process, a mail.
type TracedCall struct {
	Run          *jobs.Run
	Kind         string
	Method, Host string // of a webhook; Host is host:port
	Begun, Ended time.Time
	Report       *jobs.Report // not masked yet
}

// calling is the trace context that an attempt passes on: that of its own call where runs are traced,
// else the one its run was made with.
func (r *Runtime) calling(run *jobs.Run) string {
	if r.cfg.Tracer == nil {
		return run.Traceparent
	}
	return r.cfg.Tracer.Calling(run)
}

func (r *Runtime) called(a *attempt, spec *jobs.Spec, begun time.Time, report *jobs.Report) {
	if r.cfg.Tracer == nil {
		return
	}
	c := &TracedCall{
		Run: a.lease.Run, Kind: spec.Kind(), Host: a.lease.Host, Begun: begun, Ended: time.Now(), Report: report,
	}
	if spec.Webhook != nil {
		c.Method = cmp.Or(spec.Webhook.Method, "POST")
	}
	r.cfg.Tracer.Called(c)
}

// traceEnd tells that an attempt is over.
func (r *Runtime) traceEnd(c *completion) {
	if r.cfg.Tracer != nil {
		r.cfg.Tracer.Ended(c.lease.Run, attemptOf(&c.finish))
	}
}
