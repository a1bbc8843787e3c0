package jobs

import "time"

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
	Queue       string

	Host            string // host:port that a webhook's URL named at enqueue; "": it is written out
	Payload         Raw
	Result          Raw // nil: none
	ResultTruncated bool

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
	ScheduledFor      Time
	StartedAt         Time // of the first attempt
	FinishedAt        Time
	CancelRequestedAt Time

	Counts   Counts
	Progress *Progress
	Error    *Failure // of the last attempt that failed

	RequeuedFrom ID
	RequeuedTo   ID

	Attempts []Attempt // only where one run is asked for
}

// Counts are what a run has used up (contract 3.2, Counting).
type Counts struct {
	Number  int            // executions so far, this one included while running
	Charged int            // failures charged to the job's max_attempts
	Budgets map[string]int // failures charged to a rule's own budget, by Rule.BudgetKey
	Deaths  int            // deaths of the server in a row, without an attempt ended otherwise
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
	HeldDisk    = "disk"
	HeldSecret  = "secret"
)

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
