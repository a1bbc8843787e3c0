package storetest

import (
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// nextDue is what a claim that takes nothing tells.
func (w *world) nextDue() jobs.Time {
	w.Helper()
	return w.claim(store.Claim{}).NextDue
}

// shift tells the store that the wall clock was set.
func (w *world) shift(step time.Duration) {
	w.Helper()
	w.claim(store.Claim{Shift: step, Hold: true})
}

var shiftClaims = []claim{
	{"ShiftMovesWhatRetriesAndNothingElse", func(w *world) {
		w.jobs("a", "b")
		retried, queued := w.enqueue("a").ID, w.enqueue("a").ID
		running := w.enqueue("a").ID
		leases := w.take(3)
		w.apply(w.retrying(leases[0], 10*time.Second))
		scheduled := w.enqueue("a", dueIn(time.Minute)).ID
		failed := w.failOne("b")
		w.apply(w.interrupted(leases[1]))
		before := map[jobs.ID]*jobs.Run{}
		for _, id := range []jobs.ID{retried, queued, running, scheduled, failed} {
			before[id] = w.run(id)
		}
		equal(w, "next due", w.nextDue(), w.now.Add(10*time.Second))

		w.shift(time.Hour)
		for id, run := range before {
			if id == retried {
				run.DueAt = run.DueAt.Add(time.Hour)
			}
			if d := diff(w.run(id), run); d != "" {
				w.Errorf("run %s, which is %s: %s", id, run.State, d)
			}
		}
		equal(w, "next due", w.nextDue(), w.now.Add(time.Minute))

		// The wall clock was set forward by an hour: the retry still comes after 10 s.
		w.tick(time.Hour + 10*time.Second - 1)
		equal(w, "claimed early", slices.Contains(idsOf(w.take(9)), retried), false)
		w.tick(time.Millisecond)
		equal(w, "claimed in time", slices.Contains(idsOf(w.take(9)), retried), true)
	}},
	{"ShiftBackMakesTheNextDueEarlier", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.apply(w.retrying(w.takeOne(), 2*time.Hour))
		w.shift(-time.Hour)
		equal(w, "next due", w.nextDue(), w.now.Add(time.Hour))
		w.shift(-2 * time.Hour) // into the past: it is due
		equal(w, "claimed", idsOf(w.take(1)), []jobs.ID{id})
	}},
	{"ShiftKeepsTheOrderOfItsLane", func(w *world) {
		w.jobs("a")
		first, urgent, last := w.enqueue("a").ID, w.enqueue("a", priority(1)).ID, w.enqueue("a").ID
		waits := map[jobs.ID]time.Duration{
			first: 8 * time.Second, urgent: 10 * time.Second, last: 9 * time.Second,
		}
		for _, l := range w.take(3) {
			w.apply(w.retrying(l, waits[l.Run.ID]))
		}
		w.shift(-30 * time.Minute)
		fresh := w.enqueue("a").ID
		equal(w, "claimed", idsOf(w.take(1)), []jobs.ID{urgent})
		equal(w, "claimed", idsOf(w.take(1)), []jobs.ID{first})
		equal(w, "claimed", idsOf(w.take(1)), []jobs.ID{last})
		equal(w, "claimed", idsOf(w.take(1)), []jobs.ID{fresh})
	}},
}
