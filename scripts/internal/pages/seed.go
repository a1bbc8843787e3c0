package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	_ "modernc.org/sqlite" // it knows unhex, as the sqlite3 of Debian 12 does not

	"nightshift/jobs"
	"nightshift/scripts/internal/rig"
)

// kinds are the sorts of errors of failed runs, ten for each job.
const kinds = 10

// history is over which time the runs are spread, and hours the ticks.
const (
	history = 30 * 24 * time.Hour
	hours   = 100
)

type fields = map[string]any

// fill has the server make what it can, and multiplies the rest in its file while it is down.
func (l *load) fill(ctx context.Context) error {
	if err := errors.Join(l.server.Start(), l.server.AwaitReady(time.Minute)); err != nil {
		return err
	}
	if err := l.register(ctx); err != nil {
		return err
	}
	if err := l.groups(ctx); err != nil {
		return err
	}
	if err := l.server.Stop(time.Minute); err != nil {
		return err
	}
	if err := l.multiply(ctx); err != nil {
		return err
	}
	_, err := rig.Inspect(ctx, l.server.DB())
	return err
}

// register makes the jobs and the schedules.
func (l *load) register(ctx context.Context) error {
	var registered, schedules []fields
	keep := fields{"succeeded": "90d", "failed": "90d", "cancelled": "90d"}
	for n := range l.jobs {
		registered = append(registered, fields{
			"name": jobName(n), "description": "One of many", "labels": fields{"team": fmt.Sprintf("team-%d", n%7)},
			"webhook": fields{"url": l.receiver + "/" + jobName(n)}, "retry": fields{"max_attempts": 2}, "retain": keep,
			"dependencies": []string{fmt.Sprintf("shared-%d", n%20)}, "queue": fmt.Sprintf("queue-%d", n%5),
		})
	}
	for n := range l.schedules {
		schedules = append(schedules, fields{
			"name": fmt.Sprintf("schedule-%04d", n), "job": jobName(n % l.jobs), "cron": fmt.Sprintf("%d * * * *", n%60),
			"timezone": "Europe/Berlin", "late_after": "5m",
		})
	}
	_, err := l.server.Do(ctx, "POST", "/v1/apply", "", fields{"jobs": registered, "schedules": schedules}, nil)
	return err
}

// groups makes groups of runs that really ran.
func (l *load) groups(ctx context.Context) error {
	for _, size := range append([]int{l.members}, repeated(10, 30)...) {
		var members []fields
		for n := range size {
			members = append(members, fields{"name": fmt.Sprintf("member-%05d", n), "job": jobName(n % l.jobs)})
		}
		var run rig.Run
		if _, err := l.server.Do(ctx, "POST", "/v1/groups", "", fields{"members": members}, &run); err != nil {
			return fmt.Errorf("a group of %d: %w", size, err)
		}
		if l.group == "" {
			l.group = run.ID
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		run, err := l.server.Run(ctx, l.group)
		if err != nil || run.Terminal() {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("the largest group has not ended within 5 minutes")
		}
	}
}

func repeated(value, times int) (list []int) {
	for range times {
		list = append(list, value)
	}
	return list
}

// multiply writes the runs, as the server writes them, and what hangs on them.
func (l *load) multiply(ctx context.Context) error {
	var text strings.Builder
	text.WriteString(`PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA temp_store = MEMORY; BEGIN;
CREATE TEMP TABLE every AS SELECT row_number() OVER (ORDER BY id) - 1 AS n, id, name, queue FROM jobs WHERE name LIKE 'job-%';
CREATE UNIQUE INDEX temp.every_n ON every (n);
CREATE TEMP TABLE planned AS SELECT row_number() OVER (ORDER BY id) - 1 AS n, id, name, job FROM schedules;
CREATE UNIQUE INDEX temp.planned_n ON planned (n);
`)
	// A message that differs by more than numbers makes a fingerprint of its own.
	for n := range l.jobs {
		for kind := range kinds {
			f := l.failure(kind)
			fmt.Fprintf(&text, `INSERT INTO failure_groups (id, job, fingerprint, kind, type, message, count, first_at, last_at, ignored, ignored_more)
VALUES (%d, (SELECT id FROM every WHERE n = %d), '%s', '%s', '%s', '%s', 0, 0, 0, 0, 0);
`, groupID(n, kind), n, jobs.Fingerprint(jobName(n), f), f.Kind, f.Type, f.Message)
		}
	}
	now := time.Now()
	values := strings.NewReplacer(
		"$NOW", fmt.Sprint(now.UnixMilli()), "$RUNS", fmt.Sprint(l.runs), "$TICKS", fmt.Sprint(l.ticks()),
		"$STEP", fmt.Sprint(max(history.Milliseconds()/int64(l.runs), 1)), "$JOBS", fmt.Sprint(l.jobs),
		"$SCHEDULES", fmt.Sprint(l.schedules), "$KINDS", fmt.Sprint(kinds), "$FIRST", fmt.Sprint(groupID(0, 0)),
		"$HOUR", fmt.Sprint(now.Truncate(time.Hour).UnixMilli()),
	)
	text.WriteString(values.Replace(multiplied))
	if err := executed(ctx, l.server.DB(), text.String()); err != nil {
		return fmt.Errorf("multiply the rows: %w", err)
	}
	row, err := rig.Rows(ctx, l.server.DB(), `SELECT r.seq, r.tail, g.fingerprint FROM runs r JOIN failure_groups g ON g.id = r.failure
WHERE r.dealt = 0 ORDER BY r.seq DESC LIMIT 1`)
	if err != nil || len(row) == 0 {
		return errors.Join(err, errors.New("no failed run was made"))
	}
	l.print = row[0][2]
	l.failed, err = rig.RunID(row[0][0] + "|" + row[0][1])
	return err
}

// executed carries out statements on a file that nobody serves, on one connection.
func executed(ctx context.Context, file, statements string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}

// ticks is how many of the runs were made by ticks.
func (l *load) ticks() int { return min(l.runs/10, l.schedules*hours) }

func (l *load) failure(kind int) *jobs.Failure {
	what := []string{"the warehouse", "the mailer", "the ledger", "the search", "the cache", "the shop", "the bank", "the archive", "the index", "the queue"}
	return &jobs.Failure{
		Kind: jobs.FailHTTP, Type: "Unavailable", Message: fmt.Sprintf("503 Service Unavailable from %s: try again later", what[kind]),
	}
}

func groupID(job, kind int) int { return 1000 + job*kinds + kind }

// multiplied writes $RUNS runs: run k is of job k/10 % $JOBS and ended 2.6 s (a million in 30 days) before run k-1.
// Every tenth has failed, every 33rd of the others was cancelled before it started. The first $TICKS were made by
// ticks instead, one an hour for each schedule. Ids are made as the server makes them: milliseconds, a counter, and
// 62 bits of chance.
var multiplied = `
CREATE TEMP TABLE made AS
WITH RECURSIVE numbers (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM numbers WHERE k + 1 < $RUNS),
placed AS (
    SELECT k, CASE WHEN k < $TICKS THEN k % $SCHEDULES END AS schedule,
        CASE WHEN k < $TICKS THEN $HOUR - (k / $SCHEDULES + 1) * 3600000 + (k % $SCHEDULES % 60) * 60000 END AS tick,
        CASE WHEN k % 10 = 9 THEN 7 WHEN k % 33 = 0 AND k >= $TICKS THEN 8 ELSE 6 END AS state,
        5 + k * 2654435761 % 977 * (1 + k % 7) AS took
    FROM numbers)
SELECT k, p.state, p.took, s.name AS schedule, s.id AS schedule_id, p.tick,
    CASE WHEN p.schedule IS NULL THEN $NOW - 60000 - (k - $TICKS) * $STEP ELSE p.tick + 20 END AS at,
    j.id AS job, j.n AS job_n, j.queue AS queue,
    -9223372036854775807 - 1 + (random() & 4611686018427387903) AS tail
FROM placed p LEFT JOIN planned s ON s.n = p.schedule
JOIN every j ON j.n = CASE WHEN p.schedule IS NULL THEN k / 10 % $JOBS ELSE p.schedule % $JOBS END
ORDER BY at;

INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths, cause, created_at, run_at, started_at,
    finished_at, queue, labels, created_by, schedule, scheduled_for, error_kind, error_type, error_message, failure, dealt, dealt_at)
SELECT (at << 12) | CASE WHEN schedule IS NULL THEN 2048 | (k & 2047) ELSE k % $SCHEDULES END, tail, m.job, 1, m.state, at, at, 0,
    CASE m.state WHEN 6 THEN 1 WHEN 7 THEN 2 ELSE 0 END, CASE m.state WHEN 7 THEN 2 ELSE 0 END, 0,
    CASE WHEN schedule IS NULL THEN 'api' ELSE 'schedule' END, at, at, CASE WHEN m.state < 8 THEN at + 3 END, at + 3 + took, queue,
    '{"team":"team-' || (job_n % 7) || '"}', CASE WHEN schedule IS NULL THEN 'environment' END, schedule, tick,
    g.kind, g.type, g.message, g.id,
    CASE WHEN m.state = 7 THEN CASE WHEN k % 50 = 49 THEN 2 ELSE 0 END END,
    CASE WHEN m.state = 7 AND k % 50 = 49 THEN at + 3 + took + 60000 END
FROM made m LEFT JOIN failure_groups g ON m.state = 7 AND g.id = $FIRST + job_n * $KINDS + k / 10 / $JOBS % $KINDS
ORDER BY 1;

INSERT INTO payloads (run, body) SELECT seq, '{"order":' || (seq % 100000) || ',"note":"one of very many"}' FROM runs
WHERE seq NOT IN (SELECT run FROM payloads);

INSERT INTO attempts (run, number, version, started_at, finished_at, outcome, http_status, action, by, reason, next_at, result, error)
SELECT r.seq, a.number, 1, r.started_at + (a.number - 1) * 2, CASE WHEN a.number = r.number THEN r.finished_at ELSE r.started_at + 1 END,
    CASE r.state WHEN 6 THEN 1 ELSE 2 END, CASE r.state WHEN 6 THEN 200 ELSE 503 END,
    CASE WHEN r.state = 7 THEN CASE a.number WHEN 1 THEN 'retry' ELSE 'fail' END END,
    CASE WHEN r.state = 7 THEN CASE a.number WHEN 1 THEN 'default' ELSE 'max_attempts' END END,
    CASE WHEN r.state = 7 THEN 'policy default rule 2 says retry' END, CASE WHEN a.number < r.number THEN r.started_at + 2 END,
    CASE r.state WHEN 6 THEN '{"rows": 1}' END,
    CASE r.state WHEN 7 THEN json_object('kind', r.error_kind, 'type', r.error_type, 'message', r.error_message) END
FROM runs r JOIN (SELECT 1 AS number UNION ALL SELECT 2) a ON a.number <= r.number
WHERE r.cause IN ('api', 'schedule') AND r.members IS NULL AND r.state IN (6, 7)
ORDER BY 1, 2;

DELETE FROM failure_groups WHERE NOT EXISTS (SELECT 1 FROM runs WHERE failure = failure_groups.id);
UPDATE failure_groups SET (count, first_at, last_at, message) =
    (SELECT count(*), min(finished_at), max(finished_at), failure_groups.message FROM runs WHERE failure = failure_groups.id);
INSERT INTO dealings (run, by, note) SELECT seq, 'token environment', 'it was mended' FROM runs WHERE dealt = 2 AND dealt IS NOT NULL;

INSERT INTO ticks (schedule, job, at, until, count, outcome, run)
SELECT m.schedule_id, m.job, m.tick, m.tick, 1, 'ran', unhex(printf('%012x7%03x%016x', at, k % $SCHEDULES, tail))
FROM made m WHERE m.schedule IS NOT NULL;
INSERT INTO ticks (schedule, job, at, until, count, outcome, reason)
SELECT s.id, s.job, $HOUR - 3600000 * 300 + n, $HOUR - 3600000 * 298 + n, 3, 'skipped', 'missed' FROM planned s WHERE n % 50 = 0;

INSERT INTO events (at, type, subject, job, run, data)
SELECT r.finished_at, 'run.failed', 'run/' || u.id, j.name, r.id, json_object('job', j.name, 'run', u.id)
FROM (SELECT finished_at, job, seq, tail, unhex(printf('%012x7%03x%016x', seq >> 12, seq & 4095, tail)) AS id FROM runs WHERE state = 7) r
JOIN every j ON j.id = r.job JOIN (SELECT 1) ON 1
JOIN (SELECT seq, printf('%08x-%04x-7%03x-%04x-%012x', seq >> 28, (seq >> 12) & 65535, seq & 4095,
    (tail >> 48) & 65535, tail & 281474976710655) AS id FROM runs WHERE state = 7) u ON u.seq = r.seq
ORDER BY r.finished_at;
INSERT INTO meta (name, value) SELECT 'alerts cursor', max(id) FROM events WHERE true
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

CREATE TEMP TABLE steps AS WITH RECURSIVE s (ms) AS (SELECT 1 UNION ALL SELECT ms * 2 FROM s WHERE ms < 1 << 20) SELECT ms FROM s;
INSERT INTO stats (job, at, outcome, le, n, ms)
SELECT name, step, outcome, le, count(*), sum(took) FROM (
    SELECT name, at + 3 + m.took - (at + 3 + m.took) % CASE WHEN at > $NOW - 86400000 THEN 300000 ELSE 3600000 END AS step, outcome, m.took AS took,
        CASE outcome WHEN 3 THEN -1 ELSE (SELECT count(*) FROM steps WHERE ms < m.took) END AS le
    FROM (
        SELECT at, job, state - 5 AS outcome, CASE state WHEN 6 THEN took WHEN 7 THEN took - 2 ELSE 0 END AS took FROM made
        UNION ALL SELECT at, job, 4, 1 FROM made WHERE state = 7) m
    JOIN (SELECT id, name FROM every UNION ALL SELECT id, '' FROM every) j ON j.id = m.job)
WHERE true GROUP BY name, step, outcome, le
ON CONFLICT (job, at, outcome, le) DO UPDATE SET n = n + excluded.n, ms = ms + excluded.ms;

INSERT INTO audit (at, actor, action, kind, name)
SELECT at, 'token environment', 'run.cancel', 'run', printf('%08x-%04x-7%03x-%04x-%012x', at >> 16, at & 65535, 2048 | (k & 2047),
    (tail >> 48) & 65535, tail & 281474976710655) FROM made WHERE state = 8 ORDER BY at;
COMMIT;
ANALYZE;
`
