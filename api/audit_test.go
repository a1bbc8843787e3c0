package api

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"nightshift/api/wire"
)

// unaudited are the routes that change something and leave no entry in the audit, and why.
var unaudited = map[string]string{
	"enqueue":          "the run says who made it, and how",
	"enqueue-batch":    "the runs say who made them",
	"run-group":        "the run says who made it",
	"check-rules":      "changes nothing",
	"backtest-rules":   "changes nothing",
	"preview-schedule": "changes nothing",
	"sign-out":         "takes a session's cookie: as delete-session, by the session itself",
	"deliver":          "the run says by which door it came",
	"deliver-secret":   "the run says by which door it came",
}

// auditStage makes a call of a route change something, where stage does not.
func (ts *testServer) auditStage(id string) {
	ts.t.Helper()
	switch id {
	case "upgrade-runs":
		ts.enqueue("nightly-sync", `{"delay":"1h"}`)
		ts.call("PUT", "/v1/jobs/nightly-sync", `{"webhook":{"url":"https://example.com/newer"}}`).want(200)
	case "resume-job":
		ts.call("POST", "/v1/jobs/nightly-sync/pause", "").want(200)
	case "resume-schedule":
		ts.call("POST", "/v1/schedules/sync-acme/pause", "").want(200)
	case "resume-queue":
		ts.call("POST", "/v1/queues/mail/pause", "").want(200)
	case "resume-dependency":
		ts.call("POST", "/v1/dependencies/stripe/pause", "").want(200)
	case "reset-dependency":
		ts.call("POST", "/v1/dependencies/stripe/trip", "").want(200)
	case "drain":
		ts.call("POST", "/v1/server/resume", "").want(200)
	}
}

func TestEveryRouteThatChangesSomethingIsAudited(t *testing.T) {
	ts := newTestServer(t)
	spared := maps.Clone(unaudited)
	newest := func() (e wire.AuditEntry) {
		var list wire.Audit
		ts.call("GET", "/v1/audit?limit=1", "").want(200).into(&list)
		if len(list.Items) > 0 {
			e = list.Items[0]
		}
		return e
	}
	for _, r := range ts.api.routes {
		if slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, r.method) || r.attempt {
			continue // an attempt speaks for its run, whose history has it
		}
		if spared[r.id] != "" {
			delete(spared, r.id)
			continue
		}
		t.Run(r.id, func(t *testing.T) {
			ts.t = t
			ts.call("POST", "/v1/server/drain", "").want(200)
			params, body := ts.stage(r), ""
			if r.in != nil {
				sample := samplesOf(r, 0, "", r.in)[0]
				body = strings.ReplaceAll(sampleText(sample), sampleRun, params["failed"])
			}
			ts.auditStage(r.id)
			before := newest()
			if got := ts.call(r.method, fill(r, params), body); got.status >= 300 {
				t.Fatalf("%s %s: %d %s", r.method, r.path, got.status, got.body)
			}
			e := newest()
			if e.ID == before.ID {
				t.Fatalf("%s %s left no entry in the audit", r.method, r.path)
			}
			if e.Actor != "token admin" && r.id != "sign-in" || e.Action == "" || e.Kind == "" || e.Name == "" || len(e.Changes) == 0 {
				t.Errorf("the entry of %s %s is %+v", r.method, r.path, e)
			}
		})
	}
	ts.t = t
	for id := range spared {
		t.Errorf("there is no route %s to spare", id)
	}
}

func TestAuditIsFilteredByItsParameters(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	op := ts.token(`{"name":"op","scopes":["operate"]}`)
	ts.call("POST", "/v1/jobs/a/pause", `{"note":"why not"}`, as(op)...).want(200)
	ts.call("PUT", "/v1/jobs/a", `{"script":{"source":"false"},"timeout":"2m"}`).want(200)
	for query, want := range map[string]string{
		"actor=token+op":                 "pause",
		"action=pause&kind=job":          "pause",
		"name=a&kind=job":                "put pause put",
		"name=a&action=put&limit=1":      "put",
		"name=nobody":                    "",
		"since=2099-01-01T00:00:00Z":     "",
		"until=1999-01-01T00:00:00Z":     "",
		"kind=token&name=op&action=put":  "put",
		"kind=token&actor=token%20admin": "put",
	} {
		var list wire.Audit
		ts.call("GET", "/v1/audit?"+query, "").want(200).into(&list)
		var got []string
		for _, e := range list.Items {
			got = append(got, e.Action)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("?%s gives %q, want %q", query, got, want)
		}
	}
	a := ts.call("GET", "/v1/audit?name=a&kind=job&limit=1", "").want(200)
	if !strings.Contains(string(a.body), `{"location":"timeout","after":"2m"}`) {
		t.Errorf("the difference is not told: %s", a.body)
	}
	for _, query := range []string{"since=yesterday", "actor=", "kinds=job", "cursor=x"} {
		ts.call("GET", "/v1/audit?"+query, "").problem(probInvalid)
	}
}
