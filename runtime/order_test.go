package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// A point of priority is worth six seconds (contract 9). Within a job ten points let a run be
// passed by what falls due in the next minute and by nothing after it: with 1.5 s of work coming
// each second, that is 90 s of work. Jobs take turns, and a job whose head has ten points less has one
// at least each minute.
func TestLowPriorityDoesNotStarve(t *testing.T) {
	for low, most := range map[string]time.Duration{"a": 92 * time.Second, "b": 182 * time.Second} {
		t.Run("beside job a: "+low, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { starve(t, low, 10, most) })
		})
	}
}

func starve(t *testing.T, low string, points int, most time.Duration) {
	s := newServer(t, succeed)
	passed := 0
	left := 3
	s.kind = kindFunc(func(_ context.Context, c *jobs.Call) jobs.Report {
		time.Sleep(150 * time.Millisecond)
		if string(c.Payload) == `"low"` {
			left--
		} else if left > 0 {
			passed++
		}
		return jobs.Report{ExitCode: -1}
	})
	rt, err := runtime.New(context.Background(), runtime.Config{
		Store: s.st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: s.kind},
		Workers: [store.Pools]int{1, 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.rt = rt
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`)
	s.put(`{"name":"b","webhook":{"url":"http://127.0.0.1:9/"}}`)
	var lows []jobs.ID
	for range left {
		lows = append(lows, s.submit(jobs.Request{Job: low, Payload: jobs.Raw(`"low"`)}))
	}
	s.rt.Start()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			s.submit(jobs.Request{Job: "a", Priority: &points})
			time.Sleep(100 * time.Millisecond)
		}
	}()
	began := time.Now()
	for _, id := range lows {
		if run := s.awaitEnd(id); run.State != jobs.Succeeded {
			t.Errorf("it is %s", run.State)
		}
	}
	if took := time.Since(began); took > most {
		t.Errorf("the last of low priority ended after %v", took)
	}
	if passed < 100 {
		t.Errorf("only %d of high priority came before them", passed)
	}
	stop()
	time.Sleep(time.Second)
	s.stop()
}
