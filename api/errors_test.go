package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"nightshift/jobs"
	"nightshift/store"
)

func TestErrorsHaveTheirStatus(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	wrap := func(err error) error { return fmt.Errorf("finish run 7: %w", err) }
	cases := []struct {
		err   error
		kind  problemKind
		retry string // the Retry-After header
	}{
		{store.ErrNotFound, probNotFound, ""},
		{store.ErrExists, probExists, ""},
		{store.ErrStale, probStale, ""},
		{store.ErrState, probState, ""},
		{store.ErrBusy, probBusy, "1"},
		{store.ErrFull, probFull, ""},
		{store.ErrUnknown, probUnknown, "1"},
		{store.ErrClosed, probStopping, "5"},
		{&store.KeyConflict{Key: "k"}, probKey, ""},
		{&jobs.SyntaxError{Line: 1, Column: 2, Msg: "m"}, probSyntax, ""},
		{&jobs.InvalidError{Faults: []jobs.Fault{{Location: "a", Message: "b"}}}, probInvalid, ""},
		{echo.ErrNotFound, probNotFound, ""},
		{echo.ErrMethodNotAllowed, probMethod, ""},
		{os.ErrDeadlineExceeded, probSlow, ""},
		{context.DeadlineExceeded, probOverload, "1"},
		{errors.New("disk /dev/sda1 " + canary), probInternal, ""},
	}
	for _, c := range cases {
		for _, err := range []error{c.err, wrap(c.err)} {
			e := echo.New()
			rec := httptest.NewRecorder()
			s.onError(err, e.NewContext(httptest.NewRequest("GET", "/", nil), rec))
			a := &answer{t, rec.Code, rec.Header(), rec.Body.Bytes()}
			a.problem(c.kind)
			if got := rec.Header().Get("Retry-After"); got != c.retry {
				t.Errorf("%v: Retry-After %q, want %q", err, got, c.retry)
			}
			if strings.Contains(rec.Body.String(), canary) || strings.Contains(rec.Body.String(), "finish run") {
				t.Errorf("%v: the answer tells of the inside: %s", err, rec.Body)
			}
		}
	}
}

func TestConnectionsPastTheBoundAreTold(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := newCapped(inner)
	defer ln.Close()
	ln.limit = 2
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	dial()
	dial()
	first := <-accepted
	<-accepted
	text, err := io.ReadAll(dial())
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 503 ") {
		t.Errorf("the third got %q, %v", text, err)
	}
	// One that is closed, twice even, makes room for one.
	_ = first.Close()
	_ = first.Close()
	dial()
	<-accepted
	text, _ = io.ReadAll(dial())
	if !strings.HasPrefix(string(text), "HTTP/1.1 503 ") {
		t.Errorf("one more got %q", text)
	}
}
