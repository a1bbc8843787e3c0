package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var waitingClaims = []claim{
	{"WaitingRunHoldsItsSlotsButNoWorker", waitingHolds},
	{"EndsOfTheCallbackAreThoseOfAnAttempt", waitingEnds},
	{"CancelOfAWaitingRunEndsItAtOnce", waitingCancelled},
	{"DeletionOfTheJobEndsWhatWaitsForItsCallback", func(w *world) {
		shareAll(w, "a")
		w.enqueue("a", counted("k"))
		l := w.goOn(w.takeOne(), "1")
		w.await(l)
		w.tick(time.Second)
		drainReady(w)
		n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		w.woken()
		r := w.run(l.Run.ID)
		equal(w, "cancelled", words(n, r.State, r.FinishedAt, len(r.Attempts)), words(1, jobs.Cancelled, w.now, 1))
		a := r.Attempts[0]
		equal(w, "attempt", words(a.Outcome, a.Slices, a.FinishedAt, a.Decision.Action, a.Decision.By, a.Decision.Reason),
			words(jobs.OutcomeCancelled, 2, w.now, jobs.ActionCancel, jobs.ByJobDeleted, "the job was deleted"))
		wantAllInUse(w, 0)
		w.wantErr(w.finish(w.succeeded(l))[0].Err, store.ErrLease)
	}},
	{"DeletionOfTheJobLetsTheLineBehindACallbackGo", func(w *world) {
		w.jobs("a", "b")
		w.applyPolicies("", own("x", "a", ""))
		w.nextRun("x")
		w.await(w.takeOne())
		w.applyPolicies("", own("x", "b", ""))
		waits := w.nextRun("x")
		equal(w, "waits", words(w.overlaps(waits), w.run(waits).Job), "true b")
		w.deleteJob("a")
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"LateFinishOfAWaitingRunChangesNothing", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		l := w.takeOne()
		w.await(l)
		before := w.run(id)
		early, late := w.succeeded(l), w.succeeded(l)
		early.Number--
		late.Number++
		for _, f := range []store.Finish{early, late} {
			w.wantErr(w.finish(f)[0].Err, store.ErrLease)
		}
		for _, f := range []store.Finish{w.accepted(l, 2*time.Hour), w.sliced(l, "1"), w.held(l, "TOKEN")} {
			w.wantErr(w.finish(f)[0].Err, store.ErrState)
		}
		equal(w, "run", diff(w.run(id), before), "")
		w.apply(w.retrying(w.callback(l), 0))
		w.wantErr(w.finish(w.succeeded(l))[0].Err, store.ErrLease)
		next := w.takeOne()
		w.wantErr(w.finish(w.succeeded(l))[0].Err, store.ErrLease)
		w.succeed(next)
		equal(w, "state", w.state(id), jobs.Succeeded)
	}},
	{"RunsThatWaitAreListedWithTheirDeadlines", waitingListed},
	{"BreakerHearsThatItWasTakenOnAndHowItEnds", func(w *world) {
		w.share(store.KindDependency, "x", `{"breaker":{"failures":1,"open_for":"1s","max_open":"1s"}}`)
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.enqueue("a")
		w.apply(endsAs(w.failed(w.takeOne()), unavailable))
		w.enqueueN(2, "a")
		w.tick(time.Second)
		probe := w.takeOne()
		equal(w, "claimed while one probes", words(len(w.take(9)), w.phase("x")), words(0, jobs.BreakerProbing))
		w.await(probe)
		equal(w, "phase once it was taken on", w.phase("x"), jobs.BreakerClosed)
		w.tick(time.Second)
		other := w.takeOne()
		w.await(other)
		f := w.failed(w.callback(other))
		f.Signal = jobs.Signal{Kind: jobs.FailReported, Retryable: true}
		w.apply(f)
		equal(w, "phase after its end", w.phase("x"), jobs.BreakerOpen)
	}},
	{"LimitThatComesCountsWhatWaitsForItsCallback", func(w *world) {
		w.put(webhook("a", "", `,"queue":"q","dependencies":["x"]`))
		w.enqueueN(2, "a", counted("k"))
		l := w.takeOne()
		w.await(l)
		shareAll(w, "a")
		wantAllInUse(w, 1)
		equal(w, "claimed", len(w.take(9)), 0)
		w.succeed(w.callback(l))
		wantAllInUse(w, 0)
		equal(w, "claimed", len(w.take(9)), 1)
	}},
	{"FoundStandingAsItWaits", func(w *world) {
		w.jobs("a")
		id := w.free(existing(jobs.WhileActive))
		w.await(w.takeOne())
		out := w.enqueue("a", existing(jobs.WhileActive))
		equal(w, "answer", words(out.ID, out.State), words(id, jobs.Waiting))
		_, err := w.Requeue(w.ctx, store.Requeue{Of: id, ID: w.ids.Next(w.now.Std()), By: w.by()})
		w.wantErr(err, store.ErrState)
		w.wantErr(w.Remove(w.ctx, id, w.by()), store.ErrState)
		w.check(w.RunNow(w.ctx, id, w.by()))
		w.put(webhook("a", "new", ""))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", words(n, w.run(id).Version, w.state(id)), words(0, 1, jobs.Waiting))
		w.tick(1000 * day)
		prune(w)
		equal(w, "state", w.state(id), jobs.Waiting)
	}},
}

func fenceOf(l store.Lease) store.Fence {
	return store.Fence{Run: l.Run.ID, Number: l.Run.Counts.Number}
}

func waitingHolds(w *world) {
	w.workers = [store.Pools]int{2, 2, 2} // one of each may catch up
	shareAll(w, "a")
	w.jobs("b")
	w.share(store.KindDependency, self, `{"concurrency":2}`)
	ids := w.enqueueN(2, "a", counted("k"), catchUp)
	l := w.takeThis(ids[0])
	b := w.enqueue("b", catchUp).ID
	equal(w, "claimed while it has the worker", len(w.take(9)), 0)
	w.tick(time.Second)
	drainReady(w)
	w.await(l)
	w.reopen()
	r := w.run(ids[0])
	equal(w, "run", words(r.State, r.HeldBy == nil, r.DueAt, r.Counts, r.AttemptAt),
		words(jobs.Waiting, true, w.now.Add(time.Hour), jobs.Counts{Number: 1}, start))
	equal(w, "attempts", diff(r.Attempts, []jobs.Attempt{{Number: 1, Version: 1, StartedAt: start, ExitCode: -1, Slices: 1}}), "")
	stats, err := w.Stats(w.ctx)
	w.check(err)
	equal(w, "stats", stats, map[jobs.State]int{jobs.Waiting: 1, jobs.Queued: 2})
	equal(w, "lists", words(w.runsIn(jobs.Waiting), len(w.runsIn(jobs.Running))), words([]jobs.ID{ids[0]}, 0))
	equal(w, "in use", words(w.inUse(jobs.GateQueue, "q"), w.inUse(jobs.GateDependency, "x"), w.inUse(jobs.GateDependency, self)),
		"1 1 1")
	orphans, err := w.Orphans(w.ctx)
	w.check(err)
	equal(w, "orphans", len(orphans), 0)
	other := w.takeThis(b)
	equal(w, "started beside it", len(w.take(9)), 0)
	w.succeed(other)
	// The end gives the slots back.
	w.succeed(w.callback(l))
	wantAllInUse(w, 0)
	w.succeed(w.takeThis(ids[1]))
}

func waitingEnds(w *world) {
	for name, end := range map[string]func(store.Lease) store.Finish{
		"Success": w.succeeded, "Failure": w.failed, "Cancel": w.cancelled, "Interrupt": w.interrupted,
		"Retry": func(l store.Lease) store.Finish { return w.retrying(l, time.Minute) },
	} {
		shareAll(w, "a")
		id := w.enqueue("a", counted("k")).ID
		l := w.goOn(w.takeOne(), "1")
		began := l.Started
		w.apply(w.accepted(l, time.Hour))
		w.tick(time.Second)
		w.reopen()
		f := end(w.callback(l))
		f.Told = store.ToldComplete
		f.Progress = &jobs.Progress{Done: 3}
		w.apply(f)
		r := w.run(id)
		a := r.Attempts[0]
		equal(w, name+": run", words(r.State, *r.Progress, r.Counts, r.AttemptAt, r.Slices),
			words(f.Transition.State, jobs.Progress{Done: 3}, f.Transition.Counts, jobs.Time(0), 0))
		equal(w, name+": attempt", words(len(r.Attempts), a.Outcome, a.StartedAt, a.FinishedAt, a.Slices),
			words(1, f.Transition.Outcome, began, w.now, 2))
		equal(w, name+": result", string(r.Result), string(f.Result))
		over := w.over(fenceOf(l))
		equal(w, name+": over", words(over.State, over.Told), words(r.State, store.ToldComplete))
		wantAllInUse(w, 0)
		if !r.State.Terminal() {
			w.tick(time.Minute)
			next := w.takeOne()
			equal(w, name+": next attempt", words(next.Run.Counts, next.Run.Slices),
				words(jobs.Counts{Number: 2, Charged: f.Transition.Counts.Charged, Deaths: f.Transition.Counts.Deaths, Interrupts: f.Transition.Counts.Interrupts}, 0))
			w.succeed(next)
		}
		w.deleteJob("a")
	}
}

func waitingCancelled(w *world) {
	shareAll(w, "a")
	w.jobs("b")
	ids := w.enqueueN(2, "a", counted("k"))
	l := w.takeThis(ids[0])
	b := w.enqueue("b").ID
	w.await(l)
	w.check(w.Say(w.ctx, fenceOf(l), &jobs.Said{Result: jobs.Raw("1")}))
	equal(w, "claimed", len(w.take(9)), 0)
	w.tick(time.Second)
	drainReady(w)
	out, err := w.Cancel(w.ctx, ids[0], w.by())
	w.check(err)
	equal(w, "state", out.State, jobs.Cancelled)
	w.woken()
	r := w.run(ids[0])
	equal(w, "run", words(r.State, r.FinishedAt, r.CancelRequestedAt, r.AttemptAt),
		words(jobs.Cancelled, w.now, w.now, jobs.Time(0)))
	equal(w, "attempts", diff(r.Attempts, []jobs.Attempt{{
		Number: 1, Version: 1, StartedAt: start, FinishedAt: w.now, Outcome: jobs.OutcomeCancelled, ExitCode: -1, Slices: 1,
		Decision: &jobs.Decision{Action: jobs.ActionCancel, By: jobs.ByCancel, Reason: "cancelled on request"},
	}}), "")
	equal(w, "audit", actions(audit(w)[:1]), fmt.Sprintf("cancel %s ", ids[0]))
	list, err := w.Store.Waiting(w.ctx)
	w.check(err)
	equal(w, "that wait", len(list), 0)
	for _, f := range []store.Finish{w.succeeded(l), w.failed(l), w.cancelled(l)} {
		w.wantErr(w.finish(f)[0].Err, store.ErrLease)
	}
	over := w.over(fenceOf(l))
	equal(w, "over", words(over.State, over.Told), words(jobs.Cancelled, ""))
	w.reopen()
	wantAllInUse(w, 0)
	w.tick(-time.Second)
	equal(w, "claimed", len(w.take(9)), 1) // the host takes one at a time
	equal(w, "states", count([]string{w.state(ids[1]).String(), w.state(b).String()}), map[string]int{"running": 1, "queued": 1})
}

func waitingListed(w *world) {
	w.unbound()
	beat := func(text string) *jobs.Job {
		return document(`{"name":"b","webhook":{"url":"http://127.0.0.1:9/","completion":"callback"` + text + `}}`)
	}
	w.jobs("a")
	w.put(beat(`,"heartbeat_timeout":"30s"`))
	var want []store.WaitingRun
	for i, job := range []string{"b", "a", "b", "a"} {
		w.enqueue(job)
		l := w.takeOne()
		if i == 3 {
			w.apply(w.retrying(l, 0))
			l = w.takeOne()
		}
		w.apply(w.accepted(l, time.Duration(4-i)*time.Hour))
		run := store.WaitingRun{
			Fence: store.Fence{Run: l.Run.ID, Number: max(1, i-1)}, Job: job, Until: w.now.Add(time.Duration(4-i) * time.Hour),
		}
		if job == "b" {
			run.Heartbeat = 30 * time.Second
		}
		want = append(want, run)
	}
	w.put(beat("")) // the runs are of the version before
	listed := func() {
		w.Helper()
		got, err := w.Store.Waiting(w.ctx)
		w.check(err)
		equal(w, "that wait", diff(got, want), "")
	}
	listed()
	retried := w.enqueue("a").ID
	w.apply(w.retrying(w.takeThis(retried), time.Hour))
	w.shift(time.Minute)
	for i := range want {
		want[i].Until = want[i].Until.Add(time.Minute)
	}
	listed()
	w.reopen()
	listed()
	equal(w, "next due", w.nextDue(), w.run(retried).DueAt) // who waits has no claim look
	w.cancel(want[3].Run)
	w.succeed(w.callback(store.Lease{Run: w.run(want[0].Run)}))
	want = want[1:3]
	listed()
}
