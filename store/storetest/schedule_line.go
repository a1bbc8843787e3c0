package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// oneWaits makes two runs of a:x: the first runs, the second waits for it.
func oneWaits(w *world) (first store.Lease, waits jobs.ID) {
	w.Helper()
	w.put(planned("a", minutely("x", "")))
	w.nextRun("a:x")
	first = w.takeOne()
	waits = w.nextRun("a:x")
	equal(w, "waits", w.overlaps(waits), true)
	return first, waits
}

// Runs of a schedule that stand in a line.
var lineClaims = []claim{
	{"EachEndLetsTheNextGo", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		ends := []func(store.Lease){
			func(l store.Lease) { w.succeed(l) },
			func(l store.Lease) { w.fail(l) },
			func(l store.Lease) { w.cancel(l.Run.ID); w.apply(w.cancelled(l)) },
			func(l store.Lease) { w.apply(w.interrupted(l)); w.cancel(l.Run.ID) },
			func(l store.Lease) { w.apply(w.retrying(l, time.Hour)); w.cancel(l.Run.ID) },
			func(l store.Lease) { w.apply(w.held(l, "TOKEN")); w.cancel(l.Run.ID) },
			func(l store.Lease) {
				w.reopen()
				orphans, err := w.Orphans(w.ctx)
				w.check(err)
				w.fail(orphans[0])
			},
		}
		w.nextRun("a:x")
		for _, end := range ends {
			l := w.takeOne()
			waits := w.nextRun("a:x")
			equal(w, "waits", w.overlaps(waits), true)
			end(l)
			equal(w, "waits after the end", w.overlaps(waits), false)
		}
	}},
	{"WhatIsNoEndLetsNothingGo", func(w *world) {
		l, waits := oneWaits(w)
		stays := func(what string) {
			w.Helper()
			equal(w, "waits after "+what, w.overlaps(waits), true)
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
		w.release("TOKEN")
		stays("a release")
		l = w.takeOne()
		w.cancel(l.Run.ID)
		stays("a cancel that is not done")
		late := w.cancelled(l)
		late.Number--
		w.wantErr(w.finish(late)[0].Err, store.ErrLease)
		stays("a stale end")
		w.pause("a", true, "")
		w.pause("a", false, "")
		stays("pause and resume")
		w.put(webhook("a", "new", `,"schedules":[`+minutely("x", "")+`]`))
		_, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		stays("an upgrade")
		equal(w, "version", w.run(waits).Version, 2)
		w.apply(w.cancelled(l))
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"UpgradeToAnotherKindLetsNothingGo", func(w *world) {
		l, waits := oneWaits(w)
		j := script("a", "echo")
		j.Schedules = planned("a", minutely("x", "")).Schedules
		w.put(j)
		_, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "waits", w.overlaps(waits), true)
		equal(w, "claimed", len(w.take(9)), 0)
		w.succeed(l)
		equal(w, "kind", w.takeOne().Spec.Kind(), jobs.KindScript)
	}},
	{"ReplacedPayloadLetsNothingGo", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x")
		l := w.takeOne()
		replace := unique("k", jobs.WhileQueued, jobs.ConflictReplace)
		waits := w.nextRun("a:x", replace)
		equal(w, "waits", w.overlaps(waits), true)
		out := w.enqueue("a", replace, counted("key"), func(s *store.Submission) { s.Run.Payload = jobs.Raw("7") })
		equal(w, "answer", words(out.ID, out.Replaced), words(waits, true))
		equal(w, "waits", words(w.overlaps(waits), string(w.run(waits).Payload)), "true 7")
		equal(w, "claimed", len(w.take(9)), 0)
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"CancelOfTheOneThatWaitsLeavesTheOther", func(w *world) {
		l, waits := oneWaits(w)
		w.cancel(waits)
		r := w.run(waits)
		equal(w, "run", words(r.State, r.HeldBy == nil), "cancelled true")
		third := w.nextRun("a:x")
		equal(w, "waits", w.overlaps(third), true)
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{third})
	}},
	{"OtherRunsOfTheJobDoNotWait", func(w *world) {
		w.put(planned("a", minutely("x", ""), minutely("y", "")))
		w.nextRun("a:x")
		y := w.ran(w.fire("a:y"))
		l := w.takeOne()
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{y})
		waits := w.nextRun("a:x")
		free := w.enqueue("a").ID
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{free})
		equal(w, "waits", w.overlaps(waits), true)
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"DeletionOfTheJobEndsTheLine", func(w *world) {
		l, waits := oneWaits(w)
		n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "cancelled", words(n, w.state(waits), w.state(l.Run.ID)), "1 cancelled running")
		w.put(planned("a", minutely("x", "")))
		// What runs still is in the way of the schedule that was made again.
		again := w.nextRun("a:x")
		equal(w, "waits", w.overlaps(again), true)
		w.fail(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{again})
	}},
	{"DeletionOfTheJobAheadLetsTheNextGo", func(w *world) {
		w.jobs("a", "b")
		w.applyPolicies("", own("x", "a", ""))
		w.pause("a", true, "")
		first := w.nextRun("x")
		w.applyPolicies("", own("x", "b", ""))
		waits := w.nextRun("x")
		equal(w, "waits", words(w.overlaps(waits), w.run(waits).Job), "true b")
		w.deleteJob("a")
		equal(w, "first", w.state(first), jobs.Cancelled)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"TakenOutItsRunsGoOnInLine", func(w *world) {
		l, waits := oneWaits(w)
		w.put(planned("a"))
		equal(w, "waits", w.overlaps(waits), true)
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"AllowedToOverlapTheOneThatWaitsGoes", func(w *world) {
		l, waits := oneWaits(w)
		w.put(planned("a", minutely("x", `,"overlap":"replace"`)))
		equal(w, "waits", words(w.overlaps(waits), w.state(l.Run.ID)), "true running")
		w.put(planned("a", minutely("x", `,"overlap":"allow"`)))
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"RemovedRunsAreInNobodysWay", func(w *world) {
		l, waits := oneWaits(w)
		w.wantErr(w.Remove(w.ctx, l.Run.ID, w.by()), store.ErrState) // case 46
		w.wantErr(w.Remove(w.ctx, waits, w.by()), store.ErrState)
		w.succeed(l)
		w.check(w.Remove(w.ctx, l.Run.ID, w.by()))
		next := w.takeOne()
		equal(w, "claimed", next.Run.ID, waits)
		w.succeed(next)
		w.check(w.Remove(w.ctx, waits, w.by()))
		equal(w, "waits", w.overlaps(w.nextRun("a:x")), false)
	}},
	{"RequeueIsNeverHeldButCounts", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		first := w.nextRun("a:x")
		w.fail(w.takeOne())
		second := w.nextRun("a:x")
		l := w.takeOne()
		equal(w, "claimed", l.Run.ID, second)
		again := w.requeue(first).ID
		equal(w, "requeue waits", w.overlaps(again), false)
		requeue := w.takeOne()
		third := w.nextRun("a:x")
		w.succeed(l)
		equal(w, "waits for the requeue", w.overlaps(third), true)
		w.succeed(requeue)
		equal(w, "waits", w.overlaps(third), false)
		// One that comes while another waits.
		l = w.takeOne()
		waits := w.nextRun("a:x")
		w.fail(l)
		equal(w, "released", w.overlaps(waits), false)
		equal(w, "requeue", w.overlaps(w.requeue(third).ID), false)
		equal(w, "claimed", len(w.take(9)), 2)
	}},
	{"NothingGivesWayToARunThatFailsAtOnce", func(w *world) {
		for _, mode := range []string{"queue", "replace", "skip"} {
			w.put(planned("a", minutely("x", `,"overlap":"`+mode+`"`)))
			w.nextRun("a:x")
			l := w.takeOne()
			waits := w.next("a:x")
			out := w.next("a:x", bornFailed)
			equal(w, mode+": answer", words(out.Ran[0].Outcome, out.Ran[0].Made.State, len(out.Cancelled), len(out.Stop)),
				words(jobs.TickRan, jobs.Failed, 0, 0))
			if mode == "replace" {
				w.apply(w.cancelled(l))
			} else {
				w.succeed(l)
			}
			if mode != "skip" {
				w.succeed(w.takeThis(w.ran(waits)))
			}
			w.deleteJob("a")
		}
	}},
	{"SpreadRunWaitsToo", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x")
		l := w.takeOne()
		waits := w.nextRun("a:x", dueIn(30*time.Second))
		equal(w, "state", w.state(waits), jobs.Scheduled)
		w.tick(30 * time.Second)
		equal(w, "claimed", len(w.take(9)), 0)
		equal(w, "held", words(w.state(waits), w.overlaps(waits)), "queued true")
		w.succeed(l)
		l = w.takeOne()
		equal(w, "claimed", l.Run.ID, waits)
		// Let go before it is due, it starts then.
		w.tick(30 * time.Second)
		waits = w.ran(w.fire("a:x", dueIn(30*time.Second)))
		w.succeed(l)
		equal(w, "claimed", words(len(w.take(9)), w.state(waits)), "0 scheduled")
		w.tick(30 * time.Second)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"SpreadRunThatWaitsGivesWay", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x")
		l := w.takeOne()
		waits := w.nextRun("a:x", dueIn(time.Hour))
		out := w.next("a:x")
		equal(w, "cancelled", out.Cancelled, []jobs.ID{waits})
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{w.ran(out)})
	}},
	{"RunNowOfASpreadRunThatWaits", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x")
		l := w.takeOne()
		waits := w.nextRun("a:x", dueIn(time.Hour))
		w.check(w.RunNow(w.ctx, waits, w.by()))
		equal(w, "held", words(w.state(waits), w.overlaps(waits)), "queued true")
		equal(w, "claimed", len(w.take(9)), 0)
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"ReleasedRunOfAPausedJobWaitsForItsResume", func(w *world) {
		l, waits := oneWaits(w)
		w.pause("a", true, "")
		w.succeed(l)
		equal(w, "held by", w.run(waits).HeldBy.Kind, jobs.HeldPaused)
		equal(w, "claimed", len(w.take(9)), 0)
		w.pause("a", false, "")
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"PausedScheduleLetsTheLineGoOn", func(w *world) {
		l, waits := oneWaits(w)
		w.pauseSchedule("a:x", true, "")
		w.succeed(l)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
	{"LineOutlivesThePruningOfWhatHasEnded", func(w *world) {
		w.put(webhook("a", "", `,"retain":{"succeeded":"1s","cancelled":"1s"},"schedules":[`+minutely("x", "")+`]`))
		w.nextRun("a:x")
		l := w.takeOne()
		w.nextRun("a:x")
		waits := w.nextRun("a:x")
		w.tick(time.Second)
		prune(w)
		equal(w, "runs", len(allRuns(w, store.RunFilter{}, 9)), 2)
		w.succeed(l)
		w.tick(time.Second)
		prune(w)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
	}},
}
