package storetest

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

var limitClaims = []claim{
	{"WhatADependencyHoldsIsCountedAlsoBehindAnother", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.put(webhook("b", "", ""))
		w.dependency("x", 1)
		w.enqueueN(3, "a")
		w.enqueue("b")
		w.take(9)
		waiting := func(name string) string {
			g, err := w.Gate(w.ctx, jobs.GateDependency, name, w.now)
			w.check(err)
			return words(g.Running, g.Waiting, g.OldestAt)
		}
		equal(w, "x", waiting("x"), words(1, 2, w.now))
		equal(w, "the host, which has room", waiting(self), words(2, 0, jobs.Time(0)))
		w.check(w.Trip(w.ctx, self, 0, w.by()))
		w.enqueue("b")
		w.take(9)
		equal(w, "the host", waiting(self), words(2, 3, w.now))
		equal(w, "x", waiting("x"), words(1, 2, w.now))
	}},
	{"LoweredLimitStartsNothingUntilThereIsRoom", func(w *world) {
		shared(w, func(name string, limit func(int)) {
			limit(3)
			w.enqueueN(6, name)
			leases := w.take(9)
			equal(w, "started", len(leases), 3)
			limit(1)
			for i, l := range leases {
				equal(w, fmt.Sprint("started with ", 3-i, " of 1 running"), len(w.take(9)), 0)
				w.succeed(l)
			}
			equal(w, "started with room", len(w.take(9)), 1)
		})
	}},
	{"RaisedLimitStartsAsManyAsThereIsRoom", func(w *world) {
		shared(w, func(name string, limit func(int)) {
			limit(1)
			w.enqueueN(6, name)
			equal(w, "started", len(w.take(9)), 1)
			limit(4)
			equal(w, "started when it is raised", len(w.take(9)), 3)
			equal(w, "started after that", len(w.take(9)), 0)
			limit(0)
			equal(w, "started without a limit", len(w.take(9)), 2)
		})
	}},
	{"LimitThatComesWhileRunsRunCountsThem", func(w *world) {
		shared(w, func(name string, limit func(int)) {
			limit(0)
			w.enqueueN(6, name)
			leases := w.take(3)
			limit(2)
			w.succeed(leases[0])
			equal(w, "started with 2 of 2 running", len(w.take(9)), 0)
			w.succeed(leases[1])
			equal(w, "started with 1 of 2 running", len(w.take(9)), 1)
			w.reopen()
			equal(w, "started by the next process", len(w.take(9)), 0)
		})
	}},
	{"LimitThatGoesAndComesBackCountsAll", func(w *world) {
		shared(w, func(name string, limit func(int)) {
			limit(1)
			w.enqueueN(6, name)
			leases := w.take(9)
			limit(0)
			leases = append(leases, w.take(2)...)
			limit(3)
			equal(w, "started with 3 of 3 running", len(w.take(9)), 0)
			w.succeed(leases[0])
			equal(w, "started with 2 of 3 running", len(w.take(9)), 1)
		})
	}},
	{"RunsOfAKeyAreCountedAlone", func(w *world) {
		w.put(webhook("a", "", `,"concurrency":{"limit":1,"key":"payload.k"}`))
		for _, key := range []string{"one", "two", ""} {
			w.enqueueN(2, "a", counted(key))
		}
		w.enqueueN(2, "a") // without a key it does not apply
		equal(w, "started", len(w.take(9)), 5)
		equal(w, "started after that", len(w.take(9)), 0)
	}},
	{"KeyIsCountedByTheJobAsItStands", func(w *world) {
		keyed := webhook("a", "", `,"concurrency":{"limit":1,"key":"payload.k"}`)
		w.put(keyed)
		w.enqueueN(2, "a", counted("one"))
		w.enqueueN(2, "a", counted("two"))
		leases := w.take(9)
		equal(w, "started", len(leases), 2)
		w.put(webhook("a", "", `,"concurrency":{"limit":3}`))
		equal(w, "started under one limit for all", len(w.take(9)), 1)
		w.put(keyed)
		equal(w, "started under a limit for each", len(w.take(9)), 0)
		for _, l := range leases {
			w.succeed(l)
		}
		equal(w, "started when both have ended", len(w.take(9)), 1)
	}},
	{"QueueIsSharedByItsJobs", func(w *world) {
		w.queue("q", 2)
		for _, name := range []string{"a", "b"} {
			w.put(webhook(name, "", `,"queue":"q"`))
			w.enqueueN(3, name)
		}
		equal(w, "started", count(jobsOf(w.take(9))), map[string]int{"a": 1, "b": 1})
		equal(w, "in use", w.inUse(jobs.GateQueue, "q"), 2)
		w.put(webhook("b", "", ""))
		equal(w, "started elsewhere", count(jobsOf(w.take(9))), map[string]int{"b": 2})
	}},
	{"RefusedStartSpendsNothing", func(w *world) {
		w.share(store.KindDependency, "x", `{"concurrency":1,"rate":{"limit":5,"per":"1h"}}`)
		w.share(store.KindDependency, "y", `{"concurrency":1}`)
		w.put(webhook("a", "", `,"dependencies":["x","y"]`))
		w.put(webhook("b", "", `,"dependencies":["y"]`))
		w.enqueue("b")
		b := w.takeOne()
		w.enqueueN(9, "a")
		for range 9 {
			equal(w, "started", len(w.take(9)), 0)
		}
		equal(w, "in use", w.inUse(jobs.GateDependency, "x"), 0)
		w.succeed(b)
		for range 5 {
			w.succeed(w.takeOne())
		}
		equal(w, "started past the rate", len(w.take(9)), 0)
	}},
	{"RunThatWaitsForTwoGatesSaysTheFirst", firstGate},
	{"CrossedOrdersDoNotDeadlock", crossed},
}

// shared does the same with each sort of gate that has a limit, each with a job of its own. 0 is
// none.
func shared(w *world, test func(name string, limit func(int))) {
	w.Helper()
	doc := func(kind, name string) func(int) {
		return func(n int) {
			if n == 0 {
				w.share(kind, name, `{"concurrency":null}`)
				return
			}
			w.share(kind, name, fmt.Sprintf(`{"concurrency":%d}`, n))
		}
	}
	for name, limit := range map[string]func(int){
		"in-queue":      doc(store.KindQueue, "q"),
		"of-dependency": doc(store.KindDependency, "x"),
		"of-host":       doc(store.KindDependency, self),
		"by-itself": func(n int) {
			more := ""
			if n > 0 {
				more = fmt.Sprintf(`,"concurrency":{"limit":%d}`, n)
			}
			w.put(webhook("by-itself", "", more))
		},
	} {
		more := map[string]string{"in-queue": `,"queue":"q"`, "of-dependency": `,"dependencies":["x"]`}[name]
		w.put(webhook(name, "", more))
		test(name, limit)
		_, err := w.DeleteJob(w.ctx, name, nil, w.by())
		w.check(err)
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		for _, l := range orphans {
			w.fail(l)
		}
		w.share(store.KindDependency, self, `{"concurrency":null}`)
	}
}

func firstGate(w *world) {
	w.queue("q", 1)
	w.dependency("x", 1)
	w.dependency("y", 1)
	w.put(webhook("a", "", `,"queue":"q","dependencies":["y","x"]`))
	w.put(webhook("q", "", `,"queue":"q"`))
	w.put(webhook("x", "", `,"dependencies":["x"]`))
	w.put(webhook("y", "", `,"dependencies":["y"]`))
	w.enqueueN(1, "q")
	w.enqueueN(1, "x")
	w.enqueueN(1, "y")
	blockers := map[string]store.Lease{}
	for _, l := range w.take(9) {
		blockers[l.Run.Job] = l
	}
	id := w.enqueue("a").ID
	for _, step := range []struct{ blocker, kind, name, reason string }{
		{"q", jobs.HeldQueue, "q", "the queue q has 1 of 1 running"},
		{"y", jobs.HeldDependency, "y", "the dependency y has 1 of 1 running"},
		{"x", jobs.HeldDependency, "x", "the dependency x has 1 of 1 running"},
	} {
		equal(w, "started", len(w.take(9)), 0)
		equal(w, "held by", *w.waitsFor(id), jobs.HeldBy{Kind: step.kind, Name: step.name, Reason: step.reason})
		w.succeed(blockers[step.blocker])
	}
	equal(w, "held by", w.waitsFor(id).Kind, jobs.HeldWorkers)
	equal(w, "started", idsOf(w.take(9)), []jobs.ID{id})
}

// crossed lets two jobs ask for two locks in either order, and for a key.
func crossed(w *world) {
	w.dependency("x", 1)
	w.dependency("y", 1)
	w.put(webhook("a", "", `,"dependencies":["x","y"],"concurrency":{"limit":1,"key":"payload.k"}`))
	w.put(webhook("b", "", `,"dependencies":["y","x"],"concurrency":{"limit":1,"key":"payload.k"}`))
	for _, key := range []string{"one", "two"} {
		w.enqueueN(10, "a", counted(key))
		w.enqueueN(10, "b", counted(key))
	}
	for range 40 {
		leases := w.take(9)
		equal(w, "started", len(leases), 1)
		equal(w, "in use", words(w.inUse(jobs.GateDependency, "x"), w.inUse(jobs.GateDependency, "y")), "1 1")
		w.succeed(leases[0])
	}
	equal(w, "left", len(w.take(9)), 0)
}
