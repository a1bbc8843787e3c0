package web_test

import (
	"net/url"
	"strings"
	"testing"
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
