package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const benchSchedules = 10_000

// benchCron ticks at 02:00.
func benchCron() jobs.Schedule {
	return jobs.Schedule{
		Job: "job0", Cron: "0 2 * * *", Timezone: "Europe/Berlin", Payload: benchPayload,
		CatchUp: jobs.CatchUp{Mode: jobs.CatchUpAll},
	}
}

// scheduledStore is a store with schedules of one job, and the time at which all are due.
func scheduledStore(b *testing.B, n int) (s store.Store, ids *jobs.IDs, due jobs.Time) {
	b.Helper()
	s = openAt(b, filepath.Join(b.TempDir(), "n.db"))
	unbound(b, s)
	sched := benchCron()
	c := store.Changes{Jobs: []store.PutJob{{Job: plainJob("job0")}}}
	for i := range n {
		c.Documents = append(c.Documents, store.PutDocument{
			Kind: store.KindSchedule, Name: fmt.Sprintf("s%05d", i), Doc: jobs.AppendJSON(nil, &sched),
		})
	}
	_, err := s.Save(context.Background(), c, store.By{Actor: "bench", Now: testTime})
	check(b, err)
	table, err := sched.Timetable(testTime)
	check(b, err)
	return s, jobs.NewIDs(0, rand.Uint64), table.Next(testTime)
}

// tickDraft is what the runtime drafts for a tick.
func tickDraft(ids *jobs.IDs, s *store.Schedule, at jobs.Time, by jobs.Trigger) store.TickRun {
	sub := benchRun(ids, "job0")
	sub.Run.Schedule, sub.Run.ScheduledFor, sub.Run.Trigger = s.Name, at, by
	return store.TickRun{At: at, Sub: sub, LateAt: at.Add(jobs.DefaultLateAfter)}
}

// BenchmarkDecide is a tick that makes a run: 500 schedules in one transaction.
func BenchmarkDecide(b *testing.B) {
	const batch = 500
	s, ids, at := scheduledStore(b, batch)
	ctx := context.Background()
	b.ReportAllocs()
	b.StopTimer()
	for made := 0; made < b.N; made += batch {
		due, err := s.DueSchedules(ctx, at, batch)
		check(b, err)
		list := make([]store.Decision, 0, batch)
		next := at + 24*3600*1000
		for _, of := range due.List[:min(batch, b.N-made)] {
			run := tickDraft(ids, of, at, jobs.TriggerSchedule)
			list = append(list, store.Decision{Schedule: of, Cursor: at, Next: next, OnTime: &run})
		}
		b.StartTimer()
		_, err = s.Decide(ctx, at, list)
		b.StopTimer()
		check(b, err)
		drain(b, s)
		at = next
	}
}

// BenchmarkCatchUp is a missed tick from being made a run to its end: 300 runs in one transaction, of
// so many schedules, and then one after another of each.
func BenchmarkCatchUp(b *testing.B) {
	for _, schedules := range []int{300, 50} {
		b.Run(fmt.Sprint("schedules=", schedules), func(b *testing.B) { benchmarkCatchUp(b, schedules) })
	}
}

func benchmarkCatchUp(b *testing.B, schedules int) {
	const turn = 300
	s, ids, at := scheduledStore(b, schedules)
	ctx := context.Background()
	due, err := s.DueSchedules(ctx, at, schedules)
	check(b, err)
	list := due.List
	b.ReportAllocs()
	b.ResetTimer()
	for made := 0; made < b.N; {
		decisions := make([]store.Decision, 0, schedules)
		for _, of := range list {
			d := store.Decision{Schedule: of, Cursor: at, Next: at, Backlog: jobs.TickRange{From: at, To: at, Count: 1}}
			for i := range min(turn/schedules, b.N-made) {
				d.CaughtUp = append(d.CaughtUp, tickDraft(ids, of, at+jobs.Time(i), jobs.TriggerCatchUp))
				made++
			}
			decisions = append(decisions, d)
		}
		_, err := s.Decide(ctx, at, decisions)
		check(b, err)
		at += turn
		list, err = s.Backlogs(ctx, schedules)
		check(b, err)
	}
	made := b.Elapsed()
	b.ReportMetric(float64(made.Nanoseconds())/float64(b.N), "make-ns/op")
	drain(b, s)
	b.ReportMetric(float64((b.Elapsed()-made).Nanoseconds())/float64(b.N), "run-ns/op")
}

// drain runs all that is queued.
func drain(b *testing.B, s store.Store) {
	b.Helper()
	var done []store.Finish
	for {
		out, err := s.Claim(context.Background(),
			store.Claim{Now: testTime, Free: [store.Pools]int{64, 0}, Workers: [store.Pools]int{64, 0}, Finished: done})
		check(b, err)
		if len(out.Leases) == 0 && !out.More {
			return
		}
		done = ends(out.Leases, jobs.Succeeded)
		for i := range done {
			done[i].Schedule = out.Leases[i].Run.Schedule
		}
	}
}

// BenchmarkDueSchedules reads 500 schedules that are due, of 10,000: all, or no others.
func BenchmarkDueSchedules(b *testing.B) {
	s, _, at := scheduledStore(b, benchSchedules)
	for _, c := range []struct {
		name string
		now  jobs.Time
		want int
	}{{"none", at - 1, 0}, {"all", at, 500}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				due, err := s.DueSchedules(context.Background(), c.now, 500)
				check(b, err)
				if len(due.List) != c.want {
					b.Fatalf("%d are due, want %d", len(due.List), c.want)
				}
			}
		})
	}
}

// BenchmarkSchedules reads the first page of 10,000.
func BenchmarkSchedules(b *testing.B) {
	s, _, _ := scheduledStore(b, benchSchedules)
	for _, limit := range []int{50, 1000} {
		b.Run(fmt.Sprint(limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list, _, err := s.Schedules(context.Background(), store.ScheduleFilter{}, store.Page{Limit: limit})
				check(b, err)
				if len(list) != limit {
					b.Fatalf("%d schedules, want %d", len(list), limit)
				}
			}
		})
	}
}

// BenchmarkPruneSchedules looks at the ledgers of 10,000 schedules for ticks past their time.
func BenchmarkPruneSchedules(b *testing.B) {
	s, _, _ := scheduledStore(b, benchSchedules)
	at := testTime
	for b.Loop() {
		at = at.Add(time.Minute)
		for done := false; !done; {
			out, err := s.Prune(context.Background(), store.PruneStep{Now: at, Limit: 500})
			check(b, err)
			done = out.Done
		}
	}
}
