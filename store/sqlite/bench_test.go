package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// envLarge makes BenchmarkClaim measure a backlog of a million runs too.
const envLarge = "NIGHTSHIFT_BENCH_LARGE"

// benchStore is a store with n queued runs of 300 bytes, spread over lanes.
func benchStore(b *testing.B, n, lanes int) (store.Store, *jobs.IDs) {
	b.Helper()
	s := openAt(b, filepath.Join(b.TempDir(), "n.db"))
	ctx := context.Background()
	unbound(b, s)
	for made := 0; made < lanes; {
		c := store.Changes{Jobs: make([]store.PutJob, min(1000, lanes-made))}
		for i := range c.Jobs {
			c.Jobs[i].Job = plainJob(fmt.Sprint("job", made+i))
			c.Jobs[i].Job.Dependencies = []string{fmt.Sprint("dep", made+i)}
		}
		_, err := s.Save(ctx, c, store.By{Actor: "bench", Now: testTime})
		check(b, err)
		made += len(c.Jobs)
	}
	ids := jobs.NewIDs(0, rand.Uint64)
	for made := 0; made < n; {
		subs := make([]store.Submission, min(10_000, n-made))
		for i := range subs {
			subs[i] = benchRun(ids, fmt.Sprint("job", (made+i)%lanes))
		}
		_, err := s.Enqueue(ctx, subs)
		check(b, err)
		made += len(subs)
	}
	return s, ids
}

var benchPayload = jobs.Raw(`{"x":"` + fmt.Sprintf("%0280d", 1) + `"}`)

func benchRun(ids *jobs.IDs, job string) store.Submission {
	sub := submission(ids, job)
	sub.Run.Payload = benchPayload
	return sub
}

// ends are the outcomes of leases.
func ends(leases []store.Lease, state jobs.State) (fs []store.Finish) {
	outcome := jobs.OutcomeSucceeded
	if state == jobs.Queued {
		outcome = jobs.OutcomeInterrupted
	}
	for _, l := range leases {
		fs = append(fs, store.Finish{
			Run: l.Run.ID, Number: l.Run.Counts.Number, Job: l.Run.Job, Queue: "default", Version: 1,
			Started: testTime, Now: testTime, ExitCode: -1, HTTPStatus: 200, Result: jobs.Raw(`{"ok": true}`),
			Transition: jobs.Transition{
				State: state, Outcome: outcome, DueAt: testTime, Counts: l.Run.Counts,
				Decision: jobs.Decision{Action: "succeed", By: "success"},
			},
		})
	}
	return fs
}

// BenchmarkClaim takes a batch of 64 from a backlog: over one lane or many, with all of them open
// or all but one behind a gate that is shut.
func BenchmarkClaim(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		for _, lanes := range []int{1, 100, 1_000, 10_000} {
			if n < lanes {
				continue
			}
			b.Run(fmt.Sprintf("queued=%d/lanes=%d", n, lanes), func(b *testing.B) {
				benchmarkClaims(b, n, lanes)
			})
		}
	}
}

// benchmarkClaims makes one backlog, which takes long, for both.
func benchmarkClaims(b *testing.B, n, lanes int) {
	if n > 100_000 && os.Getenv(envLarge) != "1" {
		b.Skipf("takes minutes: set %s=1", envLarge)
	}
	s, ids := benchStore(b, n, lanes)
	b.Run("closed=0", func(b *testing.B) { benchmarkClaim(b, s) })
	if lanes > 1 {
		closed := lanes - 1
		b.Run(fmt.Sprint("closed=", closed), func(b *testing.B) {
			shutLanes(b, s, ids, lanes)
			benchmarkClaim(b, s)
		})
	}
}

// shutLanes shuts the gates of all lanes but the first, which has enough for a batch.
func shutLanes(b *testing.B, s store.Store, ids *jobs.IDs, lanes int) {
	b.Helper()
	ctx := context.Background()
	const callers = 64 // that share their commits
	var all sync.WaitGroup
	for first := range callers {
		all.Go(func() {
			for lane := first + 1; lane < lanes; lane += callers {
				err := s.PauseGate(ctx, jobs.GateDependency, fmt.Sprint("dep", lane), true, "",
					store.By{Actor: "bench", Now: testTime})
				if err != nil {
					b.Errorf("shut lane %d: %v", lane, err)
				}
			}
		})
	}
	all.Wait()
	subs := make([]store.Submission, 128)
	for i := range subs {
		subs[i] = benchRun(ids, "job0")
	}
	_, err := s.Enqueue(ctx, subs)
	check(b, err)
}

func benchmarkClaim(b *testing.B, s store.Store) {
	ctx := context.Background()
	// The first claims find out which lanes are shut. A lane that was served is behind those that
	// were not, so a second run of it comes when all have been looked at.
	for more := true; more; {
		out, err := s.Claim(ctx, store.Claim{Now: testTime, Free: [store.Pools]int{64, 0}})
		check(b, err)
		more = out.More
		_, err = s.Claim(ctx, store.Claim{Now: testTime, Finished: ends(out.Leases, jobs.Queued)})
		check(b, err)
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		out, err := s.Claim(ctx, store.Claim{Now: testTime, Free: [store.Pools]int{64, 0}})
		took = append(took, time.Since(begin))
		b.StopTimer()
		check(b, err)
		if len(out.Leases) != 64 {
			b.Fatalf("claimed %d runs, want 64", len(out.Leases))
		}
		// Back they go, so that the backlog stays as it is.
		_, err = s.Claim(ctx, store.Claim{Now: testTime, Finished: ends(out.Leases, jobs.Queued)})
		check(b, err)
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkEnqueue is one run a call, from 32 callers, each answered after its commit.
func BenchmarkEnqueue(b *testing.B) {
	s, ids := benchStore(b, 0, 1)
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Enqueue(context.Background(), []store.Submission{benchRun(ids, "job0")}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkBatch is a run of a batch of a thousand.
func BenchmarkBatch(b *testing.B) {
	s, ids := benchStore(b, 0, 1)
	b.ReportAllocs()
	for made := 0; made < b.N; made += 1000 {
		subs := make([]store.Submission, min(1000, b.N-made))
		for i := range subs {
			subs[i] = benchRun(ids, "job0")
		}
		_, err := s.Enqueue(context.Background(), subs)
		check(b, err)
	}
}

// unbound lets as many runs call the host of these jobs as there are.
func unbound(b *testing.B, s store.Store) {
	b.Helper()
	_, err := s.Save(context.Background(), store.Changes{Documents: []store.PutDocument{{
		Kind: store.KindDependency, Name: "127.0.0.1:9", Doc: jobs.Raw(`{"concurrency":null,"breaker":null}`),
	}}}, store.By{Actor: "bench", Now: testTime})
	check(b, err)
}

// BenchmarkDrain is the way of a queued run through the store: claimed and ended, 64 at a time. With
// limits each run has one of 100 keys, and each key a limit.
func BenchmarkDrain(b *testing.B) {
	for _, limits := range []bool{false, true} {
		b.Run(fmt.Sprintf("limits=%v", limits), func(b *testing.B) { benchmarkDrain(b, limits) })
	}
}

func benchmarkDrain(b *testing.B, limits bool) {
	s, ids := benchStore(b, 0, 1)
	if limits {
		j := plainJob("job0")
		j.Concurrency = &jobs.Concurrency{Limit: 4, Key: "payload.key"}
		_, err := s.Save(context.Background(), store.Changes{Jobs: []store.PutJob{{Job: j}}},
			store.By{Actor: "bench", Now: testTime})
		check(b, err)
	}
	for made := 0; made < b.N; {
		subs := make([]store.Submission, min(10_000, b.N-made))
		for i := range subs {
			if subs[i] = benchRun(ids, "job0"); limits {
				key := fmt.Sprint("customer ", (made+i)%100)
				subs[i].Run.Keys.Concurrency = &key
			}
		}
		_, err := s.Enqueue(context.Background(), subs)
		check(b, err)
		made += len(subs)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var done []store.Finish
	for {
		out, err := s.Claim(context.Background(),
			store.Claim{Now: testTime, Free: [store.Pools]int{64, 0}, Finished: done})
		check(b, err)
		if len(out.Leases) == 0 {
			return
		}
		done = ends(out.Leases, jobs.Succeeded)
	}
}

// BenchmarkApply is an apply of a thousand jobs: new ones, the same again, all changed.
func BenchmarkApply(b *testing.B) {
	for _, state := range []string{"new", "unchanged", "changed"} {
		b.Run(state, func(b *testing.B) {
			s, _ := benchStore(b, 0, 0)
			apply(b, s, "job", 0)
			b.ResetTimer()
			for i := range b.N {
				name, version := "job", 0
				switch state {
				case "new":
					name = fmt.Sprint("job", i, "-")
				case "changed":
					version = i + 1
				}
				out := apply(b, s, name, version)
				if got := out.Jobs[999].Changed; got == (state == "unchanged") {
					b.Fatalf("changed: %v", got)
				}
			}
		})
	}
}

// apply applies a thousand jobs, each but the last followed by the next.
func apply(b *testing.B, s store.Store, name string, version int) store.Saved {
	b.Helper()
	b.StopTimer()
	c := store.Changes{Set: "bench", Prune: version > 0, Jobs: make([]store.PutJob, 1000)}
	for i := range c.Jobs {
		j := plainJob(fmt.Sprint(name, i))
		j.Description = fmt.Sprint("version ", version)
		j.Labels = map[string]string{"team": "data", "tier": "one"}
		j.Webhook.Headers = map[string]string{"Authorization": "Bearer {{ secrets.TOKEN }}"}
		j.Retry.Rules = []jobs.Rule{{If: "http.status == 429", Then: jobs.ThenRetry, After: "1m"}}
		if i < 999 {
			j.OnSuccess = []jobs.Chain{{Job: fmt.Sprint(name, i+1), If: "result.rows > 0"}}
		}
		c.Jobs[i].Job = j
	}
	b.StartTimer()
	out, err := s.Save(context.Background(), c, store.By{Actor: "bench", Now: testTime})
	check(b, err)
	return out
}
