package storetest

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var schedulePauseClaims = []claim{
	{"PausedItIsNotDueAndResumedItFiresNothingPast", schedulePaused},
	{"PauseIsIdempotentAndNoted", func(w *world) {
		w.put(planned("a", minutely("x", ""), minutely("y", "")))
		w.tick(time.Second)
		at := w.now
		s := w.pauseSchedule("a:x", true, "their move")
		equal(w, "paused", words(s.PausedAt, s.PauseNote), words(at, "their move"))
		equal(w, "as it stands", diff(w.schedule("a:x"), s), "")
		w.tick(time.Second)
		w.pauseSchedule("a:x", true, "their move")
		equal(w, "paused at", w.schedule("a:x").PausedAt, at)
		equal(w, "audit", actions(audit(w)), "pause a:x their move, put a ")
		equal(w, "kind", audit(w)[0].Kind, "schedule")
		s = w.pauseSchedule("a:x", false, "done")
		equal(w, "paused", words(s.PausedAt, s.PauseNote), words(jobs.Time(0), ""))
		w.pauseSchedule("a:x", false, "done")
		equal(w, "audit", actions(audit(w)[:2]), "resume a:x done, pause a:x their move")
		equal(w, "the other", w.schedule("a:y").PausedAt, jobs.Time(0))
		_, err := w.PauseSchedule(w.ctx, "a:nobody", true, "", w.by())
		w.wantErr(err, store.ErrNotFound)
	}},
	{"PauseIsStateNotDocument", func(w *world) {
		w.jobs("b")
		w.put(planned("a", minutely("x", "")))
		w.applyPolicies("", own("alone", "b", ""))
		for _, name := range []string{"a:x", "alone"} {
			w.pauseSchedule(name, true, "why")
		}
		w.settle(func() error {
			return w.saveAll(store.Changes{
				Jobs:      []store.PutJob{{Job: planned("a", minutely("x", `,"overlap":"skip"`))}},
				Documents: []store.PutDocument{own("alone", "b", `,"overlap":"skip"`)},
			})
		})
		for _, name := range []string{"a:x", "alone"} {
			s := w.schedule(name)
			equal(w, name, words(s.PausedAt, s.PauseNote, s.Overlap), words(start, "why", "skip"))
		}
		equal(w, "due", w.due(9), store.DueSchedules{})
		w.reopen()
		w.tick(time.Hour)
		equal(w, "due", w.due(9), store.DueSchedules{})
	}},
	{"DecisionMakesNoPausedOneDue", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.pauseSchedule("a:x", true, "")
		w.tick(150 * time.Second)
		d := w.plan(w.schedule("a:x"))
		d.Next = minute(3)
		w.decided(d)
		equal(w, "ledger", w.ledger("a:x"), "1-2 skipped 2 paused")
		equal(w, "due", w.due(9), store.DueSchedules{})
	}},
	{"PausedJobPausesNoSchedule", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.pause("a", true, "")
		id := w.nextRun("a:x")
		equal(w, "run", words(w.state(id), w.run(id).HeldBy.Kind), words(jobs.Queued, jobs.HeldPaused))
	}},
	{"UndecidedTicksKeepASaveOut", scheduleUndecided},
	{"BacklogKeepsASaveOut", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all"}`)))
		w.tick(150 * time.Second)
		w.fire("a:x")
		other := planned("a", minutely("x", ""))
		_, err := w.save(store.PutJob{Job: other})
		w.wantUndecided(err, "a:x")
		_, err = w.save(store.PutJob{Job: planned("a")})
		w.wantUndecided(err, "a:x")
		_, err = w.PauseSchedule(w.ctx, "a:x", true, "", w.by())
		w.wantUndecided(err, "a:x")
		w.decided(w.catchUp(w.schedule("a:x"), 1))
		_, err = w.save(store.PutJob{Job: other})
		w.wantUndecided(err, "a:x")
		w.decided(w.catchUp(w.schedule("a:x"), 1))
		w.put(other)
		equal(w, "ledger", w.ledger("a:x"), "1 caught_up, 2 caught_up")
	}},
	{"UndecidedTicksOfOthersDoNotMatter", func(w *world) {
		w.put(planned("a", minutely("x", ""), `{"name":"y","every":"1h"}`))
		w.jobs("b")
		w.applyPolicies("", own("alone", "a", ""))
		w.tick(time.Minute)
		w.put(planned("a", minutely("x", ""), `{"name":"y","every":"2h"}`))
		w.put(planned("b", minutely("x", "")))
		_, err := w.PauseSchedule(w.ctx, "a:y", true, "", w.by())
		w.check(err)
		w.applyPolicies("", own("new", "a", ""))
		equal(w, "cursor", words(w.schedule("a:x").Cursor, w.schedule("alone").Cursor), words(start, start))
		w.fire("a:x")
		w.fire("alone")
		equal(w, "ledgers", w.ledger("a:x")+"; "+w.ledger("alone"), "1 ran; 1 ran")
	}},
	{"TickOfTheInstantOfASaveIsByTheOldText", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.tick(time.Minute - 1)
		w.put(planned("a", minutely("x", `,"overlap":"skip"`)))
		w.tick(time.Millisecond)
		_, err := w.save(store.PutJob{Job: planned("a", minutely("x", ""))})
		w.wantUndecided(err, "a:x")
		// By an earlier clock nothing has come yet.
		by := w.by()
		by.Now--
		_, err = w.Save(w.ctx, store.Changes{Jobs: []store.PutJob{{Job: planned("a", minutely("x", `,"overlap":"allow"`))}}}, by)
		w.check(err)
		equal(w, "cursor", w.schedule("a:x").Cursor, minute(1)-1)
		equal(w, "due", scheduleNames(w.due(9).List), []string{"a:x"})
	}},
	{"CursorDoesNotGoBackWithTheClock", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.tick(time.Hour)
		w.work("a:x")
		cursor := w.schedule("a:x").Cursor
		w.tick(-30 * time.Minute)
		w.put(planned("a", minutely("x", `,"overlap":"skip"`)))
		equal(w, "cursor", w.schedule("a:x").Cursor, cursor)
		equal(w, "due", w.due(9).Next, minute(61))
	}},
}

func schedulePaused(w *world) {
	w.put(planned("a", minutely("x", "")))
	w.nextRun("a:x")
	w.drain()
	stale := w.schedule("a:x")
	w.pauseSchedule("a:x", true, "why")
	if out := w.decide(w.onTime(stale, minute(2)))[0]; !out.Stale {
		w.Fatal("a decision by what was not paused is not stale")
	}
	w.tick(4*time.Minute + 30*time.Second)
	equal(w, "due", w.due(9), store.DueSchedules{})
	w.reopen()
	s := w.pauseSchedule("a:x", false, "")
	equal(w, "cursor", s.Cursor, w.now)
	equal(w, "ledger", w.ledger("a:x"), "1 ran, 2-5 skipped 4 paused")
	equal(w, "due", words(len(w.due(9).List), w.due(9).Next), words(0, minute(6)))
	w.tick(30 * time.Second)
	w.ran(w.fire("a:x"))
	equal(w, "ledger", w.ledger("a:x"), "1 ran, 2-5 skipped 4 paused, 6 ran")
	equal(w, "events", len(w.events(0, 9)), 0)
}

// scheduleUndecided tries each change of a schedule while a tick of it is undecided.
func scheduleUndecided(w *world) {
	w.put(planned("a", minutely("x", ""), minutely("y", "")))
	w.jobs("b")
	w.applyPolicies("team", own("one", "b", ""), own("two", "b", ""))
	w.tick(time.Minute)
	all := []string{"a:x", "a:y", "one", "two"}
	before := map[string]*store.Schedule{}
	for _, name := range all {
		before[name] = w.schedule(name)
	}
	entries := len(audit(w))
	edited := planned("a", minutely("x", `,"overlap":"skip"`), minutely("y", ""), minutely("z", ""))
	save := func(c store.Changes) func() error {
		return func() error { return w.saveAll(c) }
	}
	docs := func(list ...store.PutDocument) store.Changes { return store.Changes{Documents: list} }
	changed := []store.PutDocument{own("one", "b", `,"overlap":"skip"`), own("two", "a", "")}
	for _, c := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"edit in a job", save(store.Changes{Jobs: []store.PutJob{{Job: edited}}}), []string{"a:x"}},
		{"taken out", save(store.Changes{Jobs: []store.PutJob{{Job: planned("a")}}}), []string{"a:x", "a:y"}},
		{"edit of documents", save(docs(changed...)), []string{"one", "two"}},
		{"both", save(store.Changes{Jobs: []store.PutJob{{Job: edited}}, Documents: changed}), []string{"a:x", "one", "two"}},
		{"pruned", save(store.Changes{Set: "team", Prune: true, Documents: []store.PutDocument{own("one", "b", "")}}), []string{"two"}},
		{"deleted", func() error { return w.DeleteDocument(w.ctx, store.KindSchedule, "one", nil, w.by()) }, []string{"one"}},
		{"paused", func() error {
			_, err := w.PauseSchedule(w.ctx, "a:y", true, "", w.by())
			return err
		}, []string{"a:y"}},
	} {
		err := c.do()
		undecided := (*store.UndecidedError)(nil)
		if !errors.As(err, &undecided) {
			w.Fatalf("%s: error is %v", c.name, err)
		}
		w.wantUndecided(err, c.want...)
		for _, name := range all {
			equal(w, name+" after "+c.name, diff(w.schedule(name), before[name]), "")
		}
		w.noSchedule("a:z")
		equal(w, "audit after "+c.name, len(audit(w)), entries)
	}
	out, err := w.Save(w.ctx, store.Changes{
		DryRun: true, Jobs: []store.PutJob{{Job: edited}}, Documents: changed,
	}, w.by())
	w.check(err)
	equal(w, "would", savedText(out), "changed one of team, changed two of team, changed a of ")
	equal(w, "after a dry run", diff(w.schedule("a:x"), before["a:x"]), "")
	// Other faults are told, decided or not.
	w.wantErr(w.saveAll(store.Changes{Jobs: []store.PutJob{{Job: edited, Create: true}}}), store.ErrExists)
	// What is decided is changed.
	for _, name := range all {
		w.fire(name)
	}
	w.check(w.saveAll(store.Changes{Jobs: []store.PutJob{{Job: edited}}, Documents: changed}))
	equal(w, "ledgers", words(w.ledger("a:x"), w.ledger("one"), w.schedule("a:x").Overlap), "1 ran 1 ran skip")
}
