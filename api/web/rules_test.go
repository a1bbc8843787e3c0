package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestRulesAreTriedOnAnErrorAndOnThePastAndSaved(t *testing.T) {
	s := newSite(t)
	s.job("sync", `{"script": {"source": "exit 3"}, "retry": {"max_attempts": 1}}`)
	s.run("sync", "{}")
	s.page("/rules", "Who decides?", "rate limited")
	s.page("/rules?policy=default", "503", "- if:")
	s.page("/rules?job=nothing", `role="alert"`)
	match := `name="match" value="`
	page := s.page("/rules?job=sync", match)
	_, tag, _ := strings.Cut(page, match)
	tag, _, _ = strings.Cut(tag, `"`)
	tag = strings.ReplaceAll(tag, "&#34;", `"`)
	rules := "- if: 'exit.code == 3'\n  then: fail\n  reason: <img src=x onerror=alert(1)>\n"
	form := url.Values{"rules": {rules}, "job": {"sync"}, "exit": {"3"}, "do": {"check"}, "match": {tag}, "since": {"7d"}}
	_, page = s.post("/rules", form)
	s.says("the check", page, "by job rule 1", "fail", "rules:")
	if strings.Contains(page, "<img") {
		t.Error("a reason is no text on the page")
	}
	form.Set("do", "backtest")
	_, page = s.post("/rules", form)
	s.says("the backtest", page, "1 failed attempts of sync were looked at")
	form.Set("do", "save")
	_, page = s.post("/rules", form)
	s.says("the saved rules", page, "The rules of the job are saved", "exit.code == 3")
	status, page := s.post("/rules", form)
	if s.says("rules over those of another", page, "exit.code == 3", `role="alert"`); status != http.StatusUnprocessableEntity {
		t.Errorf("rules over those of another: status %d, want 422", status)
	}
}

func TestRulesThatCannotBeReadComeBackWithTheirFault(t *testing.T) {
	s := newSite(t)
	for rules, want := range map[string]string{
		"- if: [":                      "The rules cannot be read",
		"- {if: 'a', than: retry}":     "than",
		"- {if: 'nope', then: retry}":  "nope",
		"rules: [{if: 'true', then: 3": "The rules cannot be read",
	} {
		status, page := s.post("/rules", url.Values{"rules": {rules}, "do": {"check"}, "kind": {"timeout"}})
		if s.says(rules, page, want, rules); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d, want 422", rules, status)
		}
	}
}

func TestAJobSaysWhatBecomesOfItsFailures(t *testing.T) {
	s := newSite(t)
	s.job("once", `{"script":{"source":"true"},"retry":{"max_attempts":3,"max_elapsed":"2h","interrupted":"fail"}}`)
	s.page("/jobs/once", "3 attempts", "None begins later than 2h after the run was first due", "is never started again", "An attempt takes 6h at most.")
	s.job("usual", `{"script":{"source":"true"}}`)
	if page := s.page("/jobs/usual", "8 attempts"); strings.Contains(page, "None begins later") || strings.Contains(page, "never started again") {
		t.Error("a job is said to have what is off unless given")
	}
	s.job("all", `{"group":{"members":[{"name":"a","job":"once"}]}}`)
	if page := s.page("/jobs/all", "A group has one attempt."); strings.Contains(page, "8 attempts") {
		t.Error("a group is said to be tried again")
	}
}
