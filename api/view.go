package api

import (
	"context"

	"nightshift/api/wire"
	"nightshift/jobs"
)

var rawNull = jobs.Raw("null")

func orRawNull(r jobs.Raw) jobs.Raw {
	if r == nil {
		return rawNull
	}
	return r
}

// viewOf is the view of a run in a list: without payload, result, stack and attempts. limit is
// its max_attempts, nil where nobody knows.
func viewOf(r *jobs.Run, limit *int) wire.Run {
	view := wire.Run{
		ID: r.ID, Job: r.Job, Version: r.Version, OperationID: r.OperationID,
		State: r.State.String(), HeldBy: r.HeldBy, Trigger: string(r.Trigger), Schedule: orNull(r.Schedule),
		ResultTruncated: r.ResultTruncated, LogPruned: r.LogPruned,
		Priority: r.Priority, Queue: r.Queue, Labels: r.Labels,
		CorrelationID: orNull(r.CorrelationID), Traceparent: orNull(r.Traceparent),
		IdempotencyKey: orNull(r.IdempotencyKey), CreatedBy: orNull(r.CreatedBy),
		CreatedAt: r.CreatedAt, RunAt: r.RunAt, ScheduledFor: r.ScheduledFor,
		StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, CancelRequestedAt: r.CancelRequestedAt,
		Attempt: attemptOf(r), MaxAttempts: limit, Progress: r.Progress, Error: r.Error,
		RequeuedFrom: r.RequeuedFrom, RequeuedTo: r.RequeuedTo, Folded: r.Folded,
		Group: r.Group, Member: orNull(r.Member),
	}
	if view.Labels == nil {
		view.Labels = map[string]string{}
	}
	if r.State == jobs.Scheduled || r.State == jobs.Retrying {
		view.NextAttemptAt = r.DueAt
	}
	if r.State == jobs.Waiting {
		view.WaitingUntil = r.DueAt
	}
	return view
}

// attemptOf is the attempt that comes next or is under way, of an ended run the last one: 0
// where none was made.
func attemptOf(r *jobs.Run) int {
	switch {
	case !r.State.Terminal():
		return r.Counts.Attempt()
	case r.Counts.Number == 0:
		return 0
	case r.State == jobs.Failed:
		return max(1, r.Counts.Charged)
	}
	return r.Counts.Attempt()
}

// viewRow is viewOf for a list: stacks are left out.
func viewRow(r *jobs.Run, limit *int) wire.Run {
	view := viewOf(r, limit)
	if r.Error != nil {
		short := *r.Error
		short.Stack = ""
		view.Error = &short
	}
	return view
}

func viewAttempt(a *jobs.Attempt) wire.Attempt {
	view := wire.Attempt{
		Number: a.Number, Version: a.Version, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt,
		Slices: max(1, a.Slices), Error: a.Error, OutputTail: a.OutputTail, Decision: a.Decision,
	}
	if a.FinishedAt == 0 {
		return view
	}
	outcome := a.Outcome.String()
	view.Outcome = &outcome
	if a.HTTPStatus != 0 {
		view.HTTPStatus = &a.HTTPStatus
	}
	if a.ExitCode >= 0 {
		view.ExitCode = &a.ExitCode
	}
	return view
}

// maxAttempts is the run's own, else that of the job as it stands; nil where the job is gone.
func (s *Server) maxAttempts(ctx context.Context, r *jobs.Run) (*int, error) {
	n, err := s.rt.MaxAttempts(ctx, r)
	if err != nil || n == 0 {
		return nil, err
	}
	return &n, nil
}
