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
    kind       TEXT    NOT NULL,            -- store.KindPolicy
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
    kind TEXT    NOT NULL,                  -- store.KindJob, store.KindPolicy
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

-- A lane is the runs of a job that share their gates. One that waits for a secret never opens: its
-- runs leave it when they are released. head is the place of its first queued run
-- among the lanes, in microseconds: max(turn_at, due) - 6 s × priority. NULL: nothing queued.
CREATE TABLE lanes (
    id      INTEGER PRIMARY KEY,
    job     INTEGER NOT NULL REFERENCES jobs (id),
    pool    INTEGER NOT NULL,               -- store.Pool
    held    TEXT    NOT NULL,               -- the secret that its runs wait for; '': none
    open    INTEGER NOT NULL,               -- 0: its job is paused, or it is held
    turn_at INTEGER NOT NULL,               -- when it was last given a turn, microseconds
    head    INTEGER,
    rank    INTEGER,                        -- of the first queued run, milliseconds
    UNIQUE (job, pool, held)
) STRICT;

-- Claim: the lanes whose turn is next.
CREATE INDEX lanes_turn ON lanes (pool, head) WHERE head IS NOT NULL AND open = 1;
-- Release: the lanes that wait for a secret.
CREATE INDEX lanes_held ON lanes (held) WHERE held > '';

-- A run's id is a UUIDv7: seq its growing 60 bits, tail its last 64. Rows are kept small,
-- payloads and results live apart.
CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY,
    tail          INTEGER NOT NULL,
    job           INTEGER NOT NULL REFERENCES jobs (id),
    version       INTEGER NOT NULL,
    lane          INTEGER,                  -- NULL once ended, and of a running one whose job was deleted
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
    dealt_at      INTEGER,                  -- of a failure whose requeue has been deleted: when that one made it good
    max_attempts  INTEGER,                  -- the run's own cap
    timeout       INTEGER,                  -- the run's own, milliseconds
    queue         TEXT,                     -- set when it ends; until then the job's
    host          TEXT,                     -- that a webhook's URL named at enqueue; NULL: it is written out
    operation     BLOB,                     -- NULL: its own id
    requeued_from BLOB,
    requeued_to   BLOB,
    correlation   TEXT,                     -- NULL: its own id
    key           TEXT,                     -- idempotency key
    labels        TEXT,                     -- JSON object
    traceparent   TEXT,
    created_by    TEXT,                     -- a token's name
    budgets       TEXT,                     -- JSON object: failures charged to rules' own budgets
    error_kind    TEXT,                     -- of the last attempt that failed
    error_type    TEXT,
    error_message TEXT
) STRICT;

-- Claim: the queued runs of a lane in order.
CREATE INDEX runs_queued ON runs (lane, rank) WHERE state = 2;
-- Claim: what falls due next. Stats: how many there are of each state.
CREATE INDEX runs_due ON runs (due_at, state) WHERE state IN (1, 4);
-- Start: the runs of a process that died. Lists of what runs.
CREATE INDEX runs_running ON runs (state) WHERE state IN (3, 5);
-- Lists of failures.
CREATE INDEX runs_failed ON runs (state) WHERE state = 7;
-- Lists of a job's runs; pruning; deletion of a job.
CREATE INDEX runs_job ON runs (job);
-- Lists by correlation id.
CREATE INDEX runs_correlation ON runs (correlation) WHERE correlation IS NOT NULL;

-- Prune: whether a run that goes was the last of its operation.
CREATE INDEX runs_operation ON runs (operation) WHERE operation IS NOT NULL;

-- No row: the payload is {}.
CREATE TABLE payloads (
    run  INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- What operations have saved for their next attempt.
CREATE TABLE checkpoints (
    operation BLOB NOT NULL PRIMARY KEY,
    value     TEXT NOT NULL
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

-- sort 1: idempotency keys; 2: deliveries to doors, whose hash is empty. A key lives by until, not
-- by its run.
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
    change TEXT                             -- JSON
) STRICT;

-- Facts about the file.
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
