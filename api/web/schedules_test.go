package web_test

import (
	"net/url"
	"strings"
	"testing"
)

func TestAScheduleIsShownOnATimeLineAndMayBePaused(t *testing.T) {
	s := newSite(t)
	s.job("sync", `{"script": {"source": "true"}, "schedules": [{"cron": "0 2 * * *", "timezone": "Europe/Berlin"}]}`)
	s.page("/schedules", "sync:default", "at 02:00", "Europe/Berlin", "to come", "tick-planned")
	s.page("/schedules?q=nothing", "No schedule has a name that holds that.")
	page := s.page("/schedules/sync:default", "Next ticks", "No tick has come yet.", "0 2 * * *")
	if n := strings.Count(page, "<li><time"); n != 10 {
		t.Errorf("the page shows %d next ticks, want 10", n)
	}
	_, page = s.post("/schedules/sync:default/pause", url.Values{"note": {`<img src=x onerror=alert(1)> moved`}})
	s.says("the paused schedule", page, "its ticks are skipped until it is resumed", "Resume")
	if strings.Contains(page, "<img") {
		t.Error("a note is no text on the page")
	}
	s.page("/schedules", "paused")
	_, page = s.post("/schedules/sync:default/resume", nil)
	s.says("the resumed schedule", page, "The schedule goes on, next")
}

func TestALineIsTriedOutWithoutSavingIt(t *testing.T) {
	s := newSite(t)
	s.page("/schedules?cron=30+6+*+*+mon-fri&timezone=Asia/Tokyo", "at 06:30, Monday to Friday, Asia/Tokyo")
	s.page("/schedules?every=15m", "every 15 minutes")
	s.page("/schedules?every=often", "The interval is none", `value="often"`)
	s.page("/schedules?"+url.Values{"cron": {`"><script>alert(1)</script>`}}.Encode(), `role="alert"`)
	if page := s.page("/schedules?" + url.Values{"cron": {`"><script>alert(1)</script>`}}.Encode()); strings.Contains(page, "<script>alert") {
		t.Error("a line is no text on the page")
	}
}
