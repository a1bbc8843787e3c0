package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// asked counts how often the store is asked what there is to do.
type asked struct {
	store.Store
	n atomic.Int64
}

func (f *asked) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	f.n.Add(1)
	return f.Store.Claim(ctx, c)
}

func (f *asked) DueSchedules(ctx context.Context, now jobs.Time, limit int) (store.DueSchedules, error) {
	f.n.Add(1)
	return f.Store.DueSchedules(ctx, now, limit)
}

// count is how many have begun to execute.
func (e *executed) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.order)
}

// What is further away than timers of 32 bits reach neither starts at once nor keeps the server busy.
func TestWhatIsFarAwayWaitsIdle(t *testing.T) { // case 22
	unraced(t)
	synctest.Test(t, func(t *testing.T) {
		var k executed
		s := newServer(t, k.run)
		st := &asked{Store: s.st}
		s.revive(st)
		s.put(scheduled("a", `{"cron":"0 8 1 12 *"}`))
		s.rt.Start()
		due := jobs.TimeOf(time.Now().Add(60 * 24 * time.Hour))
		id := s.submit(jobs.Request{Job: "a", RunAt: due})
		until(minutes(1))
		before := st.n.Load()
		until(minutes(3))
		if n := st.n.Load() - before; n > 60 { // a look each few seconds
			t.Errorf("the store was asked %d times in two idle minutes", n)
		}
		if run := s.run(id); run.State != jobs.Scheduled || run.RunAt != due {
			t.Errorf("the run is %s, due %s", run.State, run.RunAt)
		}
		// The next start is to wait as well, past the 24.9 days.
		s.stop()
		s.open()
		s.rt.SetHeartbeat(6 * time.Hour)
		s.rt.Start()
		until(60*24*time.Hour - time.Second)
		if run := s.run(id); run.State != jobs.Scheduled || k.count() > 0 {
			t.Errorf("a second before it is due the run is %s, and %d executed", run.State, k.count())
		}
		until(60*24*time.Hour + time.Second)
		if run := s.run(id); run.State != jobs.Succeeded || run.StartedAt.Sub(due) > time.Second {
			t.Errorf("once it is due the run is %s, started at %s", run.State, run.StartedAt)
		}
		s.wantRuns("a:default")
		s.stop()
	})
}

// A clock that is wrong by ten years for a while makes no more runs than catch-up allows, silences no
// schedule, and repeats no tick.
func TestClockThatIsTenYearsAheadForAWhile(t *testing.T) { // F22
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		var k executed
		s := newServer(t, k.run)
		s.wall(&clock)
		s.rt.SetHeartbeat(time.Minute)
		s.rt.Start()
		synctest.Wait()
		// What is kept for a week is past that meanwhile.
		s.put(strings.Replace(scheduled("a", `{"cron":"*/10 * * * *"}`, `{"name":"every","every":"10m"}`,
			`{"name":"all","cron":"*/10 * * * *","catch_up":{"mode":"all","limit":20}}`),
			`"name":"a",`, `"name":"a","retain":{"succeeded":"3653d"},`, 1))
		until(minutes(15))
		if k.count() != 3 {
			t.Fatalf("%d runs before, want 3", k.count())
		}
		clock.set(10 * 365 * 24 * time.Hour)
		until(minutes(18)) // a heartbeat later, and before the next tick
		if n := k.count(); n != 3+1+1+20 {
			t.Errorf("%d runs after the clock went ahead, want 2 of the newest ticks and 20 that are caught up", n-3)
		}
		clock.set(0)
		until(minutes(61))
		want := []string{"00:10 succeeded", "00:20 succeeded", "00:30 succeeded", "00:40 succeeded", "00:50 succeeded", "01:00 succeeded"}
		for _, name := range []string{"a:default", "a:every", "a:all"} {
			got := states(s.runsFor(name)) // none twice
			if len(got) < len(want) || !alike(got[:len(want)], want) {
				t.Errorf("%s went on with %q, want %q", name, got, want)
			}
		}
		s.stop()
	})
}
