package storetest

import (
	"errors"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// unique makes a submission one of its kind. while may be a duration, as in a document.
func unique(key, while, conflict string) func(*store.Submission) {
	return func(s *store.Submission) { s.Unique = uniqueRun(key, while, conflict) }
}

func uniqueRun(key, while, conflict string) *jobs.UniqueRun {
	u := &jobs.UniqueRun{Key: key, While: while, Conflict: conflict}
	if d, err := time.ParseDuration(while); err == nil {
		u.While, u.For = "", jobs.Duration(d)
	}
	return u
}

func existing(while string) func(*store.Submission) {
	return unique("k", while, jobs.ConflictExisting)
}

// quiet makes a submission one of which nobody is told.
func quiet(trigger jobs.Trigger, by string) func(*store.Submission) {
	return func(s *store.Submission) { s.Quiet, s.By, s.Run.Trigger = true, by, trigger }
}

// folded demands that a run like that is not made, as another one stands.
func (w *world) folded(id jobs.ID, until jobs.Time, change ...func(*store.Submission)) {
	w.Helper()
	out := w.enqueue("a", change...)
	equal(w, "answer", words(out.ID, out.Duplicate, out.Unique, out.UniqueUntil),
		words(id, true, true, until))
}

// free demands that a run like that is made.
func (w *world) free(change ...func(*store.Submission)) jobs.ID {
	w.Helper()
	out := w.enqueue("a", change...)
	equal(w, "answer", words(out.Duplicate, out.Unique), "false false")
	return out.ID
}

// refused demands a conflict with a run that stands.
func (w *world) refused(err error, id jobs.ID, until jobs.Time, while string) *store.UniqueConflict {
	w.Helper()
	conflict := (*store.UniqueConflict)(nil)
	if !errors.As(err, &conflict) {
		w.Fatalf("error is %v, want a conflict with run %s", err, id)
	}
	equal(w, "conflict", words(conflict.Job, conflict.Run, conflict.Until, conflict.While),
		words("a", id, until, while))
	return conflict
}

var uniqueClaims = []claim{
	{"QueuedStandsUntilItFirstStarts", uniqueQueued},
	{"ActiveStandsUntilItEndsRetryingIncluded", uniqueActive},
	{"ActiveStandsOverACrash", uniqueCrash},
	{"CancelledRunIsFreeAtOnce", func(w *world) {
		w.jobs("a")
		for _, while := range []string{jobs.WhileQueued, jobs.WhileActive} {
			id := w.free(existing(while))
			_, err := w.Cancel(w.ctx, id, w.by())
			w.check(err)
			w.free(existing(while))
			w.drain()
		}
	}},
	{"WindowHoldsFromCreationWhateverBecameOfIt", uniqueWindow},
	{"WindowOutlivesPruningButNotDeletion", uniqueGone},
	{"KeyIsJudgedByWhatTheNewRequestSays", uniqueChanged},
	{"WindowThatWasToldHoldsOverPruning", func(w *world) {
		w.put(webhook("a", "", `,"retain":{"succeeded":"10m"}`))
		id := w.free(existing("1h"))
		until := w.now.Add(5 * time.Hour)
		w.drain()
		w.folded(id, until, existing("5h"))
		w.tick(2 * time.Hour)
		prune(w)
		w.folded(id, until, existing("5h"))
		w.tick(3 * time.Hour)
		w.free(existing("5h"))
	}},
	{"KeyBelongsToItsJob", func(w *world) {
		w.jobs("a", "b")
		id := w.free(existing(jobs.WhileActive))
		equal(w, "of another job", w.enqueue("b", existing(jobs.WhileActive)).Duplicate, false)
		w.free(unique("K", jobs.WhileActive, jobs.ConflictExisting))
		none := w.free(unique("", jobs.WhileActive, jobs.ConflictExisting))
		w.folded(none, 0, unique("", jobs.WhileActive, jobs.ConflictExisting))
		w.free() // without one
		w.free(keyed("k", "1"))
		w.folded(id, 0, existing(jobs.WhileActive))
	}},
	{"RejectNamesTheRunThatStands", uniqueReject},
	{"EntriesOfABatchActInOrder", uniqueBatch},
	{"ReplaceGivesThePayloadAlone", uniqueReplace},
	{"ReplacedHostIsOfTheVersionOfItsRun", func(w *world) {
		w.put(calling("a", byPayload))
		replace := unique("k", jobs.WhileQueued, jobs.ConflictReplace)
		id := w.enqueueFor("a", `{"host":"one.example"}`, replace)
		w.enqueueFor("a", `{"host":"two.example"}`, replace)
		equal(w, "host", w.run(id).Host, "two.example:443")
		w.put(calling("a", "https://{{ payload.host }}:1/x"))
		equal(w, "run", w.enqueueFor("a", `{"host":"three.example"}`, replace), id)
		equal(w, "host, version", words(w.run(id).Host, w.run(id).Version), "three.example:443 1")
		w.put(calling("a", "https://fixed.example/"))
		equal(w, "run", w.enqueueFor("a", `{}`, replace), id)
		equal(w, "host that cannot be read", w.run(id).Host, "")
		l := w.takeOne()
		equal(w, "payload of the lease", string(l.Run.Payload), "{}")
	}},
	{"ReplacedRunWaitsByItsNewKeys", uniqueMoves},
	{"IdempotencyKeyComesFirst", uniqueAfterKey},
	{"KeyOfAFoldedRequestGivesTheRunThatStood", uniqueKeyKept},
	{"QuietConflictIsNotedAtTheRunThatStands", uniqueQuiet},
	{"FollowUpThatIsFoldedIsToldInTheDecision", uniqueFollow},
	{"RequeueTakesTheKeyOrIsRefused", uniqueRequeue},
	{"RunThatIsMadeFailedNeitherStandsNorIsFolded", func(w *world) {
		w.jobs("a")
		active := existing(jobs.WhileActive)
		w.free(existing("1h"), bornFailed)
		id := w.free(active)
		w.free(active, bornFailed)
		w.folded(id, 0, active)
	}},
	{"ManyAtOnceMakeOne", func(w *world) {
		w.jobs("a")
		subs := make([]store.Submission, 50)
		for i := range subs {
			subs[i] = w.sub("a", existing(jobs.WhileActive))
		}
		ids := make([]store.Submitted, len(subs))
		var all sync.WaitGroup
		for i := range subs {
			all.Go(func() {
				out, err := w.Enqueue(w.ctx, subs[i:i+1])
				if err != nil {
					w.Error(err)
					return
				}
				ids[i] = out[0]
			})
		}
		all.Wait()
		made := 0
		for _, out := range ids {
			equal(w, "run", out.ID, ids[0].ID)
			if !out.Duplicate {
				made++
			}
		}
		equal(w, "made", made, 1)
		equal(w, "runs", len(w.take(99)), 1)
	}},
}

func uniqueQueued(w *world) {
	w.jobs("a")
	queued := existing(jobs.WhileQueued)
	id := w.free(queued, dueIn(time.Hour))
	w.folded(id, 0, queued)
	w.tick(time.Hour)
	w.folded(id, 0, queued)
	w.apply(w.held(w.takeOne(), "TOKEN"))
	w.folded(id, 0, queued) // nothing of it was executed
	w.putSecret("TOKEN", []byte("x"))
	l := w.takeOne()
	second := w.free(queued)
	w.folded(second, 0, queued)
	_, err := w.Cancel(w.ctx, second, w.by())
	w.check(err)
	w.succeed(l)

	// One that waits again has started.
	id = w.free(queued)
	w.apply(w.retrying(w.takeOne(), 0))
	w.folded(w.free(queued), 0, queued)
	equal(w, "the first waits again", w.state(id), jobs.Queued)
}

func uniqueActive(w *world) { // case 125
	w.jobs("a")
	active := existing(jobs.WhileActive)
	id := w.free(active, dueIn(time.Hour))
	w.folded(id, 0, active)
	w.tick(time.Hour)
	l := w.takeOne()
	w.folded(id, 0, active)
	w.apply(w.retrying(l, time.Hour))
	w.tick(48 * time.Hour)
	prune(w)
	out := w.enqueue("a", active)
	equal(w, "answer", words(out.ID, out.State, out.Version), words(id, jobs.Retrying, 1))
	l = w.takeOne()
	w.fail(l)
	next := w.free(active)
	w.succeed(w.takeOne())
	equal(w, "state", w.state(next), jobs.Succeeded)
	prune(w)
	w.free(active)
}

func uniqueCrash(w *world) { // case 124
	w.jobs("a")
	active := existing(jobs.WhileActive)
	id := w.free(active)
	w.takeOne()
	w.reopen()
	w.folded(id, 0, active)
	orphans, err := w.Orphans(w.ctx)
	w.check(err)
	w.folded(id, 0, active)
	w.apply(w.interrupted(orphans[0]))
	w.folded(id, 0, active)
	w.fail(w.takeOne())
	w.free(active)
}

func uniqueWindow(w *world) { // case 126
	w.jobs("a")
	window := existing("60s")
	ends := []func(jobs.ID){
		func(jobs.ID) { w.drain() },
		func(jobs.ID) { w.fail(w.takeOne()) },
		func(id jobs.ID) {
			_, err := w.Cancel(w.ctx, id, w.by())
			w.check(err)
		},
		func(jobs.ID) { w.take(9) },
	}
	w.tick(time.Minute - time.Duration(w.now%60_000)*time.Millisecond - 500*time.Millisecond)
	for _, end := range ends {
		id := w.free(window)
		until := w.now.Add(time.Minute)
		w.tick(time.Second) // a minute of the clock has begun, which is no window
		w.folded(id, until, window)
		end(id)
		w.tick(59*time.Second - time.Millisecond)
		prune(w)
		w.folded(id, until, window)
		w.tick(time.Millisecond)
		w.free(window)
		w.drain()
		w.tick(time.Minute)
	}
}

func uniqueGone(w *world) {
	w.put(webhook("a", "", `,"retain":{"succeeded":"10m"}`))
	window := existing("1h")
	id := w.free(window)
	until := w.now.Add(time.Hour)
	w.drain()
	w.tick(20 * time.Minute)
	prune(w)
	_, err := w.Run(w.ctx, id)
	w.wantErr(err, store.ErrNotFound)
	w.folded(id, until, window)
	equal(w, "state of one that is gone", int(w.enqueue("a", window).State), 0)
	w.folded(id, until, window, quiet(jobs.TriggerChain, "x"))
	w.folded(id, until.Add(-30*time.Minute), existing("30m"))
	w.free(existing("20m")) // a shorter window is over; the new run has the key
	w.drain()
	_, err = w.Enqueue(w.ctx, []store.Submission{w.sub("a", unique("k", "1h", jobs.ConflictReject))})
	conflict := (*store.UniqueConflict)(nil)
	if !errors.As(err, &conflict) {
		w.Fatalf("error is %v, want a conflict", err)
	}
	w.check(w.Remove(w.ctx, conflict.Run, w.by()))
	w.free(window)
	w.drain()
	w.tick(time.Hour)
	prune(w)
	w.free(window)
}

func uniqueChanged(w *world) {
	w.jobs("a")
	id := w.free(existing("1h"))
	until := w.now.Add(2 * time.Hour)
	w.tick(90 * time.Minute)
	w.folded(id, 0, existing(jobs.WhileActive))
	w.folded(id, until, existing("2h"))
	w.takeOne()
	w.folded(id, 0, existing(jobs.WhileActive))
	w.free(existing(jobs.WhileQueued))
}
