package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// riverInsert inserts one job at a time from a.Callers goroutines for a.For.
func riverInsert(ctx context.Context, a childArgs) (values, error) {
	db, err := openRiver(ctx, a.DB)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	client, err := riverInserter(db)
	if err != nil {
		return nil, err
	}
	got, n, err := riverInsertFor(ctx, client, a.Callers, a.For)
	if err != nil {
		return nil, err
	}
	return got, riverExpect(ctx, db, "available", n)
}

// riverInsertFor measures inserts and tells how many were made.
func riverInsertFor(
	ctx context.Context, client *river.Client[*sql.Tx], callers int, length time.Duration,
) (values, int, error) {
	cpu := ownCPU()
	took, elapsed, err := hammer(callers, length, func(int) error {
		_, err := client.Insert(ctx, riverJob(0, 0), nil)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("insert a job: %w", err)
	}
	got := pace(took, elapsed)
	got["cpu_us"] = float64((ownCPU() - cpu).Microseconds()) / float64(len(took))
	return got, len(took), nil
}

// riverExpect fails unless so many jobs are in a state.
func riverExpect(ctx context.Context, db *sql.DB, state string, want int) error {
	got, err := riverCount(ctx, db, state)
	if err == nil && got != want {
		err = fmt.Errorf("of River's jobs %d are %s: want %d", got, state, want)
	}
	return err
}

// riverBulk inserts batches of a.N for a.For.
func riverBulk(ctx context.Context, a childArgs) (values, error) {
	db, err := openRiver(ctx, a.DB)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	client, err := riverInserter(db)
	if err != nil {
		return nil, err
	}
	n, started := 0, time.Now()
	for time.Since(started) < a.For {
		if err := riverLoad(ctx, client, n, a.N); err != nil {
			return nil, err
		}
		n += a.N
	}
	got := values{"per_s": float64(n) / time.Since(started).Seconds()}
	return got, riverExpect(ctx, db, "available", n)
}

// riverDrain inserts a.N jobs and works them all. The time runs from the start of the client
// until it has stopped, which is when the last completion is in the file.
func riverDrain(ctx context.Context, a childArgs) (values, error) {
	db, err := openRiver(ctx, a.DB)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	inserter, err := riverInserter(db)
	if err != nil {
		return nil, err
	}
	if err := riverLoad(ctx, inserter, 0, a.N); err != nil {
		return nil, err
	}
	got, err := riverWork(ctx, db, a, a.N)
	if err != nil {
		return nil, err
	}
	if err := riverExpect(ctx, db, "completed", a.N); err != nil {
		return nil, err
	}
	if got["peak_mib"], err = peakOf(os.Getpid()); err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	size, err := fileMiB(a.DB)
	got["db_mib"] = size * 100_000 / float64(a.N)
	return got, err
}

// riverWork works jobs until target are done.
func riverWork(ctx context.Context, db *sql.DB, a childArgs, target int) (values, error) {
	worker := newRiverWorker(a.URL, target, a.Workers)
	client, err := riverConsumer(db, worker, a.Workers)
	if err != nil {
		return nil, err
	}
	cpu, started := ownCPU(), time.Now()
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	select {
	case <-worker.full:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := client.Stop(ctx); err != nil {
		return nil, fmt.Errorf("stop River: %w", err)
	}
	done := float64(worker.done.Load())
	return values{
		"per_s":  done / time.Since(started).Seconds(),
		"cpu_us": float64((ownCPU() - cpu).Microseconds()) / done,
	}, nil
}

// riverLatency inserts one job each a.Every, a.N in all, into a client that works them.
// The receiver knows how long each took.
func riverLatency(ctx context.Context, a childArgs) (values, error) {
	db, err := openRiver(ctx, a.DB)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	worker := newRiverWorker(a.URL, a.N, a.Workers)
	client, err := riverConsumer(db, worker, a.Workers)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	err = paced(ctx, a.N, a.Every, func(n int) error {
		_, err := client.Insert(ctx, riverJob(n, time.Now().UnixNano()), nil)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, client.StopAndCancel(ctx))
	}
	select {
	case <-worker.full:
	case <-ctx.Done():
	}
	return values{}, errors.Join(context.Cause(ctx), client.Stop(context.WithoutCancel(ctx)))
}

// riverMillion is riverInsert, riverBulk and riverDrain of 10,000 with a.N jobs waiting, and
// again with a.N completed. They are completed by one UPDATE: to work them takes too long.
func riverMillion(ctx context.Context, a childArgs) (values, error) {
	db, err := openRiver(ctx, a.DB)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	client, err := riverInserter(db)
	if err != nil {
		return nil, err
	}
	if err := riverLoad(ctx, client, 0, a.N); err != nil {
		return nil, err
	}
	all := values{}
	for _, phase := range []string{"queued", "finished"} {
		inserted, _, err := riverInsertFor(ctx, client, a.Callers, a.For)
		if err != nil {
			return nil, err
		}
		if phase == "finished" {
			if err := riverLoad(ctx, client, a.N, millionDrain); err != nil {
				return nil, err
			}
		}
		worked, err := riverWork(ctx, db, a, millionDrain)
		if err != nil {
			return nil, err
		}
		all[phase+"_enqueue_per_s"] = inserted["per_s"]
		all[phase+"_drain_per_s"] = worked["per_s"]
		if phase == "queued" {
			_, err := db.ExecContext(ctx, `UPDATE river_job
				SET state = 'completed', finalized_at = CURRENT_TIMESTAMP, attempt = 1,
					attempted_at = CURRENT_TIMESTAMP
				WHERE state = 'available'`)
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// hammer calls f from so many goroutines until length has passed; f is told which. It gives how
// long each call took and the time until the last one ended; the first error ends all.
func hammer(
	callers int, length time.Duration, f func(caller int) error,
) (all []time.Duration, elapsed time.Duration, err error) {
	took := make([][]time.Duration, callers)
	errs := make([]error, callers)
	started := time.Now()
	var calling sync.WaitGroup
	for c := range callers {
		calling.Go(func() {
			for last := time.Now(); time.Since(started) < length; {
				if errs[c] = f(c); errs[c] != nil {
					return
				}
				now := time.Now()
				took[c] = append(took[c], now.Sub(last))
				last = now
			}
		})
	}
	calling.Wait()
	elapsed = time.Since(started)
	for _, t := range took {
		all = append(all, t...)
	}
	return all, elapsed, errors.Join(errs...)
}

// paced calls f(0) to f(n-1), one each interval.
func paced(ctx context.Context, n int, every time.Duration, f func(n int) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range n {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// pace is how many calls ended per second, and the median and 99th percentile of their length.
func pace(took []time.Duration, elapsed time.Duration) values {
	return values{
		"per_s":  float64(len(took)) / elapsed.Seconds(),
		"p50_ms": quantile(took, 0.50),
		"p99_ms": quantile(took, 0.99),
	}
}
