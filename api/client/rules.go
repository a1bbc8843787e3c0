package client

import (
	"context"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// CheckRules tells what rules make of a failure.
func (c *Client) CheckRules(ctx context.Context, in wire.RulesCheck) (out wire.RulesChecked, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/rules/check", body: &in}, &out)
	return out, err
}

// Backtest tells what rules would have made of the failures of a job.
func (c *Client) Backtest(ctx context.Context, in wire.RulesBacktest) (out jobs.Backtest, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/rules/backtest", body: &in}, &out)
	return out, err
}
