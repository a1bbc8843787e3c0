package jobs

import (
	"errors"
	"fmt"
	"time"
)

// Signal is what the end of an attempt says about what it called.
type Signal struct {
	Kind       FailureKind // "": it succeeded
	HTTPStatus int         // 0: none
	ExitCode   int         // -1: none
	Retryable  bool        // the job said that it is worth another try
	Ended      bool        // we ended it: it says nothing
	Taken      bool        // it has been taken on, by an answer: how it ends is told then
	Void       bool        // nothing was executed: as if it had not started
	RetryAfter time.Duration
	// Started is when the attempt did: one from before a breaker opened or closed says nothing of
	// what is now. Zero: not known, it counts.
	Started Time
}

// SignalOf reads the report of an attempt.
func SignalOf(r *Report) Signal {
	s := Signal{HTTPStatus: r.HTTPStatus, ExitCode: r.ExitCode, RetryAfter: r.RetryAfterFloor}
	switch {
	case errors.Is(r.Stopped, ErrTimeout):
		s.Kind = FailTimeout
	case r.Stopped != nil:
		s.Ended = true
	case r.Failure != nil:
		s.Kind = r.Failure.Kind
		// As in Decide: a wait alone asks for another try too.
		s.Retryable = r.RetryAfter != nil
		if r.Retryable != nil {
			s.Retryable = *r.Retryable
		}
	default:
		s.Taken = r.Accepted
	}
	return s
}

// hearing is what a breaker makes of a signal.
type hearing int

const (
	neutral  hearing = iota
	good             // ends a row of errors, closes what is probed
	answered         // closes what is probed
	passing          // counts
)

// hearing of a host asks only whether it is there: any answer but 503 and 429 says so.
func (s Signal) hearing(host bool) hearing {
	lost := s.Kind == FailConnection || s.Kind == FailDNS
	switch {
	case s.Ended, s.Void:
		return neutral
	case s.Kind == "" && (host || !s.Taken):
		return good
	case host && (lost || s.HTTPStatus == 503):
		return passing
	case host && s.HTTPStatus != 0 && s.HTTPStatus != 429:
		return good
	case host:
		return neutral
	case lost, s.Kind == FailTimeout, s.Retryable, s.HTTPStatus/100 == 5,
		s.Kind == FailExit && s.ExitCode == exitPassing:
		return passing
	case s.HTTPStatus != 0 && s.HTTPStatus != 429 && s.HTTPStatus < 500:
		return answered
	}
	return neutral
}

// exitPassing is EX_TEMPFAIL of sysexits.h.
const exitPassing = 75

// String is what a person reads of it.
func (s Signal) String() string {
	switch {
	case s.Kind == "":
		return "success"
	case s.HTTPStatus != 0 && s.Kind == FailHTTP:
		return fmt.Sprintf("HTTP %d", s.HTTPStatus)
	case s.Kind == FailExit:
		return fmt.Sprintf("exit %d", s.ExitCode)
	case s.Kind == FailReported:
		return "an error that the job reported"
	}
	return string(s.Kind)
}
