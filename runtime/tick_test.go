package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

var byTest = store.By{Actor: "test"}

// scheduled is a job with schedules.
func scheduled(job string, schedules ...string) string {
	return fmt.Sprintf(`{"name":%q,"webhook":{"url":"http://127.0.0.1:9/"},"schedules":[%s]}`, job,
		strings.Join(schedules, ","))
}

const everyMinute = `{"cron":"* * * * *"}`

// minutely is a schedule of each minute that says more.
func minutely(more string) string { return `{"cron":"* * * * *",` + more + `}` }

// until sleeps until the test has run for so long: bubbles begin at midnight.
func until(passed time.Duration) {
	midnight := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	time.Sleep(time.Until(midnight.Add(passed)))
	synctest.Wait()
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// serve opens the store again and starts.
func (s *server) serve() {
	s.t.Helper()
	s.open()
	s.rt.Start()
}

// outage stops the server for a while.
func (s *server) outage(length time.Duration) {
	s.t.Helper()
	s.stop()
	time.Sleep(length)
	s.serve()
}

// ledger is what became of the ticks of a schedule, oldest first.
func (s *server) ledger(name string) (list []jobs.Tick) {
	s.t.Helper()
	err := store.Each(func(p store.Page) ([]jobs.Tick, string, error) {
		return s.st.Ticks(context.Background(), name, p)
	}, func(t jobs.Tick) { list = append(list, t) })
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// lines are ticks as lines: "00:01 ran", "00:03-00:05 3 skipped missed".
func lines(ticks []jobs.Tick) (list []string) {
	for _, t := range ticks {
		list = append(list, strings.TrimSpace(span(t)+" "+t.Outcome+" "+t.Reason))
	}
	return list
}

func span(t jobs.Tick) string {
	from, to := t.From.Std().Format("15:04:05"), t.To.Std().Format("15:04:05")
	from, to = strings.TrimSuffix(from, ":00"), strings.TrimSuffix(to, ":00")
	if t.From == t.To {
		return from
	}
	return fmt.Sprintf("%s-%s %d", from, to, t.Count)
}

// wantLedger compares the ledger with lines; "..." stands for any number of ticks that ran.
func (s *server) wantLedger(name string, want ...string) {
	s.t.Helper()
	got := lines(s.ledger(name))
	if !alike(got, want) {
		s.t.Errorf("ticks of %s:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func alike(got, want []string) bool {
	for len(got) > 0 && len(want) > 0 {
		switch {
		case want[0] == got[0]:
			got, want = got[1:], want[1:]
		case want[0] == "...":
			if len(want) > 1 && got[0] == want[1] {
				want = want[1:]
				continue
			}
			if !strings.HasSuffix(got[0], " ran") {
				return false
			}
			got = got[1:]
		default:
			return false
		}
	}
	return len(got) == 0 && (len(want) == 0 || len(want) == 1 && want[0] == "...")
}

// runsFor are the runs of a schedule by the times of their ticks.
func (s *server) runsFor(schedule string) (list []*jobs.Run) {
	s.t.Helper()
	err := store.Each(func(p store.Page) ([]*jobs.Run, string, error) {
		return s.rt.Runs(context.Background(), store.RunFilter{Schedule: schedule}, p)
	}, func(run *jobs.Run) { list = append(list, run) })
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b *jobs.Run) int {
		return cmp.Or(cmp.Compare(a.ScheduledFor, b.ScheduledFor), cmp.Compare(a.ID.Seq(), b.ID.Seq()))
	})
	for i, run := range list[min(1, len(list)):] {
		if run.ScheduledFor == list[i].ScheduledFor && run.RequeuedFrom.IsNil() {
			s.t.Errorf("the tick %s of %s has made two runs", run.ScheduledFor, schedule)
		}
	}
	return list
}

// states are runs as "00:01 succeeded".
func states(runs []*jobs.Run) (list []string) {
	for _, run := range runs {
		list = append(list, run.ScheduledFor.Std().Format("15:04 ")+run.State.String())
	}
	return list
}

func (s *server) wantRuns(schedule string, want ...string) {
	s.t.Helper()
	if got := states(s.runsFor(schedule)); !slices.Equal(got, want) {
		s.t.Errorf("runs of %s:\n%s\nwant:\n%s", schedule, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// events are the data of events of a type.
func eventsOf[T any](s *server, kind string) (list []T) {
	s.t.Helper()
	events, err := s.rt.Events(context.Background(), 0, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		if e.Type != kind {
			continue
		}
		var data T
		if err := json.Unmarshal(e.Data, &data); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, data)
	}
	return list
}

func (s *server) missed() []jobs.ScheduleMissed {
	return eventsOf[jobs.ScheduleMissed](s, jobs.EventScheduleMissed)
}

// executed notes what executed when, and how many did at once.
type executed struct {
	takes time.Duration

	mu    sync.Mutex
	now   int
	most  int
	order []jobs.Time // the ticks
}

func (e *executed) run(ctx context.Context, c *jobs.Call) jobs.Report {
	e.mu.Lock()
	e.now++
	e.most = max(e.most, e.now)
	e.order = append(e.order, c.ScheduledFor)
	e.mu.Unlock()
	report := jobs.Report{ExitCode: -1}
	select {
	case <-ctx.Done():
		report.Stopped = context.Cause(ctx)
	case <-time.After(e.takes):
	}
	e.mu.Lock()
	e.now--
	e.mu.Unlock()
	return report
}

func TestOutageIsCaughtUpAsTheScheduleSays(t *testing.T) { // cases 25, 28
	cases := []struct {
		name, says string
		back       time.Duration // the server is away from 00:02:30 until then
		want       []string
		missed     int
	}{
		{
			"latest", minutely(`"overlap":"queue"`), minutes(17) + 30*time.Second,
			[]string{"00:03-00:16 14 skipped missed", "00:17 caught_up"},
			14,
		},
		{
			"latest, one missed", everyMinute, minutes(3) + 30*time.Second,
			[]string{"00:03 caught_up"},
			0,
		},
		{
			"none", minutely(`"catch_up":{"mode":"none"}`), minutes(7) + 30*time.Second,
			[]string{"00:03-00:07 5 skipped missed"},
			5,
		},
		{
			"all", minutely(`"catch_up":{"mode":"all"}`), minutes(6) + 30*time.Second,
			[]string{"00:03 caught_up", "00:04 caught_up", "00:05 caught_up", "00:06 caught_up"},
			0,
		},
		{
			"all, allow", minutely(`"overlap":"allow","catch_up":{"mode":"all"}`), minutes(6) + 30*time.Second,
			[]string{"00:03 caught_up", "00:04 caught_up", "00:05 caught_up", "00:06 caught_up"},
			0,
		},
		{
			"limit", minutely(`"catch_up":{"mode":"all","limit":2}`), minutes(17) + 30*time.Second,
			[]string{"00:03-00:15 13 skipped limit", "00:16 caught_up", "00:17 caught_up"},
			13,
		},
		{
			"window", minutely(`"catch_up":{"mode":"all","window":"3m"}`), minutes(17) + 30*time.Second,
			[]string{"00:03-00:14 12 skipped missed", "00:15 caught_up", "00:16 caught_up", "00:17 caught_up"},
			12,
		},
		{
			"window and limit", minutely(`"catch_up":{"mode":"all","window":"5m","limit":1}`),
			minutes(17) + 30*time.Second,
			[]string{"00:03-00:12 10 skipped missed", "00:13-00:16 4 skipped limit", "00:17 caught_up"},
			14,
		},
		{
			"window of latest", minutely(`"catch_up":{"mode":"latest","window":"20s"}`), minutes(17) + 30*time.Second,
			[]string{"00:03-00:17 15 skipped missed"},
			15,
		},
		{
			"the newest is on time", minutely(`"catch_up":{"mode":"none"}`), minutes(17) + 9*time.Second,
			[]string{"00:03-00:16 14 skipped missed", "00:17 ran"},
			14,
		},
		{
			"the newest is on time, latest", everyMinute, minutes(17) + 9*time.Second,
			[]string{"00:03-00:15 13 skipped missed", "00:16 caught_up", "00:17 ran"},
			13,
		},
		{
			"many", everyMinute, minutes(120) + 30*time.Second, // case 23
			[]string{"00:03-01:59 117 skipped missed", "02:00 caught_up"}, 117,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := executed{takes: 2 * time.Second}
				s := newServer(t, k.run)
				s.put(scheduled("a", c.says))
				s.rt.Start()
				until(minutes(2) + 30*time.Second)
				s.outage(c.back - minutes(2) - 30*time.Second)
				until(c.back.Truncate(time.Minute) + minutes(2) + 30*time.Second)
				want := append([]string{"00:01 ran", "00:02 ran"}, c.want...)
				s.wantLedger("a:default", append(want, "...")...)
				runs := s.runsFor("a:default")
				for _, run := range runs {
					if run.State != jobs.Succeeded {
						t.Errorf("run for %s is %s", run.ScheduledFor, run.State)
					}
				}
				if k.most > 1 {
					t.Errorf("%d executed at once, want one after another", k.most)
				}
				if last := runs[len(runs)-1].ScheduledFor; last != jobs.TimeOf(time.Now().Truncate(time.Minute)) {
					t.Errorf("the newest regular tick that ran is %s", last)
				}
				if got := s.skipped(); got != c.missed {
					t.Errorf("metrics say that %d were skipped, want %d", got, c.missed)
				}
				n := 0
				for _, e := range s.missed() {
					n += e.Count
				}
				if events := len(s.missed()); n != c.missed || events > 1 {
					t.Errorf("%d events tell of %d missed ticks, want %d", events, n, c.missed)
				}
				s.stop()
			})
		})
	}
}

func TestMissedTicksAreCaughtUpOldestFirstAfterTheRegularOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := executed{takes: 2 * time.Second}
		s := newServer(t, k.run)
		s.put(scheduled("a", minutely(`"catch_up":{"mode":"all"}`)))
		s.rt.Start()
		until(minutes(1) + 30*time.Second)
		s.outage(minutes(4) - 25*time.Second) // the newest is 5 s late
		until(minutes(6))
		var got []string
		for _, at := range k.order {
			got = append(got, at.Std().Format("15:04"))
		}
		if want := "00:01 00:05 00:02 00:03 00:04 00:06"; strings.Join(got, " ") != want {
			t.Errorf("executed in order %s, want %s", got, want)
		}
		s.stop()
	})
}

func TestTicksStartWithinTheirSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		s.put(scheduled("a", `{"name":"x","cron":"* * * * *","spread":"40s"}`,
			`{"name":"y","cron":"* * * * *","spread":"40s"}`))
		s.rt.Start()
		until(minutes(5))
		var by [2]time.Duration
		for i, name := range []string{"a:x", "a:y"} {
			runs := s.runsFor(name)
			if len(runs) != 5 {
				t.Fatalf("%d runs of %s", len(runs), name)
			}
			by[i] = runs[0].RunAt.Sub(runs[0].ScheduledFor)
			for _, run := range runs[:4] {
				if got := run.RunAt.Sub(run.ScheduledFor); got != by[i] || run.StartedAt != run.RunAt {
					t.Errorf("run for %s of %s is to start %v later, and started at %s", run.ScheduledFor, name, got,
						run.StartedAt)
				}
			}
		}
		if by[0] == by[1] || max(by[0], by[1]) >= 40*time.Second {
			t.Errorf("they start %v after their ticks", by)
		}
	})
}

func TestNoTickBeforeTheStartOrAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		const within = `"start":"2000-01-01T00:02:00Z","end":"2000-01-01T00:05:00Z"`
		s.put(scheduled("a", `{"name":"cron","cron":"* * * * *",`+within+`}`,
			`{"name":"every","every":"90s",`+within+`}`, `{"name":"free","every":"100s"}`))
		s.rt.Start()
		until(minutes(7))
		s.wantLedger("a:cron", "00:02 ran", "00:03 ran", "00:04 ran", "00:05 ran")
		s.wantLedger("a:every", "00:02 ran", "00:03:30 ran", "00:05 ran")
		s.wantLedger("a:free", "00:01:40 ran", "00:03:20 ran", "00:05 ran", "00:06:40 ran")
	})
}

func TestLateTicksAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := executed{takes: 70 * time.Second}
		s := newServer(t, k.run)
		defer s.stop()
		var log lockedBuffer
		s.reviveAs(s.st, func(cfg *runtime.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		s.put(scheduled("slow", `{"cron":"*/20 * * * *","late_after":"1m"}`))
		s.put(scheduled("quick", `{"cron":"*/20 * * * *","late_after":"2m"}`))
		s.put(scheduled("held", `{"cron":"*/20 * * * *"}`))
		if _, err := s.rt.PauseJob(context.Background(), "held", true, "", byTest); err != nil {
			t.Fatal(err)
		}
		s.rt.Start()
		until(minutes(39))
		var got []string
		type late struct {
			Schedule, State string
			Deadline        jobs.Time
		}
		for _, e := range eventsOf[late](s, jobs.EventScheduleLate) {
			got = append(got, e.Schedule+e.Deadline.Std().Format(" 15:04 ")+e.State)
		}
		want := []string{"slow:default 00:21 running", "held:default 00:35 queued"}
		if !slices.Equal(got, want) {
			t.Errorf("told of %q, want %q", got, want)
		}
		for _, line := range []string{"job=slow run=", "attempt=1 operation=", "correlation_id=", "schedule=slow:default", "schedule=held:default", "state=queued"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("no %q in the log:\n%s", line, &log)
			}
		}
	})
}

func TestTickThatMeetsARunOfItsKindIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := executed{takes: 90 * time.Second}
		s := newServer(t, k.run)
		defer s.stop()
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"unique":{"key":"\"one\"","while":"active"},` +
			`"schedules":[` + everyMinute + `]}`)
		s.rt.Start()
		until(50 * time.Second)
		s.submit(jobs.Request{Job: "a"})
		until(minutes(3) + time.Second)
		s.wantLedger("a:default", "00:01-00:02 2 skipped unique", "00:03 ran")
		if _, err := s.rt.Submit(context.Background(), true, []jobs.Request{{Job: "a"}}); err != nil {
			t.Error(err)
		}
	})
}

func TestTickWhoseKeyCannotBeWorkedOutMakesAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"unique":{"key":"int(payload.n)","while":"active"},` +
			`"schedules":[{"cron":"* * * * *","payload":{"n":"many"}}]}`)
		s.put(`{"name":"b","webhook":{"url":"http://{{ payload.host }}/"},` +
			`"schedules":[{"cron":"* * * * *","payload":{"host":"a b"}}]}`)
		s.rt.Start()
		until(minutes(2) + time.Second)
		for _, job := range []string{"a", "b"} {
			s.wantLedger(job+":default", "00:01 ran", "00:02 ran")
			for _, run := range s.runsFor(job + ":default") {
				if run.State != jobs.Failed || run.Error.Kind != jobs.FailInvalid {
					t.Errorf("the run of %s is %s: %+v", job, run.State, run.Error)
				}
			}
		}
	})
}

func TestScheduleOfStartsTicksOnceAtEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(scheduled("a", `{"cron":"@reboot"}`, `{"name":"later","cron":"@reboot","start":"2000-01-01T01:00:00Z"}`))
		s.rt.Start()
		until(minutes(1))
		s.put(scheduled("b", `{"cron":"@reboot"}`)) // its first start is the next one
		s.put(scheduled("a", `{"cron":"@reboot"}`, `{"name":"later","cron":"@reboot","start":"2000-01-01T01:00:00Z"}`,
			everyMinute[:len(everyMinute)-1]+`,"name":"c"}`))
		until(minutes(2))
		s.outage(minutes(1))
		until(minutes(4))
		if _, err := s.rt.PauseSchedule(context.Background(), "a:default", true, "", byTest); err != nil {
			t.Fatal(err)
		}
		s.outage(minutes(1))
		until(minutes(60))
		s.outage(minutes(1))
		synctest.Wait()
		s.wantLedger("a:default", "00:00 ran", "00:03 ran", "00:05 skipped paused", "01:01 skipped paused")
		s.wantLedger("a:later", "01:01 ran")
		s.wantLedger("b:default", "00:03 ran", "00:05 ran", "01:01 ran")
		s.stop()
	})
}

func TestTicksAreDecidedWhileNothingStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		ctx := context.Background()
		s.put(scheduled("held", everyMinute))
		s.put(scheduled("free", minutely(`"overlap":"allow"`)))
		s.rt.Start()
		if _, err := s.rt.PauseJob(ctx, "held", true, "", byTest); err != nil {
			t.Fatal(err)
		}
		if err := s.rt.Drain(ctx, byTest); err != nil {
			t.Fatal(err)
		}
		until(minutes(3) + time.Second)
		if _, err := s.rt.Resume(ctx, false, byTest); err != nil {
			t.Fatal(err)
		}
		until(minutes(3) + 30*time.Second)
		s.wantLedger("free:default", "00:01 ran", "00:02 ran", "00:03 ran")
		s.wantRuns("free:default", "00:01 succeeded", "00:02 succeeded", "00:03 succeeded")
		s.wantLedger("held:default", "00:01 ran", "00:02 ran", "00:03 ran")
		// The first is free to start, one waits for it.
		s.wantRuns("held:default", "00:01 queued", "00:02 cancelled", "00:03 queued")
	})
}

func TestHungRunHoldsUpNoOtherSchedule(t *testing.T) { // case 44
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			if c.Job == "hung" {
				return untilStopped(ctx, c)
			}
			return succeed(ctx, c)
		})
		s.put(scheduled("hung", everyMinute))
		s.put(scheduled("b", everyMinute))
		s.rt.Start()
		until(minutes(4) + time.Second)
		s.wantRuns("b:default", "00:01 succeeded", "00:02 succeeded", "00:03 succeeded", "00:04 succeeded")
		s.wantRuns("hung:default", "00:01 running", "00:02 cancelled", "00:03 cancelled", "00:04 queued")
		s.stop()
	})
}

func TestManySchedulesOfOneSecondAreOnTimeInTheNextToo(t *testing.T) { // case 44
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.put(webhookJob)
		n := 1200 // more than two transactions decide
		if raced {
			n = 600 // more than one
		}
		s.manySchedules(n, `{"cron":"0,1 1 0 1 1 *","job":"a"}`)
		s.rt.Start()
		until(minutes(1) + time.Second)
		for i := range n {
			s.wantLedger(fmt.Sprintf("s%d", i), "00:01 ran", "00:01:01 ran")
		}
		stats, err := s.st.Stats(context.Background())
		if err != nil || len(stats) > 0 {
			t.Errorf("unfinished runs: %v, %v", stats, err)
		}
		s.stop()
	})
}
