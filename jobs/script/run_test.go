package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"nightshift/jobs"
)

func TestExitCodesAndSignalsAreReported(t *testing.T) { // S5
	k := newKindAny(t)
	for _, c := range []struct {
		name, source, message string
		kind                  jobs.FailureKind
		exit                  jobs.ExitFailure
		code                  int
	}{
		{"fails", "exit 3", "exit 3", jobs.FailExit, jobs.ExitFailure{Code: 3}, 3},
		{
			"passing", "echo later; exit 75", "exit 75: later",
			jobs.FailExit,
			jobs.ExitFailure{Code: 75},
			75,
		},
		{
			"last line", "echo out; echo bad >&2; printf '  \\n\\r\\n'; exit 1", "exit 1: bad",
			jobs.FailExit,
			jobs.ExitFailure{Code: 1},
			1,
		},
		{
			"coloured", `printf '\033[1;31mError:\033[0m \ta\a b\n'; exit 1`, "exit 1: Error:  a  b",
			jobs.FailExit,
			jobs.ExitFailure{Code: 1},
			1,
		},
		{
			"invalid", `printf 'caf\351 \000x'; exit 1`, "exit 1: caf\uFFFD  x",
			jobs.FailExit,
			jobs.ExitFailure{Code: 1},
			1,
		},
		{
			"stops at an error", "false; echo not here", "exit 1",
			jobs.FailExit,
			jobs.ExitFailure{Code: 1},
			1,
		},
		{
			"pipe", "false | cat; echo not here", "exit 1",
			jobs.FailExit,
			jobs.ExitFailure{Code: 1},
			1,
		},
		{
			"killed", "echo x; kill -9 $$", "killed by SIGKILL: x",
			jobs.FailSignal,
			jobs.ExitFailure{Code: -1, Signal: "SIGKILL"},
			-1,
		},
		{
			"crash", "kill -SEGV $$", "killed by SIGSEGV",
			jobs.FailSignal,
			jobs.ExitFailure{Code: -1, Signal: "SIGSEGV"},
			-1,
		},
		{
			"real time", "kill -40 $$", "killed by signal 40",
			jobs.FailSignal,
			jobs.ExitFailure{Code: -1, Signal: "signal 40"},
			-1,
		},
		{
			"no such command", "nosuchcommand || exit $?",
			"exit 127: nosuchcommand: command not found",
			jobs.FailExit,
			jobs.ExitFailure{Code: 127},
			127,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			call, _ := source(c.source)
			rep := begin(t, k, call).end(t)
			if c.name == "no such command" { // bash puts the file and the line before it
				if rep.Failure != nil && strings.HasSuffix(rep.Failure.Message, c.message[10:]) {
					rep.Failure.Message = c.message
				}
			}
			wantFailure(t, rep, c.kind, c.message)
			if rep.Failure == nil || rep.Failure.Exit == nil || *rep.Failure.Exit != c.exit {
				t.Errorf("exit of %+v, want %+v", rep.Failure, c.exit)
			}
			if rep.ExitCode != c.code || rep.Stopped != nil || rep.Failure.Type != string(c.kind) {
				t.Errorf("code %d, stopped %v, type %s", rep.ExitCode, rep.Stopped, rep.Failure.Type)
			}
		})
	}
}

func TestTraceGivesTypeMessageAndStack(t *testing.T) {
	long := strings.Repeat("é", jobs.MaxStack)
	var seen string
	k := kindAt(t, Config{TraceOf: func(out string) (typ, message, stack string, ok bool) {
		seen = out
		return "ValueError", "two\nlines", long, strings.Contains(out, "Traceback")
	}}, ownCgroup)
	call, _ := source("echo Traceback; exit 1")
	rep := begin(t, k, call).end(t)
	wantFailure(t, rep, jobs.FailExit, "two lines")
	f := rep.Failure
	if f.Type != "ValueError" || len(f.Stack) != jobs.MaxStack || !utf8.ValidString(f.Stack) {
		t.Errorf("type %q, stack of %d bytes", f.Type, len(f.Stack))
	}
	call, _ = source("echo Traceback; seq 4000; exit 1")
	begin(t, k, call).end(t)
	if len(seen) < jobs.MaxStack {
		t.Errorf("only %d bytes are searched for a trace", len(seen))
	}
	call, _ = source("echo no; exit 1")
	wantFailure(t, begin(t, k, call).end(t), jobs.FailExit, "exit 1: no")
}

const forever = "; while :; do sleep 0.01; done"

func TestStopSendsTermAndThenKills(t *testing.T) { // case 87, S2
	eachLevel(t, func(t *testing.T, k *Kind) {
		for _, c := range []struct {
			name, source string
			kill         bool // no grace
			marker       bool // the cleaning up is done
			code         int
		}{
			{"cleans up", "trap 'echo done > $OUT; exit 0' TERM; echo up" + forever, false, true, 0},
			{"cleans up, fails", "trap 'echo done > $OUT; exit 7' TERM; echo up" + forever, false, true, 7},
			{"dies", "echo up; sleep 600", false, false, -1},
			{
				"child cleans up",
				"(trap 'sleep 0.3; echo done > $OUT; exit 0' TERM; echo up" + forever + ") & wait",
				false, true, -1,
			},
			{"ignores, no grace", "trap '' TERM; echo up" + forever, true, false, -1},
			{"stopped itself", "(sleep 0.1; echo up) & kill -STOP $$", false, false, -1},
		} {
			t.Run(c.name, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out")
				call, log := source(c.source)
				call.Spec.Script.Env = map[string]string{"OUT": out}
				r := begin(t, k, call)
				log.await(t, "up")
				r.stop(jobs.ErrTimeout)
				if c.kill {
					close(r.kill)
				}
				rep := r.end(t)
				if !errors.Is(rep.Stopped, jobs.ErrTimeout) || rep.ExitCode != c.code {
					t.Errorf("stopped %v, exit %d, want %d", rep.Stopped, rep.ExitCode, c.code)
				}
				if _, err := os.Stat(out); (err == nil) != c.marker {
					t.Errorf("marker: %v", err)
				}
			})
		}
	})
}

func TestIgnoredTermIsKilledAfterGrace(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kind) {
		m := mark()
		call, log := source("trap '' TERM; sleep " + m + " & setsid sleep " + m + " & echo up" + forever)
		call.Spec.Script.Grace = new(jobs.Duration(300 * time.Millisecond))
		r := begin(t, k, call)
		log.await(t, "up")
		asked := time.Now()
		r.stop(jobs.ErrShutdown)
		rep := r.end(t)
		if took := time.Since(asked); took < 300*time.Millisecond {
			t.Errorf("killed after %s, before its grace", took)
		}
		nothingLeft(t, m)
		if !errors.Is(rep.Stopped, jobs.ErrShutdown) || rep.ExitCode != -1 {
			t.Errorf("stopped %v, exit %d", rep.Stopped, rep.ExitCode)
		}
	})
}

func TestDeadlineOfTheContextIsATimeout(t *testing.T) {
	for name, limit := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"plain": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 200*time.Millisecond)
		},
		"with cause": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 200*time.Millisecond, jobs.ErrTimeout)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := mark()
			call, _ := source("sleep " + m + " & sleep " + m)
			ctx, cancel := limit(t.Context())
			defer cancel()
			rep := newKindAny(t).Run(ctx, call)
			nothingLeft(t, m)
			if !errors.Is(rep.Stopped, jobs.ErrTimeout) {
				t.Errorf("stopped by %v", rep.Stopped)
			}
		})
	}
}

// Once it has ended by itself its own outcome counts, however late the stop finds it.
func TestOutcomeBeforeTheStopCounts(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kind) {
		for _, code := range []int{0, 4} {
			call, log := source(fmt.Sprintf(`sleep 600 & echo $PPID $$ up
until [ -e "$GO" ]; do sleep 0.01; done; exit %d`, code))
			goOn := filepath.Join(t.TempDir(), "go")
			call.Spec.Script.Env = map[string]string{"GO": goOn}
			r := begin(t, k, call)
			var shim, script int
			if _, err := fmt.Sscan(log.await(t, "up"), &shim, &script); err != nil {
				t.Fatal(err)
			}
			// The shim, stopped, learns of the end and of the stop at one moment.
			if err := syscall.Kill(shim, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(goOn, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			await(t, "the script's end", func() bool {
				p, ok := processOf(script)
				return !ok || p.dead
			})
			r.stop(jobs.ErrTimeout)
			rep := r.end(t)
			if rep.Stopped != nil || rep.ExitCode != code || (rep.Failure == nil) != (code == 0) {
				t.Errorf("stopped %v, exit %d, %v", rep.Stopped, rep.ExitCode, rep.Failure)
			}
		}
	})
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(jobs.ErrCancelled)
	out := filepath.Join(t.TempDir(), "out")
	call, _ := source("touch " + out)
	rep := newKindAny(t).Run(ctx, call)
	if !errors.Is(rep.Stopped, jobs.ErrCancelled) || rep.ExitCode != -1 {
		t.Errorf("stopped %v, exit %d", rep.Stopped, rep.ExitCode)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("it ran")
	}
}

func TestAttemptsRunSideBySide(t *testing.T) {
	k := newKindAny(t)
	var all []*running
	for range 20 {
		call, _ := source("sleep 600 & echo hi; exit 0")
		all = append(all, begin(t, k, call))
	}
	for _, r := range all {
		rep := r.end(t)
		wantSuccess(t, rep)
		if rep.OutputTail != "hi\n" {
			t.Errorf("output %q", rep.OutputTail)
		}
	}
}

func TestProcessSubstitutionMayFinish(t *testing.T) {
	call, log := source("exec > >(while read -r l; do echo got $l; done) 2>&1\necho a; echo b")
	rep := begin(t, newKindAny(t), call).end(t)
	wantSuccess(t, rep)
	if log.String() != "got a\ngot b\n" || len(rep.Notes) != 0 {
		t.Errorf("output %q, notes %q", log, rep.Notes)
	}
}
