package jobs

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestGateSaysWhatHoldsAndUntilWhen(t *testing.T) {
	probe := testIDs(1)[0]
	key, long := "acme", strings.Repeat("k", 200)
	dep := func(change func(*Gate)) Gate {
		g := Gate{Kind: GateDependency, Name: "stripe", Breaker: DefaultBreaker()}
		change(&g)
		return g
	}
	ramp := BreakerState{RampAt: at, RampUsed: 1}
	opened := BreakerState{
		Phase: BreakerOpen, Reason: "5 errors in a row, the last: HTTP 503", ProbeAt: at + 30_000,
	}
	for name, c := range map[string]struct {
		gate  Gate
		kind  string
		want  string
		until Time
	}{
		"a queue": {
			Gate{Kind: GateQueue, Name: "slow", Limit: 3, Used: 3},
			HeldQueue,
			"the queue slow has 3 of 3 running", 0,
		},
		"a limit that was lowered": {
			Gate{Kind: GateQueue, Name: "slow", Limit: 3, Used: 5},
			HeldQueue,
			"the queue slow has 5 of 3 running", 0,
		},
		"a paused queue": {
			Gate{Kind: GateQueue, Name: "slow", PausedAt: at, Note: "the disk is being moved"},
			HeldPaused,
			"the queue slow is paused: the disk is being moved", 0,
		},
		"a queue paused without a word": {
			Gate{Kind: GateQueue, Name: "slow", PausedAt: at}, HeldPaused, "the queue slow is paused", 0,
		},
		"a job": {
			Gate{Kind: GateConcurrency, Name: "sync", Limit: 1, Used: 1},
			HeldConcurrency,
			"the job sync has 1 of 1 running", 0,
		},
		"a key": {
			Gate{Kind: GateConcurrency, Name: "sync", Key: &key, Limit: 1, Used: 1},
			HeldConcurrency,
			`the key "acme" of job sync has 1 of 1 running`, 0,
		},
		"a long key": {
			Gate{Kind: GateConcurrency, Name: "sync", Key: &long, Limit: 1, Used: 1},
			HeldConcurrency,
			`the key "` + long[:60] + `…" of job sync has 1 of 1 running`, 0,
		},
		"a rate": {
			Gate{
				Kind: GateRate, Name: "sync", Rate: &Rate{Limit: 2, Per: Duration(time.Minute)},
				Starts: []Starts{{First: at - 50_000, Last: at - 50_000, Count: 1}, {First: at, Last: at, Count: 1}},
			},
			HeldRate,
			"the job sync has had 2 starts within 1m, the limit is 2", at + 10_000,
		},
		"a rate of a key": {
			Gate{
				Kind: GateRate, Name: "sync", Key: &key, Rate: &Rate{Limit: 1, Per: Duration(time.Hour)},
				Starts: []Starts{{First: at, Last: at, Count: 1}},
			},
			HeldRate,
			`the key "acme" of job sync has had 1 start within 1h, the limit is 1`, at + 3_600_000,
		},
		"a paused dependency": {
			dep(func(g *Gate) { g.PausedAt, g.Note, g.State = at, "they asked us to", opened }), HeldDependency,
			"the dependency stripe is paused: they asked us to", 0,
		},
		"a dependency with a limit": {
			dep(func(g *Gate) { g.Limit, g.Used = 5, 5 }), HeldDependency,
			"the dependency stripe has 5 of 5 running", 0,
		},
		"a dependency with a rate": {
			dep(func(g *Gate) {
				g.Rate = &Rate{Limit: 1, Per: Duration(time.Second)}
				g.Starts = []Starts{{First: at - 1, Last: at - 1, Count: 1}}
			}), HeldDependency,
			"the dependency stripe has had 1 start within 1s, the limit is 1", at + 999,
		},
		"a breaker": {
			dep(func(g *Gate) { g.State = opened }), HeldDependency,
			"the dependency stripe is held by its breaker (5 errors in a row, the last: HTTP 503)" +
				" until one run may probe it", at + 30_000,
		},
		"a breaker of a host": {
			dep(func(g *Gate) { g.State, g.Name, g.Host = opened, "api.stripe.com:443", true }), HeldDependency,
			"the host api.stripe.com:443 is held by its breaker (5 errors in a row, the last: HTTP 503)" +
				" until one run may probe it", at + 30_000,
		},
		"a breaker and a longer Retry-After": {
			dep(func(g *Gate) { g.State = opened; g.State.HeldUntil = at + 60_000 }), HeldDependency,
			"the dependency stripe has asked to be left alone (Retry-After)", at + 60_000,
		},
		"a breaker and a shorter Retry-After": {
			dep(func(g *Gate) { g.State = opened; g.State.HeldUntil = at + 20_000 }), HeldDependency,
			"the dependency stripe is held by its breaker (5 errors in a row, the last: HTTP 503)" +
				" until one run may probe it", at + 30_000,
		},
		"a breaker that says no reason": {
			dep(func(g *Gate) { g.State = BreakerState{Phase: BreakerOpen, ProbeAt: at + 1} }), HeldDependency,
			"the dependency stripe is held by its breaker until one run may probe it", at + 1,
		},
		"a probe": {
			dep(func(g *Gate) { g.State = opened; g.State.Phase, g.State.Probe = BreakerProbing, probe }),
			HeldDependency,
			"the dependency stripe is held by its breaker (5 errors in a row, the last: HTTP 503)" +
				" while run " + probe.String() + " probes it", 0,
		},
		"a Retry-After": {
			dep(func(g *Gate) { g.State.HeldUntil = at + 5_000 }), HeldDependency,
			"the dependency stripe has asked to be left alone (Retry-After)", at + 5_000,
		},
		"a Retry-After where there is no breaker": {
			dep(func(g *Gate) { g.Breaker, g.State.HeldUntil = nil, at+5_000 }), HeldDependency,
			"the dependency stripe has asked to be left alone (Retry-After)", at + 5_000,
		},
		"a backlog": {
			dep(func(g *Gate) { g.State = ramp }), HeldDependency,
			"the dependency stripe is back: what waited for it starts little by little", at + 1_000,
		},
		"the half of a pool": {
			used(CatchUpGate("script", 5), 2), HeldWorkers,
			"2 of 5 script workers are for ticks that were missed, so that those that are due find one: 2 are busy", 0,
		},
		"the half of a pool that had more": {
			used(CatchUpGate("mail", 3), 2), HeldWorkers,
			"1 of 3 mail workers is for ticks that were missed, so that those that are due find one: 2 are busy", 0,
		},
		"a pool of one": {
			used(CatchUpGate("script", 1), 1), HeldWorkers,
			"it waits for a free worker: the script worker is busy with a tick that was missed", 0,
		},
		"a backlog and a full limit": {
			dep(func(g *Gate) { g.State, g.Limit, g.Used = ramp, 1, 1 }), HeldDependency,
			"the dependency stripe has 1 of 1 running", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.gate.Shut(at)
			want := HeldBy{Kind: c.kind, Name: c.gate.Name, Reason: c.want, Until: c.until}
			if got == nil || *got != want {
				t.Errorf("it is held by\n%+v, want\n%+v", got, want)
			}
		})
	}
}

func used(g Gate, n int) Gate {
	g.Used = n
	return g
}

func TestHalfOfThePoolCatchesUp(t *testing.T) {
	for workers, want := range []int{1, 1, 1, 1, 2, 2, 3, 3, 4} {
		g := CatchUpGate("script", workers)
		if g.Limit != want || g.Room(at) != want || g.Shut(at) != nil {
			t.Errorf("of %d workers %d catch up, want %d", workers, g.Room(at), want)
		}
	}
}

func TestGateWithoutALimitLetsAllThrough(t *testing.T) {
	for kind := GateQueue; kind <= GateCatchUp; kind++ {
		g := Gate{Kind: kind, Name: "x"}
		for range 1000 {
			if g.Room(at) != math.MaxInt || g.Shut(at) != nil || g.Wake(at) != 0 {
				t.Fatalf("gate of kind %d is shut: %+v", kind, g.Shut(at))
			}
			g.Take(at, NilID)
		}
		if g.Used != 0 || len(g.Starts) != 0 {
			t.Errorf("it counts %d slots and %d starts for no limit", g.Used, len(g.Starts))
		}
	}
}

func TestLoweredLimitStartsNothingUntilThereIsRoom(t *testing.T) {
	g := Gate{Kind: GateQueue, Name: "q", Limit: 2}
	g.Take(at, NilID)
	g.Take(at, NilID)
	if g.Used != 2 || g.Room(at) != 0 {
		t.Fatalf("%d are in use, room is %d: want 2 and 0", g.Used, g.Room(at))
	}
	g.Limit = 1
	for used, room := range []int{1, 0, 0} {
		if g.Used = used; g.Room(at) != room {
			t.Errorf("room is %d with %d of 1 running, want %d", g.Room(at), used, room)
		}
	}
}

func TestRoomNeverExceedsTheSmallestOfItsBounds(t *testing.T) {
	g := Gate{
		Kind: GateDependency, Name: "d", Limit: 5, Used: 1, Breaker: DefaultBreaker(),
		Rate:   &Rate{Limit: 10, Per: Duration(time.Minute)},
		Starts: []Starts{{First: at - 5, Last: at - 5, Count: 7}},
	}
	if got := g.Room(at); got != 3 {
		t.Errorf("room is %d, want the 3 of the rate", got)
	}
	g.Starts[0].Count = 1
	if got := g.Room(at); got != 4 {
		t.Errorf("room is %d, want the 4 of the limit", got)
	}
	g.State = BreakerState{Phase: BreakerOpen, ProbeAt: at}
	if got := g.Room(at); got != 1 {
		t.Errorf("room is %d, want the 1 of a probe", got)
	}
}

func TestWakeWaitsForTheLastOfSeveralBounds(t *testing.T) {
	g := Gate{
		Kind: GateDependency, Name: "d", Breaker: DefaultBreaker(),
		Rate:   &Rate{Limit: 1, Per: Duration(time.Minute)},
		Starts: []Starts{{First: at, Last: at, Count: 1}},
		State:  BreakerState{Phase: BreakerOpen, ProbeAt: at + 30_000, HeldUntil: at + 40_000},
	}
	if got := g.Wake(at); got != at+60_000 {
		t.Errorf("it wakes at %s, want when the rate allows it", got)
	}
	g.Limit, g.Used = 1, 1
	if got := g.Wake(at); got != at+60_000 {
		t.Errorf("with its slots in use it wakes at %s, want as without", got)
	}
	g.Rate = nil
	if got := g.Wake(at); got != at+40_000 {
		t.Errorf("it wakes at %s, want when Retry-After is over", got)
	}
	g.PausedAt = at
	if got := g.Wake(at); got != 0 {
		t.Errorf("it wakes at %s though it is paused", got)
	}
	g.PausedAt, g.State = 0, BreakerState{}
	if got := g.Wake(at); got != 0 {
		t.Errorf("it wakes at %s though it lacks slots alone", got)
	}
}

func TestUnusableNumbersOfAGateDoNoHarm(t *testing.T) {
	ends := []Time{math.MinInt64, -1, 0, 1, at, math.MaxInt64 - 1, math.MaxInt64}
	lengths := []Duration{math.MinInt64, -1, 0, 1, 1_499_999, Duration(MaxDuration), math.MaxInt64}
	states := []BreakerPhase{BreakerClosed, BreakerOpen, BreakerProbing, "half-open"}
	for _, when := range ends {
		for _, length := range lengths {
			for _, phase := range states {
				for _, limit := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
					g := Gate{
						Kind: GateDependency, Name: "d", Limit: limit, Used: limit,
						Rate: &Rate{Limit: limit, Per: length}, Breaker: &Breaker{limit, length, length},
						Starts: []Starts{{First: when, Last: when, Count: 1}},
						State: BreakerState{
							Phase: phase, Since: when, Failures: limit, OpenFor: length, ProbeAt: when, HeldUntil: when,
							RampAt: when, RampUsed: limit,
						},
					}
					for _, now := range ends {
						useAll(g, now)
					}
				}
			}
		}
	}
}

// useAll calls everything there is.
func useAll(g Gate, now Time) {
	g.Starts = append([]Starts(nil), g.Starts...)
	if g.Room(now) < 0 {
		panic("room below 0")
	}
	g.Shut(now)
	g.Wake(now)
	g.Take(now, NilID)
	g.Hear(now, NilID, Signal{Kind: FailTimeout, RetryAfter: math.MaxInt64})
	g.Trip(now, "", math.MaxInt64)
	g.Room(now)
	g.Take(now, NilID)
	g.Hear(now, NilID, Signal{Kind: FailTimeout})
	g.Shut(now)
	g.Forget(now)
	g.State = g.State.Moved(math.MaxInt64)
	g.Reset(now)
	g.Room(now)
}
