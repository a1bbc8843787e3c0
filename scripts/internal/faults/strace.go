package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// straced is a command that makes the nth call of a thread of the server go wrong from its start on; what the server
// wrote last is in the file trace.
func straced(inject, trace string) []string {
	return []string{
		"strace", "-f", "-qq", "-y", "-s", "0", "-e", "trace=pwrite64", "-e", "inject=" + inject, "-o", trace,
	}
}

// lastWrite says which file the write went to that ended a trace: main, wal, another, or "" where there was none.
func lastWrite(trace string) string {
	text, err := os.ReadFile(trace)
	if err != nil {
		return ""
	}
	last := ""
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "pwrite64(") {
			last = line
		}
	}
	switch {
	case last == "":
		return "none"
	case strings.Contains(last, "-wal>"):
		return "wal"
	case strings.Contains(last, ".db>"):
		return "main"
	}
	return "other"
}

// tampering is strace, attached to a running server, that makes calls of it go wrong until it is ended.
type tampering struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// tamper attaches. Each inject is as that of strace -e inject=.
func (s *site) tamper(ctx context.Context, injects ...string) (*tampering, error) {
	t := &tampering{}
	notes := filepath.Join(s.root, "tamper")
	args := []string{"-f", "-o", notes, "-e", "trace=fsync,fdatasync,pwrite64,ftruncate", "-s", "0", "-y", "-p", fmt.Sprint(s.server.PID())}
	for _, inject := range injects {
		args = append(args, "-e", "inject="+inject)
	}
	t.cmd = exec.CommandContext(ctx, "strace", args...)
	t.cmd.Stderr = &t.out
	if err := os.Remove(notes); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	// It has begun when it has seen a call.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(notes); err == nil && info.Size() > 0 {
			return t, nil
		}
		if time.Now().After(deadline) {
			_ = t.end()
			return nil, fmt.Errorf("strace has not attached: %s", t.out.String())
		}
	}
}

// end lets the server go on as it was.
func (t *tampering) end() error {
	_ = t.cmd.Process.Signal(syscall.SIGINT)
	done := make(chan error, 1)
	go func() { done <- t.cmd.Wait() }()
	select {
	case <-done:
		return nil
	case <-time.After(20 * time.Second):
		_ = t.cmd.Process.Kill()
		return fmt.Errorf("strace does not let go: %s", t.out.String())
	}
}
