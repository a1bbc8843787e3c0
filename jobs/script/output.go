package script

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

const (
	chunk = 64 << 10 // of the output, handed on at once: what a pipe holds
	kept  = 32 << 10 // of its end: a trace is longer than the tail that is kept
	// heldOpen is how much is still taken from a pipe that somebody out of reach holds open.
	heldOpen = 1 << 20
)

// output hands on what a script prints, as it comes, and keeps its end. Each of its two streams
// comes in its own order; of both, the one that was written to first comes first.
type output struct {
	wake    *os.File // an epoll that can be read when a stream can
	streams [2]stream
	open    int       // streams that have not ended
	line    []*stream // those that were written to, in order
	notes   notes     // in stdout
	done    chan struct{}
	held    bool // somebody out of reach has the other end

	mu   sync.Mutex
	log  io.Writer
	tail tail
}

// A stream is what comes from one descriptor of the script.
type stream struct {
	fd     int
	hung   bool // nobody writes any more
	take   func([]byte)
	masked *jobs.MaskWriter // to log and tail; a secret that another stream interrupts is whole here
}

// newOutput reads the server's ends of stdout and stderr, which it closes.
func newOutput(p *pipes, call *jobs.Call) *output {
	o := &output{wake: p.wake, open: 2, done: make(chan struct{}), log: call.Log}
	if o.log == nil {
		o.log = io.Discard
	}
	for i, fd := range []int{p.stdout, p.stderr} {
		masked := call.Mask.Writer(both{o})
		o.streams[i] = stream{fd: fd, masked: masked, take: func(b []byte) { _, _ = masked.Write(b) }}
	}
	stdout := &o.streams[0]
	o.notes = notes{pass: stdout.take, mask: call.Mask, listen: call.Say, answer: func(line string) {
		stdout.masked.Aside(func() { o.say(line) })
	}}
	stdout.take = o.notes.write
	return o
}

// both takes in what is masked. It never fails.
type both struct{ o *output }

func (w both) Write(p []byte) (int, error) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	_, _ = w.o.log.Write(p)
	return w.o.tail.Write(p)
}

// copy runs until the output ends, or finish finds it held open.
func (o *output) copy() {
	defer close(o.done)
	buf := make([]byte, chunk)
	for o.open > 0 {
		if o.await() != nil {
			o.held = !o.drain(buf)
			break
		}
		o.read(buf)
	}
	for i := range o.streams {
		o.shut(&o.streams[i])
	}
	o.wake.Close()
	o.notes.end()
	for i := range o.streams {
		_ = o.streams[i].masked.Flush() // no more comes that would make it a secret
	}
}

// await waits until a stream was written to, or ended.
func (o *output) await() error {
	raw, err := o.wake.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		o.poll(int(fd))
		return len(o.line) > 0
	})
}

// poll puts the streams that were written to since it was asked last into line. They are asked for
// edge-triggered: else one that was read to its end would keep its place before the other.
func (o *output) poll(epoll int) {
	var events [2]unix.EpollEvent
	n, _ := unix.EpollWait(epoll, events[:], 0)
	for _, e := range events[:max(n, 0)] {
		s := &o.streams[e.Fd]
		s.hung = s.hung || e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0
		if s.fd >= 0 && !slices.Contains(o.line, s) {
			o.line = append(o.line, s)
		}
	}
}

// read takes in what the first stream in line holds, and gives how much that was.
func (o *output) read(buf []byte) int {
	s := o.line[0]
	o.line = append(o.line[:0], o.line[1:]...)
	n, err := unix.Read(s.fd, buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0
	case errors.Is(err, unix.EINTR):
		n = 0
	case err != nil || n == 0:
		o.shut(s)
		return 0
	}
	if n > 0 {
		s.take(buf[:n])
	}
	if n == 0 || n == len(buf) || s.hung { // there may be more, of which nothing would tell
		o.line = append(o.line, s)
	}
	return n
}

func (o *output) shut(s *stream) {
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
		o.open--
	}
}

// say puts a line of the server's own into the log, not into the tail.
func (o *output) say(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = io.WriteString(o.log, line)
}

// finish is called when all that wrote is dead: the rest is in the pipes, and nothing is waited
// for. It reports whether the output had ended.
func (o *output) finish() (ended bool) {
	_ = o.wake.SetReadDeadline(time.Unix(1, 0))
	<-o.done
	return !o.held
}

// drain reads what is in the pipes without waiting, and reports whether that was all.
func (o *output) drain(buf []byte) (ended bool) {
	raw, err := o.wake.SyscallConn()
	if err != nil {
		return false
	}
	for total := 0; o.open > 0 && total < heldOpen; {
		if err := raw.Control(func(fd uintptr) { o.poll(int(fd)) }); err != nil || len(o.line) == 0 {
			break
		}
		total += o.read(buf)
	}
	return o.open == 0
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
