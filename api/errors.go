package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// problemKind is a sort of error: the last part of its type, its status and its title.
type problemKind struct {
	name   string
	status int
	title  string
}

// Kinds of problems. Their type is problemPrefix and the name.
const problemPrefix = "urn:nightshift:problem:"

// problemBlank is the type of what is no call at all, and of connections past the bound.
const problemBlank = "about:blank"

var (
	probSyntax       = problemKind{"not-json", 400, "The body is not JSON"}
	probRequest      = problemKind{"bad-request", 400, "The request is malformed"}
	probUnauthorized = problemKind{"unauthorized", 401, "A valid token is needed"}
	probSignature    = problemKind{"bad-signature", 401, "The door does not open to this"}
	probForbidden    = problemKind{"forbidden", 403, "The token does not allow this"}
	probOrigin       = problemKind{"foreign-origin", 403, "Pages of other sites may not call"}
	probNotFound     = problemKind{"not-found", 404, "There is no such thing"}
	probMethod       = problemKind{"method-not-allowed", 405, "The method is not allowed here"}
	probSlow         = problemKind{"timeout", 408, "The body came too slowly"}
	probExists       = problemKind{"exists", 409, "It exists already"}
	probOver         = problemKind{"over", 409, "The attempt is over"}
	probState        = problemKind{"state", 409, "Not possible in this state"}
	probSet          = problemKind{"other-set", 409, "It belongs to another set"}
	probNamed        = problemKind{"named", 409, "Others name it"}
	probInJob        = problemKind{"in-job", 409, "It stands in the document of a job"}
	probKey          = problemKind{"key-conflict", 409, "The idempotency key was used otherwise"}
	probUnique       = problemKind{"unique-conflict", 409, "A run of its kind stands"}
	probStale        = problemKind{"stale", 412, "It was changed meanwhile"}
	probTooLarge     = problemKind{"too-large", 413, "The body is too large"}
	probEncoding     = problemKind{"content-encoding", 415, "The body must not be compressed"}
	probHost         = problemKind{"wrong-host", 421, "This server does not answer for that host"}
	probInvalid      = problemKind{"invalid", 422, "The request is not valid"}
	probOverload     = problemKind{"overload", 429, "Too much at once"}
	probTooMany      = problemKind{"too-many-runs", 429, "Too many runs have not ended"}
	probInternal     = problemKind{"internal", 500, "The server failed"}
	probBusy         = problemKind{"busy", 503, "The database is locked by another process"}
	probUnknown      = problemKind{"outcome-unknown", 503, "Whether it was done is unknown"}
	probShut         = problemKind{"door-shut", 503, "The door's secret is not set"}
	probStopping     = problemKind{"stopping", 503, "The server is stopping"}
	probNotReady     = problemKind{"not-ready", 503, "The server takes no work"}
	probFull         = problemKind{"disk-full", 507, "The disk is full"}
)

// problemKinds are all of them, for the description.
var problemKinds = []problemKind{
	probSyntax, probRequest, probUnauthorized, probSignature, probForbidden, probOrigin, probNotFound, probMethod,
	probSlow, probExists, probOver, probState, probSet, probNamed, probInJob, probKey, probUnique, probStale, probTooLarge, probEncoding, probHost,
	probInvalid, probOverload, probTooMany, probInternal, probBusy, probUnknown, probShut, probStopping, probNotReady,
	probFull,
}

// problem is an error with the answer it gives.
type problem struct {
	kind       problemKind
	detail     string
	faults     []jobs.Fault
	retryAfter time.Duration
	allow      string     // of a 405
	state      jobs.State // of over: of the run
	run        jobs.ID    // with which it conflicts; nil: no one run is the reason
	until      jobs.Until // of unique-conflict: until when that run stands
}

func (p *problem) Error() string { return p.kind.name + ": " + p.detail }

// view is what the caller gets.
func (p *problem) view() wire.Problem {
	view := wire.Problem{
		Type: problemPrefix + p.kind.name, Title: p.kind.title, Status: p.kind.status,
		Detail: p.detail, Errors: p.faults, Run: p.run, UniqueUntil: p.until,
	}
	if p.state != 0 {
		view.State = p.state.String()
	}
	return view
}

func refuse(kind problemKind, format string, args ...any) *problem {
	return &problem{kind: kind, detail: fmt.Sprintf(format, args...)}
}

// fault is a 422 with one fault.
func fault(location, format string, args ...any) *problem {
	return invalid([]jobs.Fault{{Location: location, Message: fmt.Sprintf(format, args...)}})
}

func invalid(faults []jobs.Fault) *problem {
	return &problem{kind: probInvalid, detail: summary(faults), faults: faults}
}

// summary is the first fault, and how many more there are.
func summary(faults []jobs.Fault) string {
	if len(faults) == 0 {
		return ""
	}
	text := faults[0].Message
	if at := faults[0].Location; at != "" {
		text = at + ": " + text
	}
	if more := len(faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// within gives the faults of an input their places in the call: place is body or query.
func within(place string, err error) error {
	var large *jobs.TooLargeError
	if errors.As(err, &large) {
		return tooLarge([]jobs.Fault{{
			Location: at(place, large.Location),
			Message:  fmt.Sprintf("want at most %d bytes, got %d", large.Limit, large.Size),
		}})
	}
	var bad *jobs.InvalidError
	if !errors.As(err, &bad) {
		return err
	}
	faults := make([]jobs.Fault, len(bad.Faults))
	for i, f := range bad.Faults {
		faults[i] = jobs.Fault{Location: at(place, f.Location), Message: f.Message}
	}
	return invalid(faults)
}

func at(place, location string) string {
	switch {
	case location == "":
		return place
	case location[0] == '[':
		return place + location
	}
	return place + "." + location
}

// roomAfter is when it is worth asking again whether there is room for another run.
const roomAfter = 10 * time.Second

// problemOf is the only mapping of errors to statuses. What it does not know is the server's
// fault: id names the line in the log that tells it.
func (s *Server) problemOf(err error) *problem {
	var (
		p       *problem
		syntax  *jobs.SyntaxError
		bad     *jobs.InvalidError
		key     *store.KeyConflict
		unique  *store.UniqueConflict
		named   *store.NamedError
		late    *store.OverError
		many    *store.TooManyError
		full    *store.FullError
		tooBig  *http.MaxBytesError
		fromWeb *echo.HTTPError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &syntax):
		return refuse(probSyntax, "line %d, column %d: %s", syntax.Line, syntax.Column, syntax.Msg)
	case errors.As(err, &bad):
		return invalid(bad.Faults)
	case errors.As(err, &key):
		return &problem{kind: probKey, detail: key.Error(), run: key.Run}
	case errors.As(err, &unique):
		return &problem{
			kind: probUnique, detail: unique.Error(), run: unique.Run, until: jobs.UntilOf(unique.Until),
		}
	case errors.As(err, &late):
		return over(late)
	case errors.As(err, &many):
		return &problem{kind: probTooMany, retryAfter: roomAfter, detail: many.Error() + ": nothing was made, repeat the call " +
			"when some have; the server's --max-unfinished is that bound"}
	case errors.As(err, &named):
		return refuse(probNamed, "%s", named.Error())
	case errors.Is(err, store.ErrSet):
		return refuse(probSet, "%s", err.Error())
	case errors.As(err, &tooBig):
		return refuse(probTooLarge, "at most %d bytes are taken here", tooBig.Limit)
	case errors.Is(err, store.ErrUnknown):
		return &problem{kind: probUnknown, retryAfter: time.Second, detail: "the server restarts to " +
			"find out; repeat the call, an enqueue with the same Idempotency-Key"}
	case errors.As(err, &full):
		return refuse(probFull, "%s; nothing was written; reading goes on", full.Why)
	case errors.Is(err, store.ErrFull):
		return refuse(probFull, "nothing was written; reading goes on")
	case errors.Is(err, store.ErrBusy):
		return &problem{kind: probBusy, retryAfter: time.Second, detail: "nothing was written; try again"}
	case errors.Is(err, store.ErrClosed):
		return &problem{kind: probStopping, retryAfter: 5 * time.Second, detail: "nothing was written"}
	case errors.Is(err, store.ErrNotFound):
		return refuse(probNotFound, "it does not exist, or the token does not reach it")
	case errors.Is(err, store.ErrExists):
		return refuse(probExists, "use PUT to replace it")
	case errors.Is(err, store.ErrStale):
		return refuse(probStale, "the If-Match or If-None-Match of the call does not hold for what stands now")
	case errors.Is(err, store.ErrState):
		return refuse(probState, "what the call names is not in a state that allows it")
	case errors.As(err, &fromWeb):
		return ofEcho(fromWeb)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(probSlow, "the body did not come whole in time")
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{kind: probOverload, retryAfter: time.Second, detail: "it took too long"}
	}
	id := rand.Text()[:12]
	s.log.Error("call failed", "id", id, "error", err)
	return refuse(probInternal, "the log of the server tells more under %s", id)
}

// ofEcho maps what the router itself refuses.
func ofEcho(err *echo.HTTPError) *problem {
	switch err.Code {
	case http.StatusNotFound:
		return refuse(probNotFound, "no route has this path; GET /openapi.json lists them")
	case http.StatusMethodNotAllowed:
		return refuse(probMethod, "see the Allow header")
	case http.StatusRequestEntityTooLarge:
		return refuse(probTooLarge, "it is too large")
	}
	return refuse(probRequest, "it cannot be read")
}

// onError writes the answer of a call that failed.
func (s *Server) onError(err error, c echo.Context) {
	if c.Response().Committed {
		return // a stream that was cut off; its reader sees that
	}
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		return // nobody is there any more
	}
	s.writeProblem(c, s.problemOf(err))
}

func (s *Server) writeProblem(c echo.Context, p *problem) {
	h := c.Response().Header()
	switch p.kind {
	case probUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="nightshift"`)
	case probMethod:
		if p.allow != "" {
			h.Set("Allow", p.allow)
		}
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(p.retryAfter.Seconds()))))
	}
	body := p.view()
	writeJSON(c, p.kind.status, "application/problem+json", &body)
}

// recovered turns a panic of a handler into a 500, and ends the connection where the answer
// has begun.
func (s *Server) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			id := rand.Text()[:12]
			s.log.Error("call panicked", "id", id, "panic", fmt.Sprint(cause),
				"route", c.Path(), "stack", string(debug.Stack()))
			if c.Response().Committed {
				panic(http.ErrAbortHandler)
			}
			err = refuse(probInternal, "the log of the server tells more under %s", id)
		}()
		return next(c)
	}
}
