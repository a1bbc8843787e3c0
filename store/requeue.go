package store

import "nightshift/jobs"

// Requeue asks for a new run in place of an ended one.
type Requeue struct {
	Of      jobs.ID
	ID      jobs.ID // of the new run
	Payload jobs.Raw
	Reset   bool
	Trigger jobs.Trigger
	By      By
	Creator string // the token's name

	RunAt jobs.Time // when the new run is due; zero: now
	Bulk  jobs.ID   // the order that it is of; NilID: none

	Most int // as in Submission

	Keys jobs.Keys // of the new run
	// Unique: a run that stands by it is a *UniqueConflict, whatever it says, but for the run Of
	// itself, from which the new one takes the key over. nil: none.
	Unique *jobs.UniqueRun
}

// Run is the new run that is asked for, in place of the old one: the same operation unless that had
// succeeded, the payload is given or it starts anew.
func (rq *Requeue) Run(old *jobs.Run) *jobs.Run {
	now := rq.By.Now
	run := &jobs.Run{
		ID: rq.ID, Job: old.Job, OperationID: old.OperationID, State: jobs.Queued,
		Trigger: rq.Trigger, Keys: rq.Keys, Payload: old.Payload, Priority: old.Priority,
		Labels: old.Labels, CorrelationID: old.CorrelationID, Traceparent: old.Traceparent,
		CreatedBy: rq.Creator, CreatedAt: now, RunAt: now, DueAt: now,
		Schedule: old.Schedule, ScheduledFor: old.ScheduledFor, RequeuedFrom: rq.Of,
		Tells: old.Tells, Bulk: rq.Bulk,
	}
	if rq.RunAt > now {
		run.State, run.RunAt, run.DueAt = jobs.Scheduled, rq.RunAt, rq.RunAt
	}
	if rq.Payload != nil {
		run.Payload = rq.Payload
	}
	if rq.Payload != nil || rq.Reset || old.State == jobs.Succeeded {
		run.OperationID = rq.ID
	}
	return run
}
