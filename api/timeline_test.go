package api

import (
	"testing"
	"time"

	"nightshift/jobs"
)

func TestTheTimelineCountsWhatBecameOfTicks(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("sync", "")
	ts.call("PUT", "/v1/schedules/hourly", `{"job":"sync","cron":"0 0 1 1 *","overlap":"allow"}`).want(201)
	ts.call("PUT", "/v1/schedules/often", `{"job":"sync","every":"1m"}`).want(201)
	now := ts.rt.Now()
	hour := func(n int) jobs.Time { return now.Add(-time.Duration(n)*time.Hour) / 1000 * 1000 }
	ts.decided("hourly", now, []jobs.TickRange{
		{From: hour(9), To: hour(5), Count: 5, Reason: jobs.SkipMissed, Before: hour(10)},
		{From: hour(3), To: hour(3), Count: 1, Reason: jobs.SkipUnique, Before: hour(4)},
	}, hour(4), hour(2))
	got := ts.call("GET", "/v1/timeline?schedule=hourly&step=1h", "").want(200)
	for path, want := range map[string]string{
		"items.0.total.ran": "2", "items.0.total.missed": "5", "items.0.total.skipped": "1", "items.0.cut": "false",
	} {
		if is := got.field(path); is != want {
			t.Errorf("%s is %s, want %s", path, is, want)
		}
	}
	got = ts.call("GET", "/v1/timeline?q=oft&back=0s&ahead=1h&step=1h", "").want(200)
	if name := got.field("items.0.schedule"); name != "often" {
		t.Errorf("the schedule is %s, want often", name)
	}
	ts.call("GET", "/v1/timeline?step=1m", "").want(422)
	ts.call("GET", "/v1/timeline?back=8d", "").want(422)
	ts.call("GET", "/v1/timeline?schedule=none", "").want(404)
	ts.call("GET", "/v1/timeline?cursor=x", "").want(422)
}
