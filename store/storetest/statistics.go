package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// counted sums the counts of a job by what they are of: succeeded, failed, cancelled, retried.
func (w *world) counted(f store.EndedFilter) (sums [5]int64) {
	w.Helper()
	if f.Until == 0 {
		f.Until = w.now.Add(time.Hour)
	}
	list, err := w.Ended(w.ctx, f)
	w.check(err)
	for _, e := range list {
		sums[e.As] += e.Count
	}
	return sums
}

func (w *world) fold() {
	w.Helper()
	for range 100 {
		done, err := w.FoldEnded(w.ctx, w.now)
		w.check(err)
		if done {
			return
		}
	}
	w.Fatal("folding does not come to an end")
}

var statisticsClaims = []claim{
	{"WhatEndsIsCountedByHowItEnds", func(w *world) { // case 156
		w.jobs("a", "b")
		later := w.enqueue("a", dueIn(time.Hour)).ID
		w.enqueueN(5, "a")
		w.enqueue("b")
		ls := w.take(6)
		w.succeed(ls[0])
		w.apply(w.retrying(ls[1], time.Hour))
		w.succeed(ls[5])
		_, err := w.Cancel(w.ctx, later, w.by())
		w.check(err)
		equal(w, "all", w.counted(store.EndedFilter{}), [5]int64{0, 2, 0, 1, 1})
		a, b := w.counted(store.EndedFilter{Job: "a"}), w.counted(store.EndedFilter{Job: "b"})
		equal(w, "cancelled ones of a", a[store.EndedCancelled], 1)
		for i := range a {
			a[i] += b[i]
		}
		equal(w, "those of a and b", a, [5]int64{0, 2, 0, 1, 1})
		equal(w, "what a token sees", w.counted(store.EndedFilter{Allowed: []string{"b*"}}), w.counted(store.EndedFilter{Job: "b"}))
		equal(w, "another job of a token", w.counted(store.EndedFilter{Job: "a", Allowed: []string{"b*"}}), [5]int64{})
		_, err = w.Claim(w.ctx, store.Claim{Now: w.now, Finished: []store.Finish{w.succeeded(ls[0])}})
		w.check(err)
		equal(w, "all after a finish that came late", w.counted(store.EndedFilter{}), [5]int64{0, 2, 0, 1, 1})
	}},
	{"OldCountsAreOfHoursAndThenGone", func(w *world) {
		w.jobs("a")
		first := w.now
		for range 30 {
			w.enqueue("a")
			w.succeed(w.takeOne())
			w.tick(5 * time.Minute)
		}
		w.tick(store.EndedFine + time.Hour)
		w.fold()
		w.fold()
		list, err := w.Ended(w.ctx, store.EndedFilter{Until: w.now})
		w.check(err)
		hours := map[jobs.Time]bool{}
		for _, e := range list {
			hours[e.At] = true
			equal(w, fmt.Sprintf("the step of %s", e.At), int64(e.At)%store.EndedCoarse.Milliseconds(), 0)
		}
		equal(w, "hours of 150 minutes", len(hours) <= 4 && len(hours) >= 3, true)
		equal(w, "all", w.counted(store.EndedFilter{}), [5]int64{0, 30})
		equal(w, "those of a", w.counted(store.EndedFilter{Job: "a", Since: first.Add(-time.Hour)}), [5]int64{0, 30})
		w.tick(store.EndedKept)
		w.fold()
		equal(w, "after 90 days", w.counted(store.EndedFilter{}), [5]int64{})
	}},
	{"BucketsHoldWhatTookUpToTheirBound", func(w *world) {
		for ms, bucket := range map[int]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 1024: 10, 1025: 11} {
			equal(w, fmt.Sprintf("the bucket of %d ms", ms), store.EndedBucket(time.Duration(ms)*time.Millisecond), bucket)
		}
		equal(w, "the bound of bucket 10", store.EndedUpTo(10), 1024*time.Millisecond)
		equal(w, "that of none", store.EndedUpTo(store.EndedNever), 0)
	}},
}

// compareEnded compares what was counted with the runs that have ended.
func (w *walker) compareEnded() {
	w.Helper()
	ended := w.model.gone
	for _, r := range w.model.runs {
		ended[r.State]++
	}
	got := w.counted(store.EndedFilter{Until: w.now.Add(10 * 365 * 24 * time.Hour)})
	want := [5]int64{0, ended[jobs.Succeeded], ended[jobs.Failed], ended[jobs.Cancelled], got[store.EndedRetried]}
	equal(w.world, "what was counted", got, want)
}
