package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// batch gives a submission a checkpoint key.
func batch(key string) func(*store.Submission) {
	return func(s *store.Submission) { s.Run.Keys.Checkpoint = &key }
}

// endsSaving has a run of a job save something and end, failed or cancelled.
func (w *world) endsSaving(job string, end func(store.Lease) store.Finish, change ...func(*store.Submission)) jobs.ID {
	w.Helper()
	id := w.enqueue(job, change...).ID
	l := w.takeThis(id)
	w.saves(l, "1")
	w.apply(end(l))
	return id
}

// keepsFor prunes and demands that a checkpoint stays until a time has passed, and no longer.
func (w *world) keepsFor(d time.Duration, id jobs.ID) {
	w.Helper()
	w.tick(d - time.Millisecond)
	prune(w)
	equal(w, "checkpoint before its time is over", w.saved(id), "1")
	w.tick(time.Millisecond)
	prune(w)
	equal(w, "checkpoint past its time", w.saved(id), "")
}

// stays prunes long after and demands that a checkpoint is there.
func (w *world) stays(what string, id jobs.ID) {
	w.Helper()
	w.tick(30 * day)
	prune(w)
	equal(w, "checkpoint, "+what, w.saved(id), "1")
}

// keepClaims are about how long what was saved is kept, each of an operation's and of a key's.
func keepClaims() (list []claim) {
	for _, c := range []struct {
		name string
		test func(w *world, of func(*store.Submission))
	}{
		{"IsKeptWhileItsRunHasNotEnded", keptUnfinished},
		{"IsKeptWhileItsFailureIsOpen", func(w *world, of func(*store.Submission)) {
			id := w.endsSaving("a", w.failed, of)
			w.stays("open failure", id)
			next := w.requeueSame(id)
			w.stays("requeued", id)
			w.fail(w.takeOne())
			w.stays("failed again", next)
			w.cancel(w.requeueSame(next))
			w.stays("open again", next)
		}},
		{"IsKeptFromWhenItsFailureWasDealtWith", func(w *world, of func(*store.Submission)) {
			id := w.endsSaving("a", w.failed, of)
			next := w.requeue(id, func(r *store.Requeue) { // the work of another batch
				r.Payload, r.Keys.Checkpoint = jobs.Raw("[1]"), new("other")
			}).ID
			w.tick(40 * day)
			w.succeed(w.takeThis(next))
			w.keepsFor(day, id)
		}},
		{"IsKeptFromTheEndOfACancelledRun", func(w *world, of func(*store.Submission)) {
			w.put(webhook("a", "", `,"checkpoint":{"ttl":"2h"}`))
			id := w.enqueue("a", of).ID
			l := w.takeOne()
			w.saves(l, "1")
			w.tick(time.Hour)
			w.cancel(id)
			w.apply(w.cancelled(l))
			w.keepsFor(2*time.Hour, id)
		}},
		{"IsKeptFromTheLastWrite", func(w *world, of func(*store.Submission)) {
			id := w.enqueue("a", of).ID
			l := w.takeOne()
			w.tick(time.Hour)
			w.saves(l, "1")
			w.tick(-time.Hour) // the clock was set back
			w.apply(w.cancelled(l))
			w.tick(time.Hour)
			w.keepsFor(day, id)
		}},
		{"GoesByTheJobAsItStoodLast", func(w *world, of func(*store.Submission)) {
			id := w.endsSaving("a", w.cancelled, of)
			w.put(webhook("a", "", `,"checkpoint":{"ttl":"1h"}`))
			w.deleteJob("a")
			w.keepsFor(time.Hour, id)
		}},
	} {
		for what, of := range map[string]func(*store.Submission){
			"OfAnOperationIt": func(*store.Submission) {}, "OfAKeyIt": batch("k"),
		} {
			list = append(list, claim{what + c.name, func(w *world) {
				w.jobs("a")
				c.test(w, of)
			}})
		}
	}
	return append(list,
		claim{"WithTheLastRunOfAnOperationGoesWhatItSaved", func(w *world) {
			w.put(webhook("a", "", `,"retain":{"cancelled":"1h"},"checkpoint":{"ttl":"300d"}`))
			first := w.endsSaving("a", w.cancelled)
			next := w.requeueSame(first)
			w.cancel(next)
			w.check(w.Remove(w.ctx, first, w.by()))
			equal(w, "checkpoint by the run that is left", w.saved(next), "1")
			w.tick(time.Hour)
			prune(w)
			_, err := w.Checkpoint(w.ctx, next)
			w.wantErr(err, store.ErrNotFound)
		}},
		claim{"OfAKeyItOutlivesItsRuns", func(w *world) {
			w.put(webhook("a", "", `,"checkpoint":{"ttl":"3h"}`))
			w.check(w.Remove(w.ctx, w.endsSaving("a", w.cancelled, batch("")), w.by()))
			w.tick(3*time.Hour - time.Millisecond)
			prune(w)
			id := w.enqueue("a", batch(""), dueIn(time.Hour)).ID
			w.tick(day)
			prune(w)
			equal(w, "checkpoint of a run that came in time", w.saved(id), "1")
			w.cancel(id)
			w.keepsFor(3*time.Hour, id)
		}},
		claim{"OfAKeyOfManyRunsItIsKeptForTheFirstFailure", func(w *world) {
			w.put(webhook("a", "", `,"retain":{"cancelled":"900d"}`))
			id := w.endsSaving("a", w.failed, batch("k"))
			many := w.enqueueN(230, "a", batch("k"))
			for _, id := range many {
				w.cancel(id)
			}
			w.stays("one open failure before many that were cancelled", id)
			w.check(w.Remove(w.ctx, id, w.by()))
			prune(w)
			equal(w, "checkpoint", w.saved(many[0]), "")
		}},
		claim{"ManyAreLookedAtInSmallSteps", keptMany},
	)
}

func keptUnfinished(w *world, of func(*store.Submission)) {
	id := w.enqueue("a", of).ID
	l := w.takeOne()
	w.saves(l, "1")
	w.stays("running", id)
	w.apply(w.sliced(l, "1"))
	w.stays("between slices", id)
	l = w.takeOne()
	w.await(l)
	w.stays("waiting for its callback", id)
	w.apply(w.retrying(w.callback(l), 1000*day))
	w.stays("retrying", id)
	w.check(w.RunNow(w.ctx, id, w.by()))
	w.stays("queued", id)
	w.apply(w.held(w.takeOne(), "TOKEN"))
	w.stays("held", id)
	w.cancel(id)
	w.keepsFor(day, id)
}

func keptMany(w *world) {
	w.unbound()
	w.jobs("a")
	open := map[jobs.ID]bool{}
	for i := range 40 {
		var change []func(*store.Submission)
		if i%2 == 0 {
			change = append(change, batch(fmt.Sprint(i/2)))
		}
		end := w.cancelled
		if i%3 == 0 {
			end = w.failed
		}
		open[w.endsSaving("a", end, change...)] = i%3 == 0
	}
	w.tick(day)
	prune(w) // 7 rows at a time
	for id, stays := range open {
		equal(w, fmt.Sprint("checkpoint of ", id, " is kept"), w.saved(id) != "", stays)
	}
}
