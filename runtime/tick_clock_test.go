package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// settable is a wall clock that can be set.
type settable struct{ by atomic.Int64 }

func (c *settable) set(by time.Duration)    { c.by.Store(int64(by)) }
func (c *settable) ahead() time.Duration    { return time.Duration(c.by.Load()) }
func (s *server) wall(clock *settable)      { s.rt.SetWall(clock.ahead) }
func (s *server) serveWith(clock *settable) { s.open(); s.wall(clock); s.rt.Start() }

func TestClockThatIsSetForwardIsAnOutage(t *testing.T) { // F22
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		s := newServer(t, succeed)
		s.wall(&clock)
		s.rt.Start()
		synctest.Wait()
		s.put(scheduled("a", everyMinute, `{"name":"all","cron":"0 * * * *","catch_up":{"mode":"all"}}`))
		until(minutes(2) + 30*time.Second)
		clock.set(8 * time.Hour)
		until(minutes(4) + time.Second)
		s.wantLedger("a:default", "00:01 ran", "00:02 ran", "00:03-08:01 479 skipped missed", "08:02 caught_up",
			"08:03 ran", "08:04 ran")
		if n := s.count("a:all"); n != 8 {
			t.Errorf("%d hourly ticks are caught up, want 8", n)
		}
		s.stop()
	})
}

// A tick that made a run makes no other when the clock comes to it again; between, the schedule goes
// on.
func TestClockThatIsSetBackSilencesNoScheduleAndRepeatsNoTick(t *testing.T) { // F22
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		clock.set(8 * time.Hour)
		s := newServer(t, succeed)
		s.wall(&clock)
		s.rt.SetHeartbeat(time.Minute)
		s.rt.Start()
		synctest.Wait()
		s.put(scheduled("a", `{"cron":"*/10 * * * *"}`, `{"name":"every","every":"10m"}`))
		until(minutes(35))
		clock.set(0)
		until(minutes(51))
		s.wantLedger("a:default", "00:40 ran", "00:50 ran", "08:10 ran", "08:20 ran", "08:30 ran")
		s.wantLedger("a:every", "00:40 ran", "00:50 ran", "08:10 ran", "08:20 ran", "08:30 ran")
		until(8*time.Hour + minutes(51))
		s.wantLedger("a:default", "00:40 ran", "...")
		// 49 from 00:40 to 08:40, and 08:50.
		if n := s.count("a:default"); n != 50 {
			t.Errorf("%d runs, want 50", n)
		}
		s.stop()
	})
}

func TestMissedTicksThatComeAgainAreDecidedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		s := newServer(t, succeed)
		s.wall(&clock)
		s.rt.SetHeartbeat(time.Minute)
		s.rt.Start()
		synctest.Wait()
		s.put(scheduled("a", `{"cron":"*/10 * * * *","catch_up":{"mode":"none"}}`))
		until(minutes(35))
		clock.set(8 * time.Hour)
		until(minutes(45))
		s.wantLedger("a:default", "00:10 ran", "00:20 ran", "00:30 ran", "00:40-08:30 48 skipped missed", "08:40 ran")
		clock.set(0) // it is 00:45
		until(minutes(71))
		s.wantLedger("a:default", "00:10 ran", "00:20 ran", "00:30 ran", "00:40 skipped missed", "00:50 ran",
			"01:00 ran", "01:10 ran", "08:40 ran")
		until(8*time.Hour + minutes(51))
		s.wantLedger("a:default", "00:10 ran", "00:20 ran", "00:30 ran", "00:40 skipped missed", "00:50 ran", "...",
			"08:40 ran", "08:50 ran")
		s.stop()
	})
}

// An outage, after the clock was set back, over ticks that were decided before.
func TestOutageOverTicksThatWereDecidedBefore(t *testing.T) {
	for _, mode := range []string{"none", "latest", "all"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock settable
				clock.set(time.Hour)
				s := newServer(t, succeed)
				s.wall(&clock)
				s.rt.Start()
				synctest.Wait()
				s.put(scheduled("a", `{"cron":"*/10 * * * *","catch_up":{"mode":"`+mode+`"}}`))
				until(minutes(35)) // 01:10, 01:20, 01:30 ran
				clock.set(0)
				until(minutes(45)) // 00:40 ran
				s.stop()
				until(minutes(115))
				s.serveWith(&clock)
				until(minutes(121))
				tail := map[string][]string{
					"none":   {"00:50-01:00 2 skipped missed", "01:10 ran", "01:20 ran", "01:30 ran", "01:40-01:50 2 skipped missed"},
					"latest": {"00:50-01:00 2 skipped missed", "01:10 ran", "01:20 ran", "01:30 ran", "01:40 skipped missed", "01:50 caught_up"},
					"all": {
						"00:50 caught_up", "01:00 caught_up", "01:10 ran", "01:20 ran", "01:30 ran", "01:40 caught_up",
						"01:50 caught_up",
					},
				}[mode]
				s.wantLedger("a:default", append(append([]string{"00:40 ran"}, tail...), "02:00 ran")...)
				s.stop()
			})
		})
	}
}

// The clock was set while nothing ran: ticks go by what it shows, once the first claim has seen it.
func TestStartAfterTheClockWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		m := &machine{boot: "b", from: time.Now()}
		s.begin(m)
		s.put(scheduled("a", `{"cron":"*/10 * * * *"}`))
		until(minutes(15))
		if err := s.rt.Stop(nil); err != nil {
			t.Fatal(err)
		}
		until(minutes(45))
		m.set = 25 * time.Minute // nothing but 5 minutes has passed
		s.begin(m)
		until(minutes(51))
		s.wantLedger("a:default", "00:10 ran", "00:20-00:30 2 skipped missed", "00:40 caught_up", "00:50 ran")
		s.stop()
	})
}

// stalled is a store under which the ticker stands still for a while.
type stalled struct {
	store.Store
	once atomic.Bool
	by   time.Duration
}

func (f *stalled) DueSchedules(ctx context.Context, now jobs.Time, limit int) (store.DueSchedules, error) {
	due, err := f.Store.DueSchedules(ctx, now, limit)
	if len(due.List) > 0 && f.once.CompareAndSwap(true, false) {
		time.Sleep(f.by)
	}
	return due, err
}

// A process that was stopped goes on with what it was about to do, which is out of date.
func TestStallOfTheTickerIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		st := &stalled{Store: s.st, by: minutes(3) + 30*time.Second}
		s.revive(st)
		s.rt.Start()
		synctest.Wait()
		s.put(scheduled("a", everyMinute))
		until(minutes(1) + 30*time.Second)
		st.once.Store(true)
		until(minutes(4))
		if err := s.rt.Health(context.Background()); err == nil {
			t.Error("the server is well while no tick is decided")
		}
		until(minutes(7) + time.Second)
		if err := s.rt.Health(context.Background()); err != nil {
			t.Error(err)
		}
		// That of 00:02 was on time when the ticker looked.
		s.wantLedger("a:default", "00:01 ran", "00:02 ran", "00:03-00:04 2 skipped missed", "00:05 caught_up",
			"00:06 ran", "00:07 ran")
		s.stop()
	})
}

// others is a store in which the backlogs of other schedules come first.
type others struct {
	store.Store
	first atomic.Bool
}

func (f *others) Backlogs(ctx context.Context, limit int) ([]*store.Schedule, error) {
	if f.first.Load() {
		return nil, nil
	}
	return f.Store.Backlogs(ctx, limit)
}

// Missed ticks that are not caught up yet do not hold up those that come after the next outage.
func TestOutageBeforeTheLastOneIsCaughtUp(t *testing.T) {
	for mode, want := range map[string][]string{
		"all":    {"00:02 caught_up", "00:03 caught_up", "00:04 ran", "00:05 ran", "00:06 caught_up", "00:07 caught_up"},
		"latest": {"00:02 skipped missed", "00:03 caught_up", "00:04 ran", "00:05 ran", "00:06 skipped missed", "00:07 caught_up"},
	} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, succeed)
				s.put(scheduled("a", minutely(`"catch_up":{"mode":"`+mode+`"}`)))
				s.rt.Start()
				until(minutes(1) + time.Second)
				var st others
				st.first.Store(true)
				serve := func() {
					s.open()
					st.Store = s.st
					s.revive(&st)
					s.rt.Start()
				}
				s.stop()
				until(minutes(3) + 30*time.Second)
				serve()
				until(minutes(5) + time.Second)
				s.stop()
				until(minutes(7) + 30*time.Second)
				serve()
				until(minutes(9) + time.Second)
				s.wantRuns("a:default", "00:01 succeeded", "00:04 succeeded", "00:05 succeeded", "00:08 succeeded",
					"00:09 succeeded")
				st.first.Store(false)
				until(minutes(10) + time.Second)
				s.wantLedger("a:default", append(append([]string{"00:01 ran"}, want...), "00:08 ran", "00:09 ran",
					"00:10 ran")...)
				s.stop()
			})
		})
	}
}
