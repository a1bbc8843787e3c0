package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// figures of a file with so many runs.
type figures struct {
	runs, queued  int
	start         time.Duration
	lists, claims time.Duration // the median of a list, of the time from an enqueue to its delivery
	slowest       time.Duration // list
}

// tenMillion compares a file with very many runs with a small one: starts, lists and claims take as long, and pruning
// keeps pace with what is enqueued.
func tenMillion(ctx context.Context, l *lab) error {
	small, _, err := l.measured(ctx, 1_000, 100)
	if err != nil {
		return err
	}
	large, s, err := l.measured(ctx, pick(l, 60_000, 10_000_000), pick(l, 2_000, 100_000))
	if err != nil {
		return err
	}
	for _, f := range []*figures{small, large} {
		l.Row(fmt.Sprintf("%d ended runs, %d queued", f.runs, f.queued), fmt.Sprintf(
			"ready after %v; a list %v, the slowest %v; from enqueue to delivery %v", f.start.Round(time.Millisecond),
			f.lists.Round(10*time.Microsecond), f.slowest.Round(100*time.Microsecond), f.claims.Round(10*time.Microsecond)))
	}
	if large.start > l.ready {
		l.fault("ready after %v; want %v", large.start, l.ready)
	}
	l.flat("a list", small.lists, large.lists)
	l.flat("from enqueue to delivery", small.claims, large.claims)
	return s.prunes(ctx)
}

// flat wants a time to grow little with the file: to three times, and what a busy machine adds.
func (l *lab) flat(what string, small, large time.Duration) {
	const noise = 15 * time.Millisecond
	l.Row("  "+what+", large to small", fmt.Sprintf("%.2f", float64(large)/float64(small)))
	if large > 3*small+noise {
		l.fault("%s: %v in the large file, %v in the small one", what, large, small)
	}
}

// measured makes a file and measures a server on it. The queued runs are of a job that is paused, so that they stay.
func (l *lab) measured(ctx context.Context, runs, queued int) (*figures, *site, error) {
	s, err := l.newSite()
	if err != nil {
		return nil, nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := s.server.Do(ctx, http.MethodDelete, "/v1/schedules/second", "", nil, nil); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"old", "queued"} {
		if err := s.server.Register(ctx, name, map[string]any{"webhook": map[string]any{"url": s.receiver.url + "/quick"}}); err != nil {
			return nil, nil, err
		}
	}
	if _, err := s.server.Do(ctx, http.MethodPost, "/v1/jobs/queued/pause", "", map[string]any{}, nil); err != nil {
		return nil, nil, err
	}
	// The server makes the lane by a first run of it.
	if _, _, err := s.server.Enqueue(ctx, "queued", "first", map[string]any{}); err != nil {
		return nil, nil, err
	}
	if err := s.server.Stop(time.Minute); err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	if err := seed(ctx, s.server.DB(), runs, queued); err != nil {
		return nil, nil, fmt.Errorf("fill the file: %w", err)
	}
	if info, err := os.Stat(s.server.DB()); err == nil {
		l.Row(fmt.Sprintf("a file of %d runs", runs), fmt.Sprintf("%.0f MiB, filled in %v", mib(info.Size()), time.Since(begun).Round(time.Second)))
	}
	// A start on a file that this machine has read and written just now, and, as after a kill, with a log.
	if err := s.start(); err != nil {
		return nil, nil, err
	}
	if err := s.server.Kill(); err != nil {
		return nil, nil, err
	}
	f := &figures{runs: runs, queued: queued}
	begun = time.Now()
	if err := s.server.Start(); err != nil {
		return nil, nil, err
	}
	if err := s.server.AwaitReady(2 * time.Minute); err != nil {
		return nil, nil, err
	}
	f.start = time.Since(begun)
	if f.lists, f.slowest, err = s.timeLists(ctx); err != nil {
		return nil, nil, err
	}
	f.claims, err = s.timeClaims(ctx)
	return f, s, err
}

// seed writes ended runs, each with its attempt, and queued ones, as the server writes them.
func seed(ctx context.Context, file string, runs, queued int) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, strings.NewReplacer(
		"$RUNS", fmt.Sprint(runs), "$QUEUED", fmt.Sprint(queued), "$NOW", fmt.Sprint(time.Now().UnixMilli()),
		"$STEP", fmt.Sprint(max(int64(1), (20*24*time.Hour).Milliseconds()/int64(runs))),
	).Replace(seeded))
	return errors.Join(err, db.Close())
}

// seeded: run k of old ended $STEP ms before run k-1, over 20 days; every tenth failed and was resolved. Tails are all
// there may be of ids.
const seeded = `
PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA temp_store = MEMORY; PRAGMA journal_mode = OFF;
BEGIN;
INSERT INTO failure_groups (id, job, fingerprint, kind, type, message, count, first_at, last_at, ignored, ignored_more)
SELECT 1, id, 'f', 'http', 'http', '503 Service Unavailable', $RUNS / 10, $NOW - 1728000000, $NOW, 0, 0 FROM jobs WHERE name = 'old';
INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, started_at,
    finished_at, queue, created_by, error_kind, error_type, error_message, failure, dealt, dealt_at)
WITH RECURSIVE numbers (k) AS (SELECT $RUNS UNION ALL SELECT k - 1 FROM numbers WHERE k > 1)
SELECT (($NOW - 60000 - k * $STEP) << 12) | (k & 2047), -9223372036854775807 + k, (SELECT id FROM jobs WHERE name = 'old'), 1,
    CASE WHEN k % 10 = 0 THEN 7 ELSE 6 END, at, at, 0, 1, 0, 0, 'api', at, at, at, at + 20, 'default', 'environment',
    CASE WHEN k % 10 = 0 THEN 'http' END, CASE WHEN k % 10 = 0 THEN 'http' END, CASE WHEN k % 10 = 0 THEN '503 Service Unavailable' END,
    CASE WHEN k % 10 = 0 THEN 1 END, CASE WHEN k % 10 = 0 THEN 2 END, CASE WHEN k % 10 = 0 THEN at + 60000 END
FROM (SELECT k, $NOW - 60000 - k * $STEP AS at FROM numbers);
INSERT INTO payloads (run, body) SELECT seq, '{"order":' || (seq % 100000) || '}' FROM runs WHERE job = (SELECT id FROM jobs WHERE name = 'old');
INSERT INTO attempts (run, number, version, started_at, finished_at, outcome, http_status)
SELECT seq, 1, 1, started_at, finished_at, CASE state WHEN 6 THEN 1 ELSE 2 END, CASE state WHEN 6 THEN 200 ELSE 503 END
FROM runs WHERE job = (SELECT id FROM jobs WHERE name = 'old');
INSERT INTO stats (job, at, outcome, le, n, ms)
SELECT j, $NOW - $NOW % 3600000 - 86400000 * 2, o, 5, n, n * 20 FROM (
    SELECT 1 AS o, $RUNS - $RUNS / 10 AS n UNION ALL SELECT 2, $RUNS / 10), (SELECT '' AS j UNION ALL SELECT 'old')
WHERE true ON CONFLICT DO NOTHING;
INSERT INTO runs (seq, tail, job, version, lane, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, host, created_by)
WITH RECURSIVE numbers (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM numbers WHERE k < $QUEUED)
SELECT r.seq + k, r.tail + k, r.job, r.version, r.lane, r.state, r.rank + k / 100, r.due_at + k / 100, r.priority, 0, 0, 0, r.cause, r.created_at,
    r.run_at, r.host, r.created_by
FROM numbers, (SELECT * FROM runs WHERE state = 2) r;
COMMIT;
PRAGMA journal_mode = WAL;
`

// timeLists gives the median of all lists, and the slowest, each asked for a few times.
func (s *site) timeLists(ctx context.Context) (median, slowest time.Duration, err error) {
	var all []time.Duration
	for _, path := range []string{
		"/v1/runs?limit=50", "/v1/runs?limit=50&job=old", "/v1/runs?limit=50&state=queued", "/v1/runs?limit=50&state=failed",
		"/v1/runs?limit=50&job=queued", "/v1/failures?limit=50&status=resolved", "/v1/failures", "/v1/jobs", "/v1/queues", "/v1/failure-groups", "/v1/stats",
	} {
		for range 5 {
			begun := time.Now()
			if _, err := s.server.Do(ctx, http.MethodGet, path, "", nil, nil); err != nil {
				return 0, 0, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, time.Since(begun))
		}
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1], nil
}

// timeClaims gives the median of the times from the answer to an enqueue to the delivery.
func (s *site) timeClaims(ctx context.Context) (time.Duration, error) {
	var all []time.Duration
	for n := range 60 {
		begun := time.Now()
		run, _, err := s.server.Enqueue(ctx, "quick", fmt.Sprint("claim-", n), map[string]any{})
		if err != nil {
			return 0, err
		}
		err = s.await(ctx, "a delivery", 20*time.Second, func() bool { return len(s.receiver.of(run.ID)) > 0 })
		if err != nil {
			return 0, err
		}
		all = append(all, s.receiver.of(run.ID)[0].at.Sub(begun))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// prunes shortens how long runs are kept, so that most of them are to go, and enqueues meanwhile. Pruning has to be
// faster than what comes.
func (s *site) prunes(ctx context.Context) error {
	err := s.server.Register(ctx, "old", map[string]any{
		"webhook": map[string]any{"url": s.receiver.url + "/quick"},
		"retain":  map[string]any{"succeeded": "1h", "failed": "1h", "cancelled": "1h"},
	})
	if err != nil {
		return err
	}
	s.load.groups, s.load.clients = 0, 8
	s.load.begin(ctx)
	before, err := s.oldRuns(ctx)
	if err != nil {
		return err
	}
	begun, acks := time.Now(), s.load.acks()
	pause(ctx, pick(s.lab, 0, 150*time.Second)) // it prunes once a minute
	after, err := s.oldRuns(ctx)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	s.load.stop(drainWithin)
	if s.short {
		return nil // the minute does not come
	}
	gone, came := before-after, s.load.acks()-acks
	s.Row("pruned", fmt.Sprintf("%d in %v while %d were enqueued (%.0f/s, %.0f/s)", gone, took.Round(time.Second), came,
		float64(gone)/took.Seconds(), float64(came)/took.Seconds()))
	if gone < came {
		s.fault("%d runs were pruned while %d were enqueued: the file would grow for ever", gone, came)
	}
	return nil
}

func (s *site) oldRuns(ctx context.Context) (n int, err error) {
	rows, err := rig.Rows(ctx, s.server.DB(), "SELECT count(*) FROM runs WHERE job = (SELECT id FROM jobs WHERE name = 'old')")
	if err == nil {
		_, err = fmt.Sscan(rows[0][0], &n)
	}
	return n, err
}
