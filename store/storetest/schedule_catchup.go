package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// backlog makes a schedule a:x of which n ticks are to be caught up, and makes the runs of made of them.
func backlog(w *world, overlap string, n, made int) (ids []jobs.ID) {
	w.Helper()
	w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all"},"overlap":"`+overlap+`"`)))
	w.tick(time.Duration(n)*time.Minute + 30*time.Second)
	w.fire("a:x")
	return w.caughtUp(made)
}

// caughtUp makes the next runs of the backlog of a:x.
func (w *world) caughtUp(n int) (ids []jobs.ID) {
	w.Helper()
	out := w.decided(w.catchUp(w.schedule("a:x"), n))
	equal(w, "answers", len(out.Ran), n)
	for _, made := range out.Ran {
		equal(w, "outcome", made.Outcome, jobs.TickCaughtUp)
		ids = append(ids, made.Made.ID)
	}
	return ids
}

// waiting says of each run whether it waits for another of its schedule.
func (w *world) waiting(ids ...jobs.ID) (list []bool) {
	w.Helper()
	for _, id := range ids {
		list = append(list, w.overlaps(id))
	}
	return list
}

func (w *world) takeThis(id jobs.ID) store.Lease {
	w.Helper()
	leases := w.take(9)
	equal(w, "claimed", words(idsOf(leases), w.run(id).HeldBy), words([]jobs.ID{id}, (*jobs.HeldBy)(nil)))
	return leases[0]
}

// onTimeTick brings the world to the next full minute and decides about a:x.
func (w *world) onTimeTick() store.Decided {
	w.Helper()
	past := w.now.Sub(start) % time.Minute
	w.tick(time.Minute - past)
	return w.decided(w.onTime(w.schedule("a:x"), w.now))
}

var backlogClaims = []claim{
	{"BacklogIsWorkedOffInSteps", func(w *world) {
		backlog(w, "queue", 5, 0)
		s := w.schedule("a:x")
		equal(w, "backlog", words(s.Backlog.From, s.Backlog.To, s.Backlog.Count, s.Cursor), words(minute(1), minute(5), 5, w.now))
		equal(w, "ledger", w.ledger("a:x"), "")
		equal(w, "due", words(len(w.due(9).List), w.due(9).Next), words(0, minute(6)))
		d := w.catchUp(s, 2)
		ids := []jobs.ID{d.CaughtUp[0].Sub.Run.ID, d.CaughtUp[1].Sub.Run.ID}
		out := w.decided(d)
		equal(w, "made", words(out.Ran[0].Made.ID, out.Ran[1].Made.ID), words(ids[0], ids[1]))
		if again := w.decide(d)[0]; !again.Stale {
			w.Fatal("the same step again is not stale")
		}
		r := w.run(ids[1])
		equal(w, "run", words(r.Trigger, r.Schedule, r.ScheduledFor), words(jobs.TriggerCatchUp, "a:x", minute(2)))
		w.reopen()
		s = w.schedule("a:x")
		equal(w, "what is left", words(s.Backlog.From, s.Backlog.To, s.Backlog.Count), words(minute(3), minute(5), 3))
		w.caughtUp(3)
		s = w.schedule("a:x")
		equal(w, "after all", s.Backlog, jobs.TickRange{})
		equal(w, "ledger", w.ledger("a:x"), "1 caught_up, 2 caught_up, 3 caught_up, 4 caught_up, 5 caught_up")
		equal(w, "last", s.Last.From, minute(5))
	}},
	{"RunsGoOneAfterAnotherOldestFirst", func(w *world) {
		for _, mode := range []string{"queue", "skip", "replace", "allow"} {
			ids := backlog(w, mode, 5, 3)
			ids = append(ids, w.caughtUp(2)...)
			for i, id := range ids {
				if i < len(ids)-1 {
					equal(w, mode+": the next one's", w.run(ids[i+1]).HeldBy.Kind, jobs.HeldOverlap)
				}
				l := w.takeThis(id)
				switch i {
				case 0:
					w.succeed(l)
				case 1:
					w.apply(w.retrying(l, time.Second))
					equal(w, mode+": claimed while it is to be retried", len(w.take(9)), 0)
					w.tick(time.Second)
					w.fail(w.takeThis(id))
				case 2:
					w.cancel(id)
					w.apply(w.cancelled(l))
				case 3:
					w.apply(w.held(l, "TOKEN"))
					equal(w, mode+": claimed while it waits for a secret", len(w.take(9)), 0)
					w.cancel(id)
				case 4:
					w.succeed(l)
				}
			}
			w.deleteJob("a")
		}
	}},
	{"CancelledOneIsPassedOver", func(w *world) {
		ids := backlog(w, "queue", 4, 4)
		l := w.takeThis(ids[0])
		w.cancel(ids[1])
		equal(w, "waiting", w.waiting(ids[2:]...), []bool{true, true})
		w.succeed(l)
		w.cancel(ids[2]) // which was let go
		w.takeThis(ids[3])
	}},
	{"CatchUpGoesOnAfterAStart", func(w *world) {
		ids := backlog(w, "queue", 3, 3)
		w.takeThis(ids[0])
		w.reopen()
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		w.apply(w.interrupted(orphans[0]))
		w.succeed(w.takeThis(ids[0]))
		w.takeThis(ids[1])
	}},
	{"RegularRunGoesBeforeWhatIsCaughtUp", func(w *world) {
		for _, mode := range []string{"queue", "skip", "replace"} {
			ids := backlog(w, mode, 3, 3)
			l := w.takeThis(ids[0])
			out := w.onTimeTick()
			regular := w.ran(out)
			equal(w, mode+": answer", words(out.Ran[0].Outcome, len(out.Cancelled), len(out.Stop)), words(jobs.TickRan, 0, 0))
			equal(w, mode+": waiting", w.waiting(regular, ids[1], ids[2]), []bool{true, true, true})
			equal(w, mode+": asked to end", w.run(ids[0]).CancelRequestedAt, jobs.Time(0))
			w.succeed(l)
			equal(w, mode+": waiting after the first", w.waiting(regular, ids[1], ids[2]), []bool{false, true, true})
			w.succeed(w.takeThis(regular))
			w.succeed(w.takeThis(ids[1]))
			w.takeThis(ids[2])
			w.succeed(store.Lease{Run: w.run(ids[2]), Started: w.now})
			w.deleteJob("a")
		}
	}},
	{"NextTickFindsARegularOneThatWaitsForWhatIsCaughtUp", func(w *world) {
		for mode, want := range map[string]string{
			"queue": jobs.TickRan, "replace": jobs.TickRan, "skip": jobs.TickSkipped,
		} {
			ids := backlog(w, mode, 2, 2)
			l := w.takeThis(ids[0])
			regular := w.ran(w.onTimeTick())
			out := w.onTimeTick()
			equal(w, mode+": outcome", out.Ran[0].Outcome, want)
			equal(w, mode+": stop", len(out.Stop), 0)
			if want == jobs.TickRan {
				equal(w, mode+": cancelled", out.Cancelled, []jobs.ID{regular})
				regular = w.ran(out)
			}
			equal(w, mode+": waiting", w.waiting(regular, ids[1]), []bool{true, true})
			w.succeed(l)
			w.succeed(w.takeThis(regular))
			w.succeed(w.takeThis(ids[1]))
			w.deleteJob("a")
		}
	}},
	{"CaughtUpRunWaitsForARegularOne", func(w *world) {
		for _, mode := range []string{"queue", "skip", "replace"} {
			backlog(w, mode, 2, 0)
			regular := w.ran(w.onTimeTick())
			l := w.takeThis(regular)
			ids := w.caughtUp(2)
			equal(w, mode+": waiting", w.waiting(ids...), []bool{true, true})
			equal(w, mode+": claimed", len(w.take(9)), 0)
			out := w.onTimeTick()
			equal(w, mode+": outcome", out.Ran[0].Outcome, map[bool]string{true: jobs.TickSkipped, false: jobs.TickRan}[mode == "skip"])
			if mode == "replace" {
				equal(w, "stop", out.Stop, []jobs.ID{regular})
				w.apply(w.cancelled(l))
			} else {
				w.succeed(l)
			}
			if mode != "skip" {
				w.succeed(w.takeThis(w.ran(out)))
			}
			w.succeed(w.takeThis(ids[0]))
			w.succeed(w.takeThis(ids[1]))
			w.deleteJob("a")
		}
	}},
	{"AllowedRegularRunsGoBesideWhatIsCaughtUp", func(w *world) {
		ids := backlog(w, "allow", 3, 3)
		l := w.takeThis(ids[0])
		first := w.ran(w.onTimeTick())
		equal(w, "waiting", w.waiting(first, ids[1]), []bool{false, true})
		w.takeThis(first)
		w.succeed(l)
		l = w.takeThis(ids[1])
		second := w.ran(w.onTimeTick())
		w.takeThis(second)
		w.succeed(l)
		w.takeThis(ids[2])
	}},
	{"RequeueOfACaughtUpRunIsNotHeld", func(w *world) {
		ids := backlog(w, "queue", 3, 3)
		w.fail(w.takeThis(ids[0]))
		again := w.requeue(ids[0]).ID
		equal(w, "waiting", w.waiting(again, ids[1], ids[2]), []bool{false, false, true})
		leases := w.take(9)
		equal(w, "claimed", len(leases), 2)
		// Both must be over before the next one goes.
		w.succeed(leases[0])
		equal(w, "waits", w.overlaps(ids[2]), true)
		w.succeed(leases[1])
		w.takeThis(ids[2])
	}},
	{"DeletionOfTheJobEndsTheCatchUp", func(w *world) {
		ids := backlog(w, "queue", 5, 3)
		w.takeThis(ids[0])
		n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "cancelled", n, 2)
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all"}`)))
		equal(w, "backlog", w.schedule("a:x").Backlog.Count, 0)
		equal(w, "ledger", w.ledger("a:x"), "1 caught_up, 2 caught_up, 3 caught_up")
	}},
	{"RunThatFailsAtOnceLetsTheNextGo", func(w *world) {
		backlog(w, "queue", 3, 0)
		d := w.catchUp(w.schedule("a:x"), 3)
		bornFailed(&d.CaughtUp[0].Sub)
		out := w.decided(d)
		equal(w, "first", words(out.Ran[0].Outcome, out.Ran[0].Made.State), words(jobs.TickCaughtUp, jobs.Failed))
		w.takeThis(out.Ran[1].Made.ID)
	}},
	{"ManyAreCaughtUpInOrder", func(w *world) {
		ids := backlog(w, "queue", 100, 0)
		for w.schedule("a:x").Backlog.Count > 0 {
			ids = append(ids, w.caughtUp(20)...)
		}
		for _, id := range ids {
			l := w.takeOne()
			equal(w, "claimed", l.Run.ID, id)
			w.succeed(l)
		}
		equal(w, "number", len(ids), 100)
	}},
}
