package jobs

import "errors"

// ReportedFailure is the message of a failure that the job reported without one.
const ReportedFailure = "the job reported a failure"

// Add takes in what was said later: the last result and the last error count, but that what fail has
// said stays.
func (s *Said) Add(later *Said) {
	if later.Result != nil || later.Truncated {
		s.Result, s.Truncated = later.Result, later.Truncated
	}
	s.Complete = s.Complete || later.Complete
	if later.Error != nil && (!s.Failed() || later.Failed()) {
		s.Error = later.Error
	}
}

// Failed reports whether fail was said.
func (s *Said) Failed() bool { return s.Error != nil && s.Error.Fail }

// Ends reports whether complete or fail was said: the end of an attempt of completion callback.
func (s *Said) Ends() bool { return s.Complete || s.Failed() }

// Hear makes what an attempt has said of its outcome part of its report, now that it is over.
//
// What the server has stopped ends as the server says. Not so where the attempt calls back: complete and
// fail were acknowledged as its end, whatever its request came to; a cancel alone goes before them.
func (r *Report) Hear(s *Said, callsBack bool) {
	switch {
	case s == nil || s.Empty():
	case callsBack && s.Ends():
		r.replace(s)
	case r.Stopped != nil:
	case s.Failed(), s.Error != nil && r.Failure == nil:
		r.fail(s.Error)
	case s.Error != nil:
		r.explain(s.Error)
	case r.Failure == nil && (s.Result != nil || s.Truncated):
		r.Result, r.ResultTruncated = s.Result, s.Truncated
	}
}

// replace has the attempt end as it has said.
func (r *Report) replace(s *Said) {
	switch {
	case errors.Is(r.Stopped, ErrCancelled):
		return
	case r.Failure != nil:
		r.Notes = append(r.Notes, "its request: "+r.Failure.Message)
	case r.Stopped != nil:
		r.Notes = append(r.Notes, "its request: "+r.Stopped.Error())
	}
	r.Failure, r.Stopped = nil, nil
	r.Retryable, r.RetryAfter, r.RetryAfterFloor = nil, nil, 0
	if s.Failed() {
		r.fail(s.Error)
		return
	}
	r.Continue, r.Accepted = false, false
	r.Result, r.ResultTruncated = s.Result, s.Truncated
}

// fail makes it a failure of kind reported. How it ended otherwise is kept beside that.
func (r *Report) fail(e *SaidError) {
	f := &Failure{Kind: FailReported, Type: e.Type, Message: e.Message, Stack: e.Stack}
	if f.Message == "" {
		f.Message = ReportedFailure
	}
	if was := r.Failure; was != nil {
		f.HTTP, f.Exit = was.HTTP, was.Exit
	}
	r.Failure, r.Result, r.ResultTruncated = f, nil, false
	r.Continue, r.Accepted = false, false
	r.advise(e)
}

// explain says why it failed that has failed anyway.
func (r *Report) explain(e *SaidError) {
	f := *r.Failure
	if e.Type != "" {
		f.Type = e.Type
	}
	if e.Message != "" {
		f.Message = e.Message
	}
	if e.Stack != "" {
		f.Stack = e.Stack
	}
	r.Failure = &f
	r.advise(e)
}

// advise takes what was said of another try.
func (r *Report) advise(e *SaidError) {
	if e.Retryable == nil && e.RetryAfter == nil {
		return
	}
	r.Retryable, r.RetryAfter = e.Retryable, nil
	if e.RetryAfter != nil {
		r.RetryAfter = new(e.RetryAfter.Std())
	}
}
