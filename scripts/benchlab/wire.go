package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
)

// wire is a client that costs little: one connection, one request at a time, written by hand.
// A load generator on the machine that it measures must not be what is measured.
type wire struct {
	conn  net.Conn
	in    *bufio.Reader
	host  string
	token string
	out   []byte
	body  []byte // of the last answer
}

func dialWire(ctx context.Context, addr string) (*wire, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, in: bufio.NewReader(conn), host: addr, token: benchToken}, nil
}

func (w *wire) close() { _ = w.conn.Close() }

// post sends a JSON body and fails unless it is answered with 202. The answer's body is in w.body.
func (w *wire) post(path string, body []byte) error {
	return w.send(http.MethodPost, path, body, http.StatusAccepted)
}

// send sends a request and fails unless it is answered with a status.
func (w *wire) send(method, path string, body []byte, status int) error {
	w.out = fmt.Appendf(w.out[:0], "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		method, path, w.host, w.token, len(body))
	w.out = append(w.out, body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	w.body, err = readAll(w.body[:0], resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if resp.StatusCode != status {
		return fmt.Errorf("%s %s answered %s, want %d: %s", method, path, resp.Status, status, tail(w.body))
	}
	return nil
}

// dialWires opens n connections.
func dialWires(
	ctx context.Context, addr string, n int,
) (wires []*wire, closeAll func(), err error) {
	closeAll = func() {
		for _, w := range wires {
			w.close()
		}
	}
	for range n {
		w, err := dialWire(ctx, addr)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		wires = append(wires, w)
	}
	return wires, closeAll, nil
}
