// Package kindtest is the conformance suite of kinds: what jobs.Kind promises, checked for each
// of them in the same words.
//
// It owns the claims. What makes an attempt succeed, fail or hang is the kind's own and comes in
// a Subject. Claims are about reports and about what is left behind; waits are on conditions,
// with Patience as the point at which a test gives up.
package kindtest

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
)

// Patience is how long a claim waits for what must come.
const Patience = 30 * time.Second

// Subject is a kind and what makes it behave. Kind and the makers without "nil" in their comment
// must be there; a nil maker leaves its claims out. Makers are called once for each attempt and
// may use t.Cleanup.
type Subject struct {
	Kind jobs.Kind

	// Succeeds ends well at once, whatever payload it is given.
	Succeeds func(t testing.TB) jobs.Spec

	// Fails ends badly by itself, with a failure of that kind.
	Fails func(t testing.TB) (jobs.Spec, jobs.FailureKind)

	// Hangs goes on until it is stopped. started is closed when it is under way.
	Hangs func(t testing.TB) Hanging

	// Stubborn hangs and ignores each polite request to stop. Nil: nothing is asked politely.
	Stubborn func(t testing.TB) Hanging

	// Polite hangs and ends well when asked to stop. Nil: nothing is asked politely.
	Polite func(t testing.TB) Hanging

	// Results ends well with this JSON as its result, byte for byte. Nil: no results.
	Results func(t testing.TB, result jobs.Raw) jobs.Spec

	// Echoes ends well with the payload as its result, byte for byte. Nil: no results.
	Echoes func(t testing.TB) jobs.Spec

	// Texts ends well with text that is not JSON where a result stands. Nil: no such results.
	Texts func(t testing.TB, text []byte) jobs.Spec

	// Prints puts these bytes into the log and ends well. Nil: it has no say in the log.
	Prints func(t testing.TB, text []byte) jobs.Spec

	// Says says these notes of itself one after another, each the JSON text of one, and ends well. Nil:
	// there is no way to say any while it is under way but the callback.
	Says func(t testing.TB, notes ...string) jobs.Spec

	// Floods puts out at least that many bytes, more than any bound, and ends well or badly.
	Floods func(t testing.TB, size int64) jobs.Spec

	// Garbles fails and puts bytes that are not UTF-8, with control characters among them,
	// wherever it can: output, error texts, headers.
	Garbles func(t testing.TB) jobs.Spec

	// Unstartable are executions that cannot begin, by name, with the kind of failure of each.
	Unstartable map[string]Broken

	// MaxLog bounds what an attempt may write to its log, in bytes. 0: not checked.
	MaxLog int
}

// Hanging is an attempt that goes on until it is stopped.
type Hanging struct {
	Spec    jobs.Spec
	Started <-chan struct{} // closed when it is under way
	Gone    func() bool     // nothing of it is left: no process, no connection
}

// Broken is an execution that cannot begin.
type Broken struct {
	Spec jobs.Spec
	Kind jobs.FailureKind
}

// Run checks every claim. The kind must be idle before and after; it is not closed.
func Run(t *testing.T, s Subject) {
	before := runtime.NumGoroutine()
	t.Run("ends", s.ends)
	t.Run("stops", s.stops)
	t.Run("results", s.results)
	t.Run("bounds", s.bounds)
	t.Run("saves", s.saves)
	t.Run("says", s.says)
	t.Run("concurrently", s.concurrently)
	t.Run("NothingIsLeftRunning", func(t *testing.T) {
		// A few may belong to the test's own receivers and to the runtime.
		until(t, "the goroutines of the attempts to end", func() bool {
			return runtime.NumGoroutine() <= before+8
		})
	})
}

// Log keeps what an attempt prints, up to 4 MiB, and counts all of it. Safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	kept bytes.Buffer
	size int
}

// Write never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += len(p)
	l.kept.Write(p[:min(len(p), max(0, 4<<20-l.kept.Len()))])
	return len(p), nil
}

// Bytes is a copy of what was kept.
func (l *Log) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.kept.Bytes())
}

// Size is how much was written.
func (l *Log) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

var ids = jobs.NewIDs(0, func() uint64 { return 0x1234 })

// NewCall is a call as the first attempt of a run has it, with an hour to go and a Log.
func NewCall(spec jobs.Spec) *jobs.Call {
	now := time.Now()
	return &jobs.Call{
		Spec:        spec,
		Run:         ids.Next(now),
		Operation:   ids.Next(now),
		Job:         "kindtest",
		Number:      1,
		Attempt:     1,
		MaxAttempts: 8,
		Deadline:    now.Add(time.Hour),
		Payload:     jobs.Raw(`{}`),
		Kill:        make(chan struct{}),
		Log:         &Log{},
	}
}

// attempt is one call under way.
type attempt struct {
	call   *jobs.Call
	kill   chan struct{}
	cancel context.CancelCauseFunc
	done   chan jobs.Report
}

// start begins an attempt. With timeout 0 it has all the time.
func (s Subject) start(t testing.TB, spec jobs.Spec, timeout time.Duration) *attempt {
	t.Helper()
	call := NewCall(spec)
	ctx, cancel := context.WithCancelCause(context.Background())
	if timeout > 0 {
		call.Deadline = time.Now().Add(timeout)
		var release context.CancelFunc
		ctx, release = context.WithDeadlineCause(ctx, call.Deadline, jobs.ErrTimeout)
		t.Cleanup(release)
	}
	a := &attempt{
		call: call, kill: make(chan struct{}), cancel: cancel, done: make(chan jobs.Report, 1),
	}
	call.Kill = a.kill
	go func() { a.done <- s.Kind.Run(ctx, call) }()
	t.Cleanup(func() { cancel(jobs.ErrCancelled) })
	return a
}

// report waits for the end of the attempt and checks what holds for each report.
func (a *attempt) report(t testing.TB) jobs.Report {
	t.Helper()
	select {
	case rep := <-a.done:
		CheckReport(t, rep)
		return rep
	case <-time.After(Patience):
		t.Fatalf("the attempt did not end within %s", Patience)
		return jobs.Report{}
	}
}

// run is an attempt from start to end.
func (s Subject) run(t testing.TB, spec jobs.Spec) (jobs.Report, *Log) {
	t.Helper()
	a := s.start(t, spec, 0)
	rep := a.report(t)
	return rep, a.call.Log.(*Log)
}

// await waits for a channel to be closed.
func await(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(Patience):
		t.Fatalf("waited %s for %s", Patience, what)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", Patience, what)
		}
	}
}
