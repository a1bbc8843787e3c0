package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"nightshift/jobs"
)

// Callback speaks for one attempt, while it is under way: see contract 5. An attempt that is over
// is answered with a *Problem of status 409. It is safe for concurrent use.
//
// Each call may be sent again, but for Log: a second one then has no effect of its own.
type Callback struct {
	client *Client
}

// NewCallback makes one from what the attempt was given: NIGHTSHIFT_CALLBACK and
// NIGHTSHIFT_CALLBACK_TOKEN, or the headers Nightshift-Callback and Nightshift-Token.
func NewCallback(url, token string) *Callback { return &Callback{New(url, token)} }

// Checkpoint is what the operation has saved, byte for byte; nil: nothing.
func (c *Callback) Checkpoint(ctx context.Context) (jobs.Raw, error) {
	value, err := c.client.checkpoint(ctx, "/checkpoint")
	if bytes.Equal(value, []byte("null")) {
		value = nil
	}
	return value, err
}

// checkpoint reads one, byte for byte.
func (c *Client) checkpoint(ctx context.Context, path string) (jobs.Raw, error) {
	res, err := c.send(ctx, call{method: "GET", path: path})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	value, err := io.ReadAll(io.LimitReader(res.Body, jobs.MaxCheckpoint))
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint: %w", err)
	}
	if err := jobs.ValidJSON(value); err != nil {
		return nil, fmt.Errorf("read the checkpoint: is %s of a Nightshift server? %w", c.base, err)
	}
	return value, nil
}

// SaveCheckpoint keeps a value of at most 256 KiB for the next attempt; null drops what was kept. It
// is on disk where the error is nil.
func (c *Callback) SaveCheckpoint(ctx context.Context, value jobs.Raw) error {
	_, err := c.client.answer(ctx, call{method: "PUT", path: "/checkpoint", body: value}, nil)
	return err
}

// Results copies what has become of each member of a group, a JSON array in their order, for an attempt of
// its merge. Of any other the answer is a *Problem of status 404.
func (c *Callback) Results(ctx context.Context, w io.Writer) error {
	res, err := c.client.send(ctx, call{method: "GET", path: "/results"})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	return nil
}

// Progress says how far the attempt is.
func (c *Callback) Progress(ctx context.Context, p jobs.Progress) error {
	_, err := c.client.answer(ctx, call{method: "POST", path: "/progress", body: &p}, nil)
	return err
}

// Log adds text of at most 1 MiB to the run's output, a line end added where it is missing.
func (c *Callback) Log(ctx context.Context, text []byte) error {
	in := call{method: "POST", path: "/log", header: http.Header{"Content-Type": {"text/plain"}}, body: plain(text)}
	_, err := c.client.answer(ctx, in, nil)
	return err
}

// Heartbeat says that the attempt is alive, as all other calls do.
func (c *Callback) Heartbeat(ctx context.Context) error {
	_, err := c.client.answer(ctx, call{method: "POST", path: "/heartbeat"}, nil)
	return err
}

// Complete gives the result, at most 64 KiB; nil: null. It ends an attempt of completion callback;
// of another it is the result if that succeeds. state is the run's.
func (c *Callback) Complete(ctx context.Context, result jobs.Raw) (state string, err error) {
	return c.outcome(ctx, "/complete", &struct {
		Result jobs.Raw `json:"result,omitempty"`
	}{result})
}

// Fail says that the attempt has failed, and ends one of completion callback. state is the run's.
func (c *Callback) Fail(ctx context.Context, e jobs.SaidError) (state string, err error) {
	e.Fail = false // the path says so
	return c.outcome(ctx, "/fail", &e)
}

func (c *Callback) outcome(ctx context.Context, path string, body any) (state string, err error) {
	var told struct {
		State string `json:"state"`
	}
	_, err = c.client.answer(ctx, call{method: "POST", path: path, body: body}, &told)
	return told.State, err
}
