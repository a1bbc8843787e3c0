package store

import (
	"context"
	"time"

	"nightshift/jobs"
)

// Sharing is what runs share: queues and dependencies. They come to be by being named; a document
// says their limits (Catalog.Save, kinds KindQueue and KindDependency).
type Sharing interface {
	// Gate is a queue or dependency as it stands. ErrNotFound where nothing has ever named it.
	Gate(ctx context.Context, kind jobs.GateKind, name string, now jobs.Time) (*GateInfo, error)
	// Gates lists them, newest first.
	Gates(ctx context.Context, kind jobs.GateKind, now jobs.Time, p Page) ([]*GateInfo, string, error)
	// PauseGate pauses or resumes a queue or dependency.
	PauseGate(ctx context.Context, kind jobs.GateKind, name string, paused bool, note string, by By) error
	// Trip opens the breaker of a dependency for a while, 0: for its open_for. ErrState where it
	// has none.
	Trip(ctx context.Context, name string, length time.Duration, by By) error
	// Held sets HeldBy of those of the runs that are queued and wait for a gate.
	Held(ctx context.Context, runs []*jobs.Run, now jobs.Time) error
	// Reset closes the breaker of a dependency and forgets a Retry-After.
	Reset(ctx context.Context, name string, by By) error
}

// GateInfo is a queue or dependency with its use.
type GateInfo struct {
	jobs.Gate
	Doc       jobs.Raw // nil: nobody has put one
	Set       string
	Revision  int64
	CreatedAt jobs.Time // of the document, else when it was first named
	UpdatedAt jobs.Time

	Running int // attempts under way, and runs that are waiting
	// Waiting is how many queued runs it holds, of a queue how many are queued, counted up to
	// MaxWaiting.
	Waiting  int
	OldestAt jobs.Time // when the first of these was due; zero: none
	Jobs     []string  // that name it, sorted, 100 at most
}

// GateDocument is the kind of the documents about a sort of gate: a queue or a dependency.
func GateDocument(kind jobs.GateKind) string {
	if kind == jobs.GateQueue {
		return KindQueue
	}
	return KindDependency
}

// MaxWaiting is up to which runs that wait are counted.
const MaxWaiting = 10_000

// Event is something worth telling, kept in the transaction of what it tells of.
type Event struct {
	ID      int64 // from 1, each one more than the one before, also after the older ones are gone
	At      jobs.Time
	Type    string // one of jobs.EventTypes
	Subject string // such as dependency/stripe
	Job     string // whose it is; "": of none, as what runs share
	Run     jobs.ID
	Data    jobs.Raw // an object on one line: the data of the CloudEvent
}

// EventFilter narrows a list of events; zero values do not.
type EventFilter struct {
	Types []string
	After int64 // newer than this one
	// Allowed are patterns of job names, as in Token.Jobs: events that are of no job are left out
	// too. nil: all.
	Allowed []string
}
