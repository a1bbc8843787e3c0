package store

import (
	"context"

	"nightshift/jobs"
)

// Failures holds runs that ended failed until somebody has dealt with them.
type Failures interface {
	// Failures lists them, newest first, without payloads and stacks. As with Runs a page may hold fewer
	// than asked for while there is a cursor to go on with.
	Failures(ctx context.Context, f FailureFilter, p Page) ([]*Failure, string, error)
	// Failure is one with its payload, stack, attempts and requeues. ErrNotFound where the run is none, and
	// does not retry.
	Failure(ctx context.Context, run jobs.ID) (*Failure, error)
	// FailureGroups lists groups of failures that are alike, newest first by when they were first seen.
	FailureGroups(ctx context.Context, f FailureGroupFilter, p Page) ([]*FailureGroup, string, error)
	// Deal resolves or ignores one failure. Where it is so already nothing changes, but for a note that is
	// given.
	Deal(ctx context.Context, run jobs.ID, d Dealing, by By) error
	// OpenFailures counts open ones up to a number.
	OpenFailures(ctx context.Context, most int) (int, error)
	// ReopenIgnored opens the groups of failures that were ignored until now, where more came.
	ReopenIgnored(ctx context.Context, now jobs.Time) (reopened int, err error)

	// StartBulk fixes which failures an order deals with, and gives their number. What of it can be done at
	// once is; the rest is for BulkStep.
	StartBulk(ctx context.Context, id jobs.ID, b Bulk, by By) (count int, err error)
	// SampleBulk is a dry run: the number, and the first few with their payloads.
	SampleBulk(ctx context.Context, f FailureFilter, ids []jobs.ID, samples int) (int, []*Failure, error)
	// BulkStep deals with the next few failures of an order. runs makes the requeues of those it is given,
	// with payloads; it is called in no transaction, and what has changed meanwhile is left for the next
	// step. more: some are left. An order that is called off has its runs cancelled by it.
	BulkStep(ctx context.Context, id jobs.ID, limit int, runs func(*Bulk, []*jobs.Run) []BulkRun, now jobs.Time) (
		done BulkDone, more bool, err error)
	// Bulk is how an order stands. ErrNotFound.
	Bulk(ctx context.Context, id jobs.ID) (*BulkInfo, error)
	// BulksLeft are the orders that have something left to do for BulkStep.
	BulksLeft(ctx context.Context) ([]jobs.ID, error)
	// StopBulk calls off what an order has not begun: failures not dealt with stay as they are, those whose
	// requeues have not started are open again.
	StopBulk(ctx context.Context, id jobs.ID, by By) error
}

// FailureFilter narrows failures; zero values do not, but for Status. The audit shows that of an order.
type FailureFilter struct {
	Status      jobs.FailureStatus `json:"status"` // open where nothing is said
	Job         string             `json:"job,omitempty"`
	ErrorType   string             `json:"error_type,omitempty"`
	ErrorKind   string             `json:"error_kind,omitempty"`
	Fingerprint string             `json:"fingerprint,omitempty"`
	Since       jobs.Time          `json:"since,omitempty"` // by the time in the id
	Until       jobs.Time          `json:"until,omitempty"`
	Q           string             `json:"q,omitempty"`      // as RunFilter.Q
	Allowed     []string           `json:"allowed,omitzero"` // nil: any job
}

// Failure is a run that ended failed, or retries.
type Failure struct {
	Run         *jobs.Run // of a list without payload and attempts
	Status      jobs.FailureStatus
	Fingerprint string
	Note        string
	By          string // who resolved or ignored it; "": nobody
	DealtAt     jobs.Time
	Until       jobs.Time // of an ignored one: until then; zero: for good
	Stack       string
	// LastAttemptAt is when its last attempt ended; zero: none was made.
	LastAttemptAt jobs.Time
	// Chain are the runs that it was requeued from and to, oldest first, itself included, as in lists; nil
	// in lists.
	Chain []*jobs.Run
}

// FailureGroupFilter narrows groups of failures; zero values do not.
type FailureGroupFilter struct {
	Job         string
	Fingerprint string
	Statuses    []jobs.FailureStatus // open, resolved, ignored; nil: any
	Allowed     []string
}

// FailureGroup are failures that are alike.
type FailureGroup struct {
	Fingerprint string
	Job         string
	Kind, Type  string
	Message     string // of the newest
	Count       int    // of all there were, those no longer kept too
	Open        int    // up to 10,000
	FirstAt     jobs.Time
	LastAt      jobs.Time
	Status      jobs.FailureStatus // open, ignored, else resolved
	Until       jobs.Time          // of an ignored one; zero: for good
	LastRun     jobs.ID            // the newest that is kept; NilID: none
}

// Dealing is what is said of a failure.
type Dealing struct {
	Status jobs.FailureStatus // resolved or ignored
	Note   string
	Until  jobs.Time // of an ignored one; zero: for good
}

// What an order may be for.
const (
	BulkRequeue = "requeue"
	BulkResolve = "resolve"
	BulkIgnore  = "ignore"
)

// Bulk is an order to deal with many failures.
type Bulk struct {
	Action    string        `json:"action"`
	Filter    FailureFilter `json:"filter"`
	IDs       []jobs.ID     `json:"-"`                    // these; nil: those of Filter
	Patch     jobs.Raw      `json:"patch,omitempty"`      // RFC 7396, on each payload; nil: none
	Every     jobs.Duration `json:"every,omitempty"`      // between the times at which its runs are due
	Rate      string        `json:"rate,omitempty"`       // as which it was given
	StopAfter int           `json:"stop_after,omitempty"` // 0: never
	Note      string        `json:"note,omitempty"`
	Until     jobs.Time     `json:"until,omitempty"` // of ignore
	Creator   string        `json:"creator,omitempty"`
}

// BulkRun is the requeue of one failure of an order.
type BulkRun struct {
	Requeue
	Skip string // why it is not made; "": it is
}

// BulkState is how far an order has come. The numbers are stored.
type BulkState int

// The states.
const (
	BulkRunning BulkState = 1 // failures are still to be dealt with
	BulkMade    BulkState = 2 // all runs are made; some have not ended
	BulkDoneAll BulkState = 3 // all are dealt with and over
	BulkStopped BulkState = 4 // called off
)

var bulkStates = []string{"", "running", "made", "done", "stopped"}

func (s BulkState) String() string { return bulkStates[s] }

// BulkDone says what a step did.
type BulkDone struct {
	Made      []Submitted
	Cancelled []jobs.ID
	// Full: there are as many unfinished runs as Requeue.Most lets there be. The rest is for later.
	Full bool
}

// BulkInfo is how an order stands.
type BulkInfo struct {
	ID        jobs.ID
	Bulk      Bulk
	State     BulkState
	Reason    string // why it was called off
	Count     int    // failures that it is for
	Done      int    // dealt with so far
	Skipped   int
	Skips     []BulkSkip // the first hundred
	Succeeded int        // of its runs
	Failed    int
	Cancelled int
	CreatedAt jobs.Time
	EndedAt   jobs.Time // zero: it is under way
}

// BulkSkip is a failure that an order has left as it was.
type BulkSkip struct {
	Run    jobs.ID `json:"run"`
	Reason string  `json:"reason"`
}
