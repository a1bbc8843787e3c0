package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// takenOver is a listener that is handed over, with a server of its own whose calls last as long as the body asks.
type takenOver struct {
	t  *testing.T
	s  *Server
	ln net.Listener
}

func takeOver(t *testing.T) *takenOver {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{handover: true}
	s.http = &http.Server{ConnContext: connContext, ConnState: connState, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			began(r)
			text, _ := io.ReadAll(r.Body)
			d, _ := time.ParseDuration(string(text))
			time.Sleep(d)
			fmt.Fprint(w, "done")
		},
	)}
	served := make(chan error, 1)
	end := s.conns.listen(ln)
	go func() {
		served <- s.http.Serve(newCapped(ln, &s.conns))
		end()
	}()
	t.Cleanup(func() {
		_ = s.http.Close()
		<-served
	})
	return &takenOver{t: t, s: s, ln: ln}
}

func (o *takenOver) dial() net.Conn {
	o.t.Helper()
	conn, err := net.Dial("tcp", o.ln.Addr().String())
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

func send(conn net.Conn, body string) {
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// receive is the answer on a connection; "": it was closed without one.
func receive(conn net.Conn) string {
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(res.Body)
	return string(text)
}

func TestHandOverAnswersEveryCallThatCameIn(t *testing.T) {
	o := takeOver(t)
	idle, slow, half, fresh, silent := o.dial(), o.dial(), o.dial(), o.dial(), o.dial()
	send(idle, "")
	if got := receive(idle); got != "done" {
		t.Fatalf("before: %q", got)
	}
	send(slow, "400ms")
	fmt.Fprint(half, "POST / HTTP/1.1\r\nHost: loc")
	for len(o.s.conns.list()) < 5 {
		time.Sleep(time.Millisecond)
	}
	over := make(chan error, 1)
	go func() { over <- o.s.handOver(t.Context()) }()
	if got := receive(idle); got != "" {
		t.Errorf("an idle connection: %q", got)
	}
	// The listener is closed: what comes now would wait for the next server.
	send(fresh, "")
	fmt.Fprint(half, "alhost\r\nContent-Length: 0\r\n\r\n")
	for name, conn := range map[string]net.Conn{"slow": slow, "half": half, "fresh": fresh} {
		if got := receive(conn); got != "done" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if got := receive(silent); got != "" {
		t.Errorf("one that asked for nothing: %q", got)
	}
	if left := o.s.conns.list(); len(left) > 0 {
		t.Errorf("%d connections are left", len(left))
	}
}

func TestHandOverCutsOffWhatTakesTooLong(t *testing.T) {
	o := takeOver(t)
	conn := o.dial()
	send(conn, "1s")
	for len(o.s.conns.list()) < 1 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := o.s.handOver(ctx); err == nil || !strings.Contains(err.Error(), "1 took too long") {
		t.Errorf("the error is %v", err)
	}
	if got := receive(conn); got != "" {
		t.Errorf("%q", got)
	}
}
