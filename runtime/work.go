package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// attempt is one execution under way.
type attempt struct {
	lease    store.Lease
	output   *output
	deadline time.Time
	ctx      context.Context
	cancel   context.CancelCauseFunc
	kill     chan struct{}
	killed   sync.Once
	grace    time.Duration // of a script, between TERM and KILL
}

// stop ends the attempt for a cause; the kind may take its grace.
func (a *attempt) stop(cause error) { a.cancel(cause) }

// hardStop ends it without grace.
func (a *attempt) hardStop() { a.killed.Do(func() { close(a.kill) }) }

// actives are the attempts under way, by run.
type actives struct {
	mu    sync.Mutex
	byRun map[jobs.ID]*attempt
}

func (s *actives) init() { s.byRun = map[jobs.ID]*attempt{} }

func (s *actives) add(a *attempt) {
	s.mu.Lock()
	s.byRun[a.lease.Run.ID] = a
	s.mu.Unlock()
}

func (s *actives) get(id jobs.ID) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byRun[id]
}

// remove forgets an attempt that is over. The next one of its run may be under way already.
func (s *actives) remove(c completion) {
	if c.attempt == nil {
		return
	}
	s.mu.Lock()
	if s.byRun[c.lease.Run.ID] == c.attempt {
		delete(s.byRun, c.lease.Run.ID)
	}
	s.mu.Unlock()
	c.attempt.output.close()
}

func (s *actives) all() []*attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*attempt, 0, len(s.byRun))
	for _, a := range s.byRun {
		list = append(list, a)
	}
	return list
}

func (s *actives) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byRun)
}

// launch hands a run to a worker; the channel has room for every worker.
func (d *dispatcher) launch(pool store.Pool, l store.Lease) {
	d.active.add(d.newAttempt(l))
	d.leases[pool] <- l
}

func (r *Runtime) newAttempt(l store.Lease) *attempt {
	a := &attempt{lease: l, output: newOutput(l), kill: make(chan struct{}), grace: jobs.DefaultGrace}
	a.ctx, a.cancel = context.WithCancelCause(r.base)
	if l.Spec.Script != nil && l.Spec.Script.Grace != nil {
		a.grace = l.Spec.Script.Grace.Std()
	}
	return a
}

// worker executes attempts one after another. It is kept, so that its stack is grown once.
func (r *Runtime) worker(leases <-chan store.Lease) {
	for l := range leases {
		a := r.active.get(l.Run.ID)
		report, held := r.execute(a)
		now := r.Now()
		a.cancel(nil)
		finish := store.Finish{Run: l.Run.ID, Number: l.Run.Counts.Number, Now: now, Held: held}
		if held == "" {
			finish = r.decide(l, report, now, forced{})
		}
		finish.Log = a.output.fresh()
		r.ends.add(completion{attempt: a, lease: l, report: report, finish: finish})
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
	plan, err := r.planOf(a.ctx, a.lease.Run.Job)
	if err != nil {
		return jobs.Report{ExitCode: -1, Stopped: err}, ""
	}
	l, held, failure := r.render(a, plan.plan.Job)
	if held != "" || failure != nil {
		l.mask.Failure(failure)
		return jobs.Report{ExitCode: -1, Failure: failure}, held
	}
	return r.call(a, plan.plan, &l), ""
}

// call hands the attempt to its kind. What comes out is masked before anything of it is kept.
func (r *Runtime) call(a *attempt, plan *jobs.Plan, l *launch) jobs.Report {
	run, kind := a.lease.Run, r.cfg.Kinds[a.lease.Spec.Kind()]
	if kind == nil {
		return jobs.Report{ExitCode: -1, Failure: &jobs.Failure{
			Kind: jobs.FailSpawn, Type: "kind", Message: "this server executes no " + a.lease.Spec.Kind() + " jobs",
		}}
	}
	timeout := run.Timeout.Std()
	if timeout <= 0 {
		timeout = plan.Job.TimeoutOf()
	}
	a.deadline = time.Now().Add(timeout)
	ctx, cancel := context.WithDeadlineCause(a.ctx, a.deadline, jobs.ErrTimeout)
	defer cancel()
	r.started(a)
	log := l.mask.Writer(a.output)
	report := kind.Run(ctx, &jobs.Call{
		Spec: *l.Spec, Fresh: l.Fresh, Run: run.ID, Job: run.Job, Operation: run.OperationID,
		Number: run.Counts.Number, Attempt: run.Counts.Attempt(), MaxAttempts: plan.MaxAttempts(run.MaxAttempts),
		Deadline: a.deadline, ScheduledFor: run.ScheduledFor, CorrelationID: run.CorrelationID,
		Traceparent: run.Traceparent, Payload: run.Payload, Checkpoint: a.lease.Checkpoint, Body: l.Body,
		Judge: l.Judge, BodySecret: l.BodySecret, Mask: l.mask, Kill: a.kill, Log: log,
	})
	_ = log.Flush() // the output never fails
	hide(l.mask, &report)
	return report
}

// planOf reads a job as it stands. Where the store cannot be read it tries until ctx ends, and then
// gives the cause: an attempt must not fail for that, nor be decided about by other rules.
func (r *Runtime) planOf(ctx context.Context, job string) (*planned, error) {
	for told := false; ; {
		e, err := r.plans.get(ctx, job)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !told {
			told = true
			r.log.Error("a job cannot be read: tried until it can", "job", job, "error", err)
		}
		select {
		case <-time.After(retryWrite):
		case <-ctx.Done():
		}
	}
}

// forced is what the store knew better than the decision.
type forced struct{ cancel, orphan, lost bool }

// decide asks jobs.Decide and makes of it what the store is to apply.
func (r *Runtime) decide(l store.Lease, report jobs.Report, now jobs.Time, f forced) store.Finish {
	run := l.Run
	e, _ := r.planOf(r.base, run.Job) // which never ends
	counts := run.Counts
	t := jobs.Decide(jobs.Ending{
		Plan: e.plan, Counts: counts, MaxAttempts: run.MaxAttempts, RunAt: run.RunAt,
		CancelAsked: f.cancel || errors.Is(report.Stopped, jobs.ErrCancelled),
		Orphaned:    f.orphan || e.deleted,
		Report:      report, Payload: run.Payload, Progress: run.Progress,
		Timeout: run.Timeout.Std(), Lost: f.lost, Now: now, Random: jitter(),
	})
	finish := store.Finish{
		Run: run.ID, Number: counts.Number, Job: run.Job, Queue: e.plan.Job.QueueOf(), Version: run.Version,
		Priority: run.Priority, Started: l.Started, Now: now, HTTPStatus: report.HTTPStatus,
		ExitCode: report.ExitCode, OutputTail: report.OutputTail, Transition: t,
	}
	finish.Checkpoint = report.Checkpoint
	if t.State == jobs.Succeeded {
		finish.Result, finish.Truncated = report.Result, report.ResultTruncated
		finish.Spawn = r.followUps(l, e.plan, report.Result, now)
	}
	return finish
}

// runAttrs are what every line about a run carries.
func runAttrs(l store.Lease) []any {
	return []any{
		slog.String("job", l.Run.Job), slog.String("run", l.Run.ID.String()), slog.Int("attempt", l.Run.Counts.Number),
		slog.String("operation", l.Run.OperationID.String()), slog.String("correlation", l.Run.CorrelationID),
	}
}
