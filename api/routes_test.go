package api

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nightshift/store"
)

var update = flag.Bool("update", false, "write api/openapi.json anew")

func TestEveryRouteIsInTheTableAndDescribed(t *testing.T) {
	ts := newTestServer(t)
	var spec struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(made(t, ts.api.spec), &spec); err != nil {
		t.Fatal(err)
	}
	served, docs := 0, made(t, ts.api.docs)
	for _, r := range ts.api.echo.Routes() {
		if in := ts.api.byPath[r.Method+" "+r.Path]; r.Method == "HEAD" && in != nil && in.method == "GET" {
			continue // described as a whole
		}
		served++
		if ts.api.byPath[r.Method+" "+r.Path] == nil {
			t.Errorf("%s %s is not in the table", r.Method, r.Path)
		}
		path := pathParam.ReplaceAllString(r.Path, "{$1}")
		if spec.Paths[path][strings.ToLower(r.Method)] == nil {
			t.Errorf("%s %s is not described", r.Method, path)
		}
		if !bytes.Contains(docs, []byte(r.Method+" "+path)) {
			t.Errorf("%s %s is not in /docs", r.Method, path)
		}
	}
	if served != len(ts.api.routes) {
		t.Errorf("%d routes are served, the table has %d", served, len(ts.api.routes))
	}
}

func TestDescriptionIsTheCommittedOne(t *testing.T) {
	got, err := describe(allRoutes(), "0", "http://127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("openapi.json is not what the routes say; look at what changed: go test ./api -update")
	}
}

func TestDescriptionHoldsTogether(t *testing.T) {
	text, err := describe(allRoutes(), "0", "http://127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		OpenAPI    string
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas, Examples map[string]any }
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	if spec.OpenAPI != "3.1.0" {
		t.Errorf("OpenAPI %s", spec.OpenAPI)
	}
	refs := regexp.MustCompile(`"\$ref": "([^"]*)"`).FindAllSubmatch(text, -1)
	if len(refs) < 100 {
		t.Errorf("only %d references", len(refs))
	}
	for _, ref := range refs {
		name := path.Base(string(ref[1]))
		schema := string(ref[1]) == schemaPrefix+name && spec.Components.Schemas[name] != nil
		example := string(ref[1]) == examplePrefix+name && spec.Components.Examples[name] != nil
		if !schema && !example {
			t.Errorf("%s leads nowhere", ref[1])
		}
	}
	ids := map[string]string{}
	for path, methods := range spec.Paths {
		for method, op := range methods {
			at := method + " " + path
			if other := ids[op.OperationID]; other != "" || op.OperationID == "" {
				t.Errorf("%s has the id %q of %q", at, op.OperationID, other)
			}
			ids[op.OperationID] = at
		}
	}
}

// openTo are the routes that answer without a token, by contract; all others need one.
var openTo = []string{
	"GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz",
	"GET /v1/watch/:id", "OPTIONS /v1/watch/:id", "POST /v1/sessions",
}

// demands are the scopes that open each route, by contract: of one of them a token must have at
// least one. Admin opens all.
var demands = map[string]string{
	"GET /v1/jobs":                         "read operate",
	"POST /v1/jobs":                        "",
	"GET /v1/jobs/:name":                   "read operate",
	"PUT /v1/jobs/:name":                   "",
	"DELETE /v1/jobs/:name":                "",
	"POST /v1/jobs/:name/pause":            "operate",
	"POST /v1/jobs/:name/resume":           "operate",
	"GET /v1/jobs/:name/versions":          "read operate",
	"GET /v1/jobs/:name/versions/:version": "read operate",
	"POST /v1/jobs/:name/upgrade-runs":     "",
	"POST /v1/apply":                       "",
	"GET /v1/export":                       "read operate",
	"GET /v1/jobs/:name/retry":             "read operate",
	"GET /v1/alerts":                       "read operate",
	"POST /v1/alerts":                      "",
	"POST /v1/alerts/test":                 "admin",
	"GET /v1/alerts/:name":                 "read operate",
	"PUT /v1/alerts/:name":                 "",
	"DELETE /v1/alerts/:name":              "",
	"GET /v1/policies":                     "read operate",
	"POST /v1/policies":                    "",
	"GET /v1/policies/:name":               "read operate",
	"PUT /v1/policies/:name":               "",
	"DELETE /v1/policies/:name":            "",
	"GET /v1/schedules":                    "read operate",
	"POST /v1/schedules":                   "enqueue operate",
	"GET /v1/schedules/:name":              "read operate",
	"PUT /v1/schedules/:name":              "enqueue operate",
	"DELETE /v1/schedules/:name":           "enqueue operate",
	"POST /v1/schedules/:name/pause":       "operate",
	"POST /v1/schedules/:name/resume":      "operate",
	"GET /v1/schedules/:name/ticks":        "read operate",
	"GET /v1/timeline":                     "read operate",
	"POST /v1/schedules/preview":           "read operate",
	"GET /v1/queues":                       "read operate",
	"POST /v1/queues":                      "",
	"GET /v1/queues/:name":                 "read operate",
	"PUT /v1/queues/:name":                 "",
	"DELETE /v1/queues/:name":              "",
	"POST /v1/queues/:name/pause":          "operate",
	"POST /v1/queues/:name/resume":         "operate",
	"GET /v1/dependencies":                 "read operate",
	"POST /v1/dependencies":                "",
	"GET /v1/dependencies/:name":           "read operate",
	"PUT /v1/dependencies/:name":           "",
	"DELETE /v1/dependencies/:name":        "",
	"POST /v1/dependencies/:name/pause":    "operate",
	"POST /v1/dependencies/:name/resume":   "operate",
	"POST /v1/dependencies/:name/trip":     "operate",
	"POST /v1/dependencies/:name/reset":    "operate",
	"POST /v1/jobs/:name/runs":             "enqueue operate",
	"POST /v1/runs/batch":                  "enqueue operate",
	"GET /v1/runs":                         "read enqueue operate",
	"GET /v1/runs/:id":                     "read enqueue operate",
	"GET /v1/runs/:id/log":                 "read enqueue operate",
	"GET /v1/runs/:id/checkpoint":          "read enqueue operate",
	"DELETE /v1/runs/:id/checkpoint":       "operate",
	"POST /v1/runs/:id/cancel":             "operate",
	"POST /v1/runs/:id/run-now":            "operate",
	"POST /v1/runs/:id/requeue":            "operate",
	"DELETE /v1/runs/:id":                  "",
	"GET /v1/runs/:id/members":             "read enqueue operate",
	"POST /v1/runs/:id/remerge":            "operate",
	"GET /v1/groups":                       "read enqueue operate",
	"POST /v1/groups":                      "enqueue operate",
	"GET /v1/failures":                     "read operate",
	"GET /v1/failures/:id":                 "read operate",
	"GET /v1/failure-groups":               "read operate",
	"POST /v1/failures/:id/resolve":        "operate",
	"POST /v1/failures/:id/ignore":         "operate",
	"POST /v1/failures/:id/requeue":        "operate",
	"POST /v1/failures/requeue":            "operate",
	"POST /v1/failures/resolve":            "operate",
	"POST /v1/failures/ignore":             "operate",
	"GET /v1/requeues/:id":                 "read operate",
	"DELETE /v1/requeues/:id":              "operate",
	"POST /v1/rules/check":                 "read operate",
	"POST /v1/rules/backtest":              "read operate",
	"GET /v1/tokens":                       "",
	"POST /v1/tokens":                      "",
	"GET /v1/tokens/:name":                 "",
	"PUT /v1/tokens/:name":                 "",
	"DELETE /v1/tokens/:name":              "",
	"POST /v1/tokens/:name/link":           "",
	"GET /metrics":                         "read operate",
	"GET /v1/stats":                        "read operate",
	"GET /v1/sessions":                     "",
	"DELETE /v1/sessions":                  "read enqueue operate",
	"DELETE /v1/sessions/:id":              "read enqueue operate",
	"GET /v1/secrets":                      "read operate",
	"POST /v1/secrets":                     "",
	"GET /v1/secrets/:name":                "read operate",
	"PUT /v1/secrets/:name":                "",
	"DELETE /v1/secrets/:name":             "",
	"POST /v1/secrets/rotate-key":          "",
	"GET /v1/server":                       "read operate",
	"POST /v1/server/drain":                "",
	"POST /v1/server/resume":               "",
	"GET /v1/backup":                       "",
	"GET /v1/audit":                        "",
	"GET /v1/events":                       "read operate",
	"GET /openapi.json":                    "read operate",
	"GET /docs":                            "read operate",
}

// doors ask for a signature in place of a token.
var doors = []string{"POST /in/:name/:door", "POST /in/:name/:door/:secret"}

func TestEveryRouteDemandsItsScope(t *testing.T) {
	ts := newTestServer(t)
	secrets := map[string]string{}
	for _, scope := range scopeNames {
		secrets[scope] = ts.token(`{"name":"only-` + scope + `","scopes":["` + scope + `"]}`)
	}
	narrow := ts.token(`{"name":"narrow","scopes":["admin"],"jobs":["mail-*"]}`)
	for _, r := range ts.api.routes {
		name := r.method + " " + r.path
		path := strings.NewReplacer(":name", "absent", ":id", "0192e4a7-5b3c-7d1e-8f00-0123456789ab",
			":version", "1").Replace(r.path)
		call := func(header ...string) int { return ts.call(r.method, path, "", header...).status }
		t.Run(name, func(t *testing.T) {
			if r.attempt { // see TestNoOtherTokenOpensACallback
				for _, header := range [][]string{{"Authorization", ""}, as(secrets["admin"])} {
					if got := call(header...); got != 401 {
						t.Errorf("with %q: %d, want 401", header[1], got)
					}
				}
				return
			}
			if slices.Contains(doors, name) {
				if got := call("Authorization", ""); got != 401 {
					t.Errorf("without a signature: %d", got)
				}
				return
			}
			if slices.Contains(openTo, name) {
				if got := call("Authorization", ""); got == 401 || got == 403 {
					t.Errorf("without a token: %d", got)
				}
				return
			}
			opens, known := demands[name]
			if !known {
				t.Fatal("the test does not say which scopes open this route")
			}
			for _, header := range [][]string{
				{"Authorization", ""},
				as("ns_" + strings.Repeat("A", 43)),
				{"Authorization", "Basic YWRtaW46YWRtaW4="},
				{"Authorization", "Bearer "},
			} {
				if got := call(header...); got != 401 {
					t.Errorf("with %q: %d, want 401", header[1], got)
				}
			}
			for _, scope := range scopeNames {
				may := scope == "admin" || slices.Contains(strings.Fields(opens), scope)
				got := call(as(secrets[scope])...)
				if refused := got == 403; refused == may || got == 401 {
					t.Errorf("with %s: %d", scope, got)
				}
			}
			if r.whole != (call(as(narrow)...) == 403) {
				t.Errorf("with a narrowed admin: %d", call(as(narrow)...))
			}
		})
		// Drain is no use to the routes that follow.
		_, _ = ts.rt.Resume(context.Background(), false, store.By{Actor: "test"})
	}
}

func TestUnknownRoutesAre401Before404(t *testing.T) {
	ts := newTestServer(t)
	paths := []string{
		"/nothing", "/v1", "/v1/nothing", "/V1/jobs", "/v1/Jobs", "//v1/jobs", "/v1//jobs", "/v1/jobs/..",
		"/v1/jobs/%2e%2e/", "/api/%2e/jobs", "/healthz/", "/readyz/x", "/v1/watch", "/v1/watch/a/b",
		"/%76%31/nothing", "/HEALTHZ",
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"} {
			if got := ts.call(method, path, "", "Authorization", ""); got.status != 401 {
				t.Errorf("%s %s without a token: %d, want 401", method, path, got.status)
			}
		}
		if got := ts.call("GET", path, ""); got.status != 404 {
			t.Errorf("GET %s: %d, want 404", path, got.status)
		} else {
			got.problem(probNotFound)
		}
	}
}

func TestWrongMethodIs405WithAllow(t *testing.T) {
	ts := newTestServer(t)
	got := ts.call("PATCH", "/v1/jobs/a", "{}")
	got.problem(probMethod)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if !strings.Contains(got.header.Get("Allow"), method) {
			t.Errorf("Allow is %q, want %s in it", got.header.Get("Allow"), method)
		}
	}
	ts.call("PATCH", "/v1/jobs/a", "{}", "Authorization", "").problem(probUnauthorized)
	ts.call("POST", "/healthz", "").problem(probMethod)
	// No other header changes the method.
	ts.call("POST", "/v1/jobs/a", "{}", "X-HTTP-Method-Override", "DELETE").problem(probMethod)
}

func TestUnknownQueryParametersAreRefused(t *testing.T) {
	ts := newTestServer(t)
	for path, place := range map[string]string{
		"/v1/jobs?page=2":                "query.page: unknown: this route knows limit, cursor",
		"/v1/jobs/a?x=1":                 "query.x: unknown: this route takes no parameters",
		"/v1/runs?job=a&job=b":           "query.job: is given more than once",
		"/v1/runs?limit=0":               "query.limit: want a number from 1 to 1000",
		"/v1/runs?limit=ten":             "query.limit: want",
		"/v1/runs?state=done":            "query.state: unknown state",
		"/v1/runs?since=yesterday":       "query.since: want RFC 3339",
		"/v1/runs?cursor=%00":            "query.cursor: not a cursor",
		"/v1/runs?job=":                  "query.job: is empty",
		"/v1/runs?trigger=hand":          "query.trigger: want one of api, cli,",
		"/v1/tokens?cursor=1":            "query.cursor: not a cursor",
		"/v1/jobs?cursor=nonsense":       "query.cursor:",
		"/v1/runs?label=a:b&label=c:d":   "query.label: is given more than once",
		"/v1/runs?State=failed&LIMIT=10": "query.LIMIT: unknown",
	} {
		if got := ts.call("GET", path, "").problem(probInvalid); !strings.Contains(got, place) {
			t.Errorf("GET %s: %q, want %q", path, got, place)
		}
	}
	ts.call("GET", "/v1/jobs?limit=%zz", "").problem(probRequest)
}

func TestDocsNeedNothingFromElsewhere(t *testing.T) {
	ts := newTestServer(t)
	page := ts.call("GET", "/docs", "").want(200)
	examples := regexp.MustCompile(`(?s)<pre>.*?</pre>`)
	text := examples.ReplaceAll(page.body, nil)
	if n := len(examples.FindAll(page.body, -1)); n < len(allRoutes())+len(problemKinds) {
		t.Errorf("the page has only %d examples", n)
	}
	for _, bad := range []string{"<script", "<link", "src=", "http://", "https://", "@import", "url("} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllSubmatch(page.body, -1) {
		to := string(link[1])
		if id, here := strings.CutPrefix(to, "#"); !here && to != "/openapi.json" ||
			here && !bytes.Contains(page.body, []byte(`id="`+id+`"`)) {
			t.Errorf("the page has a link to %s", to)
		}
	}
	if !bytes.Contains(page.body, []byte("<style>"+docsStyle+"</style>")) {
		t.Error("the style is not the one that the policy allows")
	}
	if got := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("policy %q", got)
	}
	if got := ts.call("GET", "/openapi.json", "").want(200); !json.Valid(got.body) {
		t.Error("the description is not JSON")
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	ts := newTestServer(t)
	for _, path := range []string{"/healthz", "/v1/jobs", "/v1/nothing", "/docs"} {
		h := ts.call("GET", path, "").header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s: %v", path, h)
		}
	}
	if got := ts.call(http.MethodHead, "/healthz", "").want(200); len(got.body) != 0 {
		t.Errorf("HEAD has the body %q", got.body)
	}
}
