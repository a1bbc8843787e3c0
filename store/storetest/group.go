package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var groupClaims = []claim{
	{"GroupMakesItsMembersAndWaits", groupStarts},
	{"LastMemberMakesTheMergeAndTheMergeGivesTheGroupBack", groupMerges},
	{"PartialGroupTellsAndMerges", func(w *world) {
		groupJobs(w, "a a a", merged, needs(1))
		g := w.group("g")
		w.cancel(w.members(g.Run.ID)[2].ID)
		w.fail(w.memberLease(g.Run.ID, 1))
		before := w.newestEvent()
		equal(w, "events were kept", w.tells(func() {
			w.claim(store.Claim{Hold: true, Finished: []store.Finish{w.succeeded(w.memberLease(g.Run.ID, 0))}})
		}), true)
		w.wantStands(g.Run.ID, "succeeded, failed, cancelled missing; merging, 1 merges")
		events, err := w.Events(w.ctx, before, 9)
		w.check(err)
		var found []store.Event
		for _, e := range events {
			if e.Type == jobs.EventGroupPartial {
				found = append(found, e)
			}
		}
		want := &jobs.GroupPartial{
			Job: "g", Run: g.Run.ID, Labels: g.Run.Labels, Correlation: g.Run.CorrelationID, Members: 3, Succeeded: 1, Need: 1,
		}
		want.Fail("m1")
		want.Miss("m2")
		equal(w, "events", len(found), 1)
		e := found[0]
		equal(w, "event", words(e.Subject, e.Job, e.Run, e.At, string(e.Data)),
			words("run/"+g.Run.ID.String(), "g", g.Run.ID, w.now, string(want.Data())))
	}},
	{"FewerGoodMembersThanItNeedsMakeNoMerge", func(w *world) {
		for _, c := range []struct {
			need func(*jobs.Group)
			good int
			want string
		}{
			{merged, 2, "succeeded, succeeded, failed; ending, 0 merges"},
			{needsPercent(60), 1, "succeeded, failed, failed; ending, 0 merges"},
			{needsPercent(60), 2, "succeeded, succeeded, failed; merging, 1 merges"},
			{needs(2), 2, "succeeded, succeeded, failed; merging, 1 merges"},
			{needs(4), 3, "succeeded, succeeded, succeeded; ending, 0 merges"},
			{needs(0), 0, "failed, failed, failed; merging, 1 merges"},
		} {
			groupJobs(w, "a a a", merged, c.need)
			g := w.group("g")
			for i := range 3 {
				l := w.memberLease(g.Run.ID, i)
				if w.tick(time.Second); i < c.good {
					w.succeed(l)
				} else {
					w.fail(l)
				}
			}
			w.wantStands(g.Run.ID, c.want)
			if over := w.groupsOver(); len(over) == 1 && c.good < 3 {
				equal(w, "bad member", words(over[0].Bad, over[0].Why.Message, over[0].Merge == nil),
					words([]string{"m0", "m1", "m2"}[c.good], "503 from upstream", true))
			}
			w.cancel(g.Run.ID)
		}
	}},
	{"GroupsOfNoneAndOfOne", func(w *world) {
		w.jobs("a", "m")
		for _, c := range []struct {
			members string
			more    []func(*jobs.Group)
			want    string
		}{
			{"", []func(*jobs.Group){merged}, "; merging, 1 merges"},
			{"", []func(*jobs.Group){merged, needs(3)}, "; merging, 1 merges"},
			{"", nil, "; ending, 0 merges"},
			{"a", []func(*jobs.Group){merged}, "succeeded; merging, 1 merges"},
			{"a", nil, "succeeded; ending, 0 merges"},
		} {
			w.put(groupJob("g", c.members, c.more...))
			g := w.group("g")
			if c.members != "" {
				w.succeed(w.memberLease(g.Run.ID, 0))
			}
			w.wantStands(g.Run.ID, c.want)
			if c.more != nil {
				w.succeedWith(w.composed(w.memberLease(g.Run.ID, -1), `{"results":[]}`), "7")
			}
			over := w.oneOver()
			w.endGroup(over)
			equal(w, "group", words(w.state(g.Run.ID), over.Bad), words(jobs.Succeeded, ""))
		}
	}},
	{"MembersBornFailedCountAtOnce", func(w *world) {
		groupJobs(w, "a a", merged, needs(1))
		g := w.group("g", bearsFailed(0))
		w.wantStands(g.Run.ID, "failed, queued; members, 0 merges")
		w.succeed(w.memberLease(g.Run.ID, 1))
		w.wantStands(g.Run.ID, "failed, succeeded; merging, 1 merges")
		none := w.group("g", bearsFailed(0, 1))
		w.wantStands(none.Run.ID, "failed, failed; ending, 0 merges")
		over := w.oneOver()
		equal(w, "given back", words(over.Run.ID, over.Bad, over.Why.Kind), words(none.Run.ID, "m0", jobs.FailInvalid))
	}},
	{"MergeBornFailedEndsTheGroup", func(w *world) {
		groupJobs(w, "a", merged)
		g := w.group("g", func(g *store.GroupStart) {
			g.Merge.State, g.Merge.Error = jobs.Failed, &jobs.Failure{Kind: jobs.FailInvalid, Type: "invalid", Message: "no key"}
		})
		w.succeed(w.memberLease(g.Run.ID, 0))
		w.wantStands(g.Run.ID, "succeeded; ending, 1 merges")
		over := w.oneOver()
		equal(w, "merge", words(over.Merge.State, over.Merge.Error.Message), words(jobs.Failed, "no key"))
	}},
	{"MembersWhoseJobIsGoneAreNotGood", func(w *world) {
		groupJobs(w, "a b a", needs(1))
		w.enqueue("g")
		l := w.groupLease()
		f := w.started(l)
		f.Group.Members[1].Job, f.Group.Members[1].Sub.Run.Job = "gone", "gone"
		w.deleteJobOf("b")
		f.Group.Members[2].Sub.Run.Job = "b2"
		w.apply(f)
		w.wantStands(l.Run.ID, "queued, none missing, failed; members, 0 merges")
		equal(w, "why", w.run(w.members(l.Run.ID)[2].ID).Error.Kind, jobs.FailInvalid)
		w.succeed(w.memberLease(l.Run.ID, 0))
		equal(w, "given back", w.oneOver().Tally, store.GroupTally{Members: 3, Succeeded: 1, Failed: 1, Missing: 1})
	}},
	{"FirstBadMemberCancelsTheRest", groupCallsOff},
	{"GroupHoldsOnlyTheConcurrencyOfItsJob", groupSlots},
	{"GroupThatHadNotStartedWhenTheServerDiedStartsAsBefore", groupPutBack},
	{"GroupIsGivenBackOnceToAProcess", func(w *world) {
		groupJobs(w, "a")
		g := w.group("g")
		w.succeed(w.memberLease(g.Run.ID, 0))
		w.oneOver()
		equal(w, "given again", len(w.groupsOver()), 0)
		w.reopen()
		again := w.claim(store.Claim{First: true, Hold: true}).Groups
		equal(w, "given after a restart", len(again), 1)
		w.endGroup(again[0])
		w.reopen()
		equal(w, "given once it has ended", len(w.claim(store.Claim{First: true, Hold: true}).Groups), 0)
		equal(w, "phase", w.groupInfo(g.Run.ID).Phase, store.GroupOver)
		w.wantErr(w.finish(w.succeeded(again[0].Lease))[0].Err, store.ErrLease)
	}},
}

// groupJobs puts jobs a, b and m and a group of members.
func groupJobs(w *world, members string, more ...func(*jobs.Group)) {
	w.Helper()
	w.unbound()
	w.jobs("a", "b", "m")
	w.put(groupJob("g", members, more...))
}

// deleteJobOf makes a job b2 that is deleted.
func (w *world) deleteJobOf(name string) {
	w.Helper()
	w.put(webhook(name+"2", "", ""))
	w.deleteJob(name + "2")
}

func groupStarts(w *world) {
	groupJobs(w, "b a b", merged)
	id := w.enqueue("g", priority(3)).ID
	info := w.groupInfo(id)
	equal(w, "before it starts", words(info.Phase, info.Depth, len(info.Doc.Members), info.Tally.Members), "0 1 3 0")
	equal(w, "members before it starts", len(w.members(id)), 0)
	l := w.groupLease()
	equal(w, "lease", words(l.Run.ID, l.Run.State, l.Group.Depth, l.Group.KeepOf.IsNil(), len(l.Group.Doc.Members), l.Merges),
		words(id, jobs.Running, 1, true, 3, false))
	w.tick(time.Second)
	drainReady(w)
	w.apply(w.started(l))
	w.woken()
	w.reopen()
	w.wantStands(id, "queued, queued, queued; members, 0 merges")
	r := w.run(id)
	equal(w, "run", words(r.State, r.HeldBy == nil, r.Counts.Number, r.FinishedAt), words(jobs.Waiting, true, 1, jobs.Time(0)))
	equal(w, "attempts", diff(r.Attempts, []jobs.Attempt{{Number: 1, Version: 1, StartedAt: start, ExitCode: -1, Slices: 1}}), "")
	info = w.groupInfo(id)
	equal(w, "info", words(info.Tally, info.Deadline, info.Draft.Job, info.Draft.CorrelationID, info.Draft.Priority),
		words(store.GroupTally{Members: 3, Unfinished: 3}, jobs.Time(0), "m", id.String(), 3))
	for i, m := range w.members(id) {
		r := w.run(m.ID)
		equal(w, "member", words(m.Place, m.Name, m.Job, r.ID, r.Group, r.Place, r.Member, r.Trigger, string(r.Payload)),
			words(i, l.Group.Doc.Members[i].Name, l.Group.Doc.Members[i].Job, m.ID, id, i, m.Name, jobs.TriggerGroup, i))
	}
	waiting, err := w.Store.Waiting(w.ctx)
	w.check(err)
	equal(w, "that wait for a callback", len(waiting), 0)
	w.wantErr(w.finish(w.started(l))[0].Err, store.ErrState)
	equal(w, "given back", len(w.groupsOver()), 0)
	_, err = w.Group(w.ctx, w.members(id)[0].ID)
	w.wantErr(err, store.ErrNotFound)
	w.wantErr(w.Results(w.ctx, w.members(id)[0].ID, nil), store.ErrNotFound)
	equal(w, "lists of groups", runIDs(allRuns(w, store.RunFilter{Groups: true}, 9)), []jobs.ID{id})
	equal(w, "lists of groups of a job", len(allRuns(w, store.RunFilter{Groups: true, Job: "a"}, 9)), 0)
}

func groupMerges(w *world) {
	groupJobs(w, "b a b", merged)
	g := w.group("g")
	id := g.Run.ID
	// They end in another order than they stand.
	w.succeedWith(w.memberLease(id, 2), `{"n":  2}`)
	w.apply(w.retrying(w.memberLease(id, 0), time.Minute))
	w.succeedWith(w.memberLease(id, 1), `1`)
	w.wantStands(id, "retrying, succeeded, succeeded; members, 0 merges")
	w.tick(time.Minute)
	drainReady(w)
	w.succeedWith(w.memberLease(id, 0), `"0"`)
	w.woken()
	w.wantStands(id, "succeeded, succeeded, succeeded; merging, 1 merges")
	equal(w, "results", w.results(id), `m0 succeeded "0"; m1 succeeded 1; m2 succeeded {"n":  2}`)
	merge := w.groupInfo(id).Merges[0]
	r := w.run(merge.ID)
	equal(w, "merge", words(r.Job, r.Group, r.Place, r.Member, r.Trigger, r.CorrelationID, r.CreatedBy, r.OperationID, r.Payload == nil),
		words("m", id, -1, "", jobs.TriggerGroup, id.String(), "tester", merge.ID, true))
	equal(w, "times", words(r.CreatedAt, r.RunAt), words(w.now, w.now))
	l := w.composed(w.memberLease(id, -1), `{"group": 1}`)
	w.wantErr(w.KeepPayload(w.ctx, fenceOf(l), jobs.Raw("{}")), store.ErrState)
	w.apply(w.retrying(l, 0))
	w.reopen()
	w.wantErr(w.KeepPayload(w.ctx, fenceOf(l), jobs.Raw("{}")), store.ErrLease)
	equal(w, "given back", len(w.groupsOver()), 0)
	l = w.memberLease(id, -1)
	equal(w, "second attempt", words(l.Merges, string(l.Run.Payload)), words(false, `{"group": 1}`))
	w.tick(time.Second)
	c := w.claim(store.Claim{Hold: true, Finished: []store.Finish{w.succeeded(l)}})
	equal(w, "given back with its end", len(c.Groups), 1)
	over := c.Groups[0]
	equal(w, "group", words(over.Run.ID, over.Run.State, over.Tally, over.Merge.ID, string(over.Merge.Result), over.Bad),
		words(id, jobs.Waiting, store.GroupTally{Members: 3, Succeeded: 3}, merge.ID, `{ "ok":  true }`, ""))
	w.tick(time.Second)
	w.endGroup(over)
	r = w.run(id)
	equal(w, "run", words(r.State, r.FinishedAt, string(r.Result), len(r.Attempts), r.Attempts[0].FinishedAt),
		words(jobs.Succeeded, w.now, `{ "ok":  true }`, 1, w.now))
	w.wantStands(id, "succeeded, succeeded, succeeded; over, 1 merges")
}

func groupCallsOff(w *world) {
	groupJobs(w, "a a a a b", merged, needs(1), callsOff)
	w.pause("b", true, "")
	g := w.group("g")
	id := g.Run.ID
	w.succeed(w.memberLease(id, 0))
	runs, bad := w.memberLease(id, 1), w.memberLease(id, 3)
	w.await(w.memberLease(id, 2))
	res := w.finish(w.failed(bad))[0]
	equal(w, "to stop", words(res.Err, res.Stop), words(nil, []jobs.ID{runs.Run.ID}))
	w.wantStands(id, "succeeded, running, cancelled missing, failed, cancelled missing; members, 0 merges")
	_, err := w.Requeue(w.ctx, store.Requeue{Of: bad.Run.ID, ID: w.ids.Next(w.now.Std()), By: w.by()})
	w.wantErr(err, store.ErrState)
	a := w.run(w.members(id)[2].ID).Attempts[0]
	equal(w, "attempt that waited", words(a.Outcome, a.Decision.By, a.Decision.Reason),
		words(jobs.OutcomeCancelled, jobs.ByGroup, "another member of its group was not good"))
	again := w.finish(w.succeeded(runs))[0]
	equal(w, "success that comes too late", words(again.Err, again.CancelAsked), words(store.ErrState, true))
	w.apply(w.cancelled(runs))
	w.wantStands(id, "succeeded, cancelled missing, cancelled missing, failed, cancelled missing; ending, 0 merges")
	over := w.oneOver()
	equal(w, "bad member", words(over.Bad, over.Why.Message, over.Merge == nil), "m3 503 from upstream true")
	w.endGroup(over)
	equal(w, "state", w.state(id), jobs.Failed)
	// One that is born bad.
	other := w.group("g", bearsFailed(4))
	w.wantStands(other.Run.ID, "cancelled missing, cancelled missing, cancelled missing, cancelled missing, failed; ending, 0 merges")
}

func groupSlots(w *world) {
	w.workers = [store.Pools]int{2, 2, 2, 2}
	w.jobs("a", "m")
	j := webhook("g", "", `,"queue":"q","dependencies":["x"],"concurrency":{"limit":1},"rate":{"limit":9,"per":"1h"}`)
	j.Webhook, j.Group = nil, groupDoc("a", merged)
	w.put(j)
	w.share(store.KindQueue, "q", `{"concurrency":1}`)
	w.share(store.KindDependency, "x", `{"concurrency":1}`)
	w.enqueueN(2, "g", catchUp)
	l := w.groupLease()
	equal(w, "in use while it starts", words(w.inUse(jobs.GateQueue, "q"), w.inUse(jobs.GateDependency, "x")), "1 1")
	w.apply(w.started(l))
	for range 2 {
		equal(w, "in use", words(w.inUse(jobs.GateQueue, "q"), w.inUse(jobs.GateDependency, "x")), "0 0")
		more := w.claim(store.Claim{Free: [store.Pools]int{store.PoolGroup: 2}})
		equal(w, "started beside it", len(more.Leases), 0)
		w.reopen()
		// A limit that comes is not held either.
		w.share(store.KindQueue, "q", `{"concurrency":2}`)
	}
	w.succeed(w.memberLease(l.Run.ID, 0))
	w.succeed(w.composed(w.memberLease(l.Run.ID, -1), "1"))
	w.endGroup(w.oneOver())
	next := w.groupLease()
	equal(w, "next", next.Run.ID != l.Run.ID, true)
}

func groupPutBack(w *world) {
	w.jobs("a")
	j := webhook("g", "", `,"concurrency":{"limit":1}`)
	j.Webhook, j.Group = nil, groupDoc("a")
	w.put(j)
	ids := w.enqueueN(2, "g")
	before := w.run(ids[0])
	for range 7 { // more often than any other run outlives
		l := w.groupLease()
		equal(w, "lease", words(l.Run.ID, l.Run.Counts), words(ids[0], jobs.Counts{Number: 1}))
		w.tick(time.Second)
		w.reopen()
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		equal(w, "orphans", len(orphans), 0)
		equal(w, "run", diff(w.run(ids[0]), before), "")
	}
	l := w.groupLease()
	w.cancel(ids[0])
	w.reopen()
	orphans, err := w.Orphans(w.ctx)
	w.check(err)
	equal(w, "orphans", words(len(orphans), orphans[0].Run.ID, orphans[0].Group != nil), words(1, l.Run.ID, true))
	w.apply(w.cancelled(orphans[0]))
	equal(w, "next", w.groupLease().Run.ID, ids[1])
}
