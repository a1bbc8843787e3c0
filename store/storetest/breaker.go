package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// endsAs gives an end what it says about what was called.
func endsAs(f store.Finish, s jobs.Signal) store.Finish {
	f.Signal = s
	return f
}

var (
	refused     = jobs.Signal{Kind: jobs.FailConnection, ExitCode: -1}
	unavailable = jobs.Signal{Kind: jobs.FailHTTP, HTTPStatus: 503, ExitCode: -1}
	badRequest  = jobs.Signal{Kind: jobs.FailHTTP, HTTPStatus: 400, ExitCode: -1}
	tooMany     = jobs.Signal{Kind: jobs.FailHTTP, HTTPStatus: 429, ExitCode: -1, RetryAfter: time.Minute}
)

// breaks opens the breaker of the host: five runs of a job are refused.
func breaks(w *world, job string) {
	w.Helper()
	w.enqueueN(5, job)
	for _, l := range w.take(5) {
		w.apply(endsAs(w.failed(l), refused))
	}
	equal(w, "phase", w.phase(self), jobs.BreakerOpen)
}

func (w *world) phase(name string) jobs.BreakerPhase {
	w.Helper()
	g, err := w.Gate(w.ctx, jobs.GateDependency, name, w.now)
	w.check(err)
	return g.Phase()
}

var breakerClaims = []claim{
	{"OneProbeIsInFlightWhateverTheBacklog", oneProbe},
	{"AnswersOf400OpenNoBreaker", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.enqueueN(21, "a")
		for range 20 {
			w.apply(endsAs(w.failed(w.takeOne()), badRequest))
		}
		equal(w, "phases", words(w.phase(self), w.phase("x")), "closed closed")
		w.succeed(w.takeOne())
	}},
	{"BreakerTakenAwayHoldsNothingAndSaysSo", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		w.enqueueN(3, "a")
		equal(w, "started", len(w.take(9)), 0)
		w.share(store.KindDependency, self, `{"breaker":null}`)
		events := w.events(0, 9)
		equal(w, "last event", events[len(events)-1].Type, jobs.EventDependencyClosed)
		w.share(store.KindDependency, self, `{}`) // given back, it is not open
		equal(w, "phase, started", words(w.phase(self), len(w.take(9)) > 0), "closed true")
	}},
	{"WaitingForABreakerUsesNoAttempt", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		id := w.enqueue("a").ID
		for range 29 {
			w.tick(time.Second)
			equal(w, "started", len(w.take(9)), 0)
		}
		held := w.waitsFor(id)
		equal(w, "held by", words(held.Kind, held.Name, held.Until), words(jobs.HeldDependency, self,
			start.Add(30*time.Second)))
		w.tick(time.Second)
		l := w.takeOne()
		equal(w, "counts", words(l.Run.Counts.Number, l.Run.Counts.Charged), "1 0")
		w.succeed(l)
		equal(w, "run", words(w.state(id), len(w.run(id).Attempts)), words(jobs.Succeeded, 1))
	}},
	{"BreakerHoldsAcrossARestart", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		w.enqueueN(3, "a")
		w.reopen()
		out := w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "started, looks again", words(len(out.Leases), out.NextDue), words(0, w.now.Add(30*time.Second)))
		w.tick(30 * time.Second)
		w.takeOne()
		w.reopen()
		equal(w, "started besides the probe", len(w.take(9)), 0)
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		w.apply(endsAs(w.interrupted(orphans[0]), jobs.Signal{Ended: true}))
		equal(w, "started after a probe without a verdict", len(w.take(9)), 0)
		w.tick(30 * time.Second)
		w.succeed(w.takeOne())
		equal(w, "started", len(w.take(9)), 1)
	}},
	{"ProbeThatWaitsForASecretLeavesItToTheNext", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		w.enqueueN(2, "a")
		w.tick(30 * time.Second)
		w.apply(w.held(w.takeOne(), "TOKEN"))
		equal(w, "started", len(w.take(9)), 1)
	}},
	{"ProbeThatIsCancelledHoldsItsPlaceUntilItIsGone", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		w.enqueueN(2, "a")
		w.tick(30 * time.Second)
		l := w.takeOne()
		_, err := w.Cancel(w.ctx, l.Run.ID, w.by())
		w.check(err)
		w.tick(time.Hour)
		equal(w, "started", len(w.take(9)), 0)
		w.apply(endsAs(w.cancelled(l), jobs.Signal{Ended: true}))
		w.tick(30 * time.Second)
		equal(w, "started", len(w.take(9)), 1)
	}},
	{"ProbeOfAJobThatNamesItNoMoreIsLeftToOthers", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.put(webhook("b", "", `,"dependencies":["x"]`))
		w.enqueue("a")
		w.check(w.Trip(w.ctx, "x", time.Second, w.by()))
		w.tick(time.Second)
		probe := w.takeOne()
		w.enqueue("b")
		equal(w, "started besides the probe", len(w.take(9)), 0)
		w.put(webhook("a", "", ""))
		next := w.take(9)
		equal(w, "started", jobsOf(next), []string{"b"})
		w.succeed(probe)
		equal(w, "phase", w.phase("x"), jobs.BreakerProbing)
		w.succeed(next[0])
		equal(w, "phase", w.phase("x"), jobs.BreakerClosed)
	}},
	{"ProbeOfADeletedJobDecides", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.enqueue("a")
		w.check(w.Trip(w.ctx, "x", time.Second, w.by()))
		w.tick(time.Second)
		probe := w.takeOne()
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		w.succeed(probe)
		equal(w, "phase", w.phase("x"), jobs.BreakerClosed)
	}},
	{"BreakerTakenAwayLetsAllThroughAndComesBackClosed", func(w *world) {
		w.jobs("a")
		breaks(w, "a")
		w.enqueueN(5, "a")
		w.tick(30 * time.Second)
		probe := w.takeOne()
		w.unbound()
		leases := w.take(2)
		equal(w, "started", len(leases), 2)
		w.apply(endsAs(w.failed(probe), refused))
		w.check(w.DeleteDocument(w.ctx, store.KindDependency, self, nil, w.by()))
		equal(w, "started", len(w.take(9)), 2)
	}},
	{"AttemptsFromBeforeItClosedDoNotOpenIt", func(w *world) {
		w.jobs("a")
		w.enqueueN(5, "a")
		late := w.take(5)
		w.tick(time.Second)
		breaks(w, "a")
		w.enqueueN(2, "a")
		w.tick(30 * time.Second)
		w.succeed(w.takeOne())
		w.tick(time.Second)
		for _, l := range late {
			w.apply(endsAs(w.failed(l), refused))
		}
		equal(w, "phase", w.phase(self), jobs.BreakerClosed)
		equal(w, "started", len(w.take(9)), 1)
	}},
	{"RetryAfterHoldsAllRunsOfTheHost", func(w *world) {
		w.jobs("a", "b")
		w.enqueueN(2, "a")
		l := w.takeOne()
		w.enqueueN(9, "b")
		w.apply(endsAs(w.retrying(l, time.Second), tooMany))
		w.tick(30 * time.Second)
		w.reopen()
		equal(w, "started", len(w.take(9)), 0)
		w.shift(time.Hour) // with the wall clock
		w.tick(time.Hour)
		w.tick(29_999 * time.Millisecond)
		out := w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "started, looks again", words(len(out.Leases), out.NextDue), words(0, w.now+1))
		w.tick(time.Millisecond)
		for second, n := range []int{1, 2, 4} {
			equal(w, fmt.Sprint("started in second ", second), len(w.take(9)), n)
			w.tick(time.Second)
		}
	}},
	{"TripHoldsAndResetLetsGoSlowly", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.enqueueN(9, "a")
		w.check(w.Trip(w.ctx, "x", time.Hour, w.by()))
		out := w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "started, looks again", words(len(out.Leases), out.NextDue), words(0, w.now.Add(time.Hour)))
		w.check(w.Reset(w.ctx, "x", w.by()))
		equal(w, "started", len(w.take(9)), 1)
		w.tick(time.Second)
		equal(w, "started a second later", len(w.take(9)), 2)
	}},
	{"PausedDependencyAndQueueStartNothingAcrossARestart", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		id := w.enqueue("a").ID
		for kind, name := range map[jobs.GateKind]string{jobs.GateQueue: jobs.DefaultQueue, jobs.GateDependency: "x"} {
			w.check(w.PauseGate(w.ctx, kind, name, true, "they asked us to", w.by()))
			w.reopen()
			w.tick(24 * time.Hour)
			equal(w, "started", len(w.take(9)), 0)
			equal(w, "held by", w.waitsFor(id).Name, name)
			w.check(w.PauseGate(w.ctx, kind, name, false, "", w.by()))
		}
		equal(w, "started", idsOf(w.take(9)), []jobs.ID{id})
	}},
}

// oneProbe has 200 runs wait for a host that is down, then slow, then up.
func oneProbe(w *world) {
	w.jobs("a", "b")
	breaks(w, "a")
	w.enqueueN(100, "a")
	w.enqueueN(100, "b")
	wait := 30 * time.Second
	for range 3 {
		w.tick(wait - time.Millisecond)
		equal(w, "started before the probe", len(w.take(99)), 0)
		w.tick(time.Millisecond)
		probe := w.take(99)
		equal(w, "probes", len(probe), 1)
		for range 5 {
			w.tick(time.Second)
			equal(w, "started besides the probe", len(w.take(99)), 0)
		}
		w.apply(endsAs(w.retrying(probe[0], time.Minute), unavailable))
		wait *= 2
	}
	w.tick(wait)
	w.succeed(w.takeOne())
	for second, n := range []int{1, 2, 4, 8} {
		leases := w.take(99)
		equal(w, fmt.Sprint("started in second ", second), len(leases), n)
		for _, l := range leases {
			w.succeed(l)
		}
		w.tick(time.Second)
	}
	equal(w, "started at once", len(w.take(99)), jobs.DefaultHostConcurrency)
}
