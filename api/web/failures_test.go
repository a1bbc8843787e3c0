package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// attribute is the value of the first attribute that begins so.
func attribute(t *testing.T, page, begin string) string {
	t.Helper()
	_, after, found := strings.Cut(page, begin)
	value, _, _ := strings.Cut(after, `"`)
	if !found {
		t.Fatalf("no %s in\n%s", begin, page)
	}
	return value
}

// until waits until a page says something.
func (s *site) until(path, want string) string {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, text := s.get(path)
		if strings.Contains(text, want) {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not come to say %q:\n%s", path, want, text)
		}
	}
}

const brittle = `{"script":{"source":"grep -q good || { echo 'KeyError: no such city' >&2; exit 3; }"}}`

func TestAFailureIsEditedAndRunAgain(t *testing.T) {
	s := newSite(t)
	s.job("brittle", brittle)
	id := s.run("brittle", `{"city": "bad"}`).String()
	s.page("/failures", "brittle", "no such city", id[:8])
	s.page("/failures/"+id, "Nobody has dealt with it.", "no such city", `"city": "bad"`, "not tried again", "Edit, resolve, ignore")
	s.page("/runs/"+id, "Deal with it")
	status, text := s.post("/failures/"+id+"/requeue", url.Values{"payload": {`{"city": good}`}, "note": {"they renamed it"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a payload that is no JSON: %d", status)
	}
	s.says("the refused form", text, "The payload is not JSON", "column", `{"city": good}`, "they renamed it")
	_, text = s.post("/failures/"+id+"/requeue", url.Values{"payload": {`{"city": "good"}`}})
	s.says("the requeue", text, "It runs again, as this run.")
	s.until("/failures/"+id, "resolved")
	s.page("/failures", "Nothing has failed that nobody has dealt with.")
	s.page("/failures?status=resolved", id[:8])
}

func TestWhatFailedLastIsFirstOfItsKind(t *testing.T) {
	s := newSite(t)
	for i := range 60 {
		s.job(fmt.Sprintf("f%02d", i), `{"script":{"source":"exit 3"},"retry":{"max_attempts":1}}`)
		s.run(fmt.Sprintf("f%02d", i), `1`)
	}
	s.run("f00", `1`) // the kind that was there first
	for _, path := range []string{"/", "/failures/groups"} {
		text := s.page(path, "/jobs/f00")
		if strings.Index(text, "/jobs/f00") > strings.Index(text, "/jobs/f59") {
			t.Errorf("%s does not begin with what failed last", path)
		}
	}
	next := html.UnescapeString(attribute(t, s.page("/failures/groups"), `class="button" href="`))
	text := s.page(next, "/jobs/f01", "/jobs/f10")
	if strings.Contains(text, "/jobs/f00") || strings.Contains(text, "/jobs/f11") || strings.Contains(text, "Next page") {
		t.Errorf("the second page at %s holds what the first did, or leads further", next)
	}
	// Of a list that has become shorter the last page is shown.
	s.page("/failures/groups?cursor=.5000", "/jobs/f01")
	s.page("/jobs?cursor=5000", "/jobs/f59")
}

func TestAPageThatAnswersAFormLeadsBackToOneThatStands(t *testing.T) {
	s := newSite(t)
	s.job("brittle", brittle)
	s.run("brittle", `1`)
	for referer, want := range map[string]string{
		"/failures?job=brittle": "/failures?job=brittle", "/failures/act": "/failures", "": "/failures",
	} {
		form := url.Values{"which": {"filter"}, "filter.status": {"open"}, "do": {"requeue"}}
		req, err := http.NewRequest("POST", s.url+"/failures/act", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
		if referer != "" {
			req.Header.Set("Referer", s.url+referer)
		}
		status, text := s.do(s.http, req)
		if got := html.UnescapeString(attribute(t, text, `name="back" value="`)); status != http.StatusOK || got != want {
			t.Errorf("from %s: %d, back to %s, want %s", referer, status, got, want)
		}
	}
}

func TestALongErrorDoesNotBuryWhatWasDecided(t *testing.T) {
	s := newSite(t)
	s.job("verbose", `{"script":{"source":"for i in $(seq 200); do printf 'the upstream said no. '; done >&2; exit 3"}}`)
	id := s.run("verbose", `1`).String()
	for path, want := range map[string]string{"/runs/" + id: "not tried again", "/failures/" + id: "Nobody has dealt with it."} {
		page := s.page(path, strings.Repeat("the upstream said no. ", 30)) // once it is there as a whole
		_, lead, _ := strings.Cut(page, `<p class="lead">`)
		lead, _, _ = strings.Cut(lead, "</p>")
		if len(lead) > 500 || !strings.Contains(lead, want) {
			t.Errorf("the sentence on top of %s has %d bytes, want %q within 500: %s", path, len(lead), want, lead)
		}
	}
}

func TestAFailureIsResolvedOrIgnored(t *testing.T) {
	s := newSite(t)
	s.job("brittle", brittle)
	id := s.run("brittle", `1`).String()
	_, text := s.post("/failures/"+id+"/ignore", url.Values{"note": {"let it be"}, "for": {"soon"}})
	s.says("a length of time that is none", text, "Want one such as 7d or 12h.")
	_, text = s.post("/failures/"+id+"/ignore", url.Values{"note": {"let it be"}, "for": {"7d"}})
	s.says("the list", text, "The failure is ignored.")
	s.page("/failures/"+id, "It is ignored until", "let it be", "by sign-in admin")
	_, text = s.post("/failures/"+id+"/resolve", url.Values{"note": {"done by hand"}})
	s.says("the list", text, "The failure is resolved.")
	s.page("/failures/"+id, "done by hand", "It is resolved")
}

func TestManyFailuresAreDealtWithAtOnceOnceTheyWereShown(t *testing.T) {
	s := newSite(t)
	s.job("brittle", brittle)
	s.job("other", brittle)
	var ids []string
	for range 3 {
		ids = append(ids, s.run("brittle", `{"city":"bad"}`).String())
	}
	s.run("other", `{"city":"bad"}`)
	groups := s.page("/failures/groups", "no such city", "<b class=\"big\">3</b> open")
	fingerprint := attribute(t, groups, `name="filter.fingerprint" value="`)
	s.page("/failures/groups/"+fingerprint, "Failures that are alike")
	// Nothing is ticked.
	_, text := s.post("/failures/act", url.Values{"do": {"requeue"}, "which": {"ids"}})
	s.says("nothing selected", text, "Nothing was selected")
	// All that fit: shown with what a patch makes of them, refused where it is wrong, given then.
	form := url.Values{"do": {"requeue"}, "which": {"filter"}, "filter.job": {"brittle"}, "filter.status": {"open"}, "filter.since": {"1h"}}
	_, text = s.post("/failures/act", form)
	s.says("what it would do", text, "Requeue 3 failures?", "job brittle", "the same")
	form.Set("filter.since", attribute(t, text, `name="filter.since" value="`))
	form.Set("patch", `{"city": good}`)
	form.Set("sure", "1")
	if status, text := s.post("/failures/act", form); status != http.StatusUnprocessableEntity || !strings.Contains(text, "The patch is not JSON") {
		t.Errorf("a patch that is no JSON: %d\n%s", status, text)
	}
	form.Set("patch", `{"city":"good"}`)
	form.Del("sure")
	_, text = s.post("/failures/act", form)
	s.says("what the patch does", text, `{"city":"good"}`)
	form.Set("sure", "1")
	form.Set("rate", "100/s")
	_, text = s.post("/failures/act", form)
	s.says("the order", text, "The order is given: 3 failures.", "100/s")
	s.until("/failures?status=resolved&job=brittle", "/failures/"+ids[2])
	s.page("/failures", "other")
	// Those that are ticked.
	_, list := s.get("/failures")
	id := attribute(t, list, `name="ids" value="`)
	_, text = s.post("/failures/act", url.Values{"do": {"resolve"}, "which": {"ids"}, "ids": {id}, "note": {"by hand"}, "sure": {"1"}})
	s.says("the order", text, "The order is given: 1 failure.")
	s.until("/failures", "Nothing has failed that nobody has dealt with.")
	if status, _ := s.post("/failures/act", url.Values{"do": {"resolve"}, "which": {"ids"}, "ids": {"x"}, "sure": {"1"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("an id that is none: %d", status)
	}
}

func TestAGroupShowsItsMembersAndIsMergedAgain(t *testing.T) {
	s := newSite(t)
	s.job("fetch", brittle)
	s.job("merge", `{"script":{"source":"cat"}}`)
	s.job("nightly", `{"group":{"members":[{"name":"orders","job":"fetch","payload":"good"},{"name":"stock","job":"fetch","payload":"bad"}],"merge":{"job":"merge"}}}`)
	id := s.run("nightly", "{}").String()
	s.page("/groups", "nightly", "1 succeeded, 1 failed")
	text := s.page("/groups/"+id, "orders", "stock", "no such city", "1 good of 2", "Merge again")
	member := attribute(t, text, `<form action="/runs/`)
	if !strings.HasSuffix(member, "/requeue") {
		t.Fatalf("the first form goes to %s", member)
	}
	_, text = s.post("/groups/"+id+"/remerge", url.Values{"note": {"stock is mended"}})
	s.says("the group", text, "merged once more")
}

func TestWhatOthersWroteIsTextOnPagesOfFailures(t *testing.T) { // case 151
	s := newSite(t)
	shown := strings.NewReplacer(`"`, `\"`, `'`, ``).Replace(hostile)
	s.job("loud", `{"script":{"source":"cat >/dev/null; cat <<'X' >&2\nKeyError: `+shown+`\nX\nexit 1"}}`)
	id := s.run("loud", `{"p":"`+shown+`"}`).String()
	group := attribute(t, s.page("/failures/groups"), `name="filter.fingerprint" value="`)
	for _, path := range []string{"/failures", "/failures/" + id, "/failures/groups", "/failures/groups/" + group, "/failures?q=" + url.QueryEscape(hostile)} {
		if text := s.page(path); strings.Contains(text, "<img src=x") || strings.Contains(text, "<script>alert") {
			t.Errorf("%s holds what was written as markup", path)
		}
	}
	_, text := s.post("/failures/act", url.Values{"do": {"requeue"}, "which": {"filter"}, "filter.q": {hostile}, "note": {hostile}})
	if strings.Contains(text, "<img src=x") || strings.Contains(text, "<script>alert") {
		t.Errorf("the page of an order holds what was written as markup:\n%s", text)
	}
}
