package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// maxUnread is how much of a refused body is taken in.
const maxUnread = 64 << 20

// maxConns bounds open connections, besides half of the files the process may open.
const maxConns = 20_000

// capped refuses connections past a bound with a 503, so that the rest of the process keeps files
// to open and those who wait learn why.
type capped struct {
	net.Listener
	limit int64
	open  atomic.Int64
	conns *conns
}

func newCapped(ln net.Listener, conns *conns) *capped {
	limit := int64(maxConns)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		limit = min(limit, int64(min(files.Cur, 1<<32)/2))
	}
	return &capped{Listener: ln, limit: max(16, limit), conns: conns}
}

// tooMany is what a connection past the bound is told.
var tooMany = unreadable(503, "too many connections are open", "Retry-After: 1\r\n")

// Accept gives the next connection that is within the bound.
func (l *capped) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			counted := &countedConn{Conn: conn, all: l.conns, done: func() { l.open.Add(-1) }}
			l.conns.add(counted)
			return counted, nil
		}
		l.open.Add(-1)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Millisecond)) // never wait for it
		_, _ = conn.Write(tooMany)
		_ = conn.Close()
	}
}

// countedConn tells once that it has been closed. What net/http answers by itself, to that which it
// cannot read as a call, it makes a problem as every other error is.
type countedConn struct {
	net.Conn
	all    *conns
	once   sync.Once
	done   func()
	called atomic.Bool // a call is under way: what is written is its answer
	busy   atomic.Bool // the same, from its first byte on
	used   atomic.Bool // a call has come
	unread atomic.Bool // a body was refused: more of it may come
}

// Read reads, and notes that a call comes.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.busy.Load() {
		c.busy.Store(true)
		c.used.Store(true)
	}
	return n, err
}

// Close closes the connection.
func (c *countedConn) Close() error {
	if c.unread.Load() {
		_ = c.CloseWrite()
	}
	err := c.Conn.Close()
	c.once.Do(func() {
		c.all.remove(c)
		c.done()
	})
	return err
}

// CloseWrite lets net/http end an answer before it closes: a reset could overtake it. That is what the rest of a refused
// body would cause, so it is taken in for a moment; net/http does not where the call itself says Connection: close.
func (c *countedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	err := half.CloseWrite()
	if c.unread.Swap(false) && err == nil {
		_ = c.Conn.SetReadDeadline(time.Now().Add(unreadGrace))
		_, _ = io.CopyN(io.Discard, c.Conn, maxUnread)
	}
	return err
}

// Write writes an answer.
func (c *countedConn) Write(b []byte) (int, error) {
	if !c.called.Load() {
		if m := statusLine.FindSubmatch(b); m != nil {
			status, _ := strconv.Atoi(string(m[1]))
			_, err := c.Conn.Write(unreadable(status, string(m[2]), ""))
			return len(b), err
		}
	}
	return c.Conn.Write(b)
}

// statusLine is that of an answer of net/http's own: the status, and what it says of it.
var statusLine = regexp.MustCompile(`^HTTP/1\.[01] ([45][0-9][0-9]) [^:\r]*(?:: ([^\r]*))?\r\n`)

// unreadable is the whole answer to what no route has seen: a problem without a type of its own
// (RFC 9457, 4.2.1). header holds whole lines.
func unreadable(status int, detail, header string) []byte {
	if detail == "" {
		detail = "it cannot be read as an HTTP call"
	}
	title := http.StatusText(status)
	body := append(jobs.AppendJSON(nil, &wire.Problem{
		Type: problemBlank, Title: title, Status: status, Detail: detail,
	}), '\n')
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n%s\r\n%s", status, title, len(body), header, body)
}

// connKey is the key of the connection in the context of its calls.
type connKey struct{}

func connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// began notes that a call has come to a route; connState, that it is over.
func began(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(*countedConn); ok {
		conn.called.Store(true)
	}
}
