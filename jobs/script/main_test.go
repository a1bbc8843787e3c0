package script

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestMain dispatches the shim as main does: the test binary is the shim, and the nightshift of
// scripts. As a server it runs one script until it is killed.
func TestMain(m *testing.M) {
	if IsShim() {
		os.Exit(ShimMain())
	}
	if filepath.Base(os.Args[0]) == programName {
		fmt.Println("this is it:", strings.Join(os.Args[1:], " "))
		os.Exit(0)
	}
	if source, ok := os.LookupEnv(serverEnv); ok {
		serve(source)
	}
	os.Exit(m.Run())
}

// serverEnv makes the test binary a server that runs the source it holds.
const serverEnv = "NIGHTSHIFT_TEST_SERVER"

func serve(source string) {
	group := ownCgroup
	if os.Getenv("NO_CGROUP") != "" {
		group = noCgroup
	}
	if os.Getenv("NO_CLONE3") != "" {
		if err := refuseClone3(); err != nil {
			fmt.Println("seccomp:", err)
			os.Exit(1)
		}
	}
	k, err := newKind(Config{Temp: os.Getenv("SERVER_TEMP")}, group)
	if err != nil {
		fmt.Println("new:", err)
		os.Exit(1)
	}
	rep := k.Run(context.Background(), &jobs.Call{
		Spec: jobs.Spec{Script: &jobs.Script{Source: source, User: os.Getenv("SCRIPT_USER")}},
		Log:  os.Stdout,
	})
	k.Close()
	fmt.Printf("ended: %+v %v\n", rep, rep.Failure)
	os.Exit(0)
}

func noCgroup() (string, error) { return "", errNoCgroup }

// kinds gives a kind at each level that this machine has.
func kinds(t *testing.T, cfg Config) map[string]*Kind {
	t.Helper()
	all := map[string]*Kind{"subreaper": kindAt(t, cfg, noCgroup)}
	if k := kindAt(t, cfg, ownCgroup); k.cgroup.Path != "" {
		all["cgroup"] = k
	} else {
		t.Log(k.Level())
	}
	return all
}

func kindAt(t testing.TB, cfg Config, group func() (string, error)) *Kind {
	t.Helper()
	if cfg.Temp == "" {
		cfg.Temp = t.TempDir()
	}
	k, err := newKind(cfg, group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// eachLevel runs a claim at each level that this machine has.
func eachLevel(t *testing.T, claim func(t *testing.T, k *Kind)) {
	for name, k := range kinds(t, Config{}) {
		t.Run(name, func(t *testing.T) { claim(t, k) })
	}
}

// newKindAny is a kind at the best level.
func newKindAny(t testing.TB) *Kind { return kindAt(t, Config{}, ownCgroup) }

func callOf(s jobs.Script) (*jobs.Call, *logged) {
	log := &logged{}
	return &jobs.Call{
		Spec: jobs.Spec{Script: &s}, Job: "test", Run: jobs.IDOf(1<<20, -1), Number: 1, Attempt: 1,
		MaxAttempts: 8, Log: log,
	}, log
}

// source runs a source in the shell.
func source(text string) (*jobs.Call, *logged) { return callOf(jobs.Script{Source: text}) }

// logged takes in what is printed, and tells who waits for it.
type logged struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed and replaced at each write
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// await returns when the output holds a text, with the output.
func (l *logged) await(t *testing.T, text string) string {
	t.Helper()
	for limit := time.After(time.Minute); ; {
		l.mu.Lock()
		s := l.b.String()
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if strings.Contains(s, text) {
			return s
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("%q does not come, only %q", text, s)
		}
	}
}

// await waits for a condition.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// running starts an attempt; stop ends its context with a cause.
type running struct {
	stop   context.CancelCauseFunc
	kill   chan struct{}
	report chan jobs.Report
}

func begin(t *testing.T, k *Kind, call *jobs.Call) *running {
	ctx, stop := context.WithCancelCause(context.Background())
	r := &running{stop: stop, kill: make(chan struct{}), report: make(chan jobs.Report, 1)}
	call.Kill = r.kill
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.report <- k.Run(ctx, call)
	}()
	t.Cleanup(func() {
		stop(jobs.ErrShutdown)
		<-ended
	})
	return r
}

func (r *running) end(t *testing.T) jobs.Report {
	t.Helper()
	select {
	case rep := <-r.report:
		return rep
	case <-time.After(time.Minute):
		t.Fatal("the attempt does not end")
		return jobs.Report{}
	}
}

// marked are the living processes that have a text in their command line.
func marked(mark string) []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		raw, err := os.ReadFile(path)
		if err != nil || pid == os.Getpid() || !bytes.Contains(raw, []byte(mark)) {
			continue
		}
		if p, ok := processOf(pid); ok && !p.dead {
			pids = append(pids, pid)
		}
	}
	return pids
}

var marks atomic.Int64

// mark gives a number of seconds to sleep that no other process sleeps.
func mark() string {
	return fmt.Sprintf("%d.%06d", 100000+os.Getpid(), marks.Add(1))
}

// nothingLeft checks that no process sleeps for that long, and cleans up where one does.
func nothingLeft(t *testing.T, mark string) {
	t.Helper()
	for _, pid := range marked(mark) {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		t.Errorf("alive: %s", raw)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func wantFailure(t *testing.T, rep jobs.Report, kind jobs.FailureKind, message string) {
	t.Helper()
	if rep.Failure == nil || rep.Failure.Kind != kind || rep.Failure.Message != message {
		t.Errorf("failure is %+v\nwant %s: %s", rep.Failure, kind, message)
	}
}

func wantSuccess(t *testing.T, rep jobs.Report) {
	t.Helper()
	if rep.Failure != nil || rep.Stopped != nil || rep.ExitCode != 0 {
		t.Errorf("no success: %v, stopped by %v, exit %d", rep.Failure, rep.Stopped, rep.ExitCode)
	}
}
