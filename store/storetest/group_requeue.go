package storetest

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var groupRequeueClaims = []claim{
	{"MemberRequeuedBeforeTheMergeIsWaitedFor", func(w *world) {
		groupJobs(w, "a a", merged)
		g := w.group("g")
		id := g.Run.ID
		bad, other := w.memberLease(id, 0), w.memberLease(id, 1)
		w.fail(bad)
		again := w.requeueSame(bad.Run.ID)
		r := w.run(again)
		equal(w, "requeue", words(r.Group, r.Place, r.Member, r.OperationID), words(id, 0, "m0", bad.Run.OperationID))
		w.succeed(other)
		w.wantStands(id, "queued, succeeded; members, 0 merges")
		w.succeedWith(w.memberLease(id, 0), "2")
		w.wantStands(id, "succeeded, succeeded; merging, 1 merges")
		equal(w, "results", w.results(id), `m0 succeeded 2; m1 succeeded { "ok":  true }`)
	}},
	{"MemberRequeuedLaterCanBeMergedIn", remerges},
	{"ResultsOfAMemberThatRunsAgainAreThoseBefore", func(w *world) {
		groupJobs(w, "a a", merged, needs(0))
		g := w.group("g")
		id := g.Run.ID
		w.fail(w.memberLease(id, 0))
		w.succeedWith(w.memberLease(id, 1), "1")
		w.requeueSame(w.members(id)[0].ID)
		w.requeueSame(w.members(id)[1].ID)
		w.wantStands(id, "queued, queued; merging, 1 merges")
		equal(w, "results", w.results(id), "m0 failed 503 from upstream; m1 succeeded 1")
		w.succeedWith(w.memberLease(id, 0), "2")
		equal(w, "results", w.results(id), "m0 succeeded 2; m1 succeeded 1")
	}},
	{"RequeueOfAMergeMergesToo", func(w *world) {
		groupJobs(w, "a", merged)
		g := w.group("g")
		id := g.Run.ID
		w.succeed(w.memberLease(id, 0))
		w.fail(w.composed(w.memberLease(id, -1), `{"results":[1]}`))
		first := w.groupInfo(id).Merges[0].ID
		w.endGroup(w.oneOver())
		second := w.requeueSame(first)
		r := w.run(second)
		equal(w, "requeue", words(r.Group, r.Place, string(r.Payload)), words(id, -1, `{"results":[1]}`))
		w.wantErr(w.remergeErr(id), store.ErrState)
		l := w.memberLease(id, -1)
		equal(w, "lease", words(l.Run.ID, l.Merges, string(l.Run.Payload)), words(second, false, `{"results":[1]}`))
		w.cancel(second)
		w.apply(w.cancelled(l))
		equal(w, "state of the group stays", w.state(id), jobs.Failed)
		// One that was never composed.
		w.requeueSame(second)
		other := w.remergeErr(id)
		w.wantErr(other, store.ErrState)
		w.cancel(w.groupInfo(id).Merges[2].ID)
		equal(w, "given back", len(w.groupsOver()), 0)
		third := w.remerge(id)
		w.cancel(third)
		l = w.composed(w.takeThis(w.requeueSame(third)), "{}")
		w.apply(w.retrying(l, 0))
		l = w.takeOne()
		equal(w, "payload {} is one", words(l.Merges, string(l.Run.Payload)), "false {}")
	}},
	{"RequeueOfAGroupKeepsWhatIsGood", requeuesGroup},
	{"RequeueOfAnOlderRunOfAGroupGoesOnFromTheLast", func(w *world) {
		groupJobs(w, "a a", merged)
		first := w.group("g").Run.ID
		w.fail(w.memberLease(first, 0))
		w.succeed(w.memberLease(first, 1))
		w.endGroup(w.oneOver())
		second := w.requeueSame(first)
		f := w.started(w.groupLease())
		old := w.members(first)
		f.Group.Members[1].Keep = old[1].ID
		f.Group.Members[0].Of, f.Group.Members[0].Sub.Run.OperationID = old[0].ID, old[0].ID
		w.apply(f)
		failed := w.members(second)[0].ID
		w.fail(w.memberLease(second, 0))
		w.endGroup(w.oneOver())
		third := w.requeueSame(first)
		l := w.groupLease()
		equal(w, "lease", words(l.Run.ID, l.Group.KeepOf), words(third, second))
		f = w.started(l)
		f.Group.Members[1].Keep = old[1].ID
		f.Group.Members[0].Of, f.Group.Members[0].Sub.Run.OperationID = old[0].ID, old[0].ID // of the first, all the same
		w.apply(f)
		made := w.run(w.members(third)[0].ID)
		equal(w, "chain", words(made.RequeuedFrom, w.run(failed).RequeuedTo, w.run(old[0].ID).RequeuedTo), words(failed, made.ID, failed))
		equal(w, "dealt", words(*w.run(failed).Dealt, *w.run(old[0].ID).Dealt), words(jobs.FailureRequeued, jobs.FailureRequeued))
		w.succeed(w.memberLease(third, 0))
		equal(w, "dealt", words(*w.run(failed).Dealt, *w.run(old[0].ID).Dealt), words(jobs.FailureResolved, jobs.FailureResolved))
	}},
	{"RequeueOfAGroupAnewKeepsNothing", func(w *world) {
		groupJobs(w, "a")
		g := w.group("g")
		w.fail(w.memberLease(g.Run.ID, 0))
		w.endGroup(w.oneOver())
		for _, change := range []func(*store.Requeue){
			func(r *store.Requeue) { r.Reset = true },
			func(r *store.Requeue) { r.Payload = jobs.Raw("[1]") },
		} {
			id := w.requeue(g.Run.ID, change).ID
			l := w.groupLease()
			equal(w, "lease", words(l.Run.ID, l.Group.KeepOf.IsNil(), len(l.Group.Doc.Members)), words(id, true, 1))
			w.cancel(id)
			w.apply(w.cancelled(l))
		}
	}},
	{"RequeueOfAGroupThatNeverStartedKeepsWhatThatWouldHave", func(w *world) {
		groupJobs(w, "a")
		g := w.group("g")
		w.fail(w.memberLease(g.Run.ID, 0))
		w.endGroup(w.oneOver())
		second := w.requeueSame(g.Run.ID)
		w.wantErr(w.Remove(w.ctx, g.Run.ID, w.by()), store.ErrState)
		w.cancel(second)
		third := w.requeueSame(second)
		l := w.groupLease()
		equal(w, "lease", words(l.Run.ID, l.Group.KeepOf), words(third, g.Run.ID))
	}},
	{"GroupThatNoJobDescribesBringsWhatItIs", brings},
	{"DeletionOfAJobIsRefusedWhileAGroupNamesIt", refusedByGroups},
	{"DeletionOfAGroupsJobCancelsItsGroups", func(w *world) {
		groupJobs(w, "a a", merged)
		idle, busy := w.group("g"), w.group("g")
		w.cancel(w.members(busy.Run.ID)[1].ID)
		for i := range 2 {
			w.cancel(w.members(idle.Run.ID)[i].ID)
		}
		other := w.group("g")
		queued := w.enqueue("g").ID
		l := w.memberLease(busy.Run.ID, 0)
		w.tick(time.Second)
		n, stop, err := w.Store.DeleteJob(w.ctx, "g", nil, w.by())
		w.check(err)
		equal(w, "cancelled", n, 4)
		others := w.members(other.Run.ID)
		equal(w, "to stop", count(idTexts(stop)), count(idTexts([]jobs.ID{l.Run.ID, others[0].ID, others[1].ID})))
		equal(w, "states", words(w.state(idle.Run.ID), w.state(busy.Run.ID), w.state(queued)), "cancelled waiting cancelled")
		w.wantErr(w.Remove(w.ctx, w.members(busy.Run.ID)[1].ID, w.by()), store.ErrState)
		w.apply(w.cancelled(l))
		var found bool
		for _, g := range w.groupsOver() {
			if g.Run.ID == busy.Run.ID {
				found = true
				w.endGroup(g)
			}
		}
		equal(w, "given back, state", words(found, w.state(busy.Run.ID)), words(true, jobs.Cancelled))
	}},
	{"NothingOfAnUnfinishedGroupIsRemoved", keepsAllOfGroups},
	{"UpgradeMakesRunsGroupsOrNone", func(w *world) {
		w.jobs("a", "g")
		id := w.enqueue("g").ID
		later := w.enqueue("g", dueIn(time.Hour)).ID
		w.put(groupJob("g", "a"))
		_, err := w.UpgradeRuns(w.ctx, "g", w.by())
		w.check(err)
		equal(w, "groups", len(allRuns(w, store.RunFilter{Groups: true}, 9)), 2)
		l := w.groupLease()
		equal(w, "lease", words(l.Run.ID, l.Group != nil), words(id, true))
		w.apply(w.started(l))
		w.put(webhook("g", "", ""))
		_, err = w.UpgradeRuns(w.ctx, "g", w.by())
		w.check(err)
		equal(w, "groups", runIDs(allRuns(w, store.RunFilter{Groups: true}, 9)), []jobs.ID{id})
		_, err = w.Group(w.ctx, later)
		w.wantErr(err, store.ErrNotFound)
	}},
}

func idTexts(ids []jobs.ID) (texts []string) {
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return texts
}

func (w *world) remergeErr(group jobs.ID) error {
	_, err := w.Remerge(w.ctx, group, w.groupInfo(group).Draft, w.by())
	return err
}

func (w *world) remerge(group jobs.ID) jobs.ID {
	w.Helper()
	out, err := w.Remerge(w.ctx, group, w.groupInfo(group).Draft, w.by())
	w.check(err)
	return out.ID
}

func remerges(w *world) {
	groupJobs(w, "a a", merged, needs(1))
	g := w.group("g")
	id := g.Run.ID
	w.wantErr(w.remergeErr(id), store.ErrState)
	w.fail(w.memberLease(id, 0))
	w.succeedWith(w.memberLease(id, 1), "1")
	w.succeedWith(w.composed(w.memberLease(id, -1), `{"n":1}`), "10")
	w.wantErr(w.remergeErr(id), store.ErrState) // it has not ended
	w.endGroup(w.oneOver())
	w.requeueSame(w.members(id)[0].ID)
	w.wantErr(w.remergeErr(id), store.ErrState) // a member has not
	w.succeedWith(w.memberLease(id, 0), "2")
	w.tick(time.Second)
	drainReady(w)
	second := w.remerge(id)
	w.woken()
	equal(w, "audit", actions(audit(w)[:1]), "remerge "+id.String()+" ")
	w.wantStands(id, "succeeded, succeeded; over, 2 merges")
	w.wantErr(w.remergeErr(id), store.ErrState) // a merge has not
	w.wantErr(w.Remove(w.ctx, w.members(id)[1].ID, w.by()), store.ErrState)
	w.wantErr(w.Remove(w.ctx, id, w.by()), store.ErrState)
	equal(w, "results", w.results(id), "m0 succeeded 2; m1 succeeded 1")
	l := w.composed(w.memberLease(id, -1), `{"n":2}`)
	equal(w, "merge", words(l.Run.ID, l.Run.CreatedAt), words(second, w.now))
	w.succeedWith(l, "20")
	r := w.run(id)
	equal(w, "group", words(r.State, string(r.Result), len(r.Attempts), len(w.groupsOver())), words(jobs.Succeeded, "10", 1, 0))
	w.check(w.Remove(w.ctx, w.members(id)[1].ID, w.by()))
	w.wantStands(id, "succeeded, none missing; over, 2 merges")
	w.check(w.Remove(w.ctx, id, w.by()))
	_, err := w.Group(w.ctx, id)
	w.wantErr(err, store.ErrNotFound)
	equal(w, "what is left", len(allRuns(w, store.RunFilter{}, 9)), 4)
	// A group that merges nothing.
	w.put(groupJob("g", "a"))
	g = w.group("g")
	w.succeed(w.memberLease(g.Run.ID, 0))
	w.endGroup(w.oneOver())
	_, err = w.Remerge(w.ctx, g.Run.ID, &jobs.Run{Job: "m"}, w.by())
	w.wantErr(err, store.ErrState)
	_, err = w.Remerge(w.ctx, w.members(g.Run.ID)[0].ID, &jobs.Run{Job: "m"}, w.by())
	w.wantErr(err, store.ErrNotFound)
}

// requeuesGroup requeues a group: a good member is kept, one that was requeued since and has not ended too,
// a bad one is requeued, and what was none is made.
func requeuesGroup(w *world) {
	groupJobs(w, "a a a", merged)
	g := w.group("g")
	id := g.Run.ID
	w.succeedWith(w.memberLease(id, 0), "0")
	w.fail(w.memberLease(id, 1))
	w.fail(w.goOn(w.memberLease(id, 2), "1"))
	w.endGroup(w.oneOver())
	old := w.members(id)
	under := w.requeueSame(old[1].ID)
	running := w.memberLease(id, 1)
	w.put(groupJob("g", "a a a b", merged))
	again := w.requeueSame(id)
	l := w.groupLease()
	equal(w, "lease", words(l.Run.ID, l.Group.KeepOf, l.Group.Depth, len(l.Group.Doc.Members)), words(again, id, 1, 4))
	w.wantErr(w.Remove(w.ctx, old[0].ID, w.by()), store.ErrState)
	f := w.started(l)
	for i, m := range w.members(id) {
		if m.Run.State == jobs.Succeeded || !m.Run.State.Terminal() {
			f.Group.Members[i].Keep = m.ID
			continue
		}
		f.Group.Members[i].Of = m.ID
		f.Group.Members[i].Sub.Run.OperationID = m.Run.OperationID
	}
	w.apply(f)
	list := w.members(again)
	equal(w, "kept", words(list[0].ID, list[1].ID), words(old[0].ID, under))
	equal(w, "whose they are", words(w.run(list[0].ID).Group, w.run(list[1].ID).Group, w.run(list[1].ID).Place), words(id, again, 1))
	third := w.run(list[2].ID)
	equal(w, "requeued", words(third.RequeuedFrom, third.OperationID, third.Continues, w.run(old[2].ID).RequeuedTo, third.Group),
		words(old[2].ID, old[2].Run.OperationID, 1, third.ID, again))
	equal(w, "failure behind it", *w.run(old[2].ID).Dealt, jobs.FailureRequeued)
	w.wantStands(again, "succeeded, running, queued, queued; members, 0 merges")
	w.wantStands(id, "succeeded, running, failed; over, 0 merges")
	w.wantErr(w.Remove(w.ctx, old[0].ID, w.by()), store.ErrState)
	w.check(w.Remove(w.ctx, id, w.by()))
	w.succeed(w.memberLease(again, 2))
	w.succeed(w.memberLease(again, 3))
	w.succeedWith(running, "1") // whose lease names the group before
	w.wantStands(again, "succeeded, succeeded, succeeded, succeeded; merging, 1 merges")
	w.succeed(w.composed(w.memberLease(again, -1), "1"))
	w.endGroup(w.oneOver())
	equal(w, "state", w.state(again), jobs.Succeeded)
	// Requeued behind the back of a group that is about to start.
	w.put(groupJob("g", "a"))
	g = w.group("g")
	w.fail(w.memberLease(g.Run.ID, 0))
	w.endGroup(w.oneOver())
	w.requeueSame(g.Run.ID)
	l = w.groupLease()
	f = w.started(l)
	f.Group.Members[0].Of = w.members(g.Run.ID)[0].ID
	other := w.requeueSame(f.Group.Members[0].Of)
	w.apply(f)
	equal(w, "kept", words(w.members(l.Run.ID)[0].ID, w.run(other).Group), words(other, l.Run.ID))
	equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{other})
	w.succeed(w.leases[other])
	w.wantStands(l.Run.ID, "succeeded; ending, 0 merges")
}

func brings(w *world) {
	groupJobs(w, "a")
	doc := groupDoc("a b", merged, needs(1))
	doc.Members[0].Payload = jobs.Raw(`"{{ payload.n }}"`)
	bringing := func(s *store.Submission) { s.Group = doc }
	id := w.enqueue(jobs.GroupJob, bringing, keyed("k", "1")).ID
	again := w.enqueue(jobs.GroupJob, bringing, keyed("k", "1"))
	equal(w, "by its key", words(again.ID, again.Duplicate), words(id, true))
	for range 2 {
		w.reopen()
		l := w.groupLease()
		equal(w, "lease", words(l.Run.Job, string(l.Group.Doc.Members[0].Payload), l.Group.Doc.Members[1].Job, l.Group.Doc.Merge.Job,
			*l.Group.Doc.Need.Count, l.Group.Depth), words(jobs.GroupJob, `"{{ payload.n }}"`, "b", "m", 1, 1))
		f := w.started(l)
		for i := range f.Group.Doc.Members {
			f.Group.Doc.Members[i].Payload = nil
		}
		w.apply(f)
		info := w.groupInfo(l.Run.ID)
		equal(w, "payload in what is told of it", string(info.Doc.Members[0].Payload), "")
		w.cancel(l.Run.ID)
		equal(w, "state", w.state(l.Run.ID), jobs.Cancelled)
		w.requeue(id, func(r *store.Requeue) { r.Reset = true })
	}
	list, _, err := w.Jobs(w.ctx, store.Page{Limit: 9})
	w.check(err)
	for _, j := range list {
		equal(w, "hidden", j.Name == jobs.GroupJob, false)
	}
	_, err = w.Store.Job(w.ctx, jobs.GroupJob)
	w.check(err)
	_, err = w.DeleteJob(w.ctx, jobs.GroupJob, nil, w.by())
	w.wantErr(err, store.ErrNotFound)
	_, err = w.PauseJob(w.ctx, jobs.GroupJob, true, "", w.by())
	w.wantErr(err, store.ErrNotFound)
	_, err = w.save(store.PutJob{Job: groupJob(jobs.GroupJob, "a")})
	w.wantErr(err, store.ErrNotFound)
}

// groupsNaming are those for which a deletion was refused.
func groupsNaming(w *world, err error) []jobs.ID {
	w.Helper()
	named := (*store.NamedError)(nil)
	if !errors.As(err, &named) {
		w.Fatalf("error is %v, want a NamedError", err)
	}
	return named.Groups
}

func refusedByGroups(w *world) {
	groupJobs(w, "a", merged)
	refused := func(job string, groups ...jobs.ID) {
		w.Helper()
		_, err := w.DeleteJob(w.ctx, job, nil, w.by())
		equal(w, "named by", groupsNaming(w, err), groups)
	}
	w.enqueue("g")
	l := w.groupLease()
	w.apply(w.started(l))
	queued := w.enqueue("g").ID
	w.put(groupJob("g", "b")) // those unfinished are of the version before
	bringing := w.enqueue(jobs.GroupJob, func(s *store.Submission) { s.Group = groupDoc("m") }).ID
	refused("a", l.Run.ID, queued)
	refused("m", l.Run.ID, queued, bringing)
	w.cancel(queued)
	w.succeed(w.memberLease(l.Run.ID, 0))
	refused("m", l.Run.ID, bringing)
	w.cancel(l.Run.ID)
	w.deleteJob("a")
	refused("m", bringing)
	// Pruned with the job of the groups that name it.
	apply := func(puts ...*jobs.Job) error {
		c := store.Changes{Set: "s", Prune: true}
		for _, j := range puts {
			c.Jobs = append(c.Jobs, store.PutJob{Job: j})
		}
		_, err := w.Save(w.ctx, c, w.by())
		return err
	}
	w.check(apply(webhook("x", "", ""), groupJob("gx", "x")))
	w.enqueue("gx")
	w.apply(w.started(w.groupLeaseBut(bringing)))
	equal(w, "named", len(groupsNaming(w, apply(groupJob("gx", "")))), 1)
	w.check(apply())
}

// groupLeaseBut claims the group that starts next besides one.
func (w *world) groupLeaseBut(but jobs.ID) store.Lease {
	w.Helper()
	leases := w.claim(store.Claim{Free: [store.Pools]int{store.PoolGroup: 9}}).Leases
	for _, l := range leases {
		if l.Run.ID != but {
			return l
		}
	}
	w.Fatalf("claimed %d groups, want another one", len(leases))
	return store.Lease{}
}

func keepsAllOfGroups(w *world) {
	w.unbound()
	w.put(webhook("a", "", `,"retain":{"succeeded":"1s","cancelled":"1s","failed":"1s"}`))
	w.put(webhook("m", "", `,"retain":{"succeeded":"1s","cancelled":"1s","failed":"1s"}`))
	w.jobs("b")
	w.put(groupJob("inner", "a", merged))
	w.put(groupJob("g", "a inner b a"))
	g := w.group("g")
	id := g.Run.ID
	w.take(9)
	l := w.groupLease()
	w.apply(w.started(l))
	inner := l.Run.ID
	w.succeed(w.memberLease(id, 0))
	w.succeed(w.memberLease(inner, 0))
	w.succeed(w.composed(w.memberLease(inner, -1), "1"))
	w.endGroup(w.oneOver())
	w.fail(w.memberLease(id, 3))
	w.cancel(w.requeueSame(w.members(id)[3].ID))
	ended := []jobs.ID{
		w.members(id)[0].ID, inner, w.members(inner)[0].ID, w.groupInfo(inner).Merges[0].ID, w.members(id)[3].ID,
		w.run(w.members(id)[3].ID).RequeuedFrom,
	}
	w.tick(100 * day)
	prune(w)
	for _, run := range ended {
		equal(w, "state", w.state(run).Terminal(), true)
		w.wantErr(w.Remove(w.ctx, run, w.by()), store.ErrState)
	}
	w.succeed(w.memberLease(id, 2))
	w.endGroup(w.oneOver())
	for _, run := range ended[2:4] {
		w.check(w.Remove(w.ctx, run, w.by()))
	}
	prune(w)
	_, err := w.Run(w.ctx, ended[0])
	w.wantErr(err, store.ErrNotFound)
	w.wantStands(id, "none missing, none missing, succeeded, none missing; over, 0 merges")
}
