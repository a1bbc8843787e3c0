package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"nightshift/api/client"
)

// insideKey is the key of the identity of a call that this process makes itself, in the call's context.
type insideKey struct{}

// inside carries calls of this process to the API, as somebody who has signed in: pages do nothing that the
// API would not let them do.
type inside struct {
	s   *Server
	who *identity
}

// clientOf is a client of the API that acts as who does.
func (s *Server) clientOf(who *identity) *client.Client {
	c := client.New("http://localhost", "")
	c.Agent = "nightshift-page"
	c.HTTP = &http.Client{
		Transport: inside{s, who}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// RoundTrip has the API answer. The answer may be read while it is still being written; closing it ends the
// call, and waits for that.
func (t inside) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithValue(req.Context(), insideKey{}, t.who))
	in := req.Clone(ctx)
	in.RequestURI, in.RemoteAddr, in.Host = req.URL.RequestURI(), "127.0.0.1:0", req.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	r, w := io.Pipe()
	a := &insideAnswer{header: http.Header{}, body: w, begun: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(a.over)
		defer func() {
			if recover() != nil { // an answer that was cut off: what it was is in the log
				_ = w.CloseWithError(io.ErrUnexpectedEOF)
			}
			a.WriteHeader(http.StatusOK)
		}()
		t.s.echo.ServeHTTP(a, in)
		a.WriteHeader(http.StatusOK)
		_ = w.Close()
	}()
	select {
	case <-a.begun:
	case <-ctx.Done():
		_ = r.CloseWithError(ctx.Err())
		cancel()
		<-a.over
		return nil, req.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: &insideBody{PipeReader: r, cancel: cancel, over: a.over}, ContentLength: -1, Request: req,
	}, nil
}

// insideAnswer is where the API writes its answer.
type insideAnswer struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	begun, over  chan struct{}
}

func (a *insideAnswer) Header() http.Header { return a.header }

func (a *insideAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	}
}

func (a *insideAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *insideAnswer) Flush() { a.WriteHeader(http.StatusOK) }

// The deadlines of a connection: there is none.
func (a *insideAnswer) SetWriteDeadline(time.Time) error { return nil }
func (a *insideAnswer) SetReadDeadline(time.Time) error  { return nil }

type insideBody struct {
	*io.PipeReader
	cancel context.CancelFunc
	over   chan struct{}
}

// Close ends the call.
func (b *insideBody) Close() error {
	b.cancel()
	err := b.PipeReader.Close()
	<-b.over
	return err
}
