package storetest

import (
	"errors"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// unfinished is the number that is kept; it is that of the rows.
func (w *world) unfinished() int {
	w.Helper()
	n, err := w.Unfinished(w.ctx)
	w.check(err)
	stats, err := w.Stats(w.ctx)
	w.check(err)
	rows := 0
	for _, of := range stats {
		rows += of
	}
	equal(w, "the number of unfinished runs, and that of their rows", n, rows)
	return n
}

// most bounds how many there may be.
func most(n int) func(*store.Submission) { return func(s *store.Submission) { s.Most = n } }

// tooMany is what is refused for the bound.
func (w *world) tooMany(err error, unfinished, limit int) {
	w.Helper()
	var refused *store.TooManyError
	if !errors.As(err, &refused) || *refused != (store.TooManyError{Unfinished: unfinished, Limit: limit}) {
		w.Errorf("the error is %v, want that %d of %d are too many", err, unfinished, limit)
	}
}

// tryN makes runs of job a, at most so many with those there are, and says how many there are then.
func (w *world) tryN(n, limit int) (unfinished int, err error) {
	w.Helper()
	subs := make([]store.Submission, n)
	for i := range subs {
		subs[i] = w.sub("a", most(limit))
	}
	_, err = w.Enqueue(w.ctx, subs)
	return w.unfinished(), err
}

var unfinishedClaims = []claim{
	{"UnfinishedRunsAreCountedAsTheyComeAndEnd", func(w *world) {
		equal(w, "of a new store", w.unfinished(), 0)
		w.jobs("a", "b")
		w.put(webhook("next", "", `,"on_success":[{"job":"b"}]`))
		later := w.enqueue("a", dueIn(time.Hour)).ID
		w.enqueueN(4, "a")
		w.enqueue("b", bornFailed)
		equal(w, "queued and scheduled, none that was born failed", w.unfinished(), 5)
		w.reopen()
		equal(w, "after a restart", w.unfinished(), 5)
		ls := w.take(4)
		equal(w, "running", w.unfinished(), 5)
		w.apply(w.retrying(ls[0], time.Hour))
		equal(w, "retrying", w.unfinished(), 5)
		w.succeed(ls[1])
		w.apply(w.failed(ls[2]))
		equal(w, "after two ends", w.unfinished(), 3)
		_, err := w.Claim(w.ctx, store.Claim{Now: w.now, Finished: []store.Finish{w.succeeded(ls[1])}})
		w.check(err)
		equal(w, "after an end that came late", w.unfinished(), 3)
		_, err = w.Cancel(w.ctx, later, w.by())
		w.check(err)
		equal(w, "after a cancel", w.unfinished(), 2)
		w.requeue(ls[2].Run.ID)
		equal(w, "after a requeue", w.unfinished(), 3)
		_, err = w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "one runs on when its job is deleted", w.unfinished(), 1)
		w.reopen()
		equal(w, "after another restart", w.unfinished(), 1)
	}},
	{"ARunThatIsOneTooManyIsRefused", func(w *world) {
		w.jobs("a")
		n, err := w.tryN(3, 3)
		w.check(err)
		equal(w, "as many as there may be", n, 3)
		n, err = w.tryN(1, 3)
		w.tooMany(err, 3, 3)
		equal(w, "after a refusal", n, 3)
		n, err = w.tryN(3, 5)
		w.tooMany(err, 5, 5)
		equal(w, "after a batch that was refused whole", n, 3)
		n, err = w.tryN(1, 0)
		w.check(err)
		equal(w, "without a bound", n, 4)
		w.succeed(w.takeOne())
		w.succeed(w.takeOne())
		n, err = w.tryN(1, 3)
		w.check(err)
		equal(w, "when some have ended", n, 3)
	}},
	{"WhatStandsAlreadyIsFoundThoughThereIsNoRoom", func(w *world) {
		w.jobs("a")
		first := w.enqueue("a", keyed("k", "{}"), most(1))
		again := w.enqueue("a", keyed("k", "{}"), most(1))
		equal(w, "the run of the key", again.ID, first.ID)
		out, err := w.Enqueue(w.ctx, []store.Submission{w.sub("a", keyed("k", "{}"), most(1)), w.sub("a", most(1))})
		w.tooMany(err, 1, 1)
		equal(w, "answers of a batch with a new one", len(out), 0)
		equal(w, "runs", w.unfinished(), 1)
	}},
	{"ARequeueNeedsRoomToo", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.enqueue("a")
		rq := store.Requeue{
			Of: id, ID: w.ids.Next(w.now.Std()), Trigger: jobs.TriggerRequeue, By: w.by(), Creator: "tester", Most: 1,
		}
		_, err := w.Requeue(w.ctx, rq)
		w.tooMany(err, 1, 1)
		equal(w, "runs", w.unfinished(), 1)
		equal(w, "the failure", w.run(id).RequeuedTo, jobs.NilID)
		rq.Most = 2
		_, err = w.Requeue(w.ctx, rq)
		w.check(err)
		rq.Most, rq.ID = 1, w.ids.Next(w.now.Std())
		out, err := w.Requeue(w.ctx, rq)
		w.check(err)
		equal(w, "the requeue that stands is found", out.Duplicate, true)
	}},
	{"AnOrderWaitsForRoom", func(w *world) {
		w.jobs("a")
		w.failN(5, "a")
		id, _ := w.order(requeueAll())
		step := func() (store.BulkDone, bool) {
			done, more, err := w.BulkStep(w.ctx, id, 4, func(b *store.Bulk, runs []*jobs.Run) []store.BulkRun {
				list := w.requeues(b, runs)
				for i := range list {
					list[i].Requeue.Most = 3
				}
				return list
			}, w.now)
			w.check(err)
			return done, more
		}
		done, more := step()
		equal(w, "made, full, more", words(len(done.Made), done.Full, more), words(3, true, true))
		for range 2 {
			done, more = step()
			equal(w, "made, full, more without room", words(len(done.Made), done.Full, more), words(0, true, true))
		}
		equal(w, "the order", w.orderStands(id), "running 5: 3 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over false")
		equal(w, "runs", w.unfinished(), 3)
		for _, l := range w.take(3) {
			w.succeed(l)
		}
		done, more = step()
		equal(w, "made, full, more with room", words(len(done.Made), done.Full, more), words(2, false, false))
		equal(w, "nothing is left out", len(w.skips(id)), 0)
	}},
	{"CallsThatFailBesideOthersAreNotCounted", func(w *world) {
		w.unbound()
		w.jobs("a")
		var all sync.WaitGroup
		for i := range 64 {
			subs := []store.Submission{w.sub("a"), w.sub("a"), w.sub("a")}
			switch i % 4 {
			case 1:
				subs[2].Run.Job = "missing" // after two were made
			case 2:
				subs[2].Most = 1
			}
			all.Go(func() { _, _ = w.Enqueue(w.ctx, subs) })
		}
		all.Wait()
		if n := w.unfinished(); n != 32*3 && n != 32*3+3 { // one with a bound may have come first of all
			w.Errorf("%d runs, want %d", n, 32*3)
		}
	}},
}
