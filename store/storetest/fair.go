package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var fairClaims = []claim{
	{"OneCustomersBacklogDoesNotStarveAnother", func(w *world) {
		w.put(webhook("a", "", `,"concurrency":{"limit":5,"key":"payload.customer"}`))
		w.enqueueN(100, "a", counted("big"))
		w.succeed(w.takeOne())
		w.tick(time.Second)
		id := w.enqueue("a", counted("small")).ID
		equal(w, "started", len(w.take(1)), 1) // the turn of the one that waits longer
		equal(w, "started", idsOf(w.take(1)), []jobs.ID{id})
	}},
	{"FullKeyLeavesTheWorkersToOthers", func(w *world) {
		w.put(webhook("a", "", `,"concurrency":{"limit":1,"key":"payload.customer"}`))
		w.enqueueN(100, "a", counted("big"))
		w.tick(time.Minute)
		w.enqueueN(1, "a", counted("small"))
		equal(w, "started", len(w.take(9)), 2)
	}},
	{"LowPriorityIsPassedByWhatIsMadeWithinSixSecondsAtMost", lowPriority},
	{"JobOfLowPriorityHasATurnEverySixSeconds", lowTurns},
	{"RateHoldsAcrossARestartAndAClockStep", func(w *world) {
		w.put(webhook("a", "", `,"rate":{"limit":2,"per":"10s","key":"payload.k"}`))
		w.enqueueN(5, "a", counted("one"))
		w.enqueueN(2, "a", counted("two"))
		w.enqueueN(2, "a") // without a key it does not apply
		equal(w, "started", len(w.take(9)), 6)
		w.tick(9_999 * time.Millisecond)
		w.reopen()
		w.shift(-time.Hour)
		w.tick(-time.Hour)
		equal(w, "started", len(w.take(9)), 0)
		w.tick(time.Millisecond)
		equal(w, "started in the next window", len(w.take(9)), 2)
		w.tick(10 * time.Second)
		equal(w, "started in the last", len(w.take(9)), 1)
	}},
	{"GateThatShutsUnderTheLastRunOfALaneWakesTheOthers", func(w *world) {
		w.share(store.KindDependency, "x", `{"rate":{"limit":1,"per":"1m"}}`)
		for _, name := range []string{"a", "b"} {
			w.put(webhook(name, "", `,"dependencies":["x"]`))
			w.enqueue(name)
		}
		first := w.takeOne()
		w.enqueue(first.Run.Job)
		w.take(9) // both lanes are set aside
		w.tick(time.Minute)
		out := w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "started, looks again", words(len(out.Leases), out.NextDue), words(1, w.now.Add(time.Minute)))
		w.tick(time.Minute)
		equal(w, "started", len(w.take(9)), 1)
	}},
	{"RoomThatGrewWhileNoWorkerWasFreeIsForAllLanes", func(w *world) {
		w.share(store.KindDependency, "x", `{"rate":{"limit":2,"per":"1m"}}`)
		for _, name := range []string{"a", "b"} {
			w.put(webhook(name, "", `,"dependencies":["x"]`))
		}
		w.enqueue("a")
		w.take(1)
		w.tick(30 * time.Second)
		w.enqueue("a")
		w.take(1)
		w.enqueueN(1, "a")
		w.enqueueN(1, "b")
		w.take(9) // both lanes are set aside
		w.tick(30 * time.Second)
		w.take(0) // there is room for one
		w.tick(30 * time.Second)
		started := len(w.take(9))
		for w.claim(store.Claim{}).More {
			started += len(w.take(9))
		}
		equal(w, "started with room for two", started, 2)
	}},
	{"RoomIsLeftToOthersByARunThatIsCancelled", func(w *world) {
		next, last := twoThatWait(w, "")
		w.take(0) // it is for the first of them
		_, err := w.Cancel(w.ctx, next, w.by())
		w.check(err)
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{last})
	}},
	{"RoomIsLeftToOthersByAJobThatIsPaused", func(w *world) {
		_, last := twoThatWait(w, "")
		w.take(0)
		w.pause("a", true, "")
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{last})
	}},
	{"RoomIsLeftToOthersByAJobThatIsDeleted", func(w *world) {
		_, last := twoThatWait(w, "")
		w.take(0)
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{last})
	}},
	{"RoomIsLeftToOthersByAJobThatNamesItNoMore", func(w *world) {
		next, last := twoThatWait(w, "")
		w.take(0)
		w.put(webhook("a", "", ""))
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{next, last})
	}},
	{"RoomIsLeftToOthersByALaneThatAnotherGateHolds", func(w *world) {
		w.share(store.KindDependency, "y", `{}`)
		w.check(w.PauseGate(w.ctx, jobs.GateDependency, "y", true, "", w.by()))
		next, last := twoThatWait(w, `,"y"`)
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{last})
		equal(w, "held by", w.waitsFor(next).Name, "x")
	}},
	{"AllOfVeryManyLanesStopAndGoOn", manyLanes},
	{"LaneThatWasEmptyIsLookedAtAnew", func(w *world) {
		w.dependency("x", 1)
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.enqueueN(2, "a")
		l := w.takeOne()
		w.take(9) // the lane is set aside
		_, err := w.Cancel(w.ctx, w.queued()[0], w.by())
		w.check(err)
		w.succeed(l)
		w.take(9)
		id := w.enqueue("a").ID
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{id})
	}},
	{"SweptGateLeavesNoStartsBehind", func(w *world) {
		rated := `,"rate":{"limit":1,"per":"1d"}`
		w.put(webhook("a", "", rated))
		w.enqueue("a")
		w.succeed(w.takeOne())
		w.put(webhook("a", "", ""))
		prune(w)
		w.put(webhook("b", "", rated))
		w.enqueue("b")
		equal(w, "started", len(w.take(9)), 1)
	}},
	{"SweptHostIsOneThatNobodyWaitsForAndNothingIsKnownOf", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		w.check(w.Reset(w.ctx, self, w.by()))
		w.put(webhook("a", "", ""))
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		prune(w)
		equal(w, "phase", w.phase(self), jobs.BreakerClosed)
		w.tick(25 * time.Hour)
		prune(w)
		_, err = w.Gate(w.ctx, jobs.GateDependency, self, w.now)
		w.wantErr(err, store.ErrNotFound)
	}},
}

// manyLanes has more lanes wait for one gate than one claim sets aside, or one look gives back, and a
// run behind them all.
func manyLanes(w *world) {
	w.unbound()
	w.put(webhook("a", "", `,"queue":"q","concurrency":{"limit":1,"key":"payload.k"}`))
	w.put(webhook("b", "", ""))
	var subs []store.Submission
	for i := range 2100 {
		subs = append(subs, w.sub("a", counted(fmt.Sprint(i))))
	}
	_, err := w.Enqueue(w.ctx, subs)
	w.check(err)
	w.tick(time.Second)
	w.enqueue("b")
	for _, step := range []struct {
		paused bool
		want   map[string]int
	}{{true, map[string]int{"b": 1}}, {false, map[string]int{"a": len(subs)}}} {
		w.check(w.PauseGate(w.ctx, jobs.GateQueue, "q", step.paused, "", w.by()))
		var started []string
		for more := true; more; {
			out := w.claim(store.Claim{Free: [store.Pools]int{len(subs), 0}})
			started, more = append(started, jobsOf(out.Leases)...), out.More
		}
		equal(w, fmt.Sprintf("started, paused %t", step.paused), count(started), step.want)
	}
}

// twoThatWait are runs of two jobs for which a dependency has just got room for one. The first needs
// more besides.
func twoThatWait(w *world, more string) (next, last jobs.ID) {
	w.Helper()
	w.dependency("x", 1)
	w.put(webhook("a", "", `,"dependencies":["x"`+more+`]`))
	w.put(webhook("b", "", `,"dependencies":["x"]`))
	w.enqueue("b")
	l := w.takeOne()
	next = w.enqueue("a").ID
	w.tick(time.Second)
	last = w.enqueue("b").ID
	equal(w, "started", len(w.take(9)), 0)
	w.succeed(l)
	return next, last
}

func (w *world) queued() (ids []jobs.ID) {
	w.Helper()
	return runIDs(allRuns(w, store.RunFilter{States: []jobs.State{jobs.Queued}}, 100))
}

// urgently has one worker that is always behind: every 300 ms come three runs of a point of priority,
// and two are done. each is told of each that is given out, until it says that it is over.
func urgently(w *world, job string, each func(store.Lease) bool) {
	w.Helper()
	w.unbound()
	for range 1000 {
		w.enqueueN(3, job, priority(1))
		for range 2 {
			l := w.takeOne()
			if each(l) {
				return
			}
			w.succeed(l)
		}
		w.tick(300 * time.Millisecond)
	}
	w.Fatal("five minutes were not enough")
}

func lowPriority(w *world) {
	w.jobs("a")
	w.enqueueN(10, "a")
	left := 10
	urgently(w, "a", func(l store.Lease) bool {
		switch made := l.Run.CreatedAt.Sub(start); {
		case l.Run.Priority == 0:
			left--
		case made > 6*time.Second:
			w.Fatalf("an urgent run made %s later went first, %d low ones are left", made, left)
		}
		return left == 0
	})
}

func lowTurns(w *world) {
	w.jobs("a", "b")
	w.enqueueN(3, "a")
	done := 0
	urgently(w, "b", func(l store.Lease) bool {
		if l.Run.Job == "a" {
			done++
		}
		if due := int(w.now.Sub(start) / (6300 * time.Millisecond)); done < due {
			w.Fatalf("%d runs of low priority are done after %s, want %d", done, w.now.Sub(start), due)
		}
		return done == 3
	})
}
