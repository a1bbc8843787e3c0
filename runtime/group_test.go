package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// grouped is a server whose jobs act by their names.
type grouped struct {
	*server
	mu    sync.Mutex
	acts  map[string]kindFunc
	calls []*jobs.Call // in the order of their starts
}

func newGrouped(t *testing.T) *grouped {
	g := &grouped{acts: map[string]kindFunc{}}
	g.server = newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		g.mu.Lock()
		act := g.acts[c.Job]
		g.calls = append(g.calls, c)
		g.mu.Unlock()
		return act(ctx, c)
	})
	return g
}

// job puts a job that acts so; more is added to its document.
func (g *grouped) job(name string, act kindFunc, more ...string) {
	g.t.Helper()
	g.mu.Lock()
	g.acts[name] = act
	g.mu.Unlock()
	doc := `"name":"` + name + `","webhook":{"url":"http://127.0.0.1:9/"}`
	if len(more) == 0 {
		doc += `,"retry":{"max_attempts":1}`
	}
	g.put("{" + strings.Join(append([]string{doc}, more...), ",") + "}")
}

// act changes how a job acts.
func (g *grouped) act(name string, act kindFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acts[name] = act
}

// group puts a group whose members have the names of their jobs; it needs all of them unless more says otherwise.
func (g *grouped) group(name, more string, members ...string) {
	g.t.Helper()
	if !strings.Contains(more, `"need"`) {
		more = strings.TrimPrefix(more+`,"need":"all"`, ",")
	}
	var list []string
	for _, m := range members {
		list = append(list, fmt.Sprintf(`{"name":%q,"job":%q}`, m, m))
	}
	doc := `"members":[` + strings.Join(list, ",") + `]`
	if more != "" {
		doc += "," + more
	}
	g.put(`{"name":"` + name + `","group":{` + doc + `}}`)
}

// started are the calls of a job so far.
func (g *grouped) started(job string) (list []*jobs.Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.calls {
		if c.Job == job {
			list = append(list, c)
		}
	}
	return list
}

// members are the runs of a group's members by their names.
func (g *grouped) members(group jobs.ID) map[string]store.GroupMember {
	g.t.Helper()
	byName := map[string]store.GroupMember{}
	err := store.Each(func(p store.Page) ([]store.GroupMember, string, error) {
		return g.st.Members(context.Background(), group, p)
	}, func(m store.GroupMember) { byName[m.Name] = m })
	if err != nil {
		g.t.Fatal(err)
	}
	return byName
}

func (g *grouped) info(group jobs.ID) *store.GroupInfo {
	g.t.Helper()
	info, err := g.st.Group(context.Background(), group)
	if err != nil {
		g.t.Fatal(err)
	}
	return info
}

func good(result string) kindFunc {
	return func(context.Context, *jobs.Call) jobs.Report {
		return jobs.Report{ExitCode: -1, Result: jobs.Raw(result)}
	}
}

func bad(message string) kindFunc {
	return func(context.Context, *jobs.Call) jobs.Report {
		return jobs.Report{ExitCode: -1, Failure: &jobs.Failure{Kind: jobs.FailExit, Message: message}}
	}
}

// slow is good after a while.
func slow(d time.Duration, result string) kindFunc {
	return func(ctx context.Context, _ *jobs.Call) jobs.Report {
		select {
		case <-time.After(d):
			return jobs.Report{ExitCode: -1, Result: jobs.Raw(result)}
		case <-ctx.Done():
			return jobs.Report{ExitCode: -1, Stopped: jobs.StopCause(ctx)}
		}
	}
}

// merged is what a merge got.
type merged struct {
	Group                      string
	Succeeded, Failed, Missing []string
	Inlined                    *bool
	Results                    []struct {
		Name, Job, State string
		Run              string
		Result           json.RawMessage
		Error            *struct{ Kind, Type, Message string }
	}
}

func readMerged(t *testing.T, payload jobs.Raw) (m merged) {
	t.Helper()
	if err := json.Unmarshal(payload, &m); err != nil {
		t.Fatalf("the merge got %s: %v", payload, err)
	}
	return m
}

// onlyMerge is what the one call of the merge got.
func (g *grouped) onlyMerge() merged {
	g.t.Helper()
	calls := g.started("merge")
	if len(calls) != 1 {
		g.t.Fatalf("there are %d calls of the merge", len(calls))
	}
	return readMerged(g.t.(*testing.T), calls[0].Payload)
}

func (m merged) counts() string {
	return fmt.Sprint(m.Succeeded, m.Failed, m.Missing)
}

// inBubble runs a test over a server of groups whose time passes by itself.
func inBubble(t *testing.T, test func(*testing.T, *grouped)) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrouped(t)
		g.job("merge", good(`"merged"`))
		test(t, g)
		g.stop()
	})
}

// Cases 104 and 105.
func TestAMergeStartsOnceAfterTheMemberThatWasRetried(t *testing.T) {
	for name, tries := range map[string]string{"with attempts left": "8", "by the last attempt": "3"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, g *grouped) {
				for _, m := range []string{"a", "b", "d", "e"} {
					g.job(m, good(`"`+m+`"`))
				}
				var merge time.Time
				g.act("merge", func(context.Context, *jobs.Call) jobs.Report {
					merge = time.Now()
					return jobs.Report{ExitCode: -1, Result: jobs.Raw(`{ "n":1.10 }`)}
				})
				begin := time.Now()
				g.job("c", func(_ context.Context, c *jobs.Call) jobs.Report {
					if c.Attempt < 3 {
						return bad("not yet")(nil, nil)
					}
					return good(`"c"`)(nil, nil)
				}, `"retry":{"otherwise":"retry","max_attempts":`+tries+`,"backoff":{"kind":"fixed","base":"5s","jitter":0}}`)
				g.group("g", `"merge":{"job":"merge"}`, "a", "b", "c", "d", "e")
				g.rt.Start()
				id := g.submit(jobs.Request{Job: "g", Trigger: jobs.TriggerAPI})
				if run := g.awaitState(id, jobs.Waiting); run.HeldBy != nil || len(run.Attempts) != 1 || run.Attempts[0].Outcome != 0 {
					t.Errorf("while it waits it is %+v", run)
				}
				run := g.awaitEnd(id)
				if run.State != jobs.Succeeded || string(run.Result) != `{ "n":1.10 }` {
					t.Fatalf("the group is %s with %s", run.State, run.Result)
				}
				if len(run.Attempts) != 1 || run.Attempts[0].Decision.Reason != "5 of 5 members succeeded, and they were merged" {
					t.Errorf("its attempts are %+v", run.Attempts)
				}
				if took := merge.Sub(begin); took < 10*time.Second || took > 11*time.Second {
					t.Errorf("the merge started after %s", took)
				}
				m := g.onlyMerge()
				if m.Group != id.String() || m.counts() != "[a b c d e] [] []" || string(m.Results[2].Result) != `"c"` || m.Inlined != nil {
					t.Errorf("the merge got %+v", m)
				}
				for _, c := range g.started("merge") {
					if c.CorrelationID != run.CorrelationID {
						t.Error("the merge has another correlation id")
					}
				}
			})
		})
	}
}

// Case 107.
func TestAMemberThatIsCancelledOrDeletedDoesNotLeaveItsGroupOpen(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx, by := context.Background(), store.By{Actor: "test"}
		g.job("dead", bad("dead"))
		g.job("running", untilStopped)
		g.job("ahead", slow(time.Minute, "1"), `"concurrency":{"limit":1}`)
		g.job("fine", good("1"))
		g.put(`{"name":"g","group":{"need":1,"merge":{"job":"merge"},"members":[{"name":"dead","job":"dead"},` +
			`{"name":"running","job":"running"},{"name":"ahead","job":"ahead"},{"name":"queued","job":"ahead"},{"name":"fine","job":"fine"}]}}`)
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		g.awaitState(id, jobs.Waiting)
		byName := g.members(id)
		g.awaitEnd(byName["dead"].ID)
		if err := g.rt.Remove(ctx, byName["dead"].ID, by); !errors.Is(err, store.ErrState) {
			t.Errorf("a dead member of an unfinished group is removed: %v", err)
		}
		g.awaitState(byName["running"].ID, jobs.Running)
		for _, name := range []string{"queued", "running"} {
			if _, err := g.rt.Cancel(ctx, byName[name].ID, by); err != nil {
				t.Fatal(err)
			}
		}
		if run := g.awaitEnd(id); run.State != jobs.Succeeded {
			t.Fatalf("the group is %s: %v", run.State, run.Error)
		}
		m := g.onlyMerge()
		if m.counts() != "[ahead fine] [dead] [running queued]" {
			t.Errorf("the merge got %s", m.counts())
		}
		if m.Results[1].State != "cancelled" || m.Results[0].Error == nil || m.Results[0].Error.Message != "dead" {
			t.Errorf("the results are %+v", m.Results)
		}
		if err := g.rt.Remove(ctx, byName["dead"].ID, by); err != nil {
			t.Errorf("once the group is over: %v", err)
		}
	})
}

// Case 109.
func TestADeadMemberCancelsTheRestOrIsMergedAsAnError(t *testing.T) {
	members := []string{"a", "b", "c", "d", "e"}
	prepare := func(g *grouped, more string) jobs.ID {
		for _, m := range members {
			g.job(m, slow(time.Minute, `"`+m+`"`))
		}
		g.act("b", func(ctx context.Context, c *jobs.Call) jobs.Report {
			time.Sleep(time.Second)
			return bad("HTTP 503")(ctx, c)
		})
		g.group("g", more, members...)
		g.rt.Start()
		return g.submit(jobs.Request{Job: "g"})
	}
	t.Run("cancel_rest", func(t *testing.T) {
		inBubble(t, func(t *testing.T, g *grouped) {
			id := prepare(g, `"need":0,"on_member_failure":"cancel_rest","merge":{"job":"merge"}`)
			run := g.awaitEnd(id)
			want := "5 of 5 members were not good, and the first such cancels the rest: b failed (exit: HTTP 503), a was cancelled, " +
				"c was cancelled, d was cancelled, e was cancelled"
			if run.State != jobs.Failed || run.Error.Kind != jobs.FailGroup || run.Error.Message != want {
				t.Errorf("the group is %s: %v", run.State, run.Error)
			}
			if took := run.FinishedAt.Sub(run.StartedAt); took > 3*time.Second {
				t.Errorf("that took %s", took)
			}
			a := g.run(g.members(id)["a"].ID)
			if a.State != jobs.Cancelled || !strings.HasPrefix(a.Attempts[0].Decision.Reason, "its group gave it up") {
				t.Errorf("the rest is %s: %+v", a.State, a.Attempts)
			}
			if len(g.started("merge")) != 0 {
				t.Error("it was merged")
			}
		})
	})
	t.Run("wait", func(t *testing.T) {
		inBubble(t, func(t *testing.T, g *grouped) {
			id := prepare(g, `"need":4,"merge":{"job":"merge"}`)
			if run := g.awaitEnd(id); run.State != jobs.Succeeded || string(run.Result) != `"merged"` {
				t.Errorf("the group is %s: %v", run.State, run.Error)
			}
			if m := g.onlyMerge(); m.counts() != "[a c d e] [b] []" || m.Results[1].Error.Message != "HTTP 503" || m.Results[1].State != "failed" {
				t.Errorf("the merge got %+v", m)
			}
			events, err := g.rt.Events(context.Background(), 0, 100)
			at := slices.IndexFunc(events, func(e store.Event) bool { return e.Type == jobs.EventGroupPartial })
			if err != nil || at < 0 || !strings.Contains(string(events[at].Data), `"failed":["b"]`) {
				t.Errorf("the events are %v, %v", events, err)
			}
		})
	})
	t.Run("too few", func(t *testing.T) {
		inBubble(t, func(t *testing.T, g *grouped) {
			id := prepare(g, `"need":"all","merge":{"job":"merge"}`)
			run := g.awaitEnd(id)
			want := "1 of 5 members was not good, need 5: b failed (exit: HTTP 503)"
			if run.State != jobs.Failed || run.Error.Kind != jobs.FailGroup || run.Error.Message != want {
				t.Errorf("the group is %s: %v", run.State, run.Error)
			}
			if a := run.Attempts; len(a) != 1 || a[0].Decision.Action != "fail" || a[0].Decision.By != "group" || len(g.started("merge")) != 0 {
				t.Errorf("its attempts are %+v", a)
			}
		})
	})
}

// Case 111.
func TestGroupsOfNoneAndOneEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("7"))
		g.group("none", `"merge":{"job":"merge"},"need":3`)
		g.group("one", `"merge":{"job":"merge"}`, "a")
		g.group("bare", "")
		g.group("plain", "", "a")
		g.rt.Start()
		for _, name := range []string{"none", "one"} {
			run := g.awaitEnd(g.submit(jobs.Request{Job: name}))
			if run.State != jobs.Succeeded || string(run.Result) != `"merged"` {
				t.Errorf("%s is %s: %v", name, run.State, run.Error)
			}
		}
		for _, name := range []string{"bare", "plain"} {
			run := g.awaitEnd(g.submit(jobs.Request{Job: name}))
			if run.State != jobs.Succeeded || len(run.Result) != 0 && string(run.Result) != "null" {
				t.Errorf("%s is %s with %s: %v", name, run.State, run.Result, run.Error)
			}
		}
		calls := g.started("merge")
		none := readMerged(t, calls[0].Payload)
		if none.counts() != "[] [] []" || none.Results == nil || len(none.Results) != 0 {
			t.Errorf("the merge of none got %s", calls[0].Payload)
		}
	})
}

// Case 112.
func TestAMergeIsRetriedByItsOwnRulesWithItsResults(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("7"))
		g.job("merge", func(_ context.Context, c *jobs.Call) jobs.Report {
			if c.Attempt == 1 {
				return bad("once")(nil, nil)
			}
			return good("8")(nil, nil)
		}, `"retry":{"otherwise":"retry","max_attempts":2,"backoff":{"kind":"fixed","base":"5s","jitter":0}}`)
		g.group("g", `"merge":{"job":"merge"}`, "a")
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		if run := g.awaitEnd(id); run.State != jobs.Succeeded || string(run.Result) != "8" {
			t.Fatalf("the group is %s: %v", run.State, run.Error)
		}
		calls := g.started("merge")
		if len(calls) != 2 || !bytes.Equal(calls[0].Payload, calls[1].Payload) || calls[0].Run != calls[1].Run {
			t.Fatalf("%d calls of the merge", len(calls))
		}
		g.act("merge", bad("for good"))
		failed := g.awaitEnd(g.submit(jobs.Request{Job: "g"}))
		if failed.State != jobs.Failed || failed.Error.Kind != jobs.FailMerge || !strings.HasSuffix(failed.Error.Message, "failed (exit: for good)") {
			t.Errorf("where the merge fails for good the group is %s: %v", failed.State, failed.Error)
		}
	})
}

// Case 115.
func TestResultsComeInTheOrderOfTheMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", func(_ context.Context, c *jobs.Call) jobs.Report {
			var n int
			_ = json.Unmarshal(c.Payload, &n)
			time.Sleep(time.Duration(20-n) * time.Second)
			return good(fmt.Sprint(n))(nil, nil)
		})
		var list []string
		for i := range 20 {
			list = append(list, fmt.Sprintf(`{"name":"m%d","job":"a","payload":%d}`, 19-i, i))
		}
		g.put(`{"name":"g","group":{"merge":{"job":"merge"},"members":[` + strings.Join(list, ",") + `]}}`)
		g.rt.Start()
		g.awaitEnd(g.submit(jobs.Request{Job: "g"}))
		for i, r := range g.onlyMerge().Results {
			if r.Name != fmt.Sprintf("m%d", 19-i) || string(r.Result) != fmt.Sprint(i) {
				t.Fatalf("result %d is %s of %s", i, r.Result, r.Name)
			}
		}
	})
}

func TestMembersNotDoneByTheDeadlineAreMissing(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("quick", good("1"))
		g.job("slow", untilStopped)
		g.job("later", bad("no"), `"retry":{"otherwise":"retry","backoff":{"kind":"fixed","base":"1h"}}`)
		g.job("late", accept)
		g.put(`{"name":"late","webhook":{"url":"http://127.0.0.1:9/","completion":"callback"}}`)
		g.group("g", `"merge":{"job":"merge"},"need":1,"deadline":"10s"`, "slow", "quick", "later", "late")
		g.rt.Start()
		begin := time.Now()
		id := g.submit(jobs.Request{Job: "g"})
		g.awaitState(id, jobs.Waiting)
		late := g.members(id)["late"].ID
		if run := g.awaitEnd(late); run.State != jobs.Cancelled { // it is told, though nothing of it ran
			t.Errorf("a member that waited for its callback is %s", run.State)
		}
		run := g.awaitEnd(id)
		if took := time.Since(begin); run.State != jobs.Succeeded || took < 10*time.Second || took > 11*time.Second {
			t.Errorf("the group is %s after %s: %v", run.State, took, run.Error)
		}
		if m := g.onlyMerge(); m.counts() != "[quick] [] [slow later late]" {
			t.Errorf("the merge got %s", m.counts())
		}
		g.group("strict", `"deadline":"10s"`, "slow", "quick")
		failed := g.awaitEnd(g.submit(jobs.Request{Job: "strict"}))
		if want := "1 of 2 members was not good, need 2: slow was not done by the deadline"; failed.Error == nil || failed.Error.Message != want {
			t.Errorf("the strict one is %s: %v", failed.State, failed.Error)
		}
	})
}

func TestGroupsMayStandInGroupsAndAreCancelledAtAllDepths(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx, by := context.Background(), store.By{Actor: "test"}
		g.job("a", good("7"))
		g.job("queued", good("7"), `"concurrency":{"limit":1}`)
		g.group("inner", `"merge":{"job":"merge"}`, "a", "queued")
		g.group("outer", "", "inner", "a")
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "outer"})
		run := g.awaitEnd(id)
		inner := g.run(g.members(id)["inner"].ID)
		if run.State != jobs.Succeeded || inner.Group != id || inner.Trigger != jobs.TriggerGroup || inner.CorrelationID != run.CorrelationID {
			t.Fatalf("the outer one is %s (%v), the inner one %+v", run.State, run.Error, inner)
		}
		if m := g.onlyMerge(); m.Group != inner.ID.String() || string(inner.Result) != `"merged"` {
			t.Errorf("the inner one merged %+v, and gave %s", m, inner.Result)
		}
		g.act("a", untilStopped)
		g.job("queued", untilStopped, `"concurrency":{"limit":1}`)
		id = g.submit(jobs.Request{Job: "outer"})
		g.awaitState(id, jobs.Waiting)
		byName := g.members(id)
		g.awaitState(byName["inner"].ID, jobs.Waiting)
		deep := g.members(byName["inner"].ID)
		g.awaitState(deep["a"].ID, jobs.Running)
		if state, err := g.rt.Cancel(ctx, id, by); err != nil || state == jobs.Cancelled {
			t.Fatalf("while members run the cancel says %s, %v", state, err)
		}
		for _, of := range []jobs.ID{id, byName["inner"].ID, byName["a"].ID, deep["a"].ID, deep["queued"].ID} {
			if run := g.awaitEnd(of); run.State != jobs.Cancelled {
				t.Errorf("run %s of %s is %s", of, run.Job, run.State)
			}
		}
		if n := len(g.started("merge")); n != 1 {
			t.Errorf("there are %d merges", n)
		}
	})
}

func TestARequeueOfAGroupKeepsItsGoodMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good(`"a"`))
		g.job("b", bad("down"))
		g.job("c", good(`"c"`))
		g.group("g", `"merge":{"job":"merge"}`, "a", "b", "c")
		g.rt.Start()
		first := g.submit(jobs.Request{Job: "g", Payload: jobs.Raw(`{"day": 1}`)})
		if run := g.awaitEnd(first); run.State != jobs.Failed {
			t.Fatalf("it is %s", run.State)
		}
		before := g.members(first)
		g.act("b", good(`"b"`))
		out, err := g.rt.Requeue(context.Background(), store.Requeue{Of: first, By: store.By{Actor: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		run := g.awaitEnd(out.ID)
		after := g.members(out.ID)
		if run.State != jobs.Succeeded || after["a"].ID != before["a"].ID || after["c"].ID != before["c"].ID || after["b"].ID == before["b"].ID {
			t.Fatalf("it is %s (%v): %v", run.State, run.Error, after)
		}
		was, is := g.run(before["b"].ID), g.run(after["b"].ID)
		if is.OperationID != was.OperationID || is.RequeuedFrom != was.ID || was.RequeuedTo != is.ID || string(is.Payload) != `{"day": 1}` {
			t.Errorf("the member was %+v, and is %+v", was, is)
		}
		if m := g.onlyMerge(); m.counts() != "[a b c] [] []" || len(g.started("a")) != 1 {
			t.Errorf("the merge got %s", m.counts())
		}
	})
}

func TestAMemberRequeuedLaterIsMergedByARemerge(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx, by := context.Background(), store.By{Actor: "test"}
		g.job("a", good(`"a"`))
		g.job("b", bad("down"))
		g.group("g", `"merge":{"job":"merge"},"need":1`, "a", "b")
		g.rt.Start()
		if _, err := g.rt.Remerge(ctx, g.awaitEnd(g.submit(jobs.Request{Job: "a"})).ID, by); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a run that is no group: %v", err)
		}
		id := g.submit(jobs.Request{Job: "g"})
		before := g.awaitEnd(id)
		g.act("b", slow(time.Minute, `"b"`))
		out, err := g.rt.Requeue(ctx, store.Requeue{Of: g.members(id)["b"].ID, By: by})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.rt.Remerge(ctx, id, by); !errors.Is(err, store.ErrState) {
			t.Errorf("while a member runs: %v", err)
		}
		g.awaitEnd(out.ID)
		again, err := g.rt.Remerge(ctx, id, by)
		if err != nil {
			t.Fatal(err)
		}
		merge := g.awaitEnd(again.ID)
		if merge.State != jobs.Succeeded || merge.Group != id || merge.Place != -1 || merge.CorrelationID != before.CorrelationID {
			t.Errorf("the merge is %+v", merge)
		}
		calls := g.started("merge")
		first, second := readMerged(t, calls[0].Payload), readMerged(t, calls[1].Payload)
		if first.counts() != "[a] [b] []" || second.counts() != "[a b] [] []" || string(second.Results[1].Result) != `"b"` {
			t.Errorf("the merges got %s and %s", first.counts(), second.counts())
		}
		if after := g.run(id); after.State != before.State || after.FinishedAt != before.FinishedAt {
			t.Errorf("the group is %+v", after)
		}
		if merges := g.info(id).Merges; len(merges) != 2 {
			t.Errorf("there are %d merges", len(merges))
		}
	})
}

func TestAMergeIsGivenWhatItWasMadeForThoughAMemberIsRequeuedMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good(`"`+strings.Repeat("x", 60<<10)+`"`))
		g.job("b", bad("down"))
		var members []string
		for i := range 20 {
			members = append(members, fmt.Sprintf(`{"name":"a%d","job":"a"}`, i))
		}
		var streamed []string
		g.job("merge", func(ctx context.Context, c *jobs.Call) jobs.Report {
			var b bytes.Buffer
			if err := c.Results(&b); err != nil {
				t.Error(err)
			}
			streamed = append(streamed, b.String())
			if c.Attempt == 1 {
				return bad("once")(ctx, c)
			}
			return good("1")(ctx, c)
		}, `"retry":{"otherwise":"retry","max_attempts":2,"backoff":{"kind":"fixed","base":"1m","jitter":0}}`)
		g.put(`{"name":"g","group":{"need":1,"merge":{"job":"merge"},"members":[{"name":"b","job":"b"},` + strings.Join(members, ",") + `]}}`)
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g"})
		for g.info(id).Phase != store.GroupMerging || len(g.started("merge")) == 0 {
			time.Sleep(time.Second)
		}
		g.act("b", good(`"b"`))
		out, err := g.rt.Requeue(context.Background(), store.Requeue{Of: g.members(id)["b"].ID, By: store.By{Actor: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		g.awaitEnd(out.ID)
		if run := g.awaitEnd(id); run.State != jobs.Succeeded {
			t.Fatalf("the group is %s: %v", run.State, run.Error)
		}
		calls := g.started("merge")
		m := readMerged(t, calls[1].Payload)
		if m.Inlined == nil || *m.Inlined || m.Results == nil || len(m.Results) != 0 || len(m.Succeeded) != 20 || m.counts()[len(m.counts())-6:] != "[b] []" {
			t.Errorf("the merge got %.200s", calls[1].Payload)
		}
		if len(streamed) != 2 || streamed[0] != streamed[1] || !strings.Contains(streamed[1][:200], `"state":"failed"`) {
			t.Errorf("%d times the results: %.200s", len(streamed), streamed)
		}
		var list []struct{ Name string }
		if err := json.Unmarshal([]byte(streamed[1]), &list); err != nil || len(list) != 21 || list[20].Name != "a19" {
			t.Errorf("the results are %d (%v)", len(list), err)
		}
	})
}

func TestResultsAreReadByTheAttemptOfAMergeAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx := context.Background()
		g.job("a", good(`{"n":1.10}`))
		read := func(c *jobs.Call) (string, error) {
			var b bytes.Buffer
			err := g.rt.Results(ctx, store.Fence{Run: c.Run, Number: c.Number}, &b)
			return b.String(), err
		}
		g.job("merge", func(ctx context.Context, c *jobs.Call) jobs.Report {
			text, err := read(c)
			if err != nil || !strings.HasPrefix(text, `[{"name":"a","job":"a","run":`) || !strings.HasSuffix(text, `"result":{"n":1.10},"error":null}]`) {
				t.Errorf("the results are %s, %v", text, err)
			}
			return good("1")(ctx, c)
		})
		g.act("a", func(ctx context.Context, c *jobs.Call) jobs.Report {
			if text, err := read(c); !errors.Is(err, store.ErrNotFound) || text != "" {
				t.Errorf("a member reads %q, %v", text, err)
			}
			return good(`{"n":1.10}`)(ctx, c)
		})
		g.group("g", `"merge":{"job":"merge"}`, "a")
		g.rt.Start()
		g.awaitEnd(g.submit(jobs.Request{Job: "g"}))
		var over *store.OverError
		if _, err := read(g.started("merge")[0]); !errors.As(err, &over) || over.State != jobs.Succeeded {
			t.Errorf("an attempt that is over: %v", err)
		}
	})
}

func TestMembersThatCannotBeWorkedOutAreMadeFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("1"))
		g.job("keyed", good("1"), `"concurrency":{"limit":1,"key":"payload.x + payload.y"}`)
		g.put(`{"name":"g","group":{"need":1,"merge":{"job":"merge"},"members":[` +
			`{"name":"made","job":"a","payload":{"n":"{{ payload.n }}"}},{"name":"broken","job":"a","payload":"{{ payload.n + payload.o }}"},` +
			`{"name":"keyed","job":"keyed","payload":{"x":1,"y":{}}}]}}`)
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g", Payload: jobs.Raw(`{"n": 1.50, "o": {}}`)})
		if run := g.awaitEnd(id); run.State != jobs.Succeeded {
			t.Fatalf("the group is %s: %v", run.State, run.Error)
		}
		if m := g.onlyMerge(); m.counts() != "[made] [broken keyed] []" || m.Results[1].Error.Kind != "invalid" ||
			!strings.HasPrefix(m.Results[1].Error.Message, "group.members[1].payload: line 1") {
			t.Errorf("the merge got %+v", m)
		}
		if got := string(g.started("a")[0].Payload); got != `{"n":1.50}` {
			t.Errorf("the member got %s", got)
		}
	})
}

func TestAGroupWhoseMembersGetTooMuchFails(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("1"))
		var members []string
		for i := range 300 {
			members = append(members, fmt.Sprintf(`{"name":"m%d","job":"a"}`, i))
		}
		g.put(`{"name":"g","group":{"members":[` + strings.Join(members, ",") + `]}}`)
		g.rt.Start()
		run := g.awaitEnd(g.submit(jobs.Request{Job: "g", Payload: jobs.Raw(`"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`)}))
		if run.State != jobs.Failed || run.Error.Kind != jobs.FailInvalid || !strings.Contains(run.Error.Message, "more than 64MiB together") {
			t.Errorf("it is %s: %v", run.State, run.Error)
		}
		if len(run.Attempts) != 1 || len(g.started("a")) != 0 {
			t.Errorf("%d attempts", len(run.Attempts))
		}
	})
}

func TestGroupsThatNoJobDescribes(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		ctx := context.Background()
		g.job("a", good("7"))
		ask := func(doc string, rq jobs.Request) (store.Submitted, error) {
			group := &jobs.Group{}
			if err := jobs.DecodeJSON([]byte(doc), group); err != nil {
				t.Fatal(err)
			}
			return g.rt.RunGroup(ctx, &runtime.GroupRequest{Group: group, Request: rq})
		}
		g.rt.Start()
		rq := jobs.Request{Payload: jobs.Raw(`{"n":2}`), IdempotencyKey: "k", Trigger: jobs.TriggerAPI}
		const doc = `{"members":[{"name":"x","job":"a","payload":{"m":"{{ payload.n }}"}},{"name":"y","job":"a"}],"merge":{"job":"merge"}}`
		out, err := ask(doc, rq)
		if err != nil {
			t.Fatal(err)
		}
		if run := g.awaitEnd(out.ID); run.State != jobs.Succeeded || run.Job != jobs.GroupJob || string(run.Result) != `"merged"` {
			t.Errorf("it is %s of %s (%v)", run.State, run.Job, run.Error)
		}
		if !slices.ContainsFunc(g.started("a"), func(c *jobs.Call) bool { return string(c.Payload) == `{"m":2}` }) {
			t.Error("no member got what is rendered for it")
		}
		for _, same := range []string{doc, doc[:len(doc)-1] + `,"need":1,"on_member_failure":"wait"}`} {
			if again, err := ask(same, rq); err != nil || !again.Duplicate || again.ID != out.ID {
				t.Errorf("the same again: %+v, %v", again, err)
			}
		}
		var conflict *store.KeyConflict
		if _, err := ask(`{"members":[{"name":"x","job":"a"}]}`, rq); !errors.As(err, &conflict) {
			t.Errorf("another group by the same key: %v", err)
		}
		tries := 2
		for want, c := range map[string]struct {
			doc string
			rq  jobs.Request
		}{
			"members: want the members, each with a name and a job; [] for a group of none": {`{}`, jobs.Request{}},
			"members[1].job: there is no job gone: make it first, or in the same apply; merge.job: there is no job lost: make it first, or in the same apply": {
				`{"members":[{"name":"x","job":"a"},{"name":"y","job":"gone"}],"merge":{"job":"lost"}}`, jobs.Request{},
			},
			"max_attempts: a group has one attempt: its members and its merge are tried again by their own jobs": {
				`{"members":[]}`, jobs.Request{MaxAttempts: &tries},
			},
		} {
			if _, err := ask(c.doc, c.rq); err == nil || err.Error() != want {
				t.Errorf("%s: %v", c.doc, err)
			}
		}
		inner := "a"
		for i := range 7 {
			g.group(fmt.Sprint("g", i), "", inner)
			inner = fmt.Sprint("g", i)
		}
		if _, err := ask(`{"members":[{"name":"x","job":"g6"}]}`, jobs.Request{}); err != nil {
			t.Errorf("8 deep: %v", err)
		}
		g.group("g7", "", "g6")
		_, err = ask(`{"members":[{"name":"x","job":"g7"}]}`, jobs.Request{})
		if want := "members[0].job: groups stand 9 deep inside one another by it, this one included: want at most 8"; err == nil || err.Error() != want {
			t.Errorf("9 deep: %v", err)
		}
		var invalid *jobs.InvalidError
		if _, err := g.rt.Submit(ctx, true, []jobs.Request{{Job: "g0", MaxAttempts: &tries}}); !errors.As(err, &invalid) {
			t.Errorf("max_attempts of the run of a group: %v", err)
		}
	})
}

// No limit of one keeps a group from its end: it holds nothing that its members need.
func TestGroupsDoNotWaitForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrouped(t)
		g.close()
		g.open()
		rt, err := runtime.New(context.Background(), runtime.Config{
			Store: g.st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: g.kind},
			Workers: [store.Pools]int{1, 1, 1, 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		g.rt = rt
		limit := 1
		_, err = g.rt.Save(context.Background(), runtime.Changes{
			Queues: []runtime.PutQueue{{Queue: &jobs.Queue{Name: "default", Concurrency: &limit}}},
		}, store.By{Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		const one = `"concurrency":{"limit":1},"dependencies":["all"],"rate":{"limit":100,"per":"1s"}`
		g.job("a", slow(time.Second, "1"), one)
		g.job("merge", good("1"), one)
		inner := "a"
		for i := range jobs.MaxGroupDepth {
			name := fmt.Sprint("g", i)
			g.put(`{"name":"` + name + `",` + one + `,"group":{"merge":{"job":"merge"},"members":[{"name":"x","job":"` + inner +
				`"},{"name":"y","job":"a"},{"name":"z","job":"a"}]}}`)
			inner = name
		}
		g.rt.Start()
		first, second := g.submit(jobs.Request{Job: inner}), g.submit(jobs.Request{Job: inner})
		for _, id := range []jobs.ID{first, second} {
			if run := g.awaitEnd(id); run.State != jobs.Succeeded {
				t.Errorf("it is %s: %v", run.State, run.Error)
			}
		}
		if n := len(g.started("merge")); n != 2*jobs.MaxGroupDepth {
			t.Errorf("%d merges", n)
		}
		g.stop()
	})
}

func TestAFollowUpComesAfterTheWholeGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		g.job("a", good("7"))
		var got jobs.Raw
		next := make(chan struct{})
		g.job("next", func(ctx context.Context, c *jobs.Call) jobs.Report {
			got = c.Payload
			close(next)
			return good("1")(ctx, c)
		})
		g.put(`{"name":"g","on_success":[{"job":"next"}],"group":{"merge":{"job":"merge"},"members":[{"name":"a","job":"a"}]}}`)
		g.rt.Start()
		g.awaitEnd(g.submit(jobs.Request{Job: "g"}))
		<-next
		if string(got) != `"merged"` {
			t.Errorf("it got %s", got)
		}
	})
}
