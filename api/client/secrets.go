package client

import (
	"context"
	"net/url"

	"nightshift/api/wire"
)

// Secrets lists secrets, newest first, without their values.
func (c *Client) Secrets(ctx context.Context, p Page) (list wire.Secrets, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/secrets", query: p.add(nil)}, &list)
	return list, err
}

// PutSecret makes a secret, or gives it a value. made: there was none.
func (c *Client) PutSecret(ctx context.Context, name, value string) (s wire.SecretUse, made bool, err error) {
	res, err := c.answer(ctx, call{
		method: "PUT", path: "/v1/secrets/" + url.PathEscape(name), body: &wire.PutSecret{Value: value},
	}, &s)
	return s, err == nil && res.StatusCode == 201, err
}

// DeleteSecret deletes a secret.
func (c *Client) DeleteSecret(ctx context.Context, name string) (d wire.DeletedSecret, err error) {
	_, err = c.answer(ctx, call{method: "DELETE", path: "/v1/secrets/" + url.PathEscape(name)}, &d)
	return d, err
}

// RotateKey seals all secrets with a new key.
func (c *Client) RotateKey(ctx context.Context) (done wire.RotatedKey, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/secrets/rotate-key"}, &done)
	return done, err
}

// SecretUse shows a secret without its value, and which jobs name it.
func (c *Client) SecretUse(ctx context.Context, name string) (s wire.SecretUse, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/secrets/" + url.PathEscape(name)}, &s)
	return s, err
}
