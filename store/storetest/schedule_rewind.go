package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// What a clock that was set back does to schedules.
var rewindClaims = []claim{
	{"NothingAheadIsLeftAlone", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.nextRun("a:x")
		before := w.schedule("a:x")
		w.rewind(0)
		equal(w, "schedule", diff(w.schedule("a:x"), before), "")
	}},
	{"AllAreTakenBackHoweverMany", func(w *world) {
		w.jobs("a")
		var docs []store.PutDocument
		for i := range 1000 {
			docs = append(docs, own(fmt.Sprintf("s%d", i), "a", ""))
		}
		w.applyPolicies("", docs...)
		w.tick(-90 * time.Second)
		w.rewind(1000)
		w.rewind(0)
		equal(w, "cursor", w.schedule("s999").Cursor, w.now)
	}},
	{"MissedTicksAheadAreDecidedAnew", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"},"overlap":"allow"`), `{"name":"hour","every":"1h"}`))
		w.tick(10*time.Minute + 30*time.Second)
		w.fire("a:x")
		before := w.schedule("a:x")
		w.tick(-6 * time.Minute) // 4:30
		w.rewind(1)
		s := w.schedule("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed")
		equal(w, "cursor, due", words(s.Cursor, w.due(9).Next), words(w.now, minute(5)))
		equal(w, "last", *s.Last, w.ticks("a:x")[0])
		if out := w.decide(w.onTime(before, minute(11)))[0]; !out.Stale {
			w.Fatal("a decision of before the step is not stale")
		}
		w.rewind(0)
		w.tick(30 * time.Second)
		w.ran(w.fire("a:x"))
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed, 5 ran")
		w.tick(3*time.Minute + 30*time.Second)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed, 5 ran, 6-8 skipped 3 missed")
		w.tick(-3*time.Minute - 30*time.Second) // to the instant of a tick
		w.rewind(1)
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed, 5 ran")
	}},
	{"RangeIsCutAfterTheTickOfTheInstant", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"}`)))
		w.tick(9*time.Minute + 30*time.Second)
		w.fire("a:x")
		for _, at := range []struct {
			step time.Duration
			want string
		}{
			{-30 * time.Second, "1-9 skipped 9 missed"},
			{-1, "1-9 skipped 9 missed"}, // less than a millisecond
			{-time.Millisecond, "1-8 skipped 8 missed"},
			{-6*time.Minute - 59*time.Second - 999*time.Millisecond, "1-2 skipped 2 missed"},
			{-time.Second, "1 skipped missed"},
			{-time.Minute, ""},
		} {
			w.tick(at.step)
			_, err := w.Rewind(w.ctx, w.now)
			w.check(err)
			equal(w, "ledger at "+w.now.String(), w.ledger("a:x"), at.want)
		}
		equal(w, "last", w.schedule("a:x").Last, (*jobs.Tick)(nil))
	}},
	{"TicksThatRanStayAndMakeNoOtherRun", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"latest"},"overlap":"allow"`)))
		w.tick(10 * time.Minute)
		w.work("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-8 skipped 8 missed, 9 caught_up, 10 ran")
		w.tick(-6 * time.Minute) // 4:00
		w.rewind(1)
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed, 9 caught_up, 10 ran")
		for i := 5; i <= 11; i++ {
			out := w.next("a:x")
			want := jobs.TickRan
			if i == 9 || i == 10 {
				want = ""
			}
			equal(w, fmt.Sprint("outcome of tick ", i), out.Ran[0].Outcome, want)
		}
		equal(w, "ledger", w.ledger("a:x"),
			"1-4 skipped 4 missed, 5 ran, 6 ran, 7 ran, 8 ran, 9 caught_up, 10 ran, 11 ran")
	}},
	{"SkippedRangeGoesAroundWhatTheLedgerKnows", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"},"overlap":"allow"`)))
		w.tick(10 * time.Minute)
		w.fire("a:x")
		w.tick(-6 * time.Minute)
		w.rewind(1)
		w.tick(8*time.Minute + 30*time.Second) // 12:30
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-9 skipped 9 missed, 10 ran, 11-12 skipped 2 missed")
	}},
	{"SkippedRangesGoAroundAllThatTheLedgerKnows", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"},"overlap":"allow"`)))
		for _, at := range []int{10, 4, 5, 7} { // each decided by a clock of its own
			w.now = minute(at)
			w.decided(w.onTime(w.schedule("a:x"), w.now))
		}
		w.now = minute(1) - 1
		w.rewind(1)
		for _, c := range []struct {
			until int
			want  string
		}{
			{1, "1 skipped missed, 4 ran, 5 ran, 7 ran, 10 ran"},
			{5, "1-3 skipped 3 missed, 4 ran, 5 ran, 7 ran, 10 ran"},
			{9, "1-3 skipped 3 missed, 4 ran, 5 ran, 6 skipped missed, 7 ran, 8-9 skipped 2 missed, 10 ran"},
			{12, "1-3 skipped 3 missed, 4 ran, 5 ran, 6 skipped missed, 7 ran, 8-9 skipped 2 missed, 10 ran, 11-12 skipped 2 missed"},
		} {
			w.now = minute(c.until).Add(30 * time.Second)
			w.fire("a:x")
			equal(w, fmt.Sprint("ledger of ", c.until), w.ledger("a:x"), c.want)
		}
		// All at once.
		w.put(planned("b", minutely("x", `,"catch_up":{"mode":"none"},"overlap":"allow"`)))
		s := w.schedule("b:x")
		for _, n := range []int{2, 3, 6} {
			w.decided(w.onTime(w.schedule("b:x"), s.Anchor.Add(time.Duration(n)*time.Minute)))
		}
		w.tick(6*time.Minute + 30*time.Second)
		d := w.plan(s)
		d.Schedule = w.schedule("b:x")
		w.decided(d)
		var counts []int
		for _, t := range w.ticks("b:x") {
			counts = append(counts, t.Count)
		}
		equal(w, "counts", counts, []int{1, 2, 1, 1, 1})
	}},
	{"BacklogAheadIsDecidedAnew", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all"},"overlap":"allow"`), minutely("y", `,"catch_up":{"mode":"all"},"overlap":"allow"`)))
		w.tick(10*time.Minute + 30*time.Second)
		w.fire("a:x")
		w.caughtUp(2)
		w.fire("a:y")
		w.tick(-5 * time.Minute) // 5:30
		w.rewind(2)
		b := w.schedule("a:x").Backlog
		equal(w, "backlog", words(b.From, b.To, b.Count), words(minute(3), minute(5), 3))
		w.tick(-5 * time.Minute) // 0:30
		w.rewind(2)
		equal(w, "backlogs", words(w.schedule("a:x").Backlog, w.schedule("a:y").Backlog), words(jobs.TickRange{}, jobs.TickRange{}))
		list, err := w.Backlogs(w.ctx, 9)
		w.check(err)
		equal(w, "backlogs", len(list), 0)
		for i := 1; i <= 3; i++ {
			w.tick(minute(i).Sub(w.now))
			want := map[bool]string{true: "", false: jobs.TickRan}[i < 3]
			equal(w, fmt.Sprint("outcome of tick ", i), w.fire("a:x").Ran[0].Outcome, want)
		}
		equal(w, "ledger", w.ledger("a:x"), "1 caught_up, 2 caught_up, 3 ran")
	}},
	{"MadeAgainAfterTheClockWasSetBackMissedTicksComeAnew", func(w *world) {
		one := planned("a", minutely("x", `,"start":"`+start.String()+`","catch_up":{"mode":"none"},"overlap":"allow"`))
		w.put(one)
		w.tick(10 * time.Minute)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-9 skipped 9 missed, 10 ran")
		w.put(planned("a"))
		w.tick(-6*time.Minute - 30*time.Second) // 3:30
		w.rewind(0)
		w.put(one)
		w.tick(30 * time.Second)
		w.ran(w.fire("a:x"))
		equal(w, "ledger", w.ledger("a:x"), "1-3 skipped 3 missed, 4 ran, 10 ran")
	}},
	{"CutRangeCountsNoMoreThanItHeld", func(w *world) {
		w.put(planned("a", `{"name":"x","every":"10m","catch_up":{"mode":"none"}}`))
		w.tick(65 * time.Minute)
		w.fire("a:x")
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"}`)))
		w.tick(-30 * time.Minute)
		w.rewind(1)
		t := w.ticks("a:x")[0]
		equal(w, "range", words(t.From, t.To, t.Count <= 6), words(minute(10), minute(35), true))
	}},
	{"TicksOverTheLimitWereMissedToo", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all","limit":1},"overlap":"allow"`)))
		w.tick(5 * time.Minute)
		w.work("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-3 skipped 3 limit, 4 caught_up, 5 ran")
		w.tick(-3 * time.Minute)
		w.rewind(1)
		equal(w, "ledger", w.ledger("a:x"), "1-2 skipped 2 limit, 4 caught_up, 5 ran")
		w.ran(w.next("a:x"))
		equal(w, "ledger", w.ledger("a:x"), "1-2 skipped 2 limit, 3 ran, 4 caught_up, 5 ran")
	}},
	{"TicksSkippedForOtherReasonsStay", func(w *world) {
		w.put(planned("a", minutely("o", `,"overlap":"skip"`), minutely("p", `,"overlap":"allow"`)))
		w.pauseSchedule("a:p", true, "")
		w.nextRun("a:o")
		w.next("a:o")
		w.next("a:o")
		w.pauseSchedule("a:p", false, "")
		want := []string{"1 ran, 2-3 skipped 2 overlap", "1-3 skipped 3 paused"}
		names := []string{"a:o", "a:p"}
		w.drain()
		w.tick(-3 * time.Minute)
		w.rewind(2)
		for i, name := range names {
			equal(w, name, w.ledger(name), want[i])
			equal(w, "cursor of "+name, w.schedule(name).Cursor, w.now)
		}
		for range 3 {
			w.tick(time.Minute)
			for _, name := range names {
				equal(w, name, w.fire(name).Ran[0].Outcome, "")
			}
		}
		for i, name := range names {
			equal(w, name, w.ledger(name), want[i])
		}
	}},
	{"PausedOneStaysPaused", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.tick(10 * time.Minute)
		w.work("a:x")
		w.pauseSchedule("a:x", true, "")
		w.tick(-5 * time.Minute)
		_, err := w.Rewind(w.ctx, w.now)
		w.check(err)
		equal(w, "due", w.due(9), store.DueSchedules{})
		w.tick(time.Minute)
		equal(w, "due", w.due(9), store.DueSchedules{})
	}},
}

func (w *world) rewind(want int) {
	w.Helper()
	n, err := w.Rewind(w.ctx, w.now)
	w.check(err)
	equal(w, "schedules that were ahead", n, want)
}
