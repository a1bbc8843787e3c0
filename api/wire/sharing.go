package wire

import "nightshift/jobs"

// MaxCounted is up to which runs that wait in a queue or for a dependency are counted.
const MaxCounted = 10_000

// Queue is what runs wait in, as its document says it, and what is in it.
type Queue struct {
	Name        string    `json:"name"`
	Concurrency *int      `json:"concurrency" doc:"Attempts under way of all its jobs together; null: no limit"`
	Paused      bool      `json:"paused" doc:"Nothing of it starts, retries included"`
	PauseNote   string    `json:"pause_note,omitempty" doc:"Why it is paused"`
	Running     int       `json:"running" doc:"Attempts under way, and runs that wait for their callback"`
	Queued      int       `json:"queued" doc:"Runs that are due and have not started, counted up to 10,000"`
	OldestDueAt jobs.Time `json:"oldest_due_at" doc:"When the first of these was due; null: there are none"`
	Jobs        []string  `json:"jobs" doc:"Jobs that name it and that the token reaches; of the first 100 in all"`
	Set         string    `json:"set,omitempty" doc:"The set of the apply that holds it; left out: none"`
	CreatedAt   jobs.Time `json:"created_at" doc:"Of its document; without one, when it was first named"`
	UpdatedAt   jobs.Time `json:"updated_at"`
}

// Queues is a page of queues, newest first.
type Queues struct {
	Items []Queue `json:"items"`
	Next  *string `json:"next"`
	Limit int     `json:"limit"`
}

// Dependency is something that runs share, as it counts now, and its state.
type Dependency struct {
	Name string `json:"name"`
	Kind string `json:"kind" enum:"named,host" doc:"host: the host:port of webhooks"`

	Concurrency *int          `json:"concurrency" doc:"Attempts under way that use it; null: no limit. 16 of a host that says nothing else"`
	Rate        *jobs.Rate    `json:"rate" doc:"Bounds how many attempts start in any window of that length; null: no limit"`
	Breaker     *jobs.Breaker `json:"breaker" doc:"Holds it while it keeps failing; null: none"`

	Paused      bool      `json:"paused" doc:"No attempt that uses it starts"`
	PauseNote   string    `json:"pause_note,omitempty" doc:"Why it is paused"`
	State       string    `json:"state" enum:"closed,open,probing" doc:"Of the breaker: calls flow, are held, or one run probes"`
	Reason      *string   `json:"reason" doc:"What opened it; null: it is closed"`
	ErrorsInRow int       `json:"errors_in_row" doc:"Passing errors in a row"`
	OpenedAt    jobs.Time `json:"opened_at" doc:"null: it is closed"`
	NextProbeAt jobs.Time `json:"next_probe_at" doc:"From when on one run may start, to probe it; null: it is not open"`
	Probe       jobs.ID   `json:"probe" doc:"The run that probes it; null: none, or one that the token does not reach"`
	HeldUntil   jobs.Time `json:"held_until" doc:"As a Retry-After asked; null: none holds"`

	InUse        int       `json:"in_use" doc:"Attempts under way that use it, and runs that wait for their callback"`
	Waiting      int       `json:"waiting" doc:"Queued runs that it holds, counted up to 10,000"`
	WaitingSince jobs.Time `json:"waiting_since" doc:"When the first of these was due; null: there are none"`
	Jobs         []string  `json:"jobs" doc:"Jobs that name it, or write it into the URL of a webhook, and that the token reaches; of the first 100 in all"`
	Set          string    `json:"set,omitempty" doc:"The set of the apply that holds it; left out: none"`
	CreatedAt    jobs.Time `json:"created_at" doc:"Of its document; without one, when it was first named"`
	UpdatedAt    jobs.Time `json:"updated_at"`
}

// Dependencies is a page of dependencies, newest first.
type Dependencies struct {
	Items []Dependency `json:"items"`
	Next  *string      `json:"next"`
	Limit int          `json:"limit"`
}

// Trip is the body of a trip; all of it may be left out.
type Trip struct {
	For  *jobs.Duration `json:"for,omitempty" doc:"Until the first probe, 30d at most; left out: the open_for of its breaker"`
	Note string         `json:"note,omitempty" maxLength:"1024"`
}
