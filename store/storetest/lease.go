package storetest

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var leaseClaims = []claim{
	{"LeaseOfAnAttemptUnderWayHasAllOfIt", leaseUnderWay},
	{"LeaseOfWhatIsOverSaysWhatBecameOfIt", leaseOver},
	{"WhatWasSaidOutlivesTheServer", func(w *world) {
		w.jobs("a", "b")
		w.enqueue("a")
		w.enqueue("b")
		saidBy := map[string]store.Lease{}
		said := &jobs.Said{Error: &jobs.SaidError{Type: "T", Message: "m", Fail: true, RetryAfter: new(jobs.Duration(90e9))}}
		for _, l := range w.take(2) {
			saidBy[l.Run.Job] = l
			w.check(w.Say(w.ctx, fenceOf(l), &jobs.Said{Complete: true}))
			w.check(w.Say(w.ctx, fenceOf(l), said)) // the last one is kept
		}
		w.await(saidBy["b"])
		w.reopen()
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		equal(w, "orphans", idsOf(orphans), []jobs.ID{saidBy["a"].Run.ID})
		equal(w, "said", diff(orphans[0].Said, said)+diff(w.callback(saidBy["b"]).Said, said), "")
		for _, l := range []store.Lease{orphans[0], w.callback(saidBy["b"])} {
			w.apply(w.retrying(l, 0))
			w.wantErr(w.Say(w.ctx, fenceOf(l), said), store.ErrLease)
			next := w.takeOne()
			equal(w, "said by the next attempt", w.callback(next).Said, (*jobs.Said)(nil))
			w.succeed(next)
		}
	}},
}

// over is what is said of an attempt that is not under way.
func (w *world) over(f store.Fence) *store.OverError {
	w.Helper()
	_, err := w.Lease(w.ctx, f)
	over := (*store.OverError)(nil)
	if !errors.As(err, &over) || !errors.Is(err, store.ErrLease) {
		w.Fatalf("error is %v, want an OverError", err)
	}
	return over
}

func leaseUnderWay(w *world) {
	w.put(webhook("a", "old", ""))
	w.enqueue("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`[1]`) })
	w.apply(w.retrying(w.takeOne(), 0))
	w.tick(time.Second)
	l := w.takeOne()
	began := w.now
	w.put(webhook("a", "new", ""))
	w.check(w.AppendLog(w.ctx, []store.LogPiece{
		{Run: l.Run.ID, Attempt: 1, Data: []byte("before")}, {Run: l.Run.ID, Attempt: 2, Data: []byte("now")},
	}))
	w.check(w.SaveCheckpoint(w.ctx, fenceOf(l), jobs.Raw(`{"n": 1.0}`), w.now))
	w.check(w.Say(w.ctx, fenceOf(l), &jobs.Said{Result: jobs.Raw("7")}))
	want := func(what string, slices int) {
		w.Helper()
		w.tick(time.Second)
		got := w.callback(l)
		equal(w, what, words(got.Run.ID, got.Run.Job, got.Run.State, got.Run.Counts, got.Run.Slices, string(got.Run.Payload),
			got.Spec.Webhook.URL, got.Host, got.Started, got.Deleted, got.LogBytes, string(got.Checkpoint), string(got.Said.Result)),
			words(l.Run.ID, "a", w.state(l.Run.ID), w.run(l.Run.ID).Counts, slices, "[1]", "http://127.0.0.1:9/old", self, began, false, 9,
				`{"n": 1.0}`, "7"))
		equal(w, what+": output", words(len(got.Log), got.Log[0].Attempt, string(got.Log[0].Data)), "1 2 now")
	}
	want("lease of what runs", 0)
	w.apply(w.sliced(l, `{"n": 1.0}`))
	want("lease between slices", 1)
	w.await(w.takeOne())
	want("lease of what waits", 1)
	w.reopen()
	want("lease of what waits for the next process", 1)
}

func leaseOver(w *world) {
	w.jobs("a")
	id := w.enqueue("a").ID
	over := func(what string, f store.Fence, s jobs.State, told string) {
		w.Helper()
		got := w.over(f)
		equal(w, what, words(got.State, got.Told), words(s, told))
	}
	over("not started", store.Fence{Run: id, Number: 1}, jobs.Queued, "")
	f := w.retrying(w.takeOne(), time.Hour)
	f.Told = store.ToldFail
	w.apply(f)
	over("failed", store.Fence{Run: id, Number: 1}, jobs.Retrying, store.ToldFail)
	w.tick(time.Hour)
	l := w.takeOne()
	over("superseded", store.Fence{Run: id, Number: 1}, jobs.Running, store.ToldFail)
	over("ahead of its time", store.Fence{Run: id, Number: 3}, jobs.Running, "")
	w.await(l)
	over("superseded", store.Fence{Run: id, Number: 1}, jobs.Waiting, store.ToldFail)
	w.succeed(w.callback(l))
	over("ended by itself", fenceOf(l), jobs.Succeeded, "")
	w.check(w.Remove(w.ctx, id, w.by()))
	over("removed", fenceOf(l), 0, "")
	over("never was", store.Fence{Run: w.ids.Next(w.now.Std()), Number: 1}, 0, "")
}
