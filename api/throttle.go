package api

import (
	"sync"
	"time"
)

// Bounds of sign-ins that fail, in any minute. Past the one of all, whoever has failed in that minute is refused,
// and nobody else: who has not failed can always sign in.
const (
	failuresOfOne = 10
	failuresOfAll = 200
	throttleFor   = time.Minute
	addressesKept = 10_000
)

// throttle holds up those who try to sign in again and again.
type throttle struct {
	mu     sync.Mutex
	since  time.Time      // when the minute began
	failed map[string]int // by address
	all    int
}

// refuses reports how long an address has to wait before it may try; zero: not at all.
func (t *throttle) refuses(from string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(now)
	if n := t.failed[from]; n >= failuresOfOne || n > 0 && t.all >= failuresOfAll {
		return max(time.Second, throttleFor-now.Sub(t.since))
	}
	return 0
}

// fail notes that an address has failed.
func (t *throttle) fail(from string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(now)
	t.all++
	if len(t.failed) < addressesKept || t.failed[from] > 0 {
		t.failed[from]++
	}
}

// turn begins a minute where the last is over. Needs mu.
func (t *throttle) turn(now time.Time) {
	if t.failed == nil || now.Sub(t.since) >= throttleFor || now.Before(t.since) {
		t.since, t.failed, t.all = now, map[string]int{}, 0
	}
}
