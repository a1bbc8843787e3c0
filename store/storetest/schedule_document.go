package storetest

import (
	"errors"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// Schedules that stand by themselves.
var scheduleDocumentClaims = []claim{
	{"SavedScheduleComesBack", func(w *world) {
		w.jobs("a")
		out := w.applyPolicies("team", own("x", "a", `,"payload":{"n":1}`))
		equal(w, "saved", savedText(out), "created x of team")
		s := w.schedule("x")
		equal(w, "schedule", words(s.Name, s.Job, s.Every, string(s.Payload), s.InJob, s.Set, s.Revision),
			words("x", "a", new(jobs.Duration(time.Minute)), `{"n":1}`, false, "team", 1))
		equal(w, "times", words(s.CreatedAt, s.UpdatedAt, s.Anchor, s.Cursor), words(start, start, start, start))
		equal(w, "actions", actions(audit(w)), "put x , put a ")
		equal(w, "kind", audit(w)[0].Kind, "schedule")
		d, err := w.Document(w.ctx, store.KindSchedule, "x")
		w.check(err)
		equal(w, "document", words(string(d.Doc), d.Revision), `{"job":"a","every":"1m","payload":{"n":1}} 1`)
		w.tick(time.Second)
		equal(w, "saved", savedText(w.applyPolicies("", own("x", "a", ""))), "changed x of team")
		after := w.schedule("x")
		equal(w, "after", words(after.Set, after.Revision, after.Payload == nil, after.CreatedAt, after.UpdatedAt,
			after.Anchor, after.Cursor), words("team", 2, true, start, w.now, start, w.now))
		if after.Stamp <= s.Stamp {
			w.Fatalf("stamp is %d after %d", after.Stamp, s.Stamp)
		}
	}},
	{"SameDocumentChangesNothing", func(w *world) {
		w.jobs("a")
		w.applyPolicies("", own("x", "a", ""))
		before, entries := w.schedule("x"), len(audit(w))
		w.tick(time.Hour) // undecided ticks do not matter
		equal(w, "saved", savedText(w.applyPolicies("", own("x", "a", ""))), "same x of ")
		equal(w, "schedule", diff(w.schedule("x"), before), "")
		equal(w, "audit", len(audit(w)), entries)
		equal(w, "adopted", savedText(w.applyPolicies("team", own("x", "a", ""))), "same x of team")
		equal(w, "set", words(w.schedule("x").Set, w.schedule("x").Revision), "team 1")
	}},
	{"MadeAgainItHasARevisionOfItsOwn", func(w *world) {
		w.jobs("a", "b")
		seen := map[int64]bool{}
		look := func(what string) {
			w.Helper()
			d, err := w.Document(w.ctx, store.KindSchedule, "x")
			w.check(err)
			equal(w, what, words(w.schedule("x").Revision, seen[d.Revision]), words(d.Revision, false))
			seen[d.Revision] = true
		}
		for i := range 3 {
			w.applyPolicies("", own("x", "a", ""))
			look("made")
			for n := range i {
				w.applyPolicies("", own("x", "a", fmt.Sprintf(`,"payload":%d`, n)))
				look("changed")
			}
			if i == 1 {
				w.deleteJob("a")
				w.jobs("a")
				continue
			}
			w.check(w.DeleteDocument(w.ctx, store.KindSchedule, "x", nil, w.by()))
		}
		w.applyPolicies("", own("x", "b", ""))
		for revision := range seen {
			w.wantErr(w.DeleteDocument(w.ctx, store.KindSchedule, "x", new(revision), w.by()), store.ErrStale)
		}
	}},
	{"RevisionIsDemanded", func(w *world) {
		w.jobs("a")
		put := func(change func(*store.PutDocument)) error {
			p := own("x", "a", "")
			change(&p)
			return w.saveAll(store.Changes{Documents: []store.PutDocument{p}})
		}
		ifMatch := func(n int64) func(*store.PutDocument) {
			return func(p *store.PutDocument) { p.IfMatch = new(n) }
		}
		w.wantErr(put(ifMatch(1)), store.ErrStale)
		w.noSchedule("x")
		create := func(p *store.PutDocument) { p.Create = true }
		w.check(put(create))
		w.wantErr(put(create), store.ErrExists)
		w.wantErr(put(ifMatch(2)), store.ErrStale)
		w.check(put(ifMatch(1)))
		w.wantErr(w.DeleteDocument(w.ctx, store.KindSchedule, "x", new(int64(2)), w.by()), store.ErrStale)
		w.schedule("x")
		w.check(w.DeleteDocument(w.ctx, store.KindSchedule, "x", new(int64(1)), w.by()))
		w.noSchedule("x")
		w.wantErr(w.DeleteDocument(w.ctx, store.KindSchedule, "x", nil, w.by()), store.ErrNotFound)
		w.check(put(create))
	}},
	{"ItsJobMustStand", scheduleMissing},
	{"NameOfAnotherSetIsRefused", func(w *world) {
		w.jobs("a")
		w.applyPolicies("one", own("x", "a", ""))
		err := w.saveAll(store.Changes{Set: "two", Documents: []store.PutDocument{own("x", "a", "")}})
		equal(w, "faults", faultsOf(err), []string{"schedule 0: schedule x belongs to the set one"})
	}},
	{"PruneRemovesWhatTheSetHoldsNoMore", func(w *world) {
		w.jobs("a")
		w.applyPolicies("team", own("x", "a", ""), own("y", "a", ""))
		w.applyPolicies("", own("alone", "a", ""))
		c := store.Changes{Set: "team", Prune: true, Documents: []store.PutDocument{own("y", "a", "")}}
		c.DryRun = true
		out, err := w.Save(w.ctx, c, w.by())
		w.check(err)
		would := savedText(out)
		w.schedule("x")
		c.DryRun = false
		out, err = w.Save(w.ctx, c, w.by())
		w.check(err)
		equal(w, "would, did", words(would, "/", savedText(out)),
			"same y of team, removed schedule x with 0 runs / same y of team, removed schedule x with 0 runs")
		w.noSchedule("x")
		w.schedule("y")
		w.schedule("alone")
		equal(w, "audit", actions(audit(w)[:1]),
			"delete x pruned: the set team does not hold it any more")
	}},
	{"DryRunChangesNothing", func(w *world) {
		w.jobs("a")
		w.applyPolicies("", own("x", "a", ""))
		before := w.schedule("x")
		out, err := w.Save(w.ctx, store.Changes{
			DryRun: true, Jobs: []store.PutJob{{Job: planned("b", minutely("z", ""))}},
			Documents: []store.PutDocument{own("x", "a", `,"overlap":"skip"`), own("y", "b", "")},
		}, w.by())
		w.check(err)
		equal(w, "would", savedText(out), "changed x of , created y of , created b of ")
		equal(w, "schedule", diff(w.schedule("x"), before), "")
		w.noSchedule("y")
		w.noSchedule("b:z")
	}},
	{"PutOfItsJobLeavesItAlone", func(w *world) {
		w.jobs("a")
		w.applyPolicies("", own("x", "a", ""))
		before := w.schedule("x")
		w.tick(time.Second)
		w.put(planned("a", minutely("x", "")))
		w.put(planned("a"))
		equal(w, "schedule", diff(w.schedule("x"), before), "")
	}},
	{"MovedToAnotherJobItsLedgerIsThatJobs", scheduleMoved},
	{"MadeAgainItGoesOnWithItsLedger", func(w *world) {
		w.jobs("a")
		w.applyPolicies("", own("x", "a", ""))
		w.nextRun("x")
		before := w.schedule("x")
		w.check(w.DeleteDocument(w.ctx, store.KindSchedule, "x", nil, w.by()))
		_, _, err := w.Ticks(w.ctx, "x", store.Page{Limit: 1})
		w.wantErr(err, store.ErrNotFound)
		w.tick(time.Second)
		w.applyPolicies("", own("x", "a", ""))
		s := w.schedule("x")
		equal(w, "times", words(s.CreatedAt, s.Anchor, s.Cursor), words(w.now, w.now, w.now))
		equal(w, "ledger", w.ledger("x"), "1 ran")
		if s.Stamp <= before.Stamp {
			w.Fatalf("stamp is %d after %d: decisions by what was deleted would count", s.Stamp, before.Stamp)
		}
		out := w.decided(w.onTime(s, minute(1)))
		equal(w, "the tick again", words(out.Ran[0].Outcome, out.Ran[0].Made.ID.IsNil()), words("", true))
	}},
	{"PauseIsNotOfTheOneMadeAgain", func(w *world) {
		w.jobs("a")
		w.applyPolicies("", own("x", "a", ""))
		w.nextRun("x")
		w.pauseSchedule("x", true, "why")
		w.check(w.DeleteDocument(w.ctx, store.KindSchedule, "x", nil, w.by()))
		w.applyPolicies("", own("x", "a", ""))
		s := w.schedule("x")
		equal(w, "paused, note", words(s.PausedAt, s.PauseNote), words(jobs.Time(0), ""))
		equal(w, "due", w.due(9).Next, minute(2))
	}},
}

func scheduleMissing(w *world) {
	err := w.saveAll(store.Changes{
		Jobs:      []store.PutJob{{Job: planned("b", minutely("x", ""))}},
		Documents: []store.PutDocument{own("y", "b", ""), own("x", "nobody", "")},
	})
	missing := (*store.MissingRef)(nil)
	if !errors.As(err, &missing) {
		w.Fatalf("error is %v, want a MissingRef", err)
	}
	equal(w, "missing", *missing, store.MissingRef{Location: "job", Kind: "job", Name: "nobody"})
	equal(w, "faults", faultsOf(err), []string{"schedule 1: there is no job nobody: make it first, or in the same apply"})
	w.noSchedule("b:x")
	w.noSchedule("y")
	w.noSchedule("x")
	// In the same apply it stands.
	w.check(w.saveAll(store.Changes{
		Jobs:      []store.PutJob{{Job: planned("b", minutely("x", ""))}},
		Documents: []store.PutDocument{own("y", "b", "")},
	}))
	w.schedule("y")
	w.deleteJob("b")
	err = w.saveAll(store.Changes{Documents: []store.PutDocument{own("y", "b", "")}})
	if !errors.As(err, &missing) {
		w.Fatalf("error is %v, want a MissingRef of the job that was deleted", err)
	}
	w.noSchedule("y")
	// Nor of a job that goes with the same apply.
	w.check(w.saveAll(store.Changes{Set: "team", Jobs: []store.PutJob{{Job: planned("c")}}}))
	if w.saveAll(store.Changes{
		Set: "team", Prune: true, Documents: []store.PutDocument{own("z", "c", "")},
	}) == nil {
		w.Fatal("a schedule was made of a job that was pruned")
	}
	w.noSchedule("z")
	_, err = w.Job(w.ctx, "c")
	w.check(err)
}

func scheduleMoved(w *world) {
	w.jobs("a", "b")
	w.applyPolicies("", own("x", "a", ""))
	first := w.nextRun("x")
	w.drain()
	w.applyPolicies("", own("x", "b", ""))
	s := w.schedule("x")
	equal(w, "job, anchor", words(s.Job, s.Anchor), words("b", start))
	// The ledger knows a tick by its job too.
	out := w.decided(w.onTime(s, minute(1)))
	equal(w, "outcome", out.Ran[0].Outcome, jobs.TickRan)
	second := w.ran(out)
	equal(w, "jobs", words(w.run(first).Job, w.run(second).Job), "a b")
	w.drain()
	w.applyPolicies("", own("x", "a", ""))
	out = w.decided(w.onTime(w.schedule("x"), minute(1)))
	equal(w, "back with the first", out.Ran[0].Outcome, "")
	// Deleted with its job as it stands.
	w.deleteJob("b")
	w.schedule("x")
	w.deleteJob("a")
	w.noSchedule("x")
}
