package client

import (
	"context"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func failurePath(id jobs.ID, more string) string { return "/v1/failures/" + id.String() + more }

// Failures lists failures. filter holds parameters of GET /v1/failures.
func (c *Client) Failures(ctx context.Context, filter url.Values, p Page) (list wire.Failures, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/failures", query: p.with(filter)}, &list)
	return list, err
}

// Failure shows a failure with all that is known of it.
func (c *Client) Failure(ctx context.Context, id jobs.ID) (f wire.FailureDetail, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: failurePath(id, "")}, &f)
	return f, err
}

// FailureGroups lists failures that are alike as one. filter holds parameters of GET /v1/failure-groups.
func (c *Client) FailureGroups(ctx context.Context, filter url.Values, p Page) (list wire.FailureGroups, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/failure-groups", query: p.with(filter)}, &list)
	return list, err
}

// ResolveFailure says that a failure has been dealt with.
func (c *Client) ResolveFailure(ctx context.Context, id jobs.ID, note string) (f wire.FailureDetail, err error) {
	in := call{method: "POST", path: failurePath(id, "/resolve"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &f)
	return f, err
}

// IgnoreFailure says that nothing will be done about a failure.
func (c *Client) IgnoreFailure(ctx context.Context, id jobs.ID, in wire.Ignore) (f wire.FailureDetail, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: failurePath(id, "/ignore"), body: &in}, &f)
	return f, err
}

// RequeueFailure runs a failed run again, as a new run, which is the answer.
func (c *Client) RequeueFailure(ctx context.Context, id jobs.ID, in wire.RequeueFailure) (run wire.Run, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: failurePath(id, "/requeue"), body: &in}, &run)
	return run, err
}

// RequeueFailures gives an order to requeue many failures, which does not only try it.
func (c *Client) RequeueFailures(ctx context.Context, in wire.RequeueFailures) (o wire.Ordered, err error) {
	in.DryRun = false
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/failures/requeue", body: &in}, &o)
	return o, err
}

// ResolveFailures gives an order to resolve many failures.
func (c *Client) ResolveFailures(ctx context.Context, in wire.ResolveFailures) (o wire.Ordered, err error) {
	in.DryRun = false
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/failures/resolve", body: &in}, &o)
	return o, err
}

// IgnoreFailures gives an order to ignore many failures.
func (c *Client) IgnoreFailures(ctx context.Context, in wire.IgnoreFailures) (o wire.Ordered, err error) {
	in.DryRun = false
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/failures/ignore", body: &in}, &o)
	return o, err
}

// TryRequeue says what an order to requeue failures would be for, and gives none.
func (c *Client) TryRequeue(ctx context.Context, in wire.RequeueFailures) (t wire.OrderTried, err error) {
	in.DryRun = true
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/failures/requeue", body: &in}, &t)
	return t, err
}

// TryResolve is TryRequeue for an order to resolve failures.
func (c *Client) TryResolve(ctx context.Context, in wire.ResolveFailures) (t wire.OrderTried, err error) {
	in.DryRun = true
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/failures/resolve", body: &in}, &t)
	return t, err
}

// TryIgnore is TryRequeue for an order to ignore failures.
func (c *Client) TryIgnore(ctx context.Context, in wire.IgnoreFailures) (t wire.OrderTried, err error) {
	in.DryRun = true
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/failures/ignore", body: &in}, &t)
	return t, err
}

// Order says how an order to deal with many failures stands.
func (c *Client) Order(ctx context.Context, id jobs.ID) (o wire.Order, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/requeues/" + id.String()}, &o)
	return o, err
}

// StopOrder calls off what an order has not begun.
func (c *Client) StopOrder(ctx context.Context, id jobs.ID) (o wire.Order, err error) {
	_, err = c.answer(ctx, call{method: "DELETE", path: "/v1/requeues/" + id.String()}, &o)
	return o, err
}
