package storetest

import (
	"errors"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// kept is what the store says is kept.
func kept(w *world, kind store.KeptKind) int64 {
	w.Helper()
	all, err := w.Kept(w.ctx)
	w.check(err)
	return all[kind]
}

// pruneMost goes through all once in small steps, with bounds, and gives the sorts that are past theirs all the same.
func pruneMost(w *world, most map[store.KeptKind]int64) []store.KeptKind {
	w.Helper()
	for range 100_000 {
		out, err := w.Prune(w.ctx, store.PruneStep{Now: w.now, Limit: 7, Most: most})
		w.check(err)
		if out.Done {
			return out.Over
		}
	}
	w.Fatal("pruning does not come to an end")
	return nil
}

// printed ends a run that has printed.
func printed(w *world, text string) jobs.ID {
	w.Helper()
	l := w.takeOne()
	w.check(w.AppendLog(w.ctx, []store.LogPiece{{Run: l.Run.ID, Attempt: 1, Data: []byte(text)}}))
	w.succeed(l)
	return l.Run.ID
}

var keptClaims = []claim{
	{"NothingIsKeptOfWhatIsGone", func(w *world) {
		w.jobs("a")
		before := [...]int64{kept(w, store.KeptLogs), kept(w, store.KeptRuns)}
		equal(w, "kept", before, [...]int64{0, 0})
		w.enqueueN(20, "a")
		w.enqueue("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`"` + strings.Repeat("x", 5000) + `"`) })
		equal(w, "of what has not ended", kept(w, store.KeptRuns), int64(0))
		for range 20 {
			printed(w, strings.Repeat("text\n", 100))
		}
		if n := kept(w, store.KeptLogs); n < 20*500 || n > 20*700 {
			w.Errorf("%d bytes are kept of 20 logs of 500", n)
		}
		small := kept(w, store.KeptRuns)
		w.apply(w.retrying(w.takeOne(), time.Second))
		equal(w, "while it retries", kept(w, store.KeptRuns), small)
		w.tick(2 * time.Second)
		large := w.takeOne()
		w.succeed(large)
		if n := kept(w, store.KeptRuns) - small; n < 5000 || n > 7000 {
			w.Errorf("a run with 5000 bytes counts as %d", n)
		}
		w.check(w.Remove(w.ctx, large.Run.ID, w.by()))
		equal(w, "after it was removed", kept(w, store.KeptRuns), small)
		w.cancel(w.enqueue("a", dueIn(time.Hour)).ID)
		w.tick(8 * day)
		prune(w)
		equal(w, "kept", [...]int64{kept(w, store.KeptLogs), kept(w, store.KeptRuns)}, before)
	}},
	{"TheOldestLogsGoFirstAndTheirRunsSaySo", func(w *world) {
		w.jobs("a")
		w.enqueueN(10, "a")
		var ids []jobs.ID
		for range 10 {
			ids = append(ids, printed(w, strings.Repeat("x", 1000)))
			w.tick(time.Second)
		}
		over := pruneMost(w, map[store.KeptKind]int64{store.KeptLogs: 5 * 1100})
		equal(w, "over", len(over), 0)
		for i, id := range ids {
			want := int64(0)
			if i < 5 {
				want = 1000
			}
			bytes := int64(0)
			w.check(w.Store.Log(w.ctx, id, func(p store.LogPiece) error { bytes += int64(len(p.Data)); return nil }))
			equal(w, "pruned, left", [...]int64{w.run(id).LogPruned, bytes}, [...]int64{want, 1000 - want})
		}
		// It goes on where it was.
		pruneMost(w, map[store.KeptKind]int64{store.KeptLogs: 4 * 1100})
		equal(w, "of the next", w.run(ids[5]).LogPruned, int64(1000))
		equal(w, "of the one after", w.run(ids[6]).LogPruned, int64(0))
	}},
	{"TheRunsThatEndedFirstGo", func(w *world) {
		w.jobs("a")
		late := w.enqueue("a", dueIn(time.Hour)).ID // made first, ends last
		w.enqueueN(9, "a")
		var ids []jobs.ID
		for range 9 {
			l := w.takeOne()
			w.succeed(l)
			ids = append(ids, l.Run.ID)
			w.tick(time.Second)
		}
		w.tick(time.Hour)
		w.succeed(w.takeOne())
		one := kept(w, store.KeptRuns) / 10
		equal(w, "over", len(pruneMost(w, map[store.KeptKind]int64{store.KeptRuns: 5 * one})), 0)
		for i, id := range append(ids, late) {
			_, err := w.Run(w.ctx, id)
			equal(w, "gone", errors.Is(err, store.ErrNotFound), i < 5)
		}
	}},
	{"WhatIsNeededStaysWhateverItsSize", func(w *world) {
		w.unbound()
		w.jobs("a", "b", "m")
		w.put(groupJob("g", "a b", merged))
		open := w.failOne("a")
		running := w.enqueue("a").ID
		w.takeOne()
		g := w.group("g")
		member := w.memberLease(g.Run.ID, 0)
		w.check(w.AppendLog(w.ctx, []store.LogPiece{{Run: member.Run.ID, Attempt: 1, Data: []byte("text")}}))
		w.succeed(member)
		w.tick(day)
		over := pruneMost(w, map[store.KeptKind]int64{store.KeptLogs: 0, store.KeptRuns: 0})
		equal(w, "over", words(over), words([]store.KeptKind{store.KeptLogs, store.KeptRuns}))
		for _, id := range []jobs.ID{open, running, g.Run.ID, member.Run.ID} {
			w.run(id)
		}
		equal(w, "pruned of its log", w.run(member.Run.ID).LogPruned, int64(0))
		w.resolve(open, "")
		pruneMost(w, map[store.KeptKind]int64{store.KeptRuns: 0})
		_, err := w.Run(w.ctx, open)
		w.wantErr(err, store.ErrNotFound)
	}},
	{"TheOldestEventsGoFirst", func(w *world) {
		w.jobs("a")
		for range 1100 {
			w.failOne("a")
		}
		newest, err := w.NewestEvent(w.ctx)
		w.check(err)
		equal(w, "over", words(pruneMost(w, map[store.KeptKind]int64{store.KeptEvents: 0})), words([]store.KeptKind{store.KeptEvents}))
		list, err := w.Events(w.ctx, 0, 10_000)
		w.check(err)
		equal(w, "left and first", words(len(list), list[0].ID), words(1000, newest-999))
	}},
}
