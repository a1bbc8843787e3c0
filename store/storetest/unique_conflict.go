package storetest

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func uniqueReject(w *world) {
	w.jobs("a")
	for _, while := range []string{jobs.WhileQueued, jobs.WhileActive, "1h"} {
		reject := unique("k "+while, while, jobs.ConflictReject)
		id := w.free(reject)
		until, told := jobs.Time(0), while
		if while == "1h" {
			until, told = w.now.Add(time.Hour), ""
		}
		sub := w.sub("a", reject, keyed("i "+while, "1"))
		for range 2 { // nothing was kept of the first
			_, err := w.Enqueue(w.ctx, []store.Submission{sub})
			w.refused(err, id, until, told)
		}
	}
}

func uniqueBatch(w *world) {
	w.jobs("a")
	queued, reject := existing(jobs.WhileQueued), unique("r", jobs.WhileActive, jobs.ConflictReject)
	subs := []store.Submission{w.sub("a", queued), w.sub("a", reject), w.sub("a", queued), w.sub("a")}
	out, err := w.Enqueue(w.ctx, subs)
	w.check(err)
	equal(w, "third", words(out[2].ID, out[2].Duplicate), words(out[0].ID, true))
	stands := out[1].ID

	mine := unique("m", jobs.WhileActive, jobs.ConflictReject)
	subs = []store.Submission{
		w.sub("a", mine), w.sub("a", reject), w.sub("nobody"), w.sub("a", mine), w.sub("a", queued),
	}
	_, err = w.Enqueue(w.ctx, subs)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		w.Fatalf("faults are not joined: %v", err)
	}
	var bad []int
	for _, e := range joined.Unwrap() {
		entry := (*store.EntryError)(nil)
		if !errors.As(e, &entry) {
			w.Fatalf("%v is not an EntryError", e)
		}
		switch bad = append(bad, entry.Index); entry.Index {
		case 1:
			equal(w, "entry", w.refused(e, stands, 0, jobs.WhileActive).Entry, (*int)(nil))
		case 3:
			equal(w, "entry", *w.refused(e, subs[0].Run.ID, 0, jobs.WhileActive).Entry, 0)
		}
	}
	equal(w, "faulty entries", bad, []int{1, 2, 3})
	w.free(mine) // what was undone has no key
}

func uniqueReplace(w *world) {
	w.jobs("a")
	replace := unique("k", jobs.WhileQueued, jobs.ConflictReplace)
	payload := func(text string) func(*store.Submission) {
		return func(s *store.Submission) { s.Run.Payload = jobs.Raw(text) }
	}
	for _, first := range []string{"{}", `{"n": 1}`} {
		id := w.free(replace, payload(first), priority(3))
		for _, text := range []string{`{"n": 2.0}`, "{}", ` {"n":3} `} {
			out := w.enqueue("a", replace, payload(text), priority(9), dueIn(time.Hour),
				func(s *store.Submission) { s.Run.Labels = map[string]string{"x": "y"} })
			equal(w, "answer", words(out.ID, out.Duplicate, out.Unique, out.Replaced, out.State),
				words(id, true, true, true, jobs.Queued))
			r := w.run(id)
			equal(w, "run", words(string(r.Payload), r.Priority, len(r.Labels), r.DueAt, r.State),
				words(text, 3, 0, w.now, jobs.Queued))
		}
		l := w.takeOne()
		equal(w, "given out", words(l.Run.ID, string(l.Run.Payload)), words(id, ` {"n":3} `))
		next := w.free(replace, dueIn(time.Hour))
		equal(w, "payload of what runs", string(w.run(id).Payload), ` {"n":3} `)
		w.succeed(l)
		w.enqueue("a", replace, payload("7"))
		w.tick(time.Hour)
		l = w.takeOne()
		equal(w, "scheduled one", words(l.Run.ID, string(l.Run.Payload)), words(next, "7"))
		w.succeed(l)
	}
}

func uniqueMoves(w *world) {
	w.put(webhook("a", "", `,"concurrency":{"limit":1,"key":"payload.c"}`))
	replace := unique("k", jobs.WhileQueued, jobs.ConflictReplace)
	shared := func(key string) func(*store.Submission) {
		return func(s *store.Submission) { s.Run.Keys.Concurrency = &key }
	}
	w.enqueue("a", shared("x"))
	running := w.takeOne()
	id := w.free(replace, shared("y"))
	w.enqueue("a", replace, shared("x"))
	equal(w, "claimed while its key is taken", len(w.take(9)), 0)
	w.enqueue("a", replace, shared("y"))
	equal(w, "key", *w.run(id).Keys.Concurrency, "y")
	l := w.takeOne()
	equal(w, "claimed", words(l.Run.ID, *l.Run.Keys.Concurrency), words(id, "y"))
	w.succeed(l)

	id = w.free(replace, shared("y"), dueIn(time.Hour))
	w.enqueue("a", replace, shared("x"))
	w.tick(time.Hour)
	equal(w, "claimed once it is due", len(w.take(9)), 0)
	w.succeed(running)
	l = w.takeOne()
	equal(w, "claimed", l.Run.ID, id)
	w.succeed(l)

	id = w.free(replace, shared("y"))
	w.apply(w.held(w.takeOne(), "TOKEN"))
	w.enqueue("a", replace, shared("x"))
	equal(w, "held by", w.run(id).HeldBy.Kind, jobs.HeldSecret)
	w.enqueue("a", shared("x"))
	other := w.takeOne()
	w.putSecret("TOKEN", []byte("x"))
	equal(w, "claimed while its key is taken", len(w.take(9)), 0)
	w.succeed(other)
	equal(w, "claimed", w.takeOne().Run.ID, id)
}

func uniqueAfterKey(w *world) {
	w.jobs("a")
	reject := unique("k", "1h", jobs.ConflictReject)
	id := w.free(reject, keyed("i", "1"))
	out := w.enqueue("a", reject, keyed("i", "1"))
	equal(w, "answer", words(out.ID, out.Duplicate, out.Unique), words(id, true, false))
	_, err := w.Enqueue(w.ctx, []store.Submission{w.sub("a", reject, keyed("i", "2"))})
	conflict := (*store.KeyConflict)(nil)
	if !errors.As(err, &conflict) {
		w.Fatalf("error is %v, want a conflict of the idempotency key", err)
	}
}

func uniqueKeyKept(w *world) {
	w.jobs("a")
	active := existing(jobs.WhileActive)
	delivery := func(s *store.Submission) { s.Delivery = "door 1" }
	id := w.free(active, keyed("first", "1"))
	w.folded(id, 0, active, keyed("i", "2"))
	w.folded(id, 0, active, delivery)
	w.drain()
	for _, change := range []func(*store.Submission){keyed("i", "2"), delivery} {
		out := w.enqueue("a", active, change)
		equal(w, "the same again", words(out.ID, out.Duplicate, out.State), words(id, true, jobs.Succeeded))
	}
	_, err := w.Enqueue(w.ctx, []store.Submission{w.sub("a", active, keyed("i", "1"))})
	conflict := (*store.KeyConflict)(nil)
	if !errors.As(err, &conflict) || conflict.Run != id {
		w.Fatalf("error is %v, want a conflict with run %s", err, id)
	}
	equal(w, "key of the run", w.run(id).IdempotencyKey, "first")
	w.tick(25 * time.Hour)
	prune(w)
	w.free(active, keyed("i", "1"))
}

func uniqueQuiet(w *world) {
	w.jobs("a")
	note := func(id jobs.ID) any {
		w.Helper()
		f := w.run(id).Folded
		if f == nil {
			return nil
		}
		return words(f.Count, f.Trigger, f.By, f.At)
	}
	for _, conflict := range []string{
		jobs.ConflictExisting, jobs.ConflictReject, jobs.ConflictReplace,
	} {
		queued := unique(conflict, jobs.WhileQueued, conflict)
		id := w.free(queued, quiet(jobs.TriggerChain, "one"))
		equal(w, "note of a run that was made", note(id), any(nil))
		w.folded(id, 0, queued, quiet(jobs.TriggerChain, "one"))
		equal(w, "note", note(id), any(words(1, jobs.TriggerChain, "one", w.now)))
		w.tick(time.Second)
		w.folded(id, 0, queued, quiet(jobs.TriggerInbound, "door \"x\""),
			func(s *store.Submission) { s.Run.Payload = jobs.Raw("7") })
		equal(w, "note", note(id), any(words(2, jobs.TriggerInbound, "door \"x\"", w.now)))
		equal(w, "payload", string(w.run(id).Payload), "{}")
	}
	w.drain()
	window := existing("1h")
	id := w.free(window)
	w.folded(id, w.now.Add(time.Hour), window) // who asked was told
	equal(w, "note", note(id), any(nil))
	w.drain()
	w.folded(id, w.now.Add(time.Hour), window, quiet(jobs.TriggerChain, ""))
	equal(w, "note of one that has ended", note(id), any(words(1, jobs.TriggerChain, "", w.now)))
	list, _, err := w.Runs(w.ctx, store.RunFilter{}, store.Page{Limit: 1})
	w.check(err)
	equal(w, "note in a list", list[0].Folded, (*jobs.Folded)(nil))
}

func uniqueFollow(w *world) {
	w.jobs("a", "b", "gone")
	_, err := w.DeleteJob(w.ctx, "gone", nil, w.by())
	w.check(err)
	reject := unique("k", jobs.WhileActive, jobs.ConflictReject)
	stands := w.free(reject, dueIn(time.Hour))
	id := w.enqueue("b").ID
	f := w.succeeded(w.takeOne())
	later := unique("n", "1h", jobs.ConflictExisting)
	from := quiet(jobs.TriggerChain, id.String())
	f.Spawn = []store.Submission{
		w.follow("a", reject, from), w.follow("a", later, from), w.follow("gone"),
		w.follow("a", later, from), w.follow("a", reject, from, bornFailed),
	}
	res := w.finish(f)[0]
	w.check(res.Err)
	made := f.Spawn[1].Run.ID
	equal(w, "made", words(len(res.Spawned), res.Spawned[0].ID, res.Spawned[1].State),
		words(2, made, jobs.Failed))
	equal(w, "reason", w.run(id).Attempts[0].Decision.Reason,
		"the run of a that follows was folded into run "+stands.String()+", which stands until it ends; "+
			"the run of a that follows was folded into run "+made.String()+", which stands until "+
			w.now.Add(time.Hour).String()+"; no run follows of gone: there is no such job any more")
	note := w.run(stands).Folded
	equal(w, "note", words(note.Count, note.Trigger, note.By), words(1, jobs.TriggerChain, id))
	// A run that has ended with this transaction does not stand.
	self := w.enqueue("a", unique("s", jobs.WhileActive, jobs.ConflictExisting)).ID
	for _, l := range w.take(9) {
		f := w.succeeded(l)
		if l.Run.ID == self {
			f.Spawn = []store.Submission{w.follow("a", unique("s", jobs.WhileActive, ""), from)}
			equal(w, "made", len(w.finish(f)[0].Spawned), 1)
		}
	}
}

func uniqueRequeue(w *world) {
	w.jobs("a")
	active := existing(jobs.WhileActive)
	with := func(while, conflict string) func(*store.Requeue) {
		return func(rq *store.Requeue) { rq.Unique = uniqueRun("k", while, conflict) }
	}
	failed := w.failOne("a", active)
	other := w.free(active)
	for _, conflict := range []string{
		jobs.ConflictExisting, jobs.ConflictReject, jobs.ConflictReplace,
	} {
		rq := store.Requeue{Of: failed, ID: w.ids.Next(w.now.Std()), By: w.by()}
		with(jobs.WhileActive, conflict)(&rq)
		_, err := w.Requeue(w.ctx, rq)
		w.refused(err, other, 0, jobs.WhileActive)
		equal(w, "link", w.run(failed).RequeuedTo.IsNil(), true)
	}
	w.drain()
	next := w.requeue(failed, with(jobs.WhileActive, jobs.ConflictReject)).ID
	w.folded(next, 0, active)
	equal(w, "the same requeue again", w.requeue(failed, with(jobs.WhileActive, "")).ID, next)
	w.drain()
	w.tick(time.Hour)

	// Of one that stands itself.
	window := existing("1h")
	failed = w.failOne("a", window)
	w.tick(time.Minute)
	next = w.requeue(failed, with("1h", jobs.ConflictReject)).ID
	w.folded(next, w.now.Add(time.Hour), window)
	w.fail(w.takeOne())
	rq := store.Requeue{Of: failed, ID: w.ids.Next(w.now.Std()), By: w.by()}
	with("1h", jobs.ConflictExisting)(&rq)
	_, err := w.Requeue(w.ctx, rq)
	w.refused(err, next, w.now.Add(time.Hour), "")
	w.requeue(next, with("1h", jobs.ConflictExisting))
}
