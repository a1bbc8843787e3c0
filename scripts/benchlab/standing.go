package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// standingCallers put schedules at the same time.
const standingCallers = 16

func standingProbe(at scale) probe {
	n := grouped(float64(at.standing))
	return probe{
		name: "standing",
		about: fmt.Sprintf("%s schedules that are not due: registered, listed, and what they cost beside a "+
			"server without any over %s", n, at.idle),
		setup: func(l *lab) (ours, peer measurement) { return l.standing(at.standing, at.idle), nil },
		rows: []row{
			{key: "put_per_s", label: fmt.Sprintf("PUT of %s schedules, %d callers", n, standingCallers), unit: "schedules/s"},
			{key: "apply_s", label: "apply of " + n + " schedules", unit: "s"},
			{key: "again_s", label: "  the same again", unit: "s"},
			{key: "apply_peak_mib", label: "  peak memory", unit: "MiB"},
			{key: "page_50_ms", label: "a page of 50 of them, p50", unit: "ms"},
			{key: "page_1000_ms", label: "a page of 1,000, p50", unit: "ms"},
			{key: "bytes", label: "file per schedule", unit: "bytes"},
			{key: "mib", label: "memory of the server with " + n + " schedules", unit: "MiB"},
			{key: "more_mib", label: "  more than without any", unit: "MiB", target: within(50)},
			{key: "idle_ms", label: "idle CPU per minute with " + n + " schedules", unit: "ms"},
			{key: "more_idle_ms", label: "  more than without any", unit: "ms", target: within(60)},
		},
	}
}

// standing measures schedules that do nothing, beside a server that has none.
func (l *lab) standing(n int, idle time.Duration) measurement {
	return func(ctx context.Context) (got values, err error) {
		got = values{}
		later := time.Now().AddDate(0, 1, 0).Truncate(time.Second)
		plans := plansOf(n, benchJob, plan{Cron: "0 3 * * *", Start: &later})
		if _, err := l.with(ctx, func(s *server) error { return s.putAll(ctx, l, plans, got) }); err != nil {
			return nil, err
		}
		_, err = l.with(ctx, func(empty *server) error {
			if err := empty.register(ctx, l, benchJob); err != nil {
				return err
			}
			_, err := l.with(ctx, func(s *server) error {
				if err := s.register(ctx, l, benchJob); err != nil {
					return err
				}
				return s.standingOf(ctx, l, empty, plans, idle, got)
			})
			return err
		})
		return got, err
	}
}

func (s *server) standingOf(
	ctx context.Context, l *lab, empty *server, plans []plan, idle time.Duration, got values,
) error {
	if err := s.applyTwice(ctx, plans, got); err != nil {
		return err
	}
	for _, limit := range []int{50, 1000} {
		if err := s.pageSchedules(ctx, limit, got); err != nil {
			return err
		}
	}
	// What they cost once they stand is seen by a server that has only read them.
	before, after := 0.0, 0.0
	err := empty.again(ctx, l, func() (err error) {
		before, err = fileMiB(empty.db)
		return err
	})
	if err != nil {
		return err
	}
	err = s.again(ctx, l, func() (err error) {
		after, err = fileMiB(s.db)
		return err
	})
	if err != nil {
		return err
	}
	got["bytes"] = (after - before) * (1 << 20) / float64(len(plans))
	return s.idleBeside(ctx, empty, idle, got)
}

// putAll registers schedules one by one.
func (s *server) putAll(ctx context.Context, l *lab, plans []plan, got values) error {
	if err := s.register(ctx, l, benchJob); err != nil {
		return err
	}
	bodies := make([][]byte, len(plans))
	for i, p := range plans {
		p.Name = ""
		var err error
		if bodies[i], err = json.Marshal(&p); err != nil {
			return err
		}
	}
	wires, closeAll, err := dialWires(ctx, s.addr, standingCallers)
	if err != nil {
		return err
	}
	defer closeAll()
	started := time.Now()
	err = share(standingCallers, len(plans), func(c, i int) error {
		return wires[c].send(http.MethodPut, "/v1/schedules/"+plans[i].Name, bodies[i], http.StatusCreated)
	})
	got["put_per_s"] = float64(len(plans)) / time.Since(started).Seconds()
	return err
}

// applyTwice registers schedules by one request, and then the same again.
func (s *server) applyTwice(ctx context.Context, plans []plan, got values) error {
	for _, key := range []string{"apply_s", "again_s"} {
		took, err := s.apply(ctx, benchJob, plans)
		if err != nil {
			return err
		}
		got[key] = took.Seconds()
	}
	var err error
	got["apply_peak_mib"], err = peakOf(s.pid())
	return err
}

// pageSchedules measures the first pages of their list.
func (s *server) pageSchedules(ctx context.Context, limit int, got values) error {
	path := fmt.Sprintf("/v1/schedules?limit=%d", limit)
	var took []time.Duration
	for range 20 {
		started := time.Now()
		if err := s.call(ctx, http.MethodGet, path, nil, nil); err != nil {
			return err
		}
		took = append(took, time.Since(started))
	}
	got[fmt.Sprintf("page_%d_ms", limit)] = quantile(took, 0.5)
	return nil
}

// idleBeside measures what two servers use that have nothing to do.
func (s *server) idleBeside(ctx context.Context, empty *server, idle time.Duration, got values) error {
	// After the start, and the upkeep that comes a minute later.
	if err := rest(ctx, idle+idle/12); err != nil {
		return err
	}
	servers := []*server{empty, s}
	var cpu [2]time.Duration
	var mib [2]float64
	for i, of := range servers {
		var err error
		if cpu[i], err = cpuOf(of.pid()); err != nil {
			return err
		}
	}
	if err := rest(ctx, idle); err != nil {
		return err
	}
	for i, of := range servers {
		after, err := cpuOf(of.pid())
		if err != nil {
			return err
		}
		cpu[i] = (after - cpu[i]) * time.Minute / idle
		if mib[i], err = residentOf(of.pid()); err != nil {
			return err
		}
	}
	got["mib"], got["more_mib"] = mib[1], mib[1]-mib[0]
	got["idle_ms"] = float64(cpu[1].Milliseconds())
	got["more_idle_ms"] = float64((cpu[1] - cpu[0]).Milliseconds())
	return nil
}
