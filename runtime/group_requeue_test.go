package runtime_test

import (
	"context"
	"errors"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

func TestAMergeThatWasCancelledBeforeItStartedIsComposedWhenItIsRequeued(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx, by := context.Background(), store.By{Actor: "test"}
		g.job("a", good(`"a"`))
		g.job("merge", good("1"), `"concurrency":{"limit":1,"key":"payload.group"}`)
		g.group("g", `"merge":{"job":"merge"}`, "a")
		if _, err := g.rt.PauseJob(ctx, "merge", true, "", by); err != nil {
			t.Fatal(err)
		}
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		for changed, stop := g.rt.Changes(id); ; <-changed {
			if len(g.info(id).Merges) > 0 {
				stop()
				break
			}
		}
		merge := g.info(id).Merges[0]
		if state, err := g.rt.Cancel(ctx, merge.ID, by); err != nil || state != jobs.Cancelled {
			t.Fatal(state, err)
		}
		if run := g.awaitEnd(id); run.State != jobs.Cancelled || run.Attempts[0].Decision.Reason != "its merge, run "+merge.ID.String()+", was cancelled" {
			t.Errorf("the group is %s: %+v", run.State, run.Attempts)
		}
		if _, err := g.rt.PauseJob(ctx, "merge", false, "", by); err != nil {
			t.Fatal(err)
		}
		out, err := g.rt.Requeue(ctx, store.Requeue{Of: merge.ID, By: by})
		if err != nil {
			t.Fatal(err)
		}
		if run := g.awaitEnd(out.ID); run.State != jobs.Succeeded || run.Group != id || run.Place != -1 {
			t.Errorf("the merge is %+v", run)
		}
		if m := g.onlyMerge(); m.counts() != "[a] [] []" || m.Group != id.String() {
			t.Errorf("it got %+v", m)
		}
	})
}

func TestAMemberRequeuedBeforeTheMergeIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx, by := context.Background(), store.By{Actor: "test"}
		g.job("a", bad("down"))
		release := make(chan struct{})
		g.job("b", func(ctx context.Context, c *jobs.Call) jobs.Report {
			<-release
			return good(`"b"`)(ctx, c)
		})
		g.group("g", `"merge":{"job":"merge"}`, "a", "b")
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		g.awaitState(id, jobs.Waiting)
		was := g.awaitEnd(g.members(id)["a"].ID)
		hold := make(chan struct{})
		g.act("a", func(ctx context.Context, c *jobs.Call) jobs.Report {
			<-hold
			return good(`"a"`)(ctx, c)
		})
		out, err := g.rt.Requeue(ctx, store.Requeue{Of: was.ID, By: by})
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		g.awaitEnd(g.members(id)["b"].ID)
		if len(g.info(id).Merges) != 0 || g.run(id).State != jobs.Waiting {
			t.Error("it was merged without the requeue")
		}
		close(hold)
		if run := g.awaitEnd(id); run.State != jobs.Succeeded {
			t.Errorf("the group is %s: %v", run.State, run.Error)
		}
		if m := g.onlyMerge(); m.counts() != "[a b] [] []" || m.Results[0].Run != out.ID.String() {
			t.Errorf("the merge got %+v", m)
		}
	})
}

func TestNobodyRunsTheJobOfGroupsThatNoJobDescribes(t *testing.T) {
	g := newGrouped(t)
	defer g.stop()
	for _, rq := range []jobs.Request{{Job: jobs.GroupJob}, {Job: jobs.GroupJob, Payload: jobs.Raw("1")}} {
		if _, err := g.rt.Submit(context.Background(), true, []jobs.Request{rq}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
}

func TestARequeueOfAGroupKeepsTheGoodMembersOfGroupsInIt(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good(`"a"`))
		g.job("b", bad("down"))
		g.group("inner", `"merge":{"job":"merge"}`, "a", "b")
		g.group("outer", "", "inner", "a")
		g.rt.Start()
		first := g.submit(jobs.Request{Job: "outer"})
		if run := g.awaitEnd(first); run.State != jobs.Failed {
			t.Fatalf("it is %s", run.State)
		}
		was := g.members(g.members(first)["inner"].ID)
		g.act("b", good(`"b"`))
		out, err := g.rt.Requeue(context.Background(), store.Requeue{Of: first, By: store.By{Actor: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		if run := g.awaitEnd(out.ID); run.State != jobs.Succeeded {
			t.Fatalf("the requeue is %s: %v", run.State, run.Error)
		}
		is := g.members(g.members(out.ID)["inner"].ID)
		if is["a"].ID != was["a"].ID || is["b"].Run.RequeuedFrom != was["b"].ID || len(g.started("a")) != 2 {
			t.Errorf("they were %v, and are %v; %d calls", was, is, len(g.started("a")))
		}
	})
}

func TestAMergeMayBeAGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good(`{"n":1.50}`))
		g.job("split", good(`"split"`))
		g.put(`{"name":"fan","group":{"merge":{"job":"merge"},"members":[{"name":"whole","job":"split"},` +
			`{"name":"part","job":"split","payload":"{{ payload.results[0].result }}"}]}}`)
		g.group("g", `"merge":{"job":"fan"}`, "a")
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		if run := g.awaitEnd(id); run.State != jobs.Succeeded || string(run.Result) != `"merged"` {
			t.Fatalf("it is %s: %v", run.State, run.Error)
		}
		if m := g.onlyMerge(); m.counts() != "[whole part] [] []" {
			t.Errorf("the inner merge got %s", m.counts())
		}
		got := map[string]bool{}
		for _, c := range g.started("split") {
			got[string(c.Payload)] = true
		}
		whole := string(g.run(g.info(id).Merges[0].ID).Payload)
		if !got[`{"n":1.50}`] || !got[whole] || readMerged(t, jobs.Raw(whole)).counts() != "[a] [] []" {
			t.Errorf("they got %v", got)
		}
	})
}
