package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// alertsAtOnce is how many events, or folds that are due, one step takes in.
	alertsAtOnce = 200
	// alertRest is the longest that the loop sleeps while there are alerts.
	alertRest = time.Minute
)

// alertLoop is the state of the one loop that tells. It reads events as they are kept, decides by what it
// has kept itself what is told of them, and keeps that with the messages and how far it has come in one
// transaction: whatever dies, each is told exactly once.
type alertLoop struct {
	*Runtime
	cursor  int64 // the last event that was taken in; -1: not read yet
	told    bool  // failures are
	looked  bool  // whether they are
	failing bool
}

// tellAlerts runs until the runtime stops. It sleeps until an event is kept, an alert changes or something
// that was folded is due.
func (r *Runtime) tellAlerts() {
	changed, stop := r.hub.watchEvents()
	defer stop()
	l := &alertLoop{Runtime: r, cursor: -1}
	l.sayWhetherTold()
	// The first claim takes in by how much the clock was set while nothing ran.
	select {
	case <-r.synced:
	case <-r.stopping.Done():
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.stopping.Err() == nil {
		wait, err := l.turn()
		if err != nil {
			if wait = retryWrite; !l.failed(err) {
				return
			}
		}
		timer.Reset(wait)
		select {
		case <-changed:
		case <-r.alerts.poke:
		case <-timer.C:
		case <-r.stopping.Done():
		}
	}
}

// sayWhetherTold logs when nobody is told of failures any more, and when somebody is.
func (l *alertLoop) sayWhetherTold() {
	list, err := l.standingAlerts(l.stopping)
	if err != nil {
		return // the turn tells
	}
	told := tellOfFailures(list)
	switch {
	case l.looked && told == l.told:
	case !told:
		l.log.Warn("no alert tells of failures: they are silent", "help", "nightshift alerts setup")
	case l.looked:
		l.log.Info("failures are told by an alert")
	}
	l.told, l.looked = told, true
}

// turn takes in what there is, and says how long nothing else will be due.
func (l *alertLoop) turn() (wait time.Duration, err error) {
	l.sayWhetherTold()
	for {
		list, err := l.standingAlerts(l.stopping)
		if err != nil {
			return 0, err
		}
		if len(list) == 0 {
			return time.Hour, nil
		}
		more, next, err := l.step(list)
		if errors.Is(err, store.ErrStale) {
			l.cursor = -1
			continue
		}
		if err != nil {
			return 0, err
		}
		l.recovered()
		if l.stopping.Err() != nil {
			return 0, nil
		}
		if !more {
			return next, nil
		}
	}
}

// step takes in some events, else some of what is due.
func (l *alertLoop) step(list []standingAlert) (more bool, wait time.Duration, err error) {
	// What is read and what is kept is of the same clock.
	l.clock.moving.RLock()
	defer l.clock.moving.RUnlock()
	if l.cursor < 0 {
		if l.cursor, err = l.store.AlertCursor(l.stopping); err != nil {
			l.cursor = -1
			return false, 0, fmt.Errorf("read how far alerts have come: %w", err)
		}
	}
	d := deciding{alertLoop: l, books: map[string]*jobs.AlertBook{}, plans: map[string]*jobs.AlertPlan{}, now: l.Now()}
	for _, a := range list {
		d.plans[a.plan.Alert.Name] = a.plan
	}
	events, err := l.store.Events(l.stopping, max(l.cursor, earliest(list)), alertsAtOnce)
	if err != nil {
		return false, 0, fmt.Errorf("read events: %w", err)
	}
	if len(events) > 0 {
		if err = d.take(list, events); err == nil {
			err = d.keep(events[len(events)-1].ID)
		}
		return true, 0, err
	}
	due, next, err := l.store.DueFolds(l.stopping, d.now, alertsAtOnce)
	if err != nil {
		return false, 0, fmt.Errorf("read what is to be told: %w", err)
	}
	if len(due) > 0 {
		if err = d.due(due); err == nil {
			err = d.keep(l.cursor)
		}
		return true, 0, err
	}
	wait = alertRest
	if next != 0 {
		wait = min(wait, max(time.Millisecond, next.Sub(d.now))) // by the clock of the store, whatever the wall's shows
	}
	return false, wait, nil
}

// earliest is the event after which the first of the alerts was made.
func earliest(list []standingAlert) int64 {
	first := list[0].since
	for _, a := range list {
		first = min(first, a.since)
	}
	return first
}

// failed waits before the next try where the store cannot be asked; false: the loop is over.
func (l *alertLoop) failed(err error) bool {
	switch {
	case l.stopping.Err() != nil, errors.Is(err, store.ErrClosed):
		return false
	case errors.Is(err, store.ErrUnknown):
		l.log.Error("the database failed under the alerts: the server has to start again", "error", err)
		l.die(err)
		return false
	case !l.failing:
		l.failing = true
		l.log.Error("alerts cannot be told: they are when they can", "error", err)
	}
	return true
}

func (l *alertLoop) recovered() {
	if l.failing {
		l.failing = false
		l.log.Warn("alerts are told again")
	}
}

// deciding is one step.
type deciding struct {
	*alertLoop
	now   jobs.Time
	plans map[string]*jobs.AlertPlan
	books map[string]*jobs.AlertBook // by alert: of those that have something to do
	names []string                   // of these, in the order in which they came up
	gone  []store.Fold               // what is kept for alerts that are gone
}

// book is the book of an alert.
func (d *deciding) book(name string) *jobs.AlertBook {
	b := d.books[name]
	if b == nil {
		b = jobs.NewAlertBook(d.plans[name], d.served.url)
		d.books[name] = b
		d.names = append(d.names, name)
	}
	return b
}

// alertCase is an event and an alert that has something to do with it.
type alertCase struct {
	*jobs.AlertCase
	alert string
}

// take asks the alerts about events.
func (d *deciding) take(list []standingAlert, events []store.Event) error {
	var cases []alertCase
	for i := range events {
		e := alertEvent(&events[i])
		for _, a := range list {
			if e.ID <= a.since {
				continue
			}
			if c := a.plan.Judge(e); c != nil {
				cases = append(cases, alertCase{c, a.plan.Alert.Name})
			}
		}
	}
	err := d.read(func(need func(string, []jobs.AlertKey)) {
		for _, c := range cases {
			need(c.alert, d.book(c.alert).Needs(c.AlertCase))
		}
	})
	if err != nil {
		return err
	}
	for _, c := range cases {
		d.book(c.alert).Take(c.AlertCase, d.now)
	}
	return nil
}

// due does what is to be done by now. What is kept for an alert that is gone goes.
func (d *deciding) due(folds []store.Fold) error {
	for i := range folds {
		if err := d.checkAlert(&folds[i]); err != nil {
			return err
		}
	}
	folds = slices.DeleteFunc(folds, func(f store.Fold) bool { return d.plans[f.Alert] == nil })
	err := d.read(func(need func(string, []jobs.AlertKey)) {
		for i := range folds {
			f := &folds[i]
			need(f.Alert, d.book(f.Alert).NeedsDue(jobs.AlertKey{Sort: f.Sort, Key: f.Key}))
		}
	})
	if err != nil {
		return err
	}
	for i := range folds {
		f := &folds[i]
		d.book(f.Alert).Due(jobs.AlertKey{Sort: f.Sort, Key: f.Key}, d.now)
	}
	return nil
}

// checkAlert lets what is kept for an alert go that is gone. store.ErrStale: it has come since the alerts
// were read.
func (d *deciding) checkAlert(f *store.Fold) error {
	if d.plans[f.Alert] != nil {
		return nil
	}
	_, err := d.store.Document(d.stopping, store.KindAlert, f.Alert)
	if errors.Is(err, store.ErrNotFound) {
		d.gone = append(d.gone, store.Fold{FoldKey: f.FoldKey})
		return nil
	}
	if err == nil {
		d.alertsChanged()
		err = store.ErrStale
	}
	return fmt.Errorf("read alert %s: %w", f.Alert, err)
}

// read reads what is needed, and what that needs in turn.
func (d *deciding) read(ask func(need func(alert string, keys []jobs.AlertKey))) error {
	for {
		var keys []store.FoldKey
		missing := map[store.FoldKey]bool{}
		ask(func(alert string, all []jobs.AlertKey) {
			for _, k := range all {
				key := store.FoldKey{Alert: alert, Sort: k.Sort, Key: k.Key}
				if !missing[key] {
					missing[key] = true
					keys = append(keys, key)
				}
			}
		})
		if len(keys) == 0 {
			return nil
		}
		found, err := d.store.Folds(d.stopping, keys)
		if err != nil {
			return fmt.Errorf("read what alerts have told: %w", err)
		}
		for i := range found {
			f := &found[i]
			delete(missing, f.FoldKey)
			d.books[f.Alert].Read(jobs.AlertMark{AlertKey: jobs.AlertKey{Sort: f.Sort, Key: f.Key}, At: f.At, Doc: f.Doc})
		}
		for key := range missing {
			d.books[key.Alert].Read(jobs.AlertMark{AlertKey: jobs.AlertKey{Sort: key.Sort, Key: key.Key}})
		}
	}
}

// keep makes the runs that tell, and keeps what was decided and how far it has come.
func (d *deciding) keep(cursor int64) error {
	step := store.AlertStep{Was: d.cursor, Cursor: cursor, Now: d.now, Folds: d.gone}
	for _, name := range d.names {
		b := d.books[name]
		for _, m := range b.Changed() {
			step.Folds = append(step.Folds, store.Fold{
				FoldKey: store.FoldKey{Alert: name, Sort: m.Sort, Key: m.Key}, At: m.At, Doc: m.Doc,
			})
		}
		for _, m := range b.Messages() {
			sub, err := d.teller(d.plans[name].Alert, &m)
			if err != nil {
				return err
			}
			step.Subs = append(step.Subs, sub)
		}
	}
	// What was begun is written: only then is it known how far it has come.
	made, err := d.store.KeepAlerts(context.WithoutCancel(d.stopping), step)
	if d.wrote(err) != nil {
		return err
	}
	d.alertLoop.cursor = cursor
	for i := range made {
		d.made(&step.Subs[i], &made[i])
	}
	return nil
}

// teller drafts the run that tells a message.
func (d *deciding) teller(a *jobs.Alert, m *jobs.AlertMessage) (store.Submission, error) {
	job, err := d.Runtime.plans.get(d.stopping, a.Run)
	if err != nil {
		return store.Submission{}, err
	}
	next := d.newRun(&jobs.Request{
		Job: a.Run, Payload: m.Payload, CorrelationID: m.Correlation, Trigger: jobs.TriggerAlert,
		Labels: map[string]string{jobs.LabelAlert: a.Name},
	}, job, d.now)
	next.sub.Unique, next.sub.Run.Tells = nil, m.Tells // it is never folded into another
	next.endAtBirth(next.keys)
	return next.sub, nil
}

// made tells that a run of an alert was made, or could not be.
func (d *deciding) made(sub *store.Submission, made *store.Submitted) {
	switch {
	case made.ID.IsNil():
		d.undelivered(sub.Run, &jobs.Failure{Kind: jobs.FailInvalid, Message: "there is no job " + sub.Run.Job + " any more"})
	default:
		d.hub.changed(made.ID)
		d.metrics.messages.WithLabelValues(d.metrics.alerts.of(sub.Run.Labels[jobs.LabelAlert])).Inc()
		d.bornFailed(sub.Run, "alert", sub.Run.Labels[jobs.LabelAlert])
	}
}

func alertEvent(e *store.Event) *jobs.AlertEvent {
	return &jobs.AlertEvent{
		ID: e.ID, At: e.At, Type: e.Type, Subject: e.Subject, Job: e.Job, Run: e.Run, Data: e.Data,
	}
}
