package script

import (
	"fmt"
	"os"
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

func newFailure(kind jobs.FailureKind, message string) *jobs.Failure {
	return &jobs.Failure{Kind: kind, Type: string(kind), Message: oneLine(message)}
}

// report says what the attempt left behind.
func (a *attempt) report() jobs.Report {
	rep := jobs.Report{Failure: a.failure, ExitCode: -1, Notes: a.notes}
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
	rep.Failure = a.outcome()
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
	switch t := a.told; {
	case t.failed != 0:
		return startFailure(t.failed)
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

// unwatched is a script whose shim was killed, and so, by the kernel or by this process, itself.
func (a *attempt) unwatched() *jobs.Failure {
	f := newFailure(jobs.FailSignal, "the process that watches over the script was killed, "+
		"by the script itself (kill $PPID?) or from outside"+a.memoryHint()+
		"; all that it had started was killed")
	f.Exit = &jobs.ExitFailure{Code: -1, Signal: "SIGKILL"}
	return f
}

// startFailure is what the kernel said to the start of the script.
func startFailure(errno syscall.Errno) *jobs.Failure {
	switch errno {
	case unix.E2BIG:
		return spawnFailure("args and env are too large to start a program with: 128 KiB each and, " +
			"as a rule, 2 MiB together; give large data in the payload")
	case unix.ENOEXEC:
		return spawnFailure("the program is not one for this machine, and has no #! line")
	}
	return spawnFailure("the script could not be started: %v", errno)
}

func (a *attempt) signalled(sig syscall.Signal) *jobs.Failure {
	name := unix.SignalName(sig)
	if name == "" {
		name = "signal " + strconv.Itoa(int(sig))
	}
	message := "killed by " + name
	if sig == syscall.SIGKILL {
		message += a.memoryHint()
	}
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
	if code == 128+int(syscall.SIGKILL) {
		message += a.memoryHint()
	}
	if line := a.lastLine(); line != "" {
		message += ": " + line
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

// memoryHint says so where the out-of-memory killer was at work during the attempt.
func (a *attempt) memoryHint() string {
	if now := oomKills(); a.kills >= 0 && now > a.kills {
		return " (the machine ran out of memory meanwhile)"
	}
	return ""
}

// oomKills counts what the out-of-memory killer has taken since boot; -1: unknown.
func oomKills() int64 {
	raw, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	_, after, ok := strings.Cut(string(raw), "\noom_kill ")
	if !ok {
		return -1
	}
	word, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return -1
	}
	return n
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
