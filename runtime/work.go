package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// worker executes attempts one after another. It is kept, so that its stack is grown once.
func (r *Runtime) worker(leases <-chan store.Lease) {
	for l := range leases {
		a := r.active.get(l.Run.ID)
		if l.Group != nil {
			r.ends.add(r.startGroup(a))
			continue
		}
		report, held := r.execute(a)
		now, basis := r.clock.now()
		a.cancel(nil)
		c := completion{attempt: a, outcome: outcome{lease: l, report: report, limit: a.limit}, basis: basis}
		if held != "" {
			c.finish = heldFinish(&l, held, now)
		} else {
			c.judge(a.seal())
			c.took, c.left = time.Since(a.begun), time.Until(a.deadline)
			c.finish = r.decide(&c.outcome, now, forced{})
		}
		c.finish.Log = a.output.fresh()
		r.ends.add(c)
	}
}

// heldFinish is the end of an attempt of which nothing was executed, for want of a secret.
func heldFinish(l *store.Lease, held string, now jobs.Time) store.Finish {
	return store.Finish{
		Run: l.Run.ID, Number: l.Run.Counts.Number, Job: l.Run.Job, Host: l.Host, Now: now, Held: held,
		Schedule: l.Run.Schedule, Slices: l.Run.Slices + 1, Signal: jobs.Signal{Void: true},
	}
}

// execute runs one attempt to its end, whatever the kind does. held is the secret for want of which
// nothing was executed.
func (r *Runtime) execute(a *attempt) (report jobs.Report, held string) {
	var l launch
	defer func() {
		if p := recover(); p != nil {
			text := l.mask.Text(fmt.Sprint(p))
			r.log.Error("a kind panicked", append(runAttrs(a.lease), "panic", text, "stack", string(debug.Stack()))...)
			report = jobs.Report{ExitCode: -1, Failure: &jobs.Failure{
				Kind: jobs.FailSpawn, Type: "panic", Message: "the server failed to execute it: " + text,
			}}
		}
	}()
	if a.toldBefore() {
		return jobs.Report{ExitCode: -1}, ""
	}
	plan, err := r.planOf(a.ctx, a.lease.Run.Job)
	if err != nil {
		return jobs.Report{ExitCode: -1, Stopped: err}, ""
	}
	if a.lease.Merges {
		failure, err := r.compose(a)
		if failure != nil || err != nil {
			return jobs.Report{ExitCode: -1, Failure: failure, Stopped: err}, ""
		}
	}
	l, held, failure := r.render(a, plan.plan.Job)
	if held != "" {
		return jobs.Report{ExitCode: -1}, held
	}
	a.use(l.mask)
	if failure != nil {
		return jobs.Report{ExitCode: -1, Failure: failure}, ""
	}
	return r.call(a, plan.plan, &l), ""
}

// call hands the attempt to its kind.
func (r *Runtime) call(a *attempt, plan *jobs.Plan, l *launch) jobs.Report {
	run, kind := a.lease.Run, r.cfg.Kinds[a.lease.Spec.Kind()]
	if kind == nil {
		return jobs.Report{ExitCode: -1, Failure: &jobs.Failure{
			Kind: jobs.FailSpawn, Type: "kind", Message: "this server executes no " + a.lease.Spec.Kind() + " jobs",
		}}
	}
	begun := time.Now()
	a.limit = timeoutOf(run, plan)
	a.deadline = begun.Add(a.limit)
	ctx, cancel := context.WithDeadlineCause(a.ctx, begun.Add(a.limit), jobs.ErrTimeout)
	defer cancel()
	r.started(a)
	token := r.CallbackToken(a.fence)
	veiled := &veil{w: a.output, token: []byte(token)}
	log := l.mask.Writer(veiled)
	report := kind.Run(ctx, &jobs.Call{
		Spec: *l.Spec, Fresh: l.Fresh, Run: run.ID, Job: run.Job, Operation: run.OperationID,
		Number: run.Counts.Number, Attempt: run.Counts.Attempt(), MaxAttempts: plan.MaxAttempts(run.MaxAttempts),
		Deadline: a.deadline, ScheduledFor: run.ScheduledFor, CatchUp: run.Trigger == jobs.TriggerCatchUp,
		CorrelationID: run.CorrelationID, Traceparent: r.calling(run), Payload: run.Payload, Checkpoint: a.lease.Checkpoint, Body: l.Body,
		Judge: l.Judge, BodySecret: l.BodySecret, Mask: l.mask, Kill: a.kill, Log: log, Continues: run.Continues,
		CallbackURL: r.served.callback(run.ID, a.lease.Spec.Kind()), CallbackToken: token,
		Results: r.resultsOf(a),
		Say:     func(n *jobs.Note) string { return r.hear(a.underway, n) },
	})
	_ = log.Flush() // the output never fails
	veiled.flush()
	r.called(a, l.Spec, begun, &report)
	return report
}

// timeoutOf is what one attempt of a run may take, or one of its slices.
func timeoutOf(run *jobs.Run, plan *jobs.Plan) time.Duration {
	if run.Timeout > 0 {
		return run.Timeout.Std()
	}
	return plan.Job.TimeoutOf()
}

// planOf reads a job as it stands. Where the store cannot be read it tries until ctx ends, and then
// gives the cause: an attempt must not fail for that, nor be decided about by other rules.
func (r *Runtime) planOf(ctx context.Context, job string) (*planned, error) {
	if e, err := r.plans.get(ctx, job); err == nil {
		return e, nil
	}
	var e *planned
	err := r.until(ctx, "job "+job, func() (err error) {
		e, err = r.plans.get(ctx, job)
		return err
	})
	return e, err
}

// outcome is what came of an attempt, as far as what becomes of its run depends on it.
type outcome struct {
	lease  store.Lease
	report jobs.Report
	said   jobs.Said     // that the report has heard
	limit  time.Duration // that it had; 0: it was not begun with
	took   time.Duration // its request, or process
	left   time.Duration // until its callback is to have come, where it waits for one from now on
	waited bool          // it has waited for one
	saved  bool          // it has saved a checkpoint that the lease does not know of
	group  *grouping     // of a group; nil: it is none
}

// judge makes what the attempt has said part of its report, and masks what would be kept of secrets.
func (o *outcome) judge(j judged) {
	o.said, o.saved = j.said, j.saved
	o.report.Hear(&o.said, j.callsBack)
	if o.report.Progress == nil { // else that came with the answer, last
		o.report.Progress = j.progress
	}
	if o.report.Checkpoint == nil {
		o.report.Checkpoint = j.checkpoint
	}
	if err := jobs.CheckCheckpoint(o.report.Checkpoint); err != nil {
		o.report.Checkpoint, o.report.Notes = nil, append(o.report.Notes, "not saved: "+err.Error())
	}
	hide(j.mask, &o.report)
}

// forced is what the store knew better than the decision.
type forced struct{ cancel, orphan, lost bool }

// decide asks jobs.Decide and makes of it what the store is to apply.
func (r *Runtime) decide(o *outcome, now jobs.Time, f forced) store.Finish {
	run, report := o.lease.Run, o.report
	e, _ := r.planOf(r.base, run.Job) // which never ends
	progress := run.Progress
	if report.Progress != nil {
		progress = report.Progress
	}
	t, ok := o.group.transition(o, f, f.orphan || e.deleted)
	if !ok {
		t = jobs.Decide(jobs.Ending{
			Plan: e.plan, Counts: run.Counts, MaxAttempts: run.MaxAttempts, RunAt: run.RunAt,
			CancelAsked: f.cancel || errors.Is(report.Stopped, jobs.ErrCancelled),
			Orphaned:    f.orphan || e.deleted,
			Report:      report, Checkpoint: o.lease.Checkpoint, Continues: run.Continues, Payload: run.Payload, Progress: progress,
			Timeout: o.limit, Lost: f.lost, Saved: o.saved, Now: now, Random: jitter(), Tells: run.Tells,
		})
	}
	finish := store.Finish{
		Run: run.ID, Number: run.Counts.Number, Job: run.Job, Host: o.lease.Host, Schedule: run.Schedule,
		Queue: e.plan.Job.QueueOf(), Version: run.Version, Priority: run.Priority, Started: o.lease.Started, Now: now,
		HTTPStatus: report.HTTPStatus, ExitCode: report.ExitCode, OutputTail: report.OutputTail, Transition: t,
		Checkpoint: report.Checkpoint, Progress: report.Progress, Slices: run.Slices + 1, CheckpointKey: run.Keys.Checkpoint,
		Told: told(&o.said, &t), Links: store.LinksOf(run), Tell: r.tellOf(run, t.State, t.Error, e.plan.Job),
	}
	finish.Signal = jobs.SignalOf(&report)
	finish.Signal.Ended = finish.Signal.Ended || f != forced{} || o.group != nil
	switch {
	case o.waited:
		finish.Signal.HTTPStatus = 0 // that answer was heard when it came
	case run.Slices > 0:
		finish.Signal.Started = now.Add(-o.took) // not those before it
	}
	switch {
	case t.State == jobs.Waiting && o.group != nil:
		finish.Group = o.group.startAt(now)
	case t.State == jobs.Waiting:
		finish.Until = now.Add(o.left)
	case t.State == jobs.Succeeded:
		finish.Result, finish.Truncated = report.Result, report.ResultTruncated
		finish.Spawn = r.followUps(o.lease, e.plan, report.Result, now)
	}
	return finish
}

// told is the call of an attempt that its outcome comes from, "" where it comes from none.
func told(said *jobs.Said, t *jobs.Transition) string {
	switch {
	case said.Failed() && t.Error != nil && t.Error.Kind == jobs.FailReported:
		return store.ToldFail
	case said.Complete && t.Outcome == jobs.OutcomeSucceeded:
		return store.ToldComplete
	}
	return ""
}

// runAttrs are those of the run that is executed.
func runAttrs(l store.Lease) []any { return AboutRun(l.Run) }

// AboutRun are the attributes that every line about a run has, and what follows: attempt 0 is before its first.
func AboutRun(run *jobs.Run, more ...any) []any {
	return append([]any{
		slog.String("job", run.Job), slog.String("run", run.ID.String()), slog.Int("attempt", run.Counts.Number),
		slog.String("operation", run.OperationID.String()), slog.String("correlation_id", run.CorrelationID),
	}, more...)
}
