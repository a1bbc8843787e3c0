package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var dealClaims = []claim{
	{"ResolveTwiceChangesNothing", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.tick(time.Minute)
		at := w.now
		w.resolve(id, "the disk was full")
		f := w.failure(id)
		equal(w, "failure", words(f.Status, f.By, f.Note, f.DealtAt), words("resolved", "token tester", "the disk was full", at))
		w.tick(time.Minute)
		entries := len(audit(w))
		w.resolve(id, "")
		f = w.failure(id)
		equal(w, "again", words(f.Status, f.Note, f.DealtAt), words("resolved", "the disk was full", at))
		equal(w, "audit entries", len(audit(w)), entries)
		w.resolve(id, "and again")
		f = w.failure(id)
		equal(w, "with a note", words(f.Status, f.Note, f.DealtAt), words("resolved", "and again", at))
		equal(w, "audit", actions(audit(w)[:2]), "resolve "+id.String()+" and again, resolve "+id.String()+" the disk was full")
	}},
	// Case 138 of what went wrong elsewhere.
	{"ResolvedOneThatIsRequeuedIsCountedOnce", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.resolve(id, "fixed by hand")
		next := w.requeue(id).ID
		w.fail(w.takeThis(next))
		for _, c := range []struct {
			status jobs.FailureStatus
			want   []jobs.ID
		}{{jobs.FailureOpen, []jobs.ID{next}}, {jobs.FailureRequeued, []jobs.ID{id}}, {jobs.FailureResolved, nil}} {
			equal(w, c.status.String(), failureIDs(allFailures(w, store.FailureFilter{Status: c.status}, 9)), c.want)
		}
		equal(w, "note", w.failure(id).Note, "fixed by hand")
		for range 2 {
			w.resolve(next, "now it is")
			equal(w, "resolved", failureIDs(allFailures(w, store.FailureFilter{Status: jobs.FailureResolved}, 9)),
				[]jobs.ID{next, id})
			equal(w, "open", len(allFailures(w, store.FailureFilter{}, 9)), 0)
		}
		equal(w, "audit", len(audit(w)), 4) // put, resolve, requeue, resolve
	}},
	{"NewestTakesThoseBehindItAlong", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		w.fail(w.takeThis(b))
		c := w.requeue(b).ID
		w.fail(w.takeThis(c))
		w.ignore(c, "known")
		equal(w, "ignored", w.statuses(a, b, c), "ignored ignored ignored")
		w.resolve(b, "")
		equal(w, "what stands before it stays", w.statuses(a, b, c), "ignored resolved ignored")
	}},
	{"OneThatIsRequeuedMayBeResolved", func(w *world) {
		w.jobs("a")
		a := w.failOne("a")
		b := w.requeue(a).ID
		w.resolve(a, "")
		w.cancel(b)
		equal(w, "its requeue was cancelled", w.statuses(a), "resolved")
	}},
	{"OnlyFailuresAreDealtWith", func(w *world) {
		w.jobs("a")
		d := store.Dealing{Status: jobs.FailureResolved}
		w.wantErr(w.Deal(w.ctx, w.ids.Next(w.now.Std()), d, w.by()), store.ErrNotFound)
		id := w.enqueue("a").ID
		w.wantErr(w.Deal(w.ctx, id, d, w.by()), store.ErrState)
		w.succeedThis(id)
		w.wantErr(w.Deal(w.ctx, id, d, w.by()), store.ErrState)
		equal(w, "audit entries", len(audit(w)), 1)
	}},
	{"FailureIsKeptFromWhenItWasResolved", func(w *world) {
		w.jobs("a")
		resolved, ignored, open := w.failOne("a"), w.failOne("a"), w.failOne("a")
		w.tick(300 * day)
		w.resolve(resolved, "")
		w.ignore(ignored, "")
		w.tick(90*day - time.Millisecond)
		prune(w)
		equal(w, "kept", w.statuses(resolved, ignored, open), "resolved ignored open")
		w.tick(time.Millisecond)
		prune(w)
		for _, id := range []jobs.ID{resolved, ignored} {
			_, err := w.Failure(w.ctx, id)
			w.wantErr(err, store.ErrNotFound)
		}
		w.tick(3000 * day)
		prune(w)
		equal(w, "open", w.statuses(open), "open")
	}},
	{"WhatWasRequeuedIsKeptUntilThatIsOver", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.resolve(id, "")
		next := w.takeThis(w.requeue(id).ID)
		w.tick(3000 * day)
		prune(w)
		equal(w, "kept", w.statuses(id), "requeued")
		w.succeed(next)
		w.tick(90 * day)
		prune(w)
		equal(w, "runs", len(allRuns(w, store.RunFilter{}, 1000)), 0)
	}},
}

// groups are the groups of failures, newest first, as words.
func (w *world) groups(f store.FailureGroupFilter) (all []string) {
	w.Helper()
	for page := (store.Page{Limit: 1}); ; {
		list, next, err := w.FailureGroups(w.ctx, f, page)
		w.check(err)
		for _, g := range list {
			all = append(all, words(g.Job, g.Count, g.Open, g.Status))
		}
		if page.Cursor = next; next == "" {
			return all
		}
	}
}

func (w *world) ignoreUntil(id jobs.ID, until jobs.Time) {
	w.Helper()
	w.check(w.Deal(w.ctx, id, store.Dealing{Status: jobs.FailureIgnored, Until: until}, w.by()))
}

func (w *world) reopenIgnored() int {
	w.Helper()
	n, err := w.ReopenIgnored(w.ctx, w.now)
	w.check(err)
	return n
}

var alikeClaims = []claim{
	{"FailuresThatAreAlikeAreCounted", func(w *world) {
		w.jobs("a", "b")
		w.failWith("a", "no order 1")
		first := w.now
		w.tick(time.Minute)
		id := w.failWith("a", "no order 22")
		w.failWith("a", "down")
		w.failWith("b", "no order 3")
		equal(w, "groups", w.groups(store.FailureGroupFilter{}), []string{"b 1 1 open", "a 1 1 open", "a 2 2 open"})
		equal(w, "of a job", w.groups(store.FailureGroupFilter{Job: "b"}), []string{"b 1 1 open"})
		print := w.failure(id).Fingerprint
		equal(w, "one", w.groups(store.FailureGroupFilter{Fingerprint: print}), []string{"a 2 2 open"})
		equal(w, "allowed", w.groups(store.FailureGroupFilter{Allowed: []string{"b*"}}), []string{"b 1 1 open"})
		list, _, err := w.FailureGroups(w.ctx, store.FailureGroupFilter{Fingerprint: print}, store.Page{Limit: 9})
		w.check(err)
		g := list[0]
		equal(w, "group", words(g.Kind, g.Type, g.Message, g.FirstAt, g.LastAt, g.LastRun),
			words("http", "Unavailable", "no order 22", first, w.now, id))
	}},
	{"ResolvedGroupOpensWithItsNextFailure", func(w *world) {
		w.jobs("a")
		w.resolve(w.failOne("a"), "")
		equal(w, "resolved", w.groups(store.FailureGroupFilter{}), []string{"a 1 0 resolved"})
		w.failOne("a")
		equal(w, "open", w.groups(store.FailureGroupFilter{Statuses: []jobs.FailureStatus{jobs.FailureOpen}}), []string{"a 2 1 open"})
		equal(w, "resolved", len(w.groups(store.FailureGroupFilter{Statuses: []jobs.FailureStatus{jobs.FailureResolved}})), 0)
	}},
	{"GroupIsIgnoredWhenItsLastOpenOneWas", func(w *world) {
		w.jobs("a")
		a, b := w.failOne("a"), w.failOne("a")
		w.ignore(a, "")
		equal(w, "one is open", w.groups(store.FailureGroupFilter{}), []string{"a 2 1 open"})
		equal(w, "what came", w.statuses(w.failOne("a")), "open")
		w.resolve(allFailures(w, store.FailureFilter{}, 1)[0].Run.ID, "")
		w.ignore(b, "")
		equal(w, "ignored", w.groups(store.FailureGroupFilter{}), []string{"a 3 0 ignored"})
		c := w.failOne("a")
		f := w.failure(c)
		equal(w, "what came", words(f.Status, f.By, f.DealtAt), words("ignored", "token tester", w.now))
		equal(w, "of another sort", w.statuses(w.failWith("a", "down")), "open")
		w.tick(3000 * day)
		equal(w, "reopened", w.reopenIgnored(), 0)
		equal(w, "for good", w.statuses(w.failOne("a")), "ignored")
	}},
	{"IgnoredOnesThatCameOpenWhenTheTimeIsOver", ignoredUntil},
	{"IgnoredGroupOfWhichNoneCameIsHeardAgain", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.ignoreUntil(id, w.now.Add(time.Hour))
		w.tick(time.Hour)
		equal(w, "reopened", w.reopenIgnored(), 0)
		equal(w, "status", w.statuses(id), "ignored")
		equal(w, "groups", w.groups(store.FailureGroupFilter{}), []string{"a 1 0 resolved"})
		equal(w, "what came", w.statuses(w.failOne("a")), "open")
	}},
	{"OneThatIsResolvedHasItsGroupHeardAgain", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.ignore(id, "")
		w.resolve(id, "fixed")
		equal(w, "what came", w.statuses(w.failOne("a")), "open")
	}},
	{"GroupOfWhichNothingIsLeftGoes", func(w *world) {
		w.jobs("a", "b")
		gone, kept := w.failOne("a"), w.failOne("b")
		w.check(w.Remove(w.ctx, gone, w.by()))
		w.tick(90*day - time.Millisecond)
		prune(w)
		equal(w, "groups", w.groups(store.FailureGroupFilter{}), []string{"b 1 1 open", "a 1 0 resolved"})
		w.tick(time.Millisecond)
		prune(w)
		equal(w, "groups", w.groups(store.FailureGroupFilter{}), []string{"b 1 1 open"})
		equal(w, "kept", w.statuses(kept), "open")
	}},
}

func ignoredUntil(w *world) {
	w.jobs("a")
	old := w.failOne("a")
	until := w.now.Add(2 * time.Hour)
	w.ignoreUntil(old, until)
	equal(w, "until", w.failure(old).Until, until)
	w.tick(time.Hour)
	came := []jobs.ID{w.failOne("a"), w.failOne("a")}
	equal(w, "until", w.failure(came[0]).Until, until)
	equal(w, "too early", w.reopenIgnored(), 0)
	w.tick(time.Hour)
	late := w.failOne("a")
	equal(w, "before anybody looked", w.statuses(old, came[0], came[1], late), "ignored ignored ignored open")
	events := w.newestEvent()
	equal(w, "reopened", w.reopenIgnored(), 1)
	equal(w, "once", w.reopenIgnored(), 0)
	equal(w, "now", w.statuses(old, came[0], came[1], late), "ignored open open open")
	f := w.failure(came[0])
	equal(w, "who ignored it", words(f.By, f.DealtAt, f.Until), words("", jobs.Time(0), jobs.Time(0)))
	list, err := w.Events(w.ctx, events, 10)
	w.check(err)
	equal(w, "events", len(list), 1)
	data := struct {
		Run   jobs.ID `json:"run"`
		Count int     `json:"count"`
	}{}
	w.check(jobs.DecodeLenient(list[0].Data, &data))
	equal(w, "event", words(list[0].Type, list[0].Job, list[0].Run, data.Run, data.Count),
		words(jobs.EventRunFailed, "a", came[1], came[1], 2))
}

// heals ends a run well, of a job that has resolve_on_success.
func (w *world) heals(id jobs.ID) {
	w.Helper()
	f := w.succeeded(w.takeThis(id))
	f.Tell.ResolveEarlier = true
	w.apply(f)
}

func ofSchedule(name string) func(*store.Submission) {
	return func(s *store.Submission) { s.Run.Schedule = name }
}

var earlierClaims = []claim{
	{"SuccessResolvesEarlierFailuresOfItsSchedule", func(w *world) {
		w.jobs("a", "b")
		nightly, hourly, plain := ofSchedule("a:nightly"), ofSchedule("a:hourly"), w.failOne("a")
		x, y := w.failOne("a", nightly), w.failOne("a", hourly)
		z := w.requeue(x).ID
		w.fail(w.takeThis(z))
		other := w.failOne("b", nightly)
		w.tick(time.Minute)
		ok := w.enqueue("a", nightly).ID
		w.heals(ok)
		equal(w, "statuses", w.statuses(plain, x, z, y, other), "open resolved resolved open open")
		f := w.failure(z)
		equal(w, "by", words(f.By, f.DealtAt), words("run "+ok.String(), w.now))
		equal(w, "by, behind it", w.failure(x).By, f.By)
	}},
	{"SuccessWithoutAScheduleResolvesThoseOfItsJob", func(w *world) {
		w.jobs("a", "b")
		all := []jobs.ID{w.failOne("a"), w.failOne("a", ofSchedule("a:nightly")), w.failOne("b")}
		ignored := w.failWith("a", "known")
		w.ignore(ignored, "leave it")
		w.heals(w.enqueue("a").ID)
		equal(w, "statuses", w.statuses(append(all, ignored)...), "resolved resolved open ignored")
		equal(w, "what was noted", w.failure(ignored).Note, "leave it")
	}},
	{"WhatFailedLaterStays", func(w *world) {
		w.jobs("a")
		l := w.takeThis(w.enqueue("a").ID)
		later := w.failOne("a")
		f := w.succeeded(l)
		f.Tell.ResolveEarlier = true
		w.apply(f)
		equal(w, "later", w.statuses(later), "open")
	}},
	{"OnlyWhereTheJobSaysSo", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.succeedThis(w.enqueue("a").ID)
		equal(w, "status", w.statuses(id), "open")
	}},
}
