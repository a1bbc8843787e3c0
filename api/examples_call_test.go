package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

// stage makes what a call of the route needs and gives the parameters of its path.
func (ts *testServer) stage(r *route) map[string]string {
	ts.t.Helper()
	doc := `{"webhook":{"url":"https://example.com/hooks/sync"}}`
	params := map[string]string{"name": "nightly-sync", "version": "1"}
	if r.tag == "tokens" {
		params["name"] = "deploy"
	}
	if r.tag == "secrets" {
		params["name"] = "SYNC"
	}
	if r.tag == "policies" {
		params["name"] = "gentle"
		ts.call("DELETE", "/v1/jobs/nightly-sync", "")
	}
	if list := map[string]string{"queues": "mail", "dependencies": "stripe"}; list[r.tag] != "" {
		params["name"] = list[r.tag]
		ts.call("PUT", "/v1/"+r.tag+"/"+params["name"], `{"concurrency":3}`)
	}
	switch r.id {
	case "create-queue", "create-dependency":
		for _, name := range []string{params["name"], "warehouse-lock"} {
			ts.call("DELETE", "/v1/"+r.tag+"/"+name, "")
		}
	case "create-policy":
		ts.call("DELETE", "/v1/policies/gentle", "")
	case "get-policy", "put-policy", "delete-policy":
		ts.call("PUT", "/v1/policies/gentle", `{"max_attempts":3}`)
	case "create-job":
		for _, name := range []string{"nightly-sync", "clean-up"} {
			ts.call("DELETE", "/v1/jobs/"+name, "")
		}
	case "create-token", "put-token":
		ts.call("DELETE", "/v1/tokens/deploy", "")
	case "create-secret", "put-secret":
		ts.call("DELETE", "/v1/secrets/SYNC", "")
	default:
		ts.call("PUT", "/v1/secrets/SYNC", `{"value":"hunter2hunter2"}`)
		ts.call("PUT", "/v1/tokens/deploy", `{"scopes":["read"]}`)
		for _, name := range []string{"nightly-sync", "mail-out"} {
			ts.call("PUT", "/v1/jobs/"+name, doc)
		}
	}
	if r.id == "sign-in" {
		t := store.Token{Name: "sample", Hash: HashSecret(sampleSecret), Scopes: []string{"read"}}
		_, err := ts.rt.Store().PutToken(context.Background(), t, nil, store.By{Actor: "test"})
		if err = errors.Join(err, ts.api.access.refresh(context.Background())); err != nil {
			ts.t.Fatal(err)
		}
	}
	if r.tag == "alerts" {
		params["name"] = "data-failures"
		ts.call("PUT", "/v1/jobs/mail-out", doc)
		for _, name := range []string{"data-failures", "failures"} {
			ts.call("DELETE", "/v1/alerts/"+name, "")
		}
		if r.id != "create-alert" && r.id != "put-alert" {
			ts.call("PUT", "/v1/alerts/data-failures", `{"on":["run.failed"],"run":"mail-out"}`)
		}
	}
	if r.tag == "schedules" {
		params["name"] = "sync-acme"
		ts.call("PUT", "/v1/jobs/nightly-sync", doc)
		for _, name := range []string{"sync-acme", "sync-often"} {
			ts.call("DELETE", "/v1/schedules/"+name, "")
		}
		if r.id != "create-schedule" && r.id != "put-schedule" {
			ts.call("PUT", "/v1/schedules/sync-acme", `{"job":"nightly-sync","every":"1h"}`)
		}
	}
	if r.id == "check-rules" {
		params["failed"] = ts.failedRun()
	}
	if r.attempt || strings.HasSuffix(r.path, "/checkpoint") {
		ts.call("POST", "/v1/server/resume", "").want(200)
		s := ts.speaker(r.id)
		s.call("PUT", "checkpoint", `{"offset":4900}`).want(204)
		params["id"], params["attempt"] = s.run, s.token
		ts.call("POST", "/v1/server/drain", "").want(200)
	} else if r.tag == "groups" && strings.Contains(r.path, ":id") {
		params["id"] = ts.endedGroup()
	} else if r.tag == "failures" {
		ts.stageFailure(r, params)
	} else if r.tag == "sessions" {
		params["id"] = ts.call("POST", "/v1/sessions", `{"token":"`+ts.admin+`"}`, "Authorization", "").want(201).field("id")
	} else if strings.Contains(r.path, ":id") {
		params["id"] = ts.enqueue("nightly-sync", `{"delay":"1h"}`)
	}
	if r.id == "requeue-run" || r.id == "delete-run" {
		ts.call("POST", "/v1/runs/"+params["id"]+"/cancel", "").want(200)
	}
	return params
}

// stageFailure makes what a call about failures needs: one, and an order that is to deal with it.
func (ts *testServer) stageFailure(r *route, params map[string]string) {
	ts.t.Helper()
	params["failed"] = ts.failedRun()
	params["id"] = params["failed"]
	if strings.HasPrefix(r.path, "/v1/requeues/") {
		order := `{"ids":["` + params["id"] + `"],"rate":"1/h"}`
		params["id"] = ts.call("POST", "/v1/failures/requeue", order).want(202).field("id")
	}
}

// holder is the header of who may call a route that has been staged: the attempt, or the admin.
func (ts *testServer) holder(r *route, params map[string]string) []string {
	if r.attempt {
		return as(params["attempt"])
	}
	return as(ts.admin)
}

// sampleText is the body that an example of a call is.
func sampleText(s sample) string { return string(s.value.(jobs.Raw)) }

// failedRun makes a run that fails.
func (ts *testServer) failedRun() string {
	ts.t.Helper()
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(422) }
	ts.call("POST", "/v1/server/resume", "").want(200)
	ts.hook("failing", refuse)
	id := ts.enqueue("failing", "")
	ts.until(id, "failed")
	ts.call("POST", "/v1/server/drain", "").want(200)
	return id
}

// endedGroup makes a group that ends.
func (ts *testServer) endedGroup() string {
	ts.t.Helper()
	ts.call("POST", "/v1/server/resume", "").want(200)
	ts.hook("merging", ok("1"))
	id := ts.call("POST", "/v1/groups?wait=60s", `{"members":[],"merge":{"job":"merging"}}`).want(200).field("id")
	ts.call("POST", "/v1/server/drain", "").want(200)
	return id
}

// fill puts parameters into the path of a route.
func fill(r *route, params map[string]string) string {
	return pathParam.ReplaceAllStringFunc(r.path, func(p string) string {
		if value := params[p[1:]]; value != "" {
			return value
		}
		return p
	})
}

func TestExamplesOfCallsAreTaken(t *testing.T) {
	ts := newTestServer(t)
	sent := 0
	for _, r := range ts.api.routes {
		if r.in == nil && !r.attempt {
			continue
		}
		for _, s := range samplesOf(r, 0, "", r.in) {
			t.Run(r.id+"/"+s.name, func(t *testing.T) {
				ts.t = t
				ts.call("POST", "/v1/server/drain", "").want(200) // nobody calls example.com
				params := ts.stage(r)
				body := strings.ReplaceAll(sampleText(s), sampleRun, params["failed"])
				got := ts.call(r.method, fill(r, params), body, ts.holder(r, params)...)
				if !slices.ContainsFunc(r.out, func(o outcome) bool { return o.status == got.status }) {
					t.Errorf("%s %s: %d %s", r.method, r.path, got.status, got.body)
				}
			})
			sent++
		}
	}
	ts.t = t
	if sent < 15 {
		t.Errorf("only %d examples were sent", sent)
	}
}

func TestWhatIsReadIsAsDescribed(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/server/drain", "").want(200)
	for _, r := range ts.api.routes {
		if r.method == "GET" {
			params := ts.stage(r)
			ts.call("GET", fill(r, params), "", ts.holder(r, params)...) // which holds the answer against the description
		}
	}
}
