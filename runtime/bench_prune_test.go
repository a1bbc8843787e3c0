package runtime_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// BenchmarkPruneKeepsPace enqueues at full speed for half a minute, with runs kept for a week and for a second, and
// says what that costs and how many are left. It needs a quiet machine.
func BenchmarkPruneKeepsPace(b *testing.B) {
	for _, retain := range []string{"7d", "1s"} {
		b.Run("retain="+retain, func(b *testing.B) {
			for range b.N {
				benchmarkPace(b, retain)
			}
		})
	}
}

func benchmarkPace(b *testing.B, retain string) {
	const callers, lasts = 32, 30 * time.Second
	ctx, path := context.Background(), b.TempDir()+"/n.db"
	st, err := sqlite.Open(ctx, path, sqlite.Config{})
	if err != nil {
		b.Fatal(err)
	}
	result := jobs.Raw(fmt.Sprintf(`{"x":"%0300d"}`, 1))
	rt, err := runtime.New(ctx, runtime.Config{
		Store: st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: kindFunc(func(context.Context, *jobs.Call) jobs.Report {
			return jobs.Report{Result: result}
		})},
		Workers: [store.Pools]int{64},
	})
	if err != nil {
		b.Fatal(err)
	}
	rt.SetHeartbeat(time.Second) // rounds of pruning come each 12 s, as they do after one that deleted much
	doc := `{"name":"a","webhook":{"url":"http://127.0.0.1:1/"},"retain":{"succeeded":"` + retain + `"}}`
	j, err := jobs.ParseJob([]byte(doc))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := rt.PutJobs(ctx, []store.PutJob{{Job: j}}, store.By{Actor: "bench"}); err != nil {
		b.Fatal(err)
	}
	rt.Start()
	var all sync.WaitGroup
	var made atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	payload := jobs.Raw(fmt.Sprintf(`{"x":"%0280d"}`, 1))
	over := time.Now().Add(lasts)
	for range callers {
		all.Go(func() {
			for time.Now().Before(over) {
				began := time.Now()
				if _, err := rt.Submit(ctx, true, []jobs.Request{{Job: "a", Payload: payload, Trigger: jobs.TriggerAPI}}); err != nil {
					b.Error(err)
					return
				}
				d := time.Since(began)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				made.Add(1)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	v, err := sqlite.Verify(ctx, path, false)
	if err != nil {
		b.Fatal(err)
	}
	left := v.Counts.Runs[jobs.Succeeded] + v.Counts.Runs[jobs.Failed] + v.Counts.Runs[jobs.Cancelled]
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	size, err := st.Size(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("retain %s: %d enqueued, %.0f/s, p50 %s p99 %s max %s; ended and kept %d; file %d MB, free %d MB", retain, made.Load(),
		float64(made.Load())/lasts.Seconds(), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], left, info.Size()>>20, size.Free>>20)
	kill := make(chan struct{})
	close(kill)
	_ = rt.Stop(kill)
	_ = st.Close()
}
