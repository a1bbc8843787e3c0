package sqlite

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const benchFailures = 50_000

// failedStore is a store with n open failures.
func failedStore(b *testing.B, n int) (store.Store, *jobs.IDs) {
	b.Helper()
	s, ids := benchStore(b, n, 1)
	c := store.Claim{Now: testTime, Free: [store.Pools]int{500, 0}}
	for {
		out, err := s.Claim(context.Background(), c)
		check(b, err)
		if len(out.Leases) == 0 {
			return s, ids
		}
		c.Finished = ends(out.Leases, jobs.Failed)
		for i := range c.Finished {
			t := &c.Finished[i].Transition
			t.Outcome = jobs.OutcomeFailed
			t.Error = &jobs.Failure{Kind: jobs.FailHTTP, Type: "Unavailable", Message: "503 from upstream"}
		}
	}
}

// BenchmarkBulk requeues 50,000 failures while others enqueue: how long the call takes, all of the steps,
// and what others wait for a commit meanwhile.
func BenchmarkBulk(b *testing.B) {
	for range b.N {
		b.StopTimer()
		s, ids := failedStore(b, benchFailures)
		_, err := s.Save(context.Background(), store.Changes{Jobs: []store.PutJob{{Job: plainJob("other")}}},
			store.By{Actor: "bench", Now: testTime})
		check(b, err)
		quiet := measured(b, s, ids, func() { time.Sleep(2 * time.Second) })
		b.StartTimer()
		order, begin := ids.Next(testTime.Std()), time.Now()
		var called, carried time.Duration
		busy := measured(b, s, ids, func() {
			n, err := s.StartBulk(context.Background(), order, store.Bulk{Action: store.BulkRequeue}, store.By{Actor: "bench", Now: testTime})
			check(b, err)
			if called = time.Since(begin); n != benchFailures {
				b.Fatalf("the order is for %d failures, want %d", n, benchFailures)
			}
			carryOutBench(b, s, ids, order)
			carried = time.Since(begin)
		})
		info, err := s.Bulk(context.Background(), order)
		check(b, err)
		if info.Done != benchFailures || info.State != store.BulkMade {
			b.Fatalf("%+v", info)
		}
		b.ReportMetric(float64(called.Milliseconds()), "call-ms")
		b.ReportMetric(float64(carried.Milliseconds()), "all-ms")
		b.ReportMetric(quiet, "quiet-p99-ms")
		b.ReportMetric(busy, "busy-p99-ms")
	}
}

// carryOutBench does as the runtime does: a step, and a rest that is as long.
func carryOutBench(b *testing.B, s store.Store, ids *jobs.IDs, order jobs.ID) {
	b.Helper()
	for more := true; more; {
		begin := time.Now()
		var err error
		_, more, err = s.BulkStep(context.Background(), order, 100, func(_ *store.Bulk, runs []*jobs.Run) (list []store.BulkRun) {
			for _, run := range runs {
				list = append(list, store.BulkRun{Requeue: store.Requeue{
					Of: run.ID, ID: ids.Next(testTime.Std()), Trigger: jobs.TriggerRequeue,
					By: store.By{Actor: "bench", Now: testTime},
				}})
			}
			return list
		}, testTime)
		check(b, err)
		time.Sleep(time.Since(begin))
	}
}

// measured gives the 99th percentile of what callers wait for an enqueue while something goes on, in
// milliseconds.
func measured(b *testing.B, s store.Store, ids *jobs.IDs, while func()) float64 {
	b.Helper()
	var over atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	for range 4 {
		all.Go(func() {
			for !over.Load() {
				begin := time.Now()
				if _, err := s.Enqueue(context.Background(), []store.Submission{benchRun(ids, "other")}); err != nil {
					b.Error(err)
					return
				}
				d := time.Since(begin)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				time.Sleep(time.Millisecond)
			}
		})
	}
	while()
	over.Store(true)
	all.Wait()
	slices.Sort(took)
	b.Logf("%d enqueues: p50 %s, p99 %s, longest %s", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}
