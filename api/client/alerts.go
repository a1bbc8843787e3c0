package client

import (
	"context"
	"net/http"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func alertPath(name string) string { return "/v1/alerts/" + url.PathEscape(name) }

// Alerts lists alerts.
func (c *Client) Alerts(ctx context.Context, p Page) (list wire.Alerts, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/alerts", query: p.add(nil)}, &list)
	return list, err
}

// Alert shows an alert and its ETag.
func (c *Client) Alert(ctx context.Context, name string) (a jobs.Alert, tag string, err error) {
	res, err := c.answer(ctx, call{method: "GET", path: alertPath(name)}, &a)
	if err != nil {
		return a, "", err
	}
	return a, res.Header.Get("ETag"), nil
}

// PutAlert makes or replaces an alert. match is the ETag that must stand; "": whatever does.
func (c *Client) PutAlert(ctx context.Context, a *jobs.Alert, match string) (saved jobs.Alert, created bool, err error) {
	created, err = c.put(ctx, alertPath(a.Name), a.Document(), match, &saved)
	return saved, created, err
}

// DeleteAlert deletes an alert. match is the ETag that must stand; "": whatever does.
func (c *Client) DeleteAlert(ctx context.Context, name, match string) error {
	in := call{method: "DELETE", path: alertPath(name)}
	if match != "" {
		in.header = http.Header{"If-Match": {match}}
	}
	_, err := c.answer(ctx, in, nil)
	return err
}

// TestAlerts has a failure told that is made up, of a job or of none ("").
func (c *Client) TestAlerts(ctx context.Context, job string) (out wire.AlertTested, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/alerts/test", body: &wire.AlertTest{Job: job}}, &out)
	return out, err
}
