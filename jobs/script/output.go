package script

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

const (
	chunk = 32 << 10 // of the output, handed on at once
	kept  = 32 << 10 // of its end: a trace is longer than the tail that is kept
	// heldOpen is how much is still taken from a pipe that somebody out of reach holds open.
	heldOpen = 1 << 20
)

// output hands on what a script prints, as it comes, and keeps its end.
type output struct {
	r    *os.File
	done chan struct{}
	held bool // somebody out of reach has the other end

	mu     sync.Mutex
	log    io.Writer
	tail   tail
	masked *jobs.MaskWriter // to both
}

func newOutput(r *os.File, log io.Writer, mask *jobs.Mask) *output {
	if log == nil {
		log = io.Discard
	}
	o := &output{r: r, done: make(chan struct{}), log: log}
	o.masked = mask.Writer(io.MultiWriter(log, &o.tail))
	return o
}

// copy runs until the output ends, or finish finds it held open.
func (o *output) copy() {
	defer close(o.done)
	defer o.r.Close()
	defer o.flush()
	buf := make([]byte, chunk)
	for {
		n, err := o.r.Read(buf)
		o.write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.held = !o.drain(buf)
			return
		}
		if err != nil {
			return
		}
	}
}

func (o *output) write(p []byte) {
	if len(p) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.masked.Write(p) // neither of the two fails
}

// flush hands on what was held back as the possible beginning of a secret.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.masked.Flush()
}

// say puts a line of the server's own into the log, not into the tail.
func (o *output) say(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = io.WriteString(o.log, line)
}

// finish is called when all that wrote is dead: the rest is in the pipe, and nothing is waited
// for. It reports whether the output had ended.
func (o *output) finish() (ended bool) {
	_ = o.r.SetReadDeadline(time.Unix(1, 0))
	<-o.done
	return !o.held
}

// drain reads what is in the pipe without waiting, and reports whether that was all.
func (o *output) drain(buf []byte) (ended bool) {
	_ = o.r.SetReadDeadline(time.Time{})
	raw, err := o.r.SyscallConn()
	if err != nil {
		return false
	}
	for total := 0; total < heldOpen; {
		var n int
		var readErr error
		err := raw.Read(func(fd uintptr) bool {
			n, readErr = unix.Read(int(fd), buf)
			return true
		})
		switch {
		case err != nil:
			return false
		case errors.Is(readErr, unix.EINTR):
			continue
		case readErr != nil: // EAGAIN: open, but empty
			return false
		case n == 0:
			return true
		}
		o.write(buf[:n])
		total += n
	}
	return false
}

// A tail is the end of what was written, kept bytes at least where there are as many.
type tail struct{ b []byte }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n >= kept {
		t.b = append(t.b[:0], p[n-kept:]...)
		return n, nil
	}
	if len(t.b)+n > 2*kept {
		t.b = t.b[:copy(t.b, t.b[len(t.b)-kept:])]
	}
	t.b = append(t.b, p...)
	return n, nil
}

// text is the whole of what is kept, as valid UTF-8.
func (t *tail) text() string { return endOf(valid(string(t.b)), kept) }

// last is the part that goes with an attempt.
func (t *tail) last() string {
	return endOf(valid(endOf(string(t.b), jobs.MaxOutput)), jobs.MaxOutput)
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// endOf gives the last n bytes of a text at most, from the start of a character.
func endOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for i := 0; i < utf8.UTFMax && i < len(s); i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

// startOf gives the first n bytes of a text at most, up to the end of a character.
func startOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
