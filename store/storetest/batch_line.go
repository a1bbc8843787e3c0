package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// lineOf says in which line a run waits.
func (w *world) lineOf(id jobs.ID) string {
	w.Helper()
	if held := w.run(id).HeldBy; held != nil && (held.Kind == jobs.HeldOverlap || held.Kind == jobs.HeldCheckpoint) {
		return held.Kind
	}
	return "none"
}

// batchLineClaims are about runs of schedules that have a checkpoint key: they wait for the runs of
// their schedule first, then for those of their key.
var batchLineClaims = []claim{
	{"RunOfAScheduleJoinsTheLineOfItsKeyWhenItsScheduleLetsItGo", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x", batch("k"))
		first := w.takeOne()
		early := w.enqueue("a", batch("k")).ID
		second := w.nextRun("a:x", batch("k"))
		late := w.enqueue("a", batch("k")).ID
		want := func(lines string) {
			w.Helper()
			equal(w, "lines", words(w.lineOf(early), w.lineOf(second), w.lineOf(late)), lines)
		}
		want("checkpoint overlap checkpoint")
		w.succeed(first)
		want("none checkpoint checkpoint") // in order of creation, also where one joined later
		w.reopen()
		w.succeed(w.takeThis(early))
		want("none none checkpoint")
		w.succeed(w.takeThis(second))
		w.succeed(w.takeThis(late))
	}},
	{"RunThatWaitedForItsScheduleGoesBeforeYoungerOnesOfItsKey", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x", batch("k"))
		first := w.takeOne()
		second := w.nextRun("a:x", batch("k"), dueIn(time.Hour))
		late := w.enqueue("a", batch("k")).ID
		w.succeed(first)
		equal(w, "lines", words(w.state(second), w.lineOf(late)), "scheduled checkpoint")
		w.tick(time.Hour)
		w.succeed(w.takeThis(second))
		w.succeed(w.takeThis(late))
	}},
	{"ScheduleWaitsForARunThatWaitsForItsKey", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.enqueue("a", batch("k"))
		ahead := w.takeOne()
		first := w.nextRun("a:x", batch("k"))
		second := w.nextRun("a:x", batch("k"))
		equal(w, "lines", words(w.lineOf(first), w.lineOf(second)), "checkpoint overlap")
		third := w.nextRun("a:x", batch("other"))
		equal(w, "lines", words(w.lineOf(first), w.state(second), w.lineOf(third)), "checkpoint cancelled overlap")
		w.succeed(ahead)
		w.succeed(w.takeThis(first))
		w.succeed(w.takeThis(third))
	}},
	{"CatchUpAndTickOfOneKeyGoOneAfterAnother", func(w *world) {
		for _, mode := range []string{"queue", "allow"} {
			w.put(planned("a", minutely("x", `,"overlap":"`+mode+`","catch_up":{"mode":"all"}`)))
			w.tick(time.Minute - w.now.Sub(start)%time.Minute)
			w.tick(3*time.Minute + 30*time.Second)
			w.fire("a:x", batch("k"))
			w.decided(w.catchUp(w.schedule("a:x"), 9, batch("k")))
			w.next("a:x", batch("k"))
			w.enqueue("a", batch("k"))
			all := runSet(w.queued())
			equal(w, mode+": at least", len(all) >= 5, true)
			for range len(all) {
				leases := w.take(9)
				equal(w, mode+": claimed", len(leases), 1)
				delete(all, leases[0].Run.ID)
				w.reopen()
				w.fail(leases[0])
			}
			equal(w, mode+": left", len(all), 0)
			w.deleteJob("a")
		}
	}},
	{"ReplacedOrSkippedBehindAnotherOfItsKey", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"replace"`)))
		w.enqueue("a", batch("k"))
		ahead := w.takeOne()
		first := w.nextRun("a:x", batch("k"))
		late := w.enqueue("a", batch("k")).ID
		out := w.next("a:x", batch("k"))
		second := w.ran(out)
		equal(w, "cancelled", words(out.Cancelled, w.lineOf(late), w.lineOf(second)), words([]jobs.ID{first}, "checkpoint", "checkpoint"))
		w.put(planned("a", minutely("x", `,"overlap":"skip"`)))
		equal(w, "outcome", w.next("a:x", batch("k")).Ran[0].Reason, jobs.SkipOverlap)
		w.succeed(ahead)
		w.succeed(w.takeThis(late))
		l := w.takeThis(second)
		// What makes way lets the next of its key go.
		w.put(planned("a", minutely("x", `,"overlap":"replace"`)))
		w.apply(w.retrying(l, time.Hour))
		late = w.enqueue("a", batch("k")).ID
		out = w.next("a:x", batch("k"))
		equal(w, "cancelled", words(out.Cancelled, w.lineOf(late), w.lineOf(w.ran(out))), words([]jobs.ID{second}, "none", "checkpoint"))
		w.succeed(w.takeThis(late))
		w.succeed(w.takeThis(w.ran(out)))
	}},
	{"DeletionOfTheJobAheadLetsTheScheduleGoBehindItsKey", func(w *world) {
		w.jobs("a", "b")
		w.applyPolicies("", own("x", "a", ""))
		w.nextRun("x", batch("k"))
		w.await(w.takeOne())
		w.applyPolicies("", own("x", "b", ""))
		waits := w.nextRun("x", batch("k"))
		ahead := w.enqueue("b", batch("k")).ID
		equal(w, "lines", words(w.lineOf(waits), w.lineOf(ahead)), "overlap none")
		w.deleteJob("a")
		equal(w, "lines", words(w.lineOf(waits), w.lineOf(ahead)), "checkpoint none")
		w.succeed(w.takeThis(ahead))
		w.succeed(w.takeThis(waits))
	}},
	{"ReplacedPayloadOfOneInBothLinesLetsNoneGo", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x", batch("k"))
		first := w.takeOne()
		replace := unique("u", jobs.WhileQueued, jobs.ConflictReplace)
		waits := w.nextRun("a:x", batch("k"), replace)
		w.enqueue("a", batch("other"))
		other := w.takeOne()
		out := w.enqueue("a", batch("other"), replace)
		equal(w, "answer", words(out.ID, out.Replaced, w.lineOf(waits)), words(waits, true, "overlap"))
		w.succeed(first)
		equal(w, "line", w.lineOf(waits), "checkpoint")
		w.succeed(other)
		l := w.takeThis(waits)
		equal(w, "key", *l.Run.Keys.Checkpoint, "other")
		next := w.enqueue("a", batch("other")).ID
		w.wantErr(w.finish(store.Finish{Run: waits, Number: 7, Job: "a"})[0].Err, store.ErrLease)
		w.succeed(l)
		w.succeed(w.takeThis(next))
	}},
}
