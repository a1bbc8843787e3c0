package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func TestStatisticsAreAsTheListsAre(t *testing.T) { // case 156
	ts := newTestServer(t)
	ts.hook("good", ok(`{}`))
	ts.hook("bad", ok(`{}`))
	for range 7 {
		ts.call("POST", "/v1/jobs/good/runs?wait=20s", `{}`, as(ts.admin)...).want(200)
	}
	ts.call("POST", "/v1/jobs/bad/runs?wait=20s", `{}`, as(ts.admin)...).want(200)
	later := ts.enqueue("bad", `{"delay":"1h"}`)
	ts.call("POST", "/v1/runs/"+later+"/cancel", "", as(ts.admin)...).want(200)
	ts.enqueue("bad", `{"delay":"1h"}`)
	stats := func(query string, who string) (s wire.Stats) {
		ts.call("GET", "/v1/stats"+query, "", as(who)...).want(200).into(&s)
		return s
	}
	all := stats("", ts.admin)
	if want := (wire.StatTotals{Succeeded: 8, Cancelled: 1}); all.Totals != want {
		t.Errorf("all is %+v, want %+v", all.Totals, want)
	}
	if all.Runs == nil || all.Runs.Scheduled != 1 || all.Failures == nil || all.Failures.Open != 0 || all.Durations.P50 == nil {
		t.Errorf("what stands is %+v %+v %+v", all.Runs, all.Failures, all.Durations)
	}
	sum := wire.StatTotals{}
	for _, step := range all.Series {
		sum.Succeeded += step.Succeeded
		sum.Cancelled += step.Cancelled
	}
	if sum != all.Totals || len(all.Series) < 288 || len(all.Series) > 289 {
		t.Errorf("%d steps sum up to %+v", len(all.Series), sum)
	}
	if s := stats("?job=bad&step=1h", ts.admin); s.Totals.Succeeded != 1 || s.Runs != nil || len(s.Series) < 24 || len(s.Series) > 25 {
		t.Errorf("one job is %+v in %d steps", s.Totals, len(s.Series))
	}
	narrow := ts.token(`{"name":"narrow","scopes":["read"],"jobs":["go*"]}`)
	if s := stats("", narrow); s.Totals.Succeeded != 7 || s.Totals.Cancelled != 0 || s.Runs != nil {
		t.Errorf("a narrowed token sees %+v", s)
	}
	ts.call("GET", "/v1/stats?job=bad", "", as(narrow)...).want(404)
}

func TestStatisticsRefuseATimeOrAStepThatIsNone(t *testing.T) {
	ts := newTestServer(t)
	for query, want := range map[string]string{
		"step=7m":                     "a multiple of 5m",
		"step=-5m":                    "a multiple of 5m",
		"since=2030-01-01T00:00:00Z":  "before until",
		"since=2020-01-01T00:00:00Z":  "longer one",
		"step=5m&since=" + daysAgo(3): "a multiple of 1h",
		"step=1h&job=":                "is empty",
	} {
		if said := fmt.Sprint(ts.call("GET", "/v1/stats?"+query, "", as(ts.admin)...).want(422).field("detail")); !strings.Contains(said, want) {
			t.Errorf("%s: %s", query, said)
		}
	}
}

func daysAgo(n int) string {
	return jobs.TimeOf(time.Now().Add(-time.Duration(n) * 24 * time.Hour)).String()
}
