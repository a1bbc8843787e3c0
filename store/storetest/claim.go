package storetest

import (
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var claimClaims = []claim{
	{"LeaseHoldsWhatIsExecuted", func(w *world) {
		w.put(webhook("a", "x", ""))
		id := w.enqueue("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`{"n":1}`) }).ID
		w.tick(time.Second)
		l := w.takeOne()
		equal(w, "run", words(l.Run.ID, l.Run.Job, l.Run.State, l.Run.Counts.Number, l.Run.Version),
			words(id, "a", jobs.Running, 1, 1))
		equal(w, "payload", string(l.Run.Payload), `{"n":1}`)
		equal(w, "url", l.Spec.Webhook.URL, "http://127.0.0.1:9/x")
		equal(w, "started", l.Started, w.now)
		r := w.run(id)
		equal(w, "started at", r.StartedAt, w.now)
		equal(
			w,
			"attempts",
			words(len(r.Attempts), r.Attempts[0].Number, r.Attempts[0].StartedAt,
				r.Attempts[0].Outcome),
			words(1, 1, w.now, jobs.Outcome(0)),
		)
	}},
	{"NoMoreThanFreeWorkersOfTheSort", func(w *world) {
		w.put(webhook("a", "", ""))
		w.put(script("s", "echo"))
		w.enqueueN(5, "a")
		w.enqueueN(5, "s")
		out := w.claim(store.Claim{Free: [store.Pools]int{2, 3}})
		equal(w, "claimed", count(jobsOf(out.Leases)), map[string]int{"a": 2, "s": 3})
		equal(w, "nothing free", len(w.claim(store.Claim{}).Leases), 0)
		out = w.claim(store.Claim{Free: [store.Pools]int{9, 0}})
		equal(w, "claimed", count(jobsOf(out.Leases)), map[string]int{"a": 3})
	}},
	{"EachRunIsGivenOutOnce", func(w *world) {
		w.unbound()
		w.jobs("a", "b")
		w.enqueueN(40, "a")
		w.enqueueN(30, "b")
		seen := map[jobs.ID]bool{}
		for leases := w.take(7); len(leases) > 0; leases = w.take(7) {
			for _, l := range leases {
				if seen[l.Run.ID] {
					w.Fatalf("run %s was given out twice", l.Run.ID)
				}
				seen[l.Run.ID] = true
			}
		}
		equal(w, "claimed", len(seen), 70)
	}},
	{"NothingStartsBeforeItIsDue", func(w *world) {
		w.jobs("a")
		ids := []jobs.ID{
			w.enqueue("a", dueIn(time.Second)).ID,
			w.enqueue("a", dueIn(time.Millisecond)).ID,
		}
		out := w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "claimed", len(out.Leases), 0)
		equal(w, "next due", out.NextDue, w.now+1)
		w.tick(time.Millisecond)
		out = w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "claimed", idsOf(out.Leases), ids[1:])
		equal(w, "next due", out.NextDue, start.Add(time.Second))
		w.tick(time.Second)
		out = w.claim(store.Claim{Free: [store.Pools]int{9, 9}})
		equal(w, "claimed", idsOf(out.Leases), ids[:1])
		equal(w, "next due", out.NextDue, 0)
	}},
	{"HoldTakesNothingButMovesWhatFellDue", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a", dueIn(time.Second)).ID
		w.enqueue("a")
		w.tick(time.Second)
		equal(w, "claimed",
			len(w.claim(store.Claim{Free: [store.Pools]int{9, 9}, Hold: true}).Leases), 0)
		equal(w, "state", w.state(id), jobs.Queued)
		equal(w, "claimed", len(w.take(9)), 2)
	}},
	{"MoreSaysThatAnotherClaimIsNeeded", func(w *world) {
		w.jobs("a")
		w.enqueueN(2500, "a", dueIn(time.Second))
		w.tick(time.Minute)
		for claims := 1; ; claims++ {
			if !w.claim(store.Claim{Hold: true}).More {
				break
			}
			if claims > 100 {
				w.Fatal("More never ends")
			}
		}
		stats, err := w.Stats(w.ctx)
		w.check(err)
		equal(w, "queued", stats[jobs.Queued], 2500)
	}},
	{"OutcomesAndNewWorkShareAClaim", func(w *world) {
		w.jobs("a")
		ids := w.enqueueN(2, "a")
		l := w.takeOne()
		out := w.claim(
			store.Claim{Free: [store.Pools]int{1, 0}, Finished: []store.Finish{w.succeeded(l)}})
		equal(w, "result", out.Results[0].Err, error(nil))
		equal(w, "claimed", idsOf(out.Leases), ids[1:])
		equal(w, "state", w.state(ids[0]), jobs.Succeeded)
	}},
	{"PayloadOfALeaseIsACopy", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a", func(s *store.Submission) { s.Run.Payload = jobs.Raw(`{"n":1}`) }).ID
		copy(w.takeOne().Run.Payload, "XXXXXXX")
		equal(w, "payload", string(w.run(id).Payload), `{"n":1}`)
	}},
}

func count(names []string) map[string]int {
	n := map[string]int{}
	for _, s := range names {
		n[s]++
	}
	return n
}

var turnClaims = []claim{
	{"WithinALaneByRank", withinLane},
	{"LanesTakeTurns", func(w *world) {
		w.jobs("a", "b", "c")
		w.enqueueN(50, "a")
		w.enqueueN(4, "b")
		w.tick(time.Second)
		w.enqueueN(2, "c")
		equal(w, "turns", count(jobsOf(w.take(6))), map[string]int{"a": 2, "b": 2, "c": 2})
		equal(w, "turns", count(jobsOf(w.take(6))), map[string]int{"a": 4, "b": 2})
	}},
	{"LanesTakeTurnsOverClaimsOfOne", func(w *world) {
		w.jobs("a", "b", "c")
		for _, job := range []string{"a", "b", "c"} {
			w.enqueueN(10, job)
		}
		var turns []string
		for range 9 {
			turns = append(turns, w.takeOne().Run.Job)
		}
		for i := 0; i < 9; i += 3 {
			equal(w, "lanes of a round", count(turns[i:i+3]),
				map[string]int{"a": 1, "b": 1, "c": 1})
		}
	}},
	{"PriorityIsWorthSixSecondsAPoint", func(w *world) {
		w.jobs("a", "b")
		first := w.enqueue("a").ID
		w.tick(5999 * time.Millisecond)
		urgent := w.enqueue("b", priority(1)).ID
		equal(w, "first", w.takeOne().Run.ID, urgent)
		equal(w, "second", w.takeOne().Run.ID, first)
		first = w.enqueue("a").ID
		w.tick(6001 * time.Millisecond)
		urgent = w.enqueue("b", priority(1)).ID
		equal(w, "first", w.takeOne().Run.ID, first)
		equal(w, "second", w.takeOne().Run.ID, urgent)
	}},
	{"UrgentRunTakesItsLaneAlong", func(w *world) {
		w.jobs("a", "b")
		w.enqueue("a")
		w.tick(time.Second)
		w.enqueue("b")
		w.tick(time.Second)
		urgent := w.enqueue("b", priority(1)).ID
		equal(w, "first", w.takeOne().Run.ID, urgent)
		equal(w, "then", jobsOf(w.take(2)), []string{"a", "b"})
	}},
	{"NothingStarvesBehindUrgentWork", starve},
	{"ClockSetBackOverARestartStarvesNoLane", clockBack},
	{"CancelledHeadLetsTheLaneGoOn", func(w *world) {
		w.jobs("a")
		ids := w.enqueueN(3, "a")
		for _, id := range ids[:2] {
			_, err := w.Cancel(w.ctx, id, w.by())
			w.check(err)
		}
		equal(w, "claimed", idsOf(w.take(9)), ids[2:])
	}},
	{"ManyLanesAreAllServed", func(w *world) {
		w.unbound()
		for i := range 150 {
			w.jobs(fmt.Sprint("j", i))
			w.enqueueN(2, fmt.Sprint("j", i))
		}
		seen := map[string]int{}
		for range 15 {
			for _, name := range jobsOf(w.take(10)) {
				seen[name]++
			}
		}
		equal(w, "lanes served in a round", len(seen), 150)
	}},
}

func withinLane(w *world) {
	w.jobs("a")
	type entry struct {
		id   jobs.ID
		rank int64
	}
	var want []entry
	for i, p := range []int{0, 1, -1, 100, -100, 0, 3, 0} {
		w.tick(2500 * time.Millisecond)
		id := w.enqueue("a", priority(p)).ID
		want = append(want, entry{id, int64(i)*2500 - int64(p)*6000})
	}
	slices.SortStableFunc(want, func(x, y entry) int { return int(x.rank - y.rank) })
	for i, e := range want {
		equal(w, fmt.Sprint("run ", i), w.takeOne().Run.ID, e.id)
	}
}

func starve(w *world) {
	w.unbound()
	w.jobs("a", "b")
	old := w.enqueue("a", priority(-100)).ID
	for range 130 {
		w.tick(10 * time.Second)
		w.enqueue("b", priority(100))
		w.enqueue("b", priority(100))
		if l := w.takeOne(); l.Run.ID == old {
			return
		}
	}
	w.Fatalf("run %s was passed over for 20 minutes", old)
}

func clockBack(w *world) {
	w.jobs("a", "b")
	w.enqueueN(20, "a")
	w.tick(10 * 365 * 24 * time.Hour)
	w.takeOne()
	w.reopen()
	w.tick(-10 * 365 * 24 * time.Hour)
	w.enqueueN(20, "b")
	equal(w, "turns", count(jobsOf(w.take(8)))["a"] >= 3, true)
	w.enqueueN(20, "b")
	equal(w, "turns", count(jobsOf(w.take(8)))["a"] >= 3, true)
}
