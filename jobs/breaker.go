package jobs

import "time"

// Breaker holds a dependency that keeps failing (contract 9).
type Breaker struct {
	Failures int      `json:"failures"` // passing errors in a row that open it
	OpenFor  Duration `json:"open_for"` // before the first probe; doubled by each probe that fails
	MaxOpen  Duration `json:"max_open"`
}

// The breaker of a dependency that says nothing else, and the concurrency of a host.
const (
	DefaultBreakerFailures = 5
	DefaultOpenFor         = Duration(30 * time.Second)
	DefaultMaxOpen         = Duration(10 * time.Minute)
	DefaultHostConcurrency = 16
)

// DefaultBreaker is what holds a dependency that says nothing else.
func DefaultBreaker() *Breaker {
	return &Breaker{DefaultBreakerFailures, DefaultOpenFor, DefaultMaxOpen}
}

// BreakerPhase is whether calls flow. The texts are stored and answered.
type BreakerPhase string

// The phases. The zero value is closed.
const (
	BreakerClosed  BreakerPhase = ""
	BreakerOpen    BreakerPhase = "open"
	BreakerProbing BreakerPhase = "probing"
)

func (p BreakerPhase) String() string {
	if p == BreakerClosed {
		return "closed"
	}
	return string(p)
}

// Phase is the one of its breaker: closed where it has none.
func (g *Gate) Phase() BreakerPhase { return g.State.phase(g.Breaker) }

// Hear takes in how an attempt that was let through has ended. event is "", EventDependencyOpened
// or EventDependencyClosed. Its slot is given back by who keeps Used.
func (g *Gate) Hear(now Time, run ID, s Signal) (event string) {
	if g.Kind != GateDependency {
		return ""
	}
	st := &g.State
	if s.RetryAfter > 0 && !s.Void {
		st.hold(now.Add(min(s.RetryAfter, maxRetryAfter)))
	}
	switch st.phase(g.Breaker) {
	case BreakerProbing:
		if st.Probe == run {
			return g.probed(now, s)
		}
	case BreakerClosed:
		if g.Breaker == nil {
			return st.unbreak(now)
		}
		if s.Started == 0 || s.Started >= st.Since {
			return g.counted(now, s)
		}
	}
	return ""
}

// probed takes in the end of the probe.
func (g *Gate) probed(now Time, s Signal) (event string) {
	st := &g.State
	st.Phase, st.Probe = BreakerOpen, NilID
	switch v := s.hearing(g.Host); {
	case v == good, v == answered:
		return g.close(now)
	case v == passing:
		st.OpenFor = g.Breaker.longer(st.OpenFor)
		st.Reason = "the probe failed: " + s.String()
	}
	st.ProbeAt = now.Add(st.OpenFor.Std())
	if s.Void {
		st.ProbeAt = now
	}
	return ""
}

// longer doubles how long it is open.
func (b *Breaker) longer(open Duration) Duration {
	most := max(b.MaxOpen, b.OpenFor)
	if open > most/2 {
		return most
	}
	return max(2*open, b.OpenFor)
}

// counted takes in the end of an attempt while calls flow.
func (g *Gate) counted(now Time, s Signal) (event string) {
	st := &g.State
	switch s.hearing(g.Host) {
	case good:
		st.Failures = 0
	case passing:
		if st.Failures++; st.Failures >= g.Breaker.Failures {
			g.open(now, st.row(s))
			return EventDependencyOpened
		}
	}
	return ""
}

func (g *Gate) open(now Time, reason string) {
	st := &g.State
	st.Phase, st.Since, st.Reason, st.Probe = BreakerOpen, now, reason, NilID
	st.OpenFor, st.ProbeAt = g.Breaker.OpenFor, now.Add(g.Breaker.OpenFor.Std())
	st.RampAt, st.RampUsed = 0, 0
}

// close lets the backlog go, slowly.
func (g *Gate) close(now Time) string {
	held := g.State.HeldUntil
	g.State = BreakerState{Since: now, HeldUntil: held, RampAt: max(now, held)}
	return EventDependencyClosed
}

// Trip opens the breaker by hand, for its open_for or for that long; a probe follows as always. The
// probe under way is none any more. A dependency without a breaker stays as it is.
func (g *Gate) Trip(now Time, note string, length time.Duration) (event string) {
	if g.Breaker == nil {
		return ""
	}
	reason := "tripped"
	if note != "" {
		reason += ": " + note
	}
	closed, since := g.State.phase(g.Breaker) == BreakerClosed, g.State.Since
	g.open(now, reason)
	if length > 0 {
		g.State.ProbeAt = now.Add(length)
	}
	if closed {
		return EventDependencyOpened
	}
	g.State.Since = since
	return ""
}

// Reset closes the breaker by hand and ends what a Retry-After asked for. The backlog starts slowly.
func (g *Gate) Reset(now Time) (event string) {
	st := &g.State
	open, held := st.Phase != BreakerClosed, now < st.HeldUntil
	st.HeldUntil = 0
	switch {
	case open:
		return g.close(now)
	case held:
		st.RampAt, st.RampUsed = now, 0
	}
	st.Failures = 0
	return ""
}
