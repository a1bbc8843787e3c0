package web_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestPageOfTheAuditTellsTheDifference(t *testing.T) {
	s := newSite(t)
	s.job("sync", `{"script":{"source":"true"},"description":"<img src=x onerror=alert(1)>{{7*7}}"}`)
	s.job("sync", `{"script":{"source":"true"},"description":"\"><script>alert(1)</script>","timeout":"2m"}`)
	s.call("POST", "/v1/jobs/sync/pause", `{"note":"<b>they move</b>"}`)
	page := s.page("/audit?name=sync", "token admin", "pause", "<b>they move</b>", `"2m"`, "onerror=alert(1)", "{{7*7}}")
	for _, bad := range []string{"<img src=x", "<script>alert", "<b>they"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	if page := s.page("/audit?action=pause", "they move"); strings.Contains(page, `"2m"`) {
		t.Errorf("the filter lets other actions through:\n%s", page)
	}
	s.page("/audit?actor=nobody", "No entry fits that", `value="nobody"`)
	if status, text := s.get("/audit?since=soon"); status != http.StatusUnprocessableEntity || !strings.Contains(text, `value="soon"`) {
		t.Errorf("a time that is none: %d\n%s", status, text)
	}
}

func TestADifferenceOfAScriptIsShownInItsLines(t *testing.T) {
	s := newSite(t)
	s.job("steps", `{"script":{"source":"#!/bin/sh\necho one\necho \"two\"\n"}}`)
	s.job("steps", `{"script":{"source":"#!/bin/sh\necho one\necho \"three\"\n"}}`)
	for _, path := range []string{"/jobs/steps/versions", "/audit?name=steps"} {
		s.page(path, "echo one\necho \"two\"\n", "echo one\necho \"three\"\n")
	}
}
