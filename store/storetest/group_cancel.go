package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var groupCancelClaims = []claim{
	{"MemberRequeuedAsItsGroupIsAboutToEndIsWaitedFor", func(w *world) {
		groupJobs(w, "a a")
		id := w.group("g").Run.ID
		cancelBoth := func() {
			for _, m := range w.members(id) {
				w.cancel(m.ID)
			}
			w.wantStands(id, "cancelled missing, cancelled missing; ending, 0 merges")
		}
		cancelBoth()
		w.requeueSame(w.members(id)[0].ID)
		w.requeueSame(w.members(id)[1].ID)
		equal(w, "ended", len(w.groupsOver()), 0)
		w.wantStands(id, "queued, queued; members, 0 merges")
		w.succeed(w.memberLease(id, 0))
		w.cancel(w.members(id)[1].ID)
		again := w.requeueSame(w.members(id)[0].ID)
		w.cancel(again)
		w.apply(w.cancelled(w.memberLease(id, 1)))
		over := w.oneOver()
		_, err := w.Requeue(w.ctx, store.Requeue{
			Of: again, ID: w.ids.Next(w.now.Std()), Trigger: jobs.TriggerRequeue, By: w.by(), Creator: "tester",
		})
		w.wantErr(err, store.ErrState)
		equal(w, "tally", over.Tally, store.GroupTally{Members: 2, Missing: 2})
		w.endGroup(over)
	}},
	{"CancelOfAGroupThatMergesWaitsForAMemberThatWasRequeued", func(w *world) {
		groupJobs(w, "a a", merged, needs(1))
		id := w.group("g").Run.ID
		w.fail(w.memberLease(id, 0))
		w.succeed(w.memberLease(id, 1))
		again := w.requeueSame(w.members(id)[0].ID)
		w.pause("m", true, "")
		l := w.memberLease(id, 0)
		out, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		equal(w, "answer", words(out.State == jobs.Cancelled, out.Stop), words(false, []jobs.ID{again}))
		equal(w, "ended", len(w.groupsOver()), 0)
		w.apply(w.cancelled(l))
		w.endGroup(w.oneOver())
		equal(w, "state", w.state(id), jobs.Cancelled)
	}},
	{"NoRemergeWhileANewerRunOfTheGroupHasTakenAMemberOver", func(w *world) {
		groupJobs(w, "a a", merged, needs(1))
		id := w.group("g").Run.ID
		w.fail(w.memberLease(id, 0))
		w.succeed(w.memberLease(id, 1))
		w.succeed(w.composed(w.memberLease(id, -1), "[]"))
		w.endGroup(w.oneOver())
		under := w.requeueSame(w.members(id)[0].ID)
		w.requeueSame(id)
		f := w.started(w.groupLease())
		for i, m := range w.members(id) {
			f.Group.Members[i].Keep = m.ID
		}
		w.apply(f)
		_, err := w.Remerge(w.ctx, id, w.groupInfo(id).Draft, w.by())
		w.wantErr(err, store.ErrState)
		w.take(9)
		w.succeed(w.leases[under])
		_, err = w.Remerge(w.ctx, id, w.groupInfo(id).Draft, w.by())
		w.check(err)
	}},
	{"CancelOfAGroupOfWhichNothingRunsEndsItAtOnce", func(w *world) {
		groupJobs(w, "a a b", merged)
		g := w.group("g")
		w.await(w.memberLease(g.Run.ID, 0))
		w.apply(w.retrying(w.memberLease(g.Run.ID, 1), time.Hour))
		w.apply(w.retrying(w.memberLease(g.Run.ID, 2), time.Hour))
		w.tick(time.Second)
		out, err := w.Cancel(w.ctx, g.Run.ID, w.by())
		w.check(err)
		equal(w, "answer", words(out.State, len(out.Stop)), words(jobs.Cancelled, 0))
		w.wantStands(g.Run.ID, "cancelled missing, cancelled missing, cancelled missing; over, 0 merges")
		r := w.run(g.Run.ID)
		equal(w, "run", words(r.State, r.FinishedAt, len(r.Attempts)), words(jobs.Cancelled, w.now, 1))
		a := r.Attempts[0]
		equal(w, "attempt", words(a.Number, a.Outcome, a.FinishedAt, a.Decision.By, a.Decision.Reason),
			words(1, jobs.OutcomeCancelled, w.now, jobs.ByCancel, "cancelled on request"))
		equal(w, "given back", len(w.groupsOver()), 0)
		equal(w, "audit", actions(audit(w)[:1]), "cancel "+g.Run.ID.String()+" ")
		w.wantErr(w.finish(w.succeeded(g))[0].Err, store.ErrLease)
	}},
	{"CancelOfAGroupReachesAllDepths", groupCancelsDeep},
	{"CancelBeforeAGroupHasStarted", func(w *world) {
		groupJobs(w, "a", merged)
		id := w.enqueue("g").ID
		w.cancel(id)
		equal(w, "state", words(w.state(id), w.groupInfo(id).Phase, len(w.members(id))), words(jobs.Cancelled, 0, 0))
		id = w.enqueue("g").ID
		l := w.groupLease()
		out, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		equal(w, "answer", words(out.State, out.Stop), words(jobs.Running, []jobs.ID{id}))
		res := w.finish(w.started(l))[0]
		equal(w, "start", words(res.Err, res.CancelAsked), words(store.ErrState, true))
		equal(w, "members", len(w.members(id)), 0)
		w.apply(w.cancelled(l))
		equal(w, "state", w.state(id), jobs.Cancelled)
	}},
	{"CancelWhileItMergesEndsTheMergeToo", func(w *world) {
		groupJobs(w, "a", merged)
		for _, runs := range []bool{false, true} {
			g := w.group("g")
			w.succeed(w.memberLease(g.Run.ID, 0))
			merge := w.groupInfo(g.Run.ID).Merges[0].ID
			if !runs {
				w.cancel(g.Run.ID)
				equal(w, "states", words(w.state(g.Run.ID), w.state(merge)), "cancelled cancelled")
				continue
			}
			l := w.memberLease(g.Run.ID, -1)
			out, err := w.Cancel(w.ctx, g.Run.ID, w.by())
			w.check(err)
			equal(w, "answer", words(out.State, out.Stop), words(jobs.Waiting, []jobs.ID{merge}))
			w.apply(w.cancelled(l))
			over := w.oneOver()
			equal(w, "merge, cancel", words(over.Merge.State, over.Run.CancelRequestedAt), words(jobs.Cancelled, w.now))
			w.endGroup(over)
			equal(w, "state", w.state(g.Run.ID), jobs.Cancelled)
		}
	}},
	{"CancelOfAGroupOfWhichAllIsOverEndsIt", func(w *world) {
		groupJobs(w, "a")
		g := w.group("g")
		w.fail(w.memberLease(g.Run.ID, 0))
		over := w.oneOver()
		w.cancel(g.Run.ID)
		equal(w, "state", w.state(g.Run.ID), jobs.Cancelled)
		w.wantErr(w.finish(w.failed(over.Lease))[0].Err, store.ErrLease)
	}},
	{"CancelOfTheLastMemberSettlesTheGroup", func(w *world) {
		groupJobs(w, "a a", merged, needs(1))
		g := w.group("g")
		ids := w.members(g.Run.ID)
		w.cancel(ids[0].ID)
		l := w.memberLease(g.Run.ID, 1)
		w.cancel(ids[1].ID)
		w.wantStands(g.Run.ID, "cancelled missing, running; members, 0 merges")
		w.apply(w.cancelled(l))
		w.wantStands(g.Run.ID, "cancelled missing, cancelled missing; ending, 0 merges")
		w.endGroup(w.oneOver())
		g = w.group("g")
		w.succeed(w.memberLease(g.Run.ID, 0))
		other := w.members(g.Run.ID)[1].ID
		w.apply(w.retrying(w.memberLease(g.Run.ID, 1), time.Hour))
		drainReady(w)
		w.cancel(other)
		w.woken()
		w.wantStands(g.Run.ID, "succeeded, cancelled missing; merging, 1 merges")
	}},
	{"DeadlineCancelsMembersThatAreNotDone", groupDeadline},
	{"DeadlineFollowsTheClock", func(w *world) {
		groupJobs(w, "b", merged, needs(0))
		w.pause("b", true, "")
		g := w.group("g", withinDeadline(w, time.Hour))
		w.tick(3 * time.Hour)
		w.shift(3 * time.Hour)
		equal(w, "next due", w.nextDue(), w.now.Add(time.Hour))
		w.reopen()
		equal(w, "next due after a restart", w.nextDue(), w.now.Add(time.Hour))
		w.tick(time.Hour)
		w.claim(store.Claim{Hold: true})
		w.wantStands(g.Run.ID, "cancelled missing; merging, 1 merges")
		equal(w, "next due", w.nextDue(), jobs.Time(0))
	}},
	{"DeadlineOfAGroupThatMergesIsOver", func(w *world) {
		groupJobs(w, "a", merged)
		g := w.group("g", withinDeadline(w, time.Hour))
		w.succeed(w.memberLease(g.Run.ID, 0))
		equal(w, "next due", w.nextDue(), jobs.Time(0))
		w.tick(2 * time.Hour)
		equal(w, "claimed", len(w.take(9)), 1)
		w.wantStands(g.Run.ID, "succeeded; merging, 1 merges")
	}},
	{"NewerTickThatReplacesWaitsForTheGroupToEnd", func(w *world) {
		groupJobs(w, "a", merged)
		w.applyPolicies("", own("x", "g", `,"overlap":"replace"`))
		id := w.nextRun("x")
		l := w.groupLease()
		w.apply(w.started(l))
		member := w.memberLease(id, 0)
		got := w.next("x")
		equal(w, "to stop", words(got.Stop, len(got.Cancelled)), words([]jobs.ID{member.Run.ID}, 0))
		newer := w.ran(got)
		equal(w, "claimed", len(w.claim(store.Claim{Free: [store.Pools]int{store.PoolGroup: 1}}).Leases), 0)
		w.apply(w.cancelled(member))
		w.endGroup(w.oneOver())
		equal(w, "next", words(w.state(id), w.groupLease().Run.ID), words(jobs.Cancelled, newer))
	}},
}

// groupCancelsDeep cancels a group in which another one runs.
func groupCancelsDeep(w *world) {
	groupJobs(w, "a")
	w.put(groupJob("inner", "a b a", merged))
	w.put(groupJob("outer", "b inner a inner", merged))
	outer := w.group("outer")
	w.take(100)
	for range 2 {
		l := w.groupLease()
		equal(w, "depth", words(l.Group.Depth, l.Run.Group), words(2, outer.Run.ID))
		w.apply(w.started(l))
	}
	list := w.members(outer.Run.ID)
	first, second := list[1].ID, list[3].ID
	w.take(100)
	w.succeed(w.memberLease(outer.Run.ID, 0))
	w.succeed(w.memberLease(outer.Run.ID, 2))
	for i := range 3 {
		l := w.memberLease(first, i)
		if i == 1 {
			w.await(l)
		} else {
			w.succeed(l)
		}
		if i != 2 {
			w.await(w.memberLease(second, i))
		}
	}
	runs := w.members(second)[2].ID
	w.tick(time.Second)
	for range 2 { // asked again it says the same
		out, err := w.Cancel(w.ctx, outer.Run.ID, w.by())
		w.check(err)
		equal(w, "answer", words(out.State, out.Stop), words(jobs.Waiting, []jobs.ID{runs}))
	}
	equal(w, "audit", actions(audit(w)[:1]), "cancel "+outer.Run.ID.String()+" ")
	w.wantStands(first, "succeeded, cancelled missing, succeeded; over, 0 merges")
	w.wantStands(second, "cancelled missing, cancelled missing, running; members, 0 merges")
	w.wantStands(outer.Run.ID, "succeeded, cancelled missing, succeeded, waiting; members, 0 merges")
	_, err := w.Requeue(w.ctx, store.Requeue{Of: first, ID: w.ids.Next(w.now.Std()), By: w.by()})
	w.wantErr(err, store.ErrState)
	w.apply(w.cancelled(w.leases[runs]))
	over := w.oneOver()
	equal(w, "given back", words(over.Run.ID, over.Run.CancelRequestedAt, over.Merge == nil), words(second, w.now, true))
	w.endGroup(over)
	over = w.oneOver()
	equal(w, "given back", words(over.Run.ID, over.Tally), words(outer.Run.ID, store.GroupTally{Members: 4, Succeeded: 2, Missing: 2}))
	w.endGroup(over)
	equal(w, "state", words(w.state(second), w.state(outer.Run.ID)), "cancelled cancelled")
}

func groupDeadline(w *world) {
	w.jobs("a", "b")
	w.put(groupJob("inner", "a b"))
	groupJobs(w, "a a inner b", merged, needs(1))
	w.pause("b", true, "")
	other := w.group("inner")
	g := w.group("g", withinDeadline(w, time.Hour))
	id := g.Run.ID
	w.apply(w.started(w.groupLease()))
	inner := w.members(id)[2].ID
	w.succeed(w.memberLease(id, 0))
	runs, deep := w.memberLease(id, 1), w.memberLease(inner, 0)
	equal(w, "deadline", words(w.groupInfo(id).Deadline, w.nextDue()), words(start.Add(time.Hour), start.Add(time.Hour)))
	w.tick(time.Hour - time.Millisecond)
	equal(w, "stopped before", len(w.claim(store.Claim{Hold: true}).Stop), 0)
	w.tick(time.Millisecond)
	c := w.claim(store.Claim{Hold: true})
	equal(w, "to stop", c.Stop, []jobs.ID{runs.Run.ID, deep.Run.ID})
	w.wantStands(id, "succeeded, running, waiting, cancelled missing; members, 0 merges")
	w.wantStands(inner, "running, cancelled missing; members, 0 merges")
	equal(w, "stopped again", len(w.claim(store.Claim{Hold: true}).Stop), 0)
	w.apply(w.cancelled(deep))
	w.endGroup(w.oneOver())
	w.apply(w.cancelled(runs))
	w.wantStands(id, "succeeded, cancelled missing, cancelled missing, cancelled missing; merging, 1 merges")
	w.wantStands(other.Run.ID, "running, queued; members, 0 merges")
	equal(w, "next due", w.nextDue(), jobs.Time(0))
}
