package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func TestWhatCatchesUpLeavesHalfOfTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, untilStopped) // with 8 workers for webhooks and 2 for scripts
		s.put(`{"name":"w","webhook":{"url":"http://127.0.0.1:9/"}}`)
		s.put(`{"name":"s","script":{"source":"true"}}`)
		missed := map[string][]jobs.ID{}
		for range 6 {
			for _, job := range []string{"w", "s"} {
				missed[job] = append(missed[job], s.submit(jobs.Request{Job: job, Trigger: jobs.TriggerCatchUp}))
			}
		}
		s.rt.Start()
		defer s.stop()
		synctest.Wait()
		for job, want := range map[string]int{"w": 4, "s": 1} {
			for i, id := range missed[job] {
				if running := s.run(id).State == jobs.Running; running != (i < want) {
					t.Errorf("run %d of %s is running: %t, want the first %d to", i, job, running, want)
				}
			}
		}
		due := s.submit(jobs.Request{Job: "s", Trigger: jobs.TriggerAPI})
		synctest.Wait()
		if got := s.run(due).State; got != jobs.Running {
			t.Errorf("the run that is due is %s, want it running", got)
		}
		late := s.submit(jobs.Request{Job: "s", Trigger: jobs.TriggerAPI})
		for id, want := range map[jobs.ID]jobs.HeldBy{
			missed["w"][5]: {
				Kind: jobs.HeldWorkers, Name: "webhook",
				Reason: "4 of 8 webhook workers are for ticks that were missed, so that those that are due find one: 4 are busy",
			},
			missed["s"][5]: {
				Kind: jobs.HeldWorkers, Name: "script",
				Reason: "1 of 2 script workers is for ticks that were missed, so that those that are due find one: 1 is busy",
			},
			late: {
				Kind: jobs.HeldWorkers, Name: "script",
				Reason: "it waits for a free worker: 2 of 2 script workers are busy",
			},
		} {
			if got := s.run(id).HeldBy; got == nil || *got != want {
				t.Errorf("it is held by\n%+v, want\n%+v", got, want)
			}
		}
		if err := s.rt.Drain(t.Context(), store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		if got := s.run(missed["s"][5]).HeldBy; got == nil || got.Kind != jobs.HeldDrain {
			t.Errorf("while drained it is held by %+v", got)
		}
	})
}

func TestAnAttemptIsToldThatItCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan *jobs.Call, 1)
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			told <- c
			return jobs.Report{}
		})
		s.put(`{"name":"w","webhook":{"url":"http://127.0.0.1:9/"}}`)
		s.rt.Start()
		defer s.stop()
		at := jobs.TimeOf(time.Now().Add(-time.Hour))
		for trigger, want := range map[jobs.Trigger]bool{jobs.TriggerCatchUp: true, jobs.TriggerSchedule: false} {
			s.awaitEnd(s.submit(jobs.Request{Job: "w", Trigger: trigger, Schedule: "w:default", ScheduledFor: at}))
			if c := <-told; c.CatchUp != want || c.ScheduledFor != at {
				t.Errorf("by %s: catch-up %t, for %s", trigger, c.CatchUp, c.ScheduledFor)
			}
		}
	})
}
