package runtime_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// uniqueJob is a webhook whose runs are of one kind by payload.k.
func uniqueJob(name, while, conflict string) string {
	return `{"name":"` + name + `","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":1},` +
		`"unique":{"key":"payload.k","while":"` + while + `","on_conflict":"` + conflict + `"}}`
}

func (s *server) ask(rq jobs.Request) runtime.Submitted {
	s.t.Helper()
	out, err := s.rt.Submit(context.Background(), true, []jobs.Request{rq})
	if err != nil {
		s.t.Fatal(err)
	}
	return out[0]
}

func (s *server) wantConflict(err error, id jobs.ID) {
	s.t.Helper()
	var conflict *store.UniqueConflict
	if !errors.As(err, &conflict) || conflict.Run != id {
		s.t.Fatalf("%v, want a conflict with run %s", err, id)
	}
}

func of(job, key string) jobs.Request {
	return jobs.Request{Job: job, Payload: jobs.Raw(`{"k":"` + key + `"}`)}
}

func TestUniqueRunStandsOverADeathOfTheServerUntilItEnds(t *testing.T) { // case 124
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		})
		defer s.stop()
		s.put(uniqueJob("a", "active", "existing"))
		first := s.ask(of("a", "1"))
		s.claimAll()
		s.revive(s.st)
		again := s.ask(of("a", "1"))
		if again.ID != first.ID || !again.Duplicate || !again.Unique || again.UniqueUntil != 0 {
			t.Fatalf("after the death: %+v", again)
		}
		if other := s.ask(of("a", "2")); other.Duplicate {
			t.Fatalf("another key: %+v", other)
		}
		s.rt.Start()
		if run := s.awaitEnd(first.ID); run.State != jobs.Failed {
			t.Fatalf("run is %s", run.State)
		}
		if next := s.ask(of("a", "1")); next.Duplicate {
			t.Fatalf("after the failure: %+v", next)
		}
	})
}

func TestRunWithoutAUniqueKeyIsNeverFolded(t *testing.T) {
	s := newServer(t, succeed)
	defer s.stop()
	s.put(uniqueJob("a", "active", "existing"))
	for range 2 {
		if out := s.ask(jobs.Request{Job: "a", Payload: jobs.Raw(`{"k":null}`)}); out.Duplicate {
			t.Fatalf("%+v", out)
		}
	}
}

func TestManyRequestsOfOneKindMakeOneRun(t *testing.T) {
	s := newServer(t, untilStopped)
	defer s.stop()
	s.put(uniqueJob("a", "active", "existing"))
	s.rt.Start()
	var all sync.WaitGroup
	ids := make([]jobs.ID, 50)
	for i := range ids {
		all.Go(func() { ids[i] = s.submit(of("a", "1")) })
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatal("there are several runs")
		}
	}
	if _, err := s.rt.Cancel(context.Background(), ids[0], store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(ids[0])
}

func TestFollowUpThatMeetsItsKindIsFoldedIntoIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			if c.Job == "b" {
				<-open
			}
			return jobs.Report{ExitCode: -1, Result: c.Payload}
		})
		defer s.stop()
		s.put(uniqueJob("b", "active", "reject"))
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"on_success":[{"job":"b"}]}`)
		s.rt.Start()
		stands := s.submit(of("b", "1"))
		var last *jobs.Run
		for range 2 {
			last = s.awaitEnd(s.submit(of("a", "1")))
			want := "the run of b that follows was folded into run " + stands.String() +
				", which stands until it ends"
			if got := last.Attempts[0].Decision.Reason; !strings.HasSuffix(got, want) {
				t.Errorf("reason is %q, want %q", got, want)
			}
		}
		run := s.run(stands)
		if f := run.Folded; f == nil || f.Count != 2 || f.Trigger != jobs.TriggerChain || f.By != last.ID.String() {
			t.Errorf("noted: %+v", f)
		}
		close(open)
		s.awaitEnd(stands)
		s.awaitEnd(s.submit(of("a", "1")))
		if list := s.runsOf("b"); len(list) != 2 || list[0].Trigger != jobs.TriggerChain {
			t.Errorf("%d runs followed", len(list)-1)
		}
	})
}

// runsOf lists the runs of a job, newest first.
func (s *server) runsOf(job string) []*jobs.Run {
	s.t.Helper()
	list, _, err := s.rt.Runs(context.Background(), store.RunFilter{Job: job}, store.Page{Limit: 9})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// A key that cannot be worked out is told whoever asks; where nobody does, the run is made and has
// ended.
func TestKeyThatCannotBeWorkedOutIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			return jobs.Report{ExitCode: -1, Result: c.Payload}
		})
		defer s.stop()
		s.put(`{"name":"b","webhook":{"url":"http://127.0.0.1:9/"},` +
			`"unique":{"key":"int(payload.n)","while":"active"}}`)
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"on_success":[{"job":"b"}]}`)
		s.rt.Start()
		bad := jobs.Raw(`{"n":"many"}`)
		ctx := context.Background()
		told := func(err error, location string) {
			t.Helper()
			var invalid *jobs.InvalidError
			if !errors.As(err, &invalid) || invalid.Faults[0].Location != location ||
				!strings.HasPrefix(invalid.Faults[0].Message, "unique.key: ") {
				t.Fatalf("%v, want a fault of %s", err, location)
			}
		}
		_, err := s.rt.Submit(ctx, true, []jobs.Request{{Job: "b", Payload: bad}})
		told(err, "payload")
		_, err = s.rt.Submit(ctx, false, []jobs.Request{{Job: "a"}, {Job: "b", Payload: bad}})
		told(err, "runs[1].payload")

		s.awaitEnd(s.submit(jobs.Request{Job: "a", Payload: bad}))
		run := s.run(s.runsOf("b")[0].ID)
		if run.State != jobs.Failed || run.Error.Kind != jobs.FailInvalid || len(run.Attempts) != 0 ||
			!strings.HasPrefix(run.Error.Message, "unique.key: ") || run.Trigger != jobs.TriggerChain {
			t.Errorf("the follow-up: %s %+v", run.State, run.Error)
		}
		_, err = s.rt.Requeue(ctx, store.Requeue{Of: run.ID, By: store.By{Actor: "test"}})
		told(err, "payload")
		next, err := s.rt.Requeue(ctx, store.Requeue{
			Of: run.ID, By: store.By{Actor: "test"}, Payload: jobs.Raw(`{"n":"7"}`),
		})
		if err != nil || next.Duplicate {
			t.Fatalf("%+v, %v", next, err)
		}
		s.awaitEnd(next.ID)
	})
}

func TestRequeueIsRefusedWhileAnotherOfItsKindStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		})
		defer s.stop()
		s.put(uniqueJob("a", "1h", "existing"))
		s.rt.Start()
		ctx, by := context.Background(), store.By{Actor: "test"}
		first := s.submit(of("a", "1"))
		s.awaitEnd(first)
		second, err := s.rt.Requeue(ctx, store.Requeue{Of: first, By: by}) // it stands itself
		if err != nil {
			t.Fatal(err)
		}
		s.awaitEnd(second.ID)
		_, err = s.rt.Requeue(ctx, store.Requeue{Of: first, By: by})
		s.wantConflict(err, second.ID)
		other, err := s.rt.Requeue(ctx, store.Requeue{Of: first, By: by, Payload: jobs.Raw(`{"k":"2"}`)})
		if err != nil {
			t.Fatal(err)
		}
		s.awaitEnd(other.ID)
		time.Sleep(time.Hour)
		if _, err := s.rt.Requeue(ctx, store.Requeue{Of: first, By: by}); err != nil {
			t.Fatal(err)
		}
	})
}
