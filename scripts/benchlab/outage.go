package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // to set a file back
)

const (
	outageJob  = "missed"
	regularJob = "regular"
)

// outage is a server that was down while schedules of it ticked.
type outage struct {
	schedules, missed int // each missed so many ticks, all of which are caught up
	regular           int // schedules that tick each second, and catch up nothing
}

func outageProbe(at scale) probe {
	o := at.outage
	all := grouped(float64(o.schedules * o.missed))
	return probe{
		name: "outage",
		about: fmt.Sprintf("an outage in which %s schedules missed %d ticks each, and how late %d others start "+
			"meanwhile that tick each second", grouped(float64(o.schedules)), o.missed, o.regular),
		setup: func(l *lab) (ours, peer measurement) { return l.outage(o), nil },
		rows: []row{
			{key: "ready_s", label: "start after an outage of " + all + " missed ticks: ready", unit: "s"},
			{key: "made_s", label: "  their runs are made", unit: "s"},
			{key: "ran_s", label: "  and have run", unit: "s"},
			{key: "per_s", label: "  runs that catch up", unit: "runs/s"},
			{key: "late_p50_ms", label: "regular ticks meanwhile: start, p50", unit: "ms"},
			{key: "late_p99_ms", label: "  p99", unit: "ms"},
			{key: "late_max_ms", label: "  last", unit: "ms", target: within(5_000)},
			{key: "peak_mib", label: "peak memory", unit: "MiB"},
		},
	}
}

// outage measures how missed ticks are caught up. The schedules tick each minute: to wait for an
// outage of hours, the file of the stopped server is set back.
func (l *lab) outage(o outage) measurement {
	return func(ctx context.Context) (got values, err error) {
		_, err = l.with(ctx, func(s *server) error {
			err := errors.Join(s.unbind(ctx, l), s.putJob(ctx, l, outageJob, map[string]any{}),
				s.putJob(ctx, l, regularJob, map[string]any{}))
			if err != nil {
				return err
			}
			plans := append(plansOf(o.schedules, outageJob, plan{
				Cron: "* * * * *", CatchUp: &catchUp{Mode: "all", Limit: o.missed},
			}), plansOf(o.regular, regularJob, plan{
				Cron: "* * * * * *", Overlap: "allow", CatchUp: &catchUp{Mode: "none"},
			})...)
			if _, err := s.apply(ctx, outageJob, plans); err != nil {
				return err
			}
			got, err = s.outageOf(ctx, l, o)
			return err
		})
		return got, err
	}
}

func (s *server) outageOf(ctx context.Context, l *lab, o outage) (values, error) {
	var began time.Time
	l.receiver.begin(max(o.schedules, o.regular))
	err := s.again(ctx, l, func() error {
		err := setBack(ctx, s.db, time.Duration(o.missed+1)*time.Minute)
		began = time.Now()
		return err
	})
	if err != nil {
		return nil, err
	}
	ready := time.Now()
	if err := s.untilCaughtUp(ctx, o); err != nil {
		return nil, err
	}
	made := time.Now()
	if err := s.untilIdle(ctx, outageJob); err != nil {
		return nil, err
	}
	ran := time.Now()
	peak, err := peakOf(s.pid())
	if err != nil {
		return nil, err
	}
	n, err := s.count(ctx, outageJob, url.Values{"state": {"succeeded"}, "trigger": {"catch_up"}})
	if err != nil {
		return nil, err
	}
	if n != o.schedules*o.missed {
		return nil, fmt.Errorf("%d runs caught up: want %d", n, o.schedules*o.missed)
	}
	late, err := s.regularTicks(ctx, o.regular, ready, ran)
	if err != nil {
		return nil, err
	}
	got := values{
		"ready_s": ready.Sub(began).Seconds(), "made_s": made.Sub(began).Seconds(),
		"ran_s": ran.Sub(began).Seconds(), "per_s": float64(n) / ran.Sub(began).Seconds(), "peak_mib": peak,
	}
	if len(late) > 0 { // else it was over before the next second
		got["late_p50_ms"], got["late_p99_ms"] = quantile(late, 0.5), quantile(late, 0.99)
		got["late_max_ms"] = quantile(late, 1)
	}
	return got, nil
}

// setBack has the schedules of a file stand as they did some time ago.
func setBack(ctx context.Context, path string, by time.Duration) (err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ms := by.Milliseconds()
	_, err = db.ExecContext(ctx, "UPDATE schedules SET anchor = anchor - ?, cursor = cursor - ?, due_at = due_at - ?",
		ms, ms, ms)
	if err != nil {
		err = fmt.Errorf("set the schedules back: %w", err)
	}
	return err
}

// untilCaughtUp waits until no schedule has a tick left whose run is to be made. The one that was
// registered last has its turn last.
func (s *server) untilCaughtUp(ctx context.Context, o outage) error {
	var stands struct {
		Backlog int       `json:"backlog"`
		Last    *struct{} `json:"last"`
	}
	path := fmt.Sprintf("/v1/schedules/%s-%05d", outageJob, o.schedules-1)
	err := poll(ctx, 50*time.Millisecond, 10*time.Minute, func() (bool, error) {
		err := s.call(ctx, "GET", path, nil, &stands)
		return stands.Last != nil && stands.Backlog == 0, err
	})
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	return nil
}

// untilIdle waits until no run of a job is queued or under way.
func (s *server) untilIdle(ctx context.Context, job string) error {
	return poll(ctx, 50*time.Millisecond, 10*time.Minute, func() (bool, error) {
		query := url.Values{"job": {job}, "state": {"queued,running,retrying"}, "limit": {"1"}}
		busy := false
		err := s.pages(ctx, query, func(items int) bool {
			busy = items > 0
			return false
		})
		return !busy, err
	})
}

// count is how many runs of a job a query finds.
func (s *server) count(ctx context.Context, job string, query url.Values) (n int, err error) {
	query.Set("job", job)
	query.Set("limit", "1000")
	err = s.pages(ctx, query, func(items int) bool {
		n += items
		return true
	})
	return n, err
}

// regularTicks gives how late each tick of the regular schedules between two times started.
func (s *server) regularTicks(ctx context.Context, each int, from, to time.Time) ([]time.Duration, error) {
	if err := rest(ctx, 2*time.Second); err != nil {
		return nil, err
	}
	runs, err := s.starts(ctx, regularJob, url.Values{"trigger": {"schedule"}})
	if err != nil {
		return nil, err
	}
	var late []time.Duration
	for i := range runs {
		if at := runs[i].ScheduledFor; at.Before(from) || !at.Before(to) {
			continue
		}
		if runs[i].StartedAt.IsZero() {
			return nil, fmt.Errorf("a regular run for %s has not started", runs[i].ScheduledFor)
		}
		late = append(late, runs[i].late())
	}
	if want := each * int(to.Sub(from)/time.Second); len(late) < want {
		return nil, fmt.Errorf("%d regular ticks made runs: want %d at least", len(late), want)
	}
	return late, nil
}
