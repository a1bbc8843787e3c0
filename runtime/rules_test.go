package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// idle is the kind of a server that executes nothing.
func idle(context.Context, *jobs.Call) jobs.Report { return jobs.Report{} }

// recordFailures keeps n runs of a job with four failed attempts each, as the job's rules decide.
func recordFailures(t testing.TB, s *server, job string, n int, f jobs.Failure) {
	t.Helper()
	ctx := context.Background()
	plan, err := s.rt.PlanOf(ctx, job, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := s.rt.Now()
	for made := 0; made < n; {
		batch := make([]jobs.Request, min(n-made, 2000))
		for i := range batch {
			batch[i] = jobs.Request{Job: job, Payload: jobs.Raw(`{"order":1234,"customer":"c-99"}`)}
		}
		if _, err := s.rt.Submit(ctx, true, batch); err != nil {
			t.Fatal(err)
		}
		made += len(batch)
		claim := store.Claim{Now: now.Add(time.Hour), Free: [store.Pools]int{500, 0}}
		for {
			out, err := s.st.Claim(ctx, claim)
			if err != nil {
				t.Fatal(err)
			}
			if claim.Finished = nil; len(out.Leases) == 0 && !out.More {
				break
			}
			claim.Now = claim.Now.Add(time.Second)
			for _, l := range out.Leases {
				got := jobs.Decide(jobs.Ending{
					Plan: plan, Counts: l.Run.Counts, RunAt: l.Run.RunAt, Now: claim.Now, Random: 0.5,
					Report: jobs.Report{Failure: &f, HTTPStatus: 503, ExitCode: -1},
				})
				claim.Finished = append(claim.Finished, store.Finish{
					Run: l.Run.ID, Number: l.Run.Counts.Number, Job: job, Queue: "default", Version: 1,
					Started: claim.Now, Now: claim.Now, HTTPStatus: 503, ExitCode: -1, Transition: got,
				})
			}
		}
	}
}

const fourTimes = `{"name":"shop","webhook":{"url":"http://127.0.0.1:9/"},` +
	`"retry":{"max_attempts":4,"backoff":{"base":"0s"}}}`

func unavailable(stack int) jobs.Failure {
	return jobs.Failure{
		Kind: jobs.FailHTTP, Type: "Unavailable", Message: "503 Service Unavailable",
		Stack: strings.Repeat("at a line of the program\n", stack/25),
		HTTP: &jobs.HTTPFailure{
			Status: 503, Headers: map[string]string{"content-type": "application/json"},
			Body: `{"code":"busy","detail":"` + strings.Repeat("x", 200) + `"}`,
		},
	}
}

var otherRules = []jobs.Rule{
	{If: `http.body.code == "no_such_user"`, Then: jobs.ThenFail},
	{If: `http.status == 503 && payload.order > 1000`, Then: jobs.ThenRetry, MaxAttempts: new(2)},
}

func (s *server) backtest(rules *[]jobs.Rule) jobs.Backtest {
	s.t.Helper()
	plan, err := s.rt.PlanOf(context.Background(), "shop", rules)
	if err != nil {
		s.t.Fatal(err)
	}
	found, err := s.rt.Backtest(context.Background(), plan, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// peak is how much the heap held at most while fn ran, above what it held before.
func peak(fn func()) uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	before, most := m.HeapAlloc, m.HeapAlloc
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			goruntime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	fn()
	close(done)
	<-over
	return most - before
}

func TestBacktestDoesNotHoldWhatItReads(t *testing.T) {
	s := newServer(t, idle)
	defer s.close()
	s.put(fourTimes)
	recordFailures(t, s, "shop", 400, unavailable(15<<10)) // 24 MB
	var found jobs.Backtest
	grown := peak(func() { found = s.backtest(&otherRules) })
	if found.Attempts != 1600 || found.Changed != 400 || found.Spared != 800 {
		t.Errorf("%+v", found)
	}
	if grown > 14<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func TestBacktestOfRulesAsTheyStandChangesNothing(t *testing.T) {
	s := newServer(t, idle)
	defer s.close()
	s.put(fourTimes)
	recordFailures(t, s, "shop", 10, unavailable(0))
	if found := s.backtest(nil); found.Attempts != 40 || found.Changed != 0 || found.Spared != 0 {
		t.Errorf("%+v", found)
	}
	stands := []jobs.Rule{}
	if found := s.backtest(&stands); found.Attempts != 40 || found.Changed != 0 {
		t.Errorf("with its own rules given: %+v", found)
	}
	_, err := s.rt.PlanOf(context.Background(), "absent", &stands)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of a job that is not: %v", err)
	}
}

// BenchmarkBacktest replays 25,000 runs with 100,000 failed attempts.
func BenchmarkBacktest(b *testing.B) {
	s := newServer(b, idle)
	defer s.close()
	s.put(fourTimes)
	recordFailures(b, s, "shop", 25_000, unavailable(1000))
	var grown uint64
	before := rss()
	for b.Loop() {
		grown = max(grown, peak(func() {
			if found := s.backtest(&otherRules); found.Attempts != 100_000 {
				b.Fatalf("%+v", found)
			}
		}))
	}
	b.ReportMetric(float64(grown)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(rss()-before)/(1<<20), "rss-MiB")
}

// rss is the largest resident size that the process has had.
func rss() int {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if kib, is := strings.CutPrefix(line, "VmHWM:"); is {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(kib), " kB"))
			return n << 10
		}
	}
	panic(fmt.Sprintf("no size in %q", text))
}
