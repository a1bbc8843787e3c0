package storetest

import (
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// catchUpEnds are that the worker of a run that caught up is given back once, one claim for each end.
func catchUpEnds() (list []claim) {
	for name, end := range map[string]func(*world, store.Lease){
		"Success":   func(w *world, l store.Lease) { w.succeed(l) },
		"Failure":   func(w *world, l store.Lease) { w.fail(l) },
		"Retry":     func(w *world, l store.Lease) { w.apply(w.retrying(l, time.Hour)) },
		"Interrupt": func(w *world, l store.Lease) { w.apply(w.interrupted(l)) },
		"Secret":    func(w *world, l store.Lease) { w.apply(w.held(l, "TOKEN")) },
		"Cancel": func(w *world, l store.Lease) {
			_, err := w.Cancel(w.ctx, l.Run.ID, w.by())
			w.check(err)
			equal(w, "started before it is gone", len(w.take(9)), 0)
			w.apply(w.cancelled(l))
		},
		"DeletionOfTheJob": func(w *world, l store.Lease) {
			n, err := w.DeleteJob(w.ctx, l.Run.Job, nil, w.by())
			w.check(err)
			equal(w, "cancelled", n, 3)
			w.put(script(l.Run.Job, "true"))
			w.enqueueN(3, l.Run.Job, catchUp)
			equal(w, "started while it runs on", len(w.take(9)), 0)
			w.fail(l)
		},
		"Death": func(w *world, l store.Lease) {
			w.reopen()
			equal(w, "started before the orphan has ended", len(w.take(9)), 0)
			w.apply(w.interrupted(l))
		},
	} {
		list = append(list, claim{"WorkerIsGivenBackOnceAfter" + name, func(w *world) { workerOnce(w, end) }})
	}
	return list
}

func workerOnce(w *world, end func(*world, store.Lease)) {
	w.fourWorkers()
	w.put(script("s", "true"))
	w.enqueueN(5, "s", catchUp)
	leases := w.take(9)
	equal(w, "started", len(leases), 2)
	end(w, leases[0])
	next := w.take(9)
	equal(w, "started after it", len(next), 1)
	// Its end comes once more, and late.
	w.wantErr(w.finish(w.succeeded(leases[0]))[0].Err, store.ErrLease)
	equal(w, "started after a late end", len(w.take(9)), 0)
	w.finish(w.failed(leases[1]), w.succeeded(next[0]))
	equal(w, "started when both have ended", len(w.take(9)), 2)
}

// moves are the ways in which runs get from one lane to another, or wait out of turn. Each has three
// runs that catch up and three that are due, all queued.
var moves = map[string]func(w *world, ids []jobs.ID){
	"Nothing": func(*world, []jobs.ID) {},
	"UpgradeRuns": func(w *world, _ []jobs.ID) {
		w.put(script("a", "false"))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", n, 6)
	},
	"UpgradeRunsToAnotherPool": func(w *world, _ []jobs.ID) {
		w.put(webhook("a", "", ""))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", n, 6)
	},
	"UpgradeRunsToOtherHosts": func(w *world, _ []jobs.ID) {
		w.put(calling("a", byPayload))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", n, 6)
	},
	"PauseAndResume": func(w *world, ids []jobs.ID) {
		w.pause("a", true, "")
		equal(w, "started while paused", len(w.take(9)), 0)
		w.pause("a", false, "")
	},
	"OtherGates": func(w *world, _ []jobs.ID) {
		w.put(document(`{"name":"a","script":{"source":"true"},"queue":"q","dependencies":["x"]}`))
	},
	"Secret": func(w *world, _ []jobs.ID) {
		n := 0
		for leases := w.take(9); len(leases) > 0; leases = w.take(9) {
			for _, l := range leases {
				w.apply(w.held(l, "TOKEN"))
				n++
			}
		}
		equal(w, "held", n, 6)
		w.putSecret("TOKEN", []byte("sealed"))
		w.release("TOKEN")
	},
	"Retry": func(w *world, _ []jobs.ID) {
		for leases := w.take(9); len(leases) > 0; leases = w.take(9) {
			for _, l := range leases {
				w.apply(w.retrying(l, time.Minute))
			}
		}
		w.tick(time.Minute)
	},
	"RunNow": func(w *world, ids []jobs.ID) {
		for leases := w.take(9); len(leases) > 0; leases = w.take(9) {
			for _, l := range leases {
				w.apply(w.retrying(l, time.Hour))
			}
		}
		for _, id := range ids {
			w.check(w.RunNow(w.ctx, id, w.by()))
		}
	},
	"Reopen": func(w *world, _ []jobs.ID) { w.reopen() },
}

// catchUpMoves are that a run which catches up is one wherever it goes.
func catchUpMoves() (list []claim) {
	for name, move := range moves {
		list = append(list, claim{"RunThatCatchesUpStaysOneOver" + name, func(w *world) {
			w.fourWorkers()
			w.put(script("a", "true"))
			ids := slices.Concat(w.enqueueN(3, "a", catchUp), w.enqueueN(3, "a"))
			move(w, ids)
			stillCatchUp(w, ids)
		}})
	}
	return append(list,
		claim{"RunThatCatchesUpStaysOneWhenItFallsDue", func(w *world) {
			w.fourWorkers()
			w.put(script("a", "true"))
			ids := slices.Concat(w.enqueueN(3, "a", catchUp, dueIn(time.Hour)), w.enqueueN(3, "a", dueIn(time.Hour)))
			w.tick(time.Hour)
			stillCatchUp(w, ids)
		}},
		claim{"RunThatCatchesUpStaysOneWhenItIsReplaced", func(w *world) {
			w.fourWorkers()
			w.put(calling("a", byPayload))
			host := func(s *store.Submission) { s.Run.Payload = jobs.Raw(`{"host":"one.example"}`) }
			var ids []jobs.ID
			for i, kind := range []func(*store.Submission){catchUp, catchUp, catchUp, host, host, host} {
				u := unique(string(rune('k'+i)), jobs.WhileQueued, jobs.ConflictReplace)
				id := w.enqueue("a", kind, u).ID
				equal(w, "run", w.enqueue("a", host, u).ID, id)
				ids = append(ids, id)
			}
			stillCatchUp(w, ids)
		}})
}

// stillCatchUp demands that the first three runs catch up, and the others do not.
func stillCatchUp(w *world, ids []jobs.ID) {
	w.Helper()
	leases := w.takeAll(9)
	equal(w, "started", triggersOf(leases), map[jobs.Trigger]int{jobs.TriggerCatchUp: 2, jobs.TriggerAPI: 3})
	rest := slices.DeleteFunc(slices.Clone(ids), func(id jobs.ID) bool { return runSet(idsOf(leases))[id] })
	equal(w, "held by", *w.waitsFor(rest[0]), halfBusy(store.PoolOf(leases[0].Spec.Kind()), 2))
	for _, l := range leases {
		w.succeed(l)
	}
	equal(w, "started in the end", idsOf(w.takeAll(9)), rest)
}
