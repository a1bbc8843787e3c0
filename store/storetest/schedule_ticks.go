package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var tickClaims = []claim{
	{"NeighboursSkippedForOneReasonAreOneRow", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"}`)))
		w.tick(150 * time.Second)
		w.fire("a:x")
		w.tick(2 * time.Minute)
		w.reopen()
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed")
		equal(w, "last", *w.schedule("a:x").Last, w.ticks("a:x")[0])
		w.tick(30 * time.Second)
		w.fire("a:x")
		w.tick(90 * time.Second)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed, 5 ran, 6 skipped missed")
		// Another reason.
		w.pauseSchedule("a:x", true, "")
		w.tick(2 * time.Minute)
		w.pauseSchedule("a:x", false, "")
		w.tick(time.Minute)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"),
			"1-4 skipped 4 missed, 5 ran, 6 skipped missed, 7-8 skipped 2 paused, 9 skipped missed")
	}},
	{"WhatIsNoNeighbourIsARowOfItsOwn", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"none"}`)))
		w.tick(150 * time.Second)
		w.fire("a:x")
		w.put(planned("a", `{"name":"x","every":"7m","catch_up":{"mode":"none"}}`))
		w.tick(5 * time.Minute)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-2 skipped 2 missed, 7 skipped missed")
		w.tick(7 * time.Minute)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-2 skipped 2 missed, 7-14 skipped 2 missed")
	}},
	{"RangesOfOneDecisionAreRows", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all","window":"6m","limit":3}`)))
		w.tick(10*time.Minute + 30*time.Second)
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1-4 skipped 4 missed, 5-7 skipped 3 limit")
		w.work("a:x")
		equal(w, "ledger", w.ledger("a:x"),
			"1-4 skipped 4 missed, 5-7 skipped 3 limit, 8 caught_up, 9 caught_up, 10 caught_up")
	}},
	{"SkippedForOverlapNeighboursAreOneRow", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"skip"`)))
		w.nextRun("a:x")
		l := w.takeOne()
		for range 3 {
			w.next("a:x")
		}
		w.succeed(l)
		w.nextRun("a:x")
		w.next("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1 ran, 2-4 skipped 3 overlap, 5 ran, 6 skipped overlap")
	}},
	{"PagesAreNewestFirst", func(w *world) {
		w.put(planned("a", minutely("x", `,"overlap":"allow","catch_up":{"mode":"none"}`)))
		for range 3 {
			w.nextRun("a:x")
			w.tick(time.Minute + 30*time.Second)
			w.fire("a:x")
			w.tick(30 * time.Second)
		}
		w.fire("a:x")
		equal(w, "ledger", w.ledger("a:x"), "1 ran, 2-3 skipped 2 missed, 4 ran, 5-6 skipped 2 missed, 7 ran, 8 skipped missed, 9 ran")
		whole := w.ticks("a:x")
		for _, limit := range []int{1, 3, 50} {
			var all []jobs.Tick
			for page := (store.Page{Limit: limit}); ; {
				list, next, err := w.Ticks(w.ctx, "a:x", page)
				w.check(err)
				if len(list) > limit {
					w.Fatalf("a page of %d holds %d", limit, len(list))
				}
				if len(all) == 0 && limit == 1 { // rows that come do not move the others
					w.nextRun("a:x")
				}
				all = append(all, list...)
				if page.Cursor = next; next == "" {
					break
				}
			}
			equal(w, fmt.Sprintf("pages of %d", limit), diff(all[len(all)-len(whole):], whole), "")
		}
		for i := 1; i < len(whole); i++ {
			if whole[i].To >= whole[i-1].From {
				w.Fatalf("row %+v comes after %+v", whole[i], whole[i-1])
			}
		}
		_, _, err := w.Ticks(w.ctx, "a:x", store.Page{Limit: 1, Cursor: "x"})
		wantInvalid(w, err, "cursor")
	}},
	{"MissedTicksAreOneEvent", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all","window":"6m","limit":3}`)))
		w.tick(10*time.Minute + 30*time.Second)
		equal(w, "told", w.tells(func() { w.fire("a:x") }), true)
		equal(w, "events", diff(w.events(0, 9), []store.Event{{
			ID: 1, At: w.now, Type: jobs.EventScheduleMissed, Subject: "schedule/a:x", Job: "a",
			Data: jobs.Raw(`{"schedule":"a:x","job":"a","count":7,"first_at":"` + minute(1).String() +
				`","last_at":"` + minute(7).String() + `","caught_up":3}`),
		}}), "")
		w.work("a:x")
		equal(w, "events", len(w.events(0, 9)), 1)
		equal(w, "of the job", eventPages(w, store.EventFilter{Allowed: []string{"a"}}, 9), "1")
		equal(w, "of others", eventPages(w, store.EventFilter{Allowed: []string{"b"}}, 9), "")
	}},
	{"LinesAreKeptFor90DaysAndTheNewest", func(w *world) {
		none := `,"catch_up":{"mode":"none"},"overlap":"allow"`
		w.put(planned("a", `{"name":"x","every":"1d"`+none+`}`, `{"name":"y","every":"1d"`+none+`}`, minutely("z", "")))
		for range 3 {
			w.tick(day)
			w.fire("a:x")
			w.fire("a:y")
		}
		w.tick(87 * day)
		prune(w)
		equal(w, "lines on the 90th day", words(len(w.ticks("a:x")), len(w.ticks("a:y"))), "3 3")
		w.tick(2*day + time.Hour)
		w.fire("a:x")
		prune(w)
		x := w.ticks("a:x") // that of the third day, and those since, which were missed
		equal(w, "lines", words(len(x), x[len(x)-1].From, len(w.ticks("a:y"))), words(2, start.Add(3*day), 1))
		w.tick(1000 * day)
		prune(w)
		equal(w, "lines at last", words(len(w.ticks("a:x")), len(w.ticks("a:y")), len(w.ticks("a:z"))), "1 1 0")
		equal(w, "last", w.schedule("a:y").Last.From, start.Add(3*day))
	}},
	{"LedgerOfWhatIsGoneIsForgottenWithItsTicks", func(w *world) {
		w.put(planned("a", minutely("x", ""), minutely("y", "")))
		w.next("a:x")
		w.fire("a:y")
		w.put(planned("a", minutely("y", "")))
		w.jobs("b")
		w.applyPolicies("", own("never", "b", ""))
		w.check(w.DeleteDocument(w.ctx, store.KindSchedule, "never", nil, w.by()))
		w.tick(89 * day)
		prune(w)
		w.settle(func() error {
			return w.saveAll(store.Changes{Jobs: []store.PutJob{{Job: planned("a", minutely("x", ""), minutely("y", ""))}}})
		})
		equal(w, "ledger", w.ledger("a:x"), "1 ran")
		w.put(planned("a", minutely("y", "")))
		w.tick(2 * day)
		prune(w)
		w.settle(func() error {
			return w.saveAll(store.Changes{Jobs: []store.PutJob{{Job: planned("a", minutely("x", ""), minutely("y", ""))}}})
		})
		equal(w, "ledger after it", words(w.ledger("a:x"), w.schedule("a:x").Last == nil, w.schedule("a:x").Anchor),
			words("", true, w.now))
		w.applyPolicies("", own("never", "b", ""))
		w.schedule("never")
	}},
}
