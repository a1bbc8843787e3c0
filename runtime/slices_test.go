package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// slice is a good one, after which comes the next.
func slice(checkpoint string) jobs.Report {
	return jobs.Report{ExitCode: -1, HTTPStatus: 200, Continue: true, Checkpoint: jobs.Raw(checkpoint)}
}

func TestARunWorksInSlicesOfOneAttempt(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprintf("%d/%d %s %s", c.Number, c.Attempt, strings.TrimPrefix(c.IdempotencyKey(), c.Operation.String()), c.Checkpoint))
		fmt.Fprintf(c.Log, "slice %d\n", len(calls))
		if len(calls) == 4 {
			return jobs.Report{ExitCode: -1, HTTPStatus: 200, Result: jobs.Raw(`"done"`)}
		}
		r := slice(fmt.Sprintf(`{"next": %d}`, len(calls)))
		r.Progress = &jobs.Progress{Done: float64(len(calls)), Total: 4}
		return r
	})
	defer s.stop()
	events, stop := s.rt.Live()
	defer stop()
	s.put(webhookJob)
	s.rt.Start()
	run := s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
	want := []string{`1/1  `, `1/1 -1 {"next": 1}`, `1/1 -2 {"next": 2}`, `1/1 -3 {"next": 3}`}
	if fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if run.State != jobs.Succeeded || string(run.Result) != `"done"` || progressOf(run).Done != 3 || run.Counts.Number != 1 {
		t.Errorf("%s, result %s, progress %+v, %+v", run.State, run.Result, run.Progress, run.Counts)
	}
	if len(run.Attempts) != 1 || run.Attempts[0].Slices != 4 || run.Attempts[0].Outcome != jobs.OutcomeSucceeded {
		t.Errorf("attempts %+v", run.Attempts)
	}
	if got := s.log(run.ID); got != "slice 1\nslice 2\nslice 3\nslice 4\n" {
		t.Errorf("log %q", got)
	}
	var told []string
	for len(events) > 0 {
		told = append(told, (<-events).Kind)
	}
	if fmt.Sprint(told) != fmt.Sprint([]string{runtime.EventStarted, runtime.EventEnded}) {
		t.Errorf("told is %q", told)
	}
}

func TestAGoodSliceHasFailuresCountedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Time
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			starts = append(starts, time.Now())
			if n := len(starts); n == 3 { // after two failures of four
				return slice("1")
			}
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		})
		defer s.stop()
		s.put(webhookJob)
		s.rt.Start()
		run := s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
		if run.State != jobs.Failed || run.Counts.Charged != 4 || run.Counts.Number != 6 || len(starts) != 7 || run.Attempts[2].Slices != 2 {
			t.Fatalf("%s, %+v, %d calls, %+v", run.State, run.Counts, len(starts), run.Attempts)
		}
		var waits []time.Duration
		for i := range starts[1:] {
			waits = append(waits, starts[i+1].Sub(starts[i]).Round(time.Second))
		}
		want := []time.Duration{10 * time.Second, 30 * time.Second, 0, 10 * time.Second, 30 * time.Second, 90 * time.Second}
		if fmt.Sprint(waits) != fmt.Sprint(want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
	})
}

// signals is a store that keeps what is told of what attempts called.
type signals struct {
	store.Store
	mu   sync.Mutex
	told []jobs.Signal
}

func (s *signals) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	s.mu.Lock()
	for _, f := range c.Finished {
		s.told = append(s.told, f.Signal)
	}
	s.mu.Unlock()
	return s.Store.Claim(ctx, c)
}

// A dependency that has opened and closed in between goes by what a slice has met, not the attempt.
func TestASliceSpeaksForItselfAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			time.Sleep(10 * time.Second)
			if c.Continues == 2 {
				return jobs.Report{ExitCode: -1, HTTPStatus: 202, Accepted: true}
			}
			return slice(fmt.Sprint(c.Continues))
		})
		st := &signals{Store: s.st}
		s.revive(st)
		defer s.stop()
		s.put(silentJob)
		s.rt.Start()
		begin := s.rt.Now()
		f := s.taken()
		time.Sleep(time.Minute)
		s.fail(f, jobs.SaidError{Retryable: new(false)})
		st.mu.Lock()
		defer st.mu.Unlock()
		if len(st.told) != 4 {
			t.Fatalf("told is %+v", st.told)
		}
		for i, want := range []jobs.Signal{
			{HTTPStatus: 200, ExitCode: -1},
			{HTTPStatus: 200, ExitCode: -1, Started: begin.Add(10 * time.Second)},
			{HTTPStatus: 202, ExitCode: -1, Started: begin.Add(20 * time.Second), Taken: true},
			{Kind: jobs.FailReported, ExitCode: -1},
		} {
			if got := st.told[i]; got.Started-want.Started < 0 || got.Started-want.Started > 50 {
				t.Errorf("%d: started at %s, want %s", i, got.Started, want.Started)
			} else if got.Started = want.Started; got != want {
				t.Errorf("%d: %+v, want %+v", i, got, want)
			}
		}
	})
}

// sliced is a run of job a between two slices: the job is paused.
func (s *server) sliced() store.Fence {
	s.t.Helper()
	id := s.submit(jobs.Request{Job: "a"})
	changed, stop := s.rt.Changes(id)
	defer stop()
	for {
		if run := s.run(id); run.HeldBy != nil && run.Slices > 0 {
			return store.Fence{Run: id, Number: run.Counts.Number}
		}
		<-changed
	}
}

func (s *server) pauseA(paused bool) {
	s.t.Helper()
	if _, err := s.rt.PauseJob(context.Background(), "a", paused, "later", store.By{Actor: "test"}); err != nil {
		s.t.Fatal(err)
	}
}

// slicing is a server whose job a is paused while its first slice is under way. Each slice after it is
// given to next.
func slicing(t *testing.T, next func(*server, *jobs.Call) jobs.Report) *server {
	var s *server
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		if c.Continues == 0 {
			fmt.Fprint(c.Log, "one\n")
			s.pauseA(true)
			return slice("1")
		}
		return next(s, c)
	})
	s.put(webhookJob)
	s.rt.Start()
	return s
}

func TestBetweenTwoSlicesARunIsRunningAndSaysWhatItWaitsFor(t *testing.T) {
	s := slicing(t, func(_ *server, c *jobs.Call) jobs.Report {
		fmt.Fprint(c.Log, "two\n")
		return jobs.Report{ExitCode: -1, HTTPStatus: 200}
	})
	defer s.stop()
	f, ctx := s.sliced(), context.Background()
	s.awaitIdle()
	run := s.run(f.Run)
	if run.State != jobs.Running || run.HeldBy.Kind != jobs.HeldPaused || run.Slices != 1 {
		t.Errorf("%s, held by %+v, %d slices", run.State, run.HeldBy, run.Slices)
	}
	if len(run.Attempts) != 1 || run.Attempts[0].Outcome != 0 || run.Attempts[0].Slices != 1 {
		t.Errorf("attempts %+v", run.Attempts)
	}
	list, _, err := s.rt.Runs(ctx, store.RunFilter{States: []jobs.State{jobs.Running}}, store.Page{Limit: 10})
	if err != nil || len(list) != 1 || list[0].HeldBy == nil || list[0].HeldBy.Kind != jobs.HeldPaused {
		t.Errorf("listed is %+v, %v", list, err)
	}
	if err := s.rt.Heartbeat(ctx, f); err != nil {
		t.Error(err)
	}
	if got, err := s.rt.Checkpoint(ctx, f); string(got) != "1" || err != nil {
		t.Errorf("checkpoint %s, %v", got, err)
	}
	if err := s.rt.Progress(ctx, f, jobs.Progress{Done: 5}); err != nil || progressOf(s.run(f.Run)).Done != 5 {
		t.Errorf("progress %+v, %v", s.run(f.Run).Progress, err)
	}
	if err := s.rt.AppendLog(ctx, f, []byte("between")); err != nil || s.log(f.Run) != "one\nbetween\n" {
		t.Errorf("log %q, %v", s.log(f.Run), err)
	}
	if err := s.rt.SaveCheckpoint(ctx, f, jobs.Raw("7")); err != nil {
		t.Error(err)
	}
	s.complete(f, `"told between"`)
	s.pauseA(false)
	run = s.awaitEnd(f.Run)
	if run.State != jobs.Succeeded || string(run.Result) != `"told between"` || progressOf(run).Done != 5 || s.log(f.Run) != "one\nbetween\ntwo\n" {
		t.Errorf("%s, %s, %+v, log %q", run.State, run.Result, run.Progress, s.log(f.Run))
	}
	s.over(f, store.OverError{State: jobs.Succeeded, Told: store.ToldComplete})
}

func TestWhatIsToldInASliceOutlivesIt(t *testing.T) {
	s := newServer(t, nil)
	s.kind = kindFunc(func(_ context.Context, c *jobs.Call) jobs.Report {
		f := store.Fence{Run: c.Run, Number: c.Number}
		if c.Continues == 0 {
			s.complete(f, `"first"`)
			return slice("1")
		}
		if string(c.Payload) == `"again"` {
			s.complete(f, `"second"`)
		}
		return jobs.Report{ExitCode: -1, HTTPStatus: 200, Result: jobs.Raw(`"by the answer"`)}
	})
	s.revive(s.st)
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	for payload, want := range map[string]string{`"once"`: `"first"`, `"again"`: `"second"`} {
		if run := s.awaitEnd(s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(payload)})); string(run.Result) != want {
			t.Errorf("%s: result %s, want %s", payload, run.Result, want)
		}
	}
}

func TestFailBetweenTwoSlicesIsTheLast(t *testing.T) {
	s := slicing(t, func(*server, *jobs.Call) jobs.Report {
		t.Error("it is called again though it has failed")
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	f := s.sliced()
	s.fail(f, jobs.SaidError{Message: "no more", Retryable: new(false)})
	s.pauseA(false)
	if run := s.awaitEnd(f.Run); run.State != jobs.Failed || run.Error.Message != "no more" || len(run.Attempts) != 1 {
		t.Errorf("%s, %+v", run.State, run.Error)
	}
	s.over(f, store.OverError{State: jobs.Failed, Told: store.ToldFail})
}

func TestCancelBetweenTwoSlicesEndsTheRunAtOnce(t *testing.T) {
	s := slicing(t, func(*server, *jobs.Call) jobs.Report {
		t.Error("it is called again though it is cancelled")
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	f := s.sliced()
	if state, err := s.rt.Cancel(context.Background(), f.Run, store.By{Actor: "test"}); err != nil || state != jobs.Cancelled {
		t.Fatal(state, err)
	}
	run := s.run(f.Run)
	if run.State != jobs.Cancelled || len(run.Attempts) != 1 || run.Attempts[0].Outcome != jobs.OutcomeCancelled || run.Attempts[0].Slices != 1 {
		t.Errorf("%s, %+v", run.State, run.Attempts)
	}
	s.over(f, store.OverError{State: jobs.Cancelled})
	s.pauseA(false)
	s.sliced() // another run was called meanwhile
}

func TestAStartGoesOnWithTheNextSlice(t *testing.T) {
	s := slicing(t, func(s *server, c *jobs.Call) jobs.Report {
		fmt.Fprintf(c.Log, "after a start, %s\n", c.Checkpoint)
		return jobs.Report{ExitCode: -1, HTTPStatus: 200}
	})
	f := s.sliced()
	if err := s.rt.Progress(context.Background(), f, jobs.Progress{Done: 9}); err != nil {
		t.Fatal(err)
	}
	s.complete(f, `"before the stop"`)
	s.stop()
	s.open()
	defer s.stop()
	s.rt.Start()
	s.pauseA(false)
	run := s.awaitEnd(f.Run)
	a := run.Attempts[0]
	if run.State != jobs.Succeeded || len(run.Attempts) != 1 || a.Slices != 2 || a.Number != 1 || progressOf(run).Done != 9 || string(run.Result) != `"before the stop"` {
		t.Errorf("%s, result %s, progress %+v, %+v", run.State, run.Result, run.Progress, run.Attempts)
	}
	if got := s.log(f.Run); got != "one\nafter a start, 1\n" {
		t.Errorf("log %q", got)
	}
}

func TestARunKeepsItsSlotOfTheJobBetweenSlices(t *testing.T) {
	var mu sync.Mutex
	var order []string
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, string(c.Payload))
		if c.Continues == 5 {
			return jobs.Report{ExitCode: -1}
		}
		return slice(fmt.Sprint(c.Continues))
	})
	defer s.stop()
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"concurrency":{"limit":1}}`)
	s.rt.Start()
	var ids []jobs.ID
	for i := range 3 {
		ids = append(ids, s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(fmt.Sprint(i))}))
	}
	for _, id := range ids {
		s.awaitEnd(id)
	}
	if want := strings.Repeat("0", 6) + strings.Repeat("1", 6) + strings.Repeat("2", 6); strings.Join(order, "") != want {
		t.Errorf("slices of %q: those of two runs are mixed", order)
	}
}

func TestASliceWaitsForASecretInItsAttempt(t *testing.T) {
	ctx, by := context.Background(), store.By{Actor: "test"}
	var s *server
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		fmt.Fprintf(c.Log, "slice %d\n", c.Continues)
		if c.Continues > 0 {
			return jobs.Report{ExitCode: -1}
		}
		if err := s.rt.Secrets().Delete(ctx, "S", by, func(runtime.SecretInfo) error { return nil }); err != nil {
			t.Error(err)
		}
		return slice("1")
	})
	defer s.stop()
	put := func() {
		t.Helper()
		_, _, err := s.rt.Secrets().Put(ctx, "S", "the-secret-value", by, func(runtime.SecretInfo, bool) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	put()
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/","headers":{"X":"{{ secrets.S }}"}},"retry":{"max_attempts":1}}`)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	changed, stop := s.rt.Changes(id)
	defer stop()
	for {
		run := s.run(id)
		if run.HeldBy != nil && run.HeldBy.Kind == jobs.HeldSecret {
			if run.State != jobs.Running || run.Slices != 1 || len(run.Attempts) != 1 {
				t.Errorf("%s, %d slices, %+v", run.State, run.Slices, run.Attempts)
			}
			break
		}
		<-changed
	}
	put()
	run := s.awaitEnd(id)
	if run.State != jobs.Succeeded || len(run.Attempts) != 1 || run.Attempts[0].Slices != 2 || s.log(id) != "slice 0\nslice 1\n" {
		t.Errorf("%s, %+v, log %q", run.State, run.Attempts, s.log(id))
	}
}
