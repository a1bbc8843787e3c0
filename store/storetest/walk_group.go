package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// groupWalker does random things to groups, and demands after each that all of them are as the rules say.
type groupWalker struct {
	*world
	*rand.Rand
	groups   []jobs.ID
	seen     map[jobs.ID]*groupSeen
	starting []store.Lease // groups that were claimed and have not started
	under    []store.Lease // attempts of others, also those that wait for their callback
	over     []store.EndedGroup
	trace    []string
}

// groupSeen is how a group stood when it was looked at last.
type groupSeen struct {
	settled  bool // its members have all ended once
	done     bool // it has ended, and was looked at since
	remerges int
	given    bool // to this process
}

// WalkGroups does random things to groups of a store, steps of them. It is part of Run; by itself it is for
// stores that are opened in ways of their own.
func WalkGroups(t *testing.T, open func(t testing.TB) store.Store, steps int) {
	seed := rand.Uint64()
	if text := os.Getenv(envSeed); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", envSeed, err)
		}
		seed = n
	}
	t.Logf("repeat with %s=%d", envSeed, seed)
	w := &groupWalker{world: newWorld(t, open), Rand: rand.New(rand.NewPCG(seed, 1)), seen: map[jobs.ID]*groupSeen{}}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range w.trace {
				t.Log(line)
			}
		}
	})
	w.unbound()
	w.jobs("a", "b", "m")
	for _, j := range walkedGroups() {
		w.put(j)
	}
	w.share(store.KindQueue, "q", `{"concurrency":3}`)
	actions := w.actions()
	for step := range steps {
		a := actions[w.IntN(len(actions))]
		if w.trace = append(w.trace, fmt.Sprintf("step %d: %s", step, a.name)); len(w.trace) > 40 {
			w.trace = w.trace[1:]
		}
		a.do()
		w.unfinished()
		w.lookAtAll()
	}
	w.finishAll()
}

// walkedGroups are jobs that run groups, one of them others.
func walkedGroups() []*jobs.Job {
	limited := groupJob("x", "b a b", merged)
	limited.Concurrency, limited.Queue = &jobs.Concurrency{Limit: 2}, "q"
	return []*jobs.Job{
		groupJob("g", "a b a", merged, needs(1)), groupJob("h", "a a b", merged, needs(1), callsOff), groupJob("n", "a b"),
		groupJob("e", "", merged), limited, groupJob("o", "g a h n", merged, needsPercent(50)),
	}
}

func (w *groupWalker) actions() (list []action) {
	for _, a := range []struct {
		times int
		action
	}{
		{2, action{"enqueue a group", w.walkEnqueue}},
		{6, action{"claim groups", func() { w.claimSome(store.Claim{Free: [store.Pools]int{store.PoolGroup: 1 + w.IntN(3)}}) }}},
		{8, action{"start a group", w.walkStart}},
		{8, action{"claim others", func() { w.claimSome(store.Claim{Free: [store.Pools]int{1 + w.IntN(6)}}) }}},
		{20, action{"end an attempt", w.walkEnd}},
		{6, action{"end a group", w.walkEndGroup}},
		{3, action{"cancel", w.walkCancel}},
		{6, action{"requeue", w.walkRequeue}},
		{2, action{"remerge", w.walkRemerge}},
		{2, action{"remove", w.walkRemove}},
		{4, action{"time", func() { w.tick(time.Duration(w.Int64N(int64(time.Hour)))); w.claimSome(store.Claim{Hold: true}) }}},
		{1, action{"prune", func() { prune(w.world) }}},
		{1, action{"reopen", w.walkReopen}},
		{1, action{"delete a job", w.walkDelete}},
	} {
		for range a.times {
			list = append(list, a.action)
		}
	}
	return list
}

func (w *groupWalker) walkEnqueue() {
	names := []string{"g", "h", "n", "e", "x", "o", jobs.GroupJob}
	name := names[w.IntN(len(names))]
	id := w.enqueue(name, func(s *store.Submission) {
		if name == jobs.GroupJob {
			s.Group = groupDoc("b a", merged, needs(w.IntN(4)))
		}
	}).ID
	w.follow(id)
}

func (w *groupWalker) follow(group jobs.ID) {
	w.groups = append(w.groups, group)
	w.seen[group] = &groupSeen{}
}

// claimSome claims, and sorts what it gets.
func (w *groupWalker) claimSome(c store.Claim) []store.FinishResult {
	w.Helper()
	out := w.claim(c)
	w.given = nil
	for _, l := range out.Leases {
		if l.Group != nil {
			if w.seen[l.Run.ID] == nil { // a member
				w.follow(l.Run.ID)
			}
			w.starting = append(w.starting, l)
			continue
		}
		if l.Merges {
			w.check(w.KeepPayload(w.ctx, fenceOf(l), jobs.Raw("[]")))
		}
		w.under = append(w.under, l)
	}
	for _, g := range out.Groups {
		seen := w.seen[g.Run.ID]
		if seen.given || seen.done {
			w.Fatalf("group %s was given back twice", g.Run.ID)
		}
		seen.given = true
		w.over = append(w.over, g)
	}
	return out.Results
}

// pick takes one out of a list.
func pick[T any](r *rand.Rand, list *[]T) (one T, ok bool) {
	if len(*list) == 0 {
		return one, false
	}
	i := r.IntN(len(*list))
	one = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return one, true
}

func (w *groupWalker) walkStart() {
	l, ok := pick(w.Rand, &w.starting)
	if !ok {
		return
	}
	f := w.started(l, func(g *store.GroupStart) {
		for i := range g.Members {
			if w.IntN(8) == 0 {
				bornFailed(&g.Members[i].Sub)
			}
		}
		if w.IntN(3) == 0 {
			g.Deadline = w.now.Add(time.Duration(w.Int64N(int64(time.Hour))))
		}
	})
	if !l.Group.KeepOf.IsNil() {
		w.keep(f.Group, l.Group.KeepOf)
	}
	w.finishOne(f, l)
}

// keep has a group that starts keep what the run before has that is good or under way.
func (w *groupWalker) keep(g *store.GroupStart, of jobs.ID) {
	for _, m := range w.members(of) {
		switch {
		case m.Run == nil:
		case m.Run.State == jobs.Succeeded || !m.Run.State.Terminal():
			g.Members[m.Place].Keep = m.ID
		case g.Members[m.Place].Sub.Run.State != jobs.Failed:
			g.Members[m.Place].Of, g.Members[m.Place].Sub.Run.OperationID = m.ID, m.Run.OperationID
		}
	}
}

// finishOne ends an attempt; where a cancel came first it is cancelled.
func (w *groupWalker) finishOne(f store.Finish, l store.Lease) (again bool) {
	w.Helper()
	res := w.claimSome(store.Claim{Hold: true, Finished: []store.Finish{f}})[0]
	if errors.Is(res.Err, store.ErrState) {
		res = w.claimSome(store.Claim{Hold: true, Finished: []store.Finish{w.cancelled(l)}})[0]
	}
	if res.Err != nil && !errors.Is(res.Err, store.ErrLease) {
		w.Fatalf("the end of run %s was refused: %v", f.Run, res.Err)
	}
	return res.Err == nil && f.Transition.State == jobs.Waiting
}

func (w *groupWalker) walkEnd() {
	l, ok := pick(w.Rand, &w.under)
	if !ok {
		return
	}
	var f store.Finish
	switch w.IntN(10) {
	case 0, 1:
		f = w.failed(l)
	case 2:
		f = w.retrying(l, time.Duration(w.IntN(3600))*time.Second)
	case 3:
		f = w.cancelled(l)
	case 4:
		f = w.accepted(l, time.Hour)
	default:
		f = w.succeeded(l)
	}
	run, err := w.Run(w.ctx, l.Run.ID) // it may have been cancelled, and removed
	w.mayFail(err, store.ErrNotFound)
	if err == nil && run.State == jobs.Waiting && f.Transition.State == jobs.Waiting {
		f = w.succeeded(l)
	}
	if w.finishOne(f, l) {
		w.under = append(w.under, l)
	}
}

func (w *groupWalker) walkEndGroup() {
	g, ok := pick(w.Rand, &w.over)
	if !ok {
		return
	}
	f := w.succeeded(g.Lease)
	switch {
	case g.Run.CancelRequestedAt != 0:
		f = w.cancelled(g.Lease)
	case g.Merge == nil && g.Bad != "" || g.Merge != nil && g.Merge.State != jobs.Succeeded:
		f = w.failed(g.Lease)
	}
	w.finishOne(f, g.Lease)
}

// anyRun is one of the newest, of a group or not.
func (w *groupWalker) anyRun() jobs.ID {
	list, _, err := w.Runs(w.ctx, store.RunFilter{Groups: w.IntN(3) == 0}, store.Page{Limit: 60})
	w.check(err)
	if len(list) == 0 {
		return w.ids.Next(w.now.Std())
	}
	return list[w.IntN(len(list))].ID
}

// mayFail demands that an error is one of those that may come.
func (w *groupWalker) mayFail(err error, may ...error) {
	w.Helper()
	if err != nil && !slices.ContainsFunc(may, func(e error) bool { return errors.Is(err, e) }) {
		w.Fatal(err)
	}
}

func (w *groupWalker) walkCancel() {
	_, err := w.Cancel(w.ctx, w.anyRun(), w.by())
	w.mayFail(err, store.ErrState, store.ErrNotFound)
}

func (w *groupWalker) walkRequeue() {
	of, id := w.anyRun(), w.ids.Next(w.now.Std())
	out, err := w.Requeue(w.ctx, store.Requeue{
		Of: of, ID: id, Trigger: jobs.TriggerRequeue, By: w.by(), Reset: w.IntN(6) == 0,
	})
	w.mayFail(err, store.ErrState, store.ErrNotFound)
	if err == nil && out.ID == id && w.seen[of] != nil {
		w.follow(id)
	}
}

func (w *groupWalker) walkRemerge() {
	if len(w.groups) == 0 {
		return
	}
	id := w.groups[w.IntN(len(w.groups))]
	info, err := w.Group(w.ctx, id)
	w.mayFail(err, store.ErrNotFound)
	if err != nil || info.Draft == nil {
		return
	}
	// A requeue of a run that succeeded may stand beside the newest of its place.
	list, _, err := w.Runs(w.ctx, store.RunFilter{}, store.Page{Limit: 1000})
	w.check(err)
	open := slices.ContainsFunc(list, func(r *jobs.Run) bool { return r.Group == id && !r.State.Terminal() }) ||
		slices.ContainsFunc(w.members(id), func(m store.GroupMember) bool { return m.Run != nil && !m.Run.State.Terminal() })
	_, err = w.Remerge(w.ctx, id, info.Draft, w.by())
	if refused := errors.Is(err, store.ErrState); refused != (open || info.Phase != store.GroupOver) {
		w.Fatalf("remerge of group %s gave %v, phase %d, open %t", id, err, info.Phase, open)
	}
	w.mayFail(err, store.ErrState)
	if err == nil {
		w.seen[id].remerges++
	}
}

func (w *groupWalker) walkRemove() {
	w.mayFail(w.Remove(w.ctx, w.anyRun(), w.by()), store.ErrState, store.ErrNotFound)
}

func (w *groupWalker) walkReopen() {
	w.reopen()
	w.starting, w.under, w.over = nil, nil, nil
	for _, s := range w.seen {
		s.given = false
	}
	// The end of one may cancel another: what that makes of an end is decided again, as at a start.
	for again := true; again; {
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		var ends []store.Finish
		for _, o := range orphans {
			f := w.interrupted(o)
			if o.Run.CancelRequestedAt != 0 {
				f = w.cancelled(o)
			} else if o.Deleted {
				f = w.failed(o)
			}
			ends = append(ends, f)
		}
		again = false
		for _, res := range w.claimSome(store.Claim{First: true, Hold: true, Finished: ends}) {
			if errors.Is(res.Err, store.ErrState) {
				again = true
				continue
			}
			w.check(res.Err)
		}
	}
	waiting, err := w.Store.Waiting(w.ctx)
	w.check(err)
	for _, r := range waiting {
		l, err := w.Lease(w.ctx, r.Fence)
		w.check(err)
		w.under = append(w.under, *l)
	}
}

// walkDelete deletes a job and makes it again.
func (w *groupWalker) walkDelete() {
	names := []string{"b", "m", "x", "o"}
	name := names[w.IntN(len(names))]
	var named *store.NamedError
	if _, err := w.DeleteJob(w.ctx, name, nil, w.by()); errors.As(err, &named) {
		return
	} else if err != nil {
		w.Fatal(err)
	}
	for _, j := range walkedGroups() {
		if j.Name == name {
			w.put(j)
			return
		}
	}
	w.jobs(name)
}
