package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"nightshift/jobs"
	"nightshift/store"
)

// alerts are those that stand, compiled. A change drops them; the next use reads them again.
type alerts struct {
	mu      sync.RWMutex
	list    []standingAlert
	known   bool
	changes int64         // grows with each change, so that an old read is not kept
	poke    chan struct{} // capacity 1: the loop that tells is to look again
}

// standingAlert is one of them.
type standingAlert struct {
	plan  *jobs.AlertPlan
	since int64 // the event after which it was made
}

func (a *alerts) init() { a.poke = make(chan struct{}, 1) }

func (a *alerts) changed() {
	a.mu.Lock()
	a.list, a.known = nil, false
	a.changes++
	a.mu.Unlock()
	a.wake()
}

func (a *alerts) wake() {
	select {
	case a.poke <- struct{}{}:
	default:
	}
}

// alertsChanged lets the loop that tells read the alerts anew.
func (r *Runtime) alertsChanged() { r.alerts.changed() }

// standingAlerts are the alerts as they stand, by name.
func (r *Runtime) standingAlerts(ctx context.Context) ([]standingAlert, error) {
	a := &r.alerts
	a.mu.RLock()
	list, known, changes := a.list, a.known, a.changes
	a.mu.RUnlock()
	if known {
		return list, nil
	}
	list, err := r.readAlerts(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changes == changes {
		a.list, a.known = list, true
	}
	return list, nil
}

func (r *Runtime) readAlerts(ctx context.Context) (list []standingAlert, err error) {
	since, err := r.store.AlertsSince(ctx)
	if err != nil {
		return nil, fmt.Errorf("read since when alerts stand: %w", err)
	}
	var bad error
	err = store.Each(func(p store.Page) ([]*store.Document, string, error) {
		return r.store.Documents(ctx, store.KindAlert, p)
	}, func(d *store.Document) {
		a, err := alertOf(d)
		if err != nil {
			bad = errors.Join(bad, err)
			return
		}
		list = append(list, standingAlert{r.planAlert(a), since[d.Name]})
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	slices.SortFunc(list, func(x, y standingAlert) int {
		return cmp.Compare(x.plan.Alert.Name, y.plan.Alert.Name)
	})
	return list, nil
}

// planAlert compiles an alert. It compiled when it was saved, by another version perhaps: one that does not
// any more tells of all, for nobody is to wait for it in vain.
func (r *Runtime) planAlert(a *jobs.Alert) *jobs.AlertPlan {
	p, err := jobs.CompileAlert(a)
	if err == nil {
		return p
	}
	r.log.Error("an alert does not compile any more: its if counts as true, its key as none", "alert", a.Name, "error", err)
	plain := *a
	plain.If, plain.Key = "", ""
	if p, err = jobs.CompileAlert(&plain); err != nil {
		panic(err) // there is nothing left to compile
	}
	return p
}

// alertsNow is standingAlerts that tries until ctx ends, where it gives none.
func (r *Runtime) alertsNow(ctx context.Context) (list []standingAlert) {
	_ = r.until(ctx, "alerts", func() (err error) { // the cause is ctx's
		list, err = r.standingAlerts(ctx)
		return err
	})
	return list
}

// tellOf is what the end of a run says to those who watch.
func (r *Runtime) tellOf(run *jobs.Run, state jobs.State, failure *jobs.Failure, job *jobs.Job) store.Tell {
	tell := store.Tell{Labels: run.Labels, CorrelationID: run.CorrelationID, ResolveEarlier: job.ResolveOnSuccess}
	if run.Tells != jobs.TellsNothing || state != jobs.Failed && state != jobs.Succeeded {
		return tell
	}
	var event *jobs.AlertEvent
	for _, a := range r.alertsNow(r.base) { // which never ends
		tell.Succeeded = tell.Succeeded || state == jobs.Succeeded && a.plan.On(jobs.EventRunSucceeded)
		if !a.plan.HasKey() || !a.plan.On(jobs.EventRunFailed) {
			continue
		}
		if event == nil {
			event = jobs.RunEvent(run, state, failure)
		}
		tell.Keys = append(tell.Keys, a.plan.Counts(event))
	}
	return tell
}

// TestAlerts makes a failed run up, of a job or of none (""), and has it told the whole way: an event
// that is marked as a test and counted nowhere. event is its id; alerts are those that would tell of it,
// by name.
func (r *Runtime) TestAlerts(ctx context.Context, job string, by store.By) (event int64, alerts []string, err error) {
	d := jobs.RunFailed{Job: job, Attempts: 1, InARow: 1, Test: true, Error: &jobs.EventError{
		Kind: jobs.FailReported, Type: "Test", Message: "This is a test of the alerts: nothing has failed",
	}}
	subject := "test"
	if job != "" {
		e, err := r.plans.live(ctx, job)
		if err != nil {
			return 0, nil, err
		}
		d.Labels, subject = e.plan.Job.Labels, "job/"+job
	}
	standing, err := r.standingAlerts(ctx)
	if err != nil {
		return 0, nil, err
	}
	by.Now = r.Now()
	e := store.Event{
		At: by.Now, Type: jobs.EventRunFailed, Subject: subject, Job: job, Data: jobs.AppendJSON(nil, &d),
	}
	for _, a := range standing {
		if a.plan.Judge(alertEvent(&e)) != nil {
			alerts = append(alerts, a.plan.Alert.Name)
		}
	}
	event, err = r.store.TestAlert(ctx, e, by)
	if r.wrote(err) != nil {
		return 0, nil, err
	}
	return event, alerts, nil
}

// FailuresTold reports whether an alert tells of failures of at least some jobs.
func (r *Runtime) FailuresTold(ctx context.Context) (bool, error) {
	list, err := r.standingAlerts(ctx)
	return tellOfFailures(list), err
}

func tellOfFailures(list []standingAlert) bool {
	return slices.ContainsFunc(list, func(a standingAlert) bool { return a.plan.On(jobs.EventRunFailed) })
}

// Undelivered counts what alerts were to tell and could not, and that nobody has dealt with, up to 1,000.
// newest is the newest run of them.
func (r *Runtime) Undelivered(ctx context.Context) (n int, newest jobs.ID, err error) {
	return r.store.Undelivered(ctx)
}

// undelivered tells loudly of a run of an alert that failed for good.
func (r *Runtime) undelivered(run *jobs.Run, failure *jobs.Failure) {
	why := ""
	if failure != nil {
		why = failure.Error()
	}
	r.log.Error("AN ALERT COULD NOT BE TOLD: look at its run, mend what it calls and requeue it",
		AboutRun(run, slog.String("alert", run.Labels[jobs.LabelAlert]), slog.String("error", why))...)
}
