// Package runtime: signatures only, on this branch. The real package is being written on main
// with exactly these names; this file is replaced by it when the branches are merged.
package runtime

import (
	"context"
	"io"
	"log/slog"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// Config is what a Runtime is made of; its zero values work.
type Config struct {
	Store   store.Store
	Kinds   map[string]jobs.Kind // by jobs.KindWebhook, ...
	Log     *slog.Logger
	Key     []byte // 32 bytes: signs callback tokens and watch links
	URL     string // base of links and callbacks, without a final slash; "" none
	Workers [store.Pools]int
	Grace   time.Duration // --shutdown-grace
}

// Runtime owns all goroutines: dispatcher, workers, maintenance.
type Runtime struct{}

// New reads what it needs from the store and recovers runs of a dead process. Nothing starts before Start.
func New(ctx context.Context, cfg Config) (*Runtime, error) { panic("stub") }

// Start starts dispatching. Stop ends it: no new work, attempts get the grace, then are
// interrupted. kill (may be nil) cuts the grace short when closed.
func (r *Runtime) Start()                          { panic("stub") }
func (r *Runtime) Stop(kill <-chan struct{}) error { panic("stub") }
func (r *Runtime) Fatal() <-chan error             { panic("stub") } // an error after which the process must exit (store.ErrUnknown)

// Request asks for a run (contract 3.2). Values are checked here: *jobs.InvalidError.
type Request struct {
	Job            string            `json:"job,omitempty"`
	Payload        jobs.Raw          `json:"payload,omitempty"` // nil: the job's
	Delay          *jobs.Duration    `json:"delay,omitempty"`
	RunAt          jobs.Time         `json:"run_at,omitempty"`
	Priority       *int              `json:"priority,omitempty"`
	MaxAttempts    *int              `json:"max_attempts,omitempty"`
	Timeout        *jobs.Duration    `json:"timeout,omitempty"`
	CorrelationID  string            `json:"correlation_id,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`

	Trigger     jobs.Trigger `json:"-"`
	Traceparent string       `json:"-"`
	Creator     string       `json:"-"` // the token's name
}

// Submit makes runs, all or none. Errors: *jobs.InvalidError with locations runs[3].payload
// (or without the prefix where single is true), store.ErrNotFound-wrapping *store.EntryError joined
// with errors.Join (unknown job, *store.KeyConflict), store errors.
func (r *Runtime) Submit(ctx context.Context, single bool, reqs []Request) ([]store.Submitted, error) {
	panic("stub")
}

// AwaitEnd blocks until the run has ended or ctx is done; it reports whether it has ended.
func (r *Runtime) AwaitEnd(ctx context.Context, id jobs.ID) (bool, error) { panic("stub") }

// Run reads a run whole, with HeldBy and, while one is under way, the attempt that runs (FinishedAt zero).
func (r *Runtime) Run(ctx context.Context, id jobs.ID) (*jobs.Run, error) { panic("stub") }
func (r *Runtime) Runs(ctx context.Context, f store.RunFilter, p store.Page) ([]*jobs.Run, string, error) {
	panic("stub")
}

// Cancel answers the run's state after its commit: Cancelled, or Running where the attempt is
// being stopped (cancel_requested_at is set); store.ErrState where it had ended otherwise.
func (r *Runtime) Cancel(ctx context.Context, id jobs.ID, by store.By) (jobs.State, error) {
	panic("stub")
}
func (r *Runtime) RunNow(ctx context.Context, id jobs.ID, by store.By) error { panic("stub") }
func (r *Runtime) Requeue(ctx context.Context, rq store.Requeue) (store.Submitted, error) {
	panic("stub")
}                                                                            // ID and By.Now are filled in
func (r *Runtime) Remove(ctx context.Context, id jobs.ID, by store.By) error { panic("stub") }

// Log copies what is kept of the run's output to w. Where follow is true it goes on with what comes
// until the run has ended, calling flush after each piece.
func (r *Runtime) Log(ctx context.Context, id jobs.ID, w io.Writer, follow bool, flush func()) error {
	panic("stub")
}

// Changes gives a signal whenever the run changes (state, attempt, progress); stop ends it.
func (r *Runtime) Changes(id jobs.ID) (changed <-chan struct{}, stop func()) { panic("stub") }

// PutJobs checks (rules compiled) and saves documents, all or none. *jobs.InvalidError with locations
// as the job's own for a single one, jobs[2].retry... for several.
func (r *Runtime) PutJobs(ctx context.Context, puts []store.PutJob, by store.By) ([]store.Saved, error) {
	panic("stub")
}
func (r *Runtime) DeleteJob(ctx context.Context, name string, ifMatch *int64, by store.By) (int, error) {
	panic("stub")
}
func (r *Runtime) PauseJob(ctx context.Context, name string, paused bool, note string, by store.By) (*jobs.Job, error) {
	panic("stub")
}
func (r *Runtime) UpgradeRuns(ctx context.Context, job string, by store.By) (int, error) {
	panic("stub")
}

// Store gives the store for reads that need nothing of the runtime: Job, Jobs, Versions, Version, Audit, Stats, tokens.
func (r *Runtime) Store() store.Store { panic("stub") }

// WatchKey is the key of a run's watch link; CheckWatchKey compares in constant time.
func (r *Runtime) WatchKey(id jobs.ID) string                { panic("stub") }
func (r *Runtime) CheckWatchKey(id jobs.ID, key string) bool { panic("stub") }

// Drain starts no attempt until Resume; Running counts attempts under way.
func (r *Runtime) Drain(by store.By)  { panic("stub") }
func (r *Runtime) Resume(by store.By) { panic("stub") }
func (r *Runtime) Draining() bool     { panic("stub") }
func (r *Runtime) Running() int       { panic("stub") }

// Health is nil where it takes work; else it says why not (for /readyz).
func (r *Runtime) Health(ctx context.Context) error { panic("stub") }

// Now is the runtime's clock, for By and expiry.
func (r *Runtime) Now() jobs.Time { panic("stub") }

// Event is something that happened, after its commit, for the terminal and live pages.
type Event struct {
	Kind    string // run.started, run.attempt, run.ended
	Run     *jobs.Run
	Attempt *jobs.Attempt // of run.attempt and run.ended
}

// Events gives what happens from now on (slow readers lose events); stop ends it.
func (r *Runtime) Events() (events <-chan Event, stop func()) { panic("stub") }
