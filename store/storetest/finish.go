package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var finishClaims = []claim{
	{"SuccessIsKeptWithItsResult", finishSuccess},
	{"FailureIsKeptWithItsError", finishFailure},
	{"RetryWaitsAndRunsAgain", finishRetry},
	{"RerunIsDueAtOnce", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		l := w.takeOne()
		out := w.claim(
			store.Claim{Free: [store.Pools]int{1, 0}, Finished: []store.Finish{w.interrupted(l)}})
		equal(w, "claimed", len(out.Leases), 1)
		equal(w, "counts", out.Leases[0].Run.Counts, jobs.Counts{Number: 2, Deaths: 1, Interrupts: 1})
	}},
	{"ErrorIsGoneOnceItSucceeded", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.apply(w.retrying(w.takeOne(), 0))
		equal(w, "error", w.run(id).Error.Message, "503 from upstream")
		w.succeed(w.takeOne())
		r := w.run(id)
		equal(w, "error", r.Error == nil, true)
		equal(w, "error of the attempt", r.Attempts[0].Error.Message, "503 from upstream")
	}},
	{"ErrorOfTheLastFailureOutlivesACancel", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.apply(w.retrying(w.takeOne(), 0))
		l := w.takeOne()
		_, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		w.apply(w.cancelled(l))
		equal(w, "error", w.run(id).Error.Message, "503 from upstream")
	}},
	{"LateFinishChangesNothing", lateFinish},
	{"FinishOfAnUnknownRunIsRefused", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		f := w.succeeded(w.takeOne())
		f.Run = w.ids.Next(w.now.Std())
		w.wantErr(w.finish(f)[0].Err, store.ErrLease)
	}},
	{"CancelBeforeFinishIsToldAndWins", finishCancelled},
	{"OneRefusedFinishSpoilsNoOther", func(w *world) {
		w.jobs("a")
		w.enqueueN(3, "a")
		ls := w.take(3)
		stale := w.succeeded(ls[1])
		stale.Number = 7
		res := w.finish(w.succeeded(ls[0]), stale, w.failed(ls[2]))
		equal(w, "results", words(res[0].Err, res[1].Err, res[2].Err),
			words(nil, store.ErrLease, nil))
		equal(w, "states",
			words(w.state(ls[0].Run.ID), w.state(ls[1].Run.ID), w.state(ls[2].Run.ID)),
			"succeeded running failed")
	}},
	{"FirstAndLastHundredAttemptsAreKept", manyAttempts},
	{"BudgetsComeBack", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		f := w.retrying(w.takeOne(), 0)
		f.Transition.Counts.Budgets = map[string]int{"job rule 1": 2, `"'`: 1}
		w.apply(f)
		w.reopen()
		want := jobs.Counts{Number: 1, Charged: 1, Budgets: f.Transition.Counts.Budgets}
		equal(w, "counts", w.run(id).Counts, want)
		want.Number = 2
		equal(w, "counts of the lease", w.takeOne().Run.Counts, want)
	}},
}

func finishSuccess(w *world) {
	w.jobs("a")
	id := w.enqueue("a").ID
	l := w.takeOne()
	w.tick(time.Second)
	f := w.succeeded(l)
	f.Queue, f.ExitCode, f.OutputTail = "now-here", 0, "done\n"
	w.apply(f)
	w.reopen()
	r := w.run(id)
	equal(w, "run", words(r.State, r.Queue, r.StartedAt, r.FinishedAt, r.ResultTruncated),
		words(jobs.Succeeded, "now-here", start, w.now, false))
	equal(w, "result", string(r.Result), `{ "ok":  true }`)
	want := []jobs.Attempt{{
		Number: 1, Version: 1, StartedAt: start, FinishedAt: w.now, Outcome: jobs.OutcomeSucceeded, Slices: 1, HTTPStatus: 200,
		ExitCode: 0, OutputTail: "done\n", Decision: &jobs.Decision{Action: "succeed", By: "success"},
	}}
	if d := diff(r.Attempts, want); d != "" {
		w.Fatal(d)
	}
	w.enqueue("a")
	f = w.succeeded(w.takeOne())
	f.Result, f.Truncated = nil, true
	w.apply(f)
	r = w.run(f.Run)
	equal(w, "result", words(r.Result == nil, r.ResultTruncated), "true true")
}

func finishFailure(w *world) {
	w.jobs("a")
	w.enqueue("a")
	f := w.failed(w.takeOne())
	f.HTTPStatus = 503
	w.apply(f)
	r := w.run(f.Run)
	want := []jobs.Attempt{{
		Number: 1, Version: 1, StartedAt: w.now, FinishedAt: w.now, Outcome: jobs.OutcomeFailed, Slices: 1, HTTPStatus: 503,
		ExitCode: -1, Error: f.Transition.Error, Decision: &f.Transition.Decision,
	}}
	if d := diff(r.Attempts, want) + diff(r.Error, f.Transition.Error); d != "" {
		w.Fatal(d)
	}
	equal(w, "run", words(r.State, r.FinishedAt, r.Counts),
		words(jobs.Failed, w.now, jobs.Counts{Number: 1, Charged: 1}))
}

func finishRetry(w *world) {
	w.jobs("a")
	id := w.enqueue("a", priority(2)).ID
	w.tick(time.Second)
	w.apply(w.retrying(w.takeOne(), time.Minute))
	r := w.run(id)
	equal(w, "run", words(r.State, r.DueAt, r.RunAt, r.FinishedAt),
		words(jobs.Retrying, w.now.Add(time.Minute), start, jobs.Time(0)))
	out := w.claim(store.Claim{Free: [store.Pools]int{1, 1}})
	equal(w, "claimed", len(out.Leases), 0)
	equal(w, "next due", out.NextDue, r.DueAt)
	w.tick(time.Minute)
	l := w.takeOne()
	equal(w, "lease", words(l.Run.ID, l.Run.Counts.Number, l.Started), words(id, 2, w.now))
	w.succeed(l)
	r = w.run(id)
	equal(w, "started at", r.StartedAt, start.Add(time.Second))
	equal(w, "decision", *r.Attempts[0].Decision, jobs.Decision{
		Action: "retry", By: "otherwise", Reason: "again", NextAttemptAt: start.Add(61 * time.Second),
	})
}

func lateFinish(w *world) {
	w.jobs("a")
	id := w.enqueue("a").ID
	first := w.takeOne()
	w.apply(w.interrupted(first))
	for _, state := range []jobs.State{jobs.Queued, jobs.Running, jobs.Succeeded} {
		equal(w, "state", w.state(id), state)
		before := w.run(id)
		late := w.succeeded(first)
		late.Log = []store.LogPiece{{Run: id, Attempt: 1, Data: []byte("late")}}
		for _, f := range []store.Finish{late, w.failed(first), w.retrying(first, 0), w.cancelled(first)} {
			equal(w, "result", w.finish(f)[0], store.FinishResult{Err: store.ErrLease})
		}
		if d := diff(w.run(id), before); d != "" {
			w.Fatal(d)
		}
		equal(w, "output", logText(w, id), "")
		switch state {
		case jobs.Queued:
			equal(w, "number", w.takeOne().Run.Counts.Number, 2)
		case jobs.Running:
			l := first
			l.Run.Counts = before.Counts
			w.succeed(l)
			first.Run.Counts.Number = 1
		}
	}
}

func finishCancelled(w *world) {
	w.jobs("a")
	w.enqueueN(4, "a")
	leases := w.take(4)
	w.tick(time.Second)
	for _, l := range leases {
		out, err := w.Cancel(w.ctx, l.Run.ID, w.by())
		w.check(err)
		equal(w, "state", out.State, jobs.Running)
	}
	refused := store.FinishResult{Err: store.ErrState, CancelAsked: true}
	res := w.finish(w.succeeded(leases[0]), w.failed(leases[1]), w.retrying(leases[2], 0),
		w.interrupted(leases[3]))
	for i := range res {
		equal(w, "result", res[i], refused)
		equal(w, "state", w.state(leases[i].Run.ID), jobs.Running)
	}
	w.reopen()
	orphans, err := w.Orphans(w.ctx)
	w.check(err)
	for _, o := range orphans {
		equal(w, "cancel requested", o.Run.CancelRequestedAt, w.now)
		w.apply(w.cancelled(o))
		equal(w, "state", w.state(o.Run.ID), jobs.Cancelled)
	}
}

func manyAttempts(w *world) {
	w.jobs("a")
	id := w.enqueue("a").ID
	l := w.takeOne()
	for range 349 {
		out := w.claim(
			store.Claim{Free: [store.Pools]int{1, 0}, Finished: []store.Finish{w.interrupted(l)}})
		w.check(out.Results[0].Err)
		l = out.Leases[0]
	}
	equal(w, "attempts while running", len(w.run(id).Attempts), 201)
	w.apply(w.sliced(l, "1"))
	w.cancel(id) // which keeps an attempt by another way
	r := w.run(id)
	equal(w, "executions", r.Counts.Number, 350)
	equal(w, "attempts", len(r.Attempts), 200)
	for i, a := range r.Attempts {
		want := i + 1
		if i >= 100 {
			want = i + 151
		}
		equal(w, fmt.Sprint("number of attempt ", i), a.Number, want)
	}
}

var recoveryClaims = []claim{
	{"OrphansAreWhatRanWhenTheProcessDied", orphans},
	{"NothingIsLostOverAReopening", func(w *world) {
		w.jobs("a", "b")
		ids := append(w.enqueueN(3, "a"), w.enqueue("b", dueIn(time.Minute)).ID)
		w.succeed(w.takeOne())
		before := map[jobs.ID]*jobs.Run{}
		for _, id := range ids {
			before[id] = w.run(id)
		}
		w.reopen()
		for _, id := range ids {
			if d := diff(w.run(id), before[id]); d != "" {
				w.Fatal(d)
			}
		}
		w.tick(time.Minute)
		equal(w, "claimed", len(w.take(9)), 3)
	}},
}

func orphans(w *world) {
	w.put(webhook("a", "x", ""))
	w.enqueueN(3, "a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`[1]`) })
	w.succeed(w.takeOne())
	l := w.takeOne()
	w.check(
		w.AppendLog(w.ctx, []store.LogPiece{{Run: l.Run.ID, Attempt: 1, Data: []byte("hello")}}))
	w.tick(time.Minute)
	w.put(webhook("a", "y", ""))
	w.reopen()
	found, err := w.Orphans(w.ctx)
	w.check(err)
	equal(w, "orphans", idsOf(found), []jobs.ID{l.Run.ID})
	o := found[0]
	equal(
		w,
		"lease",
		words(o.Started, o.LogBytes, o.Deleted, o.Run.Job, o.Spec.Webhook.URL,
			string(o.Run.Payload)),
		words(l.Started, 5, false, "a", "http://127.0.0.1:9/x", "[1]"),
	)
	again := w.claim(
		store.Claim{Free: [store.Pools]int{9, 0}, Finished: []store.Finish{w.interrupted(o)}})
	w.check(again.Results[0].Err)
	equal(w, "claimed", len(again.Leases), 2)
	for _, l := range again.Leases {
		if l.Run.ID == o.Run.ID {
			equal(w, "lease", words(l.Run.Counts, l.LogBytes),
				words(jobs.Counts{Number: 2, Deaths: 1, Interrupts: 1}, 5))
		}
	}
}
