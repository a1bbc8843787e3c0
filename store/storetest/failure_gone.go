package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// deletedRequeues deletes a job of which requeues have not ended: of an order, of one that was requeued
// twice, of a member of a group that is over, and one that runs.
func deletedRequeues(w *world) {
	groupJobs(w, "a a")
	g := w.group("g")
	for i := range 2 {
		w.apply(w.failed(w.memberLease(g.Run.ID, i)))
	}
	for _, over := range w.groupsOver() {
		w.endGroup(over)
	}
	inGroup := w.members(g.Run.ID)[0].ID
	ofOrder, twice, running := w.failN(2, "a"), w.failOne("a"), w.failOne("a")
	l := w.takeThis(w.requeue(running).ID)
	b := requeueAll()
	b.IDs = ofOrder
	order, _ := w.order(b)
	made := w.carryOut(order)
	w.cancel(w.requeue(twice).ID)
	again := w.requeue(twice).ID
	member := w.requeue(inGroup).ID
	w.tick(time.Second)
	equal(w, "requeued", w.statuses(append(ofOrder, twice, running, inGroup)...), "requeued requeued requeued requeued requeued")

	_, err := w.DeleteJob(w.ctx, "g", nil, w.by())
	w.check(err)
	n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
	w.check(err)
	equal(w, "cancelled", n, 4)
	for _, id := range append(made, again, member) {
		run := w.run(id)
		equal(w, "run", words(run.State, run.FinishedAt), words(jobs.Cancelled, w.now))
	}
	equal(w, "open again", w.statuses(append(ofOrder, twice, running, inGroup)...), "open open open requeued open")
	equal(w, "order", w.orderStands(order), "done 2: 2 done, 0 skipped; 0 good, 0 bad, 2 cancelled; over true")
	equal(w, "group", words(w.state(g.Run.ID)), words(jobs.Failed))
	w.apply(w.cancelled(l))
	equal(w, "once it has ended", w.statuses(running), "open")
	w.drain()
	equal(w, "nothing is left", len(w.claim(store.Claim{Free: [store.Pools]int{9, 9, 9}}).Leases), 0)
}

// prunedNeighbours prunes two neighbours of a chain of requeues in one step: what is before them and what is
// behind know each other then.
func prunedNeighbours(w *world) {
	w.put(webhook("a", "", `,"retain":{"cancelled":"1h"}`))
	first := w.failOne("a")
	var cancelled []jobs.ID
	for range 2 {
		id := w.requeue(first).ID
		w.cancel(id)
		cancelled = append(cancelled, id)
	}
	w.tick(2 * time.Hour)
	last := w.requeue(first).ID
	prune(w)
	for _, id := range cancelled {
		_, err := w.Run(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
	}
	equal(w, "next", w.run(first).RequeuedTo, last)
	equal(w, "before", w.run(last).RequeuedFrom, first)
	equal(w, "while the requeue stands", w.statuses(first), "requeued")
	w.cancel(last)
	equal(w, "when it is cancelled", w.statuses(first), "open")
}
