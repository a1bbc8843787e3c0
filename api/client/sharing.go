package client

import (
	"context"
	"net/http"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func queuePath(name, more string) string { return "/v1/queues/" + url.PathEscape(name) + more }

func dependencyPath(name, more string) string {
	return "/v1/dependencies/" + url.PathEscape(name) + more
}

// Queues lists queues, those that are only named too.
func (c *Client) Queues(ctx context.Context, p Page) (list wire.Queues, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/queues", query: p.add(nil)}, &list)
	return list, err
}

// Queue shows a queue and its ETag.
func (c *Client) Queue(ctx context.Context, name string) (q wire.Queue, tag string, err error) {
	res, err := c.answer(ctx, call{method: "GET", path: queuePath(name, "")}, &q)
	if err != nil {
		return q, "", err
	}
	return q, res.Header.Get("ETag"), nil
}

// PutQueue sets the limits of a queue. match is the ETag that must stand; "": whatever does.
func (c *Client) PutQueue(
	ctx context.Context, q *jobs.Queue, match string,
) (saved wire.Queue, created bool, err error) {
	created, err = c.put(ctx, queuePath(q.Name, ""), q.Document(), match, &saved)
	return saved, created, err
}

// put sends a document and says whether it made what it is of.
func (c *Client) put(
	ctx context.Context, path string, document []byte, match string, saved any,
) (created bool, err error) {
	in := call{method: "PUT", path: path, body: jobs.Raw(document)}
	if match != "" {
		in.header = http.Header{"If-Match": {match}}
	}
	res, err := c.answer(ctx, in, saved)
	return err == nil && res.StatusCode == http.StatusCreated, err
}

// DeleteQueue drops the limits of a queue.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: queuePath(name, "")}, nil)
	return err
}

// PauseQueue lets nothing of a queue start.
func (c *Client) PauseQueue(ctx context.Context, name, note string) (q wire.Queue, err error) {
	in := call{method: "POST", path: queuePath(name, "/pause"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &q)
	return q, err
}

// ResumeQueue ends a pause.
func (c *Client) ResumeQueue(ctx context.Context, name, note string) (q wire.Queue, err error) {
	in := call{method: "POST", path: queuePath(name, "/resume"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &q)
	return q, err
}

// Dependencies lists dependencies, those that are only named or called too.
func (c *Client) Dependencies(ctx context.Context, p Page) (list wire.Dependencies, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/dependencies", query: p.add(nil)}, &list)
	return list, err
}

// Dependency shows a dependency and its ETag.
func (c *Client) Dependency(
	ctx context.Context, name string,
) (d wire.Dependency, tag string, err error) {
	res, err := c.answer(ctx, call{method: "GET", path: dependencyPath(name, "")}, &d)
	if err != nil {
		return d, "", err
	}
	return d, res.Header.Get("ETag"), nil
}

// PutDependency sets the limits of a dependency. match is the ETag that must stand; "": whatever
// does.
func (c *Client) PutDependency(
	ctx context.Context, d *jobs.Dependency, match string,
) (saved wire.Dependency, created bool, err error) {
	created, err = c.put(ctx, dependencyPath(d.Name, ""), d.Document(), match, &saved)
	return saved, created, err
}

// DeleteDependency lets a dependency be as it is built in.
func (c *Client) DeleteDependency(ctx context.Context, name string) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: dependencyPath(name, "")}, nil)
	return err
}

// PauseDependency lets no attempt start that uses it.
func (c *Client) PauseDependency(ctx context.Context, name, note string) (wire.Dependency, error) {
	return c.changeDependency(ctx, name, "/pause", &wire.Note{Note: note})
}

// ResumeDependency ends a pause.
func (c *Client) ResumeDependency(ctx context.Context, name, note string) (wire.Dependency, error) {
	return c.changeDependency(ctx, name, "/resume", &wire.Note{Note: note})
}

// TripDependency opens the breaker of a dependency by hand.
func (c *Client) TripDependency(
	ctx context.Context, name string, trip wire.Trip,
) (wire.Dependency, error) {
	return c.changeDependency(ctx, name, "/trip", &trip)
}

// ResetDependency closes the breaker of a dependency and forgets what a Retry-After asked for.
func (c *Client) ResetDependency(ctx context.Context, name, note string) (wire.Dependency, error) {
	return c.changeDependency(ctx, name, "/reset", &wire.Note{Note: note})
}

func (c *Client) changeDependency(
	ctx context.Context, name, change string, body any,
) (d wire.Dependency, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: dependencyPath(name, change), body: body}, &d)
	return d, err
}
