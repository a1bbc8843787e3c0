package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
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
		{&store.FullError{Why: "the quota is used up"}, probFull, ""},
		{store.ErrUnknown, probUnknown, "1"},
		{store.ErrClosed, probStopping, "5"},
		{&store.KeyConflict{Key: "k"}, probKey, ""},
		{&store.UniqueConflict{Job: "a"}, probUnique, ""},
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

// The store wraps what went wrong together with its cause, as errors that were joined are: a full disk was answered
// with 500 by the calls that take those apart.
func TestCallsWithManyEntriesTellWhatTheStoreFailedBy(t *testing.T) {
	for _, c := range []struct {
		of   error
		want problemKind
	}{
		{store.ErrBusy, probBusy},
		{store.ErrFull, probFull},
		{store.ErrUnknown, probUnknown},
	} {
		err := fmt.Errorf("enqueue run of job a: %w", fmt.Errorf("%w: %w", c.of, errors.New("code 13")))
		asPlaced := func(_ string, _ int, f jobs.Fault) jobs.Fault { return f }
		for _, got := range []error{batchError(err), batchError(errors.Unwrap(err)), saveError(err, asPlaced)} {
			s := &Server{log: slog.New(slog.DiscardHandler)}
			if p := s.problemOf(got); p.kind != c.want {
				t.Errorf("%v: problem %s, want %s", got, p.kind.name, c.want.name)
			}
		}
	}
}

func TestConnectionsPastTheBoundAreTold(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := newCapped(inner, &conns{})
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
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 503 ") ||
		!strings.Contains(string(text), "\r\n\r\n{\"type\":\"about:blank\"") {
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

func TestWhatIsNoCallGetsAProblemToo(t *testing.T) {
	ts := newTestServer(t)
	cases := []struct {
		name, sent string
		status     int
		detail     string
	}{
		{"bad escape in the path", "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "cannot be read"},
		{"no request line", "nonsense\r\n\r\n", 400, "cannot be read"},
		{"NUL in the path", "GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "cannot be read"},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "cannot be read"},
		{"negative length", "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400, ""},
		{"header without a colon", "GET / HTTP/1.1\r\nHost: localhost\r\nx\r\n\r\n", 400, ""},
		{"unknown version", "GET / HTTP/9.1\r\nHost: localhost\r\n\r\n", 505, "version"},
		{"unknown coding", "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, ""},
		{"unknown expectation", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n", 417, ""},
		{"headers too large", "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", 431, ""},
		// Behind a good call on the same connection.
		{
			"after a call", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
			400, "cannot be read",
		},
		{"about the server", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 401, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, c.sent); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			if strings.Contains(c.sent, "/healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET") {
				first, err := http.ReadResponse(in, nil)
				if err != nil || first.StatusCode != 200 {
					t.Fatal(first, err)
				}
				_, _ = io.Copy(io.Discard, first.Body)
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			var p struct {
				Type, Title, Detail string
				Status              int
			}
			if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.status || p.Status != c.status || p.Type == "" || p.Title == "" ||
				res.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("%s %v %+v", res.Status, res.Header, p)
			}
		})
	}
}

func TestAnswersThatLookLikeRefusalsAreLeftAlone(t *testing.T) {
	ts := newTestServer(t)
	line := "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n400 Bad Request\n"
	text := strings.Repeat(line, 2000)
	script, err := json.Marshal(map[string]any{"script": map[string]any{
		"interpreter": []string{"cat"}, "source": text,
	}})
	if err != nil {
		t.Fatal(err)
	}
	ts.call("PUT", "/v1/jobs/a", string(script)).want(201)
	id := ts.enqueue("a", "")
	ts.until(id, "succeeded")
	if got := ts.call("GET", "/v1/runs/"+id+"/log", "").want(200); string(got.body) != text {
		t.Errorf("the log has %d bytes, want %d", len(got.body), len(text))
	}
}

func TestHeadAnswersAsGetDoesWithoutTheBody(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", "")
	ts.until(id, "succeeded")
	for _, path := range []string{
		"/v1/jobs", "/v1/jobs/a", "/v1/jobs/a/versions/1", "/v1/runs", "/v1/runs/" + id,
		"/v1/runs/" + id + "/log", "/v1/jobs/absent", "/nothing", "/openapi.json", "/docs", "/healthz",
	} {
		get, head := ts.call("GET", path, ""), ts.call("HEAD", path, "", "Accept", "text/event-stream")
		if get.status != head.status || get.header.Get("ETag") != head.header.Get("ETag") || len(head.body) != 0 {
			t.Errorf("%s: GET %d %v, HEAD %d %v %q", path, get.status, get.header, head.status, head.header, head.body)
		}
	}
	ts.call("HEAD", "/v1/jobs", "", "Authorization", "").want(401)
	// None is made for it.
	h := ts.call("HEAD", "/v1/backup", "").want(200).header
	if h.Get("Content-Type") != "application/vnd.sqlite3" || h.Get("Nightshift-As-Of") != "" || h.Get("Content-Length") != "" {
		t.Errorf("HEAD of a backup: %v", h)
	}
}
