package api

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// notOfJobs are routes that a narrowed token may call though they name no job: what they answer
// belongs to no job.
var notOfJobs = []string{
	"get-policy", "list-policies", "get-secret", "get-server", "get-openapi", "get-docs",
	"preview-schedule",
	"get-queue", "list-queues", "get-dependency", "list-dependencies",
}

// orders are routes that a narrowed token may call, and that reach the failures of its jobs alone.
var orders = []string{"requeue-failures", "resolve-failures", "ignore-failures"}

func TestNarrowedTokensReachNoOtherJobOnAnyRoute(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/server/drain", "").want(200)
	for _, scope := range scopeNames {
		secret := as(ts.token(`{"name":"narrow-` + scope + `","scopes":["` + scope + `"],"jobs":["others-*"]}`))
		for _, r := range ts.api.routes {
			if r.opens == 0 || slices.Contains(notOfJobs, r.id) {
				continue
			}
			params := ts.stage(r)
			before := ts.call("GET", "/v1/jobs/nightly-sync", "")
			bodies := []string{""}
			if r.in != nil {
				bodies = nil
				for _, s := range samplesOf(r, 0, "", r.in) {
					body := strings.ReplaceAll(sampleText(s), sampleRun, params["failed"])
					if r.path != "/v1/rules/check" || strings.Contains(body, `"job"`) || strings.Contains(body, `"run"`) {
						bodies = append(bodies, body)
					}
				}
			}
			for _, body := range bodies {
				got := ts.call(r.method, fill(r, params), body, secret...)
				at := scope + ": " + r.method + " " + r.path
				if slices.Contains(orders, r.id) && got.status == 200 { // a dry run
					got.wantFields(map[string]string{"count": "0"})
					continue
				}
				if slices.Contains(orders, r.id) && got.status == 202 {
					order := ts.orderEnds(got.field("id"))
					if order.field("done") != "0" || !strings.Contains(body, `"ids"`) && order.field("count") != "0" {
						t.Errorf("%s deals with what the token does not reach: %s", at, order.body)
					}
					continue
				}
				list := r.method == "GET" && !strings.Contains(r.path, ":")
				if !list && (got.status < 403 || got.status > 422) || list && got.status != 200 && got.status != 403 {
					t.Errorf("%s: %d %.300s", at, got.status, got.body)
				}
				if bytes.Contains(got.body, []byte("nightly-sync")) || bytes.Contains(got.body, []byte("warehouse")) {
					t.Errorf("%s tells of a job that the token does not reach: %.300s", at, got.body)
				}
			}
			after := ts.call("GET", "/v1/jobs/nightly-sync", "")
			if before.status != after.status || !bytes.Equal(before.body, after.body) {
				t.Errorf("%s: %s %s changed a job that the token does not reach", scope, r.method, r.path)
			}
		}
	}
}
