package web_test

import (
	"net/http"
	"net/url"
	"testing"
)

func TestADependencyIsTrippedAndResetFromItsPage(t *testing.T) {
	s := newSite(t)
	s.call("PUT", "/v1/dependencies/stripe", `{"concurrency": 5, "rate": {"limit": 100, "per": "1m"}}`)
	s.page("/dependencies", "stripe", "flows", "0 of 5", "100 per 1m")
	s.page("/dependencies/stripe", "Calls flow.", "concurrency: 5")
	status, page := s.post("/dependencies/stripe/trip", url.Values{"for": {"long"}})
	if s.says("a duration that is none", page, "The duration is none"); status != http.StatusUnprocessableEntity {
		t.Errorf("a duration that is none: status %d, want 422", status)
	}
	_, page = s.post("/dependencies/stripe/trip", url.Values{"for": {"10m"}, "note": {"they asked"}})
	s.says("the tripped dependency", page, "Its breaker is open", "Next probe", "Reset")
	_, page = s.post("/dependencies/stripe/reset", nil)
	s.says("the reset dependency", page, "Calls flow.")
	_, page = s.post("/dependencies/stripe/pause", url.Values{"note": {"maintenance"}})
	s.says("the paused dependency", page, "Paused by hand: maintenance", "Resume")
	if status, _ = s.post("/dependencies/stripe/else", nil); status != http.StatusNotFound {
		t.Errorf("another change: status %d, want 404", status)
	}
}

func TestAQueueIsPausedAndResumedFromThePage(t *testing.T) {
	s := newSite(t)
	s.job("mail", `{"script": {"source": "true"}, "queue": "slow"}`)
	s.page("/queues", "slow", "mail", "(no limit)")
	_, page := s.post("/queues/slow/pause", url.Values{"note": {"later"}})
	s.says("the paused queue", page, "The queue slow is paused", "later", "Resume")
	_, page = s.post("/queues/slow/resume", nil)
	s.says("the resumed queue", page, "The queue slow goes on.")
}
