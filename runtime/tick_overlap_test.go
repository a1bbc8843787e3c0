package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
)

func TestTicksOverlapAsTheScheduleSays(t *testing.T) { // case 45
	cases := []struct {
		overlap string
		deaf    bool // runs do not heed that they are cancelled
		want    []string
		skipped []string
		most    int
	}{
		{
			overlap: "queue", most: 1,
			want: []string{
				"00:01 succeeded", "00:02 cancelled", "00:03 succeeded", "00:04 cancelled", "00:05 succeeded",
				"00:06 cancelled", "00:07 cancelled", "00:08 running", "00:09 cancelled", "00:10 queued",
			},
		},
		{
			overlap: "skip", most: 1,
			want:    []string{"00:01 succeeded", "00:04 succeeded", "00:07 succeeded", "00:10 running"},
			skipped: []string{"00:02-00:03 2 skipped overlap", "00:05-00:06 2 skipped overlap", "00:08-00:09 2 skipped overlap"},
		},
		{
			overlap: "replace", most: 1,
			want: []string{
				"00:01 cancelled", "00:02 cancelled", "00:03 cancelled", "00:04 cancelled", "00:05 cancelled",
				"00:06 cancelled", "00:07 cancelled", "00:08 cancelled", "00:09 cancelled", "00:10 running",
			},
		},
		{
			// Those that start are 1, 3, 5 and 8.
			overlap: "replace", deaf: true, most: 1,
			want: []string{
				"00:01 cancelled", "00:02 cancelled", "00:03 cancelled", "00:04 cancelled", "00:05 cancelled",
				"00:06 cancelled", "00:07 cancelled", "00:08 running", "00:09 cancelled", "00:10 queued",
			},
		},
		{
			overlap: "allow", most: 3,
			want: []string{
				"00:01 succeeded", "00:02 succeeded", "00:03 succeeded", "00:04 succeeded", "00:05 succeeded",
				"00:06 succeeded", "00:07 succeeded", "00:08 succeeded", "00:09 running", "00:10 running",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.overlap, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := executed{takes: 145 * time.Second}
				s := newServer(t, func(ctx context.Context, call *jobs.Call) jobs.Report {
					if c.deaf {
						ctx = context.WithoutCancel(ctx)
					}
					return k.run(ctx, call)
				})
				s.put(scheduled("a", minutely(`"overlap":"`+c.overlap+`"`)))
				s.rt.Start()
				until(minutes(10) + 30*time.Second)
				s.wantRuns("a:default", c.want...)
				var skipped []string
				for i, tick := range s.ledger("a:default") {
					if tick.Outcome == jobs.TickSkipped {
						skipped = append(skipped, lines(s.ledger("a:default")[i:i+1])...)
					}
				}
				if !alike(skipped, c.skipped) {
					t.Errorf("skipped %q, want %q", skipped, c.skipped)
				}
				if k.most != c.most {
					t.Errorf("%d executed at once, want %d", k.most, c.most)
				}
				if c.overlap == "queue" {
					run := s.runsFor("a:default")[9]
					if run.HeldBy == nil || run.HeldBy.Kind != jobs.HeldOverlap || run.HeldBy.Name != "a:default" {
						t.Errorf("the run that waits is held by %+v", run.HeldBy)
					}
				}
				if c.overlap == "replace" && !c.deaf {
					run, err := s.rt.Store().Run(context.Background(), s.runsFor("a:default")[0].ID)
					if err != nil || len(run.Attempts) != 1 ||
						!strings.Contains(run.Attempts[0].Decision.Reason, "a newer tick of its schedule took its place") {
						t.Errorf("the run that was replaced: %+v, %v", run, err)
					}
				}
				// What is under way is over with the test.
				for _, run := range s.runsFor("a:default") {
					if !run.State.Terminal() {
						_, _ = s.rt.Cancel(context.Background(), run.ID, byTest)
					}
				}
				s.stop()
			})
		})
	}
}

func TestRetryingRunHasNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		})
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},` +
			`"retry":{"max_attempts":2,"backoff":{"kind":"fixed","base":"150s","jitter":0}},` +
			`"schedules":[{"cron":"* * * * *","overlap":"skip"}]}`)
		s.rt.Start()
		until(minutes(4) + time.Second)
		s.wantLedger("a:default", "00:01 ran", "00:02-00:03 2 skipped overlap", "00:04 ran")
		s.wantRuns("a:default", "00:01 failed", "00:04 retrying")
		s.stop()
	})
}

// A tick that comes while missed ones are caught up is not skipped for them, and goes before them.
func TestCatchUpGivesWayToRegularTicks(t *testing.T) {
	for _, overlap := range []string{"queue", "skip", "replace"} {
		t.Run(overlap, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := executed{takes: 40 * time.Second}
				s := newServer(t, k.run)
				s.put(scheduled("a", minutely(`"catch_up":{"mode":"all"},"overlap":"`+overlap+`"`)))
				s.stop()
				time.Sleep(minutes(3) + 30*time.Second)
				s.serve()
				until(minutes(6) + 10*time.Second)
				var got string
				for _, at := range k.order {
					got += at.Std().Format(" 15:04")
				}
				// 1 from 3:30 till 4:10; 4 till 4:50; 2 till 5:30; 5 till 6:10; 3 or 6 from then.
				want, last := " 00:01 00:04 00:02 00:05 00:06", "00:06 ran"
				if overlap == "skip" { // for that of 00:05
					want, last = " 00:01 00:04 00:02 00:05 00:03", "00:06 skipped overlap"
				}
				if got != want {
					t.Errorf("executed in order%s, want%s", got, want)
				}
				s.wantLedger("a:default", "00:01 caught_up", "00:02 caught_up", "00:03 caught_up", "00:04 ran",
					"00:05 ran", last)
				s.stop()
			})
		})
	}
}
