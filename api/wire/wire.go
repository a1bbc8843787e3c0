// Package wire holds the shapes of the HTTP API, as the server writes them and the client reads
// them. It owns nothing but types; it must not know how they are served or stored.
package wire

import "nightshift/jobs"

// AgentCLI begins the User-Agent of the command line, whose runs have the trigger cli.
const AgentCLI = "nightshift-cli/"

// Run is one run (contract 3.2). A list leaves out payload, result, attempts and stacks.
type Run struct {
	ID              jobs.ID           `json:"id"`
	Job             string            `json:"job"`
	Version         int               `json:"version" doc:"The version of the job whose work it does"`
	OperationID     jobs.ID           `json:"operation_id" doc:"What receivers drop duplicates by"`
	State           string            `json:"state" enum:"scheduled,queued,running,retrying,waiting,succeeded,failed,cancelled"`
	HeldBy          *jobs.HeldBy      `json:"held_by" doc:"What it waits for; never null on queued, and set on a run between two slices, which is running"`
	Trigger         string            `json:"trigger" enum:"api,cli,schedule,catch_up,inbound,chain,group,requeue,alert"`
	Schedule        *string           `json:"schedule" doc:"The whole name of the schedule whose tick made it; null: none"`
	Payload         jobs.Raw          `json:"payload,omitempty" doc:"Byte for byte as it came"`
	Result          jobs.Raw          `json:"result,omitempty" doc:"Byte for byte as the job gave it; null: none"`
	ResultTruncated bool              `json:"result_truncated" doc:"The result was larger than 64 KiB and is null"`
	LogPruned       int64             `json:"log_pruned,omitempty" doc:"Bytes of its log that were deleted, for more was kept of all logs than --keep-logs says; left out in lists"`
	Priority        int               `json:"priority"`
	Queue           string            `json:"queue"`
	Labels          map[string]string `json:"labels"`
	CorrelationID   *string           `json:"correlation_id"`
	Traceparent     *string           `json:"traceparent"`
	IdempotencyKey  *string           `json:"idempotency_key"`
	CreatedBy       *string           `json:"created_by" doc:"The name of the token that made it"`

	CreatedAt         jobs.Time `json:"created_at"`
	RunAt             jobs.Time `json:"run_at" doc:"When it was first due"`
	ScheduledFor      jobs.Time `json:"scheduled_for" doc:"That tick; null: none"`
	StartedAt         jobs.Time `json:"started_at"`
	FinishedAt        jobs.Time `json:"finished_at"`
	CancelRequestedAt jobs.Time `json:"cancel_requested_at"`
	WaitingUntil      jobs.Time `json:"waiting_until,omitzero" doc:"By when one that is waiting must have called back; left out: it waits for no callback"`

	Attempt       int            `json:"attempt" doc:"Among those that use up max_attempts"`
	MaxAttempts   *int           `json:"max_attempts" doc:"The run's own, else the job's; null: the job is gone"`
	NextAttemptAt jobs.Time      `json:"next_attempt_at"`
	Progress      *jobs.Progress `json:"progress"`
	Error         *jobs.Failure  `json:"error" doc:"Of the last attempt that failed"`
	Group         jobs.ID        `json:"group" doc:"The run of the group that it is a member of, or merges; null: none"`
	Member        *string        `json:"member,omitempty" doc:"Its name in that group, where one run is asked for; left out: it is no member of any"`
	RequeuedFrom  jobs.ID        `json:"requeued_from"`
	RequeuedTo    jobs.ID        `json:"requeued_to"`

	Attempts *[]Attempt   `json:"attempts,omitempty"`
	Folded   *jobs.Folded `json:"folded,omitempty" doc:"Follow-ups and deliveries that made no run, as this one stood by its unique key; left out: none, and in lists"`

	Duplicate   *bool      `json:"duplicate,omitempty" doc:"In the answer to an enqueue: an earlier run"`
	UniqueUntil jobs.Until `json:"unique_until,omitzero" doc:"In the answer to an enqueue where the run stands by its unique key: until when; null: until it starts or ends, as the job says"`
	Replaced    bool       `json:"replaced,omitempty" doc:"In the answer to an enqueue: the run has taken its payload"`
	WatchURL    string     `json:"watch_url,omitempty" doc:"State and progress without a token"`
}

// Attempt is one execution of a run.
type Attempt struct {
	Number     int            `json:"number" doc:"Counts executions, from 1"`
	Version    int            `json:"version"`
	StartedAt  jobs.Time      `json:"started_at"`
	FinishedAt jobs.Time      `json:"finished_at"`
	Outcome    *string        `json:"outcome" doc:"succeeded, failed, interrupted or cancelled; null while it runs"`
	Slices     int            `json:"slices" doc:"Requests made one after another in it: more than 1 where the answers said Nightshift-Continue"`
	Error      *jobs.Failure  `json:"error"`
	HTTPStatus *int           `json:"http_status"`
	ExitCode   *int           `json:"exit_code"`
	OutputTail string         `json:"output_tail"`
	Decision   *jobs.Decision `json:"decision" doc:"Why it ended so and what came of it"`
}

// Brief is what an enqueue answers to a token that may not read, and an entry of a batch.
type Brief struct {
	ID        jobs.ID `json:"id"`
	Job       string  `json:"job"`
	State     *string `json:"state" doc:"null: the run has been pruned"`
	Duplicate bool    `json:"duplicate"`

	UniqueUntil jobs.Until `json:"unique_until,omitzero" doc:"Where the run stands by its unique key: until when; null: until it starts or ends, as the job says"`
	Replaced    bool       `json:"replaced,omitempty" doc:"The run has taken the payload of the call"`
}

// Briefs is the answer to a batch, in its order.
type Briefs struct {
	Items []Brief `json:"items"`
}

// Watch is what a run's watch link gives.
type Watch struct {
	State    string         `json:"state"`
	Progress *jobs.Progress `json:"progress"`
}

// Runs is a page of runs, newest first.
type Runs struct {
	Items []Run   `json:"items"`
	Next  *string `json:"next" doc:"The cursor of the next page; null: this was the last"`
	Limit int     `json:"limit" doc:"What counted as the limit"`
}

// Jobs is a page of jobs, newest first, without payloads.
type Jobs struct {
	Items []*jobs.Job `json:"items"`
	Next  *string     `json:"next"`
	Limit int         `json:"limit"`
}

// Versions is a page of the versions of a job, newest first.
type Versions struct {
	Items []jobs.Version `json:"items"`
	Next  *string        `json:"next"`
	Limit int            `json:"limit"`
}

// Deleted says what went with a job.
type Deleted struct {
	CancelledRuns int `json:"cancelled_runs" doc:"Those that had not started or waited for another attempt"`
}

// Upgraded says how many runs moved to the newest version.
type Upgraded struct {
	UpgradedRuns int `json:"upgraded_runs"`
}

// Token is the right to call the API. Secret is shown once, by the answer that made it.
type Token struct {
	Name      string    `json:"name"`
	Scopes    []string  `json:"scopes"`
	Jobs      *[]string `json:"jobs" doc:"Patterns of job names, such as mail-*; null: all"`
	ExpiresAt jobs.Time `json:"expires_at"`
	CreatedAt jobs.Time `json:"created_at"`
	LastUsed  jobs.Time `json:"last_used_at" doc:"To the minute"`
	Secret    string    `json:"secret,omitempty"`
}

// Tokens is a page of tokens, newest first.
type Tokens struct {
	Items []Token `json:"items"`
	Next  *string `json:"next"`
	Limit int     `json:"limit"`
}

// Server is the state of the server.
type Server struct {
	Version  string `json:"version"`
	Draining bool   `json:"draining" doc:"It starts no attempt until resume or restart"`
	Running  int    `json:"running" doc:"Attempts under way"`
	// MaxUnfinished is null where there is no bound.
	Unfinished    int  `json:"unfinished" doc:"Runs that have not ended, of all jobs"`
	MaxUnfinished *int `json:"max_unfinished" doc:"How many there may be: past it runs are refused with 429, but for those that the server makes itself (ticks, chains, members, merges, alerts), and requeues of an order wait; null: any number"`
	// Restored is null while nothing is held.
	Restored *Restored `json:"restored" doc:"Why nothing starts, no tick is decided and nobody is told until resume: the database is a backup, or this path did not serve it last; null: all of that is done"`
	// CancelledRuns is told by the resume that cancelled them.
	CancelledRuns *int `json:"cancelled_runs,omitempty" doc:"Of a resume with cancel_waiting: how many runs it cancelled"`

	Scripts string `json:"scripts" doc:"In a sentence: whom scripts run as and how they are kept apart; empty: the server runs none"`

	Alerts   AlertState `json:"alerts"`
	Database *Database  `json:"database" doc:"null: for a token that is narrowed to some jobs"`
	Backups  *Backups   `json:"backups" doc:"null: none are made, or the token is narrowed to some jobs"`
}

// Restored is why the database is held.
type Restored struct {
	Why    string    `json:"why" doc:"backup: it is one; elsewhere: this path did not serve it last; no_log: the server died and the log with the last writes was removed"`
	Reason string    `json:"reason" doc:"In words"`
	Since  jobs.Time `json:"since"`
	AsOf   jobs.Time `json:"as_of" doc:"Of a backup: it holds what was acknowledged before; null: it is none"`
}

// Resume ends a drain, and lets a restored database go.
type Resume struct {
	CancelWaiting bool `json:"cancel_waiting,omitempty" doc:"Before that, cancel what is scheduled, queued, retrying or waiting"`
}

// Backups is how the copies of the database stand.
type Backups struct {
	Path         *string   `json:"path" doc:"Of the copy that is published again and again, latest.db; null: it is not made"`
	AsOf         jobs.Time `json:"as_of" doc:"It holds what was acknowledged before; null: there is none yet"`
	Age          *float64  `json:"age_seconds" doc:"Of that, in seconds"`
	Size         int64     `json:"size" doc:"Bytes"`
	Took         float64   `json:"took_seconds" doc:"How long the newest took; 0: none was made since the start"`
	Dated        int       `json:"dated" doc:"How many dated copies are kept"`
	Failed       *string   `json:"failed" doc:"Why the newest could not be made; null: it could"`
	FailingSince jobs.Time `json:"failing_since"`
	Stale        bool      `json:"stale" doc:"It is a day behind"`
}

// Database is how large the file is, and what is left of its disk, in bytes.
type Database struct {
	Path      string `json:"path" doc:"As the server opened it"`
	Size      int64  `json:"size" doc:"Of the file"`
	Free      int64  `json:"free" doc:"Of these, what is empty and used again"`
	Log       int64  `json:"log" doc:"Of the write-ahead log beside it"`
	DiskFree  int64  `json:"disk_free" doc:"Of its disk, for others than root; 0 where that is not known"`
	DiskTotal int64  `json:"disk_total" doc:"Of its disk; 0 where that is not known"`
	DiskLow   bool   `json:"disk_low" doc:"Under 1 GiB or 5 % are free"`
	Kept      []Kept `json:"kept" doc:"How much is kept of what may have a bound"`
}

// Kept is how much is kept of something, in bytes.
type Kept struct {
	Kind  string `json:"kind" doc:"logs: what attempts have printed; runs: those that have ended, with payloads, attempts and results; events"`
	Bytes int64  `json:"bytes" doc:"About what they take in the file"`
	Most  *int64 `json:"most" doc:"Where the oldest goes: --keep-logs, --keep-runs, --keep-events; null: there is no bound"`
}

// Audit is a page of changes, newest first.
type Audit struct {
	Items []AuditEntry `json:"items"`
	Next  *string      `json:"next"`
	Limit int          `json:"limit"`
}

// AuditEntry is one change somebody made.
type AuditEntry struct {
	ID      int64         `json:"id"`
	At      jobs.Time     `json:"at"`
	Actor   string        `json:"actor"`
	Action  string        `json:"action"`
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	Note    string        `json:"note"`
	Changes []jobs.Change `json:"changes"`
}

// Events is a page of events, newest first.
type Events struct {
	Items []jobs.CloudEvent `json:"items"`
	Next  *string           `json:"next"`
	Limit int               `json:"limit"`
}

// Status answers /healthz and /readyz.
type Status struct {
	Status string `json:"status"`
	Detail string `json:"detail,omitempty" doc:"What a person should look at all the same, such as alerts that could not be delivered"`
}

// LogEvent is the data of the events "log" of a log that is followed.
type LogEvent struct {
	Text string `json:"text" doc:"Bytes that are not UTF-8 are replaced"`
}

// EndEvent is the data of the event "end", the last one of a stream.
type EndEvent struct {
	State string `json:"state"`
}

// Problem is every answer that is an error (RFC 9457).
type Problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Errors []jobs.Fault `json:"errors,omitempty" doc:"Every fault that was found, and where"`

	State       string     `json:"state,omitempty" doc:"Of over: the state that the run is in"`
	Run         jobs.ID    `json:"run,omitzero" doc:"Of unique-conflict: the run that stands; of key-conflict: the one that used the key"`
	UniqueUntil jobs.Until `json:"unique_until,omitzero" doc:"Of unique-conflict: until when it stands; null: until it starts or ends, as the job says"`
}

// Document is the body of a PUT or POST of a job.
type Document = jobs.Job

// Note is the body of a pause or resume.
type Note struct {
	Note string `json:"note,omitempty" maxLength:"1024"`
}

// Empty is the body of a call that takes nothing: left out, or {}.
type Empty struct{}

// Requeue is the body of a requeue; all of it may be left out.
type Requeue struct {
	Payload jobs.Raw `json:"payload,omitempty" doc:"In place of the run's own: a new operation"`
	Reset   bool     `json:"reset,omitempty" doc:"A new operation, though the payload stays"`
	Note    string   `json:"note,omitempty" maxLength:"1024"`
}

// PutToken is the body of a PUT of a token.
type PutToken struct {
	Name      string    `json:"name,omitempty" doc:"As in the path, where it stands there"`
	Scopes    []string  `json:"scopes" enum:"read,enqueue,operate,admin" minItems:"1"`
	Jobs      *[]string `json:"jobs,omitempty" doc:"Patterns of job names, such as mail-*; null: all"`
	ExpiresAt jobs.Time `json:"expires_at,omitempty"`
}
