package storetest

import (
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var decideClaims = []claim{
	{"TickMakesItsRun", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.tick(time.Minute + time.Second)
		before := w.schedule("a:x")
		drainReady(w)
		d := w.plan(before)
		d.OnTime.Sub.Run.Payload = jobs.Raw(`{"n":  1}`)
		out := w.decided(d)
		equal(w, "is woken", <-w.Ready(), struct{}{})
		made := out.Ran[0].Made
		equal(w, "answer", words(len(out.Ran), out.Ran[0].Outcome, out.Ran[0].Reason, made.ID, made.Job, made.Version, made.State,
			len(out.Cancelled), len(out.Stop)),
			words(1, jobs.TickRan, "", d.OnTime.Sub.Run.ID, "a", 1, jobs.Queued, 0, 0))
		r := w.run(made.ID)
		equal(w, "run", words(r.Schedule, r.ScheduledFor, r.Trigger, r.CreatedAt, string(r.Payload), r.HeldBy.Kind),
			words("a:x", minute(1), jobs.TriggerSchedule, w.now, `{"n":  1}`, jobs.HeldWorkers))
		s := w.schedule("a:x")
		tick := jobs.Tick{From: minute(1), To: minute(1), Count: 1, Outcome: jobs.TickRan, Run: made.ID}
		equal(w, "ledger", diff(w.ticks("a:x"), []jobs.Tick{tick}), "")
		equal(w, "schedule", words(s.Cursor, *s.Last, s.Anchor, s.UpdatedAt), words(w.now, tick, start, start))
		equal(w, "due", w.due(9).Next, minute(2))
		if s.Stamp <= before.Stamp {
			w.Fatalf("stamp is %d after %d", s.Stamp, before.Stamp)
		}
		l := w.takeOne()
		equal(w, "given out", words(l.Run.ID, l.Run.Schedule, l.Run.ScheduledFor), words(made.ID, "a:x", minute(1)))
		w.succeed(l)
		w.check(w.Remove(w.ctx, made.ID, w.by()))
		equal(w, "ledger outlives its runs", w.ledger("a:x"), "1 ran")
	}},
	{"StaleDecisionChangesNothing", decideStale},
	{"TickMakesNoSecondRun", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"allow","catch_up":{"mode":"all"}`)))
		w.tick(2 * time.Minute)
		w.work("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1 caught_up, 2 ran")
		before := w.ticks("a:x")
		for range 2 {
			s := w.schedule("a:x")
			d := w.onTime(s, minute(2))
			d.CaughtUp = []store.TickRun{
				w.tickRun(s, minute(1), jobs.TriggerCatchUp), w.tickRun(s, minute(2), jobs.TriggerCatchUp),
			}
			out := w.decided(d)
			for _, made := range out.Ran {
				equal(w, "outcome", words(made.Outcome, made.Made.ID.IsNil()), words("", true))
			}
			equal(w, "answers", len(out.Ran), 3)
		}
		// Nor as one that is skipped.
		d := w.plan(w.schedule("a:x"))
		d.Skipped = []jobs.TickRange{{From: minute(1), To: minute(2), Count: 2, Reason: jobs.SkipMissed}}
		w.decided(d)
		equal(w, "ledger", diff(w.ticks("a:x"), before), "")
		equal(w, "runs", len(allRuns(w, store.RunFilter{}, 9)), 2)
	}},
	{"TickThatWasSkippedIsDecided", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"}`)))
		w.tick(4*time.Minute + 30*time.Second)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed")
		for _, at := range []int{1, 3, 4} {
			out := w.decided(w.onTime(w.schedule("a:x"), minute(at)))
			equal(w, "outcome", words(out.Ran[0].Outcome, out.Ran[0].Made.ID.IsNil()), words("", true))
		}
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed")
	}},
	{"ManyAtOnceMakeOneRun", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.tick(time.Minute)
		s := w.schedule("a:x")
		var list []store.Decision
		for range 20 {
			list = append(list, w.plan(s))
		}
		fresh := make([]int, len(list))
		var wait sync.WaitGroup
		for i := range list {
			wait.Go(func() {
				out, err := w.Decide(w.ctx, w.now, list[i:i+1])
				if err != nil {
					w.Error(err)
				} else if !out[0].Stale {
					fresh[i] = 1
				}
			})
		}
		wait.Wait()
		sum := 0
		for _, n := range fresh {
			sum += n
		}
		equal(w, "decisions that counted", sum, 1)
		equal(w, "runs", len(allRuns(w, store.RunFilter{}, 99)), 1)
		// Nor in one call.
		w.tick(time.Minute)
		s = w.schedule("a:x")
		out := w.decide(w.plan(s), w.plan(s))
		equal(w, "stale", words(out[0].Stale, out[1].Stale), "false true")
	}},
	{"ManySchedulesAreDecidedAtOnce", func(w *world) {
		var list []string
		for _, name := range []string{"p", "q", "r"} {
			w.put(planned(name, minutely("x", ""), minutely("y", "")))
			list = append(list, name+":x", name+":y")
		}
		w.tick(time.Minute)
		var ds []store.Decision
		for _, name := range list {
			ds = append(ds, w.plan(w.schedule(name)))
		}
		w.deleteJob("q")
		for i, out := range w.decide(ds...) {
			gone := w.nameOf(ds[i]) == "q"
			equal(w, list[i], words(out.Stale, len(out.Ran)), words(gone, map[bool]int{true: 0, false: 1}[gone]))
		}
		equal(w, "claimed", len(w.take(9)), 4)
		equal(w, "of none", len(w.decide()), 0)
	}},
	{"UniqueConflictSkipsTheTick", decideUnique},
	{"RunThatFailsAtOnceIsARun", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		out := w.next("a:x", bornFailed)
		equal(w, "answer", words(out.Ran[0].Outcome, out.Ran[0].Made.State), words(jobs.TickRan, jobs.Failed))
		r := w.run(w.ran(out))
		equal(w, "run", words(r.State, r.Error.Kind, r.Schedule, r.ScheduledFor, r.FinishedAt),
			words(jobs.Failed, jobs.FailInvalid, "a:x", minute(1), w.now))
		id := w.nextRun("a:x") // which is in nobody's way
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{id})
		equal(w, "ledger", w.ledger("a:x"), "1 ran, 2 ran")
	}},
	{"RunStartsLaterThanItsTick", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		id := w.nextRun("a:x", dueIn(30*time.Second))
		r := w.run(id)
		equal(w, "run", words(r.State, r.ScheduledFor, r.RunAt), words(jobs.Scheduled, minute(1), w.now.Add(30*time.Second)))
		equal(w, "claimed", len(w.take(9)), 0)
		w.tick(30 * time.Second)
		equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{id})
	}},
	{"RequeueKeepsTheTick", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		id := w.nextRun("a:x")
		w.fail(w.takeOne())
		again := w.requeue(id).ID
		r := w.run(again)
		equal(w, "requeue", words(r.Schedule, r.ScheduledFor, r.Trigger), words("a:x", minute(1), jobs.TriggerRequeue))
		equal(w, "listed", runIDs(allRuns(w, store.RunFilter{Schedule: "a:x"}, 9)), []jobs.ID{again, id})
		equal(w, "ledger", w.ticks("a:x")[0].Run, id)
	}},
}

func (w *world) nameOf(d store.Decision) string { return d.Schedule.Job }

func decideStale(w *world) {
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"decided", func() { w.fire("a:x") }},
		{"edited", func() {
			w.settle(func() error {
				return w.saveAll(store.Changes{Jobs: []store.PutJob{{Job: planned("a", minutely("x", `,"overlap":"allow","payload":1`))}}})
			})
		}},
		{"paused", func() { w.pauseSchedule("a:x", true, "") }},
		{"resumed", func() { w.pauseSchedule("a:x", false, "") }},
		{"deleted with its job", func() { w.deleteJob("a") }},
		{"made again", func() { w.put(planned("a", minutely("x", `,"overlap":"allow"`))) }},
		{"taken out", func() { w.put(planned("a")) }},
	} {
		if change.name == "decided" || change.name == "deleted with its job" {
			w.put(planned("a", minutely("x", `,"overlap":"allow"`)))
			w.tick(time.Minute)
		}
		s, err := w.Schedule(w.ctx, "a:x")
		if err != nil { // "made again": of what was deleted
			continue
		}
		d := w.plan(s)
		d.Skipped = append(d.Skipped, jobs.TickRange{
			From: start - 1000, To: start - 1000, Count: 1, Reason: jobs.SkipMissed,
		})
		d.Missed = &jobs.ScheduleMissed{Schedule: "a:x", Job: "a", Count: 1}
		change.do()
		runs, events := len(allRuns(w, store.RunFilter{}, 99)), len(w.events(0, 99))
		after, _ := w.Schedule(w.ctx, "a:x")
		ledger := ""
		if after != nil {
			ledger = w.ledger("a:x")
		}
		out := w.decide(d)[0]
		equal(w, "answer when "+change.name, words(out.Stale, len(out.Ran), len(out.Cancelled), len(out.Stop)),
			words(true, 0, 0, 0))
		equal(w, "runs, events when "+change.name,
			words(len(allRuns(w, store.RunFilter{}, 99)), len(w.events(0, 99))), words(runs, events))
		now, _ := w.Schedule(w.ctx, "a:x")
		equal(w, "schedule when "+change.name, diff(now, after), "")
		if now != nil {
			equal(w, "ledger when "+change.name, w.ledger("a:x"), ledger)
		}
	}
}

func decideUnique(w *world) {
	w.put(planned("a", minutely("x", `,"overlap":"allow"`)))
	for _, conflict := range []string{jobs.ConflictExisting, jobs.ConflictReject, jobs.ConflictReplace} {
		active := unique(conflict, jobs.WhileActive, conflict)
		if conflict == jobs.ConflictReplace {
			active = unique(conflict, jobs.WhileQueued, conflict)
		}
		stands := w.free(active)
		out := w.next("a:x", active, func(s *store.Submission) { s.Run.Payload = jobs.Raw("7") })
		equal(w, "answer", words(out.Ran[0].Outcome, out.Ran[0].Reason), words(jobs.TickSkipped, jobs.SkipUnique))
		r := w.run(stands)
		equal(w, "run that stands", words(string(r.Payload), r.State), words("{}", jobs.Queued))
		w.drain()
	}
	equal(w, "runs of ticks", len(allRuns(w, store.RunFilter{Schedule: "a:x"}, 9)), 0)
	equal(w, "ledger", w.ledger("a:x"), "1-3 skipped 3 unique")
	id := w.nextRun("a:x", existing(jobs.WhileActive))
	w.folded(id, 0, existing(jobs.WhileActive))
	// Also one that is caught up.
	w.put(planned("a", minutely("y", `,"catch_up":{"mode":"all"},"overlap":"allow"`)))
	w.tick(150 * time.Second)
	w.fire("a:y")
	d := w.catchUp(w.schedule("a:y"), 1, existing(jobs.WhileActive))
	out := w.decided(d)
	equal(w, "answer", words(out.Ran[0].Outcome, out.Ran[0].Reason), words(jobs.TickSkipped, jobs.SkipUnique))
	equal(w, "backlog", w.schedule("a:y").Backlog.Count, 1)
}
