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

// BenchmarkPrune makes runs with 300 bytes of payload and 2 kB of output, has them end, and prunes them all: pruning
// keeps pace where it takes less time than making them. Then it gives the file's space back.
func BenchmarkPrune(b *testing.B) {
	const runs = 100_000
	for _, of := range []int{1, 1000} {
		b.Run(fmt.Sprint("jobs=", of), func(b *testing.B) {
			for range b.N {
				benchmarkPrune(b, runs, of)
			}
		})
	}
}

func benchmarkPrune(b *testing.B, runs, of int) {
	ctx := context.Background()
	s := openAt(b, filepath.Join(b.TempDir(), "n.db"))
	unbound(b, s)
	c := store.Changes{}
	for i := range of {
		c.Jobs = append(c.Jobs, store.PutJob{Job: plainJob(fmt.Sprint("job", i))})
	}
	_, err := s.Save(ctx, c, store.By{Actor: "bench", Now: testTime})
	check(b, err)
	ids := jobs.NewIDs(0, rand.Uint64)
	began := time.Now()
	for made := 0; made < runs; made += 100 {
		subs := make([]store.Submission, 100)
		for i := range subs {
			subs[i] = benchRun(ids, fmt.Sprint("job", (made+i)%of))
		}
		_, err := s.Enqueue(ctx, subs)
		check(b, err)
	}
	enqueued := time.Since(began)
	text := make([]byte, 2000)
	claim := store.Claim{Now: testTime, Free: [store.Pools]int{64}}
	for {
		out, err := s.Claim(ctx, claim)
		check(b, err)
		if len(out.Leases) == 0 {
			break
		}
		claim.Finished = ends(out.Leases, jobs.Succeeded)
		for i := range claim.Finished {
			claim.Finished[i].Log = []store.LogPiece{{Run: claim.Finished[i].Run, Attempt: 1, Data: text}}
		}
	}
	made := time.Since(began)
	size, err := s.Size(ctx)
	check(b, err)
	began = time.Now()
	steps, longest := 0, time.Duration(0)
	for done := false; !done; steps++ {
		step := time.Now()
		began := time.Time{}
		out, err := s.Prune(ctx, store.PruneStep{
			Now: testTime.Add(30 * 24 * time.Hour), Limit: 500, Enough: func() bool {
				if began.IsZero() {
					began = time.Now()
				}
				return time.Since(began) > 8*time.Millisecond
			},
		})
		check(b, err)
		done = out.Done
		longest = max(longest, time.Since(step))
	}
	pruned := time.Since(began)
	left, err := s.Size(ctx)
	check(b, err)
	began = time.Now()
	tidy, slowest, tidies := left, time.Duration(0), 0
	for tidy.Free > 1<<20 && tidies < 2000 {
		step := time.Now()
		check(b, s.Shrink(ctx, 200))
		slowest = max(slowest, time.Since(step))
		tidies++
		tidy, err = s.Size(ctx)
		check(b, err)
	}
	b.Logf("%d runs of %d jobs, %d MB: enqueue %.0f/s, whole %.0f/s, pruned %.0f/s in %d steps, the longest %s: ratio %.1f; %d tidies in %s, slowest %s, %d MB left, %d free",
		runs, of, size.Size>>20, float64(runs)/enqueued.Seconds(), float64(runs)/made.Seconds(), float64(runs)/pruned.Seconds(), steps,
		longest, made.Seconds()/pruned.Seconds(), tidies, time.Since(began), slowest, tidy.Size>>20, tidy.Free>>20)
}
