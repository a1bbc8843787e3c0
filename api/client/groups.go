package client

import (
	"context"
	"net/url"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// RunGroup runs a group that no job describes and waits up to wait (at most a minute) for its end.
func (c *Client) RunGroup(ctx context.Context, g *wire.RunGroup, wait time.Duration) (run wire.Run, err error) {
	in := call{method: "POST", path: "/v1/groups", query: waiting(wait), body: g}
	_, err = c.answer(ctx, in, &run)
	return run, err
}

// Groups lists runs of groups. filter holds parameters of GET /v1/groups.
func (c *Client) Groups(ctx context.Context, filter url.Values, p Page) (wire.Runs, error) {
	return c.runs(ctx, "/v1/groups", filter, p)
}

// Members shows how a group stands, with its members in their order. Where the run is no group the answer
// is a *Problem of status 404.
func (c *Client) Members(ctx context.Context, id jobs.ID, p Page) (list wire.GroupMembers, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: runPath(id, "/members"), query: p.add(nil)}, &list)
	return list, err
}

// Remerge merges the members of a group that has ended once more. The new merge run is the answer.
func (c *Client) Remerge(ctx context.Context, id jobs.ID, note string) (run wire.Run, err error) {
	in := call{method: "POST", path: runPath(id, "/remerge"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &run)
	return run, err
}
