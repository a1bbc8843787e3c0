package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// burstLead is how long before their second the schedules of a burst begin to be registered.
const burstLead = 3 * time.Second

func burstProbe(at scale) probe {
	n := grouped(float64(at.burst))
	return probe{
		name:  "burst",
		about: n + " schedules that are due in the same second, and all again in the next",
		setup: func(l *lab) (ours, peer measurement) { return l.burst(at.burst), nil },
		rows: []row{
			{
				key: "first_last_ms", label: n + " schedules due in one second: the last start", unit: "ms",
				target: within(5_000),
			},
			{key: "first_p50_ms", label: "  p50", unit: "ms"},
			{
				key: "next_last_ms", label: "  all due again a second later: the last start", unit: "ms",
				target: within(5_000),
			},
			{key: "next_p50_ms", label: "  p50", unit: "ms"},
			{key: "made_ms", label: "  the last of both is decided after its tick", unit: "ms"},
			{key: "cpu_us", label: "  server CPU per run", unit: "µs"},
		},
	}
}

// burst measures how late runs start whose schedules tick in the same second. They are allowed to
// overlap, so that none is skipped in the second after it.
func (l *lab) burst(n int) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			if err := s.register(ctx, l, benchJob); err != nil {
				return err
			}
			first := time.Now().Add(burstLead + time.Duration(n)*2*time.Millisecond).Truncate(time.Second)
			next := first.Add(time.Second)
			_, err := s.apply(ctx, benchJob, plansOf(n, benchJob, plan{
				Cron: "* * * * * *", Start: &first, End: &next, Overlap: "allow",
			}))
			if err != nil {
				return err
			}
			if time.Until(first) < 500*time.Millisecond {
				return fmt.Errorf("the schedules were not registered before their second")
			}
			got, err = s.burstOf(ctx, l, n, first)
			return err
		})
		return got, err
	}
}

func (s *server) burstOf(ctx context.Context, l *lab, n int, first time.Time) (values, error) {
	cpu, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	round := l.receiver.begin(n) // each comes twice
	if err := rest(ctx, time.Until(first)); err != nil {
		return nil, err
	}
	err = poll(ctx, 10*time.Millisecond, stallAfter, func() (bool, error) { return round.calls() >= 2*n, nil })
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	after, err := cpuOf(s.pid())
	if err != nil {
		return nil, err
	}
	runs, err := s.starts(ctx, benchJob, url.Values{"state": {"succeeded"}})
	if err != nil {
		return nil, err
	}
	var one, two, made []time.Duration
	for i := range runs {
		made = append(made, runs[i].CreatedAt.Sub(runs[i].ScheduledFor))
		if runs[i].ScheduledFor.Equal(first) {
			one = append(one, runs[i].late())
		} else {
			two = append(two, runs[i].late())
		}
	}
	if len(one) != n || len(two) != n || round.calls() != 2*n {
		return nil, fmt.Errorf("%d schedules made %d and %d runs, which called %d times", n, len(one), len(two),
			round.calls())
	}
	return values{
		"first_last_ms": quantile(one, 1), "first_p50_ms": quantile(one, 0.5),
		"next_last_ms": quantile(two, 1), "next_p50_ms": quantile(two, 0.5),
		"made_ms": quantile(made, 1), "cpu_us": float64((after - cpu).Microseconds()) / float64(2*n),
	}, nil
}
