package jobs

import (
	"fmt"
	"time"
)

// State of a run. The numbers are stored.
type State int

// The states (contract 1). Succeeded and later are terminal.
const (
	Scheduled State = 1 // not due yet
	Queued    State = 2 // due; HeldBy says what it waits for
	Running   State = 3
	Retrying  State = 4 // an attempt failed, the next has a time
	Waiting   State = 5 // holds no worker (callback, group)
	Succeeded State = 6
	Failed    State = 7
	Cancelled State = 8
)

var stateNames = []string{"", "scheduled", "queued", "running", "retrying", "waiting", "succeeded", "failed", "cancelled"}

func (s State) String() string {
	if s <= 0 || int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}

// MarshalText gives the name of the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText gives.
func (s *State) UnmarshalText(text []byte) error {
	state, ok := StateOf(string(text))
	if !ok {
		return fmt.Errorf("%q is no state of a run", clip(string(text), 40))
	}
	*s = state
	return nil
}

// Terminal reports whether a run in this state has ended.
func (s State) Terminal() bool { return s >= Succeeded }

// StateOf reads the name of a state; ok is false for an unknown one.
func StateOf(name string) (s State, ok bool) {
	for i := 1; i < len(stateNames); i++ {
		if stateNames[i] == name {
			return State(i), true
		}
	}
	return 0, false
}

// Trigger is what made a run.
type Trigger string

// The triggers that exist so far.
const (
	TriggerAPI     Trigger = "api"
	TriggerCLI     Trigger = "cli"
	TriggerRequeue Trigger = "requeue"
	TriggerInbound Trigger = "inbound" // a door
	TriggerChain   Trigger = "chain"   // on_success of another job

	TriggerSchedule Trigger = "schedule" // a tick
	TriggerCatchUp  Trigger = "catch_up" // a tick that was missed

	TriggerGroup Trigger = "group" // a member of a group, or its merge
	TriggerAlert Trigger = "alert"
)

// RankPerPriority is what a point of priority is worth: a run's rank is its due time
// less priority × 6 s, so that nothing starves (contract 9).
const RankPerPriority = 6 * time.Second

// Run is one piece of work for a job. Times are milliseconds since 1970 UTC, zero: none.
type Run struct {
	ID          ID
	Job         string
	Version     int
	OperationID ID
	State       State
	HeldBy      *HeldBy // never nil on queued
	Trigger     Trigger
	Schedule    string // whole name of the schedule whose tick it was made for
	Queue       string

	Keys            Keys   // fixed when it is made
	Host            string // host:port that a webhook's URL named at enqueue; "": it is written out
	Payload         Raw
	Result          Raw // nil: none
	ResultTruncated bool
	LogPruned       int64 // bytes of its output that were deleted, for there was too much of that in all; only of a run by itself

	Priority       int
	Labels         map[string]string
	CorrelationID  string
	Traceparent    string
	IdempotencyKey string
	CreatedBy      string // the token's name
	MaxAttempts    int    // the run's own cap; 0: the job's
	Timeout        Duration

	CreatedAt         Time
	RunAt             Time // when it was first due
	DueAt             Time // when it is next due
	ScheduledFor      Time // the tick that it was made for
	StartedAt         Time // of the first attempt
	FinishedAt        Time
	CancelRequestedAt Time

	Counts    Counts
	AttemptAt Time // when the attempt under way started
	Slices    int  // good slices of the attempt under way; between two the run is running and HeldBy is set
	// Continues are the good slices of its operation, over attempts and requeues.
	Continues int
	Progress  *Progress
	Error     *Failure // of the last attempt that failed

	RequeuedFrom ID
	RequeuedTo   ID
	Folded       *Folded // requests that found it standing by its unique key; nil: none

	Group ID  // the group's run that it is a member of, or merges; NilID: none
	Place int // its place among the members; -1: it merges them
	Tells Tells
	Bulk  ID             // the order that requeued it with many others; NilID: none
	Dealt *FailureStatus // of a failed one; nil: it has not failed

	// AlertKeys are, of one that is made failed, what alerts count it by besides its job and schedule.
	AlertKeys []string

	Member string // its name in its group, where one run is asked for; "": it merges the members

	Attempts []Attempt // only where one run is asked for
}

// Counts are what a run has used up (contract 3.2, Counting).
type Counts struct {
	Number  int            // executions so far, this one included while running
	Charged int            // failures charged to the job's max_attempts
	Budgets map[string]int // failures charged to a rule's own budget, by Rule.BudgetKey
	Deaths  int            // deaths of the server in a row, without an attempt ended otherwise
	// Interrupts are attempts in a row that the server ended, without a new checkpoint.
	Interrupts int
}

// Failures counts all that were charged anywhere: a run's own max_attempts caps them.
func (c Counts) Failures() int {
	n := c.Charged
	for _, b := range c.Budgets {
		n += b
	}
	return n
}

// Attempt is the number that rules, headers and backoff count with: of the attempt
// that comes next or is under way, among those that use up max_attempts.
func (c Counts) Attempt() int { return c.Charged + 1 }

// Progress is what a job says of how far it is.
type Progress struct {
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
	Note  string  `json:"note,omitempty"`
}

// What a queued run may wait for, so far.
const (
	HeldWorkers = "workers"
	HeldPaused  = "paused"
	HeldDrain   = "drain"
	// HeldRestored is what all runs wait for of a file that was not served here last.
	HeldRestored = "restored"
	HeldDisk     = "disk"
	HeldSecret   = "secret"

	HeldDependency  = "dependency"
	HeldConcurrency = "concurrency"
	HeldRate        = "rate"
	HeldQueue       = "queue"
	HeldOverlap     = "overlap"
	HeldCheckpoint  = "checkpoint"
)

// WaitsForWorker is the reason of kind workers where nothing but a worker is missing.
const WaitsForWorker = "it waits for a free worker"

// HeldBy says what a queued run waits for.
type HeldBy struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Until  Time   `json:"until"`
}

// HeldByPause is what a queued run of a paused job waits for; note is why it is paused, "" where
// nobody said.
func HeldByPause(job, note string) *HeldBy {
	if note == "" {
		note = "the job " + job + " is paused"
	}
	return &HeldBy{Kind: HeldPaused, Name: job, Reason: note}
}

// HeldBySecret is what a queued run waits for that needs a secret which nobody can read.
func HeldBySecret(name string) *HeldBy {
	return &HeldBy{
		Kind: HeldSecret, Name: name,
		Reason: "the secret " + name + " is missing or cannot be read: put it, and the run goes on",
	}
}

// HeldByOverlap is what a run waits for while an earlier one of its schedule has not ended; NilID where
// nobody looked which.
func HeldByOverlap(schedule string, ahead ID) *HeldBy {
	which := ""
	if !ahead.IsNil() {
		which = ", " + ahead.String() + ","
	}
	return &HeldBy{
		Kind: HeldOverlap, Name: schedule,
		Reason: "an earlier run of the schedule " + schedule + which + " has not ended",
	}
}

// HeldByCheckpoint is what a run waits for while an earlier one of its checkpoint key has not ended;
// NilID where nobody looked which.
func HeldByCheckpoint(key string, ahead ID) *HeldBy {
	which := ""
	if !ahead.IsNil() {
		which = ", " + ahead.String() + ","
	}
	return &HeldBy{
		Kind: HeldCheckpoint, Name: key,
		Reason: "an earlier run of the checkpoint key " + key + which + " has not ended",
	}
}

// Outcome of an attempt. The numbers are stored.
type Outcome int

// The outcomes.
const (
	OutcomeSucceeded   Outcome = 1
	OutcomeFailed      Outcome = 2
	OutcomeInterrupted Outcome = 3 // the server ended it, not the job
	OutcomeCancelled   Outcome = 4
)

var outcomeNames = []string{"", "succeeded", "failed", "interrupted", "cancelled"}

func (o Outcome) String() string {
	if o <= 0 || int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

// MarshalText gives the name of the outcome.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Attempt is one execution of a run, as it is kept.
type Attempt struct {
	Number     int
	Version    int
	StartedAt  Time
	FinishedAt Time    // zero while it runs
	Outcome    Outcome // zero while it runs
	Slices     int     // requests made one after another; 1 where it never went on
	Error      *Failure
	HTTPStatus int    // 0: none
	ExitCode   int    // -1: none
	OutputTail string // valid UTF-8
	Decision   *Decision
}

// Decision says why an attempt ended as it did and what came of it.
type Decision struct {
	Action        string `json:"action"` // succeed | retry | rerun | fail | cancel
	By            string `json:"by"`     // "job rule 2", "policy NAME rule 1", "otherwise", "max_attempts", ...
	Reason        string `json:"reason"`
	NextAttemptAt Time   `json:"next_attempt_at"`
}

// Keys say with which other runs of its job a run shares a limit. nil: the limit does not apply
// where it has a key.
type Keys struct {
	Concurrency, Rate *string
	// Checkpoint: the runs of a key go on from one checkpoint, one after another.
	Checkpoint *string
}

// Folded counts the runs that were not made because this one stood (contract 9, unique), where
// nobody was there to be told: of a chain or a door.
type Folded struct {
	Count   int     `json:"count"`
	Trigger Trigger `json:"trigger"` // of the last one
	By      string  `json:"by"`      // the run it would have followed, or the delivery; "": not known
	At      Time    `json:"at"`
}
