package web_test

import (
	"net/url"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestSilentFailuresAreSaidOnThePageOfAlerts(t *testing.T) {
	s := newSite(t)
	s.page("/alerts", "Failures are silent", "There is no alert yet.")
	s.job("tell", `{"script": {"source": "cat"}}`)
	s.call("PUT", "/v1/alerts/ops", `{"on": ["run.failed"], "run": "tell", "if": "job != \"<img src=x>\""}`)
	page := s.page("/alerts", "ops", "run.failed", "tell", "never", "10m")
	if strings.Contains(page, "Failures are silent") || strings.Contains(page, "<img") {
		t.Errorf("the page says that failures are silent, or shows a condition as HTML:\n%s", page)
	}
	s.page("/alerts/ops", "Nothing yet.", "run: tell")
	_, page = s.post("/alerts/test", url.Values{"job": {""}})
	s.says("the tested alerts", page, "Told by: ops.", "What becomes of the made failure")
	_, page = s.post("/alerts/test", url.Values{"job": {"nothing"}})
	s.says("a test of a job that is not there", page, `role="alert"`, `value="nothing"`)
	_, page = s.post("/alerts/ops/delete", nil)
	s.says("the page of alerts", page, "The alert ops is deleted", "Failures are silent")
}

func TestWhoMayOnlyReadSeesNoButtonsOfSchedulesAlertsAndShared(t *testing.T) {
	s := newSite(t)
	s.job("sync", `{"script": {"source": "true"}, "dependencies": ["stripe"], "schedules": [{"every": "1h"}]}`)
	s.job("other", `{"script": {"source": "true"}, "schedules": [{"every": "1h"}]}`)
	var made struct {
		Secret string `json:"secret"`
	}
	text := s.call("POST", "/v1/tokens", `{"name": "reader", "scopes": ["read"], "jobs": ["sync"]}`)
	if err := jobs.DecodeLenient([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	reader := s.browser(made.Secret)
	for _, path := range []string{
		"/schedules", "/schedules/sync:default", "/dependencies", "/dependencies/stripe", "/queues", "/rules", "/rules?job=sync", "/alerts",
	} {
		status, page := s.getAs(reader, path)
		if status != 200 && status != 403 && status != 404 {
			t.Errorf("GET %s: %d", path, status)
		}
		for _, not := range []string{"/pause", "/trip", "/alerts/test", `value="save"`, "other:default"} {
			if strings.Contains(page, not) {
				t.Errorf("GET %s shows %s to a reader", path, not)
			}
		}
	}
	if status, _ := s.getAs(reader, "/schedules/other:default"); status != 404 {
		t.Errorf("a schedule of another job: status %d, want 404", status)
	}
	if status, _ := s.send(reader, "/schedules/sync:default/pause", nil); status != 403 {
		t.Errorf("a pause by a reader: status %d, want 403", status)
	}
}
