package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// share puts the document of a queue or dependency.
func (w *world) share(kind, name, doc string) {
	w.Helper()
	_, err := w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{
		{Kind: kind, Name: name, Doc: jobs.Raw(doc)},
	}}, w.by())
	w.check(err)
}

func (w *world) queue(name string, limit int) {
	w.Helper()
	w.share(store.KindQueue, name, fmt.Sprintf(`{"concurrency":%d}`, limit))
}

func (w *world) dependency(name string, limit int) {
	w.Helper()
	w.share(store.KindDependency, name, fmt.Sprintf(`{"concurrency":%d}`, limit))
}

// inUse is how many attempts hold a queue or dependency.
func (w *world) inUse(kind jobs.GateKind, name string) int {
	w.Helper()
	g, err := w.Gate(w.ctx, kind, name, w.now)
	w.check(err)
	return g.Used
}

// waitsFor is what a queued run waits for.
func (w *world) waitsFor(id jobs.ID) *jobs.HeldBy {
	w.Helper()
	r := w.run(id)
	w.check(w.Held(w.ctx, []*jobs.Run{r}, w.now))
	return r.HeldBy
}

// counted gives a run its key of concurrency, and of rate.
func counted(key string) func(*store.Submission) {
	return func(s *store.Submission) { s.Run.Keys = jobs.Keys{Concurrency: &key, Rate: &key} }
}

const self = "127.0.0.1:9" // the host of all webhooks here

// shareAll makes a job that goes through every sort of gate, one at a time through each.
func shareAll(w *world, name string) {
	w.Helper()
	w.queue("q", 1)
	w.dependency("x", 1)
	w.dependency(self, 1)
	w.put(webhook(name, "", `,"queue":"q","dependencies":["x"],"concurrency":{"limit":1,"key":"payload.k"}`))
}

// wantAllInUse looks at every gate of shareAll.
func wantAllInUse(w *world, n int) {
	w.Helper()
	equal(w, "in use", words(w.inUse(jobs.GateQueue, "q"), w.inUse(jobs.GateDependency, "x"),
		w.inUse(jobs.GateDependency, self)), words(n, n, n))
}

// slotEnds are all the ways in which an attempt ends.
var slotEnds = map[string]func(*world, store.Lease){
	"Success": func(w *world, l store.Lease) { w.succeed(l) },
	"Failure": func(w *world, l store.Lease) { w.fail(l) },
	"Timeout": func(w *world, l store.Lease) {
		f := w.failed(l)
		f.Signal = jobs.Signal{Kind: jobs.FailTimeout}
		w.apply(f)
	},
	"Retry":     func(w *world, l store.Lease) { w.apply(w.retrying(l, time.Hour)) },
	"Interrupt": func(w *world, l store.Lease) { w.apply(w.interrupted(l)) },
	"Cancel": func(w *world, l store.Lease) {
		_, err := w.Cancel(w.ctx, l.Run.ID, w.by())
		w.check(err)
		wantAllInUse(w, 1) // until it is gone
		w.apply(w.cancelled(l))
	},
	"CancelThatCameFirst": func(w *world, l store.Lease) {
		_, err := w.Cancel(w.ctx, l.Run.ID, w.by())
		w.check(err)
		w.wantErr(w.finish(w.succeeded(l))[0].Err, store.ErrState)
		wantAllInUse(w, 1)
		w.apply(w.cancelled(l))
	},
	"Secret": func(w *world, l store.Lease) { w.apply(w.held(l, "TOKEN")) },
	"FollowUp": func(w *world, l store.Lease) {
		f := w.succeeded(l)
		f.Spawn = []store.Submission{w.follow("other", dueIn(time.Hour))}
		w.apply(f)
	},
	"StaleEndsBefore": func(w *world, l store.Lease) {
		late := w.succeeded(l)
		late.Number--
		w.wantErr(w.finish(late)[0].Err, store.ErrLease)
		wantAllInUse(w, 1)
		w.succeed(l)
	},
	"Death": func(w *world, l store.Lease) {
		w.reopen()
		wantAllInUse(w, 1)
		equal(w, "started before the orphan has ended", len(w.take(9)), 0)
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		f := w.interrupted(orphans[0])
		f.Signal = jobs.Signal{Ended: true}
		w.apply(f)
	},
	"DeletionOfTheJob": func(w *world, l store.Lease) {
		_, err := w.DeleteJob(w.ctx, l.Run.Job, nil, w.by())
		w.check(err)
		wantAllInUse(w, 1)
		w.fail(l)
		shareAll(w, l.Run.Job)
		w.enqueue(l.Run.Job, counted("k"))
	},
	"OtherDocument": func(w *world, l store.Lease) { // that names none of what it holds
		w.put(webhook(l.Run.Job, "", ""))
		equal(w, "in use", words(w.inUse(jobs.GateQueue, "q"), w.inUse(jobs.GateDependency, "x")), "1 1")
		w.succeed(l)
		shareAll(w, l.Run.Job)
	},
}

// slotClaims are that a slot is given back once and once only, one claim for each end.
func slotClaims() (list []claim) {
	for name, end := range slotEnds {
		list = append(list, claim{"SlotsAreGivenBackOnceAfter" + name, func(w *world) { slotOnce(w, end) }})
	}
	return list
}

func slotOnce(w *world, end func(*world, store.Lease)) {
	w.jobs("other")
	shareAll(w, "a")
	w.enqueueN(3, "a", counted("k"))
	leases := w.take(9)
	equal(w, "started", len(leases), 1)
	wantAllInUse(w, 1)
	equal(w, "started past the limit", len(w.take(9)), 0)
	first := leases[0]
	end(w, first)
	wantAllInUse(w, 0)
	leases = w.take(1)
	equal(w, "started after it", len(leases), 1)
	wantAllInUse(w, 1)
	// Its end comes once more, and late.
	w.wantErr(w.finish(w.succeeded(first))[0].Err, store.ErrLease)
	wantAllInUse(w, 1)
	w.reopen()
	wantAllInUse(w, 1)
	w.succeed(leases[0])
	wantAllInUse(w, 0)
}
