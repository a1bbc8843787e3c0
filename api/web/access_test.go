package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestATokenIsMadeShownOnceAndRevoked(t *testing.T) {
	s := newSite(t)
	status, text := s.post("/tokens", url.Values{"name": {"CI"}, "jobs": {"mail-*"}, "expires": {"90d"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a bad token: %d", status)
	}
	s.says("the refused form", text, "body.name", "body.scopes", `value="CI"`, `value="mail-*"`, `value="90d"`)
	status, text = s.post("/tokens", url.Values{"name": {"ci"}, "scopes": {"read", "enqueue"}, "jobs": {"mail-*, sync"}, "expires": {"90d"}})
	if status != http.StatusCreated {
		t.Fatalf("make a token: %d\n%s", status, text)
	}
	secret := "ns_" + attribute(t, strings.ReplaceAll(text, "</pre>", `"`), "<pre tabindex=\"0\">ns_")
	if status, _ := s.getAs(s.browser(secret), "/runs"); status != http.StatusOK {
		t.Errorf("the token that was shown: %d", status)
	}
	if text := s.page("/tokens", "ci", "read, enqueue", "mail-*"); strings.Contains(text, secret) {
		t.Error("its secret is shown again")
	}
	_, text = s.post("/tokens/ci/link", nil)
	code := attribute(t, strings.ReplaceAll(text, "</pre>", `"`), "/sign-in?link=")
	guest := s.browser("")
	_, text = s.getAs(guest, "/sign-in?link="+code)
	s.says("the page of the link", text, "This link signs you in once.")
	if status, _ := s.send(guest, "/sign-in", url.Values{"link": {code}, "next": {"/runs"}}); status != http.StatusOK {
		t.Errorf("the link: %d", status)
	}
	if status, text := s.send(s.browser(""), "/sign-in", url.Values{"link": {code}}); status != http.StatusUnauthorized || !strings.Contains(text, "has been used") {
		t.Errorf("the link once more: %d", status)
	}
	s.page("/sessions", "ci", "this one")
	_, text = s.post("/tokens/ci/revoke", nil)
	s.says("the list", text, "The token ci is revoked.")
	if status, _ := s.getAs(guest, "/runs"); status != http.StatusUnauthorized {
		t.Errorf("a session of a revoked token: %d", status)
	}
}

func TestASecretIsSetAndNeverShown(t *testing.T) {
	s := newSite(t)
	const value = "correct-horse-battery"
	status, text := s.post("/secrets", url.Values{"name": {"9LIVES"}, "value": {value}})
	if status != http.StatusUnprocessableEntity || strings.Contains(text, value) {
		t.Errorf("a bad name: %d\n%s", status, text)
	}
	status, text = s.post("/secrets", url.Values{"name": {"API_KEY"}, "value": {"short"}})
	if status != http.StatusUnprocessableEntity || strings.Contains(text, "short\"") {
		t.Errorf("a short value: %d\n%s", status, text)
	}
	_, text = s.post("/secrets", url.Values{"name": {"API_KEY"}, "value": {value}})
	s.says("the list", text, "The secret API_KEY is set.", "API_KEY")
	s.job("uses", `{"script":{"source":"true","env":{"K":"{{ secrets.API_KEY }}"}}}`)
	if text := s.page("/secrets", "API_KEY", "uses"); strings.Contains(text, value) {
		t.Error("its value is in the page")
	}
	_, text = s.post("/secrets/API_KEY/delete", nil)
	s.says("the list", text, "Runs of uses wait until it is set again.")
}

func TestSessionsAreSeenByAdminsAndEnded(t *testing.T) {
	s := newSite(t)
	other := s.browser(s.token)
	text := s.page("/sessions", "admin")
	for _, part := range strings.Split(text, "<tr>") {
		if _, after, found := strings.Cut(part, `action="/sessions/`); found && !strings.Contains(part, "this one") {
			id, _, _ := strings.Cut(after, "/")
			_, said := s.post("/sessions/"+id+"/end", nil)
			s.says("the list", said, "The session is ended.")
		}
	}
	if status, _ := s.getAs(other, "/runs"); status != http.StatusUnauthorized {
		t.Errorf("the ended session: %d", status)
	}
	s.page("/runs")
	_, after, _ := strings.Cut(s.call("POST", "/v1/tokens", `{"name":"reader","scopes":["read"]}`), `"secret":"`)
	secret, _, _ := strings.Cut(after, `"`)
	reader := s.browser(secret)
	if status, text := s.getAs(reader, "/sessions"); status != http.StatusOK || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "/tokens") {
		t.Errorf("a reader sees %d\n%s", status, text)
	}
	if status, _ := s.getAs(reader, "/tokens"); status != http.StatusForbidden {
		t.Errorf("tokens for a reader: %d", status)
	}
}
