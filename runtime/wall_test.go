package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// started is a kind that notes when its attempts start.
type started struct {
	mu sync.Mutex
	at []time.Time
}

func (k *started) run(context.Context, *jobs.Call) jobs.Report {
	k.mu.Lock()
	k.at = append(k.at, time.Now())
	k.mu.Unlock()
	return jobs.Report{ExitCode: -1}
}

// most is how many started in any window of a length.
func (k *started) most(window time.Duration) (most int) {
	for i, first := range k.at {
		n := 0
		for _, at := range k.at[i:] {
			if at.Sub(first) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

const (
	window   = 2 * time.Minute
	ratedJob = `{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"rate":{"limit":3,"per":"2m"}}`
)

// machine is a machine whose wall clock can be set while nothing runs: the test's own time is that of
// the wall.
type machine struct {
	boot string
	set  time.Duration // by how much the wall clock was set
	from time.Time
}

func (m *machine) uptime() (string, time.Duration, bool) {
	return m.boot, time.Since(m.from) - m.set + time.Minute, m.boot != ""
}

// restart stops the runtime and makes another one, as a start on a machine does.
func (s *server) restart(m *machine) {
	s.t.Helper()
	if err := s.rt.Stop(nil); err != nil {
		s.t.Fatal(err)
	}
	s.begin(m)
}

func (s *server) begin(m *machine) {
	s.t.Helper()
	rt, err := runtime.New(context.Background(), runtime.Config{
		Store: s.st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: s.kind}, Uptime: m.uptime,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.rt = rt
	rt.Start()
}

func TestRateHoldsOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k started
		s := newServer(t, k.run)
		defer s.stop()
		s.put(ratedJob)
		s.rt.Start()
		var ids []jobs.ID
		for range 9 {
			ids = append(ids, s.submit(jobs.Request{Job: "a"}))
		}
		m := &machine{boot: "b", from: time.Now()}
		for range 12 { // three in each window, wherever the restarts fall
			time.Sleep(34 * time.Second)
			s.restart(m)
		}
		for _, id := range ids {
			s.awaitEnd(id)
		}
		if got := k.most(window); got != 3 {
			t.Errorf("%d started within a window, want 3: %v", got, k.at)
		}
		if took := k.at[8].Sub(k.at[0]); took > 2*window+2*time.Second {
			t.Errorf("the last of 9 started after %v, want two windows", took)
		}
	})
}

func TestClockThatWasSetWhileNothingRanMovesNoWait(t *testing.T) {
	for _, step := range []time.Duration{24 * time.Hour, -time.Minute} {
		t.Run(step.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { waitOverAStep(t, step) })
		})
	}
}

// waitOverAStep has two waits of a window, sets the clock while nothing runs, and sees that what is left of them is
// what was not waited for. The test's time is that of the wall, so a step back is one that the
// machine's uptime ran through meanwhile.
func waitOverAStep(t *testing.T, step time.Duration) {
	var k started
	s := newServer(t, k.run)
	defer s.stop()
	m := &machine{boot: "b", from: time.Now()}
	s.begin(m)
	s.put(ratedJob)
	s.put(`{"name":"lent","webhook":{"url":"http://127.0.0.1:9/"},"dependencies":["d"]}`)
	for range 3 {
		s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
	}
	if err := s.rt.Trip(context.Background(), "d", window, store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	rated, lent := s.submit(jobs.Request{Job: "a"}), s.submit(jobs.Request{Job: "lent"})
	if err := s.rt.Stop(nil); err != nil {
		t.Fatal(err)
	}
	down := max(step, 0) + 20*time.Second
	time.Sleep(down)
	m.set = step
	s.begin(m)
	began := time.Now()
	left := window - (down - step)
	s.awaitEnd(rated)
	s.awaitEnd(lent)
	if took := time.Since(began); took < left || took > left+2*time.Second {
		t.Errorf("what was left took %v, want %v", took, left)
	}
	// It is known now: the next start moves nothing.
	again := s.submit(jobs.Request{Job: "a"})
	s.awaitEnd(again)
	if err := s.rt.Trip(context.Background(), "d", window, store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	lent = s.submit(jobs.Request{Job: "lent"})
	s.restart(m)
	s.awaitEnd(lent)
	if took := time.Since(began); took < window || took > window+2*time.Second {
		t.Errorf("after another start %v, want all of it", took)
	}
}

func TestWhatWaitedStartsAtOnceAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		s.put(webhookJob)
		id := s.submit(jobs.Request{Job: "a"})
		s.stop()
		s.open()
		s.rt.Start()
		began := time.Now()
		s.awaitEnd(id)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it started after %v", took)
		}
	})
}

func TestStepIsNotGuessedAcrossBoots(t *testing.T) {
	for _, boot := range []string{"other", ""} {
		synctest.Test(t, func(t *testing.T) {
			var k started
			s := newServer(t, k.run)
			defer s.stop()
			m := &machine{boot: "b", from: time.Now()}
			s.begin(m)
			s.put(ratedJob)
			for range 3 {
				s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
			}
			id := s.submit(jobs.Request{Job: "a"})
			if err := s.rt.Stop(nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Hour)
			m.boot, m.set = boot, 2*time.Hour
			began := time.Now()
			s.begin(m)
			s.awaitEnd(id)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("boot %q: it took %v: nobody knows that the clock was set", boot, took)
			}
		})
	}
}

func TestStartsAheadOfTheClockHoldARateNoLongerThanAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k started
		s := newServer(t, k.run)
		defer s.stop()
		s.put(ratedJob)
		var ahead atomic.Int64
		ahead.Store(int64(30 * 24 * time.Hour))
		s.rt.SetWall(func() time.Duration { return time.Duration(ahead.Load()) })
		s.rt.Start()
		for range 3 {
			s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
		}
		id := s.submit(jobs.Request{Job: "a"})
		if err := s.rt.Stop(nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.begin(&machine{}) // on another machine, which knows the time
		s.awaitEnd(id)
		if took := time.Since(began); took < window || took > window+2*time.Second {
			t.Errorf("it waited for %v, want the window", took)
		}
	})
}

// setting is a store that tells the shifts of its claims, and fails while it is told to.
type setting struct {
	store.Store
	mu     sync.Mutex
	fail   error
	failed int
	shifts []time.Duration // of claims that were made
}

func (f *setting) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		f.failed++
		return store.Claimed{}, f.fail
	}
	if c.Shift != 0 {
		f.shifts = append(f.shifts, c.Shift)
	}
	return f.Store.Claim(ctx, c)
}

func (f *setting) set(err error) {
	f.mu.Lock()
	f.fail = err
	f.mu.Unlock()
}

func TestClockThatIsSetMovesNoWaitWhateverTheDiskDoes(t *testing.T) {
	for _, cause := range []error{nil, store.ErrBusy, store.ErrFull} {
		t.Run(fmt.Sprint(cause), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { setTheClock(t, cause) })
		})
	}
}

// setTheClock sets it forward by a day and back by two; for ten seconds no claim can be made.
func setTheClock(t *testing.T, cause error) {
	var (
		k  started
		by atomic.Int64
	)
	release := make(chan struct{})
	var slow started
	s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		if c.Job != "slow" {
			return k.run(ctx, c)
		}
		slow.run(ctx, c)
		<-release
		return jobs.Report{ExitCode: -1, Failure: unreachable()}
	})
	st := &setting{Store: s.st}
	s.revive(st)
	defer s.stop()
	s.rt.SetWall(func() time.Duration { return time.Duration(by.Load()) })
	s.rt.Start()
	s.put(ratedJob)
	s.put(`{"name":"lent","webhook":{"url":"http://127.0.0.1:9/"},"dependencies":["d"]}`)
	for range 3 {
		s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
	}
	began := k.at[0]
	s.put(`{"name":"slow","script":{"source":"true"},` +
		`"retry":{"max_attempts":2,"backoff":{"base":"2m","max":"2m","jitter":0}}}`)
	failing := s.submit(jobs.Request{Job: "slow"})
	s.awaitState(failing, jobs.Running)
	trip := func() {
		t.Helper()
		if err := s.rt.Trip(context.Background(), "d", window, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	trip()
	rated, lent := s.submit(jobs.Request{Job: "a"}), s.submit(jobs.Request{Job: "lent"})
	for _, step := range []time.Duration{24 * time.Hour, -48 * time.Hour} {
		st.set(cause)
		by.Add(int64(step))
		trip() // written between the step and the claim that moves the waits
		if step < 0 {
			time.Sleep(5 * time.Second)
			close(release)
		}
		time.Sleep(10 * time.Second)
		st.set(nil)
		time.Sleep(10 * time.Second)
	}
	s.awaitEnd(rated)
	if took := time.Since(began); took < window || took > window+2*time.Second {
		t.Errorf("the rate let the next one start after %v, want its window", took)
	}
	s.awaitEnd(lent)
	if took := time.Since(began); took < window+20*time.Second || took > window+22*time.Second {
		t.Errorf("the breaker let one through after %v, want all of it from the last trip", took)
	}
	s.awaitEnd(failing)
	if took := slow.at[1].Sub(slow.at[0]); took < window+25*time.Second || took > window+27*time.Second {
		t.Errorf("the retry came %v after the start, want its backoff after the end", took)
	}
	if want := []time.Duration{24 * time.Hour, -48 * time.Hour}; !slices.Equal(st.shifts, want) {
		t.Errorf("moved by %v, want %v", st.shifts, want)
	}
	if (st.failed > 0) != (cause != nil) {
		t.Errorf("%d claims failed with %v", st.failed, cause)
	}
}
