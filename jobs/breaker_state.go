package jobs

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// BreakerState is what a dependency remembers. Its zero value is that of one never called. What
// others wrote into it may hold runs back, but not for ever, unless a time in it says so.
type BreakerState struct {
	Phase    BreakerPhase `json:"phase,omitempty"`
	Since    Time         `json:"since,omitempty"`    // when it opened, or closed; zero: it never did
	Failures int          `json:"failures,omitempty"` // passing errors in a row
	Reason   string       `json:"reason,omitempty"`   // what opened it
	OpenFor  Duration     `json:"open_for,omitempty"` // of this opening, doubled by each probe that failed
	ProbeAt  Time         `json:"probe_at,omitempty"` // open: when one run may start
	Probe    ID           `json:"probe,omitzero"`     // probing: the run that does

	HeldUntil Time `json:"held_until,omitempty"` // a Retry-After

	// RampAt is since when a backlog has been let go, RampUsed how many runs started since: 1 in
	// the first second, 2 in the next, then 4, and so on.
	RampAt   Time `json:"ramp_at,omitempty"`
	RampUsed int  `json:"ramp_used,omitempty"`
}

// ReadBreakerState reads what is kept of one. What cannot be read is as if it had never been
// called: that costs a few calls, an error here would hold the runs of everybody.
func ReadBreakerState(text Raw) BreakerState {
	var s BreakerState
	if len(text) == 0 || json.Unmarshal(text, &s) != nil {
		return BreakerState{}
	}
	if s.Phase != BreakerOpen && s.Phase != BreakerProbing {
		s.Phase = BreakerClosed
	}
	return s
}

// Spent reports whether what is remembered of a dependency that nobody calls may be forgotten, its
// errors in a row included: an attempt from before it closed has ended after a day, and a probe that
// nobody made for a day is none that anybody waits for.
func (s *BreakerState) Spent(now Time) bool {
	day := now.Add(-MaxTimeout)
	return s.Phase != BreakerProbing && s.Since <= day && s.ProbeAt <= day && s.HeldUntil <= now &&
		!s.ramps(now)
}

// rampSteps is after how many seconds a backlog starts without a bound.
const rampSteps = 10

// phase is the one that counts: a breaker that was taken away holds nothing, and a probe that
// nobody makes is still to come.
func (s *BreakerState) phase(b *Breaker) BreakerPhase {
	switch {
	case b == nil:
		return BreakerClosed
	case s.Phase == BreakerProbing && s.Probe != NilID:
		return BreakerProbing
	case s.Phase == BreakerOpen, s.Phase == BreakerProbing:
		return BreakerOpen
	}
	return BreakerClosed
}

func (s *BreakerState) room(b *Breaker, now Time) int {
	switch phase := s.phase(b); {
	case now < s.HeldUntil, phase == BreakerProbing, phase == BreakerOpen && now < s.ProbeAt:
		return 0
	case phase == BreakerOpen:
		return 1
	case !s.ramps(now):
		return math.MaxInt
	}
	return max(s.rampTotal(now)-s.RampUsed, 0)
}

// opens is when there is room by the passing of time; zero: that does not help.
func (s *BreakerState) opens(b *Breaker, now Time) Time {
	at := max(now, s.HeldUntil)
	switch s.phase(b) {
	case BreakerProbing:
		return 0
	case BreakerOpen:
		return max(at, s.ProbeAt)
	}
	if s.ramps(now) {
		return max(at, s.rampOpens())
	}
	return at
}

func (s *BreakerState) ramps(now Time) bool {
	return s.RampAt != 0 && now < s.RampAt.Add(rampSteps*time.Second)
}

// rampTotal is how many runs may have started by now: 1, 3, 7, 15, ...
func (s *BreakerState) rampTotal(now Time) int {
	return 2<<(max(now.Sub(s.RampAt), 0)/time.Second) - 1
}

// rampOpens is when one more than have started may have.
func (s *BreakerState) rampOpens() Time {
	at := s.RampAt
	for step := range rampSteps {
		if s.RampUsed < 2<<step-1 {
			break
		}
		at = at.Add(time.Second)
	}
	return at
}

// why says what holds all runs, of two waits the longer.
func (s *BreakerState) why(b *Breaker, now Time) (reason string, until Time) {
	phase := s.phase(b)
	switch {
	case phase == BreakerProbing:
		return "is held by its breaker" + s.cause() + " while run " + s.Probe.String() + " probes it", 0
	case phase == BreakerOpen && now < s.ProbeAt && s.ProbeAt >= s.HeldUntil:
		return "is held by its breaker" + s.cause() + " until one run may probe it", s.ProbeAt
	case now < s.HeldUntil:
		return "has asked to be left alone (Retry-After)", s.HeldUntil
	}
	return "", 0
}

func (s *BreakerState) cause() string {
	if s.Reason == "" {
		return ""
	}
	return " (" + s.Reason + ")"
}

func (s *BreakerState) take(b *Breaker, now Time, run ID) {
	switch {
	case s.phase(b) == BreakerOpen:
		s.Phase, s.Probe = BreakerProbing, run
	case s.ramps(now):
		s.RampUsed++
	default:
		s.RampAt, s.RampUsed = 0, 0
	}
}

// hold keeps a Retry-After, the longest there is.
func (s *BreakerState) hold(until Time) {
	if until > s.HeldUntil {
		s.HeldUntil, s.RampAt, s.RampUsed = until, until, 0
	}
}

// row says which errors opened the breaker.
func (s *BreakerState) row(last Signal) string {
	if s.Failures == 1 {
		return last.String()
	}
	return fmt.Sprintf("%d errors in a row, the last: %s", s.Failures, last)
}

// unbreak forgets what a breaker left behind that was taken away.
func (s *BreakerState) unbreak(now Time) (event string) {
	if s.Phase != BreakerClosed {
		event, s.Since = EventDependencyClosed, now
	}
	*s = BreakerState{Since: s.Since, HeldUntil: s.HeldUntil, RampAt: s.RampAt, RampUsed: s.RampUsed}
	return event
}

// Moved is the state after the wall clock was set.
func (s BreakerState) Moved(step time.Duration) BreakerState {
	for _, t := range []*Time{&s.Since, &s.ProbeAt, &s.HeldUntil, &s.RampAt} {
		if *t != 0 {
			*t = t.Add(step)
		}
	}
	return s
}
