package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// noopKind succeeds at once. It stands in for the webhook, and has its workers.
type noopKind struct {
	target int64
	done   atomic.Int64
	full   chan struct{} // closed when target attempts have run
}

func (k *noopKind) Run(context.Context, *jobs.Call) jobs.Report {
	if k.done.Add(1) == k.target {
		close(k.full)
	}
	return jobs.Report{ExitCode: -1}
}

// noopDrain queues a.N runs that do nothing and measures how fast the runtime works them: from
// its start until none is under way any more, as drain does over HTTP.
func noopDrain(ctx context.Context, a childArgs) (got values, err error) {
	kept, err := sqlite.Open(ctx, a.DB, sqlite.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	kind := &noopKind{target: int64(a.N), full: make(chan struct{})}
	r, err := runtime.New(ctx, runtime.Config{
		Store: kept, Kinds: map[string]jobs.Kind{jobs.KindWebhook: kind},
	})
	if err != nil {
		return nil, err
	}
	if err := noopLoad(ctx, r, a.N); err != nil {
		return nil, err
	}
	cpu, started := ownCPU(), time.Now()
	r.Start()
	defer func() { err = errors.Join(err, r.Stop(nil)) }()
	select {
	case <-kind.full:
	case err := <-r.Fatal():
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := noopSettle(ctx, r); err != nil {
		return nil, err
	}
	elapsed := time.Since(started)
	got = values{
		"per_s":  float64(a.N) / elapsed.Seconds(),
		"cpu_us": float64((ownCPU() - cpu).Microseconds()) / float64(a.N),
	}
	return got, noopExpect(ctx, r, a.N)
}

// noopJob makes the job, and frees its host from limits as unbind does.
func noopJob(ctx context.Context, r *runtime.Runtime) error {
	document := `{"name":"` + benchJob + `","webhook":{"url":"http://127.0.0.1:9/"}}`
	job, err := jobs.ParseJob([]byte(document))
	if err != nil {
		return err
	}
	host, err := jobs.ParseDependency([]byte(`{"name":"127.0.0.1:9","concurrency":null,"breaker":null}`))
	if err != nil {
		return err
	}
	_, err = r.Save(ctx, runtime.Changes{
		Dependencies: []runtime.PutDependency{{Dependency: host}}, Jobs: []store.PutJob{{Job: job}},
	}, store.By{Actor: "bench"})
	return err
}

func noopLoad(ctx context.Context, r *runtime.Runtime, n int) error {
	if err := noopJob(ctx, r); err != nil {
		return err
	}
	for first := 0; first < n; first += batchSize {
		requests := make([]jobs.Request, min(batchSize, n-first))
		for i := range requests {
			requests[i] = jobs.Request{
				Job: benchJob, Payload: payload(first+i, 0), Trigger: jobs.TriggerAPI, Creator: "bench",
			}
		}
		if _, err := r.Submit(ctx, false, requests); err != nil {
			return err
		}
	}
	return nil
}

// noopSettle waits until no run is running any more; all have been started.
func noopSettle(ctx context.Context, r *runtime.Runtime) error {
	running := store.RunFilter{States: []jobs.State{jobs.Running}}
	deadline := time.Now().Add(stallAfter)
	for {
		runs, next, err := r.Runs(ctx, running, store.Page{Limit: 1})
		switch {
		case err != nil:
			return err
		case len(runs) == 0 && next == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("stuck: all attempts have run, but %s later a run is still running",
				stallAfter)
		}
		time.Sleep(time.Millisecond)
	}
}

// noopExpect fails unless n runs have succeeded and each was executed once.
func noopExpect(ctx context.Context, r *runtime.Runtime, n int) error {
	good, page := 0, store.Page{Limit: 1000}
	for {
		runs, next, err := r.Runs(ctx, store.RunFilter{States: []jobs.State{jobs.Succeeded}}, page)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if run.Counts.Number != 1 {
				return fmt.Errorf("run %s was executed %d times", run.ID, run.Counts.Number)
			}
		}
		good += len(runs)
		if next == "" {
			break
		}
		page.Cursor = next
	}
	if good != n {
		return fmt.Errorf("%d runs succeeded: want %d", good, n)
	}
	return nil
}

// noop is the probe of noopDrain.
func (l *lab) noop(n int) measurement {
	return func(ctx context.Context) (values, error) {
		dir, done, err := l.folder()
		if err != nil {
			return nil, err
		}
		defer done()
		return l.child(ctx, "child-noop", childArgs{DB: filepath.Join(dir, "noop.db"), N: n})
	}
}
