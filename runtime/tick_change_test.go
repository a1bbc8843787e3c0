package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// schedule saves one that stands by itself.
func (s *server) schedule(name, doc string) {
	s.t.Helper()
	s.saveSchedules([]runtime.PutSchedule{{Schedule: parsedSchedule(s.t, name, doc)}})
}

func parsedSchedule(t testing.TB, name, doc string) *jobs.Schedule {
	t.Helper()
	sched, err := jobs.ParseSchedule([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	sched.Name = name
	return sched
}

func (s *server) saveSchedules(puts []runtime.PutSchedule) {
	s.t.Helper()
	if _, err := s.rt.Save(context.Background(), runtime.Changes{Schedules: puts}, byTest); err != nil {
		s.t.Fatal(err)
	}
}

// manySchedules saves s0, s1 and so on.
func (s *server) manySchedules(n int, doc string) {
	s.t.Helper()
	puts := make([]runtime.PutSchedule, n)
	for i := range puts {
		puts[i].Schedule = parsedSchedule(s.t, fmt.Sprintf("s%d", i), doc)
	}
	s.saveSchedules(puts)
}

func (s *server) pause(name string, paused bool) {
	s.t.Helper()
	if _, err := s.rt.PauseSchedule(context.Background(), name, paused, "", byTest); err != nil {
		s.t.Fatal(err)
	}
}

// count is how many runs a schedule has made.
func (s *server) count(schedule string) int {
	s.t.Helper()
	return len(s.runsFor(schedule))
}

func TestTicksWhilePausedAreSkippedForGood(t *testing.T) { // cases 24, 29
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(scheduled("a", `{"cron":"*/2 * * * *","catch_up":{"mode":"all"}}`))
		s.rt.Start()
		until(minutes(3))
		s.pause("a:default", true)
		until(minutes(5) + 30*time.Second)
		s.pause("a:default", true)
		s.pause("a:default", false)
		until(minutes(5) + 59*time.Second)
		s.wantRuns("a:default", "00:02 succeeded")
		until(minutes(6) + time.Second)
		s.wantRuns("a:default", "00:02 succeeded", "00:06 succeeded")

		s.pause("a:default", true)
		until(minutes(60))
		s.outage(minutes(100))
		s.pause("a:default", false)
		until(minutes(163))
		s.wantLedger("a:default", "00:02 ran", "00:04 skipped paused", "00:06 ran",
			"00:08-02:40 77 skipped paused", "02:42 ran")
		s.stop()
	})
}

func TestPauseDecidesWhatWasDueBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(scheduled("a", minutely(`"catch_up":{"mode":"all"}`)))
		s.stop()
		time.Sleep(minutes(4) + 5*time.Second)
		s.open() // nothing has been decided yet
		s.pause("a:default", true)
		s.pause("a:default", false)
		s.wantLedger("a:default", "00:01 caught_up", "00:02 caught_up", "00:03 caught_up", "00:04 ran")
		s.rt.Start()
		until(minutes(5) + time.Second)
		s.wantLedger("a:default", "00:01 caught_up", "00:02 caught_up", "00:03 caught_up", "00:04 ran", "00:05 ran")
		s.stop()
	})
}

func TestEditFiresNothingPast(t *testing.T) { // cases 30, 34
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		until(20 * time.Hour)
		s.schedule0(`{"cron":"0 3 * * *","job":"a"}`)
		s.rt.Start()
		for _, cron := range []string{"0 19 * * *", "59 19 * * *", "0 20 * * *", "0 6 * * *"} {
			s.schedule("s", `{"job":"a","cron":"`+cron+`"}`)
			time.Sleep(3 * time.Second)
		}
		s.schedule("s", `{"job":"a","cron":"0 23 * * *","start":"1999-12-31T00:00:00Z"}`)
		for range 3 {
			s.outage(minutes(20))
		}
		until(22*time.Hour + minutes(59))
		if n := s.count("s"); n > 0 {
			t.Errorf("%d runs before the first tick", n)
		}
		until(23*time.Hour + time.Second)
		s.wantRuns("s", "23:00 succeeded")
		s.stop()
	})
}

// schedule0 saves the job a and its schedule s.
func (s *server) schedule0(doc string) {
	s.t.Helper()
	s.put(webhookJob)
	s.schedule("s", doc)
}

func TestEditHoldsFromItsTime(t *testing.T) { // cases 31, 36
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		s.schedule0(`{"job":"a","cron":"0 0 1 2 *"}`)
		s.rt.Start()
		until(minutes(10) + 30*time.Second)
		for range 5 {
			s.schedule("s", `{"job":"a","cron":"* * * * *"}`)
		}
		until(minutes(12) + time.Second)
		s.wantRuns("s", "00:11 succeeded", "00:12 succeeded")
		s.schedule("s", `{"job":"a","cron":"*/30 * * * *"}`)
		until(minutes(31))
		s.wantRuns("s", "00:11 succeeded", "00:12 succeeded", "00:30 succeeded")
		s.schedule("s", `{"job":"a","cron":"0 0 1 2 *"}`)
		until(minutes(70))
		if n := s.count("s"); n != 3 {
			t.Errorf("%d runs, want no more", n)
		}
		list, _, err := s.st.Schedules(context.Background(), store.ScheduleFilter{}, store.Page{Limit: 9})
		if err != nil || len(list) != 1 {
			t.Errorf("%d schedules, %v", len(list), err)
		}
	})
}

// What is past when a schedule changes is decided by what it said till then.
func TestSaveDecidesThePastByTheOldText(t *testing.T) {
	const all = `{"job":"a","cron":"* * * * *","catch_up":{"mode":"all"},"payload":"old"}`
	cases := []struct {
		name   string
		change func(s *server)
		want   []string
	}{
		{"text", func(s *server) { s.schedule("s", `{"job":"a","cron":"*/2 * * * *","payload":"new"}`) }, []string{"00:06 ran"}},
		{"job", func(s *server) {
			s.put(`{"name":"b","webhook":{"url":"http://127.0.0.1:9/"}}`)
			s.schedule("s", `{"job":"b","cron":"*/2 * * * *"}`)
		}, nil},
		{"none", func(s *server) { s.schedule("s", all) }, []string{"00:05 ran", "00:06 ran"}},
	}
	for _, c := range cases {
		for _, before := range []bool{true, false} { // Start
			t.Run(fmt.Sprint(c.name, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, succeed)
					s.schedule0(all)
					s.rt.Start()
					until(minutes(1) + 30*time.Second)
					s.stop()
					until(minutes(4) + 5*time.Second)
					s.open()
					if before {
						c.change(s)
						s.rt.Start()
					} else {
						s.rt.Start()
						synctest.Wait()
						c.change(s)
					}
					until(minutes(6) + time.Second)
					past := []string{"00:01 ran", "00:02 caught_up", "00:03 caught_up", "00:04 ran"}
					if c.want != nil {
						s.wantLedger("s", append(past, c.want...)...)
					} else {
						s.wantLedger("s", "00:06 ran") // the ledger of the new job
					}
					for _, run := range s.runsFor("s") {
						old := run.ScheduledFor <= jobs.TimeOf(time.Date(2000, 1, 1, 0, 4, 0, 0, time.UTC))
						whole := s.run(run.ID)
						if old && (whole.Job != "a" || string(whole.Payload) != `"old"`) {
							t.Errorf("the run for %s is of %s with %s", run.ScheduledFor, whole.Job, whole.Payload)
						}
					}
					s.stop()
				})
			})
		}
	}
}

func TestSaveOfOneScheduleFiresNoOther(t *testing.T) { // case 27
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(webhookJob)
		s.manySchedules(20, `{"job":"a","cron":"0 * * * *"}`)
		s.rt.Start()
		until(minutes(30))
		s.outage(minutes(40))
		synctest.Wait()
		for i := range 10 {
			s.schedule("other", fmt.Sprintf(`{"job":"a","cron":"%d * * * *"}`, i))
			time.Sleep(time.Second)
		}
		for i := range 20 {
			s.wantRuns(fmt.Sprintf("s%d", i), "01:00 succeeded")
		}
		s.stop()
	})
}

func TestEqualSchedulesAreTwo(t *testing.T) { // case 37
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		s.put(scheduled("a", `{"name":"x","cron":"* * * * *","payload":1}`, `{"name":"y","cron":"* * * * *","payload":2}`))
		s.put(scheduled("b", everyMinute))
		s.rt.Start()
		until(minutes(2) + time.Second)
		for name, payload := range map[string]string{"a:x": "1", "a:y": "2", "b:default": "{}"} {
			s.wantRuns(name, "00:01 succeeded", "00:02 succeeded")
			if got := s.run(s.runsFor(name)[0].ID).Payload; string(got) != payload {
				t.Errorf("%s has the payload %s", name, got)
			}
		}
	})
}

func TestScheduleMadeAgainGoesOnAndFiresNoTickTwice(t *testing.T) { // case 38
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		const doc = `{"job":"a","cron":"* * * * *"}`
		s.schedule0(doc)
		s.rt.Start()
		ctx := context.Background()
		for i := range 3 {
			until(minutes(i+1) + time.Duration(i)*time.Millisecond) // also in the instant of a tick
			if err := s.rt.DeleteSchedule(ctx, "s", nil, byTest); err != nil {
				t.Fatal(err)
			}
			if err := s.rt.DeleteSchedule(ctx, "s", nil, byTest); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
			s.schedule("s", doc)
		}
		until(minutes(4) + time.Second)
		s.wantLedger("s", "00:01 ran", "00:02 ran", "00:03 ran", "00:04 ran")
		s.wantRuns("s", "00:01 succeeded", "00:02 succeeded", "00:03 succeeded", "00:04 succeeded")
	})
}

func TestDeletedJobTicksNoMore(t *testing.T) { // case 72
	synctest.Test(t, func(t *testing.T) {
		var k executed
		s := newServer(t, k.run)
		s.schedule0(`{"job":"a","cron":"* * * * *"}`)
		s.put(scheduled("b", everyMinute))
		s.rt.Start()
		until(minutes(2) + time.Second)
		for _, job := range []string{"a", "b"} {
			if _, err := s.rt.DeleteJob(context.Background(), job, nil, byTest); err != nil {
				t.Fatal(err)
			}
		}
		until(minutes(5))
		s.outage(minutes(3))
		until(minutes(10))
		if len(k.order) != 4 {
			t.Errorf("%d runs, want the 4 before", len(k.order))
		}
		s.stop()
	})
}

func TestDeletionDecidesWhatWasDueBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.schedule0(`{"job":"a","cron":"* * * * *","catch_up":{"mode":"all"}}`)
		s.stop()
		time.Sleep(minutes(2) + 5*time.Second)
		s.open()
		if err := s.rt.DeleteSchedule(context.Background(), "s", nil, byTest); err != nil {
			t.Fatal(err)
		}
		s.rt.Start()
		until(minutes(5))
		s.wantRuns("s", "00:01 succeeded", "00:02 succeeded")
		s.stop()
	})
}

// A save with a backlog of many runs makes them all first.
func TestSaveWorksABacklogOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.schedule0(`{"job":"a","cron":"* * * * * *","catch_up":{"mode":"all","limit":1000}}`)
		s.stop()
		time.Sleep(20*time.Minute + 500*time.Millisecond)
		s.open()
		s.schedule("s", `{"job":"a","cron":"0 0 1 2 *"}`)
		ticks := s.ledger("s")
		if len(ticks) != 1002 || ticks[0].Reason != jobs.SkipLimit || ticks[0].Count != 199 ||
			ticks[1].Outcome != jobs.TickCaughtUp || ticks[1001].Outcome != jobs.TickRan {
			t.Errorf("%d lines: %q", len(ticks), lines(ticks[:3]))
		}
		s.stop()
	})
}

// slowToDecide is a store where another may write between a look at a schedule and its decision.
type slowToDecide struct {
	store.Store
	stale atomic.Int64 // decisions that were out of date
}

func (f *slowToDecide) Decide(
	ctx context.Context, now jobs.Time, list []store.Decision,
) ([]store.Decided, error) {
	time.Sleep(10 * time.Millisecond)
	out, err := f.Store.Decide(ctx, now, list)
	for i := range out {
		if out[i].Stale {
			f.stale.Add(1)
		}
	}
	return out, err
}

// The ticker must not keep a save from making the runs of a backlog, nor the save the ticker.
func TestSaveAndTickerAreNotInEachOthersWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(webhookJob)
		s.manySchedules(4, `{"job":"a","cron":"*/5 * * * * *","catch_up":{"mode":"all","limit":10000}}`)
		s.stop()
		time.Sleep(2*time.Hour + 2*time.Second)
		s.open()
		st := &slowToDecide{Store: s.st}
		s.revive(st)
		s.rt.Start()
		time.Sleep(100 * time.Millisecond)
		s.schedule("s3", `{"job":"a","cron":"0 0 1 2 *"}`)
		if n := st.stale.Load(); n > 1 { // that of the ticker which was under way
			t.Errorf("%d decisions were out of date", n)
		}
		if ticks := s.ledger("s3"); len(ticks) != 1440 {
			t.Errorf("%d ticks are decided, want 1440", len(ticks))
		}
		s.stop()
	})
}
