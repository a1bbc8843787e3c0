package api

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxConns bounds open connections, besides half of the files the process may open.
const maxConns = 20_000

// capped refuses connections past a bound with a 503, so that the rest of the process keeps files
// to open and those who wait learn why.
type capped struct {
	net.Listener
	limit int64
	open  atomic.Int64
}

func newCapped(ln net.Listener) *capped {
	limit := int64(maxConns)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		limit = min(limit, int64(min(files.Cur, 1<<32)/2))
	}
	return &capped{Listener: ln, limit: max(16, limit)}
}

const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n" +
	"Content-Length: 0\r\n\r\n"

// Accept gives the next connection that is within the bound.
func (l *capped) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			return &countedConn{Conn: conn, done: func() { l.open.Add(-1) }}, nil
		}
		l.open.Add(-1)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Millisecond)) // never wait for it
		_, _ = conn.Write([]byte(refusal))
		_ = conn.Close()
	}
}

// countedConn tells once that it has been closed.
type countedConn struct {
	net.Conn
	once sync.Once
	done func()
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.done)
	return err
}
