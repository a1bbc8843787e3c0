package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Causes with which an attempt's context ends; StopCause tells which.
var (
	ErrTimeout   = errors.New("the attempt's time is up")
	ErrCancelled = errors.New("the run was cancelled")
	ErrShutdown  = errors.New("the server is stopping")

	// ErrReplaced is the ErrCancelled of a run that gives way to that of a newer tick.
	ErrReplaced = fmt.Errorf("a newer tick of its schedule took its place: %w", ErrCancelled)

	// ErrGivenUp is the ErrCancelled of a member that its group does not wait for any longer.
	ErrGivenUp = fmt.Errorf("its group gave it up: %w", ErrCancelled)
)

// StopCause is the one of these causes with which ctx has ended.
func StopCause(ctx context.Context) error {
	cause := context.Cause(ctx)
	for _, known := range []error{ErrReplaced, ErrGivenUp, ErrCancelled, ErrShutdown, ErrTimeout} {
		if errors.Is(cause, known) {
			return known
		}
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ErrShutdown
}

// Kind executes attempts. Implementations know nothing of stores, retries or states.
type Kind interface {
	// Run executes one attempt and returns when all of it is over: its connection closed, its
	// processes gone. When ctx ends it stops at once if it can, else within its own grace; when
	// call.Kill is closed it stops without grace. It never panics on account of the job.
	Run(ctx context.Context, call *Call) Report
}

// Call is what one attempt is given.
type Call struct {
	Spec          Spec // rendered: no template is left in it
	Fresh         bool // Spec was made for this attempt alone: a kind remembers nothing of it
	Run           ID
	Job           string
	Operation     ID
	Number        int       // of the execution, from 1
	Attempt       int       // among those that use up MaxAttempts
	MaxAttempts   int       // the run's own, else the job's
	Deadline      time.Time // ctx carries it too, with cause ErrTimeout
	ScheduledFor  Time
	CatchUp       bool // ScheduledFor was missed, and is made up for
	CorrelationID string
	Traceparent   string
	Payload       Raw
	// Results writes, of a merge, what has become of each member as a JSON array, in their order; nil: it
	// merges nothing.
	Results       func(io.Writer) error
	Checkpoint    Raw       // what the operation saved; nil: nothing
	Body          []byte    // what a webhook sends; nil: the payload as it came
	BodySecret    bool      // Body holds a secret: it goes to the URL's host alone
	Judge         Judgement // of a webhook's answer; nil: a status from 200 to 299 is success
	CallbackURL   string    // of this run; "" where the server has none
	CallbackToken string
	Continues     int // good slices of the operation so far

	// Say tells what the attempt says of itself while it is under way, by the lines of its output. It
	// does not wait for a disk; what it gives is wrong with it, "": it was taken. Nil: nobody listens.
	Say func(*Note) (wrong string)

	// Mask hides the secrets that Spec holds. What is kept of an attempt is masked when it is over;
	// a kind masks before it cuts a text or changes its white space, where half a secret could stay.
	Mask *Mask // nil: there are none

	Kill <-chan struct{} // closed: no more grace
	Log  io.Writer       // what the attempt prints; never fails, never blocks for long
}

// IdempotencyKey is what receivers drop duplicates by: the operation, from the first slice after
// another on with their number.
func (c *Call) IdempotencyKey() string {
	if c.Continues == 0 {
		return c.Operation.String()
	}
	return c.Operation.String() + "-" + strconv.Itoa(c.Continues)
}

// Until is ctx that ends when call.Kill is closed too, with cause ErrShutdown: of a kind that has no
// grace to take. It must be cancelled when the attempt is over.
func (c *Call) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.Kill != nil {
		go func() {
			select {
			case <-c.Kill:
				cancel(ErrShutdown)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// Answer is a webhook's answer, as the expression success sees it.
type Answer struct {
	Status  int
	Headers map[string]string // lower-case names
	Body    []byte            // what came of it, up to 1 MiB
}

// Judgement tells whether an answer is a success. An error is that of the expression: the attempt
// failed, and says so.
type Judgement func(Answer) (bool, error)

// Checker is a kind that knows, when a job is saved, what it cannot execute on this server.
type Checker interface {
	// Check gives what is wrong, located within the job's document, such as mail.from.
	Check(Spec) []Fault
}

// Report is what an attempt left behind.
type Report struct {
	Failure *Failure // nil: it succeeded, unless Stopped

	// Stopped is set where the server ended the attempt before it ended itself: one of
	// ErrTimeout, ErrCancelled, ErrShutdown. Failure may then hold what came out, for the record.
	Stopped error

	Result          Raw  // valid JSON up to MaxResult, byte for byte; nil: null
	ResultTruncated bool // it was larger: Result is nil

	// Checkpoint is what the operation's next attempt is to start from; nil: as it was. It is
	// dropped when the operation succeeds.
	Checkpoint Raw
	Progress   *Progress // the last the attempt has said; nil: as it was

	// Continue: a webhook has done a slice of its work and is to be called again, with Checkpoint.
	Continue bool
	// Accepted: a webhook of completion callback has taken the work on (202). The run waits until it
	// is told what came of it.
	Accepted bool

	HTTPStatus int // 0: none
	ExitCode   int // -1: none
	OutputTail string

	// What the job itself said of another try.
	Retryable       *bool
	RetryAfter      *time.Duration
	RetryAfterFloor time.Duration // Retry-After of a 429 or 503, already capped at 1 h
	Notes           []string      // such as "Retry-After unreadable: ..." ; they end up in the decision's reason
}
