package wire

import "nightshift/jobs"

// FailureRow is a run that ended failed, until somebody has dealt with it, or one that is tried again
// (contract 10).
type FailureRow struct {
	ID            jobs.ID   `json:"id" doc:"The run's"`
	JobType       string    `json:"job_type" doc:"The job's name"`
	ErrorType     string    `json:"error_type" doc:"The exception's class, as reported or read from a trace; else the kind"`
	ErrorKind     string    `json:"error_kind"`
	ErrorMessage  string    `json:"error_message" doc:"One line"`
	Retries       int       `json:"retries" doc:"Executions after the first"`
	Status        string    `json:"status" enum:"open,will_retry,requeued,resolved,ignored" doc:"open: nobody has dealt with it; will_retry: the run is retrying; requeued: a newer run stands in its place"`
	CreatedAt     jobs.Time `json:"created_at" doc:"When the run was made"`
	LastAttemptAt jobs.Time `json:"last_attempt_at" doc:"When its last attempt failed; null: none was made"`
	Fingerprint   string    `json:"fingerprint" doc:"Of job, kind, type and message without numbers and ids: failures that are alike have the same"`
	Note          *string   `json:"note" doc:"What was said when it was resolved or ignored"`
	ResolvedBy    *string   `json:"resolved_by" doc:"Who resolved or ignored it: a token, or the run that made it good; null: nobody"`
}

// Failures is a page of failures, newest first.
type Failures struct {
	Items []FailureRow `json:"items"`
	Next  *string      `json:"next"`
	Limit int          `json:"limit"`
}

// FailureDetail is one failure with all that is known of it.
type FailureDetail struct {
	FailureRow
	Payload       jobs.Raw      `json:"payload" doc:"Byte for byte as it came"`
	StackTrace    *string       `json:"stack_trace" doc:"As it was printed or reported; null: there was none"`
	Error         *jobs.Failure `json:"error" doc:"Of the last attempt that failed, with what was answered or how it ended"`
	DealtAt       jobs.Time     `json:"dealt_at" doc:"When it was resolved or ignored; null: it was not"`
	Until         jobs.Time     `json:"until" doc:"Of an ignored one: when it may be told of again; null: never"`
	NextAttemptAt jobs.Time     `json:"next_attempt_at" doc:"Of one that is tried again: when"`
	Attempts      []Attempt     `json:"attempts" doc:"Each execution, the first and the last hundred, with what was decided and why"`
	Chain         []Run         `json:"chain" doc:"The runs it was requeued from and to, oldest first, itself among them"`
}

// FailureGroup are failures that are alike.
type FailureGroup struct {
	Fingerprint  string    `json:"fingerprint"`
	JobType      string    `json:"job_type" doc:"The job's name"`
	ErrorKind    string    `json:"error_kind"`
	ErrorType    string    `json:"error_type"`
	ErrorMessage string    `json:"error_message" doc:"Of the newest"`
	Count        int       `json:"count" doc:"All there were, those that are no longer kept too"`
	Open         int       `json:"open" doc:"Those that nobody has dealt with, counted up to 10,000"`
	FirstAt      jobs.Time `json:"first_at" doc:"When the first was seen"`
	LastAt       jobs.Time `json:"last_at" doc:"When the newest was seen"`
	Status       string    `json:"status" enum:"open,resolved,ignored" doc:"resolved: none is open, and the next one opens it again; ignored: what comes is ignored too"`
	Until        jobs.Time `json:"until" doc:"Of an ignored one: it opens again then if more came; null: never"`
	LastRun      jobs.ID   `json:"last_run" doc:"The newest that is kept; null: none is"`
}

// FailureGroups is a page of them, newest first by when they were first seen.
type FailureGroups struct {
	Items []FailureGroup `json:"items"`
	Next  *string        `json:"next"`
	Limit int            `json:"limit"`
}

// Ignore is the body of a call that ignores a failure; all of it may be left out.
type Ignore struct {
	Note  string    `json:"note,omitempty" maxLength:"1024"`
	Until jobs.Time `json:"until,omitempty" doc:"Silent until then; left out: for good"`
}

// RequeueFailure is the body of a call that requeues a failure; all of it may be left out.
type RequeueFailure struct {
	Payload jobs.Raw `json:"payload,omitempty" doc:"In place of the run's own: a new operation"`
	Patch   jobs.Raw `json:"patch,omitempty" doc:"A merge patch (RFC 7396) of the run's own payload: a new operation. Null takes a member away"`
	Reset   bool     `json:"reset,omitempty" doc:"A new operation, though the payload stays"`
	Note    string   `json:"note,omitempty" maxLength:"1024"`
}

// FailureFilter says which failures an order is for: those for which all that is given holds.
type FailureFilter struct {
	Job         *string   `json:"job,omitempty"`
	ErrorType   *string   `json:"error_type,omitempty"`
	ErrorKind   *string   `json:"error_kind,omitempty"`
	Fingerprint *string   `json:"fingerprint,omitempty"`
	Status      *string   `json:"status,omitempty" enum:"open,requeued,resolved,ignored" doc:"open where left out"`
	Since       jobs.Time `json:"since,omitempty" doc:"Of runs made then or later"`
	Until       jobs.Time `json:"until,omitempty" doc:"Of runs made then or earlier"`
	Q           *string   `json:"q,omitempty" maxLength:"1024" doc:"Start of an id or correlation id, or part of the error's type or message"`
}

// Chosen says which failures an order is for, in one of three ways.
type Chosen struct {
	Filter *FailureFilter `json:"filter,omitempty" doc:"Those it holds for. Or ids, or all"`
	IDs    []jobs.ID      `json:"ids,omitempty" max:"10000" maxItems:"10000" doc:"These. Or filter, or all"`
	All    bool           `json:"all,omitempty" doc:"All that are open. Or filter, or ids"`
	DryRun bool           `json:"dry_run,omitempty" doc:"Answer how many there are and show a few, and change nothing"`
	Note   string         `json:"note,omitempty" maxLength:"1024"`
}

// RequeueFailures is an order to requeue many failures.
type RequeueFailures struct {
	Chosen
	Patch     jobs.Raw `json:"patch,omitempty" doc:"A merge patch (RFC 7396) of each payload: new operations. Null takes a member away"`
	Rate      *string  `json:"rate,omitempty" doc:"Their runs are due so many a second, minute or hour: 10/s, 30/m, 100/h; left out: all at once"`
	StopAfter *int     `json:"stop_after,omitempty" minimum:"1" doc:"As soon as that many of its runs have failed again the rest is called off; left out: never"`
}

// ResolveFailures is an order to resolve many failures.
type ResolveFailures struct {
	Chosen
}

// IgnoreFailures is an order to ignore many failures.
type IgnoreFailures struct {
	Chosen
	Until jobs.Time `json:"until,omitempty" doc:"Silent until then; left out: for good"`
}

// Ordered answers an order: it is on disk, and being carried out.
type Ordered struct {
	ID    jobs.ID `json:"id" doc:"To follow and to stop it by: /v1/requeues/ID"`
	Count int     `json:"count" doc:"How many failures it is for"`
}

// OrderTried answers an order that is only tried.
type OrderTried struct {
	Count   int           `json:"count" doc:"How many failures it would be for"`
	Samples []OrderSample `json:"samples" doc:"The first few of them"`
}

// OrderSample is what an order would do to one failure.
type OrderSample struct {
	ID     jobs.ID  `json:"id"`
	Job    string   `json:"job"`
	Before jobs.Raw `json:"before" doc:"Its payload"`
	After  jobs.Raw `json:"after" doc:"The payload of its requeue; null: it is not requeued"`
	Skip   *string  `json:"skip" doc:"Why it would be left as it is; null: it would not"`
}

// Order is how an order to deal with many failures stands.
type Order struct {
	ID        jobs.ID     `json:"id"`
	Action    string      `json:"action" enum:"requeue,resolve,ignore"`
	State     string      `json:"state" enum:"running,made,done,stopped" doc:"running: failures are still to be dealt with; made: all runs are made, and some have not ended; stopped: it was called off"`
	Reason    *string     `json:"reason" doc:"Why it was called off; null: it was not"`
	Count     int         `json:"count" doc:"How many failures it is for"`
	Done      int         `json:"done" doc:"Dealt with so far"`
	Skipped   int         `json:"skipped" doc:"Left as they were"`
	Skips     []OrderSkip `json:"skips" doc:"Why: of the first hundred of those"`
	Succeeded int         `json:"succeeded" doc:"Of its runs"`
	Failed    int         `json:"failed" doc:"Of its runs"`
	Cancelled int         `json:"cancelled" doc:"Of its runs"`
	Rate      *string     `json:"rate" doc:"As it was given; null: all at once"`
	StopAfter *int        `json:"stop_after" doc:"As it was given; null: never"`
	Note      *string     `json:"note"`
	CreatedAt jobs.Time   `json:"created_at"`
	EndedAt   jobs.Time   `json:"ended_at" doc:"When nothing of it was left to do; null: it is under way"`
}

// OrderSkip is a failure that an order has left as it was.
type OrderSkip struct {
	ID     jobs.ID `json:"id"`
	Reason string  `json:"reason"`
}
