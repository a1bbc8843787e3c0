package api

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// metrics reads /metrics: the value of each series by its name and labels, as they stand there.
func (ts *testServer) metrics() map[string]float64 {
	ts.t.Helper()
	a := ts.call("GET", "/metrics", "", "Accept", "").want(200)
	if media := a.header.Get("Content-Type"); !strings.HasPrefix(media, "text/plain; version=0.0.4") {
		ts.t.Fatalf("metrics are %s", media)
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(a.body)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			ts.t.Fatalf("a line is %q", line)
		}
		all[line[:at]] = value
	}
	return all
}

func (ts *testServer) wantMetrics(want map[string]float64) {
	ts.t.Helper()
	got := ts.metrics()
	for series, n := range want {
		if value, found := got[series]; value != n || !found {
			ts.t.Errorf("%s is %v (%v), want %v", series, value, found, n)
		}
	}
}

func TestMetricsCountWhatWaitsForASecretAndInALine(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/sealed", `{"script":{"source":"true","env":{"KEY":"{{ secrets.NOT_SET }}"}}}`).want(201)
	ts.call("PUT", "/v1/jobs/resumes", `{"script":{"source":"sleep 60"},"checkpoint":{"key":"payload.of"}}`).want(201)
	ts.enqueue("sealed", "")
	ts.enqueue("sealed", "")
	for range 2 { // the second waits for what the first saves
		ts.enqueue("resumes", `{"payload":{"of":"a"}}`)
	}
	ts.await("both kinds to be counted", func() bool {
		m := ts.metrics()
		return m[`nightshift_held_runs{kind="secret"}`] == 2 && m[`nightshift_held_runs{kind="checkpoint"}`] == 1 &&
			m[`nightshift_held_runs{kind="workers"}`] == 0
	})
}

func TestMetricsCountWhatListsHold(t *testing.T) { // case 156
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/ok", `{"script":{"source":"true"}}`).want(201)
	ts.call("PUT", "/v1/jobs/bad", `{"script":{"source":"exit 3"},"queue":"low"}`).want(201)
	ts.call("PUT", "/v1/jobs/again", `{"script":{"source":"exit 75"},"retry":{"max_attempts":2,"backoff":{"kind":"fixed","base":"10ms"}}}`).want(201)
	for range 3 {
		ts.until(ts.enqueue("ok", ""), "succeeded")
	}
	ts.until(ts.enqueue("bad", ""), "failed")
	ts.until(ts.enqueue("again", ""), "failed")
	later := ts.enqueue("ok", `{"delay":"1h"}`)
	ts.call("POST", "/v1/runs/"+later+"/cancel", "").want(200)
	ts.enqueue("ok", `{"delay":"1h"}`)
	ts.call("POST", "/v1/queues/low/pause", "").want(200)
	ts.enqueue("bad", "")
	ts.call("POST", "/v1/dependencies", `{"name":"stripe","breaker":{"failures":5}}`).want(201)
	ts.call("POST", "/v1/dependencies/stripe/trip", `{"for":"1h"}`).want(200)
	ts.await("the paused queue to be looked at", func() bool { return ts.metrics()[`nightshift_held_runs{kind="paused"}`] == 1 })
	ts.wantMetrics(map[string]float64{
		`jobs_processed_total{job="ok",outcome="succeeded"}`: 3,
		`jobs_processed_total{job="ok",outcome="cancelled"}`: 1,
		`jobs_processed_total{job="bad",outcome="failed"}`:   1,
		`jobs_processed_total{job="again",outcome="failed"}`: 1,
		`jobs_failed_total{job="bad",kind="exit"}`:           1,
		`jobs_retry_total{job="again"}`:                      1,
		`job_duration_seconds_count{job="ok"}`:               3,
		`job_duration_seconds_count{job="again"}`:            2,

		`nightshift_runs{state="scheduled"}`:                                             1,
		`nightshift_runs{state="queued"}`:                                                1,
		`nightshift_runs{state="running"}`:                                               0,
		`nightshift_queue_depth{queue="low"}`:                                            1,
		`nightshift_queue_paused{queue="low"}`:                                           1,
		`nightshift_dependency_state{dependency="stripe",state="open"}`:                  1,
		`nightshift_dependency_state{dependency="stripe",state="closed"}`:                0,
		`nightshift_failures_open`:                                                       2,
		`nightshift_failures_told`:                                                       0,
		`nightshift_metrics_unread`:                                                      0,
		`nightshift_http_requests_total{code="201",method="PUT",route="/v1/jobs/:name"}`: 3,
	})
	all := ts.metrics()
	for _, name := range []string{"nightshift_commit_seconds_count", `nightshift_queue_oldest_seconds{queue="low"}`} {
		if all[name] <= 0 {
			t.Errorf("%s is %v", name, all[name])
		}
	}
}

func TestMetricsHaveAsManySeriesWhateverIsNamedAndRuns(t *testing.T) { // case 186
	ts := newTestServer(t)
	ts.hook("a", ok("{}"))
	for range 3 {
		ts.until(ts.enqueue("a", ""), "succeeded")
	}
	before := len(ts.metrics())
	batch := strings.Repeat(`{"job":"a","labels":{"n":"1"}},`, 499) + `{"job":"a"}`
	ts.call("POST", "/v1/runs/batch", `{"runs":[`+batch+`]}`).want(202)
	ts.await("all to have ended", func() bool { return ts.metrics()[`jobs_processed_total{job="a",outcome="succeeded"}`] == 503 })
	ts.call("GET", "/v1/runs/"+ts.enqueue("a", ""), "")
	all := ts.metrics()
	if len(all) > before+5 { // the routes that were called meanwhile
		t.Errorf("%d series became %d", before, len(all))
	}
	for series := range all {
		if strings.Contains(series, "-7") && strings.Count(series, "-") >= 4 {
			t.Errorf("an id is in a label: %s", series)
		}
	}
	for i := range 600 {
		ts.call("PUT", fmt.Sprintf("/v1/jobs/j%d", i), `{"webhook":{"url":"http://127.0.0.1:9/"}}`)
	}
	var runs []string
	for i := range 600 {
		runs = append(runs, fmt.Sprintf(`{"job":"j%d","delay":"1h"}`, i))
	}
	ids := ts.call("POST", "/v1/runs/batch", `{"runs":[`+strings.Join(runs, ",")+`]}`).want(202)
	for i := range 600 {
		ts.call("POST", "/v1/runs/"+ids.field(fmt.Sprintf("items.%d.id", i))+"/cancel", "").want(200)
	}
	all = ts.metrics()
	if all[`jobs_processed_total{job="_other",outcome="cancelled"}`] != 101 { // "a" has one of the 500
		t.Errorf("the others are %v", all[`jobs_processed_total{job="_other",outcome="cancelled"}`])
	}
}

func TestMetricsAreForWhoMayReadAll(t *testing.T) {
	ts := newTestServer(t)
	ts.call("GET", "/metrics", "", "Authorization", "").problem(probUnauthorized)
	ts.call("GET", "/metrics", "", as(ts.token(`{"name":"e","scopes":["enqueue"]}`))...).problem(probForbidden)
	ts.call("GET", "/metrics", "", as(ts.token(`{"name":"n","scopes":["read"],"jobs":["a"]}`))...).problem(probForbidden)
	if a := ts.call("GET", "/metrics", "", as(ts.token(`{"name":"r","scopes":["read"]}`))...); a.status != 200 {
		t.Errorf("a token that may read: %d", a.status)
	}
}
