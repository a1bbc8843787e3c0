package storetest

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var enqueueClaims = []claim{
	{"EveryFieldComesBack", enqueueEveryField},
	{"PayloadIsKeptByteForByte", enqueuePayload},
	{"AllOrNoneAndEveryFaultListed", enqueueAllOrNone},
	{"UnknownJobIsNotFound", func(w *world) {
		_, err := w.Enqueue(w.ctx, []store.Submission{w.sub("nobody")})
		w.wantErr(err, store.ErrNotFound)
	}},
	{"NothingIsEnqueuedByAnEmptyList", func(w *world) {
		out, err := w.Enqueue(w.ctx, nil)
		w.check(err)
		equal(w, "answer", len(out), 0)
	}},
	{"SignalsReady", func(w *world) {
		w.jobs("a")
		for len(w.Ready()) > 0 {
			<-w.Ready()
		}
		w.enqueue("a", dueIn(time.Hour))
		select {
		case <-w.Ready():
		case <-time.After(10 * time.Second):
			w.Fatal("Ready was not signalled")
		}
	}},
	{"BatchOfTenThousand", func(w *world) {
		w.jobs("a")
		w.enqueueN(10_000, "a")
		stats, err := w.Stats(w.ctx)
		w.check(err)
		equal(w, "queued", stats[jobs.Queued], 10_000)
	}},
}

func enqueueEveryField(w *world) {
	w.put(webhook("a", "", `,"queue":"slow"`))
	operation := w.ids.Next(w.now.Std())
	sub := w.sub("a", dueIn(time.Minute), keyed("k1", `{"n": 1.0}`), priority(-7))
	r := sub.Run
	r.OperationID, r.MaxAttempts, r.Timeout = operation, 3, jobs.Duration(90*time.Second)
	r.Labels = map[string]string{"team": "data", "b": ""}
	r.CorrelationID, r.Traceparent, r.CreatedBy, r.Trigger = "order-1", "00-ab-cd-01", "shop", jobs.TriggerCLI
	out, err := w.Enqueue(w.ctx, []store.Submission{sub})
	w.check(err)
	equal(w, "answer", out[0], store.Submitted{
		ID: r.ID, Job: "a", Version: 1, State: jobs.Scheduled, Operation: operation, DueAt: r.DueAt,
	})
	want := *r
	want.Version, want.Queue = 1, "slow"
	sameRun(w, w.run(r.ID), &want)
	w.reopen()
	sameRun(w, w.run(r.ID), &want)
}

// sameRun compares all that is stored of a run, but for why it is held.
func sameRun(w *world, got, want *jobs.Run) {
	w.Helper()
	g := *got
	g.HeldBy = nil
	if d := diff(&g, want); d != "" {
		w.Fatalf("run %s differs (-got +want):\n%s", want.ID, d)
	}
}

func enqueuePayload(w *world) {
	w.jobs("a")
	for _, text := range []string{
		`{}`, ` {} `, `null`, `0.10e+5`, `"é\u00e9\/ \ud83d\ude00"`, `[1,  2,{"b":1,"a":12345678901234567890}]`,
	} {
		id := w.enqueue("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(text) }).ID
		equal(w, "payload", string(w.run(id).Payload), text)
		l := w.takeOne()
		equal(w, "payload of the lease", string(l.Run.Payload), text)
		w.succeed(l)
	}
}

func enqueueAllOrNone(w *world) {
	w.jobs("a")
	w.enqueue("a", keyed("k", "1"))
	subs := []store.Submission{
		w.sub(
			"a",
		), w.sub("nobody"), w.sub("a", keyed("k", "2")), w.sub("a", keyed("new", "1")), w.sub("never"),
	}
	_, err := w.Enqueue(w.ctx, subs)
	if err == nil {
		w.Fatal("no error")
	}
	var bad []int
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		w.Fatalf("faults are not joined: %v", err)
	}
	for _, e := range joined.Unwrap() {
		entry := (*store.EntryError)(nil)
		if !errors.As(e, &entry) {
			w.Fatalf("%v is not an EntryError", e)
		}
		bad = append(bad, entry.Index)
		conflict := (*store.KeyConflict)(nil)
		if isConflict := errors.As(e, &conflict); isConflict != (entry.Index == 2) {
			w.Fatalf("entry %d: %v", entry.Index, e)
		}
	}
	equal(w, "faulty entries", bad, []int{1, 2, 4})
	for _, sub := range subs {
		_, err := w.Run(w.ctx, sub.Run.ID)
		w.wantErr(err, store.ErrNotFound)
	}
	// The key of the entry that was undone is free.
	if out := w.enqueue("a", keyed("new", "other")); out.Duplicate {
		w.Fatal("a key of a refused batch is taken")
	}
}

var keyClaims = []claim{
	{"SameKeyGivesTheEarlierRun", func(w *world) {
		w.jobs("a")
		first := w.enqueue("a", keyed("k", "1"))
		again := w.enqueue("a", keyed("k", "1"))
		first.Duplicate = true
		equal(w, "answer", again, first)
	}},
	{"OtherPayloadConflicts", func(w *world) {
		w.jobs("a")
		first := w.enqueue("a", keyed("k", "1"))
		_, err := w.Enqueue(w.ctx, []store.Submission{w.sub("a", keyed("k", "2"))})
		conflict := (*store.KeyConflict)(nil)
		if !errors.As(err, &conflict) || conflict.Key != "k" || conflict.Run != first.ID {
			w.Fatalf("error is %v, want a conflict with run %s", err, first.ID)
		}
	}},
	{"KeyBelongsToItsJob", func(w *world) {
		w.jobs("a", "b")
		w.enqueue("a", keyed("k", "1"))
		if w.enqueue("b", keyed("k", "2")).Duplicate {
			w.Fatal("a key of another job counts")
		}
	}},
	{"EntriesOfABatchActInOrder", func(w *world) {
		w.jobs("a")
		subs := []store.Submission{
			w.sub("a", keyed("k", "1")),
			w.sub("a", keyed("k", "1")),
			w.sub("a"),
		}
		out, err := w.Enqueue(w.ctx, subs)
		w.check(err)
		equal(w, "second", out[1].ID, subs[0].Run.ID)
		equal(w, "duplicates", []bool{out[0].Duplicate, out[1].Duplicate, out[2].Duplicate},
			[]bool{false, true, false})
		_, err = w.Enqueue(w.ctx,
			[]store.Submission{w.sub("a", keyed("n", "1")), w.sub("a", keyed("n", "2"))})
		conflict := (*store.KeyConflict)(nil)
		if !errors.As(err, &conflict) {
			w.Fatalf("error is %v, want a conflict within the batch", err)
		}
		equal(w, "entry of the conflict", *conflict.Entry, 0)
	}},
	{"EndsWithItsTimeOnceItsRunHasEnded", keyLifetime},
	{"OutlivesItsRun", keyOutlives},
	{"SurvivesDeletionOfItsJob", func(w *world) {
		w.jobs("a")
		first := w.enqueue("a", keyed("k", "1"))
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		w.jobs("a")
		again := w.enqueue("a", keyed("k", "1"))
		equal(w, "run", again.ID, first.ID)
		equal(w, "state", again.State, jobs.Cancelled)
	}},
	{"HostileKeysAreKeysOfTheirOwn", func(w *world) {
		w.jobs("a")
		keys := []string{
			"'",
			"\"; DROP TABLE runs",
			"%",
			"_",
			"K",
			"k",
			" k",
			"é",
			"e\u0301",
			"\x01",
			"$1",
		}
		for _, k := range keys {
			if w.enqueue("a", keyed(k, "1")).Duplicate {
				w.Fatalf("key %q is taken", k)
			}
		}
		for _, k := range keys {
			out := w.enqueue("a", keyed(k, "1"))
			equal(w, "key "+k, words(out.Duplicate, w.run(out.ID).IdempotencyKey), "true "+k)
		}
	}},
}

func keyLifetime(w *world) {
	w.jobs("a")
	first := w.enqueue("a", keyed("k", "1"))
	w.tick(25 * time.Hour)
	equal(w, "run while the first is unfinished", w.enqueue("a", keyed("k", "1")).ID, first.ID)
	prune(w)
	_, err := w.Enqueue(w.ctx, []store.Submission{w.sub("a", keyed("k", "2"))})
	conflict := (*store.KeyConflict)(nil)
	if !errors.As(err, &conflict) {
		w.Fatalf("error is %v, want a conflict: the run has not ended", err)
	}
	w.drain()
	next := w.enqueue("a", keyed("k", "2"))
	equal(w, "duplicate past its time", next.Duplicate, false)
	w.drain()
	w.tick(24*time.Hour - time.Millisecond)
	equal(w, "duplicate within its time", w.enqueue("a", keyed("k", "2")).Duplicate, true)
	w.tick(time.Millisecond)
	equal(w, "duplicate at its time", w.enqueue("a", keyed("k", "2")).Duplicate, false)
}

func keyOutlives(w *world) {
	w.put(webhook("a", "", `,"retain":{"succeeded":"1h"}`))
	removed, pruned := w.enqueue("a", keyed("removed", "1")), w.enqueue("a", keyed("pruned", "1"))
	w.drain()
	w.check(w.Remove(w.ctx, removed.ID, w.by()))
	w.tick(2 * time.Hour)
	prune(w)
	_, err := w.Run(w.ctx, pruned.ID)
	w.wantErr(err, store.ErrNotFound)
	for key, id := range map[string]jobs.ID{"removed": removed.ID, "pruned": pruned.ID} {
		out := w.enqueue("a", keyed(key, "1"))
		equal(w, "answer for "+key, words(out.ID, out.Duplicate, int(out.State)),
			words(id, true, 0))
	}
	_, err = w.Enqueue(w.ctx, []store.Submission{w.sub("a", keyed("pruned", "2"))})
	conflict := (*store.KeyConflict)(nil)
	if !errors.As(err, &conflict) {
		w.Fatalf("error is %v, want a conflict with a run that is gone", err)
	}
}
