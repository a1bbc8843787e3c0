package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var (
	fails = Signal{Kind: FailConnection}
	works = Signal{}
	mute  = Signal{Ended: true}
)

// wantGate compares the part of a dependency that decides what starts.
func wantGate(t *testing.T, g *Gate, now Time, phase BreakerPhase, room bool, wake Time) {
	t.Helper()
	if g.Phase() != phase || (g.Room(now) > 0) != room || g.Wake(now) != wake {
		t.Fatalf("it is %s, room %d, wakes at %s: want %s, %t, %s",
			g.Phase(), g.Room(now), g.Wake(now), phase, room, wake)
	}
}

func TestErrorsInARowOpenTheBreakerAndASuccessStartsTheRowAnew(t *testing.T) {
	g := &Gate{Kind: GateDependency, Name: "d", Breaker: DefaultBreaker()}
	for range 3 {
		for range 4 {
			g.Hear(at, NilID, fails)
			g.Hear(at, NilID, mute)
			g.Hear(at, NilID, Signal{Kind: FailHTTP, HTTPStatus: 404})
		}
		wantGate(t, g, at, BreakerClosed, true, 0)
		g.Hear(at, NilID, works)
	}
	for range 4 {
		g.Hear(at, NilID, fails)
	}
	if event := g.Hear(at, NilID, Signal{Kind: FailHTTP, HTTPStatus: 502}); event != EventDependencyOpened {
		t.Fatalf("the fifth error in a row tells %q", event)
	}
	wantGate(t, g, at, BreakerOpen, false, at+30_000)
	if st := g.State; st.Since != at || st.Reason != "5 errors in a row, the last: HTTP 502" {
		t.Errorf("it is open since %s for %q", st.Since, st.Reason)
	}
}

func TestBreakerThatOpensAtOnceNamesTheOneError(t *testing.T) {
	g := &Gate{Kind: GateDependency, Name: "d", Breaker: &Breaker{1, DefaultOpenFor, DefaultMaxOpen}}
	g.Hear(at, NilID, fails)
	if g.State.Reason != "connection" {
		t.Errorf("it is open for %q", g.State.Reason)
	}
}

func TestFailedProbesDoubleTheWaitUpToItsMost(t *testing.T) {
	g := &Gate{
		Kind: GateDependency, Name: "d",
		Breaker: &Breaker{1, Duration(30 * time.Second), Duration(3 * time.Minute)},
	}
	g.Hear(at, NilID, fails)
	now, runs := at, testIDs(6)
	for i, wait := range []Time{30, 60, 120, 180, 180} {
		wantGate(t, g, now, BreakerOpen, false, now+wait*1000)
		now += wait * 1000
		wantGate(t, g, now, BreakerOpen, true, 0)
		g.Take(now, runs[i])
		wantGate(t, g, now, BreakerProbing, false, 0)
		now += 7000
		if event := g.Hear(now, runs[i], fails); event != "" {
			t.Fatalf("a probe that fails tells %q", event)
		}
	}
	if g.State.Since != at || g.State.Reason != "the probe failed: connection" {
		t.Errorf("it is open since %s for %q", g.State.Since, g.State.Reason)
	}
	now = g.State.ProbeAt
	g.Take(now, runs[5])
	g.Hear(now, runs[5], works)
	g.Hear(now, NilID, fails)
	wantGate(t, g, now, BreakerOpen, false, now+30_000)
}

func TestProbeWithoutAVerdictIsFollowedByTheNextNotDoubled(t *testing.T) {
	g, runs := gateOfTest(false), testIDs(9)
	g.Hear(at, NilID, fails)
	now := at + 30_000
	g.Take(now, runs[0])
	g.Hear(now, runs[0], fails)
	now += 60_000
	for _, run := range runs[1:] {
		wantGate(t, g, now, BreakerOpen, true, 0)
		g.Take(now, run)
		g.Hear(now, run, mute)
		wantGate(t, g, now, BreakerOpen, false, now+60_000)
		now += 60_000
	}
}

func TestProbeThatDidNotHappenIsMadeByTheNextRunAtOnce(t *testing.T) {
	g, runs := gateOfTest(false), testIDs(2)
	g.Hear(at, NilID, fails)
	now := at + 30_000
	g.Take(now, runs[0])
	g.Hear(now, runs[0], Signal{Void: true})
	wantGate(t, g, now, BreakerOpen, true, 0)
}

func TestNoRunButTheProbeDecidesAboutABreaker(t *testing.T) {
	runs := testIDs(2)
	for _, s := range []Signal{fails, works, mute, {Kind: FailHTTP, HTTPStatus: 404}, {Void: true}} {
		g := gateOfTest(false)
		g.Hear(at, NilID, fails)
		before := g.State
		if event := g.Hear(at, runs[1], s); event != "" || g.State != before {
			t.Errorf("%+v of a run from before changes an open one to %+v", s, g.State)
		}
		g.Take(at+30_000, runs[0])
		before = g.State
		if event := g.Hear(at+30_000, runs[1], s); event != "" || g.State != before {
			t.Errorf("%+v of a run that is not the probe changes it to %+v", s, g.State)
		}
	}
}

func TestLateEndsOfAttemptsFromBeforeItClosedChangeNothing(t *testing.T) {
	g, run := gateOfTest(false), testIDs(1)[0]
	g.Hear(at, NilID, fails)
	now := at + 30_000
	g.Take(now, run)
	g.Hear(now+50, run, works)
	late, fresh := fails, fails
	late.Started, fresh.Started = at-1000, now+50
	for range 20 {
		g.Hear(now+1000, NilID, late)
	}
	if g.Phase() != BreakerClosed || g.State.Failures != 0 {
		t.Fatalf("it is %s after %d errors of attempts from before", g.Phase(), g.State.Failures)
	}
	g.Hear(now+1000, NilID, fresh)
	g.Hear(now+1000, NilID, Signal{Started: at - 1000})
	if g.State.Failures != 1 {
		t.Errorf("%d errors count, want the fresh one", g.State.Failures)
	}
}

func TestRetryAfterHoldsWhateverTheBreaker(t *testing.T) {
	answer := Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: time.Minute}
	for name, g := range map[string]*Gate{
		"named":             {Breaker: DefaultBreaker()},
		"host":              {Host: true, Breaker: DefaultBreaker()},
		"without a breaker": {},
	} {
		t.Run(name, func(t *testing.T) {
			g.Kind, g.Name = GateDependency, "d"
			g.Hear(at, NilID, answer)
			wantGate(t, g, at, BreakerClosed, false, at+60_000)
			g.Hear(at+1000, NilID, Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: time.Second})
			wantGate(t, g, at+59_999, BreakerClosed, false, at+60_000)
			g.Hear(at+1000, NilID, works)
			wantGate(t, g, at+59_999, BreakerClosed, false, at+60_000)
			if room := g.Room(at + 60_000); room != 1 {
				t.Errorf("room is %d when the Retry-After is over, want 1: the backlog starts slowly", room)
			}
		})
	}
}

func TestRetryAfterHoldsAnHourAtMost(t *testing.T) {
	g := &Gate{Kind: GateDependency, Name: "d"}
	g.Hear(at, NilID, Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: 1 << 62})
	wantGate(t, g, at, BreakerClosed, false, at+3_600_000)
}

func TestRetryAfterCountsFromWhatWeEndedNotFromWhatWasNot(t *testing.T) {
	g := &Gate{Kind: GateDependency, Name: "d"}
	g.Hear(at, NilID, Signal{Void: true, RetryAfter: time.Minute})
	wantGate(t, g, at, BreakerClosed, true, 0)
	g.Hear(at, NilID, Signal{Ended: true, RetryAfter: time.Minute})
	wantGate(t, g, at, BreakerClosed, false, at+60_000)
}

func TestProbeWaitsForARetryAfter(t *testing.T) {
	run := testIDs(1)[0]
	g := probedBy(run, false)
	g.Hear(at, run, Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: time.Hour})
	wantGate(t, g, at, BreakerOpen, false, at+3_600_000)
	wantGate(t, g, at+3_600_000, BreakerOpen, true, 0)
	g.Take(at+3_600_000, run)
	wantGate(t, g, at+3_600_000, BreakerProbing, false, 0)
}

func TestBacklogStartsTwiceAsManyEachSecond(t *testing.T) {
	run := testIDs(1)[0]
	closed, reset, held := probedBy(run, false), probedBy(run, false), &Gate{Kind: GateDependency}
	closed.Hear(at, run, works)
	reset.Reset(at)
	held.Hear(at-1000, NilID, Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: time.Second})
	for name, g := range map[string]*Gate{
		"after a probe": closed, "after a reset": reset, "after a Retry-After": held,
	} {
		t.Run(name, func(t *testing.T) {
			total := 0
			for second := range Time(10) {
				for ms := Time(0); ms < 1000; ms += 250 {
					for now := at + second*1000 + ms; g.Room(now) > 0; total++ {
						g.Take(now, NilID)
					}
				}
				if want := 1<<(second+1) - 1; total != want {
					t.Fatalf("%d have started by second %d, want %d", total, second, want)
				}
				wantGate(t, g, at+second*1000+999, BreakerClosed, false, at+second*1000+1000)
			}
			wantGate(t, g, at+10_000, BreakerClosed, true, 0)
			for range 100 {
				g.Take(at+10_000, NilID)
			}
			if g.Room(at+10_000) < 1e9 || g.State.RampAt != 0 {
				t.Errorf("room is %d when the backlog is over", g.Room(at+10_000))
			}
		})
	}
}

func TestTripOpensForAsLongAsItSaysAndAProbeFollows(t *testing.T) {
	run := testIDs(1)[0]
	g := gateOfTest(false)
	if event := g.Trip(at, "they move their disks", time.Hour); event != EventDependencyOpened {
		t.Fatalf("a trip tells %q", event)
	}
	wantGate(t, g, at, BreakerOpen, false, at+3_600_000)
	want := "the dependency d is held by its breaker (tripped: they move their disks)" +
		" until one run may probe it"
	if got := g.Shut(at); got.Reason != want {
		t.Errorf("it is held by %q, want %q", got.Reason, want)
	}
	now := at + 3_600_000
	g.Take(now, run)
	g.Hear(now, run, fails)
	wantGate(t, g, now, BreakerOpen, false, now+60_000)
	if event := g.Trip(now, "", 0); event != "" || g.State.Since != at || g.State.Reason != "tripped" {
		t.Errorf("a trip of an open one tells %q, since %s: %s", event, g.State.Since, g.State.Reason)
	}
	wantGate(t, g, now, BreakerOpen, false, now+30_000)
}

func TestTripDuringAProbeMakesItNone(t *testing.T) {
	runs := testIDs(2)
	g := probedBy(runs[0], false)
	if event := g.Trip(at, "", 0); event != "" {
		t.Errorf("a trip of one that is probed tells %q", event)
	}
	g.Hear(at, runs[0], works)
	wantGate(t, g, at, BreakerOpen, false, at+30_000)
	g.Take(at+30_000, runs[1])
	g.Hear(at+30_000, runs[1], works)
	wantGate(t, g, at+30_000, BreakerClosed, true, 0)
}

func TestTripOfADependencyWithoutABreakerChangesNothing(t *testing.T) {
	g := &Gate{Kind: GateDependency, Name: "d"}
	if event := g.Trip(at, "", 0); event != "" || g.State != (BreakerState{}) {
		t.Errorf("it tells %q and leaves %+v", event, g.State)
	}
}

func TestResetClosesAndForgetsARetryAfter(t *testing.T) {
	run := testIDs(1)[0]
	g := probedBy(run, false)
	g.Hear(at, NilID, Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: time.Minute})
	if event := g.Reset(at); event != EventDependencyClosed {
		t.Errorf("a reset tells %q", event)
	}
	wantGate(t, g, at, BreakerClosed, true, 0)
	late := fails
	late.Started = at - 1
	g.Hear(at, run, late)
	if g.State.Failures != 0 {
		t.Error("an attempt from before the reset counts")
	}
	if event := g.Reset(at); event != "" || g.Room(at) != 1 {
		t.Errorf("a second reset tells %q and makes room for %d: want the slow start to stand", event, g.Room(at))
	}
}

func TestResetOfARetryAfterStartsSlowlyFromThere(t *testing.T) {
	g := &Gate{Kind: GateDependency, Name: "d", State: BreakerState{HeldUntil: at + 5, RampAt: at - 1, RampUsed: 9}}
	g.Reset(at)
	if want := (BreakerState{RampAt: at}); g.State != want {
		t.Errorf("it leaves %+v, want %+v", g.State, want)
	}
}

func TestStateIsSpentWhenNothingDependsOnIt(t *testing.T) {
	day := Time(24 * 3_600_000)
	for name, c := range map[string]struct {
		state BreakerState
		from  Time // zero: never
	}{
		"never called":       {BreakerState{}, 1},
		"errors":             {BreakerState{Failures: 4}, 1},
		"closed":             {BreakerState{Since: at, RampAt: at}, at + day},
		"held":               {BreakerState{HeldUntil: at}, at},
		"lets a backlog go":  {BreakerState{RampAt: at, RampUsed: 1}, at + 10_000},
		"probed by nobody":   {BreakerState{Phase: BreakerOpen, Since: at, ProbeAt: at + 5}, at + 5 + day},
		"probed":             {BreakerState{Phase: BreakerProbing, Since: at, Probe: testIDs(1)[0]}, 0},
		"open for ten years": {BreakerState{Phase: BreakerOpen, ProbeAt: at + 3650*day}, at + 3651*day},
	} {
		if now := max(c.from, at); c.from == 0 || c.from == 1 {
			if c.state.Spent(now+1000*day) != (c.from == 1) {
				t.Errorf("%s: it is spent: %t", name, c.from == 0)
			}
		} else if c.state.Spent(c.from-1) || !c.state.Spent(c.from) {
			t.Errorf("%s: it is not spent from %s on", name, c.from)
		}
	}
}

func TestResetOfAClosedOneForgetsItsErrors(t *testing.T) {
	g := gateOfTest(false)
	if event := g.Reset(at); event != "" || g.State != (BreakerState{}) {
		t.Errorf("it tells %q and leaves %+v", event, g.State)
	}
}

// TestBreakerTakenAwayAndGivenBackHoldsNothingForEver: its probe ends in between.
func TestBreakerTakenAwayAndGivenBackHoldsNothingForEver(t *testing.T) {
	run := testIDs(1)[0]
	g := probedBy(run, false)
	g.Breaker = nil
	wantGate(t, g, at, BreakerClosed, true, 0)
	was := g.State
	if event := g.Hear(at, run, fails); event != EventDependencyClosed {
		t.Errorf("the first end without a breaker tells %q", event)
	}
	told := DependencyEvent{Type: EventDependencyClosed, Gate: g, Was: was, Run: run}
	if text := string(told.Data()); !strings.Contains(text, `"reason":"its breaker was taken away"`) {
		t.Errorf("it tells %s", text)
	}
	if event := g.Hear(at+1000, run, fails); event != "" || g.State != (BreakerState{Since: at}) {
		t.Errorf("the second tells %q and leaves %+v", event, g.State)
	}
	g.Breaker = DefaultBreaker()
	wantGate(t, g, at, BreakerClosed, true, 0)
}

func TestOpenTimeNeverGrowsPastItsBounds(t *testing.T) {
	day := Duration(24 * time.Hour)
	for _, c := range []struct{ open, openFor, most, want Duration }{
		{30, 30, 100, 60},
		{60, 30, 100, 100},
		{100, 30, 100, 100},
		{30, 30, 0, 30},     // its most is below where it begins
		{30, 100, 400, 100}, // open_for was raised meanwhile
		{500, 30, 100, 100}, // its most was lowered meanwhile
		{0, 30, 100, 30},
		{-5, 30, 100, 30},
		{1 << 62, 1 << 62, 1<<63 - 1, 1<<63 - 1},
		{1<<63 - 1, day, 7 * day, 7 * day},
		{-1 << 63, day, 7 * day, day},
	} {
		b := &Breaker{5, c.openFor, c.most}
		if got := b.longer(c.open); got != c.want {
			t.Errorf("%d after %+v grows to %d, want %d", c.open, *b, got, c.want)
		}
	}
}

func TestBreakerStateSurvivesBeingKept(t *testing.T) {
	for _, s := range []BreakerState{
		{},
		{
			Phase: BreakerProbing, Since: at, Failures: 5, Reason: `"a" & <b>`, OpenFor: DefaultMaxOpen,
			ProbeAt: at + 1, Probe: testIDs(1)[0], HeldUntil: at + 2, RampAt: at + 3, RampUsed: 7,
		},
		{Phase: BreakerOpen, ProbeAt: at},
		{HeldUntil: at, RampAt: at},
	} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := ReadBreakerState(text); got != s {
			t.Errorf("%s is read as %+v, was %+v", text, got, s)
		}
	}
}

func TestForeignBreakerStatesHoldNothingForEver(t *testing.T) {
	for _, text := range []string{
		``, `null`, `{}`, `[]`, `7`, `"open"`, `{`, `{"phase": 3}`, `{"phase":"open"}`, `{"phase":"probing"}`,
		`{"phase":"half-open","opened_at":"yesterday"}`, `{"phase":"open","probe_at":"soon"}`,
		`{"phase":"probing","probe":"none"}`, `{"phase":"probing","probe":null}`,
		`{"phase":"open","open_for":"-1s"}`, `{"failures":-9}`, `{"failures":1e99}`,
		`{"ramp_at":"2027-01-15T08:00:00.000Z","ramp_used":-5}`,
		`{"ramp_at":"2027-01-15T08:00:00.000Z","ramp_used":999999999999}`, "\x00\xff",
	} {
		g := &Gate{Kind: GateDependency, Name: "d", Breaker: DefaultBreaker(), State: ReadBreakerState(Raw(text))}
		now := at
		if wake := g.Wake(now); wake != 0 {
			now = wake
		}
		if g.Room(now) == 0 || now > at+10_000 {
			t.Errorf("%s lets nothing through at %s: %+v", text, now, g.Shut(now))
		}
	}
}

func TestStateMovesWithTheClock(t *testing.T) {
	s := BreakerState{Phase: BreakerOpen, Since: at, ProbeAt: at + 1, HeldUntil: at + 2, RampAt: at + 3}
	want := BreakerState{
		Phase: BreakerOpen, Since: at - 1000, ProbeAt: at - 999, HeldUntil: at - 998, RampAt: at - 997,
	}
	if got := s.Moved(-time.Second); got != want {
		t.Errorf("it moves to %+v, want %+v", got, want)
	}
	if got := (BreakerState{}).Moved(time.Hour); got != (BreakerState{}) {
		t.Errorf("one that was never called moves to %+v", got)
	}
}

func TestPhasesReadWell(t *testing.T) {
	for phase, want := range map[BreakerPhase]string{
		BreakerClosed: "closed", BreakerOpen: "open", BreakerProbing: "probing",
	} {
		if phase.String() != want {
			t.Errorf("%q reads %s, want %s", string(phase), phase, want)
		}
	}
}
