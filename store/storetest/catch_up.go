package storetest

import (
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// catchUp makes a submission one for a tick that was missed.
func catchUp(s *store.Submission) { s.Run.Trigger = jobs.TriggerCatchUp }

// triggersOf counts what made the runs that are given out.
func triggersOf(leases []store.Lease) map[jobs.Trigger]int {
	n := map[jobs.Trigger]int{}
	for _, l := range leases {
		n[l.Run.Trigger]++
	}
	return n
}

// fourWorkers is a world of four workers of each sort, and a host that holds nothing.
func (w *world) fourWorkers() {
	w.Helper()
	w.unbound()
	w.workers = [store.Pools]int{4, 4, 4}
}

// halfBusy is what a run waits for while n of 4 workers catch up.
func halfBusy(pool store.Pool, n int) jobs.HeldBy {
	return jobs.HeldBy{Kind: jobs.HeldWorkers, Name: pool.String(), Reason: fmt.Sprintf(
		"2 of 4 %s workers are for ticks that were missed, so that those that are due find one: %d are busy", pool, n)}
}

var catchUpClaims = []claim{
	{"AtMostHalfOfTheWorkersCatchUp", func(w *world) {
		for workers, most := range []int{1, 1, 1, 1, 2, 2, 3, 3, 4} {
			w.workers = [store.Pools]int{workers, workers, workers}
			name := fmt.Sprint("j", workers)
			w.put(script(name, "true"))
			w.enqueueN(8, name, catchUp)
			for more := most; more <= 8; more += most {
				leases := w.take(9)
				equal(w, fmt.Sprint("started with ", workers, " workers"), len(leases), most)
				equal(w, "started past that", len(w.take(9)), 0)
				for _, l := range leases {
					w.succeed(l)
				}
			}
			w.drain()
		}
	}},
	{"EachPoolHasItsOwnHalf", func(w *world) {
		w.unbound()
		w.workers = [store.Pools]int{8, 4, 2}
		w.jobs("a")
		w.put(script("s", "true"))
		w.put(document(`{"name":"m","mail":{"to":["a@b.example"],"subject":"x","body":"y"}}`))
		for _, name := range []string{"a", "s", "m"} {
			w.enqueueN(9, name, catchUp)
		}
		leases := w.claim(store.Claim{Free: [store.Pools]int{8, 4, 2}}).Leases
		equal(w, "started", count(jobsOf(leases)), map[string]int{"a": 4, "s": 2, "m": 1})
	}},
	{"WhatIsDueStartsAtOnceThoughHundredsCatchUp", func(w *world) {
		w.fourWorkers()
		w.jobs("a", "b")
		w.enqueueN(300, "a", catchUp)
		for i := range 50 {
			w.jobs(fmt.Sprint("c", i))
			w.enqueueN(4, fmt.Sprint("c", i), catchUp)
		}
		free := [store.Pools]int{4}
		busy := w.claim(store.Claim{Free: free}).Leases
		equal(w, "started", triggersOf(busy), map[jobs.Trigger]int{jobs.TriggerCatchUp: 2})
		for range 30 {
			w.tick(time.Second)
			due := []jobs.ID{w.enqueue("a").ID, w.enqueue("b").ID}
			leases := w.claim(store.Claim{Free: [store.Pools]int{2}}).Leases
			equal(w, "started", runSet(idsOf(leases)), runSet(due))
			w.succeed(leases[0])
			w.succeed(leases[1])
			w.succeed(busy[0])
			busy = append(busy[1:], w.claim(store.Claim{Free: [store.Pools]int{3}}).Leases...)
			equal(w, "that catch up", triggersOf(busy), map[jobs.Trigger]int{jobs.TriggerCatchUp: 2})
		}
	}},
	{"WhatCatchesUpGoesByRank", func(w *world) {
		w.workers = [store.Pools]int{2, 2, 2}
		w.jobs("a")
		low, high := w.enqueue("a", catchUp, priority(-1)).ID, w.enqueue("a", catchUp, priority(1)).ID
		w.tick(time.Second)
		late := w.enqueue("a", catchUp).ID
		for _, id := range []jobs.ID{high, late, low} {
			l := w.takeOne()
			equal(w, "started", l.Run.ID, id)
			equal(w, "started beside it", len(w.take(9)), 0)
			w.succeed(l)
		}
	}},
	{"LanesThatCatchUpTakeTurns", func(w *world) {
		w.fourWorkers()
		w.jobs("a", "b", "c")
		for _, name := range []string{"a", "b", "c"} {
			w.enqueueN(4, name, catchUp)
		}
		var turns []string
		for range 6 {
			for _, l := range w.take(9) {
				turns = append(turns, l.Run.Job)
				w.succeed(l)
			}
		}
		for i := 0; i < 12; i += 3 {
			equal(w, "lanes of a round", count(turns[i:i+3]), map[string]int{"a": 1, "b": 1, "c": 1})
		}
	}},
	{"RunThatCatchesUpSaysThatItWaitsForItsHalf", func(w *world) {
		w.fourWorkers()
		w.put(script("s", "true"))
		ids := w.enqueueN(3, "s", catchUp)
		equal(w, "held by", w.waitsFor(ids[2]).Reason, jobs.WaitsForWorker)
		w.take(9)
		equal(w, "held by", *w.waitsFor(ids[2]), halfBusy(store.PoolScript, 2))
		equal(w, "held by when it is made", *w.enqueue("s", catchUp).HeldBy, halfBusy(store.PoolScript, 2))
		due := w.enqueue("s")
		if due.HeldBy != nil {
			w.Fatalf("a run that is due is held by %+v", due.HeldBy)
		}
		equal(w, "held by", w.waitsFor(due.ID).Reason, jobs.WaitsForWorker)
	}},
	{"OtherGatesAreToldFirst", func(w *world) {
		w.fourWorkers()
		w.dependency("x", 1)
		w.put(script("s", "true"))
		w.put(document(`{"name":"d","script":{"source":"true"},"dependencies":["x"]}`))
		w.enqueue("d")
		w.enqueueN(2, "s", catchUp)
		leases := w.take(9)
		equal(w, "started", len(leases), 3)
		id := w.enqueue("d", catchUp).ID
		equal(w, "held by", w.waitsFor(id).Kind, jobs.HeldDependency)
		equal(w, "started", len(w.take(9)), 0)
		for _, l := range leases {
			if l.Run.Job == "d" {
				w.succeed(l)
			}
		}
		equal(w, "started with a dependency that is free", len(w.take(9)), 0)
		equal(w, "held by", *w.waitsFor(id), halfBusy(store.PoolScript, 2))
		w.succeed(leases[slices.IndexFunc(leases, func(l store.Lease) bool { return l.Run.Job == "s" })])
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{id})
	}},
	{"WhatIsDuePassesWhatCatchesUpAtASharedGate", catchUpBehind},
	{"OtherWorkersAreOtherHalves", func(w *world) {
		w.fourWorkers()
		w.put(script("s", "true"))
		ids := w.enqueueN(9, "s", catchUp)
		leases := w.take(9)
		w.workers[store.PoolScript] = 8
		leases = append(leases, w.take(9)...)
		equal(w, "started with 8 workers", len(leases), 4)
		w.workers[store.PoolScript] = 4
		equal(w, "started with 4 workers", len(w.take(9)), 0)
		equal(w, "held by", *w.waitsFor(ids[8]), halfBusy(store.PoolScript, 4))
		for _, l := range leases[:2] {
			w.succeed(l)
			equal(w, "started with 2 and more", len(w.take(9)), 0)
		}
		w.succeed(leases[2])
		equal(w, "started with room", len(w.take(9)), 1)
	}},
	{"RunsThatWereRunningAreCountedAfterAStart", func(w *world) {
		w.fourWorkers()
		w.put(script("s", "true"))
		w.enqueueN(5, "s", catchUp)
		equal(w, "started", len(w.take(9)), 2)
		w.reopen()
		w.workers[store.PoolScript] = 6
		equal(w, "started by the next process", len(w.take(9)), 1)
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		equal(w, "orphans", len(orphans), 3)
		for _, o := range orphans {
			w.apply(w.interrupted(o))
		}
		equal(w, "started when they have ended", len(w.take(9)), 3)
		equal(w, "started past that", len(w.take(9)), 0)
	}},
	{"LimitsThatChangeLeaveTheHalfAsItIs", func(w *world) {
		w.fourWorkers()
		w.put(script("s", "true"))
		w.jobs("a")
		w.enqueueN(4, "s", catchUp)
		w.enqueueN(2, "s")
		leases := w.take(9)
		equal(w, "started", triggersOf(leases), map[jobs.Trigger]int{jobs.TriggerCatchUp: 2, jobs.TriggerAPI: 2})
		w.queue("q", 5)
		w.enqueueN(4, "a", catchUp)
		equal(w, "started of the other pool", count(jobsOf(w.take(9))), map[string]int{"a": 2})
		for _, l := range leases {
			w.succeed(l)
			if l.Run.Trigger == jobs.TriggerCatchUp {
				equal(w, "started when one has caught up", len(w.take(9)), 1)
			}
		}
	}},
	{"RequeueOfARunThatCaughtUpIsDue", func(w *world) {
		w.workers = [store.Pools]int{2, 2, 2}
		w.put(script("s", "true"))
		id := w.failOne("s", catchUp)
		w.enqueueN(2, "s", catchUp)
		w.takeOne()
		again := w.requeue(id).ID
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{again})
	}},
	{"UpkeepKeepsWhatIsCounted", func(w *world) {
		w.fourWorkers()
		w.put(script("s", "true"))
		w.enqueueN(4, "s", catchUp)
		leases := w.take(9)
		w.tick(400 * day)
		prune(w)
		equal(w, "started after upkeep", len(w.take(9)), 0)
		for _, l := range leases {
			w.succeed(l)
		}
		w.drain()
		prune(w)
		w.enqueueN(4, "s", catchUp)
		equal(w, "started", len(w.take(9)), 2)
	}},
	{"ListsOfWhatIsSharedLeaveTheHalfOut", func(w *world) {
		w.fourWorkers()
		w.put(script("s", "true"))
		w.enqueueN(3, "s", catchUp)
		w.take(9)
		for kind, want := range map[jobs.GateKind][]string{
			jobs.GateQueue: {jobs.DefaultQueue}, jobs.GateDependency: {self},
		} {
			w.enqueue("s")
			list, _, err := w.Gates(w.ctx, kind, w.now, store.Page{Limit: 100})
			w.check(err)
			var names []string
			for _, g := range list {
				names = append(names, g.Name)
			}
			equal(w, "what is shared", names, want)
		}
	}},
}

func runSet(ids []jobs.ID) map[jobs.ID]bool {
	set := map[jobs.ID]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// catchUpBehind has many lanes of a job wait at a limit, those before that cannot start for another
// reason: they must not keep the room from those that can.
func catchUpBehind(w *world) {
	w.fourWorkers()
	w.dependency("x", 1)
	w.put(script("s", "true"))
	w.put(document(`{"name":"d","script":{"source":"true"},"dependencies":["x"]}`))
	w.enqueue("d")
	holder := w.takeOne()
	for i := range 100 {
		w.enqueue("d", catchUp, inLane(fmt.Sprint("c", i)))
	}
	w.tick(time.Second)
	var due []jobs.ID
	for i := range 3 {
		due = append(due, w.enqueue("d", inLane(fmt.Sprint("d", i))).ID)
	}
	equal(w, "started", len(w.takeAll(9)), 0)
	w.enqueueN(2, "s", catchUp)
	busy := w.takeAll(9)
	equal(w, "started", len(busy), 2)
	w.succeed(holder)
	for _, id := range due {
		leases := w.takeAll(9)
		equal(w, "started", idsOf(leases), []jobs.ID{id})
		w.succeed(leases[0])
	}
	equal(w, "started", len(w.takeAll(9)), 0)
	w.succeed(busy[0])
	equal(w, "started when one has caught up", triggersOf(w.takeAll(9)), map[jobs.Trigger]int{jobs.TriggerCatchUp: 1})
}
