package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var sliceClaims = []claim{
	{"BetweenSlicesARunIsRunning", betweenSlices},
	{"NextSliceHasAllThatItsAttemptHas", nextSlice},
	{"GoodSliceStartsTheCountsAnew", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		f := w.retrying(w.takeOne(), 0)
		f.Transition.Counts = jobs.Counts{Number: 1, Charged: 2, Deaths: 3, Budgets: map[string]int{"rule 1": 4}}
		w.apply(f)
		l := w.goOn(w.takeOne(), "1")
		equal(w, "counts", l.Run.Counts, jobs.Counts{Number: 2})
		equal(w, "counts that are kept", w.run(id).Counts, jobs.Counts{Number: 2})
		equal(w, "error of the attempt before", w.run(id).Error.Message, "503 from upstream")
		w.apply(w.retrying(l, 0))
		l = w.takeOne()
		equal(w, "counts of the next attempt", words(l.Run.Counts, l.Run.Slices), words(jobs.Counts{Number: 3, Charged: 1}, 0))
		w.succeed(l)
		equal(w, "slices", words(w.run(id).Attempts[0].Slices, w.run(id).Attempts[1].Slices, w.run(id).Attempts[2].Slices),
			"1 2 1")
		failed := failedRuns(w, "a", 0)
		equal(w, "failed attempts, with their slices",
			words(len(failed), failed[0].Attempts[0].Slices, failed[0].Attempts[1].Slices), "1 1 2")
	}},
	{"RunWithoutAFailureIsNoneForItsSlices", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		l := w.goOn(w.takeOne(), "1")
		bad := w.failOne("a")
		w.apply(w.sliced(l, "2"))
		equal(w, "runs", failedIDs(w, "a", 0), []jobs.ID{bad})
		w.apply(w.retrying(w.takeOne(), 0))
		l = w.goOn(w.takeOne(), "3")
		w.apply(w.sliced(l, "4"))
		runs := failedRuns(w, "a", 0)
		equal(w, "runs, state", words(len(runs), runs[0].ID, runs[0].State), words(2, l.Run.ID, jobs.Running))
	}},
	{"ContinuesAreOfTheOperation", continues},
	{"SlotOfTheJobIsKeptAndTheOthersAreTakenAnew", sliceSlots},
	{"LimitOfOneIsNeverInTheWayOfTheNextSlice", func(w *world) {
		for name, more := range map[string]string{"a": "", "b": `,"key":"payload.k"`} {
			w.put(webhook(name, "", `,"concurrency":{"limit":1`+more+`}`))
			ids := w.enqueueN(2, name, counted("k"))
			l := w.takeThis(ids[0])
			for i := range 3 {
				w.apply(w.sliced(l, fmt.Sprint(i)))
				w.reopen()
				l = w.takeThis(ids[0])
			}
			equal(w, "started beside it", len(w.take(9)), 0)
			w.succeed(l)
			w.succeed(w.takeThis(ids[1]))
		}
	}},
	{"WorkerThatCatchesUpIsGivenBackAndTakenAnew", func(w *world) {
		w.workers = [store.Pools]int{2, 2, 2} // one of each may catch up
		w.jobs("a")
		ids := w.enqueueN(2, "a", catchUp)
		l := w.takeThis(ids[0])
		w.apply(w.sliced(l, "1"))
		first := w.takeOne()
		equal(w, "claimed after that", len(w.take(9)), 0)
		w.succeed(first)
		w.succeed(w.takeOne())
	}},
	{"RateCountsEachSlice", func(w *world) {
		w.put(webhook("a", "", `,"rate":{"limit":2,"per":"1m"}`))
		id := w.enqueue("a").ID
		l := w.goOn(w.takeOne(), "1")
		w.apply(w.sliced(l, "2"))
		equal(w, "claimed", len(w.take(9)), 0)
		equal(w, "state, held by", words(w.state(id), w.waitsFor(id).Kind), words(jobs.Running, jobs.HeldRate))
		w.tick(time.Minute + time.Second)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{id})
	}},
	{"PauseHoldsBetweenSlices", slicePaused},
	{"RestartBetweenSlicesIsNoDeath", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.apply(w.sliced(w.takeOne(), "1"))
		w.tick(time.Second)
		w.reopen()
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		equal(w, "orphans", len(orphans), 0)
		l := w.takeOne()
		equal(w, "lease", words(l.Run.ID, l.Run.Counts, l.Run.Slices, l.Started, string(l.Checkpoint)),
			words(id, jobs.Counts{Number: 1}, 1, start, "1"))
	}},
	{"DeathInASliceEndsItsAttempt", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.goOn(w.goOn(w.takeOne(), "1"), "2")
		w.tick(time.Second)
		w.reopen()
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		o := orphans[0]
		equal(w, "orphan", words(o.Run.ID, o.Run.Slices, o.Run.Continues, o.Started, string(o.Checkpoint)),
			words(id, 2, 2, start, "2"))
		w.apply(w.interrupted(o))
		l := w.takeOne()
		equal(w, "lease", words(l.Run.Counts, l.Run.Slices, l.Run.Continues, l.Started, string(l.Checkpoint)),
			words(jobs.Counts{Number: 2, Deaths: 1, Interrupts: 1}, 0, 2, w.now, "2"))
		r := w.run(id)
		equal(w, "attempts", words(len(r.Attempts), r.Attempts[0].Outcome, r.Attempts[0].Slices, r.Attempts[1].Slices),
			words(2, jobs.OutcomeInterrupted, 3, 1))
	}},
	{"UpgradeLeavesWhatIsBetweenSlices", func(w *world) {
		w.put(webhook("a", "old", ""))
		sliced, held := w.enqueue("a").ID, w.enqueue("a").ID
		for _, l := range w.take(2) {
			w.apply(w.sliced(l, "1"))
		}
		for _, l := range w.take(2) {
			if l.Run.ID == held {
				w.apply(w.held(l, "TOKEN"))
			} else {
				w.apply(w.sliced(l, "2"))
			}
		}
		queued := w.enqueue("a").ID
		w.put(script("a", "true"))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", words(n, w.run(sliced).Version, w.run(held).Version, w.run(queued).Version), "1 1 1 2")
		w.putSecret("TOKEN", []byte("x"))
		equal(w, "kinds", count(kindsOf(w.take(9))), map[string]int{jobs.KindWebhook: 2, jobs.KindScript: 1})
	}},
	{"FoundStandingBetweenSlices", func(w *world) {
		w.jobs("a")
		active, queued := existing(jobs.WhileActive), unique("q", jobs.WhileQueued, jobs.ConflictExisting)
		id := w.free(active, keyed("k", "1"))
		w.apply(w.sliced(w.takeOne(), "1"))
		for _, change := range []func(*store.Submission){active, keyed("k", "1")} {
			out := w.enqueue("a", change)
			equal(w, "answer", words(out.ID, out.State, out.Duplicate), words(id, jobs.Running, true))
		}
		w.cancel(id)
		id = w.free(queued)
		w.apply(w.sliced(w.takeOne(), "1"))
		w.free(queued) // it has started
		_, err := w.Requeue(w.ctx, store.Requeue{Of: id, ID: w.ids.Next(w.now.Std()), By: w.by()})
		w.wantErr(err, store.ErrState)
		w.wantErr(w.Remove(w.ctx, id, w.by()), store.ErrState)
		w.check(w.RunNow(w.ctx, id, w.by()))
		equal(w, "attempts", len(w.run(id).Attempts), 1)
	}},
}

// kindsOf are the sorts of what is executed.
func kindsOf(leases []store.Lease) (kinds []string) {
	for _, l := range leases {
		kinds = append(kinds, l.Spec.Kind())
	}
	return kinds
}

// runsIn are the runs that a list of a state shows.
func (w *world) runsIn(s jobs.State) []jobs.ID {
	w.Helper()
	return runIDs(allRuns(w, store.RunFilter{States: []jobs.State{s}}, 9))
}

func betweenSlices(w *world) {
	w.jobs("a")
	id := w.enqueue("a").ID
	l := w.takeOne()
	w.tick(time.Second)
	w.apply(w.sliced(l, "1"))
	w.tick(time.Second)
	queued := w.enqueue("a").ID
	w.reopen()
	r := w.run(id)
	equal(w, "run", words(r.State, r.HeldBy.Kind, r.Counts, r.AttemptAt, r.StartedAt, r.Slices, r.Continues),
		words(jobs.Running, jobs.HeldWorkers, jobs.Counts{Number: 1}, start, start, 1, 1))
	equal(w, "attempts", diff(r.Attempts, []jobs.Attempt{
		{Number: 1, Version: 1, StartedAt: start, ExitCode: -1, Slices: 1},
	}), "")
	equal(w, "waits for", w.waitsFor(id), &jobs.HeldBy{
		Kind: jobs.HeldWorkers, Name: jobs.KindWebhook, Reason: jobs.WaitsForWorker,
	})
	stats, err := w.Stats(w.ctx)
	w.check(err)
	equal(w, "stats", stats, map[jobs.State]int{jobs.Running: 1, jobs.Queued: 1})
	equal(w, "lists", words(w.runsIn(jobs.Running), w.runsIn(jobs.Queued)), words([]jobs.ID{id}, []jobs.ID{queued}))
	equal(w, "held by in lists", allRuns(w, store.RunFilter{States: []jobs.State{jobs.Running}}, 9)[0].HeldBy != nil, true)
	// What is over is over, and its number names the attempt still.
	w.wantErr(w.finish(w.sliced(l, "1"))[0].Err, store.ErrLease)
	w.wantErr(w.finish(w.succeeded(l))[0].Err, store.ErrLease)

	leases := w.take(9)
	equal(w, "claimed", len(leases), 2)
	next := leases[0]
	equal(w, "lease", words(next.Run.ID, next.Run.Counts.Number, next.Run.Slices, next.Started), words(id, 1, 1, start))
	r = w.run(id)
	equal(w, "run", words(r.State, r.HeldBy == nil, r.Attempts[0].Slices), words(jobs.Running, true, 2))
	w.tick(time.Second)
	w.succeed(next)
	r = w.run(id)
	equal(w, "run", words(r.State, r.Slices, r.Continues, r.StartedAt), words(jobs.Succeeded, 0, 1, start))
	equal(w, "attempts", words(len(r.Attempts), r.Attempts[0].StartedAt, r.Attempts[0].FinishedAt, r.Attempts[0].Slices),
		words(1, start, w.now, 2))
}

func nextSlice(w *world) {
	w.jobs("a")
	w.enqueue("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`[1]`) })
	first := w.takeOne()
	w.check(w.AppendLog(w.ctx, []store.LogPiece{{Run: first.Run.ID, Attempt: 1, Data: []byte("before")}}))
	w.apply(w.retrying(first, 0))
	l := w.takeOne()
	fence := store.Fence{Run: l.Run.ID, Number: 2}
	for i, text := range []string{"one", "two"} {
		f := w.sliced(l, fmt.Sprint(i))
		f.Log = []store.LogPiece{{Run: fence.Run, Attempt: 2, Piece: i, Offset: int64(3 * i), Data: []byte(text)}}
		f.Progress = &jobs.Progress{Done: float64(i)}
		w.check(w.Say(w.ctx, fence, &jobs.Said{Result: jobs.Raw(fmt.Sprint(i))}))
		w.apply(f)
		if i == 0 {
			l = w.takeOne()
		}
	}
	// What is said before the next one starts counts too.
	w.check(w.KeepNotes(w.ctx, []store.Note{{Fence: fence, Progress: &jobs.Progress{Done: 7, Total: 9, Note: "n"}}}, w.now))
	w.check(w.SaveCheckpoint(w.ctx, fence, jobs.Raw(`{"late":1}`), w.now))
	for _, reopened := range []bool{false, true} {
		if reopened {
			w.apply(w.held(l, "TOKEN"))
			w.reopen()
			w.release("TOKEN")
		}
		l = w.takeOne()
		text := ""
		for _, p := range l.Log {
			text += fmt.Sprintf("%d.%d at %d: %s, ", p.Attempt, p.Piece, p.Offset, p.Data)
		}
		equal(w, "output", words(text, l.LogBytes), "2.0 at 0: one, 2.1 at 3: two,  12")
		equal(w, "lease", words(string(l.Checkpoint), string(l.Said.Result), *l.Run.Progress, l.Run.Slices, l.Run.Continues,
			l.Run.Counts, string(l.Run.Payload)),
			words(`{"late":1}`, "1", jobs.Progress{Done: 7, Total: 9, Note: "n"}, 2, 2, jobs.Counts{Number: 2}, "[1]"))
	}
}

func continues(w *world) {
	w.jobs("a")
	slices := func(n int) store.Lease {
		w.Helper()
		l := w.takeOne()
		for range n {
			l = w.goOn(l, "1")
		}
		return l
	}
	want := func(what string, l store.Lease, n int) {
		w.Helper()
		equal(w, "continues "+what, words(l.Run.Continues, w.run(l.Run.ID).Continues), words(n, n))
	}
	first := w.enqueue("a").ID
	w.apply(w.retrying(slices(2), 0))
	l := slices(1)
	want("over attempts", l, 3)
	w.fail(l)
	second := w.requeueSame(first)
	l = slices(1)
	want("over a requeue", l, 4)
	w.apply(w.cancelled(l))
	// The requeue goes, what its receiver has seen stays.
	w.check(w.Remove(w.ctx, second, w.by()))
	third := w.requeueSame(first)
	l = slices(1)
	want("after the removal of a requeue", l, 5)
	w.fail(l)
	w.check(w.Remove(w.ctx, first, w.by()))
	w.requeueSame(third)
	l = slices(0)
	want("after the removal of the first", l, 5)
	w.fail(l)
	reset := w.requeue(l.Run.ID, func(r *store.Requeue) { r.Reset = true })
	l = slices(1)
	want("after a reset", l, 1)
	w.fail(l)
	w.requeue(reset.ID, func(r *store.Requeue) { r.Payload = jobs.Raw("[1]") })
	l = slices(2)
	want("with another payload", l, 2)
	w.succeed(l)
	w.requeueSame(l.Run.ID)
	want("after a success", slices(0), 0)
}
