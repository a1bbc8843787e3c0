package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

type kindFunc func(context.Context, *jobs.Call) jobs.Report

func (f kindFunc) Run(ctx context.Context, c *jobs.Call) jobs.Report { return f(ctx, c) }

// bench is a server without its outside: a real store in a folder, and runtimes on it.
type server struct {
	t    testing.TB
	path string
	kind jobs.Kind
	st   store.Store
	rt   *runtime.Runtime
}

func newServer(t testing.TB, k kindFunc) *server {
	t.Helper()
	s := &server{t: t, path: filepath.Join(tempDir(t), "n.db"), kind: k}
	s.open()
	return s
}

// tempDir is a folder in memory where the machine has that: what a test does here does not hang on what
// the disk has kept.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nightshift-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *server) open() {
	s.t.Helper()
	var err error
	if s.st, err = sqlite.Open(context.Background(), s.path, sqlite.Config{}); err != nil {
		s.t.Fatal(err)
	}
	s.revive(s.st)
}

// revive makes a runtime over a store, as a start does.
func (s *server) revive(st store.Store) { s.reviveAs(st, func(*runtime.Config) {}) }

func (s *server) reviveAs(st store.Store, change func(*runtime.Config)) {
	s.t.Helper()
	cfg := runtime.Config{
		Store: st, Kinds: map[string]jobs.Kind{jobs.KindWebhook: s.kind, jobs.KindScript: s.kind},
		Workers: [store.Pools]int{8, 2}, Grace: 20 * time.Second,
	}
	change(&cfg)
	rt, err := runtime.New(context.Background(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.rt = rt
}

func (s *server) stop() {
	s.t.Helper()
	if err := s.rt.Stop(nil); err != nil {
		s.t.Error(err)
	}
	s.close()
}

func (s *server) close() {
	s.t.Helper()
	if err := s.st.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *server) put(doc string) {
	s.t.Helper()
	j, err := jobs.ParseJob([]byte(doc))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.rt.PutJobs(context.Background(), []store.PutJob{{Job: j}}, store.By{Actor: "test"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) submit(rq jobs.Request) jobs.ID {
	s.t.Helper()
	out, err := s.rt.Submit(context.Background(), true, []jobs.Request{rq})
	if err != nil {
		s.t.Fatal(err)
	}
	return out[0].ID
}

func (s *server) run(id jobs.ID) *jobs.Run {
	s.t.Helper()
	run, err := s.rt.Run(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

func (s *server) awaitEnd(id jobs.ID) *jobs.Run {
	s.t.Helper()
	ended, err := s.rt.AwaitEnd(context.Background(), id)
	if err != nil || !ended {
		s.t.Fatalf("run %s has not ended: %v", id, err)
	}
	return s.run(id)
}

// awaitState waits on the run's changes.
func (s *server) awaitState(id jobs.ID, want jobs.State) *jobs.Run {
	s.t.Helper()
	changed, stop := s.rt.Changes(id)
	defer stop()
	for {
		run := s.run(id)
		if run.State == want {
			return run
		}
		if run.State.Terminal() {
			s.t.Fatalf("run is %s, want %s", run.State, want)
		}
		<-changed
	}
}

// awaitIdle waits until no attempt has a worker: the store knows the end of one before that is free.
func (s *server) awaitIdle() {
	for s.rt.Running() != 0 {
		time.Sleep(time.Millisecond)
	}
}

func (s *server) log(id jobs.ID) string {
	s.t.Helper()
	var b bytes.Buffer
	if err := s.rt.Log(context.Background(), id, &b, false, func() {}); err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

const (
	webhookJob = `{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},` +
		`"retry":{"max_attempts":4,"backoff":{"base":"10s","factor":3,"jitter":0}}}`
	scriptJob = `{"name":"s","script":{"source":"true","grace":"5s"}}`
)

func succeed(context.Context, *jobs.Call) jobs.Report { return jobs.Report{ExitCode: -1} }

func unreachable() *jobs.Failure {
	return &jobs.Failure{Kind: jobs.FailConnection, Type: "connection", Message: "refused"}
}

// untilStopped hangs until the server ends the attempt.
func untilStopped(ctx context.Context, _ *jobs.Call) jobs.Report {
	<-ctx.Done()
	return jobs.Report{ExitCode: -1, Stopped: context.Cause(ctx)}
}

func TestRunGivesPayloadAndKeepsResultByteForByte(t *testing.T) {
	const payload, result = `{ "b":1.10,"a" : [9007199254740993] }`, `{"z": 1e2, "a":"\u00e9"}`
	var got atomic.Value
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		got.Store(string(c.Payload))
		return jobs.Report{ExitCode: -1, HTTPStatus: 200, Result: jobs.Raw(result)}
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	run := s.awaitEnd(s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(payload), Trigger: jobs.TriggerAPI}))
	if run.State != jobs.Succeeded || string(run.Result) != result || got.Load() != payload {
		t.Fatalf("%s: payload %q, result %q", run.State, got.Load(), run.Result)
	}
	if len(run.Attempts) != 1 || run.Attempts[0].HTTPStatus != 200 || run.Attempts[0].Decision.By != "success" {
		t.Fatalf("attempts %+v", run.Attempts)
	}
}

func TestFailedAttemptsAreRetriedAfterTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Time
		s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
			starts = append(starts, time.Now())
			if len(starts) < 3 {
				return jobs.Report{ExitCode: -1, Failure: unreachable()}
			}
			return jobs.Report{ExitCode: -1}
		})
		defer s.stop()
		s.put(webhookJob)
		s.rt.Start()
		run := s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
		if run.State != jobs.Succeeded || run.Error != nil || len(run.Attempts) != 3 {
			t.Fatalf("%s, error %v, %d attempts", run.State, run.Error, len(run.Attempts))
		}
		for i, want := range []time.Duration{10 * time.Second, 30 * time.Second} {
			if got := starts[i+1].Sub(starts[i]); got < want || got > want+100*time.Millisecond {
				t.Errorf("attempt %d came after %s, want %s", i+2, got, want)
			}
			if d := run.Attempts[i].Decision; d.Action != "retry" || d.NextAttemptAt == 0 || d.Reason == "" {
				t.Errorf("decision of attempt %d: %+v", i+1, d)
			}
		}
	})
}

func TestRunFailsWhenItsAttemptsAreUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			return jobs.Report{ExitCode: -1, Failure: unreachable()}
		})
		defer s.stop()
		s.put(webhookJob)
		s.rt.Start()
		run := s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
		last := run.Attempts[len(run.Attempts)-1]
		if run.State != jobs.Failed || len(run.Attempts) != 4 || last.Decision.By != "max_attempts" || run.Error == nil {
			t.Fatalf("%s after %d attempts by %s", run.State, len(run.Attempts), last.Decision.By)
		}
	})
}

func TestTimeoutEndsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, untilStopped)
		defer s.stop()
		s.put(webhookJob)
		s.rt.Start()
		one, limit := 1, jobs.Duration(7*time.Second)
		run := s.awaitEnd(s.submit(jobs.Request{Job: "a", MaxAttempts: &one, Timeout: &limit}))
		if run.State != jobs.Failed || run.Error.Kind != jobs.FailTimeout {
			t.Fatalf("%s, %v", run.State, run.Error)
		}
		if took := run.Attempts[0].FinishedAt.Sub(run.Attempts[0].StartedAt); took != 7*time.Second {
			t.Fatalf("took %s", took)
		}
	})
}

func TestCancelInEveryState(t *testing.T) {
	ctx := context.Background()
	by := store.By{Actor: "test"}
	s := newServer(t, untilStopped)
	defer s.stop()
	s.put(webhookJob)
	hour := jobs.Duration(time.Hour)
	scheduled, queued := s.submit(jobs.Request{Job: "a", Delay: &hour}), s.submit(jobs.Request{Job: "a"})
	for _, id := range []jobs.ID{scheduled, queued} {
		if state, err := s.rt.Cancel(ctx, id, by); err != nil || state != jobs.Cancelled {
			t.Fatal(state, err)
		}
		if state, err := s.rt.Cancel(ctx, id, by); err != nil || state != jobs.Cancelled {
			t.Fatal("a second cancel:", state, err)
		}
	}
	s.rt.Start()
	running := s.submit(jobs.Request{Job: "a"})
	s.awaitState(running, jobs.Running)
	if state, err := s.rt.Cancel(ctx, running, by); err != nil || state != jobs.Running {
		t.Fatal(state, err)
	}
	run := s.awaitEnd(running)
	if run.State != jobs.Cancelled || run.Attempts[0].Outcome != jobs.OutcomeCancelled || run.CancelRequestedAt == 0 {
		t.Fatalf("%s %+v", run.State, run.Attempts)
	}
	if _, err := s.rt.Cancel(ctx, s.failedRun(), by); !errors.Is(err, store.ErrState) {
		t.Fatal("cancel of a failed run:", err)
	}
}

// failedRun makes a run that ends at once: of a job whose timeout is tiny.
func (s *server) failedRun() jobs.ID {
	one, tiny := 1, jobs.Duration(time.Millisecond)
	id := s.submit(jobs.Request{Job: "a", MaxAttempts: &one, Timeout: &tiny})
	s.awaitEnd(id)
	return id
}

func TestCancelBeatsASuccessThatComesLater(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
		<-release // deaf to its context, as a receiver may be
		return jobs.Report{ExitCode: -1, Result: jobs.Raw(`1`)}
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitState(id, jobs.Running)
	if state, err := s.rt.Cancel(context.Background(), id, store.By{}); err != nil || state != jobs.Running {
		t.Fatal(state, err)
	}
	close(release)
	if run := s.awaitEnd(id); run.State != jobs.Cancelled {
		t.Fatalf("run is %s though its cancel was acknowledged", run.State)
	}
}

func TestDeletedJobLetsARunningAttemptEndWithoutRetry(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
		<-release
		return jobs.Report{ExitCode: -1, Failure: unreachable()}
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitState(id, jobs.Running)
	if _, err := s.rt.DeleteJob(context.Background(), "a", nil, store.By{}); err != nil {
		t.Fatal(err)
	}
	close(release)
	if run := s.awaitEnd(id); run.State != jobs.Failed || run.Error.Kind != jobs.FailConnection {
		t.Fatalf("%s %v", run.State, run.Error)
	}
	if _, err := s.rt.Submit(context.Background(), true, []jobs.Request{{Job: "a"}}); !errors.Is(err, store.ErrNotFound) {
		t.Fatal("a run of a deleted job:", err)
	}
}

func TestStopInterruptsWhatDoesNotEndWithinTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		stopped := map[string]time.Duration{}
		begin := time.Now()
		s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			if string(c.Payload) == `"quick"` {
				time.Sleep(10 * time.Second)
				return jobs.Report{ExitCode: -1}
			}
			<-ctx.Done()
			mu.Lock()
			stopped[c.Job] = time.Since(begin)
			mu.Unlock()
			return jobs.Report{ExitCode: -1, Stopped: context.Cause(ctx)}
		})
		s.put(webhookJob)
		s.put(scriptJob)
		s.rt.Start()
		quick := s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(`"quick"`)})
		slow, script := s.submit(jobs.Request{Job: "a"}), s.submit(jobs.Request{Job: "s"})
		for _, id := range []jobs.ID{quick, slow, script} {
			s.awaitState(id, jobs.Running)
		}
		s.stop()
		// A script is told its grace (5 s) before the end (20 s), a webhook may use it all.
		if d := stopped["s"]; d < 15*time.Second || d > 16*time.Second {
			t.Errorf("script told after %s", d)
		}
		if d := stopped["a"]; d < 20*time.Second || d > 21*time.Second {
			t.Errorf("webhook ended after %s", d)
		}
		s.open()
		defer s.stop()
		if run := s.run(quick); run.State != jobs.Succeeded {
			t.Errorf("what ended in time is %s", run.State)
		}
		for _, id := range []jobs.ID{slow, script} {
			run := s.run(id)
			if run.State != jobs.Queued || run.Attempts[0].Outcome != jobs.OutcomeInterrupted || run.Counts.Charged != 0 {
				t.Errorf("interrupted run is %s, %+v", run.State, run.Attempts)
			}
		}
	})
}

func TestSecondSignalCutsTheGraceShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			<-c.Kill
			return jobs.Report{ExitCode: -1, Stopped: context.Cause(ctx)}
		})
		s.put(webhookJob)
		s.rt.Start()
		s.awaitState(s.submit(jobs.Request{Job: "a"}), jobs.Running)
		kill, begin := make(chan struct{}), time.Now()
		close(kill)
		if err := s.rt.Stop(kill); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Fatalf("took %s", took)
		}
		s.close()
	})
}

// claimAll leaves every due run running, as a server that is killed does.
func (s *server) claimAll() {
	s.t.Helper()
	if _, err := s.st.Claim(context.Background(), store.Claim{Now: s.rt.Now(), Free: [store.Pools]int{100, 100}}); err != nil {
		s.t.Fatal(err)
	}
}

func TestDeathsOfTheServerUseUpNoAttemptUntilTheFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.close()
		s.put(webhookJob)
		id := s.submit(jobs.Request{Job: "a"})
		for death, wait := range []time.Duration{0, 5 * time.Second, 20 * time.Second, 60 * time.Second} {
			s.claimAll()
			s.revive(s.st)
			run := s.run(id)
			last := run.Attempts[death]
			if last.Outcome != jobs.OutcomeInterrupted || last.Error.Kind != jobs.FailLost || last.Decision.By != "interrupted" {
				t.Fatalf("death %d: %+v", death+1, last)
			}
			if got := run.DueAt.Sub(s.rt.Now()); got != wait || run.Counts.Charged != 0 {
				t.Fatalf("death %d: due in %s, want %s; %d charged", death+1, got, wait, run.Counts.Charged)
			}
			time.Sleep(wait)
		}
		s.claimAll()
		s.revive(s.st)
		run := s.run(id)
		if run.State != jobs.Failed || run.Error.Kind != jobs.FailCrashLoop || len(run.Attempts) != 5 {
			t.Fatalf("%s %v after %d attempts", run.State, run.Error, len(run.Attempts))
		}
	})
}

func TestAnAttemptThatEndsForgivesDeaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			if n++; n == 1 {
				return jobs.Report{ExitCode: -1, Failure: unreachable()}
			}
			return jobs.Report{ExitCode: -1}
		})
		s.put(webhookJob)
		id := s.submit(jobs.Request{Job: "a"})
		for range 3 {
			s.claimAll()
			s.revive(s.st)
			time.Sleep(time.Minute)
		}
		s.rt.Start()
		run := s.awaitEnd(id)
		if run.Counts.Deaths != 0 || run.Counts.Charged != 1 || run.Counts.Number != 5 {
			t.Fatalf("counts %+v", run.Counts)
		}
		s.stop()
	})
}

func TestCancelledRunThatDiedIsCancelledAtTheNextStart(t *testing.T) {
	s := newServer(t, succeed)
	defer s.close()
	s.put(webhookJob)
	id := s.submit(jobs.Request{Job: "a"})
	s.claimAll()
	if out, err := s.st.Cancel(context.Background(), id, store.By{Now: s.rt.Now()}); err != nil || out.State != jobs.Running {
		t.Fatal(out, err)
	}
	s.revive(s.st)
	if run := s.run(id); run.State != jobs.Cancelled {
		t.Fatalf("run is %s", run.State)
	}
}

func TestDrainStartsNothingUntilResume(t *testing.T) {
	s := newServer(t, succeed)
	defer s.stop()
	s.put(webhookJob)
	if err := s.rt.Drain(context.Background(), store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	if run := s.run(id); run.State != jobs.Queued || run.HeldBy.Kind != jobs.HeldDrain {
		t.Fatalf("%s held by %+v", run.State, run.HeldBy)
	}
	if _, err := s.rt.Resume(context.Background(), false, store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	if run := s.awaitEnd(id); run.State != jobs.Succeeded {
		t.Fatal(run.State)
	}
	list, _, err := s.st.Audit(context.Background(), store.AuditFilter{}, store.Page{Limit: 2})
	if err != nil || len(list) != 2 || list[0].Action != "resume" || list[1].Action != "drain" {
		t.Fatalf("audit %+v, %v", list, err)
	}
}

func TestPausedJobIsHeldAndSaysSo(t *testing.T) {
	s := newServer(t, succeed)
	defer s.stop()
	s.put(webhookJob)
	s.put(scriptJob)
	if _, err := s.rt.PauseJob(context.Background(), "a", true, "deploy", store.By{}); err != nil {
		t.Fatal(err)
	}
	s.rt.Start()
	held := s.submit(jobs.Request{Job: "a"})
	s.awaitEnd(s.submit(jobs.Request{Job: "s"}))
	if run := s.run(held); run.State != jobs.Queued || run.HeldBy.Kind != jobs.HeldPaused {
		t.Fatalf("%s held by %+v", run.State, run.HeldBy)
	}
	if _, err := s.rt.PauseJob(context.Background(), "a", false, "", store.By{}); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(held)
}

func TestDelayedRunStartsWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		defer s.stop()
		s.put(webhookJob)
		s.rt.Start()
		wait := jobs.Duration(6 * time.Hour)
		id := s.submit(jobs.Request{Job: "a", Delay: &wait})
		if run := s.run(id); run.State != jobs.Scheduled {
			t.Fatal(run.State)
		}
		run := s.awaitEnd(id)
		if late := run.StartedAt.Sub(run.RunAt); late < 0 || late > 10*time.Millisecond {
			t.Fatalf("started %s after it was due", late)
		}
	})
}

func TestPanicOfAKindFailsTheAttemptAlone(t *testing.T) {
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		if string(c.Payload) == `"panic"` {
			panic("boom")
		}
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	one := 1
	bad := s.submit(jobs.Request{Job: "a", Payload: jobs.Raw(`"panic"`), MaxAttempts: &one})
	good := s.submit(jobs.Request{Job: "a"})
	if run := s.awaitEnd(bad); run.State != jobs.Failed || run.Error.Type != "panic" {
		t.Fatalf("%s %v", run.State, run.Error)
	}
	if run := s.awaitEnd(good); run.State != jobs.Succeeded {
		t.Fatal(run.State)
	}
}

func TestOutputKeepsHeadAndTailAndMarksWhatIsMissing(t *testing.T) {
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		fmt.Fprint(c.Log, "BEGIN\n")
		line := strings.Repeat("é", 511) + "\n"
		for range 5000 {
			fmt.Fprint(c.Log, line)
		}
		fmt.Fprint(c.Log, "END\n")
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitEnd(id)
	log := s.log(id)
	if !strings.HasPrefix(log, "BEGIN\n") || !strings.HasSuffix(log, "END\n") || len(log) > 1<<20+100 || len(log) < 900<<10 {
		t.Fatalf("%d bytes, begins %q, ends %q", len(log), log[:10], log[len(log)-10:])
	}
	head, tail, cut := strings.Cut(log, "\n[... ")
	number, tail, _ := strings.Cut(tail, " bytes missing ...]\n")
	var missing int
	if _, err := fmt.Sscan(number, &missing); !cut || err != nil {
		t.Fatalf("no mark: %v", err)
	}
	if got := len(head) + len(tail) + missing; got != 6+4+5000*1023 {
		t.Errorf("head, tail and what is missing are %d bytes, printed were %d", got, 6+4+5000*1023)
	}
	if strings.ToValidUTF8(log, "") != log {
		t.Error("cut within a character")
	}
}

func TestLogFollowsARunOverItsAttempts(t *testing.T) {
	step := make(chan string)
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		for text := range step {
			if text == "fail" {
				return jobs.Report{ExitCode: -1, Failure: unreachable()}
			}
			if text == "ok" {
				break
			}
			fmt.Fprint(c.Log, text)
		}
		return jobs.Report{ExitCode: -1}
	})
	defer s.stop()
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"backoff":{"base":"1ms","max":"1ms"}}}`)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitState(id, jobs.Running)
	pieces := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		done <- s.rt.Log(context.Background(), id, writerFunc(func(p []byte) { pieces <- string(p) }), true, func() {})
	}()
	step <- "one\n"
	if got := <-pieces; got != "one\n" {
		t.Fatalf("got %q while it runs", got)
	}
	step <- "fail"
	step <- "two\n"
	step <- "ok"
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	close(pieces)
	rest := ""
	for p := range pieces {
		rest += p
	}
	if rest != "--- attempt 2 ---\ntwo\n" {
		t.Fatalf("rest %q", rest)
	}
	if all := s.log(id); all != "one\n--- attempt 2 ---\ntwo\n" {
		t.Fatalf("afterwards %q", all)
	}
}

func TestLogFollowsARunThatStartsAgainAtOnce(t *testing.T) {
	began := make(chan int, 100)
	s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
		began <- c.Number
		fmt.Fprintf(c.Log, "%d\n", c.Number)
		if c.Number == 20 {
			return jobs.Report{ExitCode: -1}
		}
		return jobs.Report{ExitCode: -1, Failure: &jobs.Failure{Kind: jobs.FailTimeout}}
	})
	defer s.stop()
	s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":20,"rules":[{"if":"true","then":"retry","after":"0s"}]}}`)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	<-began
	var b bytes.Buffer
	if err := s.rt.Log(context.Background(), id, &b, true, func() {}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 20; n++ {
		if !strings.Contains("\n"+b.String(), fmt.Sprintf("\n%d\n", n)) {
			t.Errorf("the output of attempt %d is missing in %q", n, b.String())
		}
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// flaky is a store whose claims fail for a while.
type flaky struct {
	store.Store
	err   atomic.Value
	fails atomic.Int64
}

func (f *flaky) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	if err, _ := f.err.Load().(error); err != nil && f.fails.Add(-1) >= 0 {
		return store.Claimed{}, err
	}
	return f.Store.Claim(ctx, c)
}

func TestOutcomesAreKeptUntilAFullDiskTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		full := &flaky{Store: s.st}
		release := make(chan struct{})
		s.kind = kindFunc(func(context.Context, *jobs.Call) jobs.Report {
			<-release
			return jobs.Report{ExitCode: -1, Result: jobs.Raw(`"done"`)}
		})
		s.revive(full)
		defer s.stop()
		s.put(webhookJob)
		s.rt.Start()
		id := s.submit(jobs.Request{Job: "a"})
		s.awaitState(id, jobs.Running)
		full.fails.Store(5)
		full.err.Store(fmt.Errorf("%w: sorry", store.ErrFull))
		close(release)
		if run := s.awaitEnd(id); run.State != jobs.Succeeded || string(run.Result) != `"done"` {
			t.Fatalf("%s %s", run.State, run.Result)
		}
		if full.fails.Load() >= 0 {
			t.Fatal("the disk was never full")
		}
	})
}

func TestAnUnknownCommitEndsTheServer(t *testing.T) {
	s := newServer(t, succeed)
	bad := &flaky{Store: s.st}
	s.revive(bad)
	s.put(webhookJob)
	bad.fails.Store(1 << 30)
	bad.err.Store(store.ErrUnknown)
	s.rt.Start()
	if err := <-s.rt.Fatal(); !errors.Is(err, store.ErrUnknown) {
		t.Fatal(err)
	}
	s.stop()
}

func TestParallelRequestsWithOneKeyMakeOneRun(t *testing.T) {
	s := newServer(t, succeed)
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	var wg sync.WaitGroup
	ids := make([]jobs.ID, 50)
	for i := range ids {
		wg.Go(func() { ids[i] = s.submit(jobs.Request{Job: "a", IdempotencyKey: "k", Payload: jobs.Raw(`{"a": 1}`)}) })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatal("one key made several runs")
		}
	}
	_, err := s.rt.Submit(context.Background(), true, []jobs.Request{{Job: "a", IdempotencyKey: "k", Payload: jobs.Raw(`{"a": 2}`)}})
	var conflict *store.KeyConflict
	if !errors.As(err, &conflict) || conflict.Run != ids[0] {
		t.Fatal(err)
	}
}

func BenchmarkNoop(b *testing.B) {
	var n atomic.Int64
	done := make(chan struct{})
	s := newServer(b, func(context.Context, *jobs.Call) jobs.Report {
		if n.Add(1) == int64(b.N) {
			close(done)
		}
		return jobs.Report{ExitCode: -1}
	})
	s.put(webhookJob)
	payload := jobs.Raw(`{"x":"` + fmt.Sprintf("%0280d", 1) + `"}`)
	for left := b.N; left > 0; left -= 1000 {
		reqs := make([]jobs.Request, min(left, 1000))
		for i := range reqs {
			reqs[i] = jobs.Request{Job: "a", Payload: payload, Trigger: jobs.TriggerAPI}
		}
		if _, err := s.rt.Submit(context.Background(), false, reqs); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	s.rt.Start()
	<-done
	b.StopTimer()
	s.stop()
}
