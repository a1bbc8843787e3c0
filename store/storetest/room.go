package storetest

import (
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// limits puts the document of a dependency.
func (w *world) limits(name, doc string) {
	w.Helper()
	_, err := w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{{
		Kind: store.KindDependency, Name: name, Doc: jobs.Raw(doc),
	}}}, w.by())
	w.check(err)
}

// inLane gives a run a key of concurrency, and so a lane.
func inLane(key string) func(*store.Submission) {
	return func(s *store.Submission) { s.Run.Keys.Concurrency = &key }
}

// lanes makes one run in each of n lanes.
func (w *world) lanes(n int, job string) {
	w.Helper()
	for i := range n {
		w.enqueue(job, inLane(strconv.Itoa(i)))
	}
}

// takeAll claims until the store has looked at all.
func (w *world) takeAll(n int) (leases []store.Lease) {
	w.Helper()
	for {
		out := w.claim(store.Claim{Free: [store.Pools]int{n - len(leases), n - len(leases)}})
		if leases = append(leases, out.Leases...); !out.More {
			return leases
		}
	}
}

var roomClaims = []claim{
	{"RoomThatGrewWhileNoWorkerWasFreeIsUsed", func(w *world) {
		w.put(webhook("a", "", `,"dependencies":["x"]`))
		w.limits("x", `{}`)
		w.check(w.Trip(w.ctx, "x", 0, w.by()))
		w.lanes(7, "a")
		equal(w, "taken while it is held", len(w.takeAll(9)), 0)
		w.check(w.Reset(w.ctx, "x", w.by())) // what waits starts little by little: one now
		equal(w, "taken without workers", len(w.takeAll(0)), 0)
		w.tick(time.Hour)
		equal(w, "taken when all may start", len(w.takeAll(9)), 7)
	}},
	{"AGateThatIsForgottenLeavesNoStartsToTheNextOne", func(w *world) {
		w.unbound()
		once := `,"rate":{"limit":1,"per":"1d"}`
		w.put(webhook("a", "", once))
		w.enqueueN(2, "a")
		w.succeed(w.takeOne())
		w.put(webhook("a", "", ""))
		prune(w)
		w.put(webhook("b", "", once))
		b := w.enqueue("b")
		equal(w, "taken", count(jobsOf(w.take(5))), map[string]int{"a": 1, "b": 1})
		equal(w, "state of the run of b", w.state(b.ID), jobs.Running)
	}},
	{"LanesThatWaitForTwoGatesStayWhenOneOpens", func(w *world) {
		w.limits("x", `{"concurrency":1}`)
		w.limits("y", `{"concurrency":1}`)
		w.put(webhook("xy", "", `,"dependencies":["x","y"]`))
		w.put(webhook("x", "", `,"dependencies":["x"]`))
		w.put(webhook("y", "", `,"dependencies":["y"]`))
		w.enqueueN(4, "x")
		w.enqueueN(4, "y")
		w.tick(time.Millisecond)
		w.lanes(100, "xy")
		running := map[string]store.Lease{}
		for _, l := range w.takeAll(9) {
			running[l.Run.Job] = l
		}
		for _, job := range []string{"x", "y", "x", "y", "x", "y"} {
			out := w.claim(store.Claim{
				Free: [store.Pools]int{9, 9}, Finished: []store.Finish{w.succeeded(running[job])},
			})
			equal(w, "taken at once when "+job+" ends", words(jobsOf(out.Leases), out.More), words([]string{job}, false))
			running[job] = out.Leases[0]
		}
		w.succeed(running["x"])
		equal(w, "taken while y is in use", len(w.takeAll(9)), 0)
		w.succeed(running["y"])
		equal(w, "taken when both are free", jobsOf(w.takeAll(9)), []string{"xy"})
	}},
}
