package client

import (
	"context"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// StatsFilter narrows statistics; zero values do not.
type StatsFilter struct {
	Job          string
	Since, Until jobs.Time
	Step         jobs.Duration
}

// Stats count what has ended, and what stands.
func (c *Client) Stats(ctx context.Context, f StatsFilter) (s wire.Stats, err error) {
	q := url.Values{}
	if f.Job != "" {
		q.Set("job", f.Job)
	}
	if f.Since != 0 {
		q.Set("since", f.Since.String())
	}
	if f.Until != 0 {
		q.Set("until", f.Until.String())
	}
	if f.Step != 0 {
		q.Set("step", f.Step.String())
	}
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/stats", query: q}, &s)
	return s, err
}
