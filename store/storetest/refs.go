package storetest

import (
	"errors"
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// naming is a job that names a policy and jobs that follow it.
func naming(name, policy string, follow ...string) *jobs.Job {
	j := webhook(name, "", "")
	j.Retry.Policy = policy
	for _, f := range follow {
		j.OnSuccess = append(j.OnSuccess, jobs.Chain{Job: f})
	}
	return j
}

// grouping is a group of members with jobs and of a merge; "": none.
func grouping(name, merge string, members ...string) *jobs.Job {
	g := &jobs.Group{Members: []jobs.Member{}}
	for i, m := range members {
		g.Members = append(g.Members, jobs.Member{Name: fmt.Sprint("m", i), Job: m})
	}
	if merge != "" {
		g.Merge = &jobs.Merge{Job: merge}
	}
	return &jobs.Job{Name: name, Group: g}
}

var refClaims = []claim{
	{"NameThatNothingBearsIsMissing", func(w *world) {
		w.jobs("there")
		_, err := w.save(store.PutJob{Job: webhook("x", "", "")},
			store.PutJob{Job: naming("a", "slow", "there", "gone", "x")})
		equal(w, "faults", faultsOf(err), []string{
			"job 1: there is no policy slow: make it first, or in the same apply",
			"job 1: there is no job gone: make it first, or in the same apply",
		})
		missing := (*store.MissingRef)(nil)
		equal(w, "missing", errors.As(err, &missing), true)
		equal(w, "location", missing.Location, "retry.policy")
		_, err = w.Job(w.ctx, "x")
		w.wantErr(err, store.ErrNotFound)
	}},
	{"NameMayComeInTheSameChange", func(w *world) {
		w.check(w.saveAll(store.Changes{
			Jobs: []store.PutJob{
				{Job: naming("a", "slow", "b")}, {Job: naming("b", "default", "c")}, {Job: naming("c", "")},
			},
			Documents: []store.PutDocument{policy("slow", "2")},
		}))
	}},
	{"DeletedJobIsMissing", func(w *world) {
		w.jobs("b")
		_, err := w.DeleteJob(w.ctx, "b", nil, w.by())
		w.check(err)
		_, err = w.save(store.PutJob{Job: naming("a", "", "b")})
		equal(w, "faults", len(faultsOf(err)), 1)
		w.jobs("b")
		w.put(naming("a", "", "b"))
	}},
	{"CircleIsRefused", func(w *world) {
		_, err := w.save(store.PutJob{Job: naming("a", "", "a")})
		equal(w, "faults", faultsOf(err),
			[]string{"job 0: a circle of on_success, members and merges, which would never end: a → a"})
		_, err = w.save(store.PutJob{Job: naming("a", "", "d", "b")}, store.PutJob{Job: naming("d", "")},
			store.PutJob{Job: naming("b", "", "c")}, store.PutJob{Job: naming("c", "", "a")})
		equal(w, "faults", faultsOf(err),
			[]string{"job 0: a circle of on_success, members and merges, which would never end: a → b → c → a"})
		circle := (*store.CircleError)(nil)
		equal(w, "circle", errors.As(err, &circle), true)
		equal(w, "location", circle.Location, "on_success[1].job")
	}},
	{"CircleThroughWhatStandsIsRefused", func(w *world) {
		w.put(naming("c", ""))
		w.put(naming("b", "", "c"))
		w.put(naming("a", "", "b"))
		_, err := w.save(store.PutJob{Job: naming("x", "", "a")}, store.PutJob{Job: naming("c", "", "a")})
		equal(w, "faults", faultsOf(err),
			[]string{"job 1: a circle of on_success, members and merges, which would never end: c → a → b → c"})
		// Broken by the same change, it is none.
		w.check(w.saveAll(store.Changes{Jobs: []store.PutJob{
			{Job: naming("c", "", "a")}, {Job: naming("a", "")},
		}}))
	}},
	{"CircleThroughMembersAndMergesIsRefused", func(w *world) {
		const circle = "a circle of on_success, members and merges, which would never end: "
		_, err := w.save(store.PutJob{Job: grouping("g", "", "g")})
		equal(w, "faults", faultsOf(err), []string{"job 0: " + circle + "g → g"})
		w.put(naming("a", ""))
		_, err = w.save(store.PutJob{Job: grouping("g", "m", "a", "a")}, store.PutJob{Job: naming("m", "", "g")})
		equal(w, "faults", faultsOf(err), []string{"job 0: " + circle + "g → m → g"})
		found := (*store.CircleError)(nil)
		equal(w, "circle", errors.As(err, &found), true)
		equal(w, "location", found.Location, "group.merge.job")
		w.put(grouping("g", "", "a", "a"))
		_, err = w.save(store.PutJob{Job: naming("a", "", "g")})
		equal(w, "faults", faultsOf(err), []string{"job 0: " + circle + "a → g → a"})
		_, err = w.DeleteJob(w.ctx, "a", nil, w.by())
		wantNamed(w, err, "job a g")
	}},
	{"GroupsStandEightDeepInOneAnother", func(w *world) {
		w.put(naming("a", ""))
		for i, inner := 8, "a"; i >= 1; i-- {
			w.put(grouping(fmt.Sprint("g", i), "", "a", inner))
			inner = fmt.Sprint("g", i)
		}
		_, err := w.save(store.PutJob{Job: grouping("g0", "g1")})
		const path = "g0 → g1 → g2 → g3 → g4 → g5 → g6 → g7 → g8"
		equal(w, "faults", faultsOf(err),
			[]string{"job 0: groups stand 9 deep inside one another, by " + path + ": want at most 8"})
		// Nor may what stands innermost become a group.
		_, err = w.save(store.PutJob{Job: grouping("a", "")})
		equal(w, "faults", len(faultsOf(err)), 1)
		w.put(naming("b", "", "g1")) // what follows a group does not stand in it
	}},
	{"JobsMayMeetAgain", func(w *world) {
		w.check(w.saveAll(store.Changes{Jobs: []store.PutJob{
			{Job: naming("top", "", "left", "right")},
			{Job: naming("left", "", "end")},
			{Job: naming("right", "", "end", "end")},
			{Job: naming("end", "")},
		}}))
	}},
	{"LongChainIsFollowed", longChain},
	{"WhatIsNamedIsNotDeleted", func(w *world) {
		w.applyPolicies("", policy("slow", "2"))
		w.jobs("b")
		w.put(naming("z", "slow", "b"))
		w.put(naming("a", "slow", "b"))
		before := len(audit(w))
		_, err := w.DeleteJob(w.ctx, "b", nil, w.by())
		wantNamed(w, err, "job b a z")
		wantNamed(w, w.DeleteDocument(w.ctx, store.KindPolicy, "slow", nil, w.by()), "policy slow a z")
		equal(w, "audit", len(audit(w)), before)
		w.put(naming("a", ""))
		_, err = w.DeleteJob(w.ctx, "z", nil, w.by())
		w.check(err)
		_, err = w.DeleteJob(w.ctx, "b", nil, w.by())
		w.check(err)
		w.check(w.DeleteDocument(w.ctx, store.KindPolicy, "slow", nil, w.by()))
	}},
	{"WhatIsNamedIsNotPruned", pruneNamed},
	{"WhatRunsShareIsDeletedThoughJobsNameIt", deleteShared},
}

// deleteShared: queues and dependencies come to be by being named, so nothing is lost with a document.
func deleteShared(w *world) {
	put := func(kind, name string) store.PutDocument {
		return store.PutDocument{Kind: kind, Name: name, Doc: jobs.Raw(`{"concurrency":1}`)}
	}
	docs := []store.PutDocument{
		put(store.KindQueue, "etl"), put(store.KindDependency, "stripe"), put(store.KindDependency, "example.com:443"),
	}
	script := script("a", "echo")
	script.Queue, script.Dependencies = "etl", []string{"stripe"}
	hook := webhook("b", "", "")
	hook.Webhook.URL = "https://example.com/"
	named := []store.PutJob{{Job: script}, {Job: hook}}
	w.check(w.saveAll(store.Changes{Documents: docs, Jobs: named}))
	for _, d := range docs {
		w.check(w.DeleteDocument(w.ctx, d.Kind, d.Name, nil, w.by()))
		_, err := w.Document(w.ctx, d.Kind, d.Name)
		w.wantErr(err, store.ErrNotFound)
	}
	w.check(w.saveAll(store.Changes{Set: "team", Documents: docs, Jobs: named}))
	out, err := w.Save(w.ctx, store.Changes{Set: "team", Jobs: named, Prune: true}, w.by())
	w.check(err)
	equal(w, "removed", len(out.Removed), len(docs))
	// Nor is any of it missing.
	w.check(w.saveAll(store.Changes{Jobs: named}))
}

func (w *world) saveAll(c store.Changes) error {
	w.Helper()
	_, err := w.Save(w.ctx, c, w.by())
	return err
}

func wantNamed(w *world, err error, want string) {
	w.Helper()
	found := (*store.NamedError)(nil)
	if !errors.As(err, &found) {
		w.Fatalf("error is %v, want a NamedError", err)
	}
	equal(w, "named", found.Kind+" "+found.Name+" "+strings.Join(found.By, " "), want)
}

func longChain(w *world) {
	var puts []store.PutJob
	for i := range 3000 {
		puts = append(puts, store.PutJob{
			Job: naming(fmt.Sprint("j", i), "", fmt.Sprint("j", i+1)),
		})
	}
	puts = append(puts, store.PutJob{Job: naming("j3000", "")})
	_, err := w.save(puts...)
	w.check(err)
	_, err = w.save(store.PutJob{Job: naming("j3000", "", "j0")})
	circle := (*store.CircleError)(nil)
	equal(w, "circle", errors.As(err, &circle), true)
	equal(w, "length", len(circle.Path), 3002)
}

func pruneNamed(w *world) {
	c := store.Changes{
		Set: "team", Jobs: []store.PutJob{{Job: naming("a", "slow", "b")}, {Job: naming("b", "")}},
		Documents: []store.PutDocument{policy("slow", "2")},
	}
	w.check(w.saveAll(c))
	w.put(naming("outside", "slow", "b"))
	// Who goes along names nothing any more.
	err := w.saveAll(store.Changes{Set: "team", Prune: true})
	equal(w, "faults", faultsOf(err), []string{
		"job b is named by job outside: change or delete that first",
		"policy slow is named by job outside: change or delete that first",
	})
	_, err = w.Job(w.ctx, "a")
	w.check(err)
	w.put(naming("outside", ""))
	// Who stays has the fault itself.
	err = w.saveAll(store.Changes{
		Set: "team", Prune: true, Jobs: []store.PutJob{{Job: naming("a", "slow", "b")}},
	})
	equal(w, "faults", faultsOf(err), []string{
		"job 0: there is no policy slow: make it first, or in the same apply",
		"job 0: there is no job b: make it first, or in the same apply",
	})
	w.check(w.saveAll(store.Changes{Set: "team", Prune: true}))
	_, err = w.Job(w.ctx, "b")
	w.wantErr(err, store.ErrNotFound)
}
