package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// beatEvery is how often a stream without news shows that it is alive.
const beatEvery = 15 * time.Second

// events is a stream of server-sent events (HTML Living Standard, 9.2). Its methods may be called
// from several goroutines. The first write that fails ends the stream's context.
type events struct {
	c    *call
	ctx  context.Context
	fail context.CancelFunc
	out  *http.ResponseController

	mu   sync.Mutex
	buf  []byte
	stop func()
}

// openEvents begins a stream, or refuses one too many.
func (c *call) openEvents() (*events, error) {
	if c.s.streams.Add(1) > maxStreams {
		c.s.streams.Add(-1)
		return nil, &problem{
			kind: probOverload, retryAfter: 10 * time.Second,
			detail: strconv.Itoa(maxStreams) + " streams are open",
		}
	}
	held, release := c.held()
	ctx, cancel := context.WithCancel(held)
	e := &events{c: c, ctx: ctx, fail: cancel, out: http.NewResponseController(c.Response())}
	h := c.Response().Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(200)
	e.comment()
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		e.beat()
	}()
	e.stop = func() {
		cancel()
		<-beats
		release()
		c.s.streams.Add(-1)
	}
	return e, nil
}

func (e *events) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.comment()
		}
	}
}

func (e *events) comment() { e.frame(":") }

// remark writes a comment of one line for whoever reads the stream by eye.
func (e *events) remark(text string) { e.frame(": " + text) }

// mark tells the reader where to go on, without an event.
func (e *events) mark(id string) { e.frame("id: " + id) }

func (e *events) frame(line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write([]byte(line + "\n\n"))
}

// send writes an event whose data is v as JSON, which holds no line break.
func (e *events) send(name, id string, v any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := append(e.buf[:0], "event: "...)
	b = append(b, name...)
	if id != "" {
		b = append(b, "\nid: "...)
		b = append(b, id...)
	}
	b = append(b, "\ndata: "...)
	b = jobs.AppendJSON(b, v)
	b = append(b, "\n\n"...)
	e.buf = b
	e.write(b)
}

// write sends at once; a reader that does not take it in time is cut off. Needs mu.
func (e *events) write(b []byte) {
	if e.ctx.Err() != nil {
		return
	}
	_ = e.out.SetWriteDeadline(time.Now().Add(writeGrace))
	if _, err := e.c.Response().Write(b); err != nil {
		e.fail()
		return
	}
	if err := e.out.Flush(); err != nil {
		e.fail()
	}
}

func getLog(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if accepts(c.Request(), "text/event-stream") {
		return c.followLog(r)
	}
	h := c.Response().Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	return c.s.rt.Log(c.ctx(), r.ID, paced{c}, false, func() {})
}

// paced gives each write of a long answer a deadline of its own.
type paced struct{ c *call }

func (p paced) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.c.Response()).SetWriteDeadline(time.Now().Add(writeGrace))
	return p.c.Response().Write(b)
}

func wrongEventID(lines []string) string {
	if n, err := strconv.ParseInt(lines[0], 10, 64); lines[0] != "" && (err != nil || n < 0) {
		return "want the id of an event of this log"
	}
	return ""
}

func (c *call) followLog(r *jobs.Run) error {
	skip, _ := strconv.ParseInt(c.Request().Header.Get("Last-Event-ID"), 10, 64)
	e, err := c.openEvents()
	if err != nil {
		return err
	}
	defer e.stop()
	w := &logEvents{e: e, skip: skip}
	err = c.s.rt.Log(e.ctx, r.ID, w, true, func() {})
	if e.ctx.Err() != nil {
		return nil // the reader has left, the token is gone or the server stops
	}
	if err != nil {
		return err
	}
	w.flush()
	end, err := c.s.rt.Run(e.ctx, r.ID)
	if err != nil {
		return err
	}
	e.send("end", "", &wire.EndEvent{State: end.State.String()})
	return nil
}

// logEvents writes a log as events. Characters that two pieces share are kept together.
type logEvents struct {
	e    *events
	at   int64 // offset of what comes next
	skip int64 // bytes the reader has already
	rest []byte
}

var errStreamOver = errors.New("the stream is over")

func (w *logEvents) Write(p []byte) (int, error) {
	if w.e.ctx.Err() != nil {
		return 0, errStreamOver
	}
	n := len(p)
	if known := min(int64(n), max(0, w.skip-w.at)); known > 0 {
		w.at += known
		p = p[known:]
	}
	w.rest = append(w.rest, p...)
	whole := len(w.rest) - cutRune(w.rest)
	w.emit(w.rest[:whole])
	w.rest = append(w.rest[:0], w.rest[whole:]...)
	return n, nil
}

func (w *logEvents) flush() {
	w.emit(w.rest)
	w.rest = nil
}

func (w *logEvents) emit(p []byte) {
	if len(p) == 0 {
		return
	}
	w.at += int64(len(p))
	text := string(bytes.ToValidUTF8(p, []byte("\uFFFD")))
	w.e.send("log", strconv.FormatInt(w.at, 10), &wire.LogEvent{Text: text})
}

// cutRune is how many bytes at the end of p begin a character that is not whole.
func cutRune(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
