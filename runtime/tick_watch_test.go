package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// watched is a store that tells what it is told to tell of what is watched, and fails where it is told to.
type watched struct {
	store.Store
	open     atomic.Int64  // failures
	reopened atomic.Int64  // calls
	fail     atomic.Value  // of type failure: of all that is watched but long runs
	probe    atomic.Value  // of type failure: of Probe
	claims   chan struct{} // claims wait until it is closed; nil: they do not
	waits    atomic.Bool
}

func failureIn(v *atomic.Value) error {
	f, _ := v.Load().(failure)
	return f.error
}

func (w *watched) OpenFailures(context.Context, int) (int, error) {
	return int(w.open.Load()), failureIn(&w.fail)
}

func (w *watched) ReopenIgnored(context.Context, jobs.Time) (int, error) {
	w.reopened.Add(1)
	return 0, failureIn(&w.fail)
}

func (w *watched) WorkerWaits(ctx context.Context, before, now jobs.Time) ([]store.WorkerWait, error) {
	if err := failureIn(&w.fail); err != nil {
		return nil, err
	}
	return w.Store.WorkerWaits(ctx, before, now)
}

func (w *watched) Probe(ctx context.Context, now jobs.Time) error {
	if err := failureIn(&w.probe); err != nil {
		return err
	}
	return w.Store.Probe(ctx, now)
}

func (w *watched) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	if w.waits.Load() {
		<-w.claims
	}
	return w.Store.Claim(ctx, c)
}

// told are the events of some types, with when they were kept.
func (s *server) told(kinds ...string) (all []string) {
	s.t.Helper()
	events, err := s.rt.Events(context.Background(), 0, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		if slices.Contains(kinds, e.Type) {
			all = append(all, e.At.Std().UTC().Format("04:05 ")+e.Subject)
		}
	}
	return all
}

func (s *server) wantTold(kind string, want ...string) {
	s.t.Helper()
	if got := s.told(kind); !slices.Equal(got, want) {
		s.t.Errorf("told of %s: %q, want %q", kind, got, want)
	}
}

// busy makes n jobs of webhooks that hang, with more in their documents, and a run of each.
func (s *server) busy(n int, more string) {
	s.t.Helper()
	s.put(`{"name":"busy","webhook":{"url":"http://127.0.0.1:9/"},"timeout":"24h"` + more + `}`)
	for range n {
		s.submit(jobs.Request{Job: "busy"})
	}
}

const unboundHost = `{"concurrency":null,"breaker":null}`

func (s *server) unbound() {
	s.t.Helper()
	_, err := s.st.Save(context.Background(), store.Changes{Documents: []store.PutDocument{{
		Kind: store.KindDependency, Name: "127.0.0.1:9", Doc: jobs.Raw(unboundHost),
	}}}, store.By{Actor: "test", Now: s.rt.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestRunsThatTakeLongAreToldOfAtTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, untilStopped)
		s.rt.Start()
		synctest.Wait()
		until(5 * time.Second)
		s.busy(1, `,"long_after":"7s"`)
		until(6 * time.Second)
		s.busy(1, `,"long_after":"3s"`)
		changed, stop := s.rt.EventChanges()
		defer stop()
		until(minutes(2))
		var all []string
		for _, at := range s.told(jobs.EventRunLong) {
			all = append(all, at[:5])
		}
		if got := strings.Join(all, " "); got != "00:09 00:12" {
			t.Errorf("told at %s", got)
		}
		select {
		case <-changed:
		default:
			t.Error("nobody who follows events was told")
		}
		s.stop()
	})
}

func TestQueueIsStuckWhileItsRunsWaitForNothingButAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Pointer[chan struct{}]
		free.Store(new(make(chan struct{})))
		s := newServer(t, func(ctx context.Context, _ *jobs.Call) jobs.Report {
			select {
			case <-*free.Load():
			case <-ctx.Done():
			}
			return jobs.Report{ExitCode: -1, Stopped: context.Cause(ctx)}
		})
		s.unbound()
		s.put(`{"name":"limited","webhook":{"url":"http://127.0.0.1:9/"},"queue":"other","concurrency":{"limit":1}}`)
		s.rt.Start()
		synctest.Wait()
		s.submit(jobs.Request{Job: "limited"})
		s.submit(jobs.Request{Job: "limited"}) // it waits for its limit
		s.busy(8, "")                          // the last of these waits for a worker
		until(minutes(5) - time.Second)
		s.wantTold(jobs.EventQueueStuck)
		until(minutes(8))
		s.wantTold(jobs.EventQueueStuck, "05:00 queue/default")
		d := eventsOf[jobs.QueueStuck](s, jobs.EventQueueStuck)[0]
		if d.Kind != "webhook" || d.Workers != 8 || d.Job != "busy" || !strings.Contains(d.Reason, "has waited 5m for nothing but one of 8 webhook workers") ||
			strings.Contains(d.Reason, "stands still") {
			t.Errorf("it tells %+v", d)
		}
		was := free.Swap(new(make(chan struct{})))
		close(*was)
		until(minutes(9))
		s.busy(9, "")
		until(minutes(15))
		s.wantTold(jobs.EventQueueStuck, "05:00 queue/default", "14:00 queue/default")
		close(*free.Load())
		s.stop()
	})
}

func TestWhatWasHeldHasNotWaitedForAWorkerMeanwhile(t *testing.T) {
	const minute = time.Minute
	cases := map[string]struct {
		hold, letGo func(s *server)
		want        string
	}{
		"paused": {
			func(s *server) { s.pauseJob("late", true) }, func(s *server) { s.pauseJob("late", false) }, "25:20 queue/default",
		},
		"draining": {
			func(s *server) { s.drain(true) }, func(s *server) { s.drain(false) }, "25:20 queue/default",
		},
		"down": {
			func(s *server) { s.stop() }, func(s *server) { s.serve() }, "25:10 queue/default",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, untilStopped)
				s.unbound()
				s.rt.Start()
				synctest.Wait()
				// It may be the one that gets a worker after a restart: it must not give it back in between.
				s.put(`{"name":"late","webhook":{"url":"http://127.0.0.1:9/"},"timeout":"24h"}`)
				s.busy(8, "")
				until(time.Second)
				if name == "paused" {
					c.hold(s)
				}
				s.submit(jobs.Request{Job: "late"})
				if name != "paused" {
					c.hold(s)
				}
				until(20*minute + 10*time.Second)
				c.letGo(s)
				until(25*minute + 9*time.Second)
				s.wantTold(jobs.EventQueueStuck)
				until(26 * minute)
				s.wantTold(jobs.EventQueueStuck, c.want)
				s.stop()
			})
		})
	}
}

func (s *server) pauseJob(job string, paused bool) {
	s.t.Helper()
	if _, err := s.rt.PauseJob(context.Background(), job, paused, "", store.By{Actor: "test"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) drain(on bool) {
	s.t.Helper()
	by := store.By{Actor: "test"}
	err := error(nil)
	if on {
		err = s.rt.Drain(context.Background(), by)
	} else {
		_, err = s.rt.Resume(context.Background(), false, by)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// What is told is kept in the file: a restart tells nothing again.
func TestRestartTellsOfNothingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, untilStopped)
		s.unbound()
		s.put(`{"name":"late","webhook":{"url":"http://127.0.0.1:9/"},"priority":-100}`)
		disk := func(cfg *runtime.Config) {
			cfg.Disk = func() (jobs.Disk, error) { return jobs.Disk{Path: "/", Free: 1 << 20, Total: 1 << 40}, nil }
		}
		s.reviveAs(s.st, disk)
		s.rt.Start()
		synctest.Wait()
		s.busy(8, "")
		s.submit(jobs.Request{Job: "late"})
		until(minutes(6))
		s.stop()
		until(minutes(7))
		s.open()
		s.reviveAs(s.st, disk)
		s.rt.Start()
		until(minutes(20))
		s.wantTold(jobs.EventQueueStuck, "05:00 queue/default")
		s.wantTold(jobs.EventDiskLow, "00:00 disk")
		s.stop()
	})
}

func TestDispatcherThatStandsStillIsTold(t *testing.T) { // case 148
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		st := &watched{Store: s.st, claims: make(chan struct{})}
		beats := 0
		s.reviveAs(st, func(cfg *runtime.Config) {
			cfg.Heartbeat = func(context.Context) error { beats++; return nil }
		})
		s.rt.Start()
		until(time.Second)
		st.waits.Store(true)
		s.busy(1, "")
		until(minutes(2))
		if err := s.rt.Health(context.Background()); err == nil || !strings.Contains(err.Error(), "the dispatcher stands still: no run has been given out for 1m") {
			t.Errorf("health is %v", err)
		}
		until(minutes(6))
		if beats != 1 {
			t.Errorf("%d heartbeats, want that of the start alone", beats)
		}
		s.wantTold(jobs.EventQueueStuck, "05:20 queue/default")
		if d := eventsOf[jobs.QueueStuck](s, jobs.EventQueueStuck)[0]; !strings.Contains(d.Reason, "the dispatcher stands still") {
			t.Errorf("it tells %s", d.Reason)
		}
		close(st.claims)
		until(minutes(7) + time.Second)
		if err := s.rt.Health(context.Background()); err != nil || beats != 2 {
			t.Errorf("health is %v after %d heartbeats", err, beats)
		}
		s.stop()
	})
}

func TestManyFailuresAreToldOncePerEpisode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		st := &watched{Store: s.st}
		s.revive(st)
		s.rt.Start()
		for i, open := range []int64{9999, 10_000, 9999, 10_000, 9000, 10_000, 8999, 10_000, 0} {
			st.open.Store(open)
			until(minutes(i + 1))
		}
		s.wantTold(jobs.EventFailuresMany, "01:20 failures", "07:20 failures")
		if d := eventsOf[jobs.ManyFailures](s, jobs.EventFailuresMany)[0]; d.Count != 10_000 {
			t.Errorf("it tells %+v", d)
		}
		if st.reopened.Load() < 27 {
			t.Errorf("ignored failures were looked at %d times in 9 minutes", st.reopened.Load())
		}
		s.stop()
	})
}

func TestLowDiskIsToldOnceUntilThereIsRoomAgain(t *testing.T) {
	const mib, gib = int64(1 << 20), int64(1 << 30)
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		var now atomic.Pointer[jobs.Disk]
		s.reviveAs(s.st, func(cfg *runtime.Config) {
			cfg.Disk = func() (jobs.Disk, error) {
				if d := now.Load(); d != nil {
					return *d, nil
				}
				return jobs.Disk{}, errors.New("no such disk")
			}
		})
		s.rt.Start()
		for i, d := range []*jobs.Disk{
			nil,
			{Free: 2 * gib, Total: 20 * gib},
			{Free: gib - mib, Total: 15 * gib}, // told
			{Free: gib, Total: 15 * gib},
			{Free: gib / 2, Total: 15 * gib},
			{Free: 2 * gib, Total: 15 * gib},
			{Free: 49 * gib, Total: 1000 * gib}, // told: less than 5 %
			{Free: 51 * gib, Total: 1000 * gib},
			{Free: 49 * gib, Total: 1000 * gib},
			{Free: 56 * gib, Total: 1000 * gib},
			{Free: 49 * gib, Total: 1000 * gib}, // told
		} {
			now.Store(d)
			until(minutes(i + 1))
		}
		s.wantTold(jobs.EventDiskLow, "02:20 disk", "06:20 disk", "10:20 disk")
		d := eventsOf[jobs.DiskLow](s, jobs.EventDiskLow)[0]
		if d.Free != gib-mib || !strings.Contains(d.Reason, "1023 MiB of 15360 MiB are free") {
			t.Errorf("it tells %+v", d)
		}
		s.stop()
	})
}

func TestWhatCannotBeWatchedKeepsNothingElseFromBeingDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		s := newServer(t, untilStopped)
		st := &watched{Store: s.st}
		s.reviveAs(st, func(cfg *runtime.Config) {
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			cfg.Disk = func() (jobs.Disk, error) { return jobs.Disk{Path: "/", Free: 1, Total: 1 << 40}, nil }
		})
		st.fail.Store(failure{errors.New("the index is broken")})
		s.put(scheduled("a", everyMinute))
		s.rt.Start()
		s.busy(1, `,"long_after":"1m"`)
		until(minutes(3) + time.Second)
		s.wantTold(jobs.EventDiskLow, "00:00 disk")
		if n := len(s.told(jobs.EventRunLong)); n != 1 {
			t.Errorf("%d long runs were told of", n)
		}
		s.wantLedger("a:default", "00:01 ran", "00:02 ran", "00:03 ran")
		if err := s.rt.Health(context.Background()); err != nil {
			t.Error(err)
		}
		st.fail.Store(failure{})
		until(minutes(4))
		for _, line := range []string{"cannot look at queues that are stuck", "looked at again: queues that are stuck"} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("%q is %d times in the log", line, n)
			}
		}
		s.stop()
	})
}

// An attempt that the server ends is counted from the last checkpoint on, also one saved in that attempt.
func TestFifthInterruptionInARowIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		saves func(shutdown int) bool
		want  int
	}{
		"without a checkpoint":              {func(int) bool { return false }, 1},
		"with a checkpoint after the third": {func(n int) bool { return n == 3 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, untilStopped)
				s.put(webhookJob)
				id := s.submit(jobs.Request{Job: "a"})
				for n := range 6 {
					if n > 0 {
						s.open()
					}
					s.rt.Start()
					run := s.awaitState(id, jobs.Running)
					if c.saves(n) {
						err := s.rt.SaveCheckpoint(context.Background(), store.Fence{Run: id, Number: run.Counts.Number}, jobs.Raw("1"))
						if err != nil {
							t.Fatal(err)
						}
					}
					s.stop()
				}
				s.open()
				told := eventsOf[jobs.RunInterrupted](s, jobs.EventRunInterrupted)
				if len(told) != c.want || c.want > 0 && (told[0].Interrupts != 5 || told[0].Error.Kind != jobs.FailShutdown) {
					t.Errorf("told of %+v", told)
				}
				s.close()
			})
		})
	}
}
