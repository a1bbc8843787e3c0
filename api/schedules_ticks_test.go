package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// decided keeps ticks in the ledger as if they had been decided: each is so many hours before now.
func (ts *testServer) decided(name string, now jobs.Time, skipped []jobs.TickRange, ran ...jobs.Time) {
	ts.t.Helper()
	ctx, st := context.Background(), ts.rt.Store()
	for _, at := range append(ran, 0) {
		s, err := st.Schedule(ctx, name)
		if err != nil {
			ts.t.Fatal(err)
		}
		d := store.Decision{Schedule: s, Cursor: s.Cursor, Next: now.Add(time.Hour)}
		if at == 0 {
			d.Skipped = skipped
		} else {
			d.OnTime = ts.tickRun(s, at)
		}
		out, err := st.Decide(ctx, now, []store.Decision{d})
		if err != nil || out[0].Stale {
			ts.t.Fatalf("decide: %+v, %v", out, err)
		}
	}
}

var tickIDs = jobs.NewIDs(0, rand.Uint64)

func (ts *testServer) tickRun(s *store.Schedule, at jobs.Time) *store.TickRun {
	ts.t.Helper()
	plan, err := ts.rt.Plan(context.Background(), s.Job)
	if err != nil {
		ts.t.Fatal(err)
	}
	rq := jobs.Request{Trigger: jobs.TriggerSchedule, Schedule: s.Name, ScheduledFor: at}
	run := jobs.NewRun(tickIDs.Next(at.Std()), &rq, plan.Job, at)
	run.CorrelationID = run.ID.String()
	return &store.TickRun{At: at, Sub: store.Submission{Run: run}}
}

func TestTheLedgerOfAScheduleIsRead(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("sync", "")
	ts.call("PUT", "/v1/schedules/hourly", `{"job":"sync","cron":"0 0 1 1 *","overlap":"allow"}`).want(201)
	const at = "/v1/schedules/hourly"
	empty := ts.call("GET", at+"/ticks", "").want(200)
	if string(empty.body) != `{"items":[],"next":null,"limit":50}`+"\n" {
		t.Errorf("of a new one: %s", empty.body)
	}
	now := ts.rt.Now()
	hour := func(n int) jobs.Time { return now.Add(-time.Duration(n)*time.Hour) / 1000 * 1000 }
	ts.decided("hourly", now, []jobs.TickRange{
		{From: hour(9), To: hour(5), Count: 5, Reason: jobs.SkipMissed, Before: hour(10)},
		{From: hour(3), To: hour(3), Count: 1, Reason: jobs.SkipUnique, Before: hour(4)},
	}, hour(4), hour(2))
	all := ts.call("GET", at+"/ticks", "").want(200)
	runs := []string{all.field("items.0.run"), all.field("items.2.run")}
	want := fmt.Sprintf(`{"items":[{"at":%q,"outcome":"ran","reason":null,"run":%q},`+
		`{"at":%q,"outcome":"skipped","reason":"unique","run":null},`+
		`{"at":%q,"outcome":"ran","reason":null,"run":%q},`+
		`{"from":%q,"to":%q,"count":5,"outcome":"skipped","reason":"missed","run":null}],"next":null,"limit":50}`+"\n",
		hour(2), runs[0], hour(3), hour(4), runs[1], hour(9), hour(5))
	if string(all.body) != want {
		t.Errorf("got\n%s want\n%s", all.body, want)
	}
	for limit := 1; limit <= 5; limit++ {
		if got := ts.ticks(at, limit); len(got) != 4 || got[0].At != hour(2) || got[3].Count != 5 {
			t.Errorf("by %d: %+v", limit, got)
		}
	}
	shown := ts.call("GET", at, "").want(200)
	if shown.field("last.at") != hour(2).String() || shown.field("last.run") != runs[0] {
		t.Errorf("last: %s", shown.body)
	}
	run := ts.call("GET", "/v1/runs/"+runs[0], "").want(200)
	if run.field("schedule") != "hourly" || run.field("scheduled_for") != hour(2).String() ||
		run.field("trigger") != "schedule" {
		t.Errorf("its run: %s", run.body)
	}
	for query, want := range map[string]int{
		"schedule=hourly": 2, "schedule=sync": 0, "trigger=schedule": 2, "trigger=catch_up": 0,
		"schedule=hourly&trigger=schedule&job=sync": 2,
	} {
		var list wire.Runs
		ts.call("GET", "/v1/runs?"+query, "").want(200).into(&list)
		if len(list.Items) != want {
			t.Errorf("runs?%s: %d, want %d", query, len(list.Items), want)
		}
	}
	// Kept as it is when the schedule is made again.
	ts.call("DELETE", at, "").want(204)
	ts.call("PUT", at, `{"job":"sync","every":"1h"}`).want(201)
	if again := ts.call("GET", at+"/ticks", "").want(200); string(again.body) != want {
		t.Errorf("made again: %s", again.body)
	}
	ts.call("GET", at+"/ticks?cursor=x", "").problem(probInvalid)
	ts.call("GET", at+"/ticks?job=x", "").problem(probInvalid)
}

// ticks reads a ledger page by page.
func (ts *testServer) ticks(at string, limit int) (all []wire.Tick) {
	ts.t.Helper()
	for cursor, pages := "", 0; pages < 50; pages++ {
		var list wire.Ticks
		ts.call("GET", fmt.Sprintf("%s/ticks?limit=%d%s", at, limit, cursor), "").want(200).into(&list)
		if len(list.Items) > limit || list.Limit != limit {
			ts.t.Errorf("%d rows of %d, limit %d", len(list.Items), limit, list.Limit)
		}
		all = append(all, list.Items...)
		if list.Next == nil {
			return all
		}
		cursor = "&cursor=" + *list.Next
	}
	ts.t.Fatal("the ledger has no end")
	return nil
}

func TestTicksOfAPauseStandFirst(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("sync", "")
	const at = "/v1/schedules/often"
	ts.call("PUT", at, `{"job":"sync","every":"1s"}`).want(201)
	ts.await("a tick", func() bool { return ts.call("GET", at, "").want(200).field("last") != "" })
	ts.call("POST", at+"/pause", "").want(200)
	var first wire.Tick
	ts.await("two ticks of the pause", func() bool {
		first = ts.ticks(at, 1000)[0]
		return first.Count >= 2
	})
	before := ts.ticks(at, 1000)[1].At
	if last := ts.call("GET", at, "").want(200); last.field("last.from") != first.From.String() ||
		last.field("last.reason") != "paused" || last.field("last.at") != last.field("last.to") {
		t.Errorf("last: %s", last.body)
	}
	if before == 0 || first.Outcome != "skipped" || first.Reason == nil || *first.Reason != "paused" || !first.Run.IsNil() ||
		first.From >= first.To {
		t.Errorf("the first row: %+v", first)
	}
	for limit := 1; limit <= 3; limit++ {
		got := ts.ticks(at, limit)
		if got[0].From != first.From || got[0].To < first.To || got[1].At != before {
			t.Errorf("by %d: %+v, want %+v, then %s", limit, got, first, before)
		}
	}
	ts.call("POST", at+"/resume", "").want(200)
	kept := slices.IndexFunc(ts.ticks(at, 1000), func(tick wire.Tick) bool {
		return tick.From == first.From && tick.Count >= first.Count && *tick.Reason == "paused"
	})
	if kept < 0 {
		t.Errorf("the row of the pause is not kept as it was shown: %+v", ts.ticks(at, 1000))
	}
	for _, tick := range ts.ticks(at, 1000)[kept+1:] {
		if tick.Outcome == "skipped" && *tick.Reason == "paused" {
			t.Errorf("a tick of the pause stands twice: %+v", tick)
		}
	}
}
