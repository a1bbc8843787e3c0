package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nightshift/scripts/internal/rig"
)

// Jobs that save as fast as they can until they are told to stop: a script by callback, a script by lines,
// and a receiver by callback.
const (
	saveCall = "save-call"
	saveLine = "save-line"
	saveHook = "save-hook"
)

// scriptSource is a script that becomes this program again.
const scriptSource = `#!/bin/sh
exec "$LONGWORK_SELF" ` + scriptArg + ` "$NIGHTSHIFT_JOB"
`

const (
	scriptArg = "as-script"
	dirEnv    = "LONGWORK_DIR"  // where scripts write down what they do
	selfEnv   = "LONGWORK_SELF" // this program
)

// script is one attempt of such a job. It writes down what it has read, sends and was acknowledged in a file
// of fixed size, so that a kill at any time leaves the truth.
type script struct {
	job, dir string
	run      string
	number   int
	api      rig.API
	path     string
	file     *os.File
	read     value
	sent     int
	acked    int
	marked   time.Time
	marks    *os.File
	out      *bufio.Writer
}

// runScript is the program as a script.
func runScript(job string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := openScript(job)
	if err != nil {
		return err
	}
	for !s.told() && ctx.Err() == nil {
		if err := s.save(); err != nil {
			return err
		}
	}
	// What is saved when it is told to end counts too.
	if err := s.save(); err != nil {
		return err
	}
	return s.note(1)
}

func openScript(job string) (*script, error) {
	s := &script{job: job, dir: os.Getenv(dirEnv), run: os.Getenv("NIGHTSHIFT_RUN"), out: bufio.NewWriter(os.Stdout)}
	token := os.Getenv("NIGHTSHIFT_CALLBACK_TOKEN")
	var err error
	if s.number, err = numberOf(token); err != nil {
		return nil, err
	}
	base, ok := strings.CutPrefix(os.Getenv("NIGHTSHIFT_CALLBACK"), "http://")
	addr, path, ok2 := strings.Cut(base, "/")
	if !ok || !ok2 {
		return nil, fmt.Errorf("NIGHTSHIFT_CALLBACK is %q", os.Getenv("NIGHTSHIFT_CALLBACK"))
	}
	s.api, s.path = rig.NewAPI(addr).With(token), "/"+path
	text, err := os.ReadFile(os.Getenv("NIGHTSHIFT_CHECKPOINT"))
	if err != nil {
		return nil, err
	}
	if s.read, err = readValue(string(text)); err != nil {
		return nil, err
	}
	s.sent = s.read.N
	name := filepath.Join(s.dir, fmt.Sprintf("%s.%d", s.run, s.number))
	if s.file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	if s.marks, err = os.OpenFile(name+".marks", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	if err := s.note(0); err != nil {
		return nil, err
	}
	return s, s.ask()
}

// ask reads the checkpoint once more by the callback: it must be the one of the file.
func (s *script) ask() error {
	var v value
	_, err := s.api.Do(context.Background(), http.MethodGet, s.path+"/checkpoint", "", nil, &v)
	if err == nil && v != s.read {
		return s.complain(fmt.Sprintf("the file said %v, the callback %v", s.read, v))
	}
	return nil // without an answer: the server is dead, and so is this script soon
}

// complain leaves a fault for the judge.
func (s *script) complain(text string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, "faults"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "run %s (%s), attempt %d: %s\n", s.run, s.job, s.number, text)
	return err
}

func (s *script) told() bool {
	_, err := os.Stat(filepath.Join(s.dir, "stop"))
	return err == nil
}

// note writes down how far it is.
func (s *script) note(left int) error {
	text := fmt.Sprintf("%16d %16d %16d %16d %d\n", s.read.N, s.read.By, s.sent, s.acked, left)
	_, err := s.file.WriteAt([]byte(text), 0)
	return err
}

// linesAtOnce are written before it looks up, and linesPause is the time until the next ones: a pipe takes
// lines much faster than a server shall keep a core busy with them.
const (
	linesAtOnce = 50
	linesPause  = time.Millisecond
)

// save saves the next number, by line the next ones.
func (s *script) save() error {
	if s.job == saveLine {
		return s.say()
	}
	s.sent++
	if err := s.note(0); err != nil {
		return err
	}
	_, err := s.api.Do(context.Background(), http.MethodPut, s.path+"/checkpoint", "", value{s.sent, s.number}, nil)
	if answer, ok := err.(*rig.StatusError); ok && !answer.Passing() {
		return s.complain("saving " + strconv.Itoa(s.sent) + ": " + answer.Error())
	}
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return nil
	}
	s.acked = s.sent
	return s.note(0)
}

func (s *script) say() error {
	s.sent += linesAtOnce
	if err := s.note(0); err != nil {
		return err
	}
	for n := s.sent - linesAtOnce + 1; n <= s.sent; n++ {
		fmt.Fprintf(s.out, "::nightshift {\"checkpoint\": {\"n\": %d, \"by\": %d}}\n", n, s.number)
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if time.Since(s.marked) > 50*time.Millisecond {
		s.marked = time.Now()
		if _, err := fmt.Fprintf(s.marks, "%d %d\n", s.marked.UnixNano(), s.sent); err != nil {
			return err
		}
	}
	time.Sleep(linesPause)
	return nil
}

// readScripts takes in what scripts have written down.
func (h *history) readScripts(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		run, number, isAttempt := strings.Cut(f.Name(), ".")
		switch n, err := strconv.Atoi(number); {
		case f.Name() == "faults":
			for line := range strings.Lines(string(text)) {
				h.fault("%s", strings.TrimSpace(line))
			}
		case isAttempt && err == nil && len(text) > 0:
			if err := h.readScript(filepath.Join(dir, f.Name()), string(text), run, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *history) readScript(name, text, run string, number int) error {
	s := &saved{by: number}
	var left int
	if _, err := fmt.Sscan(text, &s.read.N, &s.read.By, &s.sent, &s.acked, &left); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if s.sent == s.read.N {
		s.sent = 0 // it has begun to send nothing
	}
	lines, err := os.ReadFile(name + ".marks")
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.Lines(string(lines)) {
		var at int64
		var m mark
		if _, err := fmt.Sscan(line, &at, &m.n); err != nil {
			continue // the last one may be cut
		}
		m.at = time.Unix(0, at)
		s.marks = append(s.marks, m)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.record(run)
	s.left = left == 1 && len(s.marks) > 0
	s.settle(h.deaths)
	r.saves[number] = s
	return nil
}
