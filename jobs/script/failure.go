package script

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// spawnFailure is a script that could not be started.
func spawnFailure(format string, args ...any) *jobs.Failure {
	return newFailure(jobs.FailSpawn, fmt.Sprintf(format, args...))
}

// cannot is a script that could not be started on account of the machine.
func (a *attempt) cannot(what string, err error) *jobs.Failure {
	for _, short := range []error{
		unix.ENOSPC, unix.EDQUOT, unix.EMFILE, unix.ENFILE, unix.EAGAIN, unix.ENOMEM,
	} {
		a.passing = a.passing || errors.Is(err, short)
	}
	return spawnFailure("%s: %v", what, reason(err))
}

func newFailure(kind jobs.FailureKind, message string) *jobs.Failure {
	return &jobs.Failure{Kind: kind, Type: string(kind), Message: oneLine(message)}
}

// report says what the attempt left behind.
func (a *attempt) report() jobs.Report {
	rep := jobs.Report{Failure: a.failure, ExitCode: -1, Notes: a.notes}
	if a.passing {
		rep.Retryable = new(true)
		rep.Notes = append(rep.Notes, "the machine is short of that, which may pass")
	}
	if a.output == nil {
		return rep // it came to no shim
	}
	rep.OutputTail = a.output.tail.last()
	if a.told.exited && a.told.status.Exited() {
		rep.ExitCode = a.told.status.ExitStatus()
	}
	if a.told.stopping || a.cause != nil && !a.told.exited && a.told.failed == 0 {
		rep.Stopped = a.cause
	}
	if a.told.left > 0 && rep.Stopped == nil {
		rep.Notes = append(rep.Notes, leftNote(a.told.left))
	}
	if a.lost && a.told.exited && !a.replaced {
		rep.Notes = append(rep.Notes, "the process that watches over the script was killed")
	}
	return rep
}

func leftNote(n int) string {
	if n == 1 {
		return "1 process that it left behind was killed"
	}
	return strconv.Itoa(n) + " processes that it left behind were killed"
}

// outcome judges how the script ended, whoever ended it. Nil: exit 0.
func (a *attempt) outcome() *jobs.Failure {
	f := a.ending()
	switch {
	case f == nil:
	case a.told.memory > 0:
		f.Kind, f.Type, f.Stack = jobs.FailMemory, string(jobs.FailMemory), ""
		f.Message = fmt.Sprintf("its memory reached %s: script.memory allows %s", sized(a.told.memory),
			a.call.Spec.Script.Memory)
	case a.starved(f):
		if f.Type == string(f.Kind) {
			f.Type = string(jobs.FailMemory)
		}
		f.Kind = jobs.FailMemory
		f.Message = oneLine("the machine ran out of memory: " + f.Message)
	}
	return f
}

func (a *attempt) ending() *jobs.Failure {
	switch t := a.told; {
	case t.failed != 0:
		return a.startFailure(t.failed)
	case t.exited && t.status.Signaled():
		return a.signalled(t.status.Signal())
	case t.exited && t.status.ExitStatus() == 0:
		return nil
	case t.exited:
		return a.exited(t.status.ExitStatus())
	case a.cause == nil:
		return a.unwatched()
	}
	return nil
}

// starved reports whether the kernel killed processes of the script as memory ran out. Where it does
// not count them for each attempt, a kill by nobody else is taken for one, if there was any on the
// machine meanwhile.
func (a *attempt) starved(f *jobs.Failure) bool {
	if a.told.counted {
		return a.told.starved > 0
	}
	killed := f.Exit != nil && (f.Exit.Signal == "SIGKILL" || f.Exit.Code == 128+int(syscall.SIGKILL))
	return killed && a.cause == nil && a.kills >= 0 && a.kind.ooms.read() > a.kills
}

// unwatched is a script whose shim was killed, and so, by the kernel or by this process, itself.
func (a *attempt) unwatched() *jobs.Failure {
	f := newFailure(jobs.FailSignal, "the process that watches over the script was killed, "+
		"by the script itself (kill $PPID?) or from outside; all that it had started was killed")
	f.Exit = &jobs.ExitFailure{Code: -1, Signal: "SIGKILL"}
	return f
}

// startFailure is what the kernel said to the start of the script.
func (a *attempt) startFailure(errno syscall.Errno) *jobs.Failure {
	switch errno {
	case unix.EACCES:
		if f := a.denied(); f != nil {
			return f
		}
	case unix.E2BIG:
		return spawnFailure("args and env are too large to start a program with: 128 KiB each and, " +
			"as a rule, 2 MiB together; give large data in the payload")
	case unix.ENOEXEC:
		return spawnFailure("the program is not one for this machine, and has no #! line")
	}
	return a.cannot("the script could not be started", errno)
}

// denied says what a user may not do, as far as modes tell.
func (a *attempt) denied() *jobs.Failure {
	switch u, temp := a.user, a.claim.Path; {
	case u == nil:
	case !u.may(temp, 1):
		return spawnFailure("%s, where scripts have their folders, may not be entered by %s: set TMPDIR "+
			"of the server to a folder that all may enter, such as /tmp", temp, u.name)
	case !u.may(a.order.Dir, 1):
		return spawnFailure("dir %q may not be entered by %s", a.order.Dir, u.name)
	case !u.may(a.order.Path, 1):
		return spawnFailure("%s may not be executed by %s", a.order.Path, u.name)
	}
	return nil
}

func (a *attempt) signalled(sig syscall.Signal) *jobs.Failure {
	name := unix.SignalName(sig)
	if name == "" {
		name = "signal " + strconv.Itoa(int(sig))
	}
	message := "killed by " + name
	if line := a.lastLine(); line != "" {
		message += ": " + line
	}
	f := newFailure(jobs.FailSignal, message)
	f.Exit = &jobs.ExitFailure{Code: -1, Signal: name}
	return f
}

// exited is an exit code that is not 0: the exception where the output ends with a trace, else
// its last line.
func (a *attempt) exited(code int) *jobs.Failure {
	message := "exit " + strconv.Itoa(code)
	line := a.lastLine()
	if line != "" {
		message += ": " + line
	}
	if code == 126 || code == 127 {
		message += hintOf(a.output.tail.last())
	}
	if a.crlf {
		a.notes = append(a.notes, crlfNote)
	}
	f := newFailure(jobs.FailExit, message)
	f.Exit = &jobs.ExitFailure{Code: code}
	if a.kind.cfg.TraceOf == nil {
		return f
	}
	if typ, message, stack, ok := a.kind.cfg.TraceOf(a.output.tail.text()); ok {
		f.Type, f.Stack = oneLine(typ), endOf(valid(stack), jobs.MaxStack)
		if message = oneLine(message); message != "" {
			f.Message = message
		}
	}
	return f
}

// lastLine is the last line of the output that is not empty.
func (a *attempt) lastLine() string {
	text := a.output.tail.last()
	for text != "" {
		i := strings.LastIndexByte(text, '\n')
		if line := oneLine(text[i+1:]); line != "" {
			return line
		}
		text = text[:max(i, 0)]
	}
	return ""
}

// terminal matches the escape sequences that colour a terminal (ECMA-48 CSI).
var terminal = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// oneLine makes a message: one line of valid UTF-8, without control characters, bounded.
func oneLine(s string) string {
	s = terminal.ReplaceAllString(valid(s), "")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	return startOf(strings.TrimSpace(s), jobs.MaxMessage)
}
