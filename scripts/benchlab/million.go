package main

import (
	"context"
	"errors"
	"maps"
	"time"
)

// millionDrain is how many runs are worked to measure a drain beside a million others.
const millionDrain = 10_000

// Jobs beside the one whose million runs wait or have ended: one takes runs that
// are never worked, the other works them at once.
const (
	sideJob = "side"
	liveJob = "live"
)

// million measures the main figures with n runs queued, works them all, and measures again with n
// runs finished.
func (l *lab) million(n int, length time.Duration) measurement {
	return func(ctx context.Context) (values, error) {
		all := values{}
		mib, err := l.with(ctx, func(s *server) error {
			err := errors.Join(s.prepare(ctx, l, benchJob), s.prepare(ctx, l, sideJob),
				s.register(ctx, l, liveJob))
			if err != nil {
				return err
			}
			started := time.Now()
			if err := s.load(ctx, benchJob, n); err != nil {
				return err
			}
			all["load_per_s"] = float64(n) / time.Since(started).Seconds()
			if err := s.beside(ctx, l, "queued", length, all); err != nil {
				return err
			}
			if err := s.drainMillion(ctx, l, n, all); err != nil {
				return err
			}
			if err := s.beside(ctx, l, "finished", length, all); err != nil {
				return err
			}
			return s.drainMore(ctx, l, n, all)
		})
		all["db_mib"] = mib
		return all, err
	}
}

// beside measures enqueueing, batches and latency of other jobs.
func (s *server) beside(
	ctx context.Context, l *lab, phase string, length time.Duration, all values,
) error {
	one, _, err := s.enqueueFor(ctx, sideJob, 1, length)
	if err != nil {
		return err
	}
	many, _, err := s.enqueueFor(ctx, sideJob, 32, length)
	if err != nil {
		return err
	}
	w, err := dialWire(ctx, s.addr)
	if err != nil {
		return err
	}
	defer w.close()
	body := batchBody(sideJob, 0, batchSize)
	took, elapsed, err := hammer(1, length, func(int) error { return w.batch(body, batchSize) })
	if err != nil {
		return err
	}
	live := liveJob + "-" + phase
	if err := s.register(ctx, l, live); err != nil {
		return err
	}
	waits, err := s.latencyOf(ctx, l, live, 100, 50*time.Millisecond)
	if err != nil {
		return err
	}
	maps.Copy(all, values{
		phase + "_enqueue_1_per_s": one["per_s"],
		phase + "_enqueue_1_p99":   one["p99_ms"],
		phase + "_enqueue_per_s":   many["per_s"],
		phase + "_enqueue_p99":     many["p99_ms"],
		phase + "_batch_per_s":     float64(len(took)*batchSize) / elapsed.Seconds(),
		phase + "_start_p50":       waits["p50_ms"],
		phase + "_start_p99":       waits["p99_ms"],
	})
	return nil
}

// drainMillion works the million; the first 10,000 of it are a figure of their own.
func (s *server) drainMillion(ctx context.Context, l *lab, n int, all values) error {
	round := l.receiver.begin(n)
	started := time.Now()
	if err := s.resume(ctx, benchJob); err != nil {
		return err
	}
	head := min(millionDrain, n)
	if err := round.wait(ctx, head); err != nil {
		return err
	}
	all["queued_drain_per_s"] = float64(head) / time.Since(started).Seconds()
	if err := round.wait(ctx, n); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	all["drain_all_per_s"] = float64(n) / time.Since(started).Seconds()
	return errors.Join(round.check(), s.expect(ctx, benchJob, "succeeded", n))
}

// drainMore works 10,000 more runs, with the million finished.
func (s *server) drainMore(ctx context.Context, l *lab, n int, all values) error {
	if err := s.pause(ctx, benchJob); err != nil {
		return err
	}
	if err := s.load(ctx, benchJob, millionDrain); err != nil {
		return err
	}
	got, err := s.drainAll(ctx, l, millionDrain)
	if err != nil {
		return err
	}
	all["finished_drain_per_s"] = got["per_s"]
	if all["peak_mib"], err = peakOf(s.pid()); err != nil {
		return err
	}
	return s.expect(ctx, benchJob, "succeeded", n+millionDrain)
}
