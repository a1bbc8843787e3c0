package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"nightshift/scripts/internal/rig"
)

// experiment is one fault: what is done to a server, and what must hold then.
type experiment struct {
	name     string
	about    string   // in a line
	needs    []string // tools, or root
	longOnly bool     // it has no short form
	run      func(ctx context.Context, l *lab) error
}

// lab is where one experiment is carried out: a folder of its own, and what was found.
type lab struct {
	*plan
	experiment
	rig.Report
	dir    string
	random *rand.Rand
	took   time.Duration
	sites  int
	ends   []func() // undo what was set up, last first
}

// fault notes what was violated.
func (l *lab) fault(format string, args ...any) {
	l.Faults = append(l.Faults, fmt.Sprintf(format, args...))
}

// pick gives a number for the short form, or that for the long one.
func pick[T any](l *lab, short, long T) T {
	if l.short {
		return short
	}
	return long
}

// atEnd has something undone when the experiment is over.
func (l *lab) atEnd(undo func()) { l.ends = append(l.ends, undo) }

// conduct carries the experiment out and says how it went.
func (l *lab) conduct(ctx context.Context) (outcome string) {
	begun := time.Now()
	defer func() { l.took = time.Since(begun) }()
	if why := l.missing(); why != "" {
		return "skipped: " + why
	}
	err := os.Mkdir(l.dir, 0o700)
	if err == nil {
		err = l.run(ctx, l)
	}
	for i := len(l.ends) - 1; i >= 0; i-- {
		l.ends[i]()
	}
	if skipped, ok := err.(skip); ok {
		return "skipped: " + string(skipped)
	}
	if err != nil {
		l.fault("the experiment came to no end: %v", err)
	}
	if len(l.Faults) > 0 {
		return "FAILED"
	}
	return "ok"
}

// skip is why an experiment cannot be carried out here.
type skip string

func (s skip) Error() string { return string(s) }

// missing says what this machine lacks; "": nothing.
func (l *lab) missing() string {
	for _, need := range append([]string{"sqlite3"}, l.needs...) {
		switch need {
		case "root":
			if os.Geteuid() != 0 {
				return "only root may"
			}
		case "strace":
			if exec.Command("strace", "-f", "-o", "/dev/null", "true").Run() != nil {
				return "strace is missing or may not trace"
			}
		default:
			if _, err := exec.LookPath(need); err != nil {
				return need + " is missing"
			}
		}
	}
	return ""
}

// folder makes a new folder of the lab.
func (l *lab) folder() (string, error) {
	l.sites++
	dir := filepath.Join(l.dir, fmt.Sprint("site-", l.sites))
	return dir, os.Mkdir(dir, 0o700)
}

// command runs a tool; what it printed is in the error.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, out)
	}
	return nil
}
