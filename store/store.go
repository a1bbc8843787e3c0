// Package store says what the runtime needs of a database, in the domain's verbs.
//
// It owns the interfaces, their types and the sentinel errors; it must not know of SQL.
// Every call that writes has been made durable when it returns nil. Times are arguments.
package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"nightshift/jobs"
)

// Sentinel errors. Test with errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrStale    = errors.New("changed meanwhile")                    // If-Match failed
	ErrState    = errors.New("not possible in this state")           // of the run
	ErrSet      = errors.New("it belongs to another set")            // of an apply
	ErrBusy     = errors.New("the database is locked")               // by another process, for 10 s
	ErrFull     = errors.New("the disk is full")                     // nothing was written
	ErrUnknown  = errors.New("the outcome of the commit is unknown") // only a restart can tell
	ErrClosed   = errors.New("the store is closed")
	ErrLease    = errors.New("the lease is over")
)

// FullError is an ErrFull where something else than a full disk keeps the file from being written.
type FullError struct{ Why string }

func (e *FullError) Error() string { return e.Why }

// Is makes it an ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// Store is all of it.
type Store interface {
	Queue
	Catalog
	Access
	History
	Ledger
	Sharing
	Schedules
	Underway
	Groups
	Failures
	Alerts
	Close() error
}

// Queue holds the runs that have not ended.
type Queue interface {
	// Enqueue makes runs, all or none, acting in order. An entry whose key is known gives
	// the earlier run. Faults are an *EntryError for each bad entry, joined.
	Enqueue(ctx context.Context, subs []Submission) ([]Submitted, error)
	// Claim ends attempts and takes due runs for the workers that are free, in one
	// transaction: runs that fell due become queued, those that are given out running.
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Orphans are the runs that were running when the last process died. Groups that had been given out and
	// had not started are none: they wait as before that.
	Orphans(ctx context.Context) ([]Lease, error)
	// Cancel ends a run where nothing of it runs, else notes that it is to end. That of a group ends with
	// its members and its merge, at all depths.
	Cancel(ctx context.Context, id jobs.ID, by By) (Cancelled, error)
	// RunNow makes a scheduled or retrying run due now; nothing is left to do for one that is
	// queued or running. ErrState where it has ended.
	RunNow(ctx context.Context, id jobs.ID, by By) error
	// Requeue makes a new run that points back to an ended one. Where an unfinished
	// requeue of it stands, that is the answer. It has the place in a group of the one before; ErrState
	// while that group is being cancelled.
	Requeue(ctx context.Context, r Requeue) (Submitted, error)
	// Remove deletes an ended run with all that belongs to it. ErrState where it has not ended, or a group
	// that it belongs to has not.
	Remove(ctx context.Context, id jobs.ID, by By) error
	// AppendLog keeps pieces of the output of attempts under way.
	AppendLog(ctx context.Context, pieces []LogPiece) error
	// Release gives the runs that wait for one of these secrets another try: after a start, and
	// when one can be read that could not. It takes so many that others can write in between; more:
	// some wait still.
	Release(ctx context.Context, secrets []string) (more bool, err error)
	// Ready is signalled when something may have become startable.
	Ready() <-chan struct{}
}

// History is what happened.
type History interface {
	// Run is one run with payload, result and attempts; of a group also what it is made of.
	Run(ctx context.Context, id jobs.ID) (*jobs.Run, error)
	// Runs lists without payloads, results, stacks and attempts, newest first. Where Q can be
	// the start of an id, runs whose id begins so come before those that have Q elsewhere. A
	// page may hold fewer than asked for, also none, while there is a cursor to go on with.
	Runs(ctx context.Context, f RunFilter, p Page) ([]*jobs.Run, string, error)
	// Listed are runs as Runs has them, in the order of their ids here; those that are not kept are left out.
	Listed(ctx context.Context, ids []jobs.ID) ([]*jobs.Run, error)
	// Log reads the kept output of a run, oldest first, piece by piece. piece may be slow: it is
	// called outside of transactions.
	Log(ctx context.Context, id jobs.ID, piece func(LogPiece) error) error
	// FailedAttempts gives each run of a job that had failed attempts and had not ended before
	// since, oldest first, with payload, counts and, as Attempts, those that failed. It reads few
	// at a time; each may be slow: it is called outside of transactions.
	FailedAttempts(ctx context.Context, job string, since jobs.Time, each func(*jobs.Run) error) error
	// OnEvents has fn called after each commit that kept events, whatever kept them. It does not block; it is
	// given before anything is written.
	OnEvents(fn func())
	// Events are those after one, oldest first.
	Events(ctx context.Context, after int64, limit int) ([]Event, error)
	// NewestEvent is the id of the last event there was, kept or not; 0: there was none.
	NewestEvent(ctx context.Context) (int64, error)
	// EventList is the list of them, newest first. As with Runs a page may hold fewer than asked
	// for while there is a cursor to go on with.
	EventList(ctx context.Context, f EventFilter, p Page) ([]Event, string, error)
	// Prune looks at some runs, oldest first from where it stopped, then at keys and all else that is kept for a
	// time, and deletes what is past it. Who calls it waits for one step before the next. A failure is kept until it
	// was made good by a requeue that succeeded, and from then on as its job says. Events and the audit are kept for
	// 90 days.
	Prune(ctx context.Context, p PruneStep) (Pruned, error)
	// Stats counts unfinished runs by state; states without runs are left out.
	Stats(ctx context.Context) (map[jobs.State]int, error)
}

// PruneStep is a step of History.Prune.
type PruneStep struct {
	Now   jobs.Time
	Limit int // rows that are looked at
	// Brief is said with each step of a round that looks at runs and at what there is too much of, and at nothing else.
	Brief bool
	// Enough is asked between two runs that go, with others waiting to write: true ends the step. nil: it goes on.
	Enough func() bool
	// Most is how many bytes are kept at most of a sort; one that is not in it has no bound. What is past it goes, the
	// oldest first: of logs the text alone, and the run says so; of runs those that ended first. Nothing goes of a run
	// that has not ended, of a group that has not, or of an open failure.
	Most map[KeptKind]int64
}

// Pruned says what a step of History.Prune did.
type Pruned struct {
	Done bool // it has seen all: the next step begins anew
	Runs int  // that are gone
	// Over are the sorts of which more is kept than may be, for what is left of them may not go; set with Done.
	Over []KeptKind
}

// Ledger is what is only ever added to, and facts about the file.
type Ledger interface {
	Statistics
	Copies
	// Note keeps an audit entry of something that changes no row.
	Note(ctx context.Context, by By, action, kind, name string, changes ...jobs.Change) error
	// Audit lists entries, newest first. A request looks at a bounded number of them: a page may hold fewer than
	// asked for while there is a next one.
	Audit(ctx context.Context, f AuditFilter, p Page) ([]AuditEntry, string, error)
	// Floor is the largest number (jobs.ID.Seq) of any run, deleted ones included.
	Floor(ctx context.Context) (int64, error)
	// Clock is what a claim has kept last; "": nothing.
	Clock(ctx context.Context) (string, error)
	// Probe writes a row: nil says that the store takes work.
	Probe(ctx context.Context, now jobs.Time) error
	// Size is how large the file is.
	Size(ctx context.Context) (FileSize, error)
	// Kept is how many bytes are kept of each sort.
	Kept(ctx context.Context) (map[KeptKind]int64, error)
	// Tidy does small upkeep: a checkpoint. idle: nothing was written for a minute.
	Tidy(ctx context.Context, idle bool) error
	// Shrink gives up to so many free pages back to the file system, where there are some.
	Shrink(ctx context.Context, pages int) error
}

// FileSize is how large the file of a store is, in bytes.
type FileSize struct {
	Path string
	Size int64
	Free int64 // of Size: pages that are used again
	Log  int64 // of the write-ahead log beside it
}

// By is who changes something and when; it ends up in the audit.
type By struct {
	Actor string // "token NAME", "server"
	Now   jobs.Time
	Note  string
}

// Submission is a run to be made. One whose state is failed has ended when it is made, of its
// Error.
type Submission struct {
	Run *jobs.Run // as jobs.NewRun made it; the store fills in Version and Host
	// KeyHash is the hash of the payload, where Run.IdempotencyKey is set.
	KeyHash [16]byte
	// Delivery is a door of the job, a space, and what the sender calls this delivery. A known one
	// gives the earlier run, whatever the payload. "": none.
	Delivery string
	KeyTTL   time.Duration // of the key and the delivery
	// Unique folds the run into one that stands; nil: it does not.
	Unique *jobs.UniqueRun
	// Quiet: nobody is there to be told of a conflict. It acts as existing, and is noted on the
	// run that stands, as from By.
	Quiet bool
	By    string
	// Most is how many runs that have not ended there may be with this one: past it nothing is made, and the error
	// is a *TooManyError. A run that stands already is found all the same. 0: any number.
	Most int
	// Group is what a run of jobs.GroupJob is made of; nil: its job says what it does.
	Group *jobs.Group
}

// Cancelled says what a Cancel did.
type Cancelled struct {
	State jobs.State // of the run: cancelled; else something of it runs still
	Stop  []jobs.ID  // runs with an attempt under way that is to end; the run itself may be among them
}

// Submitted says what became of a submission.
type Submitted struct {
	ID        jobs.ID
	Job       string
	Version   int
	State     jobs.State // zero: an earlier run that has been pruned
	Duplicate bool
	Operation jobs.ID
	DueAt     jobs.Time
	HeldBy    *jobs.HeldBy // of a new run that is queued; nil: only a worker

	// Unique is set where an earlier run stands for this one by its unique key, UniqueUntil
	// until when; zero: until it starts or ends. Replaced: it has taken the payload.
	Unique      bool
	UniqueUntil jobs.Time
	Replaced    bool
}

// EntryError is what is wrong with one submission of a batch, or with one entry of Changes.
type EntryError struct {
	Index int
	Kind  string // KindJob: of the jobs of Changes, that of a document: of its documents; "": of a batch
	Err   error  // ErrNotFound: the job; *KeyConflict, *UniqueConflict; of Changes: see Catalog.Save
}

func (e *EntryError) Error() string { return e.Err.Error() }
func (e *EntryError) Unwrap() error { return e.Err }

// KeyConflict is an idempotency key used before with another payload.
type KeyConflict struct {
	Key string
	Run jobs.ID
	// Entry is the one of the same call that would have made Run; nil: that was there before.
	Entry *int
}

func (e *KeyConflict) Error() string {
	by := "run " + e.Run.String()
	if e.Entry != nil {
		by = "entry " + strconv.Itoa(*e.Entry)
	}
	return "idempotency key " + e.Key + " was used with another payload by " + by
}

// UniqueConflict is a run that must not be made while another of its kind stands.
type UniqueConflict struct {
	Job   string
	Run   jobs.ID   // that stands
	Until jobs.Time // zero: until it starts or ends, as While says
	While string
	// Entry is the one of the same call that would have made Run; nil: that was there before.
	Entry *int
}

func (e *UniqueConflict) Error() string {
	text := "run " + e.Run.String()
	if e.Entry != nil {
		text = "the run of entry " + strconv.Itoa(*e.Entry)
	}
	return text + " of job " + e.Job + " stands for it " + StandsUntil(e.While, e.Until)
}

// TooManyError is a run that is one too many.
type TooManyError struct{ Unfinished, Limit int }

func (e *TooManyError) Error() string {
	return strconv.Itoa(e.Unfinished) + " runs have not ended, " + strconv.Itoa(e.Limit) + " are the most there may be"
}

// ConflictOf gives the run that a conflict is with, and where the conflict keeps the entry that would
// have made it; nil: the error is no conflict.
func ConflictOf(err error) (run jobs.ID, entry **int) {
	var key *KeyConflict
	var unique *UniqueConflict
	switch {
	case errors.As(err, &key):
		return key.Run, &key.Entry
	case errors.As(err, &unique):
		return unique.Run, &unique.Entry
	}
	return jobs.ID{}, nil
}

// StandsUntil says in words until when a run stands by its unique key.
func StandsUntil(while string, until jobs.Time) string {
	switch {
	case until != 0:
		return "until " + until.String()
	case while == jobs.WhileQueued:
		return "until it starts"
	}
	return "until it ends"
}

// Pool is the sort of worker a run needs. The numbers are stored.
type Pool int

// The pools.
const (
	PoolWebhook Pool = 0
	PoolScript  Pool = 1
	PoolMail    Pool = 2
	PoolGroup   Pool = 3 // what starts groups; nothing of them is executed
	Pools            = 4
)

// String is the kind of the jobs whose runs need it.
func (p Pool) String() string {
	return [Pools]string{jobs.KindWebhook, jobs.KindScript, jobs.KindMail, jobs.KindGroup}[p]
}

// PoolOf is the sort of worker that a kind of job needs.
func PoolOf(kind string) Pool {
	switch kind {
	case jobs.KindScript:
		return PoolScript
	case jobs.KindMail:
		return PoolMail
	case jobs.KindGroup:
		return PoolGroup
	}
	return PoolWebhook
}

// Claim asks for work.
type Claim struct {
	Now jobs.Time
	// Shift is by how much the wall clock was set since the claim before: what stands for a wait
	// that was given as a duration is moved along before anything else.
	Shift time.Duration
	// Clock is kept with it: what Ledger.Clock gives the next start. "": as it was.
	Clock string
	// First is set of a process's first claim. Starts that lie ahead of Now, for the clock was set
	// back while nothing could see it, count as of now: a rate must not hold until then.
	First    bool
	Free     [Pools]int // workers
	Workers  [Pools]int // that there are, busy ones too: half of them, and at least one, may catch up
	Finished []Finish   // the attempts that ended since the last claim
	Hold     bool       // drain: take nothing
	Restored bool       // the file is held: no deadline is decided either
}

// Claimed is the answer to a claim.
type Claimed struct {
	Leases  []Lease
	Results []FinishResult // one per Finish, in order
	NextDue jobs.Time      // when the next scheduled or retrying run falls due or a gate may open; zero: none
	More    bool           // there is more to do than one claim does: claim again
	Events  bool           // events were kept
	LongAt  jobs.Time      // when the first of Leases will have taken long; zero: nobody asks
	// Groups are group runs that wait, and of which all is over: each is to be ended by a Finish. They are
	// given once to a process.
	Groups []EndedGroup
	Stop   []jobs.ID // runs with an attempt under way that is to end: of groups
}

// Lease is the right to execute one attempt of a run. Run and Number together are its
// fencing token: a finish with another number changes nothing.
type Lease struct {
	Run      *jobs.Run // with payload; Counts.Number is the number of this execution
	Spec     *jobs.Spec
	Host     string    // host:port that it calls; "": none
	Started  jobs.Time // of this execution
	Deleted  bool      // the job has been deleted meanwhile
	LogBytes int64     // kept for the run so far
	// Checkpoint is what the operation, or its checkpoint key, has saved; nil: nothing.
	Checkpoint jobs.Raw
	// Log is what is kept of this attempt's output already, in order: of one that goes on with its
	// next slice, or waits.
	Log []LogPiece
	// Said is what the attempt has said of its outcome (Underway.Say); nil: nothing.
	Said *jobs.Said
	// Group is what a group's run is made of; nil of any other. Spec says so too, but for a run of
	// jobs.GroupJob.
	Group *GroupLease
	// Merges: its payload is to be composed (Groups.Results) and kept (Groups.KeepPayload) before it is
	// executed.
	Merges bool
}

// RunFilter narrows a list of runs; zero values do not.
type RunFilter struct {
	Job, Queue, CorrelationID, ErrorKind, ErrorType string
	// Q is the start of an id, with or without its dashes, or of a correlation id, or part of the
	// error's type or message; upper and lower case are alike. 1024 bytes at most.
	Q string

	Schedule     string
	States       []jobs.State
	LabelKey     string
	LabelValue   *string // nil: any
	Trigger      string
	Since, Until jobs.Time
	// Allowed are patterns of job names, as in Token.Jobs; nil: all.
	Allowed []string
	// Own is a token whose runs of jobs.GroupJob count as allowed.
	Own     string
	Creator string // made by this token
	Groups  bool   // runs of groups alone
}

// AuditEntry is one change somebody made.
type AuditEntry struct {
	ID    int64
	At    jobs.Time
	Actor string
	// Action is put, adopt (into a set), delete, pause, resume, cancel, requeue, remerge, run-now, upgrade-runs,
	// remove, drop-checkpoint, resolve, ignore, stop, trip, reset, drain, rotate-key, test, link, sign-in, sign-out.
	Action string
	Kind   string // job, policy, schedule, queue, dependency, alert, run, failures (an order), token, session, secret, server
	Name   string
	Note   string
	// Changes is the difference: bounded, see maxAuditFields and its neighbours; values of secrets are never in it.
	Changes []jobs.Change
}

// AuditFilter narrows the audit; zero values do not.
type AuditFilter struct {
	Actor, Action, Kind, Name string
	Since, Until              jobs.Time // of At, both included
}
