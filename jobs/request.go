package jobs

import "time"

// Request asks for a run (contract 3.2). Nil fields fall to the job.
type Request struct {
	Job            string            `json:"job,omitempty"`
	Payload        Raw               `json:"payload,omitempty"` // nil: the job's
	Delay          *Duration         `json:"delay,omitempty"`
	RunAt          Time              `json:"run_at,omitempty"`
	Priority       *int              `json:"priority,omitempty"`
	MaxAttempts    *int              `json:"max_attempts,omitempty"` // a cap on all its failures
	Timeout        *Duration         `json:"timeout,omitempty"`
	CorrelationID  string            `json:"correlation_id,omitempty"` // "": the run's id
	Labels         map[string]string `json:"labels,omitempty"`         // over the job's
	IdempotencyKey string            `json:"idempotency_key,omitempty"`

	Trigger      Trigger `json:"-"`
	Schedule     string  `json:"-"` // with ScheduledFor: of the tick that asks
	ScheduledFor Time    `json:"-"`
	Traceparent  string  `json:"-"`
	Creator      string  `json:"-"` // the token's name
}

// Check finds what is wrong with a request whatever the job is. That the payload is JSON has
// been seen to by DecodeJSON; its size is an error of its own, *TooLargeError.
func (rq *Request) Check() []Fault {
	var f faults
	if rq.Delay != nil && rq.RunAt != 0 {
		f.add("run_at", "give delay or run_at, not both")
	}
	if rq.Priority != nil {
		f.check("priority", CheckPriority(*rq.Priority))
	}
	if n := rq.MaxAttempts; n != nil && (*n < 1 || *n > MaxMaxAttempts) {
		f.add("max_attempts", "must be from 1 to %d; it counts the first attempt", MaxMaxAttempts)
	}
	if d := rq.Timeout; d != nil && (*d <= 0 || d.Std() > MaxTimeout) {
		f.add("timeout", "must be more than 0 and at most 24h")
	}
	if rq.CorrelationID != "" {
		f.check("correlation_id", CheckCorrelationID(rq.CorrelationID))
	}
	if rq.IdempotencyKey != "" {
		f.check("idempotency_key", CheckIdempotencyKey(rq.IdempotencyKey))
	}
	return append(f, CheckLabels("labels", rq.Labels)...)
}

// CheckOfGroup finds what makes no sense where the job is a group.
func (rq *Request) CheckOfGroup() []Fault {
	var f faults
	if rq.MaxAttempts != nil {
		f.add("max_attempts", "a group has one attempt: its members and its merge are tried again by their own jobs")
	}
	if rq.Timeout != nil {
		f.add("timeout", "a group has none: it may have a deadline, and its members' jobs have timeouts")
	}
	return f
}

// NewRun makes the run that a request asks for. The request has been checked.
func NewRun(id ID, rq *Request, job *Job, now Time) *Run {
	run := &Run{
		ID: id, Job: job.Name, OperationID: id, State: Queued, Trigger: rq.Trigger, Queue: job.QueueOf(),
		Payload: rq.Payload, Priority: job.Priority, Labels: mergeLabels(job.Labels, rq.Labels),
		CorrelationID: rq.CorrelationID, Traceparent: rq.Traceparent, IdempotencyKey: rq.IdempotencyKey,
		CreatedBy: rq.Creator, CreatedAt: now, RunAt: now, Schedule: rq.Schedule,
		ScheduledFor: rq.ScheduledFor,
	}
	if run.Payload == nil {
		run.Payload = job.Payload
	}
	if run.Payload == nil {
		run.Payload = Raw("{}")
	}
	if run.CorrelationID == "" {
		run.CorrelationID = id.String()
	}
	if rq.Priority != nil {
		run.Priority = *rq.Priority
	}
	if rq.MaxAttempts != nil {
		run.MaxAttempts = *rq.MaxAttempts
	}
	if rq.Timeout != nil {
		run.Timeout = *rq.Timeout
	}
	switch {
	case rq.Delay != nil:
		run.RunAt = now.Add(rq.Delay.Std())
	case rq.RunAt > now:
		run.RunAt = rq.RunAt
	}
	if run.DueAt = run.RunAt; run.DueAt > now {
		run.State = Scheduled
	}
	return run
}

// mergeLabels puts a run's labels over its job's. Neither is changed.
func mergeLabels(job, run map[string]string) map[string]string {
	if len(run) == 0 {
		return job
	}
	merged := make(map[string]string, len(job)+len(run))
	for k, v := range job {
		merged[k] = v
	}
	for k, v := range run {
		merged[k] = v
	}
	return merged
}

// KeyTTL is how long an idempotency key lives at least.
const KeyTTL = 24 * time.Hour
