package client

import (
	"context"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// Apply is what an apply sets.
type Apply struct {
	jobs.Documents
	Set    string // "": default
	DryRun bool   // tell what would become of it
	Prune  bool   // remove what bears the set and is not among these
}

// Apply registers or replaces documents, all or nothing.
func (c *Client) Apply(ctx context.Context, in Apply) (done wire.Applied, err error) {
	body := wire.Export{Jobs: make([]jobs.Raw, len(in.Jobs))}
	for _, p := range in.Policies {
		body.Policies = append(body.Policies, p.Document())
	}
	for _, q := range in.Queues {
		body.Queues = append(body.Queues, q.Document())
	}
	for _, d := range in.Dependencies {
		body.Dependencies = append(body.Dependencies, d.Document())
	}
	for i, j := range in.Jobs {
		body.Jobs[i] = j.Document()
	}
	for _, s := range in.Schedules {
		body.Schedules = append(body.Schedules, s.Document())
	}
	for _, a := range in.Alerts {
		body.Alerts = append(body.Alerts, a.Document())
	}
	query := url.Values{}
	if in.Set != "" {
		query.Set("set", in.Set)
	}
	if in.DryRun {
		query.Set("dry_run", "true")
	}
	if in.Prune {
		query.Set("prune", "true")
	}
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/apply", query: query, body: &body}, &done)
	return done, err
}

// Export gives documents as they stand; set is that of an apply, "": all.
func (c *Client) Export(ctx context.Context, set string) (out wire.Export, err error) {
	query := url.Values{}
	if set != "" {
		query.Set("set", set)
	}
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/export", query: query}, &out)
	return out, err
}

// Retry tells what decides about a job's failed attempts.
func (c *Client) Retry(ctx context.Context, job string) (all jobs.EffectiveRetry, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: jobPath(job, "/retry")}, &all)
	return all, err
}

func policyPath(name string) string { return "/v1/policies/" + url.PathEscape(name) }

// Policies lists policies.
func (c *Client) Policies(ctx context.Context, p Page) (list wire.Policies, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/policies", query: p.add(nil)}, &list)
	return list, err
}

// Policy shows a policy and its ETag.
func (c *Client) Policy(ctx context.Context, name string) (p jobs.Policy, tag string, err error) {
	res, err := c.answer(ctx, call{method: "GET", path: policyPath(name)}, &p)
	if err != nil {
		return p, "", err
	}
	return p, res.Header.Get("ETag"), nil
}

// PutPolicy registers or replaces a policy. match is the ETag that must stand; "": whatever does.
func (c *Client) PutPolicy(ctx context.Context, p *jobs.Policy, match string) (saved jobs.Policy, created bool, err error) {
	created, err = c.put(ctx, policyPath(p.Name), p.Document(), match, &saved)
	return saved, created, err
}

// DeletePolicy deletes a policy; the policy default becomes what is built in.
func (c *Client) DeletePolicy(ctx context.Context, name string) error {
	_, err := c.answer(ctx, call{method: "DELETE", path: policyPath(name)}, nil)
	return err
}
