package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// once is a job that fails at its first attempt.
const once = `{"name":"once","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":1}}`

func fails(context.Context, *jobs.Call) jobs.Report {
	return jobs.Report{ExitCode: -1, Failure: unreachable()}
}

func TestThatMoreIsKeptThanMayBeIsToldOnceForAsLongAsItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fails)
		s.reviveAs(s.st, func(cfg *runtime.Config) { cfg.Keep = map[store.KeptKind]int64{store.KeptRuns: 10} })
		s.put(once)
		s.rt.Start()
		until(minutes(1) + time.Second)
		failed := s.submit(jobs.Request{Job: "once"})
		until(minutes(30))
		s.wantTold(jobs.EventKeepExceeded, "01:05 kept/runs")
		d := eventsOf[jobs.KeepExceeded](s, jobs.EventKeepExceeded)[0]
		if d.Kind != "runs" || d.Kept <= 10 || d.Most != 10 || !strings.Contains(d.Reason, "--keep-runs") {
			t.Errorf("it tells %+v", d)
		}
		by := store.By{Actor: "test"}
		if err := s.rt.Deal(context.Background(), failed, store.Dealing{Status: jobs.FailureResolved}, by); err != nil {
			t.Fatal(err)
		}
		until(minutes(31) + time.Second)
		if _, err := s.st.Run(context.Background(), failed); err == nil {
			t.Error("it may go once somebody has dealt with it, and is there")
		}
		s.submit(jobs.Request{Job: "once"})
		until(minutes(60))
		s.wantTold(jobs.EventKeepExceeded, "01:05 kept/runs", "31:05 kept/runs")
		s.stop()
	})
}

func TestLogSaysThatItWasPruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			_, _ = c.Log.Write([]byte(strings.Repeat("x", 100)))
			return jobs.Report{ExitCode: -1}
		})
		s.reviveAs(s.st, func(cfg *runtime.Config) { cfg.Keep = map[store.KeptKind]int64{store.KeptLogs: 300} })
		s.put(webhookJob)
		s.rt.Start()
		var ids []jobs.ID
		for range 4 {
			ids = append(ids, s.submit(jobs.Request{Job: "a"}))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		for i, id := range ids {
			var log strings.Builder
			if err := s.rt.Log(context.Background(), id, &log, false, func() {}); err != nil {
				t.Fatal(err)
			}
			if pruned := strings.Contains(log.String(), "[... 100 bytes pruned"); pruned != (i < 3) || !pruned && log.Len() != 100 {
				t.Errorf("the log of run %d is %q", i, log.String())
			}
		}
		s.stop()
	})
}

// Runs that are kept for a second are gone some seconds later, however many there are.
func TestRunsGoSoonAfterTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"retain":{"succeeded":"1s"}}`)
		s.rt.Start()
		var ids []jobs.ID
		for range 1200 {
			ids = append(ids, s.submit(jobs.Request{Job: "a"}))
		}
		time.Sleep(15 * time.Second)
		for _, id := range ids {
			if _, err := s.st.Run(context.Background(), id); err == nil {
				t.Fatalf("run %s is there", id)
			}
		}
		s.stop()
	})
}

// A clock that is set years ahead by mistake does not cost the history, if it is set right within the hour; where it
// stays, ages are measured by it from then on. F22
func TestClockThatLeapsAheadPrunesNothingAtOnce(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	for _, c := range []struct {
		name    string
		started bool // with that clock, not when it is set
		back    bool
	}{
		{"set and set right", false, true},
		{"set for good", false, false},
		{"started with it and set right", true, true},
		{"started with it for good", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock settable
				s := newServer(t, succeed)
				s.wall(&clock)
				s.put(webhookJob)
				s.rt.Start()
				id := s.submit(jobs.Request{Job: "a"})
				gone := func() bool {
					_, err := s.st.Run(context.Background(), id)
					return err != nil
				}
				until(minutes(2))
				if c.started {
					s.stop()
					clock.set(years)
					s.serveWith(&clock)
				}
				clock.set(years)
				until(minutes(55))
				if gone() {
					t.Fatal("the run is gone before the clock was ahead for an hour")
				}
				if c.back {
					clock.set(0)
				}
				until(minutes(70))
				if gone() == c.back {
					t.Errorf("after more than an hour the run is gone: %t, want %t", gone(), !c.back)
				}
				s.stop()
			})
		})
	}
}
