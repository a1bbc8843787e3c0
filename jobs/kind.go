package jobs

import (
	"context"
	"errors"
	"io"
	"time"
)

// Causes with which an attempt's context ends; context.Cause tells which.
var (
	ErrTimeout   = errors.New("the attempt's time is up")
	ErrCancelled = errors.New("the run was cancelled")
	ErrShutdown  = errors.New("the server is stopping")
)

// Kind executes attempts. Implementations know nothing of stores, retries or states.
type Kind interface {
	// Run executes one attempt and returns when all of it is over: its connection closed, its
	// processes gone. When ctx ends it stops at once if it can, else within its own grace; when
	// call.Kill is closed it stops without grace. It never panics on account of the job.
	Run(ctx context.Context, call *Call) Report
}

// Call is what one attempt is given.
type Call struct {
	Spec          Spec
	Run           ID
	Job           string
	Operation     ID
	Number        int       // of the execution, from 1
	Attempt       int       // among those that use up MaxAttempts
	MaxAttempts   int       // the run's own, else the job's
	Deadline      time.Time // ctx carries it too, with cause ErrTimeout
	ScheduledFor  Time
	CatchUp       bool
	CorrelationID string
	Traceparent   string
	Payload       Raw
	CallbackURL   string // of this run; "" where the server has none
	CallbackToken string

	Kill <-chan struct{} // closed: no more grace
	Log  io.Writer       // what the attempt prints; never fails, never blocks for long
}

// Report is what an attempt left behind.
type Report struct {
	Failure *Failure // nil: it succeeded, unless Stopped

	// Stopped is set where the server ended the attempt before it ended itself: one of
	// ErrTimeout, ErrCancelled, ErrShutdown. Failure may then hold what came out, for the record.
	Stopped error

	Result          Raw  // valid JSON up to MaxResult, byte for byte; nil: null
	ResultTruncated bool // it was larger: Result is nil

	HTTPStatus int // 0: none
	ExitCode   int // -1: none
	OutputTail string

	// What the job itself said of another try.
	Retryable       *bool
	RetryAfter      *time.Duration
	RetryAfterFloor time.Duration // Retry-After of a 429 or 503, already capped at 1 h
	Notes           []string      // such as "Retry-After unreadable: ..." ; they end up in the decision's reason
}
