package main

import (
	"context"
	"fmt"
	"time"

	"nightshift/scripts/internal/rig"
)

// killStorm kills the server at random while all that it does is under way at once: runs that are retried, groups
// with their merges, a schedule, limits, and runs that save checkpoints as they go.
func killStorm(ctx context.Context, l *lab) error {
	s, err := l.newSite()
	if err != nil {
		return err
	}
	sv := newSaver()
	s.receiver.save = sv.take
	if err := s.begin(ctx); err != nil {
		return err
	}
	for job, more := range map[string]map[string]any{
		"save": {"timeout": "1h"}, "pair": {"concurrency": map[string]any{"limit": 2}},
	} {
		document := map[string]any{
			"webhook": map[string]any{"url": s.receiver.url + map[string]string{"save": "/save", "pair": "/slow"}[job]},
			"retry":   map[string]any{"backoff": map[string]any{"kind": "fixed", "base": "100ms"}},
		}
		for name, value := range more {
			document[name] = value
		}
		if err := s.server.Register(ctx, job, document); err != nil {
			return err
		}
	}
	s.load.jobs = []string{"quick", "quick", "quick", "slow", "flaky", "save", "pair"}
	s.load.groups, s.load.pause = 15, 100*time.Millisecond // of four clients; pair must not be outrun
	starts := &rig.Starts{
		Server: s.server, Within: l.ready,
		Slow: func(text string) { s.fault("%s", text) },
	}
	s.load.begin(ctx)
	kills := pick(l, 4, 200)
	for n := range kills {
		if err := starts.Leave(ctx, time.Duration(l.random.Int64N(int64(pick(l, 900*time.Millisecond, 3*time.Second))))); err != nil {
			return fmt.Errorf("before kill %d: %w", n+1, err)
		}
		if err := s.server.Kill(); err != nil {
			return err
		}
		if l.random.IntN(8) == 0 {
			if err := starts.KillEarly(time.Duration(l.random.IntN(300)) * time.Millisecond); err != nil {
				return err
			}
		}
		if n%10 == 0 {
			if err := s.lookIntoCopy(ctx, fmt.Sprintf("kill %d", n+1)); err != nil {
				return err
			}
		}
		if err := starts.Begin(); err != nil {
			return fmt.Errorf("after kill %d: %w", n+1, err)
		}
	}
	s.load.stop(drainWithin)
	begun := time.Now()
	if err := s.drain(ctx); err != nil {
		return err
	}
	s.Row("kills", fmt.Sprintf("%d, and %d before the server was ready", kills, starts.Early))
	starts.Tell(&s.Report)
	s.Row("all ended within", time.Since(begun).Round(100*time.Millisecond))
	s.Row("acknowledged", s.load.acks())
	s.tell()
	sv.tell(s)
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.tellStored(ctx)
}

// tellStored reports what the file holds: nothing has failed, but for runs that five deaths in a row have ended.
func (s *site) tellStored(ctx context.Context) error {
	for _, count := range []struct{ what, query string }{
		{"runs", "SELECT count(*) FROM runs"},
		{"  of groups", "SELECT count(*) FROM runs WHERE members IS NOT NULL"},
		{"  that merge", "SELECT count(*) FROM runs WHERE place = -1"},
		{"  of ticks", "SELECT count(*) FROM runs WHERE schedule IS NOT NULL"},
		{"  that succeeded", "SELECT count(*) FROM runs WHERE state = 6"},
		{"attempts that a kill cut off", "SELECT count(*) FROM attempts WHERE outcome = 3"},
	} {
		rows, err := rig.Rows(ctx, s.server.DB(), count.query)
		if err != nil {
			return err
		}
		s.Row(count.what, rows[0][0])
	}
	rows, err := rig.Rows(ctx, s.server.DB(), "SELECT error_kind, count(*) FROM runs WHERE state = 7 GROUP BY 1")
	if err != nil {
		return err
	}
	s.Row("  that failed", fmt.Sprint(rows))
	for _, row := range rows {
		if row[0] != "crash_loop" && row[0] != "merge" && row[0] != "group" {
			s.fault("%s runs failed by %s", row[1], row[0])
		}
	}
	return nil
}
