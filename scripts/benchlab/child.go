package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// values are what one run of a probe measured, by key.
type values map[string]float64

// childArgs are the arguments of every child task; each uses those it needs.
type childArgs struct {
	DB      string
	URL     string // of the receiver; "": work that does nothing
	N       int
	Callers int
	Workers int
	For     time.Duration
	Every   time.Duration
}

// task is work that a child does.
type task func(context.Context, childArgs) (values, error)

// childTasks run in a process of their own, so that their CPU and memory are theirs alone.
var childTasks = map[string]task{
	"child-noop":           noopDrain,
	"child-river-insert":   riverInsert,
	"child-river-bulk":     riverBulk,
	"child-river-drain":    riverDrain,
	"child-river-latency":  riverLatency,
	"child-river-million":  riverMillion,
	"child-ceiling-echo":   ceilingEcho,
	"child-ceiling-commit": ceilingCommit,
	"child-ceiling-client": ceilingClient,
}

func (a *childArgs) flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&a.DB, "db", "", "")
	flags.StringVar(&a.URL, "url", "", "")
	flags.IntVar(&a.N, "n", 0, "")
	flags.IntVar(&a.Callers, "callers", 0, "")
	flags.IntVar(&a.Workers, "workers", 0, "")
	flags.DurationVar(&a.For, "for", 0, "")
	flags.DurationVar(&a.Every, "every", 0, "")
	return flags
}

func (a *childArgs) line() []string {
	return []string{
		"--db", a.DB, "--url", a.URL, "--n", fmt.Sprint(a.N), "--callers", fmt.Sprint(a.Callers),
		"--workers", fmt.Sprint(a.Workers), "--for", a.For.String(), "--every", a.Every.String(),
	}
}

// runChild is the child's side: it does the task and answers with its values as JSON.
func runChild(ctx context.Context, do task, args []string) int {
	var a childArgs
	if err := a.flags("child").Parse(args); err != nil {
		return 2
	}
	got, err := do(ctx, a)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child runs a task in a process of its own and gives what it measured.
func (l *lab) child(ctx context.Context, task string, a childArgs) (values, error) {
	cmd := exec.CommandContext(ctx, l.self, append([]string{task}, a.line()...)...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	endWithParent(cmd)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", task, err, tail(complaint.Bytes()))
	}
	var got values
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return nil, fmt.Errorf("%s answered %q: %w", task, tail(out.Bytes()), err)
	}
	return got, nil
}

// endWithParent ends a child politely when its context ends, and for good should this process die.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
}

// tail is the end of what a child printed, for an error message.
func tail(b []byte) []byte {
	const most = 2000
	b = bytes.TrimSpace(b)
	return b[max(0, len(b)-most):]
}

// served is a child that serves until its standard input closes.
type served struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

// serve starts a child that prints the address it listens on as its first line.
func (l *lab) serve(ctx context.Context, task string, a childArgs) (*served, error) {
	cmd := exec.CommandContext(ctx, l.self, append([]string{task}, a.line()...)...)
	cmd.Stderr = os.Stderr
	endWithParent(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", task, err)
	}
	s := &served{cmd: cmd, stdin: stdin}
	if _, err := fmt.Fscanln(stdout, &s.addr); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not say where it listens: %w", task, err), s.stop())
	}
	return s, nil
}

func (s *served) stop() error { return errors.Join(s.stdin.Close(), s.cmd.Wait()) }
