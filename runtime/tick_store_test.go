package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// undecided is a store that decides no ticks while it is told to fail, and of one job never.
type undecided struct {
	store.Store
	err    atomic.Value // of type failure
	broken string       // of this job nothing can be read or kept
	panics bool
}

type failure struct{ error }

func (f *undecided) fail(err error) { f.err.Store(failure{err}) }

func (f *undecided) Decide(ctx context.Context, now jobs.Time, list []store.Decision) ([]store.Decided, error) {
	if err, _ := f.err.Load().(failure); err.error != nil {
		return nil, err.error
	}
	return f.Store.Decide(ctx, now, list)
}

func (f *undecided) Job(ctx context.Context, name string) (*jobs.Job, error) {
	if name == f.broken && f.panics {
		panic("a job like no other")
	}
	if name == f.broken {
		return nil, errors.New("the row cannot be read")
	}
	return f.Store.Job(ctx, name)
}

func TestTicksWaitForAStoreThatCannotBeWritten(t *testing.T) {
	for _, cause := range []error{store.ErrBusy, store.ErrFull} {
		t.Run(cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, succeed)
				st := &undecided{Store: s.st}
				s.revive(st)
				s.put(scheduled("a", everyMinute))
				s.rt.Start()
				until(minutes(1) + 30*time.Second)
				st.fail(fmt.Errorf("%w: sorry", cause))
				until(minutes(2) + 5*time.Second)
				st.fail(nil)
				until(minutes(2) + 59*time.Second)
				st.fail(cause)
				until(minutes(3) + 40*time.Second)
				if err := s.rt.Health(context.Background()); !errors.Is(err, cause) || !strings.Contains(err.Error(), "cannot be decided") {
					t.Errorf("a tick is 40 s late for %v, and the server is said to be: %v", cause, err)
				}
				if err := s.rt.Turning(); err != nil {
					t.Errorf("a restart would not help, and is asked for: %v", err)
				}
				until(minutes(5) + 30*time.Second)
				st.fail(nil)
				until(minutes(6) + time.Second)
				if err := s.rt.Health(context.Background()); err != nil {
					t.Error(err)
				}
				s.wantLedger("a:default", "00:01 ran", "00:02 ran", "00:03-00:04 2 skipped missed", "00:05 caught_up",
					"00:06 ran")
				s.stop()
			})
		})
	}
}

func TestUnknownOutcomeOfADecisionEndsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		st := &undecided{Store: s.st}
		s.revive(st)
		s.put(scheduled("a", everyMinute))
		s.rt.Start()
		st.fail(store.ErrUnknown)
		if err := <-s.rt.Fatal(); !errors.Is(err, store.ErrUnknown) {
			t.Fatal(err)
		}
		s.stop()
	})
}

func TestScheduleThatCannotBePlannedHoldsUpNoOther(t *testing.T) {
	for _, panics := range []bool{false, true} {
		t.Run(fmt.Sprint(panics), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, succeed)
				s.put(scheduled("bad", everyMinute))
				s.put(scheduled("good", everyMinute))
				st := &undecided{Store: s.st, broken: "bad", panics: panics}
				s.revive(st)
				s.rt.Start()
				until(minutes(3) + time.Second)
				s.wantLedger("bad:default")
				s.wantLedger("good:default", "00:01 ran", "00:02 ran", "00:03 ran")
				if err := s.rt.Health(context.Background()); err != nil {
					t.Error(err)
				}
				s.stop()
				s.serve() // it can be read again; that of 00:01 had been given up as late before the next came
				until(minutes(4) + time.Second)
				s.wantLedger("bad:default", "00:01 caught_up", "00:02 caught_up", "00:03 ran", "00:04 ran")
				s.stop()
			})
		})
	}
}

// picky is a store that cannot keep the ticks of one schedule.
type picky struct {
	store.Store
	name string
}

func (f *picky) Decide(ctx context.Context, now jobs.Time, list []store.Decision) ([]store.Decided, error) {
	for i := range list {
		if list[i].Schedule.Name == f.name {
			return nil, errors.New("a row that no constraint lets in")
		}
	}
	return f.Store.Decide(ctx, now, list)
}

func TestDecisionThatCannotBeKeptHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(scheduled("bad", everyMinute, `{"name":"start","cron":"@reboot"}`))
		s.put(scheduled("good", everyMinute, `{"name":"start","cron":"@reboot"}`))
		s.revive(&picky{Store: s.st, name: "bad:default"})
		s.rt.Start()
		until(minutes(2) + time.Second)
		s.wantLedger("bad:default")
		s.wantLedger("bad:start", "00:00 ran")
		s.wantLedger("good:default", "00:01 ran", "00:02 ran")
		s.wantLedger("good:start", "00:00 ran")
		s.stop()
	})
}

// A change of a schedule whose job cannot be read any more must be possible: it may be the repair.
func TestScheduleThatCannotBePlannedCanBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(scheduled("bad", everyMinute))
		s.revive(&undecided{Store: s.st, broken: "bad", panics: true})
		s.rt.Start()
		until(minutes(2) + time.Second)
		s.pause("bad:default", true)
		s.wantLedger("bad:default", "00:01-00:02 2 skipped missed")
		if m := s.missed(); len(m) != 1 || m[0].Count != 2 {
			t.Errorf("told of %+v", m)
		}
		s.stop()
	})
}
