package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"nightshift/jobs"
)

// Phases of an exchange, as they stand in messages.
const (
	phaseConnect = iota
	phaseSend
	phaseAnswer // not one byte has come
	phaseHeaders
	phaseBody
)

// exchange is one request and its answer, or several where redirects are followed.
type exchange struct {
	plan  *plan
	now   func() time.Time
	phase int
	conn  *conn // nil: there was none
	kept  bool  // it had served the Transport before

	resp *http.Response // nil: none came. Its Body is read
	body []byte         // what is kept of it
	size int64          // bytes of the body that came
	past bool           // it was larger than is read

	first   string // host:port of the URL
	hops    int    // redirects that were followed
	refusal string // why the last answer's redirect is not

	trace httptrace.ClientTrace
}

// do sends the request and reads the answer, and follows redirects where the job wants it. The
// end of ctx closes the connection.
func (x *exchange) do(ctx context.Context, over http.RoundTripper, call *jobs.Call) error {
	ctx = context.WithValue(ctx, attemptKey{}, ctx)
	x.trace.GotConn = x.gotConn
	ctx = httptrace.WithClientTrace(ctx, &x.trace)
	x.first = x.plan.name
	for {
		if err := x.send(ctx, over, call); err != nil {
			return err
		}
		next := x.redirect(call)
		if next == nil {
			return nil
		}
		x.follow(next)
	}
}

// send sends one request, once, and reads its answer.
func (x *exchange) send(ctx context.Context, over http.RoundTripper, call *jobs.Call) error {
	for {
		req, body := x.plan.request(ctx, call, x.now)
		x.conn = nil
		resp, err := over.RoundTrip(req)
		if err == nil {
			return x.receive(resp, call)
		}
		x.conclude(body.Len())
		// A kept connection that was closed before a byte of the request was written is not an
		// attempt. Each turn uses one up, so this ends.
		if x.kept && x.conn != nil && x.phase == phaseSend && ctx.Err() == nil {
			if _, written := x.conn.progress(); written == 0 {
				continue
			}
		}
		return x.fault(err)
	}
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	c, ok := info.Conn.(*conn)
	if !ok {
		return
	}
	x.conn, x.kept = c, info.Reused
	c.claim()
}

// conclude finds out how far a request got that has no answer.
func (x *exchange) conclude(unsent int) {
	if x.conn == nil {
		x.phase = phaseConnect
		return
	}
	read, written := x.conn.progress()
	switch {
	case read > 0:
		x.phase = phaseHeaders
	case unsent > 0, written == 0:
		x.phase = phaseSend
	default:
		x.phase = phaseAnswer
	}
}

// fault is what the connection itself has to say, else the cause that the Transport wraps.
func (x *exchange) fault(err error) error {
	if x.conn == nil {
		return err
	}
	if read, _ := x.conn.progress(); read >= maxHeaderBytes {
		return errHeaderTooLarge
	}
	if own := x.conn.detail(); own != nil {
		return own
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

var errHeaderTooLarge = errors.New("headers too large")

// receive reads the body of an answer. Where it is not read to its end the connection is closed.
func (x *exchange) receive(resp *http.Response, call *jobs.Call) error {
	defer resp.Body.Close()
	if resp.ProtoMajor != 1 || resp.StatusCode < 100 {
		x.phase = phaseHeaders
		return fmt.Errorf("%s with status %d", resp.Proto, resp.StatusCode)
	}
	x.phase, x.resp = phaseBody, resp
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil // nobody asked for it: a status like others, and the end of the connection
	}
	if x.conn != nil {
		x.conn.heed(resp.Header)
	}
	return x.readBody(x.wanted(call))
}

// wanted is how many bytes of the body are kept: all that is read where an expression sees it or a
// checkpoint may stand in it, else enough to tell that it is too large for a result.
func (x *exchange) wanted(call *jobs.Call) int {
	switch {
	case x.accepted(call):
		return 0
	case call.Judge != nil, x.resp.Header[continueHeader] != nil, x.isProblem():
		return maxBodyBytes + 1
	}
	return jobs.MaxResult + 1
}

var drains = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readBody keeps as many bytes as are wanted and reads on until the end or maxBodyBytes.
func (x *exchange) readBody(keep int) error {
	room := x.resp.ContentLength
	if room < 0 || room > jobs.MaxResult+1 {
		room = 512
	}
	if x.resp.Body == http.NoBody {
		return nil
	}
	x.body = make([]byte, 0, room)
	for len(x.body) < keep {
		if len(x.body) == cap(x.body) && x.resp.ContentLength != int64(len(x.body)) {
			grown := make([]byte, len(x.body), min(max(2*cap(x.body), 512), keep))
			copy(grown, x.body)
			x.body = grown
		}
		free := x.body[len(x.body):cap(x.body)]
		if len(free) == 0 {
			break
		}
		n, err := x.resp.Body.Read(free)
		x.body = x.body[:len(x.body)+n]
		x.size += int64(n)
		if err != nil {
			return unlessEOF(err)
		}
	}
	scratch := drains.Get().(*[32 << 10]byte)
	defer drains.Put(scratch)
	for x.size <= maxBodyBytes {
		n, err := x.resp.Body.Read(scratch[:min(int64(len(scratch)), maxBodyBytes+1-x.size)])
		x.size += int64(n)
		if err != nil {
			return unlessEOF(err)
		}
	}
	x.past = true
	return nil
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
