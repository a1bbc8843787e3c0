package jobs

import "time"

// Defaults of a job document (contract 3.1).
const (
	DefaultQueue          = "default"
	DefaultMaxAttempts    = 8
	DefaultWebhookTimeout = 5 * time.Minute
	DefaultScriptTimeout  = 6 * time.Hour
	DefaultGrace          = 10 * time.Second
	MaxTimeout            = 24 * time.Hour
	DefaultRetainDone     = 7 * 24 * time.Hour
	DefaultRetainFailed   = 90 * 24 * time.Hour
)

// Bounds on what is kept (contract 2).
const (
	MaxPayload = 256 << 10
	MaxResult  = 64 << 10
	MaxDepth   = 64
)

// Kinds of job.
const (
	KindWebhook = "webhook"
	KindScript  = "script"
)

// Job is a registered function: what to execute and its policies, as the document says it,
// and its state. In a document null is the same as left out.
type Job struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`

	Webhook *Webhook `json:"webhook,omitempty"` // exactly one of the two
	Script  *Script  `json:"script,omitempty"`

	Payload  Raw       `json:"payload,omitempty"` // used where a run brings none; nil: {}
	Timeout  *Duration `json:"timeout,omitempty"` // one attempt; nil: by kind
	Queue    string    `json:"queue,omitempty"`
	Priority int       `json:"priority,omitempty"` // -100..100, higher first
	Retry    Retry     `json:"retry"`
	Retain   Retain    `json:"retain"`

	// State: answered, ignored when a document brings it.
	Version   int    `json:"version"`
	Revision  int64  `json:"-"` // grows with each change of the document; the ETag
	Paused    bool   `json:"paused"`
	PauseNote string `json:"pause_note,omitempty"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// Webhook is an HTTP endpoint to call.
type Webhook struct {
	URL               string            `json:"url"`
	Method            string            `json:"method,omitempty"` // POST
	Headers           map[string]string `json:"headers,omitempty"`
	NightshiftHeaders *bool             `json:"nightshift_headers,omitempty"` // nil: true
}

// Script is a program to run.
type Script struct {
	Source      string            `json:"source,omitempty"` // the text, or
	Path        string            `json:"path,omitempty"`   // a file below the server's scripts folder
	Interpreter []string          `json:"interpreter,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Dir         string            `json:"dir,omitempty"`   // "": an empty folder of its own
	Grace       *Duration         `json:"grace,omitempty"` // between SIGTERM and SIGKILL; nil: 10s
}

// Retry says when a failed attempt is tried again. Nil fields fall to the policy.
type Retry struct {
	MaxAttempts *int      `json:"max_attempts,omitempty"`
	MaxElapsed  *Duration `json:"max_elapsed,omitempty"`
	Backoff     *Backoff  `json:"backoff,omitempty"`
	Rules       []Rule    `json:"rules,omitempty"`
	Otherwise   string    `json:"otherwise,omitempty"`   // retry | fail
	Interrupted string    `json:"interrupted,omitempty"` // rerun | fail; "": rerun
}

// Backoff is the wait before the next attempt: min(max, base × factor^(n-1)), then jitter.
type Backoff struct {
	Kind   string    `json:"kind,omitempty"` // exponential | fixed
	Base   *Duration `json:"base,omitempty"`
	Factor *float64  `json:"factor,omitempty"`
	Max    *Duration `json:"max,omitempty"`
	Jitter *float64  `json:"jitter,omitempty"` // j draws from [1-j, 1+j]
}

// Rule is an expression over an error, and what to do when it holds (contract 4).
type Rule struct {
	If          string `json:"if"`
	Then        string `json:"then"`                   // retry | fail
	After       string `json:"after,omitempty"`        // a duration or an expression that gives one
	MaxAttempts *int   `json:"max_attempts,omitempty"` // a budget of its own
	Reason      string `json:"reason,omitempty"`
}

// Retain is how long ended runs are kept. Failed counts from when the failure was dealt with.
type Retain struct {
	Succeeded *Duration `json:"succeeded,omitempty"`
	Cancelled *Duration `json:"cancelled,omitempty"`
	Failed    *Duration `json:"failed,omitempty"`
}

// Retention is Retain with the defaults filled in.
type Retention struct{ Succeeded, Cancelled, Failed time.Duration }

// Durations fills in the defaults.
func (r Retain) Durations() Retention {
	or := func(d *Duration, def time.Duration) time.Duration {
		if d == nil {
			return def
		}
		return d.Std()
	}
	return Retention{
		or(r.Succeeded, DefaultRetainDone), or(r.Cancelled, DefaultRetainDone), or(r.Failed, DefaultRetainFailed),
	}
}

// Kind is the kind of the job: which of its executions is set.
func (j *Job) Kind() string {
	if j.Script != nil {
		return KindScript
	}
	return KindWebhook
}

// TimeoutOf is the deadline of one attempt.
func (j *Job) TimeoutOf() time.Duration {
	switch {
	case j.Timeout != nil:
		return time.Duration(*j.Timeout)
	case j.Kind() == KindScript:
		return DefaultScriptTimeout
	}
	return DefaultWebhookTimeout
}

// QueueOf is the queue the job's runs wait in.
func (j *Job) QueueOf() string {
	if j.Queue == "" {
		return DefaultQueue
	}
	return j.Queue
}

// Spec is what a version pins: what is executed.
type Spec struct {
	Webhook *Webhook `json:"webhook,omitempty"`
	Script  *Script  `json:"script,omitempty"`
}

// Kind is the kind of the execution.
func (s Spec) Kind() string {
	if s.Script != nil {
		return KindScript
	}
	return KindWebhook
}

// Version is one version of a job, as it was saved.
type Version struct {
	Job       string `json:"job"`
	Version   int    `json:"version"`
	CreatedAt Time   `json:"created_at"`
	Spec
}
