package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// earlierRun makes the run of tick 1 of a:x and brings it to where it has not ended. runs: an attempt
// of it is under way.
type earlierRun struct {
	name string
	runs bool
	make func(*world) jobs.ID
}

var earlierRuns = []earlierRun{
	{"scheduled", false, func(w *world) jobs.ID { return w.nextRun("a:x", dueIn(time.Hour)) }},
	{"queued", false, func(w *world) jobs.ID { return w.nextRun("a:x") }},
	{"running", true, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.takeOne()
		return id
	}},
	{"retrying", false, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.apply(w.retrying(w.takeOne(), time.Hour))
		return id
	}},
	{"interrupted", false, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.apply(w.interrupted(w.takeOne()))
		return id
	}},
	{"held by a secret", false, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.apply(w.held(w.takeOne(), "TOKEN"))
		return id
	}},
	{"held by the pause of its job", false, func(w *world) jobs.ID {
		w.pause("a", true, "")
		return w.nextRun("a:x")
	}},
	{"requeued", false, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.fail(w.takeOne())
		return w.requeue(id).ID
	}},
	{"requeued and running", true, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.fail(w.takeOne())
		id = w.requeue(id).ID
		w.takeOne()
		return id
	}},
	{"running of a schedule that was made again", true, func(w *world) jobs.ID {
		id := w.nextRun("a:x")
		w.takeOne()
		doc := w.schedule("a:x").Overlap
		w.put(planned("a"))
		w.put(planned("a", minutely("x", `,"overlap":"`+doc+`"`)))
		return id
	}},
}

// overlapping gives a claim for each sort of earlier run.
func overlapping(
	mode, name string, earlier []earlierRun, test func(w *world, e earlierRun),
) (list []claim) {
	for _, e := range earlier {
		list = append(list, claim{fmt.Sprintf("%s/%s", name, e.name), func(w *world) {
			w.put(planned("a", minutely("x", `,"overlap":"`+mode+`"`)))
			test(w, e)
		}})
	}
	return list
}

var (
	allowClaims   = overlapping(jobs.OverlapAllow, "AllowedItsRunIsJustMade", earlierRuns[1:4], overlapAllow)
	skipClaims    = overlapping(jobs.OverlapSkip, "SkippedItMakesNoRun", earlierRuns, overlapSkip)
	queueClaims   = overlapping(jobs.OverlapQueue, "QueuedItsRunWaitsAndGivesWayToTheNext", earlierRuns, overlapQueue)
	replaceClaims = overlapping(jobs.OverlapReplace, "ReplacingItsRunStartsOnceTheEarlierIsOver", earlierRuns, overlapReplace)
)

func overlapAllow(w *world, e earlierRun) {
	first := e.make(w)
	before := w.state(first)
	for range 2 {
		out := w.next("a:x")
		id := w.ran(out)
		equal(w, "answer", words(out.Ran[0].Outcome, len(out.Cancelled), len(out.Stop)), words(jobs.TickRan, 0, 0))
		equal(w, "run", words(w.state(id), w.overlaps(id), w.state(first)), words(jobs.Queued, false, before))
	}
	w.pause("a", false, "")
	equal(w, "claimed at least", len(w.take(9)) >= 2, true)
}

func overlapSkip(w *world, e earlierRun) {
	first := e.make(w)
	before := w.run(first)
	for range 3 {
		out := w.next("a:x")
		equal(w, "answer", words(len(out.Ran), out.Ran[0].Outcome, out.Ran[0].Reason, out.Ran[0].Made.ID.IsNil(),
			len(out.Cancelled), len(out.Stop)),
			words(1, jobs.TickSkipped, jobs.SkipOverlap, true, 0, 0))
	}
	equal(w, "earlier run", diff(w.run(first), before), "")
	equal(w, "ledger", w.ledger("a:x"), "1 ran, 2-4 skipped 3 overlap")
	endOf(w, first)
	out := w.next("a:x")
	equal(w, "outcome of the first free tick", out.Ran[0].Outcome, jobs.TickRan)
	equal(w, "ledger", w.ledger("a:x"), "1 ran, 2-4 skipped 3 overlap, 5 ran")
}

// endOf ends a run, however it stands.
func endOf(w *world, id jobs.ID) {
	w.Helper()
	r := w.run(id)
	if r.State != jobs.Running {
		w.cancel(id)
		return
	}
	l := store.Lease{Run: r, Started: r.Attempts[len(r.Attempts)-1].StartedAt}
	if r.CancelRequestedAt != 0 {
		w.apply(w.cancelled(l))
		return
	}
	w.succeed(l)
}

func overlapQueue(w *world, e earlierRun) {
	first := e.make(w)
	before := w.run(first)
	waits := w.nextRun("a:x")
	for range 2 {
		r := w.run(waits)
		equal(w, "run that waits", words(r.State, r.HeldBy.Kind, r.HeldBy.Reason != ""), words(jobs.Queued, jobs.HeldOverlap, true))
		out := w.next("a:x")
		equal(w, "answer", words(out.Ran[0].Outcome, out.Ran[0].Made.HeldBy.Kind, out.Cancelled, len(out.Stop)),
			words(jobs.TickRan, jobs.HeldOverlap, []jobs.ID{waits}, 0))
		old := w.run(waits)
		equal(w, "run that gave way", words(old.State, old.FinishedAt, old.CancelRequestedAt),
			words(jobs.Cancelled, w.now, w.now))
		waits = w.ran(out)
	}
	equal(w, "earlier run", diff(w.run(first), before), "")
	equal(w, "held by in lists", allRuns(w, store.RunFilter{}, 1)[0].HeldBy.Kind, jobs.HeldOverlap)
	equal(w, "held by when asked", w.waitsFor(waits).Kind, jobs.HeldOverlap)
	w.check(w.RunNow(w.ctx, waits, w.by())) // nothing is left of a delay
	equal(w, "waits", w.overlaps(waits), true)
	equal(w, "ledger", w.ledger("a:x"), "1 ran, 2 ran, 3 ran, 4 ran")
	w.reopen()
	drainReady(w)
	endOf(w, first)
	equal(w, "waits", w.overlaps(waits), false)
	equal(w, "is woken", <-w.Ready(), struct{}{})
	w.pause("a", false, "")
	equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{waits})
}

// replaced is what the audit says of a run that a newer tick ends.
func replaced(id jobs.ID) string {
	return "cancel " + id.String() + " a newer tick took its place"
}

func overlapReplace(w *world, e earlierRun) {
	first := e.make(w)
	out := w.next("a:x")
	second := w.ran(out)
	if !e.runs {
		equal(w, "answer", words(out.Cancelled, len(out.Stop)), words([]jobs.ID{first}, 0))
		equal(w, "audit", actions(audit(w)[:1]), replaced(first))
		old := w.run(first)
		equal(w, "earlier run", words(old.State, old.FinishedAt, old.CancelRequestedAt), words(jobs.Cancelled, w.now, w.now))
		equal(w, "waits", words(w.state(second), w.overlaps(second)), "queued false")
		w.pause("a", false, "")
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{second})
		return
	}
	asked := w.now
	equal(w, "answer", words(len(out.Cancelled), out.Stop), words(0, []jobs.ID{first}))
	equal(w, "audit", actions(audit(w)[:1]), replaced(first))
	old := w.run(first)
	equal(w, "earlier run", words(old.State, old.CancelRequestedAt), words(jobs.Running, asked))
	equal(w, "waits", w.overlaps(second), true)
	equal(w, "claimed", len(w.take(9)), 0)
	// The next one takes the place of the one that waits.
	out = w.next("a:x")
	third := w.ran(out)
	equal(w, "cancelled", words(out.Cancelled, w.state(second)), words([]jobs.ID{second}, jobs.Cancelled))
	equal(w, "asked at", w.run(first).CancelRequestedAt, asked)
	equal(w, "audit", actions(audit(w)[:2]), replaced(second)+", "+replaced(first))
	equal(w, "waits", w.overlaps(third), true)
	lease := store.Lease{Run: w.run(first), Started: w.run(first).StartedAt}
	w.wantErr(w.finish(w.succeeded(lease))[0].Err, store.ErrState)
	equal(w, "waits until it is over", w.overlaps(third), true)
	endOf(w, first)
	equal(w, "waits", w.overlaps(third), false)
	equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{third})
}
