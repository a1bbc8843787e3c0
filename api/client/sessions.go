package client

import (
	"context"
	"net/url"

	"nightshift/api/wire"
)

// Sessions lists browsers that have signed in, and links by which one may, newest first.
func (c *Client) Sessions(ctx context.Context, p Page) (list wire.Sessions, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/sessions", query: p.add(nil)}, &list)
	return list, err
}

// EndSession ends a session, or takes a link back.
func (c *Client) EndSession(ctx context.Context, id string) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: "/v1/sessions/" + url.PathEscape(id)}, nil)
	return err
}

// Link makes a link by which somebody may sign in once, as the token does. Only this answer has it.
func (c *Client) Link(ctx context.Context, token string) (l wire.Link, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/tokens/" + url.PathEscape(token) + "/link"}, &l)
	return l, err
}
