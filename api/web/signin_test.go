package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestPagesAreForThoseWhoHaveSignedIn(t *testing.T) {
	s := newSite(t)
	stranger := s.browser("")
	for _, path := range []string{"/", "/runs", "/nothing-here"} {
		if status, text := s.getAs(stranger, path); status != http.StatusUnauthorized || !strings.Contains(text, `name="token"`) {
			t.Errorf("%s: %d\n%s", path, status, text)
		}
	}
	if status, _ := s.send(stranger, "/sign-in", url.Values{"token": {"ns_wrong"}}); status != http.StatusUnauthorized {
		t.Errorf("a wrong token signs in: %d", status)
	}
	s.page("/", "Overview")
	if status, _ := s.get("/nothing-here"); status != http.StatusNotFound {
		t.Errorf("a page that is not there: %d", status)
	}
	if _, text := s.post("/sign-out", nil); !strings.Contains(text, `name="token"`) {
		t.Error("signing out does not lead to the page of signing in")
	}
	if status, _ := s.get("/runs"); status != http.StatusUnauthorized {
		t.Errorf("after signing out: %d", status)
	}
	// A form that comes after the session has ended.
	req, err := http.NewRequest("POST", s.url+"/jobs/a/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Referer": {s.url + "/jobs/a"}}
	if status, text := s.do(stranger, req); status != http.StatusUnauthorized || attribute(t, text, `name="next" value="`) != "/jobs/a" {
		t.Errorf("a form without a session: %d\n%s", status, text)
	}
}

func TestAPageOfAnotherSiteChangesNothing(t *testing.T) {
	s := newSite(t)
	for name, header := range map[string]http.Header{
		"nothing is said": {}, "cross-site": {"Sec-Fetch-Site": {"cross-site"}}, "same-site": {"Sec-Fetch-Site": {"same-site"}},
		"a foreign origin": {"Origin": {"https://evil.example"}}, "no origin": {"Origin": {"null"}},
	} {
		for _, path := range []string{"/sign-out", "/v1/server/drain"} {
			req, err := http.NewRequest("POST", s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header.Clone()
			if status, _ := s.do(s.http, req); status != http.StatusForbidden {
				t.Errorf("%s, %s: %d", name, path, status)
			}
		}
	}
	s.page("/runs")
}

func TestAPageOfAnotherSiteSignsNobodyIn(t *testing.T) {
	s := newSite(t)
	for name, header := range map[string]http.Header{
		"nothing is said": {}, "cross-site": {"Sec-Fetch-Site": {"cross-site"}}, "a foreign origin": {"Origin": {"https://evil.example"}},
	} {
		req, err := http.NewRequest("POST", s.url+"/sign-in", strings.NewReader(url.Values{"token": {s.token}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		stranger := s.browser("")
		if status, _ := s.do(stranger, req); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
		if status, _ := s.getAs(stranger, "/runs"); status != http.StatusUnauthorized {
			t.Errorf("%s: signed in all the same: %d", name, status)
		}
	}
}
