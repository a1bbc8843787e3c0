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
	"nightshift/runtime"
	"nightshift/store"
)

// says gives the text of a ::nightshift line to who listens.
func says(c *jobs.Call, text string) (wrong string) {
	n, wrong := jobs.ParseNote([]byte(text), c.Mask)
	if refused := c.Say(n); wrong == "" {
		wrong = refused
	}
	return wrong
}

// saves is what a call of the callback does, which an attempt makes of itself.
func (s *server) saves(c *jobs.Call, value string) {
	s.t.Helper()
	f, ok := s.rt.OpenCallback(c.Run, c.CallbackToken)
	if !ok {
		s.t.Fatal("the token opens nothing")
	}
	if err := s.rt.SaveCheckpoint(context.Background(), f, jobs.Raw(value)); err != nil {
		s.t.Error(err)
	}
}

const hastyJob = `{"name":"s","script":{"source":"true"},"retry":{"max_attempts":4,"otherwise":"retry","backoff":{"base":"1ms","max":"1ms"}}}`

func exit(code int) jobs.Report {
	if code == 0 {
		return jobs.Report{}
	}
	return jobs.Report{ExitCode: code, Failure: &jobs.Failure{Kind: jobs.FailExit, Exit: &jobs.ExitFailure{Code: code}}}
}

// Cases 97, 98: the next attempt has what was saved last, however it was saved, and however soon before
// the end.
func TestTheNextAttemptHasTheLastThatWasSaved(t *testing.T) {
	attempts := map[string]func(*server, *jobs.Call) jobs.Report{
		"by lines": func(_ *server, c *jobs.Call) jobs.Report {
			for i := range 5 {
				says(c, fmt.Sprintf(`{"checkpoint":%d}`, i))
			}
			return exit(1)
		},
		"by calls": func(s *server, c *jobs.Call) jobs.Report {
			for i := range 5 {
				s.saves(c, fmt.Sprint(i))
			}
			return exit(1)
		},
		"by lines, then a call": func(s *server, c *jobs.Call) jobs.Report {
			for i := range 4 {
				says(c, fmt.Sprintf(`{"checkpoint":%d}`, i))
			}
			s.saves(c, "4")
			return exit(1)
		},
		"by calls, then a line": func(s *server, c *jobs.Call) jobs.Report {
			s.saves(c, "1")
			says(c, `{"checkpoint":2}`)
			s.saves(c, "3")
			says(c, `{"checkpoint":4}`)
			return exit(1)
		},
		"in a failed answer": func(s *server, c *jobs.Call) jobs.Report {
			s.saves(c, "1")
			r := exit(1)
			r.Checkpoint = jobs.Raw("4")
			return r
		},
		"a second that is too large": func(s *server, c *jobs.Call) jobs.Report {
			says(c, `{"checkpoint":4}`)
			large := `"` + strings.Repeat("x", jobs.MaxCheckpoint-1) + `"`
			if wrong := says(c, `{"checkpoint":`+large+`}`); wrong == "" {
				t.Error("a line that is too large is taken")
			}
			if wrong := c.Say(&jobs.Note{Checkpoint: jobs.Raw(large)}); wrong == "" {
				t.Error("a note that is too large is taken")
			}
			var tooLarge *jobs.TooLargeError
			err := s.rt.SaveCheckpoint(context.Background(), store.Fence{Run: c.Run, Number: c.Number}, jobs.Raw(large))
			if !errors.As(err, &tooLarge) || tooLarge.Limit != jobs.MaxCheckpoint {
				t.Errorf("a call that is too large: %v", err)
			}
			return exit(1)
		},
		"and is there once it was acknowledged": func(s *server, c *jobs.Call) jobs.Report {
			s.saves(c, "4")
			if got, err := s.st.Checkpoint(context.Background(), c.Run); err != nil || string(got) != "4" {
				t.Errorf("on disk is %s, %v", got, err)
			}
			return exit(1)
		},
		"though it is stopped": func(s *server, c *jobs.Call) jobs.Report {
			says(c, `{"checkpoint":4,"result":"x"}`)
			return jobs.Report{ExitCode: 0, Stopped: jobs.ErrTimeout}
		},
	}
	var s *server
	got := make(chan jobs.Raw, 1)
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		if c.Number == 1 {
			return attempts[named(c)](s, c)
		}
		got <- c.Checkpoint
		return exit(0)
	})
	defer s.stop()
	s.put(hastyJob)
	s.rt.Start()
	for name := range attempts {
		run := s.awaitEnd(s.submitNamed("s", name))
		if saved := <-got; run.State != jobs.Succeeded || string(saved) != "4" {
			t.Errorf("%s: %s, the second attempt got %s", name, run.State, saved)
		}
		if left, err := s.st.Checkpoint(context.Background(), run.ID); left != nil || err != nil {
			t.Errorf("%s: left after the success: %s, %v", name, left, err)
		}
	}
}

func TestAnAttemptReadsWhatItHasSaved(t *testing.T) {
	var s *server
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		f := store.Fence{Run: c.Run, Number: c.Number}
		read := func(want string) {
			if got, err := s.rt.Checkpoint(context.Background(), f); string(got) != want || err != nil {
				t.Errorf("it reads %q, %v: want %q", got, err, want)
			}
		}
		read("")
		says(c, `{"checkpoint": {"a": 1.0} }`)
		read(`{"a": 1.0}`)
		s.saves(c, `2`)
		read(`2`)
		says(c, `{"checkpoint":null}`)
		read("")
		s.saves(c, ` [ 3 ] `)
		read(` [ 3 ] `)
		s.saves(c, `null`)
		read("")
		says(c, `{"checkpoint":4}`)
		if err := s.rt.DropCheckpoint(context.Background(), c.Run, store.By{Actor: "test"}); err != nil {
			t.Error(err)
		}
		read("")
		return exit(0)
	})
	defer s.stop()
	s.put(hastyJob)
	s.rt.Start()
	s.awaitEnd(s.submit(jobs.Request{Job: "s"}))
}

// Case 100.
func TestARequeueGoesOnFromTheCheckpointUnlessItIsReset(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, string(c.Checkpoint)); c.Checkpoint == nil {
			says(c, `{"checkpoint":7}`)
		}
		return exit(1)
	})
	defer s.stop()
	s.put(`{"name":"s","script":{"source":"true"},"retry":{"max_attempts":1}}`)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "s"})
	s.awaitEnd(id)
	for _, reset := range []bool{false, true} {
		out, err := s.rt.Requeue(context.Background(), store.Requeue{Of: id, Reset: reset, By: store.By{Actor: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		id = out.ID
		s.awaitEnd(id)
	}
	if fmt.Sprint(got) != "[ 7 ]" {
		t.Errorf("they got %q, want none, 7, none", got)
	}
}

func TestASupersededAttemptChangesNothing(t *testing.T) {
	var s *server
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		if c.Number == 1 {
			says(c, `{"checkpoint":"first","progress":{"done":1}}`)
			return exit(1)
		}
		s.over(store.Fence{Run: c.Run, Number: 1}, store.OverError{State: jobs.Running})
		s.over(store.Fence{Run: c.Run, Number: 3}, store.OverError{State: jobs.Running})
		var over *store.OverError
		if err := s.rt.Heartbeat(context.Background(), store.Fence{Run: jobs.ID{1}, Number: 1}); !errors.As(err, &over) || over.State != 0 {
			t.Errorf("of a run that is not kept: %v", err)
		}
		return exit(0)
	})
	defer s.stop()
	s.put(hastyJob)
	s.rt.Start()
	if run := s.awaitEnd(s.submit(jobs.Request{Job: "s"})); run.State != jobs.Succeeded || run.Result != nil {
		t.Errorf("%s, %s", run.State, run.Result)
	}
}

func TestWhatIsStoppedMaySaveUntilItIsOver(t *testing.T) {
	began := make(chan struct{})
	var s *server
	s = newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		close(began)
		<-ctx.Done()
		s.saves(c, `"by a call"`)
		says(c, `{"checkpoint":"in the handler of TERM"}`)
		return jobs.Report{Stopped: context.Cause(ctx)}
	})
	defer s.stop()
	s.put(hastyJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "s"})
	<-began
	if state, err := s.rt.Cancel(context.Background(), id, store.By{Actor: "test"}); err != nil || state != jobs.Running {
		t.Fatal(state, err)
	}
	if run := s.awaitEnd(id); run.State != jobs.Cancelled {
		t.Fatalf("it is %s", run.State)
	}
	if got, err := s.st.Checkpoint(context.Background(), id); err != nil || string(got) != `"in the handler of TERM"` {
		t.Errorf("it saved %s, %v", got, err)
	}
}

func TestWhatWasSaidOfTheOutcomeCounts(t *testing.T) {
	cases := map[string]struct {
		lines  []string
		report jobs.Report
		state  jobs.State
		check  func(*jobs.Run) bool
	}{
		"the last result": {
			[]string{`{"result":1}`, `{"result": {"b" : 2.0}}`},
			exit(0), jobs.Succeeded,
			func(run *jobs.Run) bool { return string(run.Result) == `{"b" : 2.0}` && !run.ResultTruncated },
		},
		"a result that is too large": {
			[]string{`{"result":"` + strings.Repeat("x", jobs.MaxResult) + `"}`},
			exit(0), jobs.Succeeded,
			func(run *jobs.Run) bool { return run.Result == nil && run.ResultTruncated },
		},
		"an error": {
			[]string{`{"error":{"type":"BadRow","message":"row 7"},"result":1}`},
			exit(0), jobs.Failed,
			func(run *jobs.Run) bool {
				return run.Error.Kind == jobs.FailReported && run.Error.Type == "BadRow" && run.Error.Message == "row 7" && run.Result == nil
			},
		},
		"why it failed": {
			[]string{`{"error":{"type":"BadRow","message":"row 7","retryable":false}}`},
			exit(3), jobs.Failed,
			func(run *jobs.Run) bool {
				return run.Error.Kind == jobs.FailExit && run.Error.Type == "BadRow" && run.Attempts[0].ExitCode == 3 &&
					run.Attempts[0].Decision.By == jobs.ByReported
			},
		},
		"not of what was stopped": {
			[]string{`{"error":{"message":"row 7"}}`},
			jobs.Report{Stopped: jobs.ErrTimeout},
			jobs.Failed,
			func(run *jobs.Run) bool { return run.Error.Kind == jobs.FailTimeout },
		},
	}
	s := newServer(t, func(_ context.Context, call *jobs.Call) jobs.Report {
		c := cases[named(call)]
		for _, line := range c.lines {
			if wrong := says(call, line); wrong != "" {
				t.Error(wrong)
			}
		}
		return c.report
	})
	defer s.stop()
	s.put(`{"name":"s","script":{"source":"true"},"retry":{"max_attempts":1,"otherwise":"retry","rules":[]}}`)
	s.rt.Start()
	for name, c := range cases {
		if run := s.awaitEnd(s.submitNamed("s", name)); run.State != c.state || !c.check(run) {
			t.Errorf("%s: %s, result %s, error %+v, decision %+v", name, run.State, run.Result, run.Error, run.Attempts[0].Decision)
		}
	}
}

func TestCompleteAndFailOfAScriptCountWhenItIsOver(t *testing.T) {
	var s *server
	s = newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		f := store.Fence{Run: c.Run, Number: c.Number}
		says(c, `{"result":"by a line"}`)
		if named(c) == store.ToldFail {
			s.fail(f, jobs.SaidError{Type: "Odd"})
		}
		s.complete(f, `"by complete"`) // which does not undo it
		return exit(0)
	})
	defer s.stop()
	s.put(`{"name":"s","script":{"source":"true"},"retry":{"max_attempts":1}}`)
	s.rt.Start()
	run := s.awaitEnd(s.submitNamed("s", store.ToldFail))
	if run.State != jobs.Failed || run.Error.Kind != jobs.FailReported || run.Error.Type != "Odd" || run.Result != nil {
		t.Errorf("%s, %+v", run.State, run.Error)
	}
	s.over(store.Fence{Run: run.ID, Number: 1}, store.OverError{State: jobs.Failed, Told: store.ToldFail})
	run = s.awaitEnd(s.submitNamed("s", store.ToldComplete))
	if run.State != jobs.Succeeded || string(run.Result) != `"by complete"` {
		t.Errorf("%s, %s", run.State, run.Result)
	}
	s.over(store.Fence{Run: run.ID, Number: 1}, store.OverError{State: jobs.Succeeded, Told: store.ToldComplete})
}

func TestAResultThatIsTooLargeIsRefused(t *testing.T) {
	s := newServer(t, accept)
	defer s.stop()
	s.put(silentJob)
	s.rt.Start()
	f := s.taken()
	var tooLarge *jobs.TooLargeError
	if err := s.rt.Complete(context.Background(), f, make(jobs.Raw, jobs.MaxResult+1)); !errors.As(err, &tooLarge) {
		t.Errorf("%v", err)
	}
	var invalid *jobs.InvalidError
	if err := s.rt.Progress(context.Background(), f, jobs.Progress{Done: -1}); !errors.As(err, &invalid) {
		t.Errorf("%v", err)
	}
	if run := s.run(f.Run); run.State != jobs.Waiting {
		t.Errorf("it is %s", run.State)
	}
}

// noting is a store that counts what is kept of notes.
type noting struct {
	store.Store
	mu    sync.Mutex
	kept  []jobs.Progress
	times []time.Time
	wrong error
}

func (n *noting) KeepNotes(ctx context.Context, notes []store.Note, now jobs.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wrong != nil {
		return n.wrong
	}
	for _, note := range notes {
		if note.Progress != nil {
			n.kept, n.times = append(n.kept, *note.Progress), append(n.times, time.Now())
		}
	}
	return n.Store.KeepNotes(ctx, notes, now)
}

func TestProgressIsShownAtOnceAndKeptOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step, did := make(chan struct{}), make(chan struct{})
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			for i := range 100 { // ten seconds
				says(c, fmt.Sprintf(`{"progress":{"done":%d,"total":100}}`, i+1))
				time.Sleep(100 * time.Millisecond)
			}
			did <- struct{}{}
			<-step
			says(c, `{"progress":{"done":101,"note":"the last"}}`)
			return exit(0)
		})
		st := &noting{Store: s.st}
		s.revive(st)
		defer s.stop()
		s.put(hastyJob)
		s.rt.Start()
		id := s.submit(jobs.Request{Job: "s"})
		s.awaitState(id, jobs.Running)
		time.Sleep(4950 * time.Millisecond)
		if got := progressOf(s.run(id)); got != (jobs.Progress{Done: 50, Total: 100}) {
			t.Errorf("shown is %+v", got)
		}
		list, _, err := s.rt.Runs(context.Background(), store.RunFilter{}, store.Page{Limit: 10})
		if err != nil || len(list) != 1 || progressOf(list[0]).Done != 50 {
			t.Errorf("listed is %+v, %v", list[0].Progress, err)
		}
		<-did
		time.Sleep(2 * time.Second)
		if run, err := s.st.Run(context.Background(), id); err != nil || progressOf(run).Done != 100 {
			t.Errorf("kept is %+v, %v", run.Progress, err)
		}
		step <- struct{}{}
		if run := s.awaitEnd(id); progressOf(run) != (jobs.Progress{Done: 101, Note: "the last"}) {
			t.Errorf("at the end it is %+v", run.Progress)
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		if n := len(st.kept); n < 10 || n > 12 {
			t.Errorf("kept %d times", n)
		}
		for i := 1; i < len(st.times); i++ {
			if st.times[i].Sub(st.times[i-1]) < time.Second {
				t.Errorf("kept again after %s", st.times[i].Sub(st.times[i-1]))
			}
		}
	})
}

func TestANewAttemptKeepsTheProgressAndARequeueHasNone(t *testing.T) {
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		if c.Number == 1 && c.Run == c.Operation { // else it was requeued
			says(c, `{"progress":{"done":3}}`)
		}
		return exit(1)
	})
	defer s.stop()
	s.put(`{"name":"s","script":{"source":"true"},"retry":{"max_attempts":2,"otherwise":"retry",` +
		`"backoff":{"base":"1ms","max":"1ms"},"rules":[{"if":"progress.done == 3 && attempt == 2","then":"fail","reason":"it knows"}]}}`)
	s.rt.Start()
	run := s.awaitEnd(s.submit(jobs.Request{Job: "s"}))
	if progressOf(run).Done != 3 || !strings.Contains(run.Attempts[1].Decision.Reason, "it knows") {
		t.Errorf("%+v, %+v", run.Progress, run.Attempts[1].Decision)
	}
	out, err := s.rt.Requeue(context.Background(), store.Requeue{Of: run.ID, By: store.By{Actor: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if next := s.awaitEnd(out.ID); next.Progress != nil {
		t.Errorf("the requeued run has %+v", next.Progress)
	}
}

func TestNotesAreKeptOnceTheDiskTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			says(c, `{"checkpoint":1,"progress":{"done":1}}`)
			<-release
			return exit(0)
		})
		st := &noting{Store: s.st, wrong: fmt.Errorf("%w: sorry", store.ErrFull)}
		s.revive(st)
		defer s.stop()
		s.put(hastyJob)
		s.rt.Start()
		id := s.submit(jobs.Request{Job: "s"})
		s.awaitState(id, jobs.Running)
		time.Sleep(5 * time.Second)
		st.mu.Lock()
		st.wrong = nil
		st.mu.Unlock()
		time.Sleep(2 * time.Second)
		run, err := s.st.Run(context.Background(), id)
		saved, err2 := s.st.Checkpoint(context.Background(), id)
		if err != nil || err2 != nil || progressOf(run).Done != 1 || string(saved) != "1" {
			t.Errorf("%+v, %s, %v, %v", run.Progress, saved, err, err2)
		}
		close(release)
		s.awaitEnd(id)
	})
}

func TestSecretsAreMaskedInWhatIsSaid(t *testing.T) {
	const secret = "the-secret-value"
	var s *server
	s = newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		f := store.Fence{Run: c.Run, Number: c.Number}
		if err := s.rt.Progress(ctx, f, jobs.Progress{Note: "with " + secret}); err != nil {
			t.Error(err)
		}
		if err := s.rt.AppendLog(ctx, f, []byte("log "+secret)); err != nil {
			t.Error(err)
		}
		s.saves(c, `"`+secret+`"`)
		if string(c.Payload) == `"wait"` {
			return accept(ctx, c)
		}
		s.fail(f, jobs.SaidError{Type: secret, Message: "by " + secret, Stack: "at " + secret})
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	_, _, err := s.rt.Secrets().Put(context.Background(), "S", secret, store.By{Actor: "test"}, func(runtime.SecretInfo, bool) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/","completion":"callback","headers":{"X":"{{ secrets.S }}"}},"retry":{"max_attempts":1}}`)
	s.rt.Start()
	run := s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
	if e := run.Error; e.Type != "***" || e.Message != "by ***" || e.Stack != "at ***" || run.Progress.Note != "with ***" || s.log(run.ID) != "log ***\n" {
		t.Errorf("%+v, %+v, %q", e, run.Progress, s.log(run.ID))
	}
	if saved, err := s.st.Checkpoint(context.Background(), run.ID); string(saved) != `"`+secret+`"` || err != nil {
		t.Errorf("the checkpoint is %s, %v", saved, err)
	}
	id := s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(`"wait"`)})
	s.awaitState(id, jobs.Waiting)
	f := store.Fence{Run: id, Number: 1}
	if err := s.rt.AppendLog(context.Background(), f, []byte(secret+"\n")); err != nil {
		t.Fatal(err)
	}
	s.complete(f, `{"a":"`+secret+`"}`)
	if run := s.run(id); string(run.Result) != `{"a":"***"}` || s.log(id) != "log ***\n***\n" {
		t.Errorf("%s, %q", run.Result, s.log(id))
	}
}

func TestRunsOfACheckpointKeyGoOnFromOneAnother(t *testing.T) {
	release := make(chan int, 1)
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		says(c, fmt.Sprintf(`{"checkpoint":"%s, then %s"}`, strings.Trim(string(c.Checkpoint), `"`), c.Run.String()[34:]))
		return exit(<-release)
	})
	defer s.stop()
	s.put(`{"name":"s","script":{"source":"true"},"retry":{"max_attempts":1},"checkpoint":{"key":"payload.batch"}}`)
	s.rt.Start()
	batch := func(name string) jobs.ID {
		return s.submit(jobs.Request{Job: "s", Payload: jobs.Raw(`{"batch":"` + name + `"}`)})
	}
	first := batch("x")
	s.awaitState(first, jobs.Running)
	second := batch("x")
	if run := s.run(second); run.State != jobs.Queued || run.HeldBy.Kind != jobs.HeldCheckpoint || run.HeldBy.Name != "x" {
		t.Errorf("%s, held by %+v", run.State, run.HeldBy)
	}
	other := batch("y")
	s.awaitState(other, jobs.Running)
	release <- 1
	release <- 1
	release <- 1
	for _, id := range []jobs.ID{first, second, other} {
		if run := s.awaitEnd(id); run.State != jobs.Failed {
			t.Errorf("it is %s", run.State)
		}
	}
	want := fmt.Sprintf(`", then %s, then %s"`, first.String()[34:], second.String()[34:])
	if got, err := s.st.Checkpoint(context.Background(), second); string(got) != want || err != nil {
		t.Errorf("the batch saved %s, %v: want %s", got, err, want)
	}
}

func TestANewCheckpointForgivesDeaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.close()
		s.put(webhookJob)
		id := s.submit(jobs.Request{Job: "a"})
		for death := range 8 { // five in a row are too many
			s.claimAll()
			number := s.run(id).Counts.Number
			if death%3 == 1 {
				err := s.rt.SaveCheckpoint(context.Background(), store.Fence{Run: id, Number: number}, jobs.Raw(fmt.Sprint(death)))
				if err != nil {
					t.Fatal(err)
				}
			}
			s.revive(s.st)
			time.Sleep(time.Minute)
		}
		if run := s.run(id); run.State.Terminal() || run.Counts.Deaths != 1 || run.Counts.Number != 8 {
			t.Errorf("%s after %+v", run.State, run.Counts)
		}
	})
}
