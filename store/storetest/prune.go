package storetest

import (
	"errors"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// prune goes through all once, in small steps.
func prune(w *world) {
	w.Helper()
	for range 100_000 {
		out, err := w.Prune(w.ctx, store.PruneStep{Now: w.now, Limit: 7})
		w.check(err)
		if out.Done {
			return
		}
	}
	w.Fatal("pruning does not come to an end")
}

const day = 24 * time.Hour

var pruneClaims = []claim{
	{"RetentionIsByState", pruneStates},
	{"WhatHasNotEndedStays", func(w *world) {
		w.jobs("a")
		w.enqueueN(2, "a")
		w.apply(w.retrying(w.takeOne(), 1000*day))
		running := w.takeOne().Run.ID
		w.enqueue("a", dueIn(900*day))
		w.pause("a", true, "")
		w.enqueue("a")
		w.tick(500 * day)
		prune(w)
		stats, err := w.Stats(w.ctx)
		w.check(err)
		equal(w, "left", stats, map[jobs.State]int{
			jobs.Scheduled: 1, jobs.Queued: 1, jobs.Running: 1, jobs.Retrying: 1,
		})
		equal(w, "running", w.state(running), jobs.Running)
	}},
	{"OpenFailureStaysForEver", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.tick(3000 * day)
		prune(w)
		equal(w, "state", w.state(id), jobs.Failed)
	}},
	{"FailureIsKeptFromWhenItWasDealtWith", pruneDealtWith},
	{"FailureWhoseRequeueWasCancelledIsOpen", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.tick(day)
		_, err := w.Cancel(w.ctx, w.requeue(id).ID, w.by())
		w.check(err)
		w.tick(10 * day) // the requeue is pruned
		prune(w)
		w.tick(3000 * day)
		prune(w)
		r := w.run(id)
		equal(w, "run", words(r.State, r.RequeuedTo.IsNil()), words(jobs.Failed, true))
	}},
	{"FailureWhoseRequeueFailedIsKeptWithIt", pruneChain},
	{"FailureWhoseRequeueWasRemovedIsOpen", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		next := w.requeue(id)
		w.fail(w.takeOne())
		w.check(w.Remove(w.ctx, next.ID, w.by()))
		w.tick(3000 * day)
		prune(w)
		equal(w, "state", w.state(id), jobs.Failed)
	}},
	{"RetentionIsOfTheJobAsItStands", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.drain()
		w.tick(2 * time.Hour)
		prune(w)
		w.run(id)
		w.put(webhook("a", "", `,"retain":{"succeeded":"1h"}`))
		prune(w)
		_, err := w.Run(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
	}},
	{"RunsOfADeletedJobArePruned", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		w.tick(8 * day)
		prune(w)
		_, err = w.Run(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
	}},
	{"ClockThatWasAheadKeepsNothingForEver", func(w *world) {
		w.jobs("a")
		w.tick(3650 * day)
		id := w.enqueue("a").ID
		w.tick(-3650 * day)
		w.drain()
		w.tick(8 * day)
		prune(w)
		_, err := w.Run(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
	}},
	{"FloorDoesNotFall", func(w *world) {
		w.put(webhook("a", "", `,"retain":{"succeeded":"1s"}`))
		ids := w.enqueueN(20, "a")
		w.drain()
		w.tick(time.Hour)
		prune(w)
		floor, err := w.Floor(w.ctx)
		w.check(err)
		equal(w, "floor", floor, ids[19].Seq())
	}},
	{"OldAuditIsPruned", func(w *world) {
		w.jobs("a")
		w.tick(89 * day)
		w.jobs("b")
		prune(w)
		equal(w, "audit", actions(audit(w)), "put b , put a ")
		w.tick(2 * day)
		prune(w)
		equal(w, "audit", actions(audit(w)), "put b ")
	}},
	{"MuchOldAuditIsPrunedInOneRound", func(w *world) {
		for i := range 30 {
			w.check(w.Note(w.ctx, w.by(), "test", "server", fmt.Sprint(i)))
		}
		w.tick(91 * day)
		prune(w)
		equal(w, "audit", actions(audit(w)), "")
	}},
	{"WhatStaysIsLookedAtAgainWhenItChanges", pruneAgain},
	{"EachStepLooksAtFewRows", func(w *world) {
		w.put(webhook("a", "", `,"retain":{"succeeded":"1s"}`))
		w.enqueueN(100, "a")
		w.drain()
		w.tick(time.Hour)
		for left := 100; left > 0; left -= 10 {
			equal(w, "runs", len(allRuns(w, store.RunFilter{}, 1000)), left)
			out, err := w.Prune(w.ctx, store.PruneStep{Now: w.now, Limit: 10})
			w.check(err)
			equal(w, "pruned", out, store.Pruned{Runs: 10})
		}
		prune(w)
		equal(w, "runs", len(allRuns(w, store.RunFilter{}, 1000)), 0)
	}},
}

// pruneAgain goes through runs of all sorts time and again while they change: what was seen before is not to be
// believed longer than it holds.
func pruneAgain(w *world) {
	w.put(webhook("a", "", `,"retain":{"succeeded":"1h","cancelled":"2h","failed":"3h"}`))
	w.put(webhook("b", "", `,"retain":{"succeeded":"10d"}`))
	gone := func(id jobs.ID, want bool) {
		w.Helper()
		_, err := w.Run(w.ctx, id)
		equal(w, "gone", errors.Is(err, store.ErrNotFound), want)
	}
	ids := w.enqueueN(30, "a")
	for range 29 {
		w.succeed(w.takeOne())
	}
	failed := w.takeOne()
	w.fail(failed)
	stays := w.enqueueN(30, "b")
	w.drain()
	last := w.enqueue("a").ID
	waits := w.enqueue("a", dueIn(30*time.Hour)).ID
	prune(w)
	w.tick(time.Hour)
	prune(w)
	gone(ids[0], true)
	gone(ids[28], true)
	for _, id := range append(stays, last, waits, failed.Run.ID) {
		gone(id, false)
	}
	w.succeed(w.takeOne()) // the last, after a look at it
	w.resolve(failed.Run.ID, "")
	w.tick(time.Hour - time.Millisecond)
	prune(w)
	gone(last, false)
	w.tick(time.Millisecond)
	prune(w)
	gone(last, true)
	gone(failed.Run.ID, false)
	w.tick(2 * time.Hour)
	prune(w)
	gone(failed.Run.ID, true)
	w.cancel(waits)
	w.tick(2*time.Hour - time.Millisecond)
	prune(w)
	gone(waits, false)
	w.tick(time.Millisecond)
	prune(w)
	gone(waits, true)
	// A shorter time counts for what was looked at before.
	gone(stays[29], false)
	w.put(webhook("b", "", `,"retain":{"succeeded":"1h"}`))
	prune(w)
	for _, id := range stays {
		gone(id, true)
	}
}

func pruneStates(w *world) {
	w.put(webhook("a", "", `,"retain":{"succeeded":"2h","cancelled":"5h"}`))
	w.jobs("b")
	made := map[string]jobs.ID{}
	for _, job := range []string{"a", "b"} {
		made[job+" succeeded"] = w.enqueue(job).ID
		w.drain()
		id := w.enqueue(job).ID
		_, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		made[job+" cancelled"], made[job+" failed"] = id, w.failOne(job)
	}
	stay := func(want ...string) {
		w.Helper()
		for name, id := range made {
			_, err := w.Run(w.ctx, id)
			equal(w, name+" stays", err == nil, count(want)[name] == 1)
		}
	}
	all := []string{
		"a failed",
		"b failed",
		"b succeeded",
		"b cancelled",
		"a cancelled",
		"a succeeded",
	}
	for _, step := range []struct {
		wait time.Duration
		stay int
	}{{2*time.Hour - time.Millisecond, 6}, {time.Millisecond, 5}, {3*time.Hour - time.Millisecond, 5}, {time.Millisecond, 4}} {
		w.tick(step.wait)
		prune(w)
		stay(all[:step.stay]...)
	}
	w.tick(7*day - 5*time.Hour - time.Millisecond)
	prune(w)
	stay(all[:4]...)
	w.tick(time.Millisecond)
	prune(w)
	stay(all[:2]...)
}

func pruneDealtWith(w *world) {
	w.jobs("a")
	id := w.failOne("a")
	w.tick(300 * day)
	next := w.requeue(id)
	w.drain()
	w.tick(8 * day)
	prune(w)
	_, err := w.Run(w.ctx, next.ID)
	w.wantErr(err, store.ErrNotFound)
	w.tick(82*day - time.Millisecond)
	prune(w)
	equal(w, "state", w.state(id), jobs.Failed)
	w.tick(time.Millisecond)
	prune(w)
	_, err = w.Run(w.ctx, id)
	w.wantErr(err, store.ErrNotFound)
}

func pruneChain(w *world) {
	w.jobs("a")
	first := w.failOne("a")
	second := w.requeue(first).ID
	w.fail(w.takeOne())
	w.tick(1000 * day)
	prune(w)
	equal(w, "states", words(w.state(first), w.state(second)), "failed failed")
	w.requeue(second)
	w.drain()
	w.tick(89 * day)
	prune(w)
	equal(w, "states", words(w.state(first), w.state(second)), "failed failed")
	w.tick(day)
	prune(w)
	equal(w, "runs", len(allRuns(w, store.RunFilter{}, 1000)), 0)
}
