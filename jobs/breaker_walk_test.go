package jobs

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// dependencyWalk plays with one dependency and keeps, plainly, what should be so.
type dependencyWalk struct {
	*testing.T
	*rand.Rand
	g   *Gate
	now Time
	ids []ID

	running map[ID]flight
	told    string   // the last event
	row     int      // passing errors in a row while calls flow
	failed  int      // probes that failed since it opened
	openFor Duration // when it opened
	since   Time     // when it opened or closed
	starts  []Time   // since the backlog began to be let go
	ramp    Time     // when that was; 0: it has not been held
	held    Time     // the longest Retry-After
	probeAt Time
}

// flight is an attempt under way.
type flight struct {
	started Time
	probe   bool
}

// TestBreakerKeepsItsPromisesOverRandomWalks checks after each step: one probe at a time, which is
// under way; errors in a row counted right; waits doubled right; the backlog started slowly; events
// in turn; and that from here a run starts sooner or later, however what is under way ends.
func TestBreakerKeepsItsPromisesOverRandomWalks(t *testing.T) {
	seeded(t, 40, func(t *testing.T, r *rand.Rand) {
		w := &dependencyWalk{
			T: t, Rand: r, now: at, ids: testIDs(500), running: map[ID]flight{}, told: EventDependencyClosed,
		}
		w.g = &Gate{Kind: GateDependency, Name: "d", Host: r.IntN(2) == 0, Breaker: w.anyBreaker()}
		for range 500 {
			w.step()
			w.check()
		}
	})
}

func (w *dependencyWalk) anyBreaker() *Breaker {
	open := Duration(anyLength(w.Rand, time.Millisecond, time.Hour)).Std().Truncate(time.Millisecond)
	return &Breaker{1 + w.IntN(6), Duration(open), Duration(open) * Duration(1+w.IntN(20))}
}

func (w *dependencyWalk) step() {
	switch n := w.IntN(20); {
	case n < 5:
		w.now += Time(anyLength(w.Rand, 0, 10*time.Minute).Milliseconds())
	case n < 7:
		if wake := w.g.Wake(w.now); wake != 0 {
			w.now = wake
		}
	case n < 12:
		for range min(w.g.Room(w.now), 1+w.IntN(20), len(w.ids)) {
			w.start()
		}
	case n < 17:
		for id := range w.running {
			w.end(id, w.anySignal())
			break
		}
	case n == 17:
		w.trip()
	case n == 18:
		w.reset()
	default:
		w.restart()
	}
}

func (w *dependencyWalk) start() {
	id := w.ids[0]
	w.ids = w.ids[1:]
	probe := w.g.Phase() == BreakerOpen
	w.running[id] = flight{w.now, probe}
	if !probe {
		w.starts = append(w.starts, w.now)
	}
	w.g.Take(w.now, id)
	if probe != (w.g.Phase() == BreakerProbing) {
		w.Fatalf("a start from an open one leaves it %s", w.g.Phase())
	}
}

func (w *dependencyWalk) anySignal() Signal {
	s := Signal{Kind: FailConnection}
	switch w.IntN(10) {
	case 0, 1:
		s = Signal{}
	case 2:
		s = Signal{Ended: true}
	case 3:
		s = Signal{Void: true}
	case 4:
		s = Signal{Kind: FailHTTP, HTTPStatus: 404}
	case 5:
		s = Signal{Kind: FailHTTP, HTTPStatus: 429, RetryAfter: anyLength(w.Rand, 0, 2*time.Hour)}
	case 6:
		s = Signal{Kind: FailHTTP, HTTPStatus: 503, RetryAfter: anyLength(w.Rand, 0, 2*time.Hour)}
	}
	return s
}

// end plays the end of an attempt, and says what it must do.
func (w *dependencyWalk) end(id ID, s Signal) {
	f := w.running[id]
	delete(w.running, id)
	s.Started = f.started
	phase, probing := w.g.Phase(), w.g.State.Probe == id
	if s.RetryAfter > 0 && !s.Void {
		if until := w.now.Add(min(s.RetryAfter, time.Hour)); until > w.held {
			w.held, w.ramp, w.starts = until, until, nil
		}
	}
	event, want := w.g.Hear(w.now, id, s), ""
	bad := s.Kind == FailConnection || s.HTTPStatus == 503
	fine := s.Kind == "" && !s.Ended && !s.Void
	there := fine || s.HTTPStatus == 404
	switch {
	case probing && there:
		want = w.closes()
	case probing && bad:
		w.failed++
		w.probeAt = w.now.Add(w.wait())
	case probing && s.Void:
		w.probeAt = w.now
	case probing:
		w.probeAt = w.now.Add(w.wait())
	case phase != BreakerClosed, f.started < w.since:
	case bad:
		if w.row++; w.row >= w.g.Breaker.Failures {
			want = w.opens()
		}
	case fine, w.g.Host && there:
		w.row = 0
	}
	if event != want {
		w.Fatalf("%+v of a %s one tells %q, want %q", s, phase, event, want)
	}
}

func (w *dependencyWalk) opens() string {
	w.openFor, w.failed, w.since = w.g.Breaker.OpenFor, 0, w.now
	w.probeAt = w.now.Add(w.wait())
	return w.tell(EventDependencyOpened)
}

func (w *dependencyWalk) closes() string {
	w.row, w.since, w.ramp, w.starts = 0, w.now, max(w.now, w.held), nil
	return w.tell(EventDependencyClosed)
}

// tell sees to it that events alternate.
func (w *dependencyWalk) tell(event string) string {
	if event == w.told {
		w.Fatalf("%s is told twice", event)
	}
	w.told = event
	return event
}

// wait is how long it is open.
func (w *dependencyWalk) wait() time.Duration {
	wait := w.openFor
	for range w.failed {
		wait = min(2*wait, w.g.Breaker.MaxOpen)
	}
	return wait.Std()
}

func (w *dependencyWalk) trip() {
	length := time.Duration(w.IntN(2)) * anyLength(w.Rand, time.Millisecond, time.Hour)
	closed, since, want := w.g.Phase() == BreakerClosed, w.since, ""
	event := w.g.Trip(w.now, "", length)
	if closed {
		want = w.opens()
	} else {
		w.openFor, w.failed, w.since = w.g.Breaker.OpenFor, 0, since
		w.probeAt = w.now.Add(w.wait())
	}
	if length > 0 {
		w.probeAt = w.now.Add(length)
	}
	if event != want {
		w.Fatalf("a trip tells %q, want %q", event, want)
	}
}

func (w *dependencyWalk) reset() {
	open, held, want := w.g.Phase() != BreakerClosed, w.now < w.held, ""
	w.held, w.row = 0, 0
	event := w.g.Reset(w.now)
	switch {
	case open:
		want = w.closes()
	case held:
		w.ramp, w.starts = w.now, nil
	}
	if event != want {
		w.Fatalf("a reset tells %q, want %q", event, want)
	}
}

// restart keeps the state and reads it back, with the clock set meanwhile.
func (w *dependencyWalk) restart() {
	text, err := json.Marshal(w.g.State)
	if err != nil {
		w.Fatal(err)
	}
	if w.g.State = ReadBreakerState(text); w.IntN(2) == 0 {
		return
	}
	step := (anyLength(w.Rand, 0, 48*time.Hour) - 24*time.Hour).Truncate(time.Millisecond)
	w.g.State = w.g.State.Moved(step)
	for _, t := range []*Time{&w.now, &w.since, &w.ramp, &w.held, &w.probeAt} {
		if *t != 0 {
			*t = t.Add(step)
		}
	}
	for i := range w.starts {
		w.starts[i] = w.starts[i].Add(step)
	}
	for id, f := range w.running {
		w.running[id] = flight{f.started.Add(step), f.probe}
	}
}

func (w *dependencyWalk) check() {
	w.Helper()
	st := w.g.State
	exact(w.T, w.g, w.now)
	if _, under := w.running[st.Probe]; under != (w.g.Phase() == BreakerProbing) {
		w.Fatalf("it is %s and its probe %s is under way: %t", w.g.Phase(), st.Probe, under)
	}
	if st.HeldUntil != w.held && w.held > w.now {
		w.Fatalf("a Retry-After holds until %s, want %s", st.HeldUntil, w.held)
	}
	want := w.g.Phase()
	switch {
	case want == BreakerClosed && st.Failures != w.row:
		w.Fatalf("%d errors in a row are counted, want %d", st.Failures, w.row)
	case want == BreakerOpen && st.ProbeAt != w.probeAt:
		w.Fatalf("the next probe comes at %s, want %s", st.ProbeAt, w.probeAt)
	case (want == BreakerClosed) != (w.told == EventDependencyClosed), st.Since != w.since:
		w.Fatalf("it is %s since %s after %s at %s", want, st.Since, w.told, w.since)
	}
	if room := w.g.Room(w.now); (room > 0) != w.mayStart() {
		w.Fatalf("room is %d for a %s one at %s: %+v", room, want, w.now, st)
	}
	w.checkRamp()
	w.checkLiveness()
}

// mayStart says plainly whether one run may.
func (w *dependencyWalk) mayStart() bool {
	switch phase := w.g.Phase(); {
	case w.now < w.held, phase == BreakerProbing:
		return false
	case phase == BreakerOpen:
		return w.now >= w.probeAt
	case w.ramp == 0 || w.now >= w.ramp+10_000:
		return true
	}
	return len(w.starts) < 1<<((w.now-w.ramp)/1000+1)-1
}

// checkRamp counts what started since a backlog began to be let go.
func (w *dependencyWalk) checkRamp() {
	w.Helper()
	if w.ramp == 0 {
		return
	}
	for second := range Time(10) {
		n := 0
		for _, s := range w.starts {
			if s < w.ramp+(second+1)*1000 {
				n++
			}
		}
		if most := 1<<(second+1) - 1; n > most {
			w.Fatalf("%d started within %d s of its return, at most %d may", n, second+1, most)
		}
	}
}

// checkLiveness ends all that is under way in a copy, and waits: a run must start.
func (w *dependencyWalk) checkLiveness() {
	w.Helper()
	g, now := *w.g, w.now
	for id := range w.running {
		g.Hear(now, id, w.anySignal())
	}
	if wake := g.Wake(now); wake != 0 {
		now = wake
	}
	if g.Room(now) == 0 {
		w.Fatalf("nothing starts any more: %+v at %s with all ended: %+v", g.State, now, w.g.State)
	}
}

// TestRunStartsSoonerOrLaterWhateverIsDoneToADependency changes its document too: limits, rate and
// breaker come and go while attempts are under way.
func TestRunStartsSoonerOrLaterWhateverIsDoneToADependency(t *testing.T) {
	seeded(t, 40, func(t *testing.T, r *rand.Rand) {
		w := &dependencyWalk{T: t, Rand: r, now: at, ids: testIDs(1000), running: map[ID]flight{}}
		w.g = &Gate{Kind: GateDependency, Name: "d", Host: r.IntN(2) == 0}
		for range 500 {
			w.anyChange()
			if w.g.Used > len(w.running) || w.g.Used < 0 || w.g.Room(w.now) < 0 {
				t.Fatalf("%d slots are in use, %d attempts under way", w.g.Used, len(w.running))
			}
			exact(t, w.g, w.now)
			w.checkSettles()
		}
	})
}

// anyChange does something, of the document or of what runs.
func (w *dependencyWalk) anyChange() {
	switch w.IntN(10) {
	case 0:
		if w.g.Breaker = nil; w.IntN(2) == 0 {
			w.g.Breaker = w.anyBreaker()
		}
	case 1: // as a store does: who runs is counted anew
		if w.g.Limit, w.g.Used = w.IntN(4), 0; w.g.Limit > 0 {
			w.g.Used = len(w.running)
		}
	case 2:
		if w.g.Rate = nil; w.IntN(2) == 0 {
			w.g.Rate = &Rate{Limit: 1 + w.IntN(5), Per: Duration(anyLength(w.Rand, time.Millisecond, time.Hour))}
		}
	case 3:
		w.g.Trip(w.now, "", time.Duration(w.IntN(2))*time.Minute)
	case 4:
		w.g.Reset(w.now)
	case 5:
		w.now += Time(anyLength(w.Rand, 0, time.Hour).Milliseconds())
	case 6, 7:
		for range min(w.g.Room(w.now), 1+w.IntN(4), len(w.ids)) {
			w.running[w.ids[0]] = flight{started: w.now}
			w.g.Take(w.now, w.ids[0])
			w.ids = w.ids[1:]
		}
	default:
		for id, f := range w.running {
			delete(w.running, id)
			s := w.anySignal()
			s.Started = f.started
			end(w.g, w.now, id, s)
			break
		}
	}
}

// end ends an attempt as a store does.
func end(g *Gate, now Time, run ID, s Signal) {
	if g.Limit > 0 && g.Used > 0 {
		g.Used--
	}
	g.Hear(now, run, s)
}

// checkSettles ends all that is under way in a copy, and waits: a run must start.
func (w *dependencyWalk) checkSettles() {
	w.Helper()
	g, now := *w.g, w.now
	g.Starts = append([]Starts(nil), g.Starts...)
	for id := range w.running {
		end(&g, now, id, w.anySignal())
	}
	if wake := g.Wake(now); wake != 0 {
		now = wake
	}
	if g.Room(now) == 0 || g.Used != 0 {
		w.Fatalf("nothing starts any more, %d slots are in use: %+v at %s with all ended: %+v",
			g.Used, g, now, w.g)
	}
}

// TestReadingAGateDoesNotChangeIt: who asks what holds a run must not spend anything.
func TestReadingAGateDoesNotChangeIt(t *testing.T) {
	g := probedBy(testIDs(1)[0], false)
	g.Rate = &Rate{Limit: 1, Per: Duration(time.Second)}
	g.Take(at, NilID)
	before := *g
	before.Starts = append([]Starts(nil), g.Starts...)
	for now := at - 100_000; now < at+1_000_000; now += 777 {
		g.Room(now)
		g.Shut(now)
		g.Wake(now)
		g.Phase()
	}
	if !reflect.DeepEqual(before, *g) {
		t.Errorf("it was %+v and is %+v", before, *g)
	}
}
