package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// attemptKey finds the context of the attempt for which the Transport dials. The one that the
// Transport gives does not end with it: a dial would go on for nobody.
type attemptKey struct{}

// dialTCP opens a connection for http.
func (k *Kind) dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := k.connecting(ctx)
	defer cancel()
	tcp, _, err := k.open(ctx, network, addr)
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return newConn(tcp, tcp), nil
}

// dialTLS opens a connection for https. The Transport can do TLS by itself, but not within one
// time-out for name, TCP and TLS.
func (k *Kind) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := k.connecting(ctx)
	defer cancel()
	tcp, host, err := k.open(ctx, network, addr)
	if err != nil {
		return nil, connectError(ctx, err)
	}
	cfg := k.tls.Clone()
	cfg.ServerName = host
	spoken := tls.Client(tcp, cfg)
	if err := spoken.HandshakeContext(ctx); err != nil {
		tcp.Close()
		return nil, connectError(ctx, &handshakeError{err: err})
	}
	return newConn(spoken, tcp), nil
}

// connecting gives a context that ends after k.connect and when the attempt ends.
func (k *Kind) connecting(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(ctx, k.connect)
	attempt, ok := ctx.Value(attemptKey{}).(context.Context)
	if !ok {
		return limited, cancel
	}
	unlink := context.AfterFunc(attempt, cancel)
	return limited, func() {
		unlink()
		cancel()
	}
}

// open dials. What the guard judges is the address that is dialled, for each one a name has.
func (k *Kind) open(ctx context.Context, network, addr string) (net.Conn, string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", err
	}
	host = plainHost(host)
	if err := k.guard.checkName(host); err != nil {
		return nil, "", err
	}
	control := func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return &blockedError{text: "cannot tell what address " + address + " is"}
		}
		return k.guard.check(host, at)
	}
	dialer := net.Dialer{Resolver: k.lookup, Control: control}
	tcp, err := dialer.DialContext(ctx, network, addr)
	return tcp, host, err
}

// plainHost is the form in which hosts are compared.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

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
