package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// behind reports whether a run waits for another of its checkpoint key.
func (w *world) behind(id jobs.ID) bool {
	w.Helper()
	held := w.run(id).HeldBy
	return held != nil && held.Kind == jobs.HeldCheckpoint
}

// twoOfAKey makes two runs of a: the first runs, the second waits for it.
func twoOfAKey(w *world) (first store.Lease, waits jobs.ID) {
	w.Helper()
	w.jobs("a")
	w.enqueue("a", batch("k"))
	first = w.takeOne()
	waits = w.enqueue("a", batch("k")).ID
	equal(w, "waits", w.behind(waits), true)
	return first, waits
}

// Runs of a checkpoint key stand in a line.
var batchClaims = []claim{
	{"RunWaitsWhileAnEarlierOneOfItsKeyHasNotEnded", batchWaits},
	{"EachEndLetsTheNextOfTheKeyGo", batchEnds},
	{"WhatIsNoEndLetsNoneOfTheKeyGo", batchStays},
	{"RunsOfAKeyGoInOrderOfCreation", func(w *world) {
		w.jobs("a")
		var want []jobs.ID
		for _, change := range []func(*store.Submission){
			dueIn(0), dueIn(time.Minute), priority(100), dueIn(0), dueIn(2 * time.Hour), priority(-3),
		} {
			want = append(want, w.enqueue("a", batch("k"), change).ID)
			w.tick(time.Second)
		}
		w.tick(time.Hour)
		for i, id := range want {
			if i == 4 {
				// It was made earlier: the last one waits for it, though it is not due.
				equal(w, "claimed", len(w.take(9)), 0)
				equal(w, "states", words(w.state(id), w.state(want[5]), w.behind(want[5])), "scheduled queued true")
				w.tick(time.Hour)
			}
			w.succeed(w.takeThis(id))
		}
	}},
	{"RunOfAKeySaysForWhichItWaits", func(w *world) {
		first, waits := twoOfAKey(w)
		third := w.enqueue("a", batch("k"))
		equal(w, "held by, answered", third.HeldBy, jobs.HeldByCheckpoint("k", jobs.NilID))
		want := jobs.HeldByCheckpoint("k", first.Run.ID)
		w.reopen()
		equal(w, "held by", words(w.waitsFor(waits), w.waitsFor(third.ID)), words(want, want))
		w.pause("a", true, "")
		equal(w, "held by, paused", w.waitsFor(waits), want)
		w.pause("a", false, "")
		w.apply(w.retrying(first, time.Hour))
		equal(w, "held by, retrying", w.waitsFor(waits), want)
		w.cancel(first.Run.ID)
		equal(w, "held by", words(w.waitsFor(waits).Kind, *w.waitsFor(third.ID)),
			words(jobs.HeldWorkers, *jobs.HeldByCheckpoint("k", waits)))
	}},
	{"KeysWithoutAnotherOfTheirJobDoNotWait", func(w *world) {
		w.unbound()
		w.jobs("a", "b")
		for _, key := range []string{"k", "", "=k", "K"} {
			w.enqueue("a", batch(key))
			w.enqueue("b", batch(key))
		}
		w.enqueueN(2, "a")
		equal(w, "claimed", len(w.take(99)), 10)
		equal(w, "claimed of one more each", words(w.behind(w.enqueue("a", batch("")).ID), len(w.take(9))), "true 0")
	}},
	{"NextOfAKeyGoesOnFromWhatTheFailureSaved", func(w *world) {
		first, waits := twoOfAKey(w)
		equal(w, "checkpoint", string(first.Checkpoint), "")
		w.saves(first, "1")
		equal(w, "checkpoints", words(w.saved(first.Run.ID), w.saved(waits)), "1 1")
		f := w.failed(first)
		f.Checkpoint = jobs.Raw("2")
		w.apply(f)
		l := w.takeThis(waits)
		equal(w, "checkpoint", string(l.Checkpoint), "2")
		w.check(w.Remove(w.ctx, first.Run.ID, w.by()))
		w.reopen()
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		equal(w, "checkpoint of the orphan", string(orphans[0].Checkpoint), "2")
		w.succeed(l)
		equal(w, "checkpoint after a success", w.saved(waits), "")
		w.enqueue("a", batch("k"))
		equal(w, "checkpoint of a new batch", string(w.takeOne().Checkpoint), "")
	}},
	{"RunThatIsMadeFailedIsInNobodysWay", func(w *world) {
		first, waits := twoOfAKey(w)
		equal(w, "state", w.state(w.enqueue("a", batch("k"), bornFailed).ID), jobs.Failed)
		w.succeed(first)
		w.succeed(w.takeThis(waits))
		w.enqueue("a", batch("k"), bornFailed)
		equal(w, "waits", w.behind(w.enqueue("a", batch("k")).ID), false)
	}},
	{"RunThatFollowsItsOwnJobGoesBehindThoseThatWait", func(w *world) {
		first, waits := twoOfAKey(w)
		f := w.succeeded(first)
		f.Spawn = []store.Submission{w.follow("a", batch("k"))}
		res := w.finish(f)[0]
		w.check(res.Err)
		next := res.Spawned[0].ID
		equal(w, "waits", words(w.behind(waits), w.behind(next)), "false true")
		w.succeed(w.takeThis(waits))
		w.succeed(w.takeThis(next))
	}},
	{"RequeueOfAKeyWaitsToo", func(w *world) {
		first, waits := twoOfAKey(w)
		w.saves(first, "1")
		w.fail(first)
		l := w.takeThis(waits)
		again := w.requeueSame(first.Run.ID)
		equal(w, "waits", w.behind(again), true)
		w.fail(l)
		l = w.takeThis(again)
		equal(w, "checkpoint", string(l.Checkpoint), "1")
		// A new operation of the same batch goes on from it, unless it starts anew.
		w.fail(l)
		other := w.requeue(again, func(r *store.Requeue) { r.Payload, r.Keys = jobs.Raw("[1]"), l.Run.Keys }).ID
		l = w.takeThis(other)
		equal(w, "checkpoint of another payload", words(l.Run.OperationID, string(l.Checkpoint)), words(other, "1"))
		reset := w.requeue(waits, func(r *store.Requeue) { r.Reset, r.Keys = true, l.Run.Keys }).ID
		equal(w, "what runs keeps what it saved", words(w.behind(reset), w.saved(other)), "true 1")
		w.fail(l)
		w.cancel(reset)
		reset = w.requeue(waits, func(r *store.Requeue) { r.Reset, r.Keys = true, l.Run.Keys }).ID
		equal(w, "checkpoint after a reset", string(w.takeThis(reset).Checkpoint), "")
	}},
	{"ReplacedRunJoinsTheLineOfItsNewKey", batchReplaced},
	{"RunNowOfOneBehindAnotherDropsItsDelayAlone", func(w *world) {
		first, waits := twoOfAKey(w)
		later := w.enqueue("a", batch("k"), dueIn(time.Hour)).ID
		w.check(w.RunNow(w.ctx, waits, w.by()))
		w.check(w.RunNow(w.ctx, later, w.by()))
		equal(w, "held", words(w.state(later), w.behind(waits), w.behind(later)), "queued true true")
		equal(w, "claimed", len(w.take(9)), 0)
		w.succeed(first)
		w.succeed(w.takeThis(waits))
		w.succeed(w.takeThis(later))
	}},
	{"UpgradeLetsNoneOfTheKeyGo", func(w *world) {
		first, waits := twoOfAKey(w)
		later := w.enqueue("a", batch("k"), dueIn(time.Hour)).ID
		w.put(calling("a", byPayload))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", words(n, w.behind(waits), len(w.take(9))), "2 true 0")
		w.put(script("a", "true"))
		_, err = w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		w.succeed(first)
		l := w.takeThis(waits)
		equal(w, "kind", l.Spec.Kind(), jobs.KindScript)
		w.succeed(l)
		w.tick(time.Hour)
		equal(w, "kind", w.takeThis(later).Spec.Kind(), jobs.KindScript)
	}},
	{"DeletionOfTheJobEndsTheLineOfItsKeys", func(w *world) {
		first, waits := twoOfAKey(w)
		later := w.enqueue("a", batch("k"), dueIn(time.Hour)).ID
		w.enqueue("a", batch("other"))
		w.await(w.takeOne())
		n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "cancelled", words(n, w.state(waits), w.state(later)), "3 cancelled cancelled")
		w.jobs("a")
		next := w.enqueue("a", batch("k")).ID
		equal(w, "waits for what runs still", w.behind(next), true)
		equal(w, "waits for what was cancelled", w.behind(w.enqueue("a", batch("other")).ID), false)
		w.fail(first)
		equal(w, "waits", w.behind(next), false)
	}},
	{"SweptLineIsMadeAnew", func(w *world) {
		first, waits := twoOfAKey(w)
		prune(w)
		equal(w, "waits", w.behind(waits), true)
		w.succeed(first)
		prune(w)
		l := w.takeThis(waits)
		third := w.enqueue("a", batch("k")).ID
		equal(w, "waits", w.behind(third), true)
		w.succeed(l)
		w.succeed(w.takeThis(third))
	}},
}

func batchWaits(w *world) {
	w.jobs("a", "b")
	ahead := map[string]func() store.Lease{
		"queued":    func() store.Lease { w.enqueue("a", batch("k")); return store.Lease{} },
		"scheduled": func() store.Lease { w.enqueue("a", batch("k"), dueIn(time.Hour)); return store.Lease{} },
		"running":   func() store.Lease { w.enqueue("a", batch("k")); return w.takeOne() },
	}
	after := func(end func(l store.Lease) store.Finish) func() store.Lease {
		return func() store.Lease {
			w.enqueue("a", batch("k"))
			l := w.takeOne()
			w.apply(end(l))
			return store.Lease{}
		}
	}
	ahead["retrying"] = after(func(l store.Lease) store.Finish { return w.retrying(l, time.Hour) })
	ahead["waiting for its callback"] = after(func(l store.Lease) store.Finish { return w.accepted(l, time.Hour) })
	ahead["between slices"] = after(func(l store.Lease) store.Finish { return w.sliced(l, "1") })
	ahead["held by a secret"] = after(func(l store.Lease) store.Finish { return w.held(l, "TOKEN") })
	for name, make := range ahead {
		l := make()
		first := allRuns(w, store.RunFilter{Job: "a"}, 9)[0].ID
		second, later := w.enqueue("a", batch("k")).ID, w.enqueue("a", batch("k"), dueIn(time.Hour)).ID
		equal(w, name+": waits", words(w.behind(first), w.behind(second), w.state(later)), "false true scheduled")
		w.reopen()
		if name != "queued" && name != "between slices" {
			equal(w, name+": claimed", len(w.take(9)), 0)
		}
		if l.Run == nil {
			w.cancel(first)
		} else {
			w.succeed(l)
		}
		w.succeed(w.takeThis(second))
		w.tick(time.Hour)
		w.succeed(w.takeThis(later))
	}
}

func batchEnds(w *world) {
	w.jobs("a")
	next := w.enqueue("a", batch("k")).ID
	for _, end := range []func(store.Lease){
		func(l store.Lease) { w.succeed(l) },
		func(l store.Lease) { w.fail(l) },
		func(l store.Lease) { w.cancel(l.Run.ID); w.apply(w.cancelled(l)) },
		func(l store.Lease) { w.apply(w.interrupted(l)); w.cancel(l.Run.ID) },
		func(l store.Lease) { w.apply(w.retrying(l, time.Hour)); w.cancel(l.Run.ID) },
		func(l store.Lease) { w.apply(w.held(l, "TOKEN")); w.cancel(l.Run.ID) },
		func(l store.Lease) { w.apply(w.sliced(l, "1")); w.cancel(l.Run.ID) },
		func(l store.Lease) { w.await(l); w.cancel(l.Run.ID) },
		func(l store.Lease) { w.await(l); w.succeed(w.callback(l)) },
		func(l store.Lease) { w.await(l); w.reopen(); w.fail(w.callback(l)) },
		func(store.Lease) {
			w.reopen()
			orphans, err := w.Orphans(w.ctx)
			w.check(err)
			w.fail(orphans[0])
		},
	} {
		l := w.takeThis(next)
		next = w.enqueue("a", batch("k")).ID
		equal(w, "waits", w.behind(next), true)
		drainReady(w)
		end(l)
		equal(w, "waits after the end", w.behind(next), false)
		w.woken()
	}
}

func batchStays(w *world) {
	l, waits := twoOfAKey(w)
	stays := func(what string) {
		w.Helper()
		equal(w, "waits after "+what, w.behind(waits), true)
	}
	w.apply(w.retrying(l, time.Minute))
	stays("a retry")
	equal(w, "claimed", len(w.take(9)), 0)
	w.tick(time.Minute)
	l = w.takeOne()
	stays("the next attempt")
	w.apply(w.held(l, "TOKEN"))
	stays("want of a secret")
	w.putSecret("TOKEN", []byte("x"))
	w.release("TOKEN", "OTHER")
	stays("a release")
	l = w.goOn(w.takeOne(), "1")
	stays("a slice")
	w.await(l)
	stays("an answer that takes it on")
	l = w.callback(l)
	w.apply(w.interrupted(l))
	stays("an interrupt")
	l = w.takeOne()
	third := w.enqueue("a", batch("k")).ID
	w.cancel(third)
	stays("a cancel of one behind it")
	w.cancel(l.Run.ID)
	stays("a cancel that is not done")
	late := w.cancelled(l)
	late.Number--
	w.wantErr(w.finish(late)[0].Err, store.ErrLease)
	stays("a stale end")
	w.pause("a", true, "")
	w.pause("a", false, "")
	stays("pause and resume")
	w.apply(w.cancelled(l))
	w.succeed(w.takeThis(waits))
}

func batchReplaced(w *world) {
	w.unbound()
	w.jobs("a")
	replace := unique("u", jobs.WhileQueued, jobs.ConflictReplace)
	for _, due := range []time.Duration{0, time.Hour} {
		ahead := map[string]store.Lease{}
		w.enqueue("a", batch("one"))
		w.enqueue("a", batch("two"))
		for _, l := range w.take(2) {
			ahead[*l.Run.Keys.Checkpoint] = l
		}
		id := w.enqueue("a", batch("one"), replace, dueIn(due)).ID
		third := w.enqueue("a", batch("one")).ID
		to := func(what string, held bool, change ...func(*store.Submission)) {
			w.Helper()
			out := w.enqueue("a", append(change, replace)...)
			equal(w, "replaced", words(out.ID, out.Replaced), words(id, true))
			w.reopen()
			equal(w, "waits, "+what, words(w.behind(id), w.behind(third)), words(held && due == 0, true))
		}
		to("behind another of its new key", true, batch("two"))
		to("alone with its key", false, batch("three"))
		other := w.enqueue("a", batch("three")).ID
		equal(w, "waits", w.behind(other), true)
		to("without a key", false)
		equal(w, "waits no more", w.behind(other), false)
		w.cancel(other)
		to("in another lane", false, batch("three"), counted("x"))
		to("back where it was", true, batch("one"))
		w.succeed(ahead["two"])
		equal(w, "claimed", len(w.take(9)), 0)
		w.succeed(ahead["one"])
		w.tick(due)
		w.succeed(w.takeThis(id)) // it was made before the third
		w.succeed(w.takeThis(third))
	}
}
