package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// modelOrder is an order for many failures that was carried out.
type modelOrder struct {
	count, done, skipped int
	stopped              bool
}

// walkOrder deals with all open failures of a job, or of all, in steps.
func (w *walker) walkOrder() {
	b := store.Bulk{Action: w.either(store.BulkRequeue, store.BulkRequeue, store.BulkResolve, store.BulkIgnore), Creator: "walker"}
	if w.IntN(3) > 0 {
		b.Filter.Job = w.anyJob()
	}
	if w.IntN(2) == 0 {
		b.Every = jobs.Duration(w.IntN(5000)) * jobs.Duration(time.Millisecond)
	}
	var of []jobs.ID // oldest first
	for _, r := range w.model.failures(jobs.FailureOpen, "") {
		if b.Filter.Job == "" || r.Job == b.Filter.Job {
			of = append([]jobs.ID{r.ID}, of...)
		}
	}
	id, count := w.order(b)
	equal(w.world, "failures of an order", count, len(of))
	made := map[jobs.ID]store.Requeue{}
	for more := true; more; {
		var err error
		_, more, err = w.BulkStep(w.ctx, id, 1+w.IntN(5), func(_ *store.Bulk, runs []*jobs.Run) []store.BulkRun {
			list := w.requeues(nil, runs)
			for i := range list {
				list[i].Keys, list[i].Unique = w.anyKeys(), w.anyUnique()
				made[list[i].Of] = list[i].Requeue
			}
			return list
		}, w.now)
		w.check(err)
	}
	o := &modelOrder{count: count}
	w.model.orders[id] = o
	next := int64(w.now) * 1000
	for _, run := range of {
		if b.Action != store.BulkRequeue {
			d := store.Dealing{Status: jobs.FailureResolved}
			if b.Action == store.BulkIgnore {
				d.Status = jobs.FailureIgnored
			}
			_, err := w.model.deal(run, d, w.by())
			w.check(err)
			o.done++
			continue
		}
		rq := made[run]
		rq.Bulk, rq.RunAt = id, jobs.Time(next/1000)
		out, err := w.model.requeue(rq)
		if err != nil || out.Duplicate {
			o.skipped++
			continue
		}
		w.ids = append(w.ids, rq.ID)
		next += b.Every.Std().Microseconds()
		o.done++
	}
	if w.IntN(3) == 0 {
		w.walkStopOrder(id, o)
	}
}

// walkStopOrder calls an order off at once, unless all of it is over.
func (w *walker) walkStopOrder(id jobs.ID, o *modelOrder) {
	runs := w.model.sorted(func(r *modelRun) bool { return r.Bulk == id && !r.State.Terminal() })
	err := w.StopBulk(w.ctx, id, w.by())
	if len(runs) == 0 {
		w.sameErr(err, store.ErrState)
		return
	}
	w.check(err)
	o.stopped = true
	for more := true; more; {
		_, more, err = w.BulkStep(w.ctx, id, 1+w.IntN(5), w.requeues, w.now)
		w.check(err)
	}
	for _, r := range runs {
		if (r.State == jobs.Scheduled || r.State == jobs.Queued) && r.Counts.Number == 0 {
			_, _, err := w.model.cancel(r.ID, w.now)
			w.check(err)
		}
	}
}

// compareOrders compares how the orders stand. Runs that are gone have been counted.
func (w *walker) compareOrders() {
	w.Helper()
	for id, o := range w.model.orders {
		b, err := w.Bulk(w.ctx, id)
		w.check(err)
		state := store.BulkMade
		under := len(w.model.sorted(func(r *modelRun) bool { return r.Bulk == id && !r.State.Terminal() }))
		switch {
		case o.stopped:
			state = store.BulkStopped
		case under == 0:
			state = store.BulkDoneAll
		}
		ended := b.Succeeded + b.Failed + b.Cancelled
		if b.Bulk.Action != store.BulkRequeue {
			ended = b.Done
		}
		equal(w.world, "order", words(b.Count, b.Done, b.Skipped, b.State, ended, b.EndedAt != 0),
			words(o.count, o.done, o.skipped, state, o.done-under, under == 0))
	}
}
