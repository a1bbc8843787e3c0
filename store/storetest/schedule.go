package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var scheduleClaims = []claim{
	{"SavedWithItsJobItStands", func(w *world) {
		w.applySet("team", planned("a", minutely("night", `,"payload":{"n": 1}`), `{"cron":"0 2 * * *"}`))
		s := w.schedule("a:night")
		equal(w, "schedule", words(s.Name, s.Job, s.Every, string(s.Payload), s.InJob, s.Set, s.Revision),
			words("a:night", "a", new(jobs.Duration(time.Minute)), `{"n": 1}`, true, "team", 1))
		equal(w, "times", words(s.CreatedAt, s.UpdatedAt, s.Anchor, s.Cursor), words(start, start, start, start))
		equal(w, "state", words(s.PausedAt, s.PauseNote, s.JobPaused, s.Backlog.Count, s.Last == nil),
			words(jobs.Time(0), "", false, 0, true))
		equal(w, "cron", words(w.schedule("a:default").Cron, w.schedule("a:default").Every == nil), "0 2 * * * true")
		equal(w, "due", words(w.due(9).List, w.due(9).Next), words([]*store.Schedule(nil), minute(1)))
		equal(w, "ticks", len(w.ticks("a:night")), 0)
		w.pause("a", true, "")
		equal(w, "its job is paused", w.schedule("a:night").JobPaused, true)
	}},
	{"EditedItKeepsItsAnchorAndFiresNothingPast", scheduleEdited},
	{"SameDocumentChangesNothing", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		before := w.schedule("a:x")
		w.tick(time.Second)
		w.put(planned("a", minutely("x", "")))
		equal(w, "after the same", diff(w.schedule("a:x"), before), "")
		j := planned("a", minutely("x", ""))
		j.Priority = 5
		w.put(j)
		after := w.schedule("a:x")
		equal(w, "revision", after.Revision, 2)
		after.Revision = before.Revision
		equal(w, "after another change of its job", diff(after, before), "")
	}},
	{"NoVersionComesOfASchedule", func(w *world) {
		w.put(planned("a"))
		equal(w, "version", w.put(planned("a", minutely("x", ""))).Job.Version, 1)
	}},
	{"TakenOutItIsGone", func(w *world) {
		w.put(planned("a", minutely("x", ""), minutely("y", "")))
		y := w.schedule("a:y")
		w.tick(time.Second)
		w.put(planned("a", minutely("y", "")))
		w.noSchedule("a:x")
		_, _, err := w.Ticks(w.ctx, "a:nobody", store.Page{Limit: 1})
		w.wantErr(err, store.ErrNotFound)
		_, err = w.PauseSchedule(w.ctx, "a:x", true, "", w.by())
		w.wantErr(err, store.ErrNotFound)
		equal(w, "the other's stamp", w.schedule("a:y").Stamp, y.Stamp)
		w.tick(time.Minute)
		equal(w, "due", scheduleNames(w.due(9).List), []string{"a:y"})
	}},
	{"MadeAgainItGoesOnWithItsLedger", scheduleAgain},
	{"DeletedWithItsJobItIsGone", func(w *world) {
		w.put(planned("a", minutely("x", "")))
		w.put(planned("b", minutely("x", "")))
		w.applyPolicies("", own("alone", "a", ""), own("other", "b", ""))
		w.nextRun("alone")
		w.fire("a:x")
		w.tick(time.Hour) // undecided ticks do not keep it
		w.deleteJob("a")
		w.noSchedule("a:x")
		w.noSchedule("alone")
		_, err := w.Document(w.ctx, store.KindSchedule, "alone")
		w.wantErr(err, store.ErrNotFound)
		equal(w, "due", len(w.due(9).List), 2)
		equal(w, "what stands", words(w.schedule("b:x").Job, w.schedule("other").Job), "b b")
		told := map[string]string{}
		for _, e := range audit(w) {
			if e.Action == "delete" {
				told[e.Name] = e.Kind
			}
		}
		equal(w, "told of", words(told["a"], told["alone"]), "job schedule")
		w.reopen()
		w.noSchedule("a:x")
		w.put(planned("a", minutely("x", "")))
		equal(w, "ledger", w.ledger("a:x"), "1 ran")
		equal(w, "cursor, anchor", words(w.schedule("a:x").Cursor, w.schedule("a:x").Anchor), words(w.now, w.now))
		w.noSchedule("alone")
	}},
	{"PrunedWithItsJobItIsGone", func(w *world) {
		c := store.Changes{
			Set: "team", Jobs: []store.PutJob{{Job: planned("a", minutely("x", ""))}},
			Documents: []store.PutDocument{own("alone", "a", "")},
		}
		w.check(w.saveAll(c))
		out, err := w.Save(w.ctx, store.Changes{Set: "team", Prune: true}, w.by())
		w.check(err)
		removed := map[string]int{}
		for _, r := range out.Removed {
			removed[r.Kind+" "+r.Name]++
		}
		equal(w, "removed", removed, map[string]int{"job a": 1, "schedule alone": 1})
		w.noSchedule("a:x")
		w.noSchedule("alone")
	}},
	{"NothingIsLostOverAReopening", func(w *world) {
		w.put(planned("a", minutely("x", `,"catch_up":{"mode":"all"}`), minutely("y", "")))
		w.tick(30 * time.Minute)
		w.fire("a:x")
		w.pauseSchedule("a:y", true, "why")
		before := []*store.Schedule{w.schedule("a:x"), w.schedule("a:y")}
		ledger := w.ticks("a:x")
		w.reopen()
		equal(w, "schedules", diff([]*store.Schedule{w.schedule("a:x"), w.schedule("a:y")}, before), "")
		equal(w, "ticks", diff(w.ticks("a:x"), ledger), "")
		equal(w, "backlog", w.schedule("a:x").Backlog.Count, 29)
	}},
}

func scheduleEdited(w *world) {
	w.put(planned("a", minutely("x", ""), minutely("y", "")))
	x, y := w.schedule("a:x"), w.schedule("a:y")
	w.tick(30 * time.Second)
	w.put(planned("a", `{"name":"x","every":"40s"}`, minutely("y", "")))
	after := w.schedule("a:x")
	equal(w, "anchor, cursor, created, updated",
		words(after.Anchor, after.Cursor, after.CreatedAt, after.UpdatedAt), words(start, w.now, start, w.now))
	if after.Stamp <= x.Stamp {
		w.Fatalf("stamp is %d after %d", after.Stamp, x.Stamp)
	}
	if out := w.decide(w.onTime(x, minute(1)))[0]; !out.Stale {
		w.Fatal("a decision by the old text is not stale")
	}
	now := w.schedule("a:y")
	equal(w, "the other", words(now.Stamp, now.Cursor, now.UpdatedAt), words(y.Stamp, start, start))
	equal(w, "due next", w.due(9).Next, start.Add(40*time.Second))
	w.tick(10 * time.Second)
	w.ran(w.fire("a:x"))
	// It has fired at 40 s, and not at what is past by its new text.
	w.put(planned("a", `{"name":"x","every":"10s"}`, minutely("y", "")))
	w.tick(10 * time.Second)
	w.fire("a:x")
	var at []jobs.Time
	for _, t := range w.ticks("a:x") {
		at = append(at, t.From)
	}
	equal(w, "ticks", at, []jobs.Time{start.Add(50 * time.Second), start.Add(40 * time.Second)})
}

func scheduleAgain(w *world) {
	one, none := planned("a", minutely("x", "")), planned("a")
	w.put(one)
	id := w.nextRun("a:x")
	w.put(none)
	w.noSchedule("a:x")
	// Also within the minute of its last tick.
	w.put(one)
	equal(w, "ledger", w.ledger("a:x"), "1 ran")
	s := w.schedule("a:x")
	equal(w, "anchor, cursor, last", words(s.Anchor, s.Cursor, s.Last.Run), words(w.now, w.now, id))
	out := w.decided(w.onTime(s, w.now))
	equal(w, "the tick again", words(len(out.Ran), out.Ran[0].Outcome, out.Ran[0].Made.ID.IsNil()), words(1, "", true))
	w.drain()
	w.nextRun("a:x")
	equal(w, "ledger", w.ledger("a:x"), "1 ran, 2 ran")
	// By itself under the same job it is another.
	w.applyPolicies("", own("x", "a", ""))
	equal(w, "ledger of another", w.ledger("x"), "")
}
