package script

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// taking is a script of which each process takes so many MiB in one of many ways.
const taking = `take() { exec perl -e '$x = "x" x ($ARGV[0] << 20); print "up\n"; sleep $ENV{mark}' $1; }
`

func TestPastItsMemoryTheWholeTreeIsKilled(t *testing.T) { // S7
	k := newKindAny(t)
	for name, source := range map[string]string{
		"one":      "take 60",
		"children": "for i in 1 2 3 4; do (take 15) & done; wait",
		"daemon":   "(trap '' TERM HUP; take 60) & (setsid sleep $mark &) ; sleep $mark",
		"session":  "setsid perl -e '$x = \"x\" x (60 << 20); sleep $ENV{mark}' & sleep $mark",
	} {
		t.Run(name, func(t *testing.T) {
			m := mark()
			call, _ := limited(jobs.Script{Source: taking + source, Env: map[string]string{"mark": m}}, 40<<20)
			rep := begin(t, k, call).end(t)
			nothingLeft(t, m)
			wantMemory(t, rep, 40)
			if rep.Stopped != nil || rep.ExitCode != -1 || rep.Failure.Exit == nil {
				t.Errorf("stopped %v, exit %d, failure %+v", rep.Stopped, rep.ExitCode, rep.Failure)
			}
		})
	}
}

func limited(s jobs.Script, limit jobs.Size) (*jobs.Call, *logged) {
	s.Memory = &limit
	return callOf(s)
}

// wantMemory wants the failure to name a limit in MiB, and more than that as reached.
func wantMemory(t *testing.T, rep jobs.Report, limit float64) {
	t.Helper()
	var reached, allowed float64
	if f := rep.Failure; f == nil || f.Kind != jobs.FailMemory || f.Type != "memory" {
		t.Fatalf("failure is %+v", f)
	}
	_, err := fmt.Sscanf(rep.Failure.Message, "its memory reached %fMiB: script.memory allows %fMiB", &reached, &allowed)
	if err != nil || allowed != limit || reached < limit || reached > 10*limit {
		t.Errorf("message %q: %v", rep.Failure.Message, err)
	}
}

// What processes share counts once: a fork doubles nothing.
func TestSharedMemoryCountsOnce(t *testing.T) {
	k := newKindAny(t)
	const fork = `$x = "x" x (30 << 20); for (1..5) { fork or do { select undef, undef, undef, 0.3; exit } } print "up\n"; wait for 1..5`
	call, log := limited(jobs.Script{Interpreter: []string{"perl"}, Source: fork}, 100<<20)
	r := begin(t, k, call)
	log.await(t, "up")
	wantSuccess(t, r.end(t))
}

func TestWithinItsMemoryAScriptRuns(t *testing.T) {
	k := newKindAny(t)
	call, _ := limited(jobs.Script{Source: "perl -e '$x = \"x\" x (30 << 20)'; sleep 0.1"}, 200<<20)
	wantSuccess(t, begin(t, k, call).end(t))
}

func TestMemoryIsLookedAtInTime(t *testing.T) {
	for _, c := range []struct {
		free int64
		want time.Duration
	}{
		{-1, 20 * time.Millisecond},
		{1 << 20, 20 * time.Millisecond},
		{512 << 20, 125 * time.Millisecond},
		{64 << 30, 500 * time.Millisecond},
	} {
		if got := untilFull(c.free); got != c.want {
			t.Errorf("with %d free it waits %s, want %s", c.free, got, c.want)
		}
	}
	// This process, and what is below it, hold something.
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	all, parts := residentBelow(os.Getpid(), 1<<40), residentBelow(os.Getpid(), 0)
	if all <= 0 || parts <= 0 {
		t.Errorf("resident %d, with parts of what is shared %d", all, parts)
	}
}

func TestKernelIsToldTheLimit(t *testing.T) {
	group := t.TempDir()
	read := func(name string) string {
		raw, _ := os.ReadFile(filepath.Join(group, name))
		return string(raw)
	}
	if err := limitMemory(group, 64<<20); err == nil {
		t.Error("a cgroup without the controller takes a limit")
	}
	for _, name := range []string{"memory.max", "memory.oom.group"} { // no swap
		if err := os.WriteFile(filepath.Join(group, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := limitMemory(group, 64<<20); err != nil {
		t.Fatal(err)
	}
	if read("memory.max") != "67108864" || read("memory.oom.group") != "1" || read("memory.swap.max") != "" {
		t.Errorf("max %q, group %q, swap %q", read("memory.max"), read("memory.oom.group"), read("memory.swap.max"))
	}
	type counts struct {
		killed, used int64
		own, known   bool
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  counts
	}{
		"no controller": {nil, counts{}},
		"nothing":       {map[string]string{"memory.events": "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n"}, counts{known: true}},
		"own limit": {
			map[string]string{"memory.events": "max 9\noom 1\noom_kill 3\noom_group_kill 1\n", "memory.peak": "67108864\n"},
			counts{3, 64 << 20, true, true},
		},
		"own limit, old kernel": {
			map[string]string{"memory.events": "oom 1\noom_kill 1\n", "memory.max": "1048576\n"}, counts{1, 1 << 20, true, true},
		},
		"the machine's": {map[string]string{"memory.events": "oom 0\noom_kill 2\n"}, counts{2, 0, false, true}},
	} {
		folder := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var got counts
		got.killed, got.used, got.own, got.known = outOfMemory(folder)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Where the machine runs out of memory that is the failure's kind, whoever of the tree was killed.
func TestMachineOutOfMemoryIsOfItsKind(t *testing.T) {
	killed := syscall.WaitStatus(syscall.SIGKILL)
	exited := func(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }
	const now = 5
	for name, c := range map[string]struct {
		told   told
		before int64
		cause  error
		kind   jobs.FailureKind
		want   string
	}{
		"counted": {
			told{exited: true, status: killed, counted: true, starved: 1},
			now, nil,
			jobs.FailMemory, "the machine ran out of memory: killed by SIGKILL: last words",
		},
		"counted, a child": {
			told{exited: true, status: exited(1), counted: true, starved: 1},
			now, nil,
			jobs.FailMemory, "the machine ran out of memory: exit 1: last words",
		},
		"counted, another's": {
			told{exited: true, status: killed, counted: true},
			now - 1, nil,
			jobs.FailSignal, "killed by SIGKILL: last words",
		},
		"on the machine": {
			told{exited: true, status: killed},
			now - 1, nil,
			jobs.FailMemory, "the machine ran out of memory: killed by SIGKILL: last words",
		},
		"on the machine, a child": {
			told{exited: true, status: exited(137)},
			now - 1, nil,
			jobs.FailMemory, "the machine ran out of memory: exit 137: last words",
		},
		"on the machine, the shim": {
			told{},
			now - 1, nil, jobs.FailMemory,
			"the machine ran out of memory: the process that watches over the script was killed, by the " +
				"script itself (kill $PPID?) or from outside; all that it had started was killed",
		},
		"none on the machine": {told{exited: true, status: killed}, now, nil, jobs.FailSignal, "killed by SIGKILL: last words"},
		"not known":           {told{exited: true, status: killed}, -1, nil, jobs.FailSignal, "killed by SIGKILL: last words"},
		"not killed":          {told{exited: true, status: exited(1)}, now - 1, nil, jobs.FailExit, "exit 1: last words"},
		"killed as it was stopped": {
			told{exited: true, stopping: true, status: killed},
			now - 1, jobs.ErrTimeout,
			jobs.FailSignal, "killed by SIGKILL: last words",
		},
	} {
		k := &Kind{ooms: oomCount{read: func() int64 { return now }}}
		a := &attempt{kind: k, call: &jobs.Call{}, told: c.told, kills: c.before, cause: c.cause, output: &output{}}
		_, _ = a.output.tail.Write([]byte("last words\n"))
		f := a.outcome()
		if f == nil || f.Kind != c.kind || f.Message != c.want || f.Type != string(c.kind) {
			t.Errorf("%s: %+v, want %s: %s", name, f, c.kind, c.want)
		}
	}
	a := &attempt{told: told{exited: true, counted: true, starved: 1}, output: &output{}}
	if f := a.outcome(); f != nil {
		t.Errorf("a success that lost a child: %v", f)
	}
}

// Controllers are handed down only where nobody else's processes are moved for it.
func TestOnlyACgroupOfItsOwnIsArranged(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"already":       {map[string]string{"cgroup.subtree_control": "cpu memory\n"}, ""},
		"no controller": {map[string]string{"cgroup.controllers": "cpu\n"}, "no memory controller"},
		"none":          {nil, "no memory controller"},
	} {
		folder := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := handDown(folder); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(folder, ownGroup)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it moved: %v", name, err)
		}
	}
}
