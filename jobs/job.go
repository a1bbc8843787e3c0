package jobs

import (
	"reflect"
	"time"
)

// Defaults of a job document (contract 3.1).
const (
	DefaultQueue          = "default"
	DefaultMaxAttempts    = 8
	DefaultWebhookTimeout = 5 * time.Minute
	DefaultScriptTimeout  = 6 * time.Hour
	DefaultMailTimeout    = time.Minute
	DefaultGrace          = 10 * time.Second
	MaxTimeout            = 24 * time.Hour
	DefaultRetainDone     = 7 * 24 * time.Hour
	DefaultRetainFailed   = 90 * 24 * time.Hour

	DefaultCallbackTimeout = 24 * time.Hour
	DefaultCheckpointTTL   = 24 * time.Hour
)

// Bounds on what is kept (contract 2).
const (
	MaxPayload = 256 << 10
	MaxResult  = 64 << 10
	MaxDepth   = 64

	MaxCheckpoint       = 256 << 10
	MaxHeaderCheckpoint = 4 << 10 // of what goes along in a header, and of what a slice may save
	MaxContinues        = 10_000  // of an operation
)

// Kinds of job.
const (
	KindWebhook = "webhook"
	KindScript  = "script"
	KindMail    = "mail"
	KindGroup   = "group"
)

// Job is a registered function: what to execute and its policies, as the document says it,
// and its state. In a document null is the same as left out.
type Job struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`

	Webhook *Webhook `json:"webhook,omitempty"` // exactly one of the four
	Script  *Script  `json:"script,omitempty"`
	Mail    *Mail    `json:"mail,omitempty"`
	Group   *Group   `json:"group,omitempty"`

	Payload   Raw        `json:"payload,omitempty"` // used where a run brings none; nil: {}
	Timeout   *Duration  `json:"timeout,omitempty"` // one attempt; nil: by kind
	Queue     string     `json:"queue,omitempty"`
	Priority  int        `json:"priority,omitempty"` // -100..100, higher first
	Retry     Retry      `json:"retry"`
	Schedules []Schedule `json:"schedules,omitempty"`
	Inbound   []Door     `json:"inbound,omitempty"`
	OnSuccess []Chain    `json:"on_success,omitempty"`

	Concurrency  *Concurrency `json:"concurrency,omitempty"`
	Rate         *Rate        `json:"rate,omitempty"`
	Unique       *Unique      `json:"unique,omitempty"`
	Dependencies []string     `json:"dependencies,omitempty"`

	Checkpoint *Checkpointing `json:"checkpoint,omitempty"`

	LongAfter        *Duration `json:"long_after,omitempty"`         // event run.long past it; nil: never
	ResolveOnSuccess bool      `json:"resolve_on_success,omitempty"` // the next success resolves earlier failures

	Retain Retain `json:"retain"`

	// State: answered, ignored when a document brings it.
	Version   int    `json:"version"`
	Revision  int64  `json:"-"` // grows with each change of the document; the ETag
	Paused    bool   `json:"paused"`
	PauseNote string `json:"pause_note,omitempty"`
	Set       string `json:"set,omitempty"` // the set of the apply that made it
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// Webhook is an HTTP endpoint to call. URL, headers, body and signing secrets are templates:
// texts that may hold {{ expression }}. What is filled into the path and the query of the URL is
// percent-encoded and stays within its segment; {{ secrets.NAME }} in the path may be several, so its
// slashes stay.
type Webhook struct {
	URL               string            `json:"url"`
	Method            string            `json:"method,omitempty"` // POST
	Headers           map[string]string `json:"headers,omitempty"`
	Body              Raw               `json:"body,omitempty"`               // a text, or JSON; nil: the payload as it came
	Success           string            `json:"success,omitempty"`            // an expression; "": http.status in 200..299
	SigningSecret     Texts             `json:"signing_secret,omitempty"`     // one, or two while one is rotated
	FollowRedirects   bool              `json:"follow_redirects,omitempty"`   // 307 and 308, 3 at most
	NightshiftHeaders *bool             `json:"nightshift_headers,omitempty"` // nil: true
	Completion        string            `json:"completion,omitempty"`         // response | callback; "": response
	HeartbeatTimeout  *Duration         `json:"heartbeat_timeout,omitempty"`  // of a callback: the longest silence; nil: any
}

// What completion may say.
const (
	CompletionResponse = "response"
	CompletionCallback = "callback"
)

// CallsBack reports whether an answer 202 means that the receiver has taken the work on.
func (w *Webhook) CallsBack() bool { return w != nil && w.Completion == CompletionCallback }

// Script is a program to run.
type Script struct {
	Source      string            `json:"source,omitempty"` // the text, or
	Path        string            `json:"path,omitempty"`   // a file below the server's scripts folder
	Interpreter []string          `json:"interpreter,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Dir         string            `json:"dir,omitempty"`    // "": an empty folder of its own
	User        string            `json:"user,omitempty"`   // run as, where the server may; "": the server's --script-user, else its own
	Memory      *Size             `json:"memory,omitempty"` // resident memory of the whole tree; nil: no limit
	Grace       *Duration         `json:"grace,omitempty"`  // between SIGTERM and SIGKILL; nil: 10s
}

// Mail is a message to send. All its fields are templates.
type Mail struct {
	To      []string `json:"to"`
	CC      []string `json:"cc,omitempty"`
	From    string   `json:"from,omitempty"` // "": the server's --mail-from
	Subject string   `json:"subject"`
	Body    string   `json:"body"`
}

// Chain makes a run of another job when a run has succeeded (contract 3.1, on_success).
type Chain struct {
	Job     string `json:"job"`
	If      string `json:"if,omitempty"`      // an expression; "": always
	Payload Raw    `json:"payload,omitempty"` // a template; nil: the result
}

// Concurrency bounds how many runs of a job are under way at once; those past it wait.
type Concurrency struct {
	Limit int    `json:"limit"`
	Key   string `json:"key,omitempty"` // an expression: the runs of each key are counted alone
}

// Checkpointing says how long what operations have saved is kept, and who shares it (contract 5).
type Checkpointing struct {
	TTL *Duration `json:"ttl,omitempty"` // after the last write, the end of the run or of the failure; nil: 24h
	Key string    `json:"key,omitempty"` // an expression: the runs of each key go on from one checkpoint, one after another
}

// Unique folds runs that mean the same into one (contract 9).
type Unique struct {
	Key        string `json:"key,omitempty"`         // an expression; "": all runs of the job are alike
	While      string `json:"while,omitempty"`       // queued | active | a duration, from creation; "": active
	OnConflict string `json:"on_conflict,omitempty"` // existing | reject | replace; "": existing
}

// What unique may say.
const (
	WhileQueued      = "queued"
	WhileActive      = "active"
	ConflictExisting = "existing"
	ConflictReject   = "reject"
	ConflictReplace  = "replace"
)

// Door lets a sender that signs what it sends make runs (contract 3.3).
type Door struct {
	Name   string `json:"name"`
	Verify string `json:"verify"` // github | stripe | standard-webhooks | secret
	Secret string `json:"secret"` // a template that knows secrets
	If     string `json:"if,omitempty"`
	Key    string `json:"key,omitempty"` // an expression; "": the sender's delivery or event id
}

// Retry says when a failed attempt is tried again. Nil fields fall to the policy.
type Retry struct {
	Policy      string    `json:"policy,omitempty"` // the named policy to start from
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
func (j *Job) Kind() string { return j.Spec().Kind() }

// TimeoutOf is the deadline of one attempt.
func (j *Job) TimeoutOf() time.Duration {
	if j.Timeout != nil {
		return time.Duration(*j.Timeout)
	}
	switch j.Kind() {
	case KindScript:
		return DefaultScriptTimeout
	case KindMail:
		return DefaultMailTimeout
	}
	if j.Webhook.CallsBack() {
		return DefaultCallbackTimeout
	}
	return DefaultWebhookTimeout
}

// CheckpointTTL is how long a checkpoint is kept that nothing unfinished needs.
func (j *Job) CheckpointTTL() time.Duration {
	if j.Checkpoint == nil || j.Checkpoint.TTL == nil {
		return DefaultCheckpointTTL
	}
	return j.Checkpoint.TTL.Std()
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
	Mail    *Mail    `json:"mail,omitempty"`
	Group   *Group   `json:"group,omitempty"`
}

// Kind is the kind of the execution.
func (s Spec) Kind() string {
	switch {
	case s.Script != nil:
		return KindScript
	case s.Mail != nil:
		return KindMail
	case s.Group != nil:
		return KindGroup
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

// Texts is a list of texts that a document may write as one text.
type Texts []string

// decodeJSON reads one text or a list of them.
func (t *Texts) decodeJSON(d *decoder) bool {
	list := []string{""}
	read := decoderOf(reflect.TypeFor[[]string]())
	v := reflect.ValueOf(&list).Elem()
	if d.peek() != '[' {
		read, v = decoderOf(reflect.TypeFor[string]()), v.Index(0)
	}
	ok := read(d, v)
	*t = list
	return ok
}

// MarshalJSON writes a single text as such.
func (t Texts) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return AppendJSONString(nil, t[0]), nil
	}
	return AppendJSON(nil, []string(t)), nil
}
