package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// benchJob is the job that is measured.
const benchJob = "bench"

// enqueue measures one-by-one enqueueing from so many clients, each on its connection.
func (l *lab) enqueue(clients int, length time.Duration) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			if err := s.prepare(ctx, l, benchJob); err != nil {
				return err
			}
			var n int
			if got, n, err = s.enqueueFor(ctx, benchJob, clients, length); err != nil {
				return err
			}
			return s.expect(ctx, benchJob, "queued", n)
		})
		return got, err
	}
}

// prepare registers a job and pauses it, so that a backlog can be built.
func (s *server) prepare(ctx context.Context, l *lab, job string) error {
	return errors.Join(s.register(ctx, l, job), s.pause(ctx, job))
}

// enqueueFor enqueues for some time and tells how many runs were acknowledged.
func (s *server) enqueueFor(
	ctx context.Context, job string, clients int, length time.Duration,
) (values, int, error) {
	wires, closeAll, err := dialWires(ctx, s.addr, clients)
	if err != nil {
		return nil, 0, err
	}
	defer closeAll()
	body, path := runBody(0, 0), runsPath(job)
	before, err := cpuOf(s.pid())
	if err != nil {
		return nil, 0, err
	}
	took, elapsed, err := hammer(clients, length, func(c int) error {
		return wires[c].post(path, body)
	})
	if err != nil {
		return nil, 0, err
	}
	after, err := cpuOf(s.pid())
	got := pace(took, elapsed)
	got["cpu_us"] = float64((after - before).Microseconds()) / float64(len(took))
	return got, len(took), err
}

// batches measures batches of 1,000 from one client.
func (l *lab) batches(length time.Duration) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			if err := s.prepare(ctx, l, benchJob); err != nil {
				return err
			}
			w, err := dialWire(ctx, s.addr)
			if err != nil {
				return err
			}
			defer w.close()
			before, err := cpuOf(s.pid())
			if err != nil {
				return err
			}
			body := batchBody(benchJob, 0, batchSize)
			took, elapsed, err := hammer(1, length, func(int) error { return w.batch(body, batchSize) })
			if err != nil {
				return err
			}
			after, err := cpuOf(s.pid())
			if err != nil {
				return err
			}
			n := len(took) * batchSize
			got = values{
				"per_s":  float64(n) / elapsed.Seconds(),
				"cpu_us": float64((after - before).Microseconds()) / float64(n),
			}
			return s.expect(ctx, benchJob, "queued", n)
		})
		return got, err
	}
}

// latency measures the time from sending a run to its webhook's arrival, for n runs, one per
// interval.
func (l *lab) latency(n int, every time.Duration) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			if err := s.register(ctx, l, benchJob); err != nil {
				return err
			}
			got, err = s.latencyOf(ctx, l, benchJob, n, every)
			return err
		})
		return got, err
	}
}

func (s *server) latencyOf(
	ctx context.Context, l *lab, job string, n int, every time.Duration,
) (values, error) {
	w, err := dialWire(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer w.close()
	round := l.receiver.begin(n)
	err = paced(ctx, n, every, func(i int) error {
		return w.post(runsPath(job), runBody(i, time.Now().UnixNano()))
	})
	if err != nil {
		return nil, err
	}
	if err := round.wait(ctx, n); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return waitsOf(round), errors.Join(round.check(), s.expect(ctx, job, "succeeded", n))
}

func waitsOf(r *round) values {
	waits := r.waits()
	return values{"p50_ms": quantile(waits, 0.50), "p99_ms": quantile(waits, 0.99)}
}

// loop measures the whole loop: n runs go in over HTTP from 128 clients as fast as they are
// taken, while the server works them; from the first request until all have ended.
func (l *lab) loop(n int) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			if err := s.register(ctx, l, benchJob); err != nil {
				return err
			}
			if got, err = s.loopAll(ctx, l, n); err != nil {
				return err
			}
			return s.expect(ctx, benchJob, "succeeded", n)
		})
		return got, err
	}
}

func (s *server) loopAll(ctx context.Context, l *lab, n int) (values, error) {
	wires, closeAll, err := dialWires(ctx, s.addr, loopClients)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	round := l.receiver.begin(n)
	cpu, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	own, started := ownCPU(), time.Now()
	err = share(loopClients, n, func(c, i int) error {
		return wires[c].post(runsPath(benchJob), runBody(i, 0))
	})
	if err != nil {
		return nil, err
	}
	accepted := time.Since(started)
	if err := round.wait(ctx, n); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	elapsed := time.Since(started)
	own = ownCPU() - own
	after, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	got := values{
		"per_s":          float64(n) / elapsed.Seconds(),
		"accepted_per_s": float64(n) / accepted.Seconds(),
		"server_us":      float64((after - cpu).Microseconds()) / float64(n),
		"sum_us":         float64((own + after - cpu).Microseconds()) / float64(n),
	}
	return got, round.check()
}

// share calls f for 0 to n-1 from so many goroutines, each when its last call has ended.
func share(callers, n int, f func(caller, i int) error) error {
	errs := make([]error, callers)
	var next atomic.Int64
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(c, i); err != nil {
					errs[c] = fmt.Errorf("call %d: %w", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
