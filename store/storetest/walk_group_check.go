package storetest

import (
	"errors"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// lookAtAll demands that each group is as the rules say.
func (w *groupWalker) lookAtAll() {
	w.Helper()
	starting, held := 0, 0
	for _, id := range w.groups {
		seen := w.seen[id]
		if seen.done {
			continue
		}
		run, err := w.Run(w.ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			seen.done = true
			continue
		}
		w.check(err)
		if run.Job == "x" && run.State == jobs.Running {
			starting++
		}
		if run.Job == "x" && (run.State == jobs.Running || run.State == jobs.Waiting) {
			held++
		}
		w.look(run, seen)
		seen.done = run.State.Terminal()
	}
	equal(w.world, "slots of the queue in use", w.inUse(jobs.GateQueue, "q"), starting)
	if held > 2 {
		w.Fatalf("%d groups of job x are under way, its concurrency is 2", held)
	}
}

// look demands what holds of one group. Where its members have ended since it was looked at last, it has
// gone on as it must.
func (w *groupWalker) look(run *jobs.Run, seen *groupSeen) {
	w.Helper()
	info, members := w.groupInfo(run.ID), w.members(run.ID)
	open, good := 0, 0
	for _, m := range members {
		switch {
		case m.Run == nil:
		case !m.Run.State.Terminal():
			open++
		case m.Run.State == jobs.Succeeded:
			good++
		}
	}
	made, openMerges := 0, 0
	for _, m := range info.Merges {
		if m.RequeuedFrom.IsNil() {
			made++
		}
		if !m.State.Terminal() {
			openMerges++
		}
	}
	t := info.Tally
	if t.Unfinished != open || t.Succeeded != good || t.Members != len(members) {
		w.Fatalf("group %s: the tally is %+v, but %d are open and %d good", run.ID, t, open, good)
	}
	if info.Phase == store.GroupNew {
		if len(members) > 0 || made > 0 || run.State == jobs.Waiting {
			w.Fatalf("group %s has not started and is %s with %d members", run.ID, run.State, len(members))
		}
		return
	}
	if over := info.Phase == store.GroupOver; over != run.State.Terminal() {
		w.Fatalf("group %s is %s in phase %d", run.ID, run.State, info.Phase)
	}
	if info.Phase == store.GroupMembers {
		if open == 0 || made > 0 {
			w.Fatalf("group %s waits for its members, but %d are open and %d merges made", run.ID, open, made)
		}
		return
	}
	if !seen.settled && run.StartedAt != 0 && len(members) == len(info.Doc.Members) {
		seen.settled = true
		w.settled(run, info, good, made)
	}
	if merging := info.Phase == store.GroupMerging; merging && openMerges != 1 && (run.CancelRequestedAt == 0 || open == 0) || made > 1+seen.remerges {
		w.Fatalf("group %s in phase %d has made %d merges, of which %d are open", run.ID, info.Phase, made, openMerges)
	}
}

// settled demands that a group of which the last member has just ended goes on as it must.
func (w *groupWalker) settled(run *jobs.Run, info *store.GroupInfo, good, made int) {
	w.Helper()
	n := len(info.Doc.Members)
	want := 0
	if info.Draft != nil && run.CancelRequestedAt == 0 && good >= info.Doc.Need.Of(n) && (good == n || !info.Doc.CancelsRest()) {
		want = 1
	}
	if made != want {
		w.Fatalf("group %s of %d members, %d good, cancelled %s, made %d merges, want %d", run.ID, n, good,
			run.CancelRequestedAt, made, want)
	}
}

// finishAll lets all that is left end well: no group waits for ever, and none holds a slot.
func (w *groupWalker) finishAll() {
	w.Helper()
	for range 60 {
		w.tick(time.Hour)
		w.claimSome(store.Claim{Free: [store.Pools]int{100, 0, 0, 100}})
		for len(w.starting) > 0 {
			w.walkStart()
		}
		for _, l := range w.under {
			w.finishOne(w.succeeded(l), l)
		}
		w.under = nil
		for len(w.over) > 0 {
			w.walkEndGroup()
		}
		w.lookAtAll()
	}
	for _, id := range w.groups {
		if !w.seen[id].done {
			w.Fatalf("group %s has not ended: it is %s", id, w.stands(id))
		}
	}
	unfinished := []jobs.State{jobs.Scheduled, jobs.Queued, jobs.Running, jobs.Retrying, jobs.Waiting}
	equal(w.world, "unfinished runs", len(allRuns(w.world, store.RunFilter{States: unfinished}, 1000)), 0)
}
