package jobs

import (
	"math"
	"time"
)

// Kinds of backoff.
const (
	BackoffExponential = "exponential"
	BackoffFixed       = "fixed"
)

// Delay is the wait after the nth failure (from 1): min(max, base × factor^(n-1)), or base where
// the kind is fixed, times a number from [1-jitter, 1+jitter) that u in [0, 1) picks. Fields
// that are nil count as those of the policy default. It never overflows and is never negative.
func (b Backoff) Delay(n int, u float64) time.Duration {
	b = b.over(*DefaultPolicy().Backoff)
	d := float64(*b.Base)
	if b.Kind != BackoffFixed && d > 0 {
		d *= math.Pow(*b.Factor, float64(max(n, 1)-1))
		if limit := float64(*b.Max); !(d < limit) {
			d = limit
		}
	}
	if !(u >= 0 && u < 1) {
		u = 0.5
	}
	d *= 1 - *b.Jitter + 2**b.Jitter*u
	return time.Duration(min(max(d, 0), float64(2*MaxDuration)))
}

// over fills what b leaves out from below. Where b sets a base above the max from below, that
// max gives way: an explicit base of 1h must not become 30m by a default.
func (b Backoff) over(below Backoff) Backoff {
	if b.Kind == "" {
		b.Kind = below.Kind
	}
	if b.Max == nil {
		b.Max = below.Max
		if b.Base != nil && below.Max != nil && *b.Base > *below.Max {
			b.Max = b.Base
		}
	}
	if b.Base == nil {
		b.Base = below.Base
	}
	if b.Factor == nil {
		b.Factor = below.Factor
	}
	if b.Jitter == nil {
		b.Jitter = below.Jitter
	}
	return b
}
