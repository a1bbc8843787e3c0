package storetest

import (
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var alertClaims = []claim{
	{"RunThatFailsForGoodIsToldOnceWithAllThatMatters", toldFailed},
	{"RunThatSucceedsAfterFailuresIsToldAsRecovered", toldRecovered},
	{"FailuresInARowAreCountedByScheduleAndKey", toldByKey},
	{"RunThatIsCancelledOrRetriedIsNotToldOf", func(w *world) {
		w.jobs("a")
		w.enqueueN(3, "a")
		w.apply(w.cancelled(w.takeOne()))
		w.apply(w.retrying(w.takeOne(), time.Hour))
		_, err := w.Cancel(w.ctx, w.enqueue("a", dueIn(time.Hour)).ID, w.by())
		w.check(err)
		w.apply(w.interrupted(w.takeOne()))
		equal(w, "events", eventTypes(w, 0), "")
	}},
	{"RunThatIsMadeFailedIsToldOf", func(w *world) {
		w.jobs("a")
		made := w.enqueue("a", bornFailed, func(s *store.Submission) { s.Run.AlertKeys = []string{"night=x"} })
		e := w.events(0, 9)[0]
		equal(w, "event", words(e.Type, e.Job, e.Run, e.At), words(jobs.EventRunFailed, "a", made.ID, w.now))
		d := dataOf[jobs.RunFailed](w, e)
		equal(w, "data", words(d.Attempts, d.Error.Kind, d.InARow, d.Keys["night=x"]), "0 invalid 1 1")
	}},
	{"SuccessIsToldOnlyWhereAnAlertAsks", func(w *world) {
		w.jobs("a")
		w.enqueueN(2, "a")
		w.succeed(w.takeOne())
		f := w.succeeded(w.takeOne())
		f.Tell = store.Tell{Succeeded: true, Labels: map[string]string{"team": "data"}, CorrelationID: "c-1"}
		told := w.tells(func() { w.apply(f) })
		equal(w, "told", words(told, eventTypes(w, 0)), "true run.succeeded")
		d := dataOf[jobs.RunSucceeded](w, w.events(0, 9)[0])
		equal(w, "data", words(d.Job, d.Run, d.Labels, d.Correlation, d.Attempts), words("a", f.Run, "map[team:data]", "c-1", 1))
	}},
	{"RunOfAnAlertTellsOfNothingButThatItCouldNot", toldUndelivered},
	{"AlertTellsOfWhatHappensAfterItWasMade", func(w *world) {
		w.jobs("a")
		w.alert("early")
		w.failOne("a")
		w.alert("late")
		w.failOne("a")
		since, err := w.AlertsSince(w.ctx)
		w.check(err)
		equal(w, "since", since, map[string]int64{"early": 0, "late": 1})
		w.check(w.DeleteDocument(w.ctx, store.KindAlert, "early", nil, w.by()))
		w.alert("early")
		since, err = w.AlertsSince(w.ctx)
		w.check(err)
		equal(w, "since, made again", since, map[string]int64{"early": 2, "late": 1})
	}},
	{"WhatAlertsDecideIsKeptWholeOrNotAtAll", keptAlerts},
	{"AlertThatIsGoneKeepsNothing", func(w *world) {
		w.jobs("a", "b")
		w.alert("x")
		w.keepAlerts(0, 0, fold("x", jobs.AlertFold, "k", w.now, "{}"))
		f := w.failed(w.leaseOf("a"))
		f.Tell.Keys = []string{"x=1", "y=1"}
		w.apply(f)
		w.check(w.DeleteDocument(w.ctx, store.KindAlert, "x", nil, w.by()))
		w.keepAlerts(0, 0, fold("x", jobs.AlertTold, "k", w.now, "{}"))
		equal(w, "folds", w.dueFolds(w.now.Add(time.Hour)), "")
		f = w.succeeded(w.leaseOf("a"))
		f.Tell.Keys = []string{"x=1", "y=1"}
		w.apply(f)
		equal(w, "keys", dataOf[jobs.RunRecovered](w, w.events(0, 9)[1]).Keys, map[string]int{"y=1": 1})
	}},
	{"DueFoldsComeEarliestFirstAndMoveWithTheClock", func(w *world) {
		w.alert("x")
		w.keepAlerts(0, 0, fold("x", jobs.AlertFold, "b", w.now.Add(2*time.Minute), `{"n":2}`),
			fold("x", jobs.AlertFold, "a", w.now.Add(time.Minute), `{"n":1}`), fold("x", jobs.AlertTold, "c", 0, `{}`))
		equal(w, "due", w.dueFolds(w.now), "")
		_, next, err := w.DueFolds(w.ctx, w.now, 9)
		w.check(err)
		equal(w, "next", next, w.now.Add(time.Minute))
		equal(w, "due", w.dueFolds(w.now.Add(time.Hour)), `a {"n":1}|b {"n":2}`)
		w.tick(time.Hour)
		w.claim(store.Claim{Shift: time.Hour, Hold: true})
		equal(w, "due after the clock was set", w.dueFolds(w.now), "")
		equal(w, "due a minute later", w.dueFolds(w.now.Add(time.Minute)), `a {"n":1}`)
	}},
	{"TellerWhoseJobIsGoneIsUndelivered", func(w *world) {
		w.jobs("a")
		sub := w.sub("nobody", tells(jobs.TellsEvent))
		made, err := w.KeepAlerts(w.ctx, store.AlertStep{Subs: []store.Submission{sub, w.sub("a", tells(jobs.TellsEvent))}, Now: w.now})
		w.check(err)
		equal(w, "made", words(made[0].ID.IsNil(), made[1].State), "true queued")
		e := w.events(0, 9)[0]
		d := dataOf[jobs.AlertUndelivered](w, e)
		equal(w, "event", words(e.Type, e.Subject, d.Alert, d.Job, d.Error.Message), "alert.undelivered alert/x x nobody there is no job nobody any more")
	}},
	{"EventThatHappenedWithoutARunIsKept", func(w *world) {
		w.check(w.Happened(w.ctx, store.Event{At: w.now, Type: jobs.EventDiskLow, Subject: "disk", Data: jobs.Raw(`{"free":1}`)}))
		id, err := w.TestAlert(w.ctx, store.Event{
			At: w.now, Type: jobs.EventRunFailed, Subject: "test", Data: jobs.Raw(`{"test":true}`),
		}, w.by())
		w.check(err)
		equal(w, "events", words(id, eventTypes(w, 0)), "2 disk.low run.failed")
		audit, _, err := w.Audit(w.ctx, store.AuditFilter{}, store.Page{Limit: 1})
		w.check(err)
		equal(w, "audit", words(audit[0].Action, audit[0].Kind, audit[0].Actor), "test alert token tester")
	}},
	{"StreaksOfAJobGoWithIt", func(w *world) {
		w.jobs("a")
		w.failOne("a")
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		w.jobs("a")
		w.succeed(w.leaseOf("a"))
		equal(w, "events", eventTypes(w, 1), "")
	}},
	{"StreaksThatNobodyAddsToGo", func(w *world) {
		w.jobs("a")
		f := w.failed(w.leaseOf("a"))
		f.Tell.Keys = []string{"x=1"}
		w.apply(f)
		w.tick(100 * day)
		prune(w)
		f = w.failed(w.leaseOf("a"))
		f.Tell.Keys = []string{"x=1"}
		w.apply(f)
		list := w.events(0, 9)
		d := dataOf[jobs.RunFailed](w, list[len(list)-1])
		equal(w, "in a row", words(d.InARow, d.Keys["x=1"]), "2 1")
	}},
}

// alert makes the document of one.
func (w *world) alert(name string) {
	w.Helper()
	w.jobs("tell")
	_, err := w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{{
		Kind: store.KindAlert, Name: name, Doc: jobs.Raw(`{"on":["run.failed"],"run":"tell"}`),
	}}}, w.by())
	w.check(err)
}

func (w *world) leaseOf(job string) store.Lease {
	w.Helper()
	w.enqueue(job)
	return w.takeOne()
}

func tells(t jobs.Tells) func(*store.Submission) {
	return func(s *store.Submission) {
		s.Run.Tells, s.Run.Trigger, s.Run.Labels = t, jobs.TriggerAlert, map[string]string{jobs.LabelAlert: "x"}
		s.Run.CorrelationID = "event-1"
	}
}

func eventTypes(w *world, after int64) string {
	var all []string
	for _, e := range w.events(after, 100) {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

func dataOf[T any](w *world, e store.Event) (d T) {
	w.Helper()
	w.check(jobs.DecodeJSON(e.Data, &d))
	return d
}

func fold(alert, sort, key string, at jobs.Time, doc string) store.Fold {
	return store.Fold{FoldKey: store.FoldKey{Alert: alert, Sort: sort, Key: key}, At: at, Doc: jobs.Raw(doc)}
}

func (w *world) keepAlerts(was, cursor int64, folds ...store.Fold) {
	w.Helper()
	_, err := w.KeepAlerts(w.ctx, store.AlertStep{Was: was, Cursor: cursor, Folds: folds, Now: w.now})
	w.check(err)
}

// due are the folds that are due by a time.
func (w *world) dueFolds(at jobs.Time) string {
	w.Helper()
	list, _, err := w.DueFolds(w.ctx, at, 9)
	w.check(err)
	var all []string
	for _, f := range list {
		all = append(all, f.Key+" "+string(f.Doc))
	}
	return strings.Join(all, "|")
}

func toldFailed(w *world) {
	w.jobs("a")
	l := w.leaseOf("a")
	w.apply(w.retrying(l, 0))
	f := w.failed(w.takeOne())
	f.Schedule = "a:night"
	f.Transition.Error = &jobs.Failure{Kind: jobs.FailHTTP, Type: "http", Message: "answered 500", Stack: "at x"}
	f.Tell = store.Tell{Labels: map[string]string{"team": "data"}, CorrelationID: "c-1"}
	told := w.tells(func() { w.apply(f) })
	equal(w, "told", words(told, w.tells(func() { w.claim(store.Claim{Hold: true}) })), "true false")
	list := w.events(0, 9)
	equal(w, "events", len(list), 1)
	equal(w, "event", words(list[0].Type, list[0].Subject, list[0].Job, list[0].Run, list[0].At),
		words("run.failed", "run/"+f.Run.String(), "a", f.Run, w.now))
	equal(w, "data", string(list[0].Data), fmt.Sprintf(`{"job":"a","run":"%s","labels":{"team":"data"},`+
		`"error":{"kind":"http","type":"http","message":"answered 500"},"attempts":2,"correlation_id":"c-1",`+
		`"schedule":"a:night","group":null,"fingerprint":"%s","in_a_row":1}`, f.Run, jobs.Fingerprint("a", f.Transition.Error)))
}

func toldRecovered(w *world) {
	w.jobs("a", "b")
	w.failOne("a")
	first := w.now
	w.tick(time.Minute)
	w.failOne("a")
	w.reopen() // which are known in memory is read anew
	w.tick(time.Minute)
	w.succeed(w.leaseOf("b"))
	l := w.leaseOf("a")
	w.succeed(l)
	w.succeed(w.leaseOf("a"))
	equal(w, "events", eventTypes(w, 0), "run.failed run.failed run.recovered")
	e := w.events(2, 9)[0]
	d := dataOf[jobs.RunRecovered](w, e)
	equal(w, "data", words(e.Run, d.Job, d.Run, d.InARow, d.FirstAt, d.LastAt, d.Attempts),
		words(l.Run.ID, "a", l.Run.ID, 2, first, first.Add(time.Minute), 1))
	equal(w, "in a row", dataOf[jobs.RunFailed](w, w.events(1, 1)[0]).InARow, 2)
	w.failOne("a")
	equal(w, "in a row, anew", dataOf[jobs.RunFailed](w, w.events(3, 1)[0]).InARow, 1)
}

func toldByKey(w *world) {
	w.jobs("a")
	end := func(schedule string, ok bool, keys ...string) store.Event {
		l := w.leaseOf("a")
		f := w.failed(l)
		if ok {
			f = w.succeeded(l)
		}
		f.Schedule, f.Tell.Keys = schedule, keys
		before := w.newestEvent()
		w.apply(f)
		if list := w.events(before, 9); len(list) > 0 {
			return list[0]
		}
		return store.Event{}
	}
	counts := func(e store.Event) string {
		d := dataOf[jobs.RunFailed](w, e)
		return words(d.InARow, d.Keys)
	}
	equal(w, "first", counts(end("", false, "x=1", "y")), "1 map[x=1:1 y:1]")
	equal(w, "another key", counts(end("", false, "x=2", "y")), "2 map[x=2:1 y:2]")
	equal(w, "another schedule", counts(end("a:night", false, "x=1", "y")), "1 map[x=1:1 y:1]")
	e := end("", true, "x=2", "y")
	d := dataOf[jobs.RunRecovered](w, e)
	equal(w, "recovered", words(e.Type, d.InARow, d.Keys), "run.recovered 2 map[x=2:1 y:2]")
	equal(w, "the first key after it", counts(end("", false, "x=1", "y")), "1 map[x=1:2 y:1]")
	end("", true, "x=2", "y")
	e = end("", true, "x=1", "y")
	d = dataOf[jobs.RunRecovered](w, e)
	equal(w, "recovered by its key alone", words(e.Type, d.InARow, d.Keys), "run.recovered 0 map[x=1:2]")
	equal(w, "success after it", end("", true, "x=1", "y").Type, "")
	equal(w, "of the schedule", words(end("a:night", true, "x=1").Type, end("a:night", true).Type), "run.recovered ")
}

func toldUndelivered(w *world) {
	w.lasting("tell", "")
	end := func(t jobs.Tells, f func(store.Lease) store.Finish) {
		w.enqueue("tell", tells(t))
		l := w.takeOne()
		done := f(l)
		done.Tell = store.Tell{Succeeded: true, Keys: []string{"x"}, Labels: l.Run.Labels, CorrelationID: l.Run.CorrelationID}
		w.apply(done)
	}
	end(jobs.TellsEvent, w.failed)
	end(jobs.TellsEvent, w.succeeded)
	end(jobs.TellsUndelivered, w.failed)
	end(jobs.TellsEvent, w.cancelled)
	w.succeed(w.leaseOf("tell")) // which nothing counts as a recovery
	w.enqueue("tell", tells(jobs.TellsEvent))
	l := w.takeOne()
	w.tick(time.Hour)
	told, next := w.tellLong(9)
	equal(w, "takes long", words(told, next), words(0, jobs.Time(0)))
	l.Run.Counts.Interrupts = jobs.InterruptsTold
	w.apply(w.interrupted(l))
	equal(w, "events", eventTypes(w, 0), "alert.undelivered")
	e := w.events(0, 9)[0]
	d := dataOf[jobs.AlertUndelivered](w, e)
	equal(w, "data", words(e.Subject, d.Alert, d.Job, d.Run == e.Run, d.Error.Kind, d.Attempts, d.Correlation),
		words("alert/x", "x", "tell", true, w.run(e.Run).Error.Kind, 1, "event-1"))
}

func keptAlerts(w *world) {
	w.jobs("tell")
	w.alert("x")
	step := store.AlertStep{
		Was: 0, Cursor: 7, Now: w.now, Folds: []store.Fold{fold("x", jobs.AlertFold, "k", w.now, "{}")},
		Subs: []store.Submission{w.sub("tell", tells(jobs.TellsEvent))},
	}
	made, err := w.KeepAlerts(w.ctx, step)
	w.check(err)
	run := w.run(made[0].ID)
	equal(w, "run", words(run.Tells, run.Trigger, run.Labels, run.CorrelationID, run.State),
		words(jobs.TellsEvent, "alert", "map[alert:x]", "event-1", "queued"))
	w.reopen()
	at, err := w.AlertCursor(w.ctx)
	w.check(err)
	equal(w, "cursor", at, 7)
	equal(w, "folds", w.dueFolds(w.now), "k {}")
	step.Folds = []store.Fold{fold("x", jobs.AlertFold, "l", w.now, "{}")}
	step.Subs = []store.Submission{w.sub("tell", tells(jobs.TellsEvent))}
	_, err = w.KeepAlerts(w.ctx, step) // decided by the cursor before
	w.wantErr(err, store.ErrStale)
	equal(w, "folds after a stale step", w.dueFolds(w.now), "k {}")
	runs, _, err := w.Runs(w.ctx, store.RunFilter{Trigger: string(jobs.TriggerAlert)}, store.Page{Limit: 9})
	w.check(err)
	equal(w, "runs that tell", len(runs), 1)
	got, err := w.Folds(w.ctx, []store.FoldKey{{Alert: "x", Sort: jobs.AlertFold, Key: "k"}, {Alert: "x", Sort: jobs.AlertFold, Key: "z"}})
	w.check(err)
	equal(w, "folds by key", words(len(got), got[0].At, string(got[0].Doc)), words(1, w.now, "{}"))
	w.keepAlerts(7, 8, store.Fold{FoldKey: got[0].FoldKey})
	equal(w, "folds that went", w.dueFolds(w.now), "")
}
