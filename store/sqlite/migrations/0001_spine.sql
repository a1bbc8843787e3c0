-- +goose Up

-- A job's row stays when the job is deleted: the name is the identity, and versions, history,
-- keys and ticks go on when it is made again.
CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    revision   INTEGER NOT NULL,            -- grows with each change of the document
    version    INTEGER NOT NULL,            -- the newest
    doc        TEXT    NOT NULL,            -- the document, JSON
    queue      TEXT    NOT NULL,            -- of the document, for lists of runs
    in_set     TEXT,                        -- of the apply that made it
    paused_at  INTEGER,
    pause_note TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;

-- Apply: what bears a set.
CREATE INDEX jobs_set ON jobs (in_set) WHERE in_set IS NOT NULL;

-- What is registered besides jobs.
CREATE TABLE documents (
    id         INTEGER PRIMARY KEY,
    kind       TEXT    NOT NULL,            -- store.KindPolicy and so on
    name       TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    doc        TEXT    NOT NULL,            -- JSON
    in_set     TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (kind, name)
) STRICT;

-- Apply: what bears a set.
CREATE INDEX documents_set ON documents (in_set) WHERE in_set IS NOT NULL;
-- Lists of a kind.
CREATE INDEX documents_kind ON documents (kind);

-- The names that the documents of jobs that stand use.
CREATE TABLE refs (
    job  INTEGER NOT NULL REFERENCES jobs (id),
    kind TEXT    NOT NULL,                  -- store.KindJob and so on
    name TEXT    NOT NULL,
    PRIMARY KEY (job, kind, name)
) STRICT, WITHOUT ROWID;

-- Delete: who names it.
CREATE INDEX refs_named ON refs (kind, name);

CREATE TABLE versions (
    job        INTEGER NOT NULL REFERENCES jobs (id),
    version    INTEGER NOT NULL,
    spec       TEXT    NOT NULL,            -- what is executed, JSON
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job, version)
) STRICT, WITHOUT ROWID;

-- The schedules that stand, and those that are gone while the ledger knows their ticks. What one in a
-- job's document says is kept here too, and of one by itself what its row in documents says.
CREATE TABLE schedules (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,     -- JOB:NAME of one in a job
    job        INTEGER NOT NULL REFERENCES jobs (id),
    in_job     INTEGER NOT NULL,            -- 1: it stands in the job's document
    doc        TEXT    NOT NULL,            -- jobs.Schedule, JSON, without the zero values
    stamp      INTEGER NOT NULL,            -- grows with each change and each decision
    anchor     INTEGER NOT NULL,            -- when it was first saved
    cursor     INTEGER NOT NULL,            -- all ticks up to here are decided
    due_at     INTEGER,                     -- the first tick that is not; NULL: none, paused or gone
    at_start   INTEGER NOT NULL,            -- 1: it ticks at each start
    backlog    TEXT,                        -- jobs.TickRange, JSON: ticks to be caught up; NULL: none
    paused_at  INTEGER,
    pause_note TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;

-- Ticks: which schedule is due next.
CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
-- Ticks: those with ticks to catch up.
CREATE INDEX schedules_backlog ON schedules (id) WHERE backlog IS NOT NULL;
-- Start: those that tick then.
CREATE INDEX schedules_start ON schedules (name) WHERE at_start = 1;
-- Lists by job; deletion of a job.
CREATE INDEX schedules_job ON schedules (job);
-- Save of a job.
CREATE INDEX schedules_in_job ON schedules (job) WHERE in_job = 1;

-- The ledger: what became of each tick. It outlives runs, and schedules that are made again. Neighbours
-- that were skipped for one reason are one row.
CREATE TABLE ticks (
    schedule     INTEGER NOT NULL REFERENCES schedules (id),
    job          INTEGER NOT NULL,
    at           INTEGER NOT NULL,          -- of neighbours the first
    until        INTEGER NOT NULL,          -- and the last
    count        INTEGER NOT NULL,
    outcome      TEXT    NOT NULL,          -- jobs.TickRan and so on
    reason       TEXT,                      -- of a skipped one
    run          BLOB,
    late_at      INTEGER,                   -- when its run is late; NULL: that has been looked at
    late_success INTEGER,                   -- 1: unless it has succeeded; NULL: unless it has started
    late         INTEGER,                   -- 1: its run was late; NULL: it was not, as far as is known
    PRIMARY KEY (schedule, job, at)
) STRICT, WITHOUT ROWID;

-- Ticks: whose run is to be looked at next.
CREATE INDEX ticks_late ON ticks (late_at) WHERE late_at IS NOT NULL;

-- A lane is the queued runs of a job that share their gates; it may go when it is empty. One that
-- is held never opens: its runs leave it when they are released. head is the place of
-- its first run among the lanes, in microseconds: max(turn_at, due) - 6 s × priority. NULL: it is
-- empty.
CREATE TABLE lanes (
    id       INTEGER PRIMARY KEY,
    job      INTEGER NOT NULL REFERENCES jobs (id),
    pool     INTEGER NOT NULL,              -- store.Pool, that of groups too
    held     TEXT    NOT NULL,              -- a secret that its runs wait for, :overlap or :checkpoint; '': none
    host     TEXT    NOT NULL,              -- host:port that they call; '': none
    ckey     TEXT    NOT NULL,              -- '=' and the key of concurrency; '': none
    rkey     TEXT    NOT NULL,              -- '=' and the key of rate; '': none
    catch_up INTEGER NOT NULL,              -- 1: its runs are for ticks that were missed
    slice    INTEGER NOT NULL,              -- 1: its runs wait for their next slice and keep the slots of their job's concurrency
    open     INTEGER NOT NULL,              -- 0: its job is paused, or it is held
    gate     INTEGER,                       -- that was shut when it was last looked at; NULL: none
    turn_at  INTEGER NOT NULL,              -- when it was last given a turn, microseconds
    head     INTEGER,
    rank     INTEGER,                       -- of the first queued run, milliseconds
    UNIQUE (job, pool, held, host, ckey, rkey, catch_up, slice)
) STRICT;

-- Claim: the lanes whose turn is next.
CREATE INDEX lanes_turn ON lanes (pool, head) WHERE head IS NOT NULL AND open = 1 AND gate IS NULL;
-- Claim: the lanes that wait for a gate, in the order in which it lets them through.
CREATE INDEX lanes_parked ON lanes (gate, pool, head)
WHERE head IS NOT NULL AND open = 1 AND gate IS NOT NULL;
-- Claim: the sorts of lanes that wait for a gate, and of each those that it lets through first.
CREATE INDEX lanes_alike ON lanes (gate, pool, job, host, catch_up, slice, head)
WHERE head IS NOT NULL AND open = 1 AND gate IS NOT NULL;
-- Release: the lanes that wait for a secret.
CREATE INDEX lanes_held ON lanes (held) WHERE held > '';
-- Prune: whether a host is still waited for. What waits for it.
CREATE INDEX lanes_host ON lanes (host) WHERE host > '';

-- What runs share: queues, dependencies, the limits of jobs and of their keys, and what catches up of a
-- pool of workers. Queues and dependencies come to be by being named; what they allow stands in documents
-- and jobs, and how many workers there are says the process.
CREATE TABLE gates (
    id         INTEGER PRIMARY KEY,
    kind       INTEGER NOT NULL,            -- jobs.GateKind
    job        INTEGER NOT NULL,            -- of a limit of a job; 0: of what has a name of its own
    name       TEXT    NOT NULL,            -- of a limit of a job: '=' and the key; '': of all its runs; of a pool: its name
    paused_at  INTEGER,
    pause_note TEXT,
    state      TEXT,                        -- jobs.BreakerState, JSON; NULL: its zero value
    wake_at    INTEGER,                     -- when the lanes that wait for it are to be looked at
    created_at INTEGER NOT NULL,
    UNIQUE (kind, job, name)
) STRICT;

-- Claim: the gates that may open by the passing of time.
CREATE INDEX gates_wake ON gates (wake_at) WHERE wake_at IS NOT NULL;
-- Lists of a kind.
CREATE INDEX gates_kind ON gates (kind) WHERE job = 0;
INSERT INTO gates (kind, job, name, created_at)
VALUES (1, 0, 'default', CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER));

-- An attempt under way that counts against the limit of a gate. Written by the claim, deleted in
-- the transaction that ends the attempt: counted, never kept as a number.
CREATE TABLE slots (
    run  INTEGER NOT NULL,
    gate INTEGER NOT NULL,
    PRIMARY KEY (run, gate)
) STRICT, WITHOUT ROWID;

-- Attempts that started close to each other, up to 61 rows for each gate with a rate.
CREATE TABLE rates (
    id       INTEGER PRIMARY KEY,
    gate     INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    count    INTEGER NOT NULL
) STRICT;

-- Claim: the starts of a gate.
CREATE INDEX rates_gate ON rates (gate);

-- A run's id is a UUIDv7: seq its growing 60 bits, tail its last 64. Rows are kept small,
-- payloads and results live apart.
CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY,
    tail          INTEGER NOT NULL,
    job           INTEGER NOT NULL REFERENCES jobs (id),
    version       INTEGER NOT NULL,
    lane          INTEGER,                  -- of a queued one; NULL once ended, and of a running one whose job was deleted
    state         INTEGER NOT NULL,         -- jobs.State
    rank          INTEGER NOT NULL,         -- due_at - 6000 × priority
    due_at        INTEGER NOT NULL,         -- when it is next due
    priority      INTEGER NOT NULL,
    number        INTEGER NOT NULL,         -- executions so far
    charged       INTEGER NOT NULL,         -- failures charged to max_attempts
    deaths        INTEGER NOT NULL,         -- of the server in a row
    cause         TEXT    NOT NULL,         -- jobs.Trigger
    created_at    INTEGER NOT NULL,
    run_at        INTEGER NOT NULL,         -- when it was first due
    attempt_at    INTEGER,                  -- start of the attempt under way
    started_at    INTEGER,                  -- start of the first attempt
    finished_at   INTEGER,
    cancel_at     INTEGER,                  -- a cancel was acknowledged
    dealt_at      INTEGER,                  -- of a failure: when it was resolved or ignored; NULL: it was not
    max_attempts  INTEGER,                  -- the run's own cap
    timeout       INTEGER,                  -- the run's own, milliseconds
    queue         TEXT,                     -- set when it ends; until then the job's
    host          TEXT,                     -- that a webhook's URL named at enqueue; NULL: it is written out
    ckey          TEXT,                     -- '=' and the key of concurrency; NULL: none
    rkey          TEXT,                     -- '=' and the key of rate; NULL: none
    operation     BLOB,                     -- NULL: its own id
    requeued_from BLOB,
    requeued_to   BLOB,
    correlation   TEXT,                     -- NULL: its own id
    key           TEXT,                     -- idempotency key
    labels        TEXT,                     -- JSON object
    traceparent   TEXT,
    created_by    TEXT,                     -- a token's name
    schedule      TEXT,                     -- the whole name of the schedule whose tick made it
    scheduled_for INTEGER,                  -- that tick
    overlap       INTEGER,                  -- 1: it waits for an earlier run of its schedule to end
    budgets       TEXT,                     -- JSON object: failures charged to rules' own budgets
    bkey          TEXT,                     -- '=' and the checkpoint key; NULL: none
    batch         INTEGER,                  -- its place in the line of its checkpoint key: see line.go; NULL: none, or it succeeded
    slices        INTEGER,                  -- good slices of the attempt under way; of a queued one: it waits for its next
    continues     INTEGER,                  -- good slices of the operation
    progress      TEXT,                     -- jobs.Progress, JSON
    said          TEXT,                     -- jobs.Said, JSON: what the attempt under way has said of its outcome
    error_kind    TEXT,                     -- of the last attempt that failed
    error_type    TEXT,
    error_message TEXT,
    folded        TEXT,                     -- JSON: jobs.Folded; NULL: none
    parent        BLOB,                     -- the group's run that it belongs to; NULL: none
    place         INTEGER,                  -- its place among the members, from 0; -1: it merges them; NULL: of no group
    members       INTEGER,                  -- of a group's run: how many members it has, -1: not known yet; NULL: it is none
    tells         INTEGER,                  -- 1: an alert made it; 2: one that tells of alert.undelivered; NULL: none
    long_at       INTEGER,                  -- when it has taken long; NULL: nobody asks, or it was told
    interrupts    INTEGER,                  -- attempts in a row that the server ended, without a new checkpoint; NULL: 0
    bulk          BLOB,                     -- the order that requeued it with many others; NULL: none
    failure       INTEGER,                  -- of a failed one: failure_groups.id; NULL: it has not failed
    dealt         INTEGER                   -- of a failed one: jobs.FailureStatus; NULL: it has not failed
) STRICT;

-- Claim: the queued runs of a lane in order.
CREATE INDEX runs_queued ON runs (lane, rank) WHERE state = 2;
-- Claim: what falls due next. Stats: how many there are of each state.
CREATE INDEX runs_due ON runs (due_at, state) WHERE state IN (1, 4);
-- Start: the runs of a process that died. Lists of what runs.
CREATE INDEX runs_running ON runs (state) WHERE state IN (3, 5);
-- Lists of failed runs.
CREATE INDEX runs_failed ON runs (state) WHERE state = 7;
-- Failures: lists by status; how many are open.
CREATE INDEX runs_dealt ON runs (dealt, seq) WHERE dealt IS NOT NULL;
-- Failures: those of a job that a success resolves, or that a filter names.
CREATE INDEX runs_dealt_job ON runs (job, dealt, seq) WHERE dealt IS NOT NULL;
-- Failures: those of a schedule that a success resolves.
CREATE INDEX runs_dealt_schedule ON runs (schedule, dealt, seq) WHERE schedule IS NOT NULL AND dealt IS NOT NULL;
-- Failures: those that are alike.
CREATE INDEX runs_failure ON runs (failure, dealt, seq) WHERE failure IS NOT NULL;
-- Failures: runs that retry.
CREATE INDEX runs_retrying ON runs (seq) WHERE state = 4;
-- Alerts: those that could not be told and that nobody has dealt with.
CREATE INDEX runs_untold ON runs (tells, dealt, seq) WHERE tells IS NOT NULL;
-- Requeues: the runs of an order, those that have not ended.
CREATE INDEX runs_bulk ON runs (bulk, state) WHERE bulk IS NOT NULL;
-- Groups: the runs of one; those of them that have not ended.
CREATE INDEX runs_parent ON runs (parent, place) WHERE parent IS NOT NULL;
CREATE INDEX runs_parent_open ON runs (parent) WHERE parent IS NOT NULL AND state < 6;
-- Lists of groups.
CREATE INDEX runs_groups ON runs (seq, state) WHERE members IS NOT NULL;
-- Deletion of a job: the groups that may name it.
CREATE INDEX runs_groups_open ON runs (job, version) WHERE members IS NOT NULL AND state < 6;
-- Events: what has taken long.
CREATE INDEX runs_long ON runs (long_at) WHERE long_at IS NOT NULL;
-- Lists of a job's runs; pruning; deletion of a job.
CREATE INDEX runs_job ON runs (job);
-- Lists by correlation id.
CREATE INDEX runs_correlation ON runs (correlation) WHERE correlation IS NOT NULL;

-- Lists by schedule.
CREATE INDEX runs_schedule ON runs (schedule) WHERE schedule IS NOT NULL;
-- Ticks: the unfinished runs of a schedule, those that wait for others by what made them.
CREATE INDEX runs_line ON runs (schedule, overlap, cause) WHERE schedule IS NOT NULL AND state < 6;

-- Claim: where the runs of a checkpoint key stand in its line. Prune: those that may need what was saved.
CREATE INDEX runs_batch ON runs (job, bkey, batch) WHERE batch IS NOT NULL;
-- Lists of what runs: those between two slices.
CREATE INDEX runs_sliced ON runs (seq, slices) WHERE slices IS NOT NULL;

-- Prune: whether a run that goes was the last of its operation.
CREATE INDEX runs_operation ON runs (operation) WHERE operation IS NOT NULL;

-- No row: the payload is {}.
CREATE TABLE payloads (
    run  INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- What operations have saved for their next attempt, or batches of a checkpoint key.
CREATE TABLE checkpoints (
    job      INTEGER NOT NULL,              -- of a checkpoint key; 0: of an operation
    owner    BLOB    NOT NULL,              -- the key, or the operation's id
    value    TEXT    NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (job, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    run         INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    outcome     INTEGER NOT NULL,           -- jobs.Outcome
    http_status INTEGER,
    exit_code   INTEGER,
    action      TEXT,                       -- the decision; NULL: succeed, by success
    by          TEXT,
    reason      TEXT,
    next_at     INTEGER,
    truncated   INTEGER,                    -- 1: the result was too large to keep
    result      TEXT,                       -- of the attempt that succeeded
    error       TEXT,                       -- JSON
    output_tail TEXT,
    slices      INTEGER,                    -- requests made one after another; NULL: 1
    told        TEXT,                       -- the call of the attempt that ended it: store.ToldComplete, store.ToldFail
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE logs (
    run     INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    piece   INTEGER NOT NULL,
    start   INTEGER NOT NULL,               -- offset in what the attempt printed
    data    BLOB    NOT NULL,
    PRIMARY KEY (run, attempt, piece)
) STRICT;

-- sort 1: idempotency keys; 2: deliveries to doors; 3: what makes a run one of its kind. Only that
-- of 1 has a hash. A key lives by until, not by its run; of sort 3 it is freed when its run is deleted.
CREATE TABLE keys (
    job   INTEGER NOT NULL REFERENCES jobs (id),
    sort  INTEGER NOT NULL,
    key   TEXT    NOT NULL,
    run   BLOB    NOT NULL,
    hash  BLOB    NOT NULL,                 -- of the payload as a JSON value
    until INTEGER NOT NULL,
    PRIMARY KEY (job, sort, key)
) STRICT, WITHOUT ROWID;

-- Prune: keys past their time.
CREATE INDEX keys_until ON keys (until);
-- Remove: the key that a run leaves.
CREATE INDEX keys_unique ON keys (run) WHERE sort = 3;

CREATE TABLE tokens (
    name       TEXT    NOT NULL PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE,     -- SHA-256
    scopes     TEXT    NOT NULL,            -- JSON list
    jobs       TEXT,                        -- JSON list; NULL: all
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used  INTEGER,
    revision   INTEGER NOT NULL
) STRICT;

-- Browsers that have signed in, and links by which one may: in all at most some hundred.
CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY, -- what lists call it
    hash       BLOB    NOT NULL UNIQUE,      -- SHA-256 of its secret
    token      TEXT    NOT NULL,             -- the name of the one it acts as
    link       INTEGER NOT NULL,             -- 1: nobody has signed in by it yet
    address    TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    last_used  INTEGER,
    until      INTEGER NOT NULL
) STRICT;
-- Those of a token that is revoked.
CREATE INDEX sessions_token ON sessions (token);
-- All of them, and those whose time is over.
CREATE INDEX sessions_until ON sessions (until, id);

-- How many ended, by when, how and how long they took, written with what ended. Of a day they are kept by steps of
-- 5 minutes, older ones by hours, for 90 days.
CREATE TABLE stats (
    job     TEXT    NOT NULL,               -- '': all of them
    at      INTEGER NOT NULL,               -- when the step begins
    outcome INTEGER NOT NULL,               -- of a run: 1 succeeded, 2 failed, 3 cancelled; 4: an attempt that is tried again
    le      INTEGER NOT NULL,               -- it took up to 2^le ms; -1: nothing was executed
    n       INTEGER NOT NULL,
    ms      INTEGER NOT NULL,               -- that they took in all
    PRIMARY KEY (job, at, outcome, le)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    name       TEXT    NOT NULL PRIMARY KEY,
    sealed     BLOB    NOT NULL,            -- only the runtime can open it
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    note   TEXT,
    change TEXT                             -- the difference: JSON, [{"location", "before", "after"}]
) STRICT;

-- The audit of one thing, of one actor (windowAuditName, windowAuditActor), and of some time (selectAuditUntil,
-- selectAuditSince).
CREATE INDEX audit_name ON audit (name);
CREATE INDEX audit_actor ON audit (actor);
CREATE INDEX audit_at ON audit (at);

-- What is worth telling. Ids have no gaps: who has seen one knows how many came since.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,               -- one of jobs.EventTypes
    subject TEXT    NOT NULL,
    job     TEXT,                           -- its name; NULL: of none
    run     BLOB,
    data    TEXT    NOT NULL                -- JSON object
) STRICT;

-- A group's run: what it is made of, from when it was made where its job does not say that, else from when it
-- started.
CREATE TABLE groups (
    run      INTEGER PRIMARY KEY,           -- its number
    doc      TEXT,                          -- jobs.Group, JSON; NULL: what the version of its job says, not started yet
    keep_of  INTEGER,                       -- number of the run it was requeued from, whose good members it keeps; NULL: none, or it has started
    depth    INTEGER NOT NULL,              -- 1: it is in no other group
    phase    INTEGER NOT NULL,              -- store.GroupPhase
    need     INTEGER NOT NULL,              -- how many good members it takes
    rest     INTEGER NOT NULL,              -- 0: a bad member is waited past; 1: it cancels the rest; 2: it has
    draft    TEXT,                          -- what its merges are made from, JSON; NULL: it merges nothing
    merge    INTEGER,                       -- number of the merge whose end is the group's; NULL: none was made
    deadline INTEGER                        -- when members that have not ended are given up; NULL: never
) STRICT;

-- Claim: the groups that are to be ended.
CREATE INDEX groups_phase ON groups (phase) WHERE phase IN (3, 4);
-- Claim: the groups whose deadline comes next.
CREATE INDEX groups_deadline ON groups (deadline) WHERE deadline IS NOT NULL;
-- Prune: whether one that has not started keeps members of a run.
CREATE INDEX groups_keep ON groups (keep_of) WHERE keep_of IS NOT NULL AND phase = 0;

-- The members of a group's run, fixed when it starts.
CREATE TABLE members (
    parent INTEGER NOT NULL,                -- number of the group's run
    place  INTEGER NOT NULL,                -- from 0, in the order of the document
    name   TEXT    NOT NULL,
    job    TEXT    NOT NULL,
    run    INTEGER,                         -- number of the newest of it; NULL: none could be made
    tail   INTEGER,                         -- of that
    PRIMARY KEY (parent, place)
) STRICT, WITHOUT ROWID;

-- Prune: the groups that a run is a member of.
CREATE INDEX members_run ON members (run) WHERE run IS NOT NULL;

-- The job whose runs are groups that no job describes (jobs.GroupJob).
INSERT INTO jobs (name, revision, version, doc, queue, created_at, updated_at)
SELECT '_group', 1, 1, '{"name":"_group","group":{"members":[]}}', 'default', t, t
FROM (SELECT CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER) AS t) n;
INSERT INTO versions (job, version, spec, created_at)
SELECT id, 1, '{"group":{"members":[]}}', created_at FROM jobs;

-- Failures that are alike: of one job, kind, type and message without numbers and ids.
CREATE TABLE failure_groups (
    id            INTEGER PRIMARY KEY,
    job           INTEGER NOT NULL REFERENCES jobs (id),
    fingerprint   TEXT    NOT NULL,         -- jobs.Fingerprint
    kind          TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    message       TEXT    NOT NULL,         -- of the newest
    count         INTEGER NOT NULL,         -- of all there were, those no longer kept too
    first_at      INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    ignored       INTEGER NOT NULL,         -- 1: what comes is ignored too
    ignored_until INTEGER,                  -- until then; NULL: for good, or it is not
    ignored_by    TEXT,                     -- who did
    ignored_more  INTEGER NOT NULL,         -- failures that came while it was
    UNIQUE (job, fingerprint)
) STRICT;

-- Failures: those of a fingerprint.
CREATE INDEX failure_groups_fingerprint ON failure_groups (fingerprint);
-- Failures: those that are ignored for a while.
CREATE INDEX failure_groups_until ON failure_groups (ignored_until) WHERE ignored_until IS NOT NULL;

-- What somebody, or a run that succeeded, has said of a failure.
CREATE TABLE dealings (
    run   INTEGER PRIMARY KEY,
    by    TEXT    NOT NULL,                 -- "token NAME", "run ID"
    note  TEXT,
    until INTEGER,                          -- of an ignored one
    came  INTEGER                           -- 1: it came while those alike were ignored; NULL: it was there
) STRICT;

-- Orders to deal with many failures, carried out in small steps.
CREATE TABLE bulks (
    id         INTEGER PRIMARY KEY,         -- with tail its public id, as that of a run
    tail       INTEGER NOT NULL,
    action     TEXT    NOT NULL,            -- requeue | resolve | ignore
    doc        TEXT    NOT NULL,            -- store.Bulk, JSON
    count      INTEGER NOT NULL,
    done       INTEGER NOT NULL,            -- dealt with so far
    skipped    INTEGER NOT NULL,            -- that had changed or could not be
    skips      TEXT,                        -- JSON: why, of the first hundred
    succeeded  INTEGER NOT NULL,            -- of its runs
    failed     INTEGER NOT NULL,
    cancelled  INTEGER NOT NULL,
    stop_after INTEGER NOT NULL,            -- failed runs after which it is called off; 0: never
    state      INTEGER NOT NULL,            -- store.BulkState
    reason     TEXT,                        -- why it was called off
    next_at    INTEGER NOT NULL,            -- run_at of the next run, microseconds
    created_by TEXT,                        -- a token's name
    created_at INTEGER NOT NULL,
    ended_at   INTEGER                      -- when nothing of it was left to do
) STRICT;

-- Start: the orders that are under way.
CREATE INDEX bulks_left ON bulks (state) WHERE ended_at IS NULL;

-- Failures that an order has still to deal with. Many stand in one row: which these are is fixed in one
-- transaction, and others wait for that.
CREATE TABLE bulk_items (
    bulk INTEGER NOT NULL,
    part INTEGER NOT NULL,                  -- from 0 on
    runs BLOB    NOT NULL,                  -- ids, 16 bytes each, oldest first
    PRIMARY KEY (bulk, part)
) STRICT;

-- Failed runs in a row, per job, schedule and the key that an alert counts by. A success deletes the row.
CREATE TABLE streaks (
    job      INTEGER NOT NULL REFERENCES jobs (id),
    schedule TEXT    NOT NULL,              -- '': none
    key      TEXT    NOT NULL,              -- '': all; else the alert's name, '=' and its key
    count    INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    PRIMARY KEY (job, schedule, key)
) STRICT, WITHOUT ROWID;

-- What the alerts have told and have still to tell. Rows go as they have nothing more to say.
CREATE TABLE folds (
    alert TEXT NOT NULL,
    sort  TEXT NOT NULL,                    -- jobs.AlertFold and so on
    key   TEXT NOT NULL,
    at    INTEGER,                          -- when there is something to do; NULL: nothing
    doc   TEXT NOT NULL,                    -- JSON
    PRIMARY KEY (alert, sort, key)
) STRICT, WITHOUT ROWID;

-- Alerts: what is to be told next.
CREATE INDEX folds_due ON folds (at) WHERE at IS NOT NULL;

-- Facts about the file.
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- For people and their tools: what the API calls failures, runs and queues, with ids and times as texts. What these
-- have is public, and so are the names: columns are only ever added.

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
