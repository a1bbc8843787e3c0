package webhook

import (
	"errors"
	"io"
	"net/http"
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

// inlineBody is up to where a payload is sent before the answer is read. A larger one is sent
// beside the reading, lest both sides wait for the other to read.
const inlineBody = 16 << 10

// writeWait is how long a payload may still be on its way when the answer is complete.
const writeWait = time.Second

// exchange is one request and its answer.
type exchange struct {
	plan  *plan
	phase int
	kept  bool // it went out on a kept connection

	resp     *http.Response // nil: none came. Its Body is read
	body     []byte         // up to MaxResult+1 bytes of it
	size     int64          // bytes of the body that came
	past     bool           // it was larger than is read
	reusable bool           // the connection may serve another request
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

// do writes the request, once, and reads the answer. Closing c ends it.
func (x *exchange) do(c *conn, call *jobs.Call) error {
	x.kept, x.phase = c.kept, phaseSend
	c.headroom = maxHeaderBytes

	buf := buffers.Get().(*[]byte)
	b := x.plan.render((*buf)[:0], call)
	payload := []byte(call.Payload)
	if x.plan.bare {
		payload = nil
	}
	if len(payload) <= inlineBody {
		b = append(b, payload...)
		payload = nil
	}
	_, sendErr := c.Write(b)
	if *buf = b; cap(b) <= 64<<10 {
		buffers.Put(buf)
	}
	if payload == nil || sendErr != nil {
		return x.finish(c, sendErr)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(payload)
		sent <- err
	}()
	err := x.receive(c)
	if err == nil {
		select {
		case sendErr = <-sent:
			x.reusable = x.reusable && sendErr == nil
			return nil
		case <-time.After(writeWait):
		}
	}
	// The answer is there, or none will come: what is left of the payload is not wanted.
	x.reusable = false
	c.Close()
	if sendErr = <-sent; err != nil && x.phase <= phaseAnswer && sendErr != nil {
		return errors.Join(err, sendErr)
	}
	return err
}

// finish reads the answer after a write that may have failed: who does not like a request may
// answer and close before all of it was sent.
func (x *exchange) finish(c *conn, sendErr error) error {
	err := x.receive(c)
	if sendErr != nil {
		x.reusable = false
		if err != nil && x.phase <= phaseAnswer {
			return errors.Join(sendErr, err)
		}
	}
	return err
}

// receive reads the answer: 1xx ones are passed over, all headers together are bounded.
func (x *exchange) receive(c *conn) error {
	x.phase = phaseAnswer
	for {
		if _, err := c.br.Peek(1); err != nil {
			return err
		}
		x.phase = phaseHeaders
		resp, err := http.ReadResponse(c.br, x.plan.method)
		switch {
		case err != nil && c.readErr != nil:
			return c.readErr // a line cut short also cannot be read, but that is not why
		case err != nil:
			return err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			x.resp = resp
			break
		}
	}
	c.headroom = -1
	x.phase = phaseBody
	if x.resp.StatusCode == http.StatusSwitchingProtocols {
		return nil // nobody asked for it: a status like others, and the end of the connection
	}
	if err := x.readBody(); err != nil {
		return err
	}
	x.reusable = !x.past && !x.resp.Close && c.br.Buffered() == 0
	return nil
}

var drains = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readBody keeps the first MaxResult+1 bytes, enough to tell that it is too large, and reads on
// until the end or maxBodyBytes.
func (x *exchange) readBody() error {
	const keep = jobs.MaxResult + 1
	room := x.resp.ContentLength
	if room < 0 || room > keep {
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
