package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var cancelClaims = []claim{
	{"WhatDoesNotRunEndsAtOnce", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		retrying := w.takeOne()
		w.apply(w.retrying(retrying, time.Hour))
		ids := []jobs.ID{retrying.Run.ID, w.enqueue("a").ID, w.enqueue("a", dueIn(time.Hour)).ID}
		w.tick(time.Second)
		for _, id := range ids {
			for range 2 { // again is no error
				out, err := w.Cancel(w.ctx, id, w.by())
				w.check(err)
				equal(w, "state", out.State, jobs.Cancelled)
			}
			r := w.run(id)
			equal(w, "run", words(r.State, r.FinishedAt, r.CancelRequestedAt, r.Queue),
				words(jobs.Cancelled, w.now, w.now, "default"))
		}
		w.tick(2 * time.Hour)
		out := w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "claimed", len(out.Leases), 0)
		equal(w, "next due", out.NextDue, 0)
		equal(w, "actions", actions(audit(w)[:3]),
			fmt.Sprintf("cancel %s , cancel %s , cancel %s ", ids[2], ids[1], ids[0]))
	}},
	{"RunningRunIsAskedOnce", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.takeOne()
		for range 2 {
			w.tick(time.Second)
			out, err := w.Cancel(w.ctx, id, w.by())
			w.check(err)
			equal(w, "state", out.State, jobs.Running)
		}
		equal(w, "cancel requested", w.run(id).CancelRequestedAt, start.Add(time.Second))
		equal(w, "audit entries", len(audit(w)), 2)
	}},
	{"EndedRunCannotBeCancelled", func(w *world) {
		w.jobs("a")
		w.enqueueN(2, "a")
		ok, bad := w.takeOne(), w.takeOne()
		w.succeed(ok)
		w.fail(bad)
		for _, id := range []jobs.ID{ok.Run.ID, bad.Run.ID} {
			_, err := w.Cancel(w.ctx, id, w.by())
			w.wantErr(err, store.ErrState)
		}
	}},
	{"UnknownRunIsNotFound", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		for _, id := range []jobs.ID{w.ids.Next(w.now.Std()), jobs.IDOf(id.Seq(), id.Tail()+1)} {
			_, err := w.Cancel(w.ctx, id, w.by())
			w.wantErr(err, store.ErrNotFound)
			w.wantErr(w.RunNow(w.ctx, id, w.by()), store.ErrNotFound)
			w.wantErr(w.Remove(w.ctx, id, w.by()), store.ErrNotFound)
			_, err = w.Requeue(w.ctx,
				store.Requeue{Of: id, ID: w.ids.Next(w.now.Std()), By: w.by()})
			w.wantErr(err, store.ErrNotFound)
			_, err = w.Run(w.ctx, id)
			w.wantErr(err, store.ErrNotFound)
			w.wantErr(w.Store.Log(w.ctx, id, func(store.LogPiece) error { return nil }),
				store.ErrNotFound)
		}
	}},
	{"RunNowDropsWhatIsLeftOfADelay", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		retrying := w.takeOne()
		w.apply(w.retrying(retrying, time.Hour))
		scheduled := w.enqueue("a", dueIn(time.Hour)).ID
		w.tick(time.Second)
		for _, id := range []jobs.ID{retrying.Run.ID, scheduled} {
			w.check(w.RunNow(w.ctx, id, w.by()))
			r := w.run(id)
			equal(w, "run", words(r.State, r.DueAt), words(jobs.Queued, w.now))
			w.check(w.RunNow(w.ctx, id, w.by())) // nothing is left to drop
		}
		equal(w, "first due", words(w.run(retrying.Run.ID).RunAt, w.run(scheduled).RunAt),
			words(start, w.now))
		equal(w, "claimed", len(w.take(9)), 2)
		w.check(w.RunNow(w.ctx, scheduled, w.by()))
		equal(w, "state", w.state(scheduled), jobs.Running)
	}},
	{"RunNowOfAnEndedRunIsRefused", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.wantErr(w.RunNow(w.ctx, id, w.by()), store.ErrState)
	}},
}

var requeueClaims = []claim{
	{"KeepsWhatTheWorkIsAndNotHowItWasAsked", requeueKeeps},
	{"SameOperationUnlessItIsOtherWork", requeueOperation},
	{"AtMostOneUnfinishedRequeue", requeueOnce},
	{"NewestVersion", func(w *world) {
		w.put(webhook("a", "1", ""))
		id := w.failOne("a")
		w.put(script("a", "echo"))
		equal(w, "version", w.requeue(id).Version, 2)
		equal(w, "executed", w.takeOne().Spec.Script.Source, "echo")
	}},
	{"OnlyOfWhatHasEnded", func(w *world) {
		w.jobs("a")
		ids := []jobs.ID{w.enqueue("a").ID, w.enqueue("a", dueIn(time.Hour)).ID}
		for range 2 {
			for _, id := range ids {
				_, err := w.Requeue(w.ctx,
					store.Requeue{Of: id, ID: w.ids.Next(w.now.Std()), By: w.by()})
				w.wantErr(err, store.ErrState)
			}
			w.take(1)
		}
	}},
	{"NotOfADeletedJob", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		_, err = w.Requeue(w.ctx, store.Requeue{Of: id, ID: w.ids.Next(w.now.Std()), By: w.by()})
		w.wantErr(err, store.ErrNotFound)
	}},
}

func (w *world) requeue(of jobs.ID, change ...func(*store.Requeue)) store.Submitted {
	w.Helper()
	rq := store.Requeue{
		Of:      of,
		ID:      w.ids.Next(w.now.Std()),
		Trigger: jobs.TriggerRequeue,
		By:      w.by(),
		Creator: "tester",
	}
	for _, f := range change {
		f(&rq)
	}
	out, err := w.Requeue(w.ctx, rq)
	w.check(err)
	return out
}

func requeueKeeps(w *world) {
	w.jobs("a")
	sub := w.sub("a", keyed("k", `{"n": 1}`), priority(5))
	r := sub.Run
	r.MaxAttempts, r.Timeout, r.CreatedBy = 2, jobs.Duration(time.Minute), "shop"
	r.Labels, r.CorrelationID, r.Traceparent = map[string]string{"a": "b"}, "order-1", "00-1"
	_, err := w.Enqueue(w.ctx, []store.Submission{sub})
	w.check(err)
	w.fail(w.takeOne())
	w.tick(time.Hour)
	out := w.requeue(r.ID)
	want := &jobs.Run{
		ID: out.ID, Job: "a", Version: 1, OperationID: r.ID, State: jobs.Queued, Trigger: jobs.TriggerRequeue,
		Queue: "default", Payload: r.Payload, Priority: 5, Labels: r.Labels, CorrelationID: "order-1",
		Traceparent: "00-1", CreatedBy: "tester", CreatedAt: w.now, RunAt: w.now, DueAt: w.now, RequeuedFrom: r.ID,
	}
	sameRun(w, w.run(out.ID), want)
	equal(
		w,
		"answer",
		out,
		store.Submitted{
			ID:        out.ID,
			Job:       "a",
			Version:   1,
			State:     jobs.Queued,
			Operation: r.ID,
			DueAt:     w.now,
		},
	)
	equal(w, "link", w.run(r.ID).RequeuedTo, out.ID)
	equal(w, "audit", actions(audit(w)[:1]), "requeue "+r.ID.String()+" ")
	// The correlation id of a run that had none of its own is its id.
	plain := w.failOne("a")
	equal(w, "correlation id", w.run(w.requeue(plain).ID).CorrelationID, plain.String())
}

func requeueOperation(w *world) {
	w.jobs("a")
	payload := func(r *store.Requeue) { r.Payload = jobs.Raw(`{"new": 1}`) }
	reset := func(r *store.Requeue) { r.Reset = true }
	failed := func() jobs.ID { return w.failOne("a") }
	succeeded := func() jobs.ID { id := w.enqueue("a").ID; w.drain(); return id }
	cancelled := func() jobs.ID {
		id := w.enqueue("a").ID
		_, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		return id
	}
	for _, c := range []struct {
		name   string
		of     func() jobs.ID
		change []func(*store.Requeue)
		same   bool
	}{
		{"failed", failed, nil, true},
		{"cancelled", cancelled, nil, true},
		{"succeeded", succeeded, nil, false},
		{"failed, payload", failed, []func(*store.Requeue){payload}, false},
		{"failed, reset", failed, []func(*store.Requeue){reset}, false},
		{"cancelled, payload", cancelled, []func(*store.Requeue){payload}, false},
	} {
		of := c.of()
		out := w.requeue(of, c.change...)
		r := w.run(out.ID)
		equal(w, c.name+": same operation", r.OperationID == of, c.same)
		if !c.same {
			equal(w, c.name+": operation", r.OperationID, r.ID)
		}
		equal(w, c.name+": operation answered", out.Operation, r.OperationID)
		w.drain()
		// A chain of requeues stays one operation.
		if c.same {
			w.now++
		}
	}
	first := w.failOne("a")
	second := w.requeue(first)
	w.fail(w.takeOne())
	equal(w, "operation of a chain", w.requeue(second.ID).Operation, first)
}

func requeueOnce(w *world) {
	w.jobs("a")
	id := w.failOne("a")
	first := w.requeue(id)
	for range 2 {
		again := w.requeue(id, func(r *store.Requeue) { r.Payload = jobs.Raw("1") })
		equal(w, "answer", words(again.ID, again.Duplicate, again.Operation),
			words(first.ID, true, id))
		w.take(1)
	}
	stats, err := w.Stats(w.ctx)
	w.check(err)
	equal(w, "unfinished", words(stats), words(map[jobs.State]int{jobs.Running: 1}))
	_, err = w.Cancel(w.ctx, first.ID, w.by())
	w.check(err)
	w.reopen()
	orphans, err := w.Orphans(w.ctx)
	w.check(err)
	w.apply(w.cancelled(orphans[0]))
	second := w.requeue(id)
	equal(w, "a new one", words(second.Duplicate, second.ID == first.ID), "false false")
	equal(w, "links", words(w.run(id).RequeuedTo, w.run(first.ID).RequeuedTo), words(first.ID, second.ID))
	w.drain()
	w.check(w.Remove(w.ctx, second.ID, w.by()))
	equal(w, "after the requeue was removed", w.requeue(id).Duplicate, false)
}

var removeClaims = []claim{
	{"DeletesTheRunAndAllOfIt", func(w *world) {
		w.jobs("a")
		id := w.failOne("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw("[1]") })
		w.check(w.AppendLog(w.ctx, []store.LogPiece{{Run: id, Attempt: 1, Data: []byte("x")}}))
		w.check(w.Remove(w.ctx, id, w.by()))
		_, err := w.Run(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
		w.wantErr(w.Store.Log(w.ctx, id, func(store.LogPiece) error { return nil }),
			store.ErrNotFound)
		w.wantErr(w.Remove(w.ctx, id, w.by()), store.ErrNotFound)
		list, _, err := w.Runs(w.ctx, store.RunFilter{}, store.Page{Limit: 9})
		w.check(err)
		equal(w, "runs", len(list), 0)
		equal(w, "audit", actions(audit(w)[:1]), "remove "+id.String()+" ")
	}},
	{"OnlyWhatHasEnded", func(w *world) {
		w.jobs("a")
		ids := []jobs.ID{w.enqueue("a").ID, w.enqueue("a", dueIn(time.Hour)).ID}
		for range 2 {
			for _, id := range ids {
				w.wantErr(w.Remove(w.ctx, id, w.by()), store.ErrState)
			}
			w.take(1)
		}
	}},
	{"FloorDoesNotFallWithTheNewestRun", func(w *world) {
		w.jobs("a")
		ids := w.enqueueN(3, "a")
		w.drain()
		for i := range ids {
			w.check(w.Remove(w.ctx, ids[len(ids)-1-i], w.by()))
			w.reopen()
			floor, err := w.Floor(w.ctx)
			w.check(err)
			equal(w, "floor", floor, ids[2].Seq())
		}
	}},
}
