package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// EventFilter narrows events; zero values do not.
type EventFilter struct {
	Types []string // one of these
	Live  bool     // and changes of runs as they happen, which are kept nowhere
	After string   // the id of an event: only what comes after it; "0": all that is kept
}

func (f EventFilter) query() url.Values {
	q := url.Values{}
	if len(f.Types) > 0 {
		q.Set("type", strings.Join(f.Types, ","))
	}
	if f.Live {
		q.Set("live", "1")
	}
	if f.After != "" {
		q.Set("after", f.After)
	}
	return q
}

// Events lists events, newest first.
func (c *Client) Events(ctx context.Context, f EventFilter, p Page) (list wire.Events, err error) {
	_, err = c.answer(ctx, call{
		method: "GET", path: "/v1/events", query: p.add(f.query()),
		header: http.Header{"Accept": {"application/json"}},
	}, &list)
	return list, err
}

// FollowEvents gives events as they come, from now on or after one, until the stream is cut off
// (ErrCut) or each fails. remark gets what the server says about the stream, such as how many events
// are not kept any more; nil: nobody does. begun is called once nothing is missed from then on; nil: nobody is told. at
// is where to go on, "" where that is not known.
func (c *Client) FollowEvents(
	ctx context.Context, f EventFilter, each func(jobs.CloudEvent) error, remark func(string), begun func(),
) (at string, err error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	at, f.After = f.After, ""
	if at != "" {
		header.Set("Last-Event-ID", at)
	}
	in := call{method: "GET", path: "/v1/events", query: f.query(), header: header}
	res, err := c.send(ctx, in)
	if err != nil {
		return at, err
	}
	defer res.Body.Close()
	err = eachFrame(res.Body, func(e event) error {
		if e.remark != "" && remark != nil {
			remark(e.remark)
		}
		if e.data != nil {
			var told jobs.CloudEvent
			if err := jobs.DecodeLenient(e.data, &told); err != nil {
				return err
			}
			if err := each(told); err != nil {
				return err
			}
		}
		if e.id != "" {
			if at = e.id; begun != nil { // the server says first where it begins
				begun()
				begun = nil
			}
		}
		return nil
	})
	if err == nil {
		err = ErrCut
	}
	return at, fmt.Errorf("follow the events: %w", err)
}
