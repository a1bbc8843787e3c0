package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const callbackJob = `{"name":"a","webhook":{"url":"http://127.0.0.1:9/","completion":"callback","heartbeat_timeout":"30s"},` +
	`"timeout":"1h","retry":{"max_attempts":3,"backoff":{"base":"10s","factor":3,"jitter":0}}}`

// silentJob calls back, and may be silent as long as it likes.
const silentJob = `{"name":"a","webhook":{"url":"http://127.0.0.1:9/","completion":"callback"},` +
	`"timeout":"1h","retry":{"max_attempts":3,"backoff":{"base":"10s","factor":3,"jitter":0}}}`

func accept(context.Context, *jobs.Call) jobs.Report {
	return jobs.Report{ExitCode: -1, HTTPStatus: 202, Accepted: true}
}

// taken makes a run of job a and waits until its receiver has taken it on.
func (s *server) taken() store.Fence {
	s.t.Helper()
	id := s.submit(jobs.Request{Job: "a"})
	return store.Fence{Run: id, Number: s.awaitState(id, jobs.Waiting).Counts.Number}
}

func (s *server) complete(f store.Fence, result string) {
	s.t.Helper()
	if err := s.rt.Complete(context.Background(), f, jobs.Raw(result)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) fail(f store.Fence, e jobs.SaidError) {
	s.t.Helper()
	if err := s.rt.Fail(context.Background(), f, &e); err != nil {
		s.t.Fatal(err)
	}
}

// over demands that each call of an attempt is refused, and has no effect.
func (s *server) over(f store.Fence, want store.OverError) {
	s.t.Helper()
	ctx := context.Background()
	before := s.run(f.Run)
	kept, err := s.st.Checkpoint(ctx, f.Run)
	if err != nil {
		s.t.Fatal(err)
	}
	_, read := s.rt.Checkpoint(ctx, f)
	for call, err := range map[string]error{
		"heartbeat":        s.rt.Heartbeat(ctx, f),
		"checkpoint":       read,
		"save checkpoint":  s.rt.SaveCheckpoint(ctx, f, jobs.Raw(`"late"`)),
		"progress":         s.rt.Progress(ctx, f, jobs.Progress{Done: 77}),
		"log":              s.rt.AppendLog(ctx, f, []byte("too late")),
		store.ToldComplete: s.rt.Complete(ctx, f, jobs.Raw(`"late"`)),
		store.ToldFail:     s.rt.Fail(ctx, f, &jobs.SaidError{Message: "late"}),
	} {
		var over *store.OverError
		if call == want.Told {
			if err != nil {
				s.t.Errorf("%s, which ended it, is refused: %v", call, err)
			}
		} else if !errors.As(err, &over) || *over != want {
			s.t.Errorf("%s of an attempt that is over: %v (%+v), want %+v", call, err, over, want)
		}
	}
	after := s.run(f.Run)
	now, err := s.st.Checkpoint(ctx, f.Run)
	if err != nil || string(now) != string(kept) {
		s.t.Errorf("the checkpoint was %s and is %s, %v", kept, now, err)
	}
	if after.State != before.State || string(after.Result) != string(before.Result) || progressOf(after) != progressOf(before) ||
		len(after.Attempts) != len(before.Attempts) || strings.Contains(s.log(f.Run), "too late") {
		s.t.Errorf("the run was %+v and is %+v", before, after)
	}
}

func progressOf(run *jobs.Run) jobs.Progress {
	if run.Progress == nil {
		return jobs.Progress{}
	}
	return *run.Progress
}

func TestARunThatWasTakenOnWaitsWithoutAWorkerUntilItIsComplete(t *testing.T) {
	s := newServer(t, accept)
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	var all []store.Fence
	for range 12 { // there are 8 workers, and the host takes 16
		all = append(all, s.taken())
	}
	s.awaitIdle()
	run := s.run(all[0].Run)
	if len(run.Attempts) != 1 || run.Attempts[0].Outcome != 0 || run.Attempts[0].Number != 1 || run.FinishedAt != 0 {
		t.Errorf("the attempt under way: %+v", run.Attempts)
	}
	for i, f := range all {
		s.complete(f, fmt.Sprintf(`{ "n": %d.0 }`, i))
		run := s.run(f.Run)
		a := run.Attempts[0]
		if run.State != jobs.Succeeded || string(run.Result) != fmt.Sprintf(`{ "n": %d.0 }`, i) || len(run.Attempts) != 1 ||
			a.Outcome != jobs.OutcomeSucceeded || a.HTTPStatus != 202 || a.Slices != 1 {
			t.Fatalf("%s, result %s, %+v", run.State, run.Result, run.Attempts)
		}
	}
	s.over(all[0], store.OverError{State: jobs.Succeeded, Told: store.ToldComplete})
}

func TestFailEndsAnAttemptThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, accept)
		defer s.stop()
		s.put(silentJob)
		s.rt.Start()
		first := s.taken()
		yes, wait := true, jobs.Duration(90*time.Second)
		s.fail(first, jobs.SaidError{Type: "QuotaError", Message: "come\nback later", Stack: "at\nline 1", Retryable: &yes, RetryAfter: &wait})
		run := s.run(first.Run)
		e := run.Attempts[0].Error
		if run.State != jobs.Retrying || e.Kind != jobs.FailReported || e.Type != "QuotaError" || e.Message != "come back later" || e.Stack != "at\nline 1" {
			t.Fatalf("%s, %+v", run.State, e)
		}
		if d := run.Attempts[0].Decision; d.By != jobs.ByReported || run.DueAt.Sub(run.Attempts[0].FinishedAt) != 90*time.Second {
			t.Errorf("%+v", d)
		}
		s.over(first, store.OverError{State: jobs.Retrying, Told: store.ToldFail})
		s.awaitState(first.Run, jobs.Waiting)
		s.over(first, store.OverError{State: jobs.Waiting, Told: store.ToldFail})
		second := store.Fence{Run: first.Run, Number: 2}
		s.fail(second, jobs.SaidError{})
		if run := s.run(first.Run); run.State != jobs.Failed || run.Error.Message != jobs.ReportedFailure || run.Error.Type != "reported" {
			t.Errorf("%s, %+v", run.State, run.Error)
		}
	})
}

func TestADeadlineEndsARunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			time.Sleep(20 * time.Second)
			return accept(ctx, c)
		})
		defer s.stop()
		s.put(silentJob)
		s.rt.Start()
		one, limit := 1, jobs.Duration(10*time.Minute)
		run := s.awaitEnd(s.submit(jobs.Request{Job: "a", MaxAttempts: &one, Timeout: &limit}))
		a := run.Attempts[0]
		if run.State != jobs.Failed || run.Error.Kind != jobs.FailTimeout || run.Error.Message != "not done within 10m" {
			t.Fatalf("%s, %+v", run.State, run.Error)
		}
		if took := a.FinishedAt.Sub(a.StartedAt); took < limit.Std() || took > limit.Std()+100*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		s.over(store.Fence{Run: run.ID, Number: 1}, store.OverError{State: jobs.Failed})
	})
}

// The webhook gives its request half a minute of that, and says so: a second clock of the runtime ended it
// first, as if the attempt's hour were up.
func TestARequestThatIsToBeTakenOnIsEndedByItsKindAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			if left := time.Until(c.Deadline); left != time.Hour {
				t.Errorf("it is told of %s", left)
			}
			return untilStopped(ctx, c)
		})
		defer s.stop()
		s.put(silentJob)
		s.rt.Start()
		one := 1
		run := s.awaitEnd(s.submit(jobs.Request{Job: "a", MaxAttempts: &one}))
		a := run.Attempts[0]
		if took := a.FinishedAt.Sub(a.StartedAt); run.Error.Message != "not done within 1h" || took != time.Hour {
			t.Errorf("%s: %+v", took, run.Error)
		}
	})
}

func TestSilenceEndsARunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, accept)
		defer s.stop()
		s.put(callbackJob)
		s.rt.Start()
		f, ctx := s.taken(), context.Background()
		heard := []func() error{
			func() error { return s.rt.Heartbeat(ctx, f) },
			func() error { _, err := s.rt.Checkpoint(ctx, f); return err },
			func() error { return s.rt.SaveCheckpoint(ctx, f, jobs.Raw("1")) },
			func() error { return s.rt.Progress(ctx, f, jobs.Progress{Done: 1}) },
			func() error { return s.rt.AppendLog(ctx, f, []byte("alive")) },
			func() error { return s.rt.AppendLog(ctx, f, nil) },
			func() error { s.rt.Hear(f); return nil },
		}
		for range 3 {
			for i, call := range heard {
				time.Sleep(29 * time.Second)
				if err := call(); err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
			}
		}
		begin := time.Now()
		run := s.awaitState(f.Run, jobs.Retrying)
		if silent := time.Since(begin); silent < 30*time.Second || silent > 30*time.Second+100*time.Millisecond {
			t.Errorf("it was given up after %s", silent)
		}
		a := run.Attempts[0]
		if a.Error.Kind != jobs.FailHeartbeat || a.Error.Message != "no heartbeat for 30s" || a.OutputTail != "alive\nalive\nalive\n" {
			t.Errorf("%+v, output %q", a.Error, a.OutputTail)
		}
		if progressOf(run) != (jobs.Progress{Done: 1}) {
			t.Errorf("progress %+v", run.Progress)
		}
	})
}

func TestRunsThatWaitSurviveARestartAndCanBeHeardOfFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, accept)
		s.put(callbackJob)
		s.put(strings.Replace(silentJob, `"a"`, `"b"`, 1))
		s.rt.Start()
		silent, alive := s.taken(), s.taken()
		one, limit := 1, jobs.Duration(time.Minute)
		short := s.submit(jobs.Request{Job: "b", MaxAttempts: &one, Timeout: &limit})
		long := s.submit(jobs.Request{Job: "b"})
		for _, id := range []jobs.ID{short, long} {
			s.awaitState(id, jobs.Waiting)
		}
		token := s.rt.CallbackToken(alive)
		s.stop()
		time.Sleep(10 * time.Minute)
		s.open()
		defer s.stop()
		if _, ok := s.rt.OpenCallback(alive.Run, token); ok {
			t.Error("this server has a key of its own: its tokens are others")
		}
		s.rt.Start()
		begin := time.Now()
		time.Sleep(29 * time.Second)
		if err := s.rt.Heartbeat(context.Background(), alive); err != nil {
			t.Fatal(err)
		}
		s.awaitState(silent.Run, jobs.Retrying)
		if after := time.Since(begin); after < 30*time.Second || after > 31*time.Second {
			t.Errorf("the silent one was given up after %s", after)
		}
		s.complete(alive, `"back"`)
		if run := s.run(alive.Run); run.State != jobs.Succeeded {
			t.Errorf("the other is %s", run.State)
		}
		if run := s.awaitEnd(short); run.Error.Kind != jobs.FailTimeout || time.Since(begin) < time.Minute {
			t.Errorf("%+v after %s: a minute there is at least", run.Error, time.Since(begin))
		}
		if run := s.awaitState(long, jobs.Retrying); run.Attempts[0].FinishedAt.Sub(run.Attempts[0].StartedAt).Round(time.Second) != time.Hour {
			t.Errorf("the deadline moved: %+v", run.Attempts[0])
		}
	})
}

func TestAWaitFollowsTheMonotonicClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		step := time.Duration(0)
		s := newServer(t, accept)
		s.rt.SetWall(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return step
		})
		defer s.stop()
		s.put(silentJob)
		s.rt.Start()
		f, begin := s.taken(), time.Now()
		mu.Lock()
		step = 5 * time.Hour
		mu.Unlock()
		time.Sleep(10 * time.Second)
		if run := s.run(f.Run); run.State != jobs.Waiting || time.Until(run.DueAt.Std()).Round(time.Minute) != 6*time.Hour {
			t.Fatalf("%s until %s", run.State, run.DueAt)
		}
		s.awaitState(f.Run, jobs.Retrying)
		if took := time.Since(begin); took.Round(time.Second) != time.Hour {
			t.Errorf("it waited for %s", took)
		}
	})
}

func TestCancelEndsARunThatWaitsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, accept)
		defer s.stop()
		s.put(silentJob)
		s.rt.Start()
		f, ctx := s.taken(), context.Background()
		if err := s.rt.AppendLog(ctx, f, []byte("last words")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if state, err := s.rt.Cancel(ctx, f.Run, store.By{Actor: "test"}); err != nil || state != jobs.Cancelled {
				t.Fatal(state, err)
			}
		}
		run := s.run(f.Run)
		if run.State != jobs.Cancelled || len(run.Attempts) != 1 || run.Attempts[0].Outcome != jobs.OutcomeCancelled {
			t.Fatalf("%s %+v", run.State, run.Attempts)
		}
		s.over(f, store.OverError{State: jobs.Cancelled})
		time.Sleep(2 * time.Second)
		if got := s.log(f.Run); got != "last words\n" {
			t.Errorf("the log is %q", got)
		}
	})
}

func TestDeletingAJobCancelsItsRunsThatWait(t *testing.T) {
	s := newServer(t, accept)
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	f := s.taken()
	if _, err := s.rt.DeleteJob(context.Background(), "a", nil, store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	if run := s.run(f.Run); run.State != jobs.Cancelled {
		t.Fatalf("it is %s", run.State)
	}
	s.over(f, store.OverError{State: jobs.Cancelled})
}

func TestWhatIsTakenOnAfterItsJobIsDeletedIsCancelled(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		<-release
		return accept(ctx, c)
	})
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitState(id, jobs.Running)
	if _, err := s.rt.DeleteJob(context.Background(), "a", nil, store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	close(release)
	if run := s.awaitEnd(id); run.State != jobs.Cancelled || run.Attempts[0].Decision.By != jobs.ByJobDeleted {
		t.Fatalf("%s %+v", run.State, run.Attempts)
	}
}

func TestACancelGoesBefore202AndWhatIsTold(t *testing.T) {
	asked, release := make(chan struct{}, 1), make(chan struct{})
	s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		asked <- struct{}{}
		<-release
		return accept(ctx, c)
	})
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	<-asked
	f := store.Fence{Run: id, Number: 1}
	s.complete(f, `"early"`)
	if state, err := s.rt.Cancel(context.Background(), id, store.By{Actor: "test"}); err != nil || state != jobs.Running {
		t.Fatal(state, err)
	}
	close(release)
	if run := s.awaitEnd(id); run.State != jobs.Cancelled || run.Result != nil {
		t.Fatalf("%s, result %s", run.State, run.Result)
	}
	s.over(f, store.OverError{State: jobs.Cancelled})
}

func TestWhatIsToldBeforeTheAnswerIsTheEnd(t *testing.T) {
	cases := map[string]struct {
		answer jobs.Report
		fail   bool
		state  jobs.State
	}{
		"202":             {jobs.Report{Accepted: true, HTTPStatus: 202}, false, jobs.Succeeded},
		"503":             {jobs.Report{Failure: unreachable(), HTTPStatus: 503}, false, jobs.Succeeded},
		"another slice":   {jobs.Report{Continue: true, Checkpoint: jobs.Raw("1"), HTTPStatus: 200}, false, jobs.Succeeded},
		"no answer":       {jobs.Report{Stopped: jobs.ErrTimeout}, false, jobs.Succeeded},
		"202 and fail":    {jobs.Report{Accepted: true, HTTPStatus: 202}, true, jobs.Failed},
		"200 and fail":    {jobs.Report{HTTPStatus: 200, Result: jobs.Raw(`"by the answer"`)}, true, jobs.Failed},
		"nothing, failed": {jobs.Report{Stopped: jobs.ErrShutdown}, true, jobs.Failed},
	}
	var s *server
	s = newServer(t, func(_ context.Context, call *jobs.Call) jobs.Report {
		c := cases[named(call)]
		f := store.Fence{Run: call.Run, Number: call.Number}
		for range 2 { // repeated, it changes nothing
			if c.fail {
				s.fail(f, jobs.SaidError{Message: "early"})
			} else {
				s.complete(f, `"early"`)
			}
		}
		var over *store.OverError
		other := s.rt.Fail(context.Background(), f, &jobs.SaidError{})
		if c.fail {
			other = s.rt.Complete(context.Background(), f, nil)
		}
		if !errors.As(other, &over) || over.State != jobs.Running {
			t.Errorf("the other call then: %v", other)
		}
		c.answer.ExitCode = -1
		return c.answer
	})
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	for name, c := range cases {
		run := s.awaitEnd(s.submitNamed("a", name))
		if run.State != c.state || c.fail && run.Error.Message != "early" || !c.fail && string(run.Result) != `"early"` {
			t.Errorf("%s: %s, result %s, %+v", name, run.State, run.Result, run.Error)
		}
		told := store.ToldComplete
		if c.fail {
			told = store.ToldFail
		}
		s.over(store.Fence{Run: run.ID, Number: 1}, store.OverError{State: c.state, Told: told})
	}
}

// submitNamed makes a run for one case of a table, and named tells an attempt which.
func (s *server) submitNamed(job, name string) jobs.ID {
	s.t.Helper()
	return s.submit(jobs.Request{Job: job, Payload: jobs.AppendJSONString(nil, name)})
}

func named(c *jobs.Call) (name string) {
	if err := jobs.DecodeJSON(c.Payload, &name); err != nil {
		panic(err)
	}
	return name
}

func TestWhatWasToldBeforeTheServerDiedIsTheEnd(t *testing.T) {
	ctx := context.Background()
	s := newServer(t, succeed)
	defer s.close()
	s.put(silentJob)
	s.put(strings.Replace(webhookJob, `"a"`, `"b"`, 1))
	complete, fail, lost := s.submit(jobs.Request{Job: "a"}), s.submit(jobs.Request{Job: "a"}), s.submit(jobs.Request{Job: "a"})
	cancelled, other := s.submit(jobs.Request{Job: "a"}), s.submit(jobs.Request{Job: "b"})
	s.claimAll()
	said := &jobs.Said{Complete: true, Result: jobs.Raw(`"early"`)}
	for id, said := range map[jobs.ID]*jobs.Said{
		complete: said, fail: {Error: &jobs.SaidError{Message: "no", Fail: true}}, cancelled: said, other: said,
	} {
		if err := s.st.Say(ctx, store.Fence{Run: id, Number: 1}, said); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.st.Cancel(ctx, cancelled, store.By{Now: s.rt.Now()}); err != nil {
		t.Fatal(err)
	}
	s.revive(s.st)
	for id, want := range map[jobs.ID]jobs.State{
		complete: jobs.Succeeded, fail: jobs.Failed, lost: jobs.Queued, cancelled: jobs.Cancelled, other: jobs.Queued,
	} {
		if run := s.run(id); run.State != want {
			t.Errorf("%s, want %s", run.State, want)
		}
	}
	if run := s.run(complete); string(run.Result) != `"early"` {
		t.Errorf("result %s", run.Result)
	}
	s.over(store.Fence{Run: complete, Number: 1}, store.OverError{State: jobs.Succeeded, Told: store.ToldComplete})
}

func TestOneOfManyEndsWins(t *testing.T) {
	s := newServer(t, accept)
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	for range 10 {
		f, ctx := s.taken(), context.Background()
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := map[string]int{}
		try := func(what string, call func() error) {
			wg.Go(func() {
				err := call()
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won[what]++
				case !errors.Is(err, store.ErrLease) && !errors.Is(err, store.ErrState):
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		for range 5 {
			try("complete", func() error { return s.rt.Complete(ctx, f, jobs.Raw("1")) })
			try("fail", func() error { return s.rt.Fail(ctx, f, &jobs.SaidError{Retryable: new(false)}) })
		}
		try("cancel", func() error {
			state, err := s.rt.Cancel(ctx, f.Run, store.By{Actor: "test"})
			if err == nil && state != jobs.Cancelled {
				err = fmt.Errorf("cancel says %s", state)
			}
			return err
		})
		wg.Wait()
		run := s.run(f.Run)
		if len(won) != 1 || len(run.Attempts) != 1 {
			t.Fatalf("%v have won, the run is %s after %d attempts", won, run.State, len(run.Attempts))
		}
		ends := map[string]jobs.State{"complete": jobs.Succeeded, "fail": jobs.Failed, "cancel": jobs.Cancelled}
		for what, n := range won {
			if run.State != ends[what] || n != 5 && what != "cancel" {
				t.Errorf("%s has won %d times, the run is %s", what, n, run.State)
			}
		}
	}
}

func TestAnEndThatCannotBeKeptIsRefusedAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, accept)
		full := &flaky{Store: s.st}
		s.revive(full)
		defer s.stop()
		s.put(callbackJob)
		s.rt.Start()
		f := s.taken()
		full.fails.Store(3)
		full.err.Store(fmt.Errorf("%w: sorry", store.ErrFull))
		if err := s.rt.Complete(context.Background(), f, nil); !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if run := s.run(f.Run); run.State != jobs.Waiting {
			t.Fatalf("it is %s", run.State)
		}
		// Its silence is looked at again until that can be kept.
		full.fails.Store(40)
		run := s.awaitState(f.Run, jobs.Retrying)
		if full.fails.Load() >= 0 || run.Attempts[0].Error.Kind != jobs.FailHeartbeat {
			t.Errorf("%+v, %d failures left", run.Attempts[0].Error, full.fails.Load())
		}
	})
}

func TestStopEndsWithRunsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, accept)
		s.put(silentJob)
		s.rt.Start()
		f, ctx := s.taken(), context.Background()
		if err := s.rt.AppendLog(ctx, f, []byte("said")); err != nil {
			t.Fatal(err)
		}
		if err := s.rt.Progress(ctx, f, jobs.Progress{Done: 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.rt.Progress(ctx, f, jobs.Progress{Done: 2}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := s.rt.Stop(nil); err != nil || time.Since(begin) > time.Second {
			t.Fatalf("%v after %s", err, time.Since(begin))
		}
		for call, err := range map[string]error{
			"complete": s.rt.Complete(ctx, f, nil), "log": s.rt.AppendLog(ctx, f, []byte("x")),
			"progress": s.rt.Progress(ctx, f, jobs.Progress{}),
		} {
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("%s after the end: %v", call, err)
			}
		}
		s.close()
		s.open()
		defer s.stop()
		if run := s.run(f.Run); run.State != jobs.Waiting || progressOf(run).Done != 2 || s.log(f.Run) != "said\n" {
			t.Errorf("%s, %+v, %q", run.State, run.Progress, s.log(f.Run))
		}
	})
}
