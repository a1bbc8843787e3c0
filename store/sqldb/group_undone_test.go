package sqldb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
)

// groupOf makes a group of n members, all running, and gives its run and their leases.
func groupOf(t testing.TB, s store.Store, ids *jobs.IDs, n int, doc jobs.Group, within time.Duration) (jobs.ID, []store.Lease) {
	t.Helper()
	enqueueIn(t, s, ids, "g", 1)
	out, err := s.Claim(t.Context(), store.Claim{Now: now, Free: [store.Pools]int{store.PoolGroup: 1}})
	check(t, err)
	l := out.Leases[0]
	start := &store.GroupStart{
		Doc: doc, Merge: &jobs.Run{Job: "m", State: jobs.Queued, Trigger: jobs.TriggerGroup, CorrelationID: l.Run.CorrelationID},
	}
	if within > 0 {
		start.Deadline = now.Add(within)
	}
	for i := range n {
		id := ids.Next(now.Std())
		start.Members = append(start.Members, store.MemberStart{
			Name: fmt.Sprint("m", i), Job: "a", Sub: store.Submission{Run: &jobs.Run{
				ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerGroup, Payload: jobs.Raw("{}"),
				CorrelationID: l.Run.CorrelationID, CreatedAt: now, RunAt: now, DueAt: now,
			}},
		})
	}
	f := finishOf(l, now)
	f.Transition, f.Group = jobs.Transition{State: jobs.Waiting}, start
	out, err = s.Claim(t.Context(), store.Claim{Now: now, Finished: []store.Finish{f}, Free: [store.Pools]int{store.PoolScript: n}})
	check(t, err)
	check(t, out.Results[0].Err)
	if len(out.Leases) != n {
		t.Fatalf("%d members were claimed, want %d", len(out.Leases), n)
	}
	return l.Run.ID, out.Leases
}

// enqueueIn is enqueue of runs in a store that makes them whatever is measured.
func enqueueIn(t testing.TB, s store.Store, ids *jobs.IDs, job string, n int) {
	t.Helper()
	var subs []store.Submission
	for range n {
		id := ids.Next(now.Std())
		subs = append(subs, store.Submission{Run: &jobs.Run{
			ID: id, OperationID: id, Job: job, State: jobs.Queued, Trigger: jobs.TriggerAPI,
			Payload: jobs.Raw("{}"), CorrelationID: id.String(), CreatedAt: now, RunAt: now, DueAt: now,
		}})
	}
	_, err := s.Enqueue(t.Context(), subs)
	check(t, err)
}

func memberEnd(l store.Lease, state jobs.State) store.Finish {
	f := finishOf(l, now)
	f.Links = store.LinksOf(l.Run)
	f.Transition.State = state
	if state == jobs.Failed {
		f.Transition.Outcome, f.Transition.Error = jobs.OutcomeFailed, &jobs.Failure{Kind: jobs.FailExit, Type: "exit", Message: "1"}
	}
	return f
}

func groupsStore(t testing.TB) (store.Store, *jobs.IDs) {
	t.Helper()
	s, ids := openNew(t), jobs.NewIDs(0, func() uint64 { return 1 })
	s.UseIDs(ids)
	put(t, s, `{"name":"a","script":{"source":"true"}}`, `{"name":"m","script":{"source":"true"}}`,
		`{"name":"g","group":{"members":[{"name":"m0","job":"a"}],"merge":{"job":"m"}}}`)
	return s, ids
}

func stands(t testing.TB, s store.Store, group jobs.ID) string {
	t.Helper()
	info, err := s.Group(t.Context(), group)
	check(t, err)
	return fmt.Sprint(info.Tally, info.Phase, len(info.Merges))
}

func TestEndOfTheLastMemberThatIsUndoneLeavesNoHalf(t *testing.T) {
	s, ids := groupsStore(t)
	_, err := s.PauseJob(t.Context(), "m", true, "", store.By{Actor: "test", Now: now}) // members alone are claimed
	check(t, err)
	done := func() int { return -1 }
	next := done
	sqldb.UndoOften(s, func() int { return next() })
	for i := range 50 {
		doc := jobs.Group{Need: jobs.Need{Count: new(1)}}
		if i%4 == 3 {
			doc.OnMemberFailure = jobs.MemberFailureCancelRest
		}
		id, leases := groupOf(t, s, ids, 3, doc, time.Hour)
		check1(t, s, memberEnd(leases[0], jobs.Succeeded))
		if i%4 != 3 {
			check1(t, s, memberEnd(leases[1], jobs.Failed))
		}
		before, undone := stands(t, s, id), 0
		// At each statement of it, as far as it has so many.
		next = func() int {
			if undone++; undone == 1 {
				return 1 + i/2
			}
			if got := stands(t, s, id); got != before {
				t.Errorf("group %d is %s after what was undone, it was %s", i, got, before)
			}
			return -1
		}
		want := "{3 1 1 1 0} 2 1"
		c := store.Claim{Now: now}
		switch i % 4 {
		case 0:
			c.Finished = []store.Finish{memberEnd(leases[2], jobs.Failed)}
			want = "{3 1 2 0 0} 2 1"
		case 1:
			c.Finished = []store.Finish{memberEnd(leases[2], jobs.Cancelled)}
		case 2:
			c.Finished = []store.Finish{memberEnd(leases[2], jobs.Succeeded)}
			want = "{3 2 1 0 0} 2 1"
		case 3:
			c.Finished = []store.Finish{memberEnd(leases[1], jobs.Failed), memberEnd(leases[2], jobs.Cancelled)}
			want = "{3 1 1 1 0} 4 0" // given back in that claim
		}
		out, err := s.Claim(t.Context(), c)
		check(t, err)
		next = done
		if got := stands(t, s, id); got != want || undone != 2 {
			t.Errorf("group %d is %s after its last member, want %s; tried %d times", i, got, want, undone)
		}
		if given := len(out.Groups); given != map[bool]int{true: 1}[i%4 == 3] {
			t.Errorf("group %d: %d groups were given back", i, given)
		}
	}
}

// check1 ends one attempt.
func check1(t testing.TB, s store.Store, f store.Finish) {
	t.Helper()
	out, err := s.Claim(t.Context(), store.Claim{Now: now, Finished: []store.Finish{f}})
	check(t, err)
	check(t, out.Results[0].Err)
}

// The end of a member looks at no other members, but for the last.
func TestEndOfAMemberCostsAsManyStatementsInAnyGroup(t *testing.T) {
	s, ids := groupsStore(t)
	var costs []int
	for _, n := range []int{3, 1000} {
		_, leases := groupOf(t, s, ids, n, jobs.Group{}, 0)
		check1(t, s, memberEnd(leases[1], jobs.Succeeded)) // what is read once has been
		leases = slices.Delete(leases, 1, 2)
		counts := sqldb.Counted(s)
		check1(t, s, memberEnd(leases[0], jobs.Succeeded))
		all := 0
		for _, n := range counts {
			all += n
		}
		if counts[sqldb.Statements["selectTally"]] > 0 {
			t.Errorf("the first end of %d members counts them all", n)
		}
		costs = append(costs, all)
	}
	if costs[0] != costs[1] {
		t.Errorf("it took %d statements of 3 members and %d of 1000", costs[0], costs[1])
	}
}

func TestWorkOfAGroupIsLinearInItsMembers(t *testing.T) {
	s, ids := groupsStore(t)
	counts := sqldb.Counted(s)
	spent := func() (all int) {
		for query, n := range counts {
			all += n
			delete(counts, query)
		}
		return all
	}
	for _, c := range []struct {
		does string
		most float64 // statements a member
		do   func(n int)
	}{
		{"start", 4, func(n int) { groupOf(t, s, ids, n, jobs.Group{}, 0) }},
		{"cancel", 9, func(int) {
			list, _, err := s.Runs(t.Context(), store.RunFilter{Groups: true}, store.Page{Limit: 1})
			check(t, err)
			_, err = s.Cancel(t.Context(), list[0].ID, store.By{Actor: "test", Now: now})
			check(t, err)
		}},
	} {
		each := 0.0
		for _, n := range []int{200, 2000} {
			if c.does != "start" {
				groupOf(t, s, ids, n, jobs.Group{}, 0)
			}
			spent()
			c.do(n)
			if each = float64(spent()) / float64(n); each > c.most {
				t.Errorf("%s of %d members took %.2f statements each, want %.2f at most", c.does, n, each, c.most)
			}
		}
	}
}
