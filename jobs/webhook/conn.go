package webhook

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	errUnasked = errors.New("it spoke before it was asked")
	errSpent   = errors.New("the connection may not be used again")
)

// conn is a connection as the Transport holds it. It is there for four things that the Transport
// does not do:
//
//   - it counts what is read and written for one request, so that a request of which nothing was
//     written can be sent on another connection, and none else;
//   - it lets no byte that came before the request be read as its answer. The Transport sees such
//     bytes on an idle connection too, but not if the next request takes it at the same moment;
//   - it heeds Keep-Alive: timeout=N;
//   - it keeps an answer that was given before the request was sent in full, such as a 413 from
//     a receiver which then closes: the Transport drops it for the error of writing.
type conn struct {
	net.Conn          // what is spoken over: TCP, or TLS on top of it
	tcp      net.Conn // what is closed

	mu      sync.Mutex
	turn    sync.Cond // reading or over changed
	reading bool      // Read waits for data
	asked   bool      // the request has begun to be written
	over    error     // not nil: nothing is written any more
	lost    error     // of the first write that failed
	until   time.Time // no request begins after; zero: any time

	// Of the present request.
	read, written int64
	readErr       error // of the last read; a parser above may hide it
}

func newConn(spoken, tcp net.Conn) *conn {
	c := &conn{Conn: spoken, tcp: tcp}
	c.turn.L = &c.mu
	return c
}

// claim makes the connection ready for a request. The Transport calls it, as GotConn, before it
// expects an answer. It waits until the reading side is at rest, which is at once but for a few
// microseconds after the last answer: if that left bytes over, the Transport closes instead.
func (c *conn) claim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.reading && c.over == nil {
		c.turn.Wait()
	}
	c.read, c.written = 0, 0
	switch {
	case c.over != nil:
		return
	case c.lost != nil, !c.until.IsZero() && !time.Now().Before(c.until):
		c.over = errSpent
		c.tcp.Close()
		return
	}
	c.asked, c.readErr = false, nil
}

// Read counts, and refuses what comes before a request.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.reading = true
	c.turn.Broadcast()
	c.mu.Unlock()

	n, err := c.Conn.Read(p)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if !c.asked {
		if n > 0 {
			n, err = 0, errUnasked
		}
		if c.over == nil {
			c.over = err
		}
	}
	c.read += int64(n)
	c.readErr = err
	return n, err
}

// Write counts. An error after the first byte is kept for claim and detail; the rest of the
// request is dropped, and what can be read decides.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	over, lost := c.over, c.lost
	if over == nil {
		c.asked = true
	}
	c.mu.Unlock()
	switch {
	case over != nil:
		return 0, over
	case lost != nil:
		return len(p), nil
	}

	n, err := c.Conn.Write(p)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.written += int64(n)
	if err == nil || c.over != nil {
		return n, err
	}
	c.lost = err
	return len(p), nil
}

// Close drops the connection without the goodbye of TLS, which might block.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.over == nil {
		c.over = net.ErrClosed
	}
	c.turn.Broadcast()
	c.mu.Unlock()
	return c.tcp.Close()
}

// progress is what was read and written for the present request.
func (c *conn) progress() (read, written int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, c.written
}

// detail is what went wrong on the connection itself; nil: nothing.
func (c *conn) detail() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		return c.readErr
	}
	return errors.Join(c.lost, c.readErr)
}

// heed takes note of how long the other side keeps the connection after this answer.
func (c *conn) heed(answer http.Header) {
	said, ok := keepAliveTimeout(answer)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A second early: the other side's clock started before its answer was on the way.
	c.until = time.Now().Add(said - time.Second)
}

// keepAliveTimeout reads "Keep-Alive: timeout=5, max=100".
func keepAliveTimeout(answer http.Header) (time.Duration, bool) {
	values := answer["Keep-Alive"]
	if len(values) == 0 {
		return 0, false
	}
	for _, part := range strings.Split(values[0], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
		return time.Duration(n) * time.Second, err == nil
	}
	return 0, false
}
