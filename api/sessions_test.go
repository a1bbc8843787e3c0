package api

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// cookie is the cookie that an answer sets, as a header.
func (a *answer) cookie() (header, whole string) {
	a.t.Helper()
	whole = a.header.Get("Set-Cookie")
	value, _, found := strings.Cut(whole, ";")
	if !found {
		a.t.Fatalf("no cookie: %v", a.header)
	}
	return value, whole
}

// signIn gives the headers of calls that are made in a session of a token.
func (ts *testServer) signIn(secret string) []string {
	ts.t.Helper()
	cookie, _ := ts.call("POST", "/v1/sessions", `{"token":"`+secret+`"}`, "Authorization", "").want(201).cookie()
	return []string{"Authorization", "", "Cookie", cookie}
}

func TestSessionActsAsItsTokenUntilOneOfThemEnds(t *testing.T) {
	ts := newTestServer(t)
	secret := ts.token(`{"name":"ops","scopes":["operate"]}`)
	a := ts.call("POST", "/v1/sessions", `{"token":"`+secret+`"}`, "Authorization", "", "User-Agent", "a browser").want(201)
	cookie, whole := a.cookie()
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"} {
		if !strings.Contains(whole, want) {
			t.Errorf("the cookie %s lacks %s", whole, want)
		}
	}
	if strings.Contains(whole, "Secure") || a.field("token") != "ops" || a.field("agent") != "a browser" || strings.Contains(string(a.body), "ns_") {
		t.Errorf("%s %s", whole, a.body)
	}
	in := []string{"Authorization", "", "Cookie", cookie}
	ts.call("GET", "/v1/jobs", "", in...).want(200)
	ts.call("GET", "/docs", "", in...).want(200)
	ts.call("GET", "/v1/tokens", "", in...).problem(probForbidden)
	// What changes something must come from a page of this server.
	pause := func(header ...string) *answer {
		return ts.call("POST", "/v1/queues/default/pause", "", append(header, in...)...)
	}
	pause().problem(probOrigin)
	pause("Sec-Fetch-Site", "cross-site").problem(probOrigin)
	pause("Sec-Fetch-Site", "same-site").problem(probOrigin)
	pause("Sec-Fetch-Site", "none").problem(probOrigin)
	pause("Origin", "https://evil.example").problem(probOrigin)
	pause("Sec-Fetch-Site", "same-origin").want(200)
	pause("Origin", ts.url).want(200)
	if entry := ts.call("GET", "/v1/audit?limit=1", "").want(200); entry.field("items.0.actor") != "sign-in ops" {
		t.Errorf("the audit says %s", entry.body)
	}
	list := ts.call("GET", "/v1/sessions", "").want(200)
	if list.field("items.0.token") != "ops" || list.field("items.0.current") != "false" || strings.Contains(string(list.body), cookie[len("nightshift="):]) {
		t.Errorf("the list is %s", list.body)
	}
	ts.call("DELETE", "/v1/tokens/ops", "").want(204)
	ts.call("GET", "/v1/jobs", "", in...).problem(probUnauthorized)
	if list := ts.call("GET", "/v1/sessions", "").want(200); list.field("items.0.id") != "" {
		t.Errorf("a session outlives its token: %s", list.body)
	}
}

func TestSessionsAreEndedByWhoHasThemAndByAdmins(t *testing.T) {
	ts := newTestServer(t)
	reader := ts.token(`{"name":"reader","scopes":["read"]}`)
	mine := ts.signIn(reader)
	time.Sleep(2 * time.Millisecond) // the newest is first, and times are of milliseconds
	theirs := ts.signIn(ts.admin)
	same := func(in []string) []string { return append([]string{"Sec-Fetch-Site", "same-origin"}, in...) }
	list := ts.call("GET", "/v1/sessions", "", theirs...).want(200)
	id := list.field("items.1.id")
	admins := list.field("items.0.id")
	if list.field("items.0.current") != "true" {
		t.Errorf("its own is not marked: %s", list.body)
	}
	ts.call("DELETE", "/v1/sessions/"+admins, "", same(mine)...).problem(probNotFound)
	ts.call("GET", "/v1/sessions", "", mine...).problem(probForbidden)
	ts.call("DELETE", "/v1/sessions/"+id, "", same(theirs)...).want(204)
	ts.call("GET", "/v1/jobs", "", mine...).problem(probUnauthorized)
	ts.call("DELETE", "/v1/sessions/"+id, "", same(theirs)...).problem(probNotFound)
	mine = ts.signIn(reader)
	_, gone := ts.call("DELETE", "/v1/sessions", "", same(mine)...).want(204).cookie()
	if !strings.Contains(gone, "Max-Age=0") {
		t.Errorf("the cookie stays: %s", gone)
	}
	ts.call("GET", "/v1/jobs", "", mine...).problem(probUnauthorized)
	ts.call("DELETE", "/v1/sessions", "").problem(probState)
}

func TestALinkSignsInOnce(t *testing.T) {
	ts := newTestServer(t)
	ts.token(`{"name":"guest","scopes":["read"]}`)
	link := ts.call("POST", "/v1/tokens/guest/link", "").want(201).field("link")
	_, code, _ := strings.Cut(link, "?link=")
	if !strings.HasPrefix(link, ts.url+"/sign-in?link=ns_") {
		t.Fatalf("the link is %s", link)
	}
	ts.call("GET", "/v1/jobs", "", as(code)...).problem(probUnauthorized) // it is no token
	// To open it changes nothing, however often.
	for range 2 {
		ts.call("GET", "/sign-in?link="+code, "", "Authorization", "", "Accept", "text/html").want(200)
	}
	a := ts.call("POST", "/v1/sessions", `{"link":"`+code+`"}`, "Authorization", "").want(201)
	if a.field("token") != "guest" {
		t.Errorf("it signs in as %s", a.body)
	}
	ts.call("POST", "/v1/sessions", `{"link":"`+code+`"}`, "Authorization", "").problem(probUnauthorized)
	ts.call("POST", "/v1/tokens/nobody/link", "").problem(probNotFound)
	for _, body := range []string{`{}`, `{"token":"a","link":"b"}`, `{"tokn":"a"}`} {
		ts.call("POST", "/v1/sessions", body, "Authorization", "").problem(probInvalid)
	}
}

func TestWhoGuessesIsHeldUpAndNobodyElse(t *testing.T) {
	var th throttle
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for range failuresOfOne {
		if th.refuses("10.0.0.1", now) != 0 {
			t.Fatal("it is refused too early")
		}
		th.fail("10.0.0.1", now)
	}
	if wait := th.refuses("10.0.0.1", now.Add(20*time.Second)); wait != 40*time.Second {
		t.Errorf("it waits %v, want 40s", wait)
	}
	if th.refuses("10.0.0.2", now) != 0 {
		t.Error("another address is refused")
	}
	if th.refuses("10.0.0.1", now.Add(time.Minute)) != 0 {
		t.Error("it is refused after its minute")
	}
	for i := range failuresOfAll {
		th.fail(strings.Repeat("x", i%50+1), now.Add(time.Minute))
	}
	if th.refuses("x", now.Add(time.Minute)) == 0 || th.refuses("10.0.0.2", now.Add(time.Minute)) != 0 {
		t.Error("past the bound of all, those who have failed are refused, and nobody else")
	}

	ts := newTestServer(t)
	for range failuresOfOne {
		ts.call("POST", "/v1/sessions", `{"token":"ns_wrong"}`, "Authorization", "").problem(probUnauthorized)
	}
	refused := ts.call("POST", "/v1/sessions", `{"token":"`+ts.admin+`"}`, "Authorization", "")
	refused.problem(probOverload)
	if refused.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	if log := ts.log.String(); !strings.Contains(log, "sign-in refused") || strings.Contains(log, "ns_wrong") {
		t.Errorf("the log is %s", log)
	}
}

func TestByHTTPSTheCookieIsSecureAndTheHostsAlone(t *testing.T) {
	ts := newTestServer(t)
	ts.api.base, ts.api.hosts = "https://jobs.example.com", newHosts("127.0.0.1:8700", "https://jobs.example.com", nil)
	a := ts.call("POST", "/v1/sessions", `{"token":"`+ts.admin+`"}`, "Authorization", "", "Host", "jobs.example.com").want(http.StatusCreated)
	cookie, whole := a.cookie()
	if !strings.HasPrefix(cookie, "__Host-nightshift=ns_") || !strings.Contains(whole, "Secure") {
		t.Errorf("the cookie is %s", whole)
	}
	ts.call("GET", "/v1/jobs", "", "Authorization", "", "Host", "jobs.example.com", "Cookie", cookie).want(200)
}

func TestStreamsOfASessionEndWithIt(t *testing.T) {
	ts := newTestServer(t)
	in := ts.signIn(ts.token(`{"name":"reader","scopes":["read"]}`))
	page := ts.stream("/live", append(in, "Accept", "text/event-stream")...)
	defer page.Body.Close()
	events := ts.stream("/v1/events", append(in, "Accept", "text/event-stream")...)
	defer events.Body.Close()
	if page.StatusCode != 200 || events.StatusCode != 200 {
		t.Fatalf("%d %d", page.StatusCode, events.StatusCode)
	}
	ts.call("DELETE", "/v1/tokens/reader", "").want(204)
	ended := make(chan struct{}, 2)
	for _, res := range []*http.Response{page, events} {
		go func() {
			buf := make([]byte, 1024)
			for {
				if _, err := res.Body.Read(buf); err != nil {
					ended <- struct{}{}
					return
				}
			}
		}()
	}
	for range 2 {
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("a stream goes on without its session")
		}
	}
}
