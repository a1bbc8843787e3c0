package storetest

import (
	"errors"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var jobClaims = []claim{
	{"SavedJobComesBack", func(w *world) {
		doc := webhook(
			"a",
			"x",
			`,"labels":{"team":"data"},"queue":"slow","priority":3,"retry":{"max_attempts":2},"payload":{"n": 1.50}`,
		)
		saved := w.put(doc)
		equal(w, "created, changed", words(saved.Created, saved.Changed), "true true")
		got, err := w.Job(w.ctx, "a")
		w.check(err)
		want := *doc
		want.Version, want.Revision, want.CreatedAt, want.UpdatedAt = 1, 1, w.now, w.now
		if d := diff(got, &want) + diff(saved.Job, &want); d != "" {
			w.Fatal(d)
		}
	}},
	{"SameDocumentAgainChangesNothing", sameDocument},
	{"ChangedDocumentGrowsTheRevision", func(w *world) {
		w.put(webhook("a", "", ""))
		w.tick(time.Second)
		saved := w.put(webhook("a", "", `,"priority":1`))
		equal(w, "created, changed", words(saved.Created, saved.Changed), "false true")
		equal(w, "revision", saved.Job.Revision, 2)
		equal(w, "created at, updated at", [2]jobs.Time{saved.Job.CreatedAt, saved.Job.UpdatedAt},
			[2]jobs.Time{start, w.now})
	}},
	{"IfMatchDemandsTheRevision", ifMatch},
	{"CreateRefusesWhatStands", func(w *world) {
		w.jobs("a")
		for _, j := range []*jobs.Job{webhook("a", "", ""), webhook("a", "other", "")} {
			_, err := w.save(store.PutJob{Job: j, Create: true})
			w.wantErr(err, store.ErrExists)
		}
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		_, err = w.save(store.PutJob{Job: webhook("a", "", ""), Create: true})
		w.check(err)
	}},
	{"PutIsAllOrNoneAndEveryFaultListed", putAllOrNone},
	{"UnknownJobIsNotFound", func(w *world) {
		_, err := w.Job(w.ctx, "a")
		w.wantErr(err, store.ErrNotFound)
		_, err = w.DeleteJob(w.ctx, "a", nil, w.by())
		w.wantErr(err, store.ErrNotFound)
		_, err = w.PauseJob(w.ctx, "a", true, "", w.by())
		w.wantErr(err, store.ErrNotFound)
		_, err = w.UpgradeRuns(w.ctx, "a", w.by())
		w.wantErr(err, store.ErrNotFound)
		_, _, err = w.Versions(w.ctx, "a", store.Page{Limit: 1})
		w.wantErr(err, store.ErrNotFound)
		_, err = w.Version(w.ctx, "a", 1)
		w.wantErr(err, store.ErrNotFound)
	}},
	{"ListShowsEachJobOnceWhileJobsComeAndGo", listJobs},
	{"CursorThatIsNoneIsInvalid", func(w *world) {
		w.jobs("a")
		page := store.Page{Limit: 1, Cursor: "x"}
		_, _, err := w.Jobs(w.ctx, page)
		wantInvalid(w, err, "cursor")
		_, _, err = w.Versions(w.ctx, "a", page)
		wantInvalid(w, err, "cursor")
	}},
}

func wantInvalid(w *world, err error, location string) {
	w.Helper()
	bad := (*jobs.InvalidError)(nil)
	if !errors.As(err, &bad) || bad.Faults[0].Location != location {
		w.Fatalf("error is %v, want a fault at %s", err, location)
	}
}

func sameDocument(w *world) {
	w.put(webhook("a", "", ""))
	w.tick(time.Hour)
	before := audit(w)
	job, err := w.Job(w.ctx, "a")
	w.check(err)
	for _, put := range []store.PutJob{{Job: webhook("a", "", "")}, {Job: webhook("a", "", ""), IfMatch: new(int64(1))}} {
		saved, err := w.save(put)
		w.check(err)
		equal(w, "created, changed", words(saved[0].Created, saved[0].Changed), "false false")
		if d := diff(saved[0].Job, job); d != "" {
			w.Fatal(d)
		}
	}
	again, err := w.Job(w.ctx, "a")
	w.check(err)
	if d := diff(again, job); d != "" {
		w.Fatal(d)
	}
	equal(w, "audit", audit(w), before)
}

func ifMatch(w *world) {
	w.put(webhook("a", "", ""))
	for _, c := range []struct {
		name  string
		match int64
		want  error
	}{{"a", 0, store.ErrStale}, {"a", 2, store.ErrStale}, {"b", 1, store.ErrStale}, {"a", 1, nil}, {"a", 1, store.ErrStale}, {"a", 2, nil}} {
		w.tick(time.Second)
		j := webhook(c.name, "", `,"description":"`+strconv.Itoa(int(w.now))+`"`)
		_, err := w.save(store.PutJob{Job: j, IfMatch: &c.match})
		if !errors.Is(err, c.want) {
			w.Fatalf("put %s at revision %d: %v, want %v", c.name, c.match, err, c.want)
		}
	}
	_, err := w.DeleteJob(w.ctx, "a", new(int64(1)), w.by())
	w.wantErr(err, store.ErrStale)
	_, err = w.DeleteJob(w.ctx, "a", new(int64(3)), w.by())
	w.check(err)
	_, err = w.save(store.PutJob{Job: webhook("a", "", ""), IfMatch: new(int64(4))})
	w.wantErr(err, store.ErrStale)
}

func putAllOrNone(w *world) {
	w.jobs("a", "b")
	_, err := w.save(
		store.PutJob{Job: webhook("new", "", "")},
		store.PutJob{Job: webhook("a", "x", ""), Create: true},
		store.PutJob{Job: webhook("b", "x", ""), IfMatch: new(int64(9))},
	)
	w.wantErr(err, store.ErrExists)
	w.wantErr(err, store.ErrStale)
	var bad []int
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		entry := (*store.EntryError)(nil)
		if errors.As(e, &entry) {
			bad = append(bad, entry.Index)
		}
	}
	equal(w, "faulty entries", bad, []int{1, 2})
	_, err = w.Job(w.ctx, "new")
	w.wantErr(err, store.ErrNotFound)
	_, err = w.Enqueue(w.ctx, []store.Submission{w.sub("new")})
	w.wantErr(err, store.ErrNotFound)
}

func listJobs(w *world) {
	for i := range 10 {
		w.jobs("j" + strconv.Itoa(i))
	}
	var names []string
	page := store.Page{Limit: 3}
	for {
		list, next, err := w.Jobs(w.ctx, page)
		w.check(err)
		for _, j := range list {
			names = append(names, j.Name)
		}
		if len(names) == 3 {
			w.jobs("newer")
			_, err := w.DeleteJob(w.ctx, "j7", nil, w.by())
			w.check(err)
			_, err = w.DeleteJob(w.ctx, "j2", nil, w.by())
			w.check(err)
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	equal(w, "jobs", names, []string{"j9", "j8", "j7", "j6", "j5", "j4", "j3", "j1", "j0"})
}

var pauseClaims = []claim{
	{"PausedJobKeepsQueueingAndStartsNothing", func(w *world) {
		w.jobs("a", "b")
		ids := w.enqueueN(2, "a")
		w.pause("a", true, "deploying")
		ids = append(ids, w.enqueue("a").ID, w.enqueue("a", dueIn(time.Second)).ID)
		w.enqueue("b")
		w.tick(time.Minute)
		equal(w, "claimed", jobsOf(w.take(10)), []string{"b"})
		for _, id := range ids {
			r := w.run(id)
			equal(w, "state", r.State, jobs.Queued)
			equal(w, "held by", words(r.HeldBy.Kind, r.HeldBy.Name, r.HeldBy.Reason), "paused a deploying")
		}
		list, _, err := w.Runs(w.ctx, store.RunFilter{Job: "a"}, store.Page{Limit: 1})
		w.check(err)
		equal(w, "held by in lists", list[0].HeldBy.Reason, "deploying")
		w.pause("a", true, "")
		equal(w, "held by without a note", w.run(ids[0]).HeldBy.Reason, "the job a is paused")
		w.pause("a", false, "")
		equal(w, "held by", w.run(ids[0]).HeldBy.Kind, jobs.HeldWorkers)
		equal(w, "claimed after resume", len(w.take(10)), 4)
	}},
	{"PauseSurvivesReopening", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		w.pause("a", true, "why")
		w.reopen()
		w.enqueue("a")
		equal(w, "claimed", len(w.take(10)), 0)
		j, err := w.Job(w.ctx, "a")
		w.check(err)
		equal(w, "job", words(j.Paused, j.PauseNote, j.Revision), "true why 1")
	}},
	{"PutLeavesThePauseAlone", func(w *world) {
		w.jobs("a")
		w.pause("a", true, "why")
		saved := w.put(script("a", "echo"))
		equal(w, "job", words(saved.Job.Paused, saved.Job.PauseNote), "true why")
		w.enqueue("a")
		equal(w, "claimed", len(w.take(10)), 0)
		w.pause("a", false, "")
		equal(w, "claimed", len(w.take(10)), 1)
	}},
	{"RetryOfAPausedJobWaits", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		l := w.takeOne()
		w.pause("a", true, "")
		w.apply(w.retrying(l, time.Second))
		w.tick(time.Minute)
		equal(w, "claimed", len(w.take(1)), 0)
		equal(w, "state", w.state(id), jobs.Queued)
	}},
	{"PauseAgainChangesOnlyTheNote", func(w *world) {
		w.jobs("a")
		w.pause("a", true, "one")
		w.pause("a", true, "one")
		equal(w, "audit entries", len(audit(w)), 2)
		equal(w, "note", w.pause("a", true, "two").PauseNote, "two")
		equal(w, "note after resume", w.pause("a", false, "done").PauseNote, "")
		w.pause("a", false, "done")
		equal(w, "actions", actions(audit(w)), "resume a done, pause a two, pause a one, put a ")
	}},
}

func (w *world) pause(job string, paused bool, note string) *jobs.Job {
	w.Helper()
	j, err := w.PauseJob(w.ctx, job, paused, note, w.by())
	w.check(err)
	equal(w, "paused", j.Paused, paused)
	return j
}
