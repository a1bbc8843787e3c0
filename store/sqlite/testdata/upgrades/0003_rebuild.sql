-- +goose Up

-- A made schema, for tests of upgrades: it is no part of the product. The table that most others refer
-- to is made anew, with its data, and so are the views over it.
DROP VIEW failed_jobs;
DROP VIEW run_history;
DROP VIEW queue_depth;

CREATE TABLE jobs_new (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    revision   INTEGER NOT NULL,            -- grows with each change of the document
    version    INTEGER NOT NULL,            -- the newest
    doc        TEXT    NOT NULL CHECK (json_valid(doc)),
    queue      TEXT    NOT NULL,            -- of the document, for lists of runs
    in_set     TEXT,                        -- of the apply that made it
    paused_at  INTEGER,
    pause_note TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    seen_at    INTEGER NOT NULL
) STRICT;
INSERT INTO jobs_new SELECT * FROM jobs;
DROP TABLE jobs;
ALTER TABLE jobs_new RENAME TO jobs;
CREATE INDEX jobs_set ON jobs (in_set) WHERE in_set IS NOT NULL;
CREATE INDEX jobs_seen ON jobs (seen_at);

CREATE TABLE payloads_new (
    run  INTEGER PRIMARY KEY,
    body TEXT    NOT NULL
) STRICT;
INSERT INTO payloads_new SELECT run, body FROM payloads ORDER BY run;
DROP TABLE payloads;
ALTER TABLE payloads_new RENAME TO payloads;

-- Failed runs, and those that are tried again.
CREATE VIEW failed_jobs AS
SELECT printf('%08x-%04x-7%03x-%04x-%012x', r.seq >> 28, (r.seq >> 12) & 0xffff, r.seq & 0xfff,
        (r.tail >> 48) & 0xffff, r.tail & 0xffffffffffff) AS id,
    j.name AS job_type,
    coalesce((SELECT body FROM payloads WHERE run = r.seq), '{}') AS payload,
    r.error_message AS error_message,
    r.error_type AS error_type,
    (SELECT json_extract(error, '$.stack') FROM attempts
     WHERE run = r.seq AND error IS NOT NULL ORDER BY number DESC LIMIT 1) AS stack_trace,
    max(r.number - 1, 0) AS retries,
    CASE r.dealt WHEN 0 THEN 'open' WHEN 1 THEN 'requeued' WHEN 2 THEN 'resolved' WHEN 3 THEN 'ignored'
        ELSE 'will_retry' END AS status,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.created_at / 1000.0, 'unixepoch') AS created_at,
    (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') FROM attempts
     WHERE run = r.seq ORDER BY number DESC LIMIT 1) AS last_attempt_at
FROM (
    SELECT * FROM runs WHERE dealt IS NOT NULL
    UNION ALL SELECT * FROM runs WHERE state = 4) r JOIN jobs j ON j.id = r.job;

-- All runs that are kept.
CREATE VIEW run_history AS
SELECT printf('%08x-%04x-7%03x-%04x-%012x', r.seq >> 28, (r.seq >> 12) & 0xffff, r.seq & 0xfff,
        (r.tail >> 48) & 0xffff, r.tail & 0xffffffffffff) AS id,
    j.name AS job_type,
    r.version AS version,
    CASE WHEN r.state = 2 AND r.slices > 0 THEN 'running' ELSE
        CASE r.state WHEN 1 THEN 'scheduled' WHEN 2 THEN 'queued' WHEN 3 THEN 'running' WHEN 4 THEN 'retrying'
        WHEN 5 THEN 'waiting' WHEN 6 THEN 'succeeded' WHEN 7 THEN 'failed' WHEN 8 THEN 'cancelled' END END AS state,
    r.cause AS "trigger",
    r.schedule AS schedule,
    coalesce(r.queue, j.queue) AS queue,
    r.priority AS priority,
    coalesce(r.labels, '{}') AS labels,
    coalesce(r.correlation, printf('%08x-%04x-7%03x-%04x-%012x', r.seq >> 28, (r.seq >> 12) & 0xffff, r.seq & 0xfff,
        (r.tail >> 48) & 0xffff, r.tail & 0xffffffffffff)) AS correlation_id,
    r.created_by AS created_by,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.created_at / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.run_at / 1000.0, 'unixepoch') AS run_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.scheduled_for / 1000.0, 'unixepoch') AS scheduled_for,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.finished_at / 1000.0, 'unixepoch') AS finished_at,
    (r.finished_at - r.started_at) / 1000.0 AS seconds,
    r.number AS attempts,
    r.error_kind AS error_kind,
    r.error_type AS error_type,
    r.error_message AS error_message,
    nullif(lower(substr(hex(r.requeued_from), 1, 8) || '-' || substr(hex(r.requeued_from), 9, 4) || '-' ||
        substr(hex(r.requeued_from), 13, 4) || '-' || substr(hex(r.requeued_from), 17, 4) || '-' ||
        substr(hex(r.requeued_from), 21)), '----') AS requeued_from,
    nullif(lower(substr(hex(r.requeued_to), 1, 8) || '-' || substr(hex(r.requeued_to), 9, 4) || '-' ||
        substr(hex(r.requeued_to), 13, 4) || '-' || substr(hex(r.requeued_to), 17, 4) || '-' ||
        substr(hex(r.requeued_to), 21)), '----') AS requeued_to,
    nullif(lower(substr(hex(r.parent), 1, 8) || '-' || substr(hex(r.parent), 9, 4) || '-' ||
        substr(hex(r.parent), 13, 4) || '-' || substr(hex(r.parent), 17, 4) || '-' ||
        substr(hex(r.parent), 21)), '----') AS group_run
FROM runs r JOIN jobs j ON j.id = r.job;

-- What waits and runs in each queue.
CREATE VIEW queue_depth AS
SELECT g.name AS queue,
    g.paused_at IS NOT NULL AS paused,
    coalesce(u.scheduled, 0) AS scheduled,
    coalesce(u.queued, 0) AS queued,
    coalesce(u.running, 0) AS running,
    coalesce(u.retrying, 0) AS retrying,
    coalesce(u.waiting, 0) AS waiting,
    strftime('%Y-%m-%dT%H:%M:%fZ', u.oldest / 1000.0, 'unixepoch') AS oldest_due_at
FROM gates g LEFT JOIN (
    SELECT j.queue AS queue, sum(r.state = 1) AS scheduled, sum(r.state = 2 AND r.slices IS NULL) AS queued,
        sum(r.state = 3 OR r.state = 2 AND r.slices IS NOT NULL) AS running, sum(r.state = 4) AS retrying,
        sum(r.state = 5) AS waiting,
        min(CASE WHEN r.state = 2 THEN r.due_at END) AS oldest
    FROM (
        SELECT job, state, due_at, slices FROM runs WHERE state = 2
        UNION ALL SELECT job, state, due_at, slices FROM runs WHERE state IN (1, 4)
        UNION ALL SELECT job, state, due_at, slices FROM runs WHERE state IN (3, 5)) r JOIN jobs j ON j.id = r.job
    GROUP BY j.queue) u ON u.queue = g.name
WHERE g.kind = 1 AND g.job = 0;
