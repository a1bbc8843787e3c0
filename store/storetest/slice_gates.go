package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// sliceGateClaims are about runs between two slices: what they hold, and how they end there.
var sliceGateClaims = []claim{
	{"CancelBetweenSlicesEndsAtOnce", sliceCancelled},
	{"DeletionOfTheJobBetweenSlicesEndsIt", func(w *world) {
		shareAll(w, "a")
		w.put(webhook("b", "", `,"queue":"q","dependencies":["x"]`))
		ids := w.enqueueN(2, "a", counted("k"))
		w.apply(w.sliced(w.takeThis(ids[0]), "1"))
		w.tick(time.Second)
		n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		r := w.run(ids[0])
		equal(w, "cancelled", words(n, r.State, len(r.Attempts)), words(2, jobs.Cancelled, 1))
		equal(w, "attempt", words(r.Attempts[0].Outcome, r.Attempts[0].Decision.By, r.Attempts[0].FinishedAt, r.Attempts[0].Slices),
			words(jobs.OutcomeCancelled, jobs.ByJobDeleted, w.now, 1))
		shareAll(w, "a")
		w.reopen()
		w.enqueue("a", counted("k"))
		equal(w, "claimed", len(w.take(9)), 1)
	}},
	{"FinishOfASliceIsRefusedAfterACancelOrDeletion", func(w *world) {
		w.jobs("a", "b")
		a, b := w.enqueue("a").ID, w.enqueue("b").ID
		for _, l := range w.take(9) {
			if l.Run.ID == a {
				w.cancel(a)
			} else {
				w.deleteJob("b")
			}
			for _, f := range []store.Finish{w.sliced(l, "1"), w.accepted(l, time.Hour)} {
				equal(w, "result", w.finish(f)[0],
					store.FinishResult{Err: store.ErrState, CancelAsked: l.Run.ID == a, Orphaned: l.Run.ID == b})
			}
			value, err := w.Checkpoint(w.ctx, l.Run.ID)
			w.check(err)
			equal(w, "state, checkpoint", words(w.state(l.Run.ID), string(value)), words(jobs.Running, ""))
			w.apply(w.cancelled(l))
			w.wantErr(w.finish(w.sliced(l, "1"))[0].Err, store.ErrLease)
		}
	}},
	{"HeldBetweenSlicesItStaysInItsAttempt", func(w *world) {
		w.tick(time.Second)
		shareAll(w, "a")
		ids := w.enqueueN(2, "a", counted("k"))
		l := w.goOn(w.takeThis(ids[0]), "1")
		w.tick(time.Second)
		w.apply(w.held(l, "TOKEN"))
		w.reopen()
		wantAllInUse(w, 0)
		r := w.run(ids[0])
		equal(w, "run", words(r.State, r.HeldBy.Kind, r.HeldBy.Name, r.Counts.Number, r.Slices, r.AttemptAt, r.StartedAt),
			words(jobs.Running, jobs.HeldSecret, "TOKEN", 1, 1, l.Started, l.Started))
		equal(w, "started beside it", len(w.take(9)), 0)
		w.putSecret("TOKEN", []byte("x"))
		next := w.takeThis(ids[0])
		equal(w, "lease", words(next.Run.Counts.Number, next.Run.Slices, next.Started), words(1, 1, l.Started))
		w.apply(w.held(next, "TOKEN"))
		w.cancel(ids[0])
		equal(w, "attempt", words(len(w.run(ids[0]).Attempts), w.run(ids[0]).Attempts[0].Slices), "1 1")
		w.succeed(w.takeThis(ids[1]))
	}},
	{"LimitThatComesBetweenSlicesCountsTheSlotOfTheJobAlone", func(w *world) {
		w.put(webhook("a", "", `,"queue":"q","dependencies":["x"]`))
		ids := w.enqueueN(3, "a", counted("k"))
		l := w.takeThisOf(ids[0], 1)
		w.apply(w.sliced(l, "1"))
		w.pause("a", true, "")
		shareAll(w, "a")
		wantAllInUse(w, 0)
		w.reopen()
		w.pause("a", false, "")
		l = w.takeThis(ids[0])
		wantAllInUse(w, 1)
		w.apply(w.sliced(l, "2"))
		w.dependency(self, 9)
		w.put(webhook("a", "", `,"concurrency":{"limit":2}`)) // another gate, for all keys
		leases := w.take(9)
		equal(w, "claimed", len(leases), 2)
		equal(w, "claimed after that", len(w.take(9)), 0)
		for _, l := range leases {
			w.succeed(l)
		}
		w.succeed(w.takeThis(ids[2]))
	}},
	{"SliceIsJudgedByItsOwnStartNotByThatOfItsAttempt", func(w *world) {
		w.share(store.KindDependency, self, `{"breaker":{"failures":1,"open_for":"1s","max_open":"1s"},"concurrency":null}`)
		w.jobs("a", "b")
		w.enqueue("a")
		l := w.goOn(w.takeOne(), "1")
		w.tick(time.Second)
		w.enqueue("b")
		w.apply(endsAs(w.failed(w.takeOne()), refused))
		w.check(w.Reset(w.ctx, self, w.by()))
		w.tick(time.Second)
		l = w.goOn(l, "2") // of before: the breaker does not hear of it
		began := w.now
		w.tick(time.Second)
		f := endsAs(w.failed(l), refused)
		f.Signal.Started = began
		w.apply(f)
		equal(w, "phase", w.phase(self), jobs.BreakerOpen)
	}},
	{"ReplacedBetweenSlicesOrAsItWaitsItIsCancelledAtOnce", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"replace"`)))
		for _, between := range []func(store.Lease) store.Finish{
			func(l store.Lease) store.Finish { return w.sliced(l, "1") },
			func(l store.Lease) store.Finish { return w.accepted(l, time.Hour) },
		} {
			first := w.nextRun("a:x")
			w.apply(between(w.takeOne()))
			out := w.next("a:x")
			equal(w, "answer", words(out.Cancelled, len(out.Stop)), words([]jobs.ID{first}, 0))
			r := w.run(first)
			equal(w, "run", words(r.State, len(r.Attempts), r.Attempts[0].Outcome, r.Attempts[0].Decision.Reason),
				words(jobs.Cancelled, 1, jobs.OutcomeCancelled, "a newer tick of its schedule took its place"))
			w.succeed(w.takeThis(w.ran(out)))
		}
	}},
	{"NextRunOfItsScheduleWaitsBetweenSlicesAndForTheCallback", func(w *world) {
		l, waits := oneWaits(w)
		l = w.goOn(l, "1")
		w.apply(w.sliced(l, "2"))
		equal(w, "waits between slices", w.overlaps(waits), true)
		l = w.takeThis(l.Run.ID)
		w.await(l)
		equal(w, "waits for the callback", w.overlaps(waits), true)
		w.succeed(w.callback(l))
		w.succeed(w.takeThis(waits))
	}},
}

// takeThisOf is takeThis with n workers.
func (w *world) takeThisOf(id jobs.ID, n int) store.Lease {
	w.Helper()
	leases := w.take(n)
	equal(w, "claimed", idsOf(leases), []jobs.ID{id})
	return leases[0]
}

func sliceCancelled(w *world) {
	shareAll(w, "a")
	ids := w.enqueueN(2, "a", counted("k"))
	l := w.goOn(w.takeThis(ids[0]), "1")
	w.apply(w.sliced(l, "2"))
	equal(w, "started beside it", len(w.takeNone(ids[0])), 0)
	w.tick(time.Second)
	drainReady(w)
	out, err := w.Cancel(w.ctx, ids[0], w.by())
	w.check(err)
	equal(w, "state", out.State, jobs.Cancelled)
	w.woken()
	r := w.run(ids[0])
	equal(w, "run", words(r.State, r.HeldBy == nil, r.FinishedAt, r.CancelRequestedAt, r.AttemptAt, r.Slices, r.Continues),
		words(jobs.Cancelled, true, w.now, w.now, jobs.Time(0), 0, 2))
	equal(w, "attempts", diff(r.Attempts, []jobs.Attempt{{
		Number: 1, Version: 1, StartedAt: start, FinishedAt: w.now, Outcome: jobs.OutcomeCancelled, ExitCode: -1, Slices: 2,
		Decision: &jobs.Decision{Action: jobs.ActionCancel, By: jobs.ByCancel, Reason: "cancelled on request"},
	}}), "")
	for _, f := range []store.Finish{w.succeeded(l), w.sliced(l, "3"), w.cancelled(l)} {
		w.wantErr(w.finish(f)[0].Err, store.ErrLease)
	}
	value, err := w.Checkpoint(w.ctx, ids[0])
	w.check(err)
	equal(w, "checkpoint", string(value), "2")
	w.reopen()
	wantAllInUse(w, 0)
	w.succeed(w.takeThis(ids[1]))
}

// takeNone pauses the job of a run for a claim: what its next slice takes is for others.
func (w *world) takeNone(id jobs.ID) []store.Lease {
	w.Helper()
	job := w.run(id).Job
	w.pause(job, true, "")
	defer w.pause(job, false, "")
	return w.take(9)
}

// sliceSlots looks who may take what a run gives back between its slices.
func sliceSlots(w *world) {
	shareAll(w, "a")
	w.put(webhook("b", "", `,"queue":"q","dependencies":["x"]`))
	ids := w.enqueueN(2, "a", counted("k"))
	l := w.takeThis(ids[0])
	other := w.enqueue("b").ID
	wantAllInUse(w, 1)
	equal(w, "started beside it", len(w.take(9)), 0)
	drainReady(w)
	w.apply(w.sliced(l, "1"))
	wantAllInUse(w, 0)
	w.woken()
	w.tick(-time.Second) // the other is due first
	b := w.takeThis(other)
	w.tick(time.Second)
	wantAllInUse(w, 1)
	equal(w, "started beside the other", len(w.take(9)), 0)
	held := w.waitsFor(ids[0])
	equal(w, "held by", words(w.state(ids[0]), held.Kind, held.Name), words(jobs.Running, jobs.HeldQueue, "q"))
	equal(w, "the next of its key is held by", w.waitsFor(ids[1]).Kind, jobs.HeldQueue)
	w.reopen()
	wantAllInUse(w, 1)
	w.succeed(b)
	equal(w, "the next of its key is held by", w.waitsFor(ids[1]).Kind, jobs.HeldConcurrency)
	l = w.takeThis(ids[0])
	wantAllInUse(w, 1)
	w.apply(w.retrying(l, time.Hour)) // the end of the attempt gives all back
	wantAllInUse(w, 0)
	w.succeed(w.takeThis(ids[1]))
}

func slicePaused(w *world) {
	w.put(webhook("a", "", `,"queue":"q","dependencies":["x"]`))
	id := w.enqueue("a").ID
	l := w.takeOne()
	for _, c := range []struct {
		name, kind string
		pause      func(bool)
	}{
		{"a", jobs.HeldPaused, func(on bool) { w.pause("a", on, "") }},
		{"q", jobs.HeldPaused, func(on bool) { w.check(w.PauseGate(w.ctx, jobs.GateQueue, "q", on, "", w.by())) }},
		{"x", jobs.HeldDependency, func(on bool) { w.check(w.PauseGate(w.ctx, jobs.GateDependency, "x", on, "", w.by())) }},
	} {
		c.pause(true) // what runs goes on
		w.apply(w.sliced(l, c.name))
		equal(w, "claimed", len(w.take(9)), 0)
		held := w.waitsFor(id)
		equal(w, "held by", words(w.state(id), held.Kind, held.Name), words(jobs.Running, c.kind, c.name))
		w.reopen()
		equal(w, "claimed by the next process", len(w.take(9)), 0)
		c.pause(false)
		l = w.takeThis(id)
	}
	equal(w, "lease", words(l.Run.Counts.Number, l.Run.Slices), "1 3")
}
