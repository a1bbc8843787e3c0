package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const hostile = `<img src=x onerror=alert(1)>"><script>alert(2)</script>{{7*7}}` + "\u202e"

func TestARunSaysWhatItIsAndWhatBecameOfIt(t *testing.T) {
	s := newSite(t)
	s.job("fail", `{"script":{"source":"echo 'out: '\"$(cat)\"; printf '\\033[31mred\\033[0m\\n'; echo 'ValidationError: no such order' >&2; exit 3"},
		"labels":{"team":"data"}}`)
	id := s.run("fail", `{"order":17}`)
	text := s.page("/runs/"+id.String(), "fail", "failed", "not tried again", "exit 3", `"order": 17`, "out: {", "red\n", "team: data", "Run again")
	if strings.Contains(text, "\x1b") {
		t.Error("an escape sequence of a terminal is in the page")
	}
	status, text := s.post("/runs/"+id.String()+"/requeue", url.Values{"payload": {`{"order": 18`}, "note": {"mended"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a payload that is no JSON: %d", status)
	}
	s.says("the refused form", text, "The payload is not JSON", "line 1, column", `{"order": 18`, `value="mended"`)
	status, text = s.post("/runs/"+id.String()+"/requeue", url.Values{"payload": {`{"order": 18}`}})
	if status != http.StatusOK {
		t.Fatalf("requeue: %d\n%s", status, text)
	}
	s.says("the new run", text, "It runs again, as this run.", `"order": 18`, "Requeue of")
	s.page("/runs?state=failed&job=fail", id.String()[:8], "no such order")
	s.page("/runs?label=team:data&since=1h", "fail")
	if status, text := s.get("/runs?since=yesterday"); status != http.StatusUnprocessableEntity {
		t.Errorf("since=yesterday: %d\n%s", status, text)
	}
	if status, _ := s.get("/runs/" + id.String()[:20]); status != http.StatusNotFound {
		t.Errorf("half an id: %d", status)
	}
	if status, log := s.get("/runs/" + id.String() + "/log"); status != http.StatusOK || !strings.Contains(log, "\x1b[31mred") {
		t.Errorf("the log is %d %q", status, log)
	}
}

func TestARunIsRunAndCancelledFromItsPage(t *testing.T) {
	s := newSite(t)
	s.job("slow", `{"description":"Waits","script":{"source":"sleep 60"},"payload":{"from":"the job"}}`)
	s.page("/jobs", "slow", "Waits", "sleep 60")
	s.page("/jobs?q=slo", "slow")
	s.page("/jobs?q=nothing", "No job fits that.")
	s.page("/jobs/slow", `"from": "the job"`, "It has not run yet.", "8 attempts", "policy default rule 1")
	status, text := s.post("/jobs/slow/run", url.Values{"payload": {`{"a":`}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a payload that is no JSON: %d", status)
	}
	s.says("the refused form", text, "The payload is not JSON", `{"a":`)
	if status, _ := s.post("/jobs/slow/run", url.Values{"payload": {"{}"}, "delay": {"soon"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a delay that is none: %d", status)
	}
	_, text = s.post("/jobs/slow/run", url.Values{"payload": {`{"a": 1}`}, "key": {"once"}})
	s.says("the run", text, "The run is made.", `"a": 1`, "Cancel")
	_, text = s.post("/jobs/slow/run", url.Values{"payload": {`{"a": 1}`}, "key": {"once"}})
	s.says("the run again", text, "No other was made")
	_, after, _ := strings.Cut(text, `action="/runs/`)
	id, _, _ := strings.Cut(after, "/")
	_, text = s.post("/runs/"+id+"/cancel", nil)
	s.says("the cancelled run", text, "cancelled")
	_, text = s.post("/jobs/slow/pause", url.Values{"note": {"they migrate"}})
	s.says("the paused job", text, "they migrate", "Resume")
	_, text = s.post("/jobs/slow/resume", nil)
	s.says("the resumed job", text, "The job goes on.")
	s.job("slow", `{"script":{"source":"sleep 1"}}`)
	s.page("/jobs/slow/versions", "Version 2", "Version 1", "sleep 60", "sleep 1")
}

func TestWhatOthersWroteIsTextOnPagesOfRuns(t *testing.T) { // case 151
	s := newSite(t)
	quoted := strings.NewReplacer(`"`, `\"`).Replace(hostile)
	s.job("loud", `{"description":"`+quoted+`","labels":{"l":"`+strings.TrimSuffix(quoted, "\u202e")+`"},"script":{"source":"cat; cat >&2; echo '`+strings.ReplaceAll(quoted, "'", "")+`' >&2; exit 1"}}`)
	id := s.run("loud", `{"p":"`+quoted+`"}`)
	for _, path := range []string{"/runs", "/runs/" + id.String(), "/jobs", "/jobs/loud", "/jobs/loud/versions", "/runs?q=" + url.QueryEscape(hostile)} {
		text := s.page(path)
		for _, bad := range []string{"<img src=x", "<script>alert"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %s", path, bad)
			}
		}
	}
}

func TestAPageOffersWhatItsViewerMayDo(t *testing.T) {
	s := newSite(t)
	s.job("mine", `{"script":{"source":"exit 1"}}`)
	s.job("theirs", `{"script":{"source":"true"}}`)
	id, other := s.run("mine", "{}"), s.run("theirs", "{}")
	secret := func(doc string) string {
		_, after, _ := strings.Cut(s.call("POST", "/v1/tokens", doc), `"secret":"`)
		text, _, _ := strings.Cut(after, `"`)
		return text
	}
	reader := s.browser(secret(`{"name":"reader","scopes":["read"]}`))
	_, text := s.getAs(reader, "/runs/"+id.String())
	if !strings.Contains(text, "failed") || strings.Contains(text, "Run again") || strings.Contains(text, "Delete") {
		t.Errorf("a token that may only read sees\n%s", text)
	}
	if status, _ := s.send(reader, "/runs/"+id.String()+"/requeue", nil); status != http.StatusForbidden {
		t.Errorf("a token that may only read requeues: %d", status)
	}
	narrow := s.browser(secret(`{"name":"narrow","scopes":["operate"],"jobs":["mine"]}`))
	if status, _ := s.getAs(narrow, "/runs/"+other.String()); status != http.StatusNotFound {
		t.Errorf("a narrowed token sees a run of another job: %d", status)
	}
	if _, text := s.getAs(narrow, "/runs"); strings.Contains(text, "theirs") {
		t.Error("a narrowed token sees runs of another job")
	}
	if status, text := s.getAs(narrow, "/jobs/mine"); status != http.StatusOK || !strings.Contains(text, "Run it") {
		t.Errorf("its own job: %d\n%s", status, text)
	}
}

func TestOutputIsPlainText(t *testing.T) {
	s := newSite(t)
	s.job("tty", `{"script":{"source":"printf 'a\\rb\\r\\n\\033]0;title\\007c\\033[1;31md\\033(Be\\007\\000f\\n'"}}`)
	s.page("/runs/"+s.run("tty", "{}").String(), "a\nb\ncdef\n")
}
