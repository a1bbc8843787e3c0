package main

import (
	"context"
	"fmt"
	"time"
)

// work is queued webhook runs to be drained, and what holds them.
type work struct {
	runs  int
	bound bool // the receiver's host keeps the limits that every host has
	each  int  // of the runs of one customer so many at once; 0: all
}

// lay queues the runs, with their job paused.
func (s *server) lay(ctx context.Context, l *lab, w work) error {
	more := map[string]any{}
	if w.each > 0 {
		more["concurrency"] = map[string]any{"limit": w.each, "key": "payload.key"}
	}
	if !w.bound {
		if err := s.unbind(ctx, l); err != nil {
			return err
		}
	}
	if err := s.putJob(ctx, l, benchJob, more); err != nil {
		return err
	}
	if err := s.pause(ctx, benchJob); err != nil {
		return err
	}
	return s.load(ctx, benchJob, w.runs)
}

// drain measures how fast queued webhook runs end: from resuming the job until the API
// shows none running. per_s_received is the receiver's count, which needs no last commit.
func (l *lab) drain(w work) measurement {
	return func(ctx context.Context) (got values, err error) {
		mib, err := l.with(ctx, func(s *server) error {
			if err := s.lay(ctx, l, w); err != nil {
				return err
			}
			queuedPeak, err := peakOf(s.pid())
			if err != nil {
				return err
			}
			if got, err = s.drainAll(ctx, l, w.runs); err != nil {
				return err
			}
			if got["peak_mib"], err = peakOf(s.pid()); err != nil {
				return err
			}
			got["queued_peak_mib"] = queuedPeak
			return s.expect(ctx, benchJob, "succeeded", w.runs)
		})
		if err == nil {
			got["db_mib"] = mib * 100_000 / float64(w.runs)
		}
		return got, err
	}
}

// drainBoth is drain, and then drain with the limits that every host has, whose values are named
// bound_.
func (l *lab) drainBoth(n int) measurement {
	free, bound := l.drain(work{runs: n}), l.drain(work{runs: n, bound: true})
	return func(ctx context.Context) (values, error) {
		got, err := free(ctx)
		if err != nil {
			return nil, err
		}
		with, err := bound(ctx)
		if err != nil {
			return nil, fmt.Errorf("with the limits of a host: %w", err)
		}
		for key, value := range with {
			got["bound_"+key] = value
		}
		return got, nil
	}
}

// limitsProbe compares with the same drain without the limit. The keys have more room together than
// there are workers, so that it is the bookkeeping which is measured, not the waiting.
func limitsProbe(at scale) probe {
	const each = 4
	return probe{
		name: "limits",
		about: fmt.Sprintf("drain of %s queued webhook runs with a limit of %d on each of %d keys, and without",
			grouped(float64(at.small)), each, payloadKeys),
		vs: "plain",
		setup: func(l *lab) (ours, peer measurement) {
			return l.drain(work{runs: at.small, each: each}), l.drain(work{runs: at.small})
		},
		rows: []row{
			{
				key: "per_s", peer: "per_s", label: fmt.Sprintf("drain with a limit on each of %d keys", payloadKeys),
				unit: "runs/s", target: atLeast(0.7),
			},
			{key: "cpu_us", peer: "cpu_us", label: "  server CPU per run", unit: "µs"},
		},
	}
}

// drainAll resumes the job and measures until its n runs have ended.
func (s *server) drainAll(ctx context.Context, l *lab, n int) (values, error) {
	round := l.receiver.begin(n)
	cpu, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := s.resume(ctx, benchJob); err != nil {
		return nil, err
	}
	if err := round.wait(ctx, n); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	elapsed := time.Since(started)
	after, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	got := values{
		"per_s":          float64(n) / elapsed.Seconds(),
		"per_s_received": float64(n) / time.Duration(round.last.Load()).Seconds(),
		"cpu_us":         float64((after - cpu).Microseconds()) / float64(n),
	}
	return got, round.check()
}
