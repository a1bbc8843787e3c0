package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
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

// BenchmarkPruneRound goes through very many runs that are kept for a week, of which 10,000 a minute come and go. The
// first round of a process looks at those past the shortest time that any job keeps its runs: here, of a job that has
// few, a minute.
func BenchmarkPruneRound(b *testing.B) {
	runs := 1_000_000
	if os.Getenv(envLarge) == "1" {
		runs = 10_000_000
	}
	ctx := context.Background()
	path := filepath.Join(b.TempDir(), "n.db")
	s := openAt(b, path)
	minute := jobs.Duration(time.Minute)
	short := plainJob("short")
	short.Retain.Succeeded = &minute
	_, err := s.Save(ctx, store.Changes{Jobs: []store.PutJob{{Job: plainJob("job0")}, {Job: short}}}, store.By{Actor: "bench", Now: testTime})
	check(b, err)
	check(b, s.Close())
	p, err := sql.Open("sqlite", path+"?_pragma=synchronous(0)&_pragma=journal_mode(WAL)&_pragma=cache_size(-200000)")
	check(b, err)
	// Of a minute 10,000 each, the newest of them as old as testTime.
	_, err = p.Exec(`
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $1 - 1)
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, started_at,
    finished_at, queue)
SELECT ($2 - ($1 - i) * 6) << 12, i, (SELECT id FROM jobs WHERE name = 'job0'), 1, 6, 0, 0, 0, 1, 0, 0, 'api', $2 - ($1 - i) * 6,
    $2 - ($1 - i) * 6, $2 - ($1 - i) * 6, $2 - ($1 - i) * 6, 'default' FROM n`, runs, int64(testTime))
	check(b, err)
	check(b, p.Close())
	began := time.Now()
	s = openAt(b, path)
	b.Logf("%d runs: opened in %s", runs, time.Since(began))
	// The oldest is kept for a week from then.
	now := testTime.Add(7*24*time.Hour - time.Duration(runs)*6*time.Millisecond)
	round := func(what string) {
		began, steps, gone, longest := time.Now(), 0, 0, time.Duration(0)
		for done := false; !done; steps++ {
			step := time.Now()
			out, err := s.Prune(ctx, store.PruneStep{Now: now, Limit: 500, Brief: true})
			check(b, err)
			longest = max(longest, time.Since(step))
			gone, done = gone+out.Runs, out.Done
		}
		b.Logf("%s: %d runs gone in %d steps and %s, the longest %s", what, gone, steps, time.Since(began).Round(time.Microsecond), longest)
	}
	round("the first round")
	round("the same again")
	for range 3 {
		now = now.Add(time.Minute)
		round("a minute later")
	}
}
