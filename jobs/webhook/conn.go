package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

var (
	errHeaderTooLarge = errors.New("headers too large")
	errUnclean        = errors.New("unexpected data on an idle connection")
)

// conn is one connection. One attempt has it at a time.
type conn struct {
	net.Conn // what is spoken over: TCP, or TLS on top of it
	tcp      net.Conn
	br       *bufio.Reader // reads from the conn itself, so that Read can count
	headroom int           // bytes that may be read before the answer's headers are complete; < 0: any
	kept     bool          // it has served an attempt before
	readErr  error         // of the last read; a parser above may hide it

	key   string
	until time.Time // of an idle one: it is not used after

	raw   syscall.RawConn
	look  func(fd uintptr) bool
	state error // what look found
}

// Read counts against the headroom.
func (c *conn) Read(p []byte) (n int, err error) {
	switch {
	case c.headroom < 0:
		n, err = c.Conn.Read(p)
	case c.headroom == 0:
		err = errHeaderTooLarge
	default:
		n, err = c.Conn.Read(p[:min(len(p), c.headroom)])
		c.headroom -= n
	}
	c.readErr = err
	return n, err
}

// Close drops the connection without the goodbye of TLS, which might block.
func (c *conn) Close() error { return c.tcp.Close() }

// alive reports whether the other side has kept an idle connection open and said nothing on it.
func (c *conn) alive() bool {
	if c.raw == nil {
		return true
	}
	if err := c.raw.Read(c.look); err != nil {
		return false
	}
	return c.state == nil
}

func newConn(spoken, tcp net.Conn, key string) *conn {
	c := &conn{Conn: spoken, tcp: tcp, key: key}
	c.br = bufio.NewReaderSize(c, 4<<10)
	sc, ok := tcp.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return c
	}
	c.raw = raw
	var b [1]byte
	c.look = func(fd uintptr) bool {
		// The socket does not block: nothing to read is the only good answer.
		n, err := syscall.Read(int(fd), b[:])
		switch {
		case err == syscall.EAGAIN || err == syscall.EINTR:
			c.state = nil
		case err != nil:
			c.state = err
		case n == 0:
			c.state = net.ErrClosed
		default:
			c.state = errUnclean
		}
		return true
	}
	return c
}

// dial opens a connection. The address that is dialled is the one the guard judges, for each
// address a name has. Name, TCP and TLS together have connectTimeout.
func (k *Kind) dial(ctx context.Context, s *stop, p *plan) (*conn, error) {
	if err := k.guard.checkName(p.host); err != nil {
		return nil, err
	}
	// The attempt's own deadline comes through s, so that a deadline seen here is that of connecting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.connect)
	defer cancel()
	if err := s.during(closerFunc(cancel)); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Resolver: k.lookup, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return &blockedError{text: "cannot tell what address " + address + " is"}
		}
		return k.guard.check(p.host, at)
	}}
	tcp, err := dialer.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, connectError(ctx, err)
	}
	if !p.tls {
		return newConn(tcp, tcp, p.key), nil
	}
	cfg := k.tls.Clone()
	cfg.ServerName = p.serverName
	spoken := tls.Client(tcp, cfg)
	if err := spoken.HandshakeContext(ctx); err != nil {
		tcp.Close()
		return nil, connectError(ctx, &handshakeError{err: err})
	}
	return newConn(spoken, tcp, p.key), nil
}

// handshakeError is an error while TLS was set up.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

var errConnectTimeout = errors.New("connecting took too long")

// connectError tells a connect time-out, however it surfaced, from other errors.
func connectError(ctx context.Context, err error) error {
	var blocked *blockedError
	if errors.As(err, &blocked) {
		return blocked
	}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errConnectTimeout
	case !errors.As(err, &dns) && errors.As(err, &timeout) && timeout.Timeout():
		return errConnectTimeout
	}
	return err
}
