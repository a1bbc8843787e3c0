package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// Request asks for a run; the zero value takes everything from the job.
type Request struct {
	Job            string            `json:"job,omitempty"` // in a batch
	Payload        jobs.Raw          `json:"payload,omitempty"`
	Delay          *jobs.Duration    `json:"delay,omitempty"`
	RunAt          jobs.Time         `json:"run_at,omitempty"`
	Priority       *int              `json:"priority,omitempty"`
	MaxAttempts    *int              `json:"max_attempts,omitempty"`
	Timeout        *jobs.Duration    `json:"timeout,omitempty"`
	CorrelationID  string            `json:"correlation_id,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
}

func runPath(id jobs.ID, more string) string { return "/v1/runs/" + id.String() + more }

func waiting(d time.Duration) url.Values {
	if d <= 0 {
		return nil
	}
	return url.Values{"wait": {d.String()}}
}

// Enqueue makes a run of a job and waits up to wait (at most a minute) for its end.
func (c *Client) Enqueue(ctx context.Context, job string, r Request, wait time.Duration) (run wire.Run, err error) {
	in := call{method: "POST", path: jobPath(job, "/runs"), query: waiting(wait), body: &r}
	_, err = c.answer(ctx, in, &run)
	return run, err
}

// Batch makes runs, all or none.
func (c *Client) Batch(ctx context.Context, list []Request) (done wire.Briefs, err error) {
	body := struct {
		Runs []Request `json:"runs"`
	}{list}
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/runs/batch", body: &body}, &done)
	return done, err
}

// Runs lists runs. filter holds parameters of GET /v1/runs.
func (c *Client) Runs(ctx context.Context, filter url.Values, p Page) (wire.Runs, error) {
	return c.runs(ctx, "/v1/runs", filter, p)
}

func (c *Client) runs(ctx context.Context, path string, filter url.Values, p Page) (list wire.Runs, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: path, query: p.with(filter)}, &list)
	return list, err
}

// Run shows a run and waits up to wait (at most a minute) for its end.
func (c *Client) Run(ctx context.Context, id jobs.ID, wait time.Duration) (run wire.Run, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: runPath(id, ""), query: waiting(wait)}, &run)
	return run, err
}

// Cancel cancels a run; one whose attempt is being stopped is still running in the answer.
func (c *Client) Cancel(ctx context.Context, id jobs.ID) (run wire.Run, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: runPath(id, "/cancel")}, &run)
	return run, err
}

// RunNow drops what is left of a delay or backoff.
func (c *Client) RunNow(ctx context.Context, id jobs.ID) (run wire.Run, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: runPath(id, "/run-now")}, &run)
	return run, err
}

// Requeue runs an ended run again, as a new run, which is the answer.
func (c *Client) Requeue(ctx context.Context, id jobs.ID, r wire.Requeue) (run wire.Run, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: runPath(id, "/requeue"), body: &r}, &run)
	return run, err
}

// DeleteRun deletes an ended run.
func (c *Client) DeleteRun(ctx context.Context, id jobs.ID) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: runPath(id, "")}, nil)
	return err
}

// Checkpoint is what a run has saved for its next attempt, byte for byte. Where it has saved nothing
// the answer is a *Problem of status 404.
func (c *Client) Checkpoint(ctx context.Context, id jobs.ID) (jobs.Raw, error) {
	return c.checkpoint(ctx, runPath(id, "/checkpoint"))
}

// DropCheckpoint lets a run's next attempt start from the beginning.
func (c *Client) DropCheckpoint(ctx context.Context, id jobs.ID) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: runPath(id, "/checkpoint")}, nil)
	return err
}

// Log copies what is kept of a run's output.
func (c *Client) Log(ctx context.Context, id jobs.ID, w io.Writer) error {
	res, err := c.send(ctx, call{method: "GET", path: runPath(id, "/log")})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the log of run %s: %w", id, err)
	}
	return nil
}

// ErrCut is a stream that ended before its last event.
var ErrCut = errors.New("the stream was cut off")

// Follow copies a run's output as it comes, from an offset on, until the run has ended, and gives
// the state it ended in. Where the stream is cut off (ErrCut), at is where to go on.
func (c *Client) Follow(ctx context.Context, id jobs.ID, from int64, w io.Writer) (state string, at int64, err error) {
	at = from
	state, err = c.FollowLog(ctx, id, from, func(text string, behind int64) error {
		at = behind
		_, err := io.WriteString(w, text)
		return err
	})
	return state, at, err
}

// FollowLog gives a run's output piece by piece as it comes, each with the offset behind it, from an offset on
// until the run has ended, and then the state it ended in. Where the stream is cut off, the error is ErrCut.
func (c *Client) FollowLog(
	ctx context.Context, id jobs.ID, from int64, each func(text string, behind int64) error,
) (state string, err error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if from > 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(from, 10))
	}
	res, err := c.send(ctx, call{method: "GET", path: runPath(id, "/log"), header: header})
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	at := from
	err = eachEvent(res.Body, func(e event) error {
		switch e.name {
		case "log":
			var piece wire.LogEvent
			if err := jobs.DecodeLenient(e.data, &piece); err != nil {
				return err
			}
			if n, err := strconv.ParseInt(e.id, 10, 64); err == nil {
				at = n
			}
			return each(piece.Text, at)
		case "end":
			var end wire.EndEvent
			err := jobs.DecodeLenient(e.data, &end)
			state = end.State
			return err
		}
		return nil
	})
	if err == nil && state == "" {
		err = ErrCut
	}
	if err != nil {
		return "", fmt.Errorf("follow the log of run %s: %w", id, err)
	}
	return state, nil
}

// event is one server-sent event.
type event struct {
	name, id string
	data     []byte // nil: it has none, and does not count
	remark   string // a comment that came with it
}

// maxEvent bounds the line of an event: a piece of a log, escaped.
const maxEvent = 16 << 20

// eachEvent reads events until the stream ends.
func eachEvent(r io.Reader, each func(event) error) error {
	return eachFrame(r, func(e event) error {
		if e.data == nil {
			return nil
		}
		return each(e)
	})
}

// eachFrame reads events (HTML Living Standard, 9.2.6) until the stream ends, and what stands alone:
// comments, and ids from which to go on.
func eachFrame(r io.Reader, each func(event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	var e event
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if err := each(e); err != nil {
				return err
			}
			e = event{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "":
			e.remark = value
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			if e.data == nil {
				e.data = []byte(value)
			} else {
				e.data = append(append(e.data, '\n'), value...)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(ErrCut, err)
	}
	return nil
}
