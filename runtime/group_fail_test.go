package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// unready is a store that cannot do for a merge what it is asked for, the first times.
type unready struct {
	store.Store
	results, keeps atomic.Int32 // how often yet
}

func (u *unready) Results(ctx context.Context, run jobs.ID, each func(*store.GroupMember) error) error {
	if u.results.Add(-1) < 0 {
		return u.Store.Results(ctx, run, each)
	}
	first := true
	return u.Store.Results(ctx, run, func(m *store.GroupMember) error {
		if !first {
			return store.ErrBusy
		}
		first = false
		return each(m)
	})
}

func (u *unready) KeepPayload(ctx context.Context, f store.Fence, payload jobs.Raw) error {
	if u.keeps.Add(-1) < 0 {
		return u.Store.KeepPayload(ctx, f, payload)
	}
	return store.ErrBusy
}

func TestAStoreThatCannotBeReadIsNoFailureOfAMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrouped(t)
		u := &unready{Store: g.st}
		g.revive(u)
		defer g.stop()
		g.job("a", good("1"))
		g.job("b", good("2"))
		var text string
		g.job("merge", func(ctx context.Context, c *jobs.Call) jobs.Report {
			u.results.Store(2)
			var b bytes.Buffer
			if err := c.Results(&b); err != nil {
				t.Error(err)
			}
			text = b.String()
			return good(`"merged"`)(ctx, c)
		})
		g.group("g", `"merge":{"job":"merge"}`, "a", "b")
		u.results.Store(2)
		u.keeps.Store(2)
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		if run := g.awaitEnd(id); run.State != jobs.Succeeded {
			t.Fatalf("it is %s: %v", run.State, run.Error)
		}
		if merge := g.run(g.info(id).Merges[0].ID); len(merge.Attempts) != 1 {
			t.Errorf("the merge has %d attempts", len(merge.Attempts))
		}
		if m := g.onlyMerge(); m.counts() != "[a b] [] []" {
			t.Errorf("the merge got %s", m.counts())
		}
		if strings.Count(text, `"name":`) != 2 || !strings.HasPrefix(text, `[{"name":"a"`) || !strings.HasSuffix(text, `}]`) {
			t.Errorf("the results are %s", text)
		}
	})
}

func TestAMergeWhoseKeyCannotBeWorkedOutFailsItsGroupAtTheStart(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("1"))
		g.job("merge", good("1"), `"concurrency":{"limit":1,"key":"payload.results[0].result.n + payload.group"}`)
		g.group("g", `"merge":{"job":"merge"}`, "a")
		g.rt.Start()
		run := g.awaitEnd(g.submit(jobs.Request{Job: "g"}))
		if run.State != jobs.Failed || run.Error.Kind != jobs.FailInvalid ||
			!strings.HasPrefix(run.Error.Message, "of the merge, over a payload that has no results yet: concurrency.key: ") {
			t.Errorf("it is %s: %v", run.State, run.Error)
		}
		if len(g.started("a")) != 0 {
			t.Error("its members ran in vain")
		}
	})
}

func TestAGroupTooDeepFailsAsItStarts(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("1"))
		g.job("b", good("1"))
		inner := "a"
		for i := range jobs.MaxGroupDepth - 1 {
			g.group(fmt.Sprint("g", i), "", inner)
			inner = fmt.Sprint("g", i)
		}
		g.rt.Start()
		later := jobs.Duration(time.Minute)
		out, err := g.rt.RunGroup(context.Background(), &runtime.GroupRequest{
			Group:   &jobs.Group{Members: []jobs.Member{{Name: "x", Job: inner}}},
			Request: jobs.Request{Delay: &later},
		})
		if err != nil {
			t.Fatal(err)
		}
		g.put(`{"name":"a","group":{"members":[{"name":"b","job":"b"}]}}`) // which nobody sees from there
		if run := g.awaitEnd(out.ID); run.State != jobs.Failed || run.Error.Kind != jobs.FailGroup {
			t.Errorf("the outermost is %s: %v", run.State, run.Error)
		}
		list, _, err := g.st.Runs(context.Background(), store.RunFilter{Job: "a"}, store.Page{Limit: 10})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		if f := list[0].Error; list[0].State != jobs.Failed || f.Kind != jobs.FailInvalid || f.Message != "this group would stand 9 deep: want at most 8 groups inside one another" {
			t.Errorf("the innermost is %s: %v", list[0].State, f)
		}
		if len(g.started("b")) != 0 {
			t.Error("its member ran")
		}
	})
}

func TestTheTickThatTakesAGroupsPlaceEndsItsMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", untilStopped)
		g.put(`{"name":"g","schedules":[{"every":"1m","overlap":"replace"}],"group":{"members":[{"name":"a","job":"a"}]}}`)
		g.rt.Start()
		first := jobs.ID{}
		for first.IsNil() || g.run(first).State != jobs.Cancelled {
			time.Sleep(10 * time.Second)
			list, _, err := g.st.Runs(context.Background(), store.RunFilter{Job: "g"}, store.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if first.IsNil() && len(list) > 0 {
				first = list[0].ID
			}
		}
		member := g.run(g.members(first)["a"].ID)
		if member.State != jobs.Cancelled || !strings.HasPrefix(member.Attempts[0].Decision.Reason, "a newer tick") {
			t.Errorf("the member is %s: %+v", member.State, member.Attempts)
		}
	})
}

func TestTheJobOfAGroupThatIsDeletedTakesItsMembersAlong(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", untilStopped)
		g.group("g", "", "a")
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		g.awaitState(id, jobs.Waiting)
		member := g.members(id)["a"].ID
		g.awaitState(member, jobs.Running)
		if _, err := g.rt.DeleteJob(context.Background(), "g", nil, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		for _, of := range []jobs.ID{member, id} {
			if run := g.awaitEnd(of); run.State != jobs.Cancelled {
				t.Errorf("run of %s is %s", run.Job, run.State)
			}
		}
	})
}
