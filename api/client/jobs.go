package client

import (
	"context"
	"net/http"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func jobPath(name string, more string) string { return "/v1/jobs/" + url.PathEscape(name) + more }

// Jobs lists jobs, without their payloads.
func (c *Client) Jobs(ctx context.Context, p Page) (list wire.Jobs, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/jobs", query: p.add(nil)}, &list)
	return list, err
}

// Job shows a job and its ETag.
func (c *Client) Job(ctx context.Context, name string) (j jobs.Job, tag string, err error) {
	res, err := c.answer(ctx, call{method: "GET", path: jobPath(name, "")}, &j)
	if err != nil {
		return j, "", err
	}
	return j, res.Header.Get("ETag"), nil
}

// CreateJob makes a job by its document, where there is none of that name.
func (c *Client) CreateJob(ctx context.Context, document jobs.Raw) (made jobs.Job, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/jobs", body: document}, &made)
	return made, err
}

// PutJob registers or replaces a job. match is the ETag that must stand; "": whatever does.
func (c *Client) PutJob(ctx context.Context, j *jobs.Job, match string) (saved jobs.Job, created bool, err error) {
	in := call{method: "PUT", path: jobPath(j.Name, ""), body: jobs.Raw(j.Document())}
	if match != "" {
		in.header = http.Header{"If-Match": {match}}
	}
	res, err := c.answer(ctx, in, &saved)
	return saved, err == nil && res.StatusCode == http.StatusCreated, err
}

// DeleteJob deletes a job and says how many runs were cancelled with it.
func (c *Client) DeleteJob(ctx context.Context, name string) (cancelled int, err error) {
	var done wire.Deleted
	_, err = c.answer(ctx, call{method: "DELETE", path: jobPath(name, "")}, &done)
	return done.CancelledRuns, err
}

// PauseJob lets nothing of a job start.
func (c *Client) PauseJob(ctx context.Context, name, note string) (j jobs.Job, err error) {
	in := call{method: "POST", path: jobPath(name, "/pause"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &j)
	return j, err
}

// ResumeJob ends a pause.
func (c *Client) ResumeJob(ctx context.Context, name, note string) (j jobs.Job, err error) {
	in := call{method: "POST", path: jobPath(name, "/resume"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &j)
	return j, err
}

// Versions lists what a job executed over time.
func (c *Client) Versions(ctx context.Context, name string, p Page) (list wire.Versions, err error) {
	in := call{method: "GET", path: jobPath(name, "/versions"), query: p.add(nil)}
	_, err = c.answer(ctx, in, &list)
	return list, err
}

// UpgradeRuns moves unfinished runs of a job to its newest version.
func (c *Client) UpgradeRuns(ctx context.Context, name string) (moved int, err error) {
	var done wire.Upgraded
	_, err = c.answer(ctx, call{method: "POST", path: jobPath(name, "/upgrade-runs")}, &done)
	return done.UpgradedRuns, err
}
