package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
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
	s.page("/jobs?only=paused", "sleep 60")
	_, text = s.post("/jobs/slow/resume", nil)
	s.says("the resumed job", text, "The job goes on.")
	s.page("/jobs?only=paused", "No job fits that.")
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
		for _, bad := range []string{"<img src=x", "<script>alert", ">49<"} {
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

func TestARunOfManyAttemptsShowsTheLastOnes(t *testing.T) {
	s := newSite(t)
	s.job("again", `{"script":{"source":"echo '::nightshift {\"checkpoint\": {\"at\": 17}}'; exit 3"},"retry":{"max_attempts":7,
		"backoff":{"kind":"fixed","base":"5ms"},"rules":[{"if":"exit.code == 3","then":"retry","reason":"a passing trouble"}]}}`)
	id := s.run("again", `{"tenant":"acme"}`).String()
	text := s.page("/runs/"+id, "2 earlier attempts", "a passing trouble", `"at": 17`, "/jobs/again#rules", "/jobs/again?like="+id+"#run")
	if n := strings.Count(text, `class="bar failed"`); n != 7 {
		t.Errorf("the time line has %d attempts", n)
	}
	for n := range 7 {
		if !strings.Contains(text, fmt.Sprintf(`id="attempt-%d"`, n+1)) {
			t.Errorf("attempt %d is missing", n+1)
		}
	}
	s.page("/jobs/again?like="+id, `"tenant": "acme"`)
	_, text = s.post("/runs/"+id+"/drop-checkpoint", nil)
	s.says("without its checkpoint", text, "The checkpoint is deleted")
}

func TestAnEditedPayloadIsSentAsItWasTyped(t *testing.T) {
	s := newSite(t)
	s.job("fails", `{"script":{"source":"exit 1"},"retry":{"max_attempts":1}}`)
	ctx := context.Background()
	id := s.run("fails", `{"n":1.50,"list":[1,2]}`)
	old, err := s.api.Run(ctx, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	path := "/runs/" + id.String() + "/requeue"
	for _, bad := range []string{"{\n  \"n\": 2,,\n}", `{"a":1,"a":2}`, " ", `{}, "reset": true`} {
		status, text := s.post(path, url.Values{"payload": {bad}, "note": {hostile}})
		if status != http.StatusUnprocessableEntity || strings.Contains(text, "<img src=x") {
			t.Errorf("%q: %d\n%s", bad, status, text)
		}
		s.says("the refused form", text, "not JSON", bad)
	}
	if status, text := s.post(path, url.Values{"payload": {strings.Repeat("x", 1<<20)}}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form past 1 MiB: %d\n%s", status, text)
	}
	requeued := func(form url.Values) wire.Run {
		t.Helper()
		if status, text := s.post(path, form); status != http.StatusOK {
			t.Fatalf("requeue: %d\n%s", status, text)
		}
		now, err := s.api.Run(ctx, id, 0)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.api.Run(ctx, now.RequeuedTo, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	same := requeued(url.Values{"payload": {"{\r\n  \"n\": 1.50,\r\n  \"list\": [\r\n    1,\r\n    2\r\n  ]\r\n}"}})
	if string(same.Payload) != string(old.Payload) || same.OperationID != old.OperationID {
		t.Errorf("left as it was: %s of operation %s", same.Payload, same.OperationID)
	}
	path = "/runs/" + same.ID.String() + "/requeue"
	id = same.ID
	edited := requeued(url.Values{"payload": {"{\r\n  \"n\": 2.50\r\n}"}, "note": {"mended"}})
	if string(edited.Payload) != "{\n  \"n\": 2.50\n}" || edited.OperationID == old.OperationID {
		t.Errorf("edited: %s of operation %s", edited.Payload, edited.OperationID)
	}
}

func TestTheLogOfARunComesOverTheStreamOfItsPage(t *testing.T) {
	s := newSite(t)
	s.job("talks", `{"script":{"source":"echo before; sleep 1; printf '<b>after\\377</b>\\033[1m\\n'"}}`)
	run, err := s.api.Enqueue(context.Background(), "talks", client.Request{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.page("/runs/"+run.ID.String(), `data-stream="/runs/`+run.ID.String()+`/live"`)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/runs/"+run.ID.String()+"/live?from=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, text := s.do(s.http, req) // it ends with the run
	log := "before\n<b>after\xff</b>\x1b[1m\n"
	s.says("the stream", text, `{"text":"before\n"}`, "after\uFFFD</b>", "event: changed", fmt.Sprintf("id: %d\n", len(log)), "event: end")
	if _, rest := s.get("/runs/" + run.ID.String() + "/live?from=" + fmt.Sprint(len(log))); strings.Contains(rest, "event: log") {
		t.Errorf("what the page has comes again:\n%s", rest)
	}
}

func TestOnlyTheEndOfALongLogIsInThePage(t *testing.T) {
	s := newSite(t)
	s.job("long", `{"script":{"source":"for i in $(seq 1 12000); do echo \"line $i is one of very many lines of a log\"; done"}}`)
	id := s.run("long", "{}").String()
	text := s.page("/runs/"+id, "line 12000 is one", "before this are left out here")
	if len(text) > 110<<10 || strings.Contains(text, "line 100 is one") {
		t.Errorf("the page has %d bytes", len(text))
	}
	if _, raw := s.get("/runs/" + id + "/log"); !strings.Contains(raw, "line 1 is one") || !strings.Contains(raw, "line 12000 is one") {
		t.Errorf("the log to keep has %d bytes", len(raw))
	}
}

func TestAJobSaysHowItWentAndWhatItsRunsWaitFor(t *testing.T) {
	s := newSite(t)
	s.job("sums", `{"script":{"source":"grep -q good"},"retry":{"max_attempts":1},"concurrency":{"limit":2,"key":"payload.who"},"dependencies":["stripe"],
		"unique":{"key":"payload.id"},"schedules":[{"name":"night","cron":"0 2 * * *","timezone":"Europe/Berlin"}]}`)
	for i, p := range []string{"good", "good", "bad", "good"} {
		s.run("sums", fmt.Sprintf(`{"id":%d,"who":%q}`, i, p))
	}
	text := s.page("/jobs/sums", "75 %", "succeeded of the last 4", "ended in 24 hours: 1 failed, 0 retries", `id="ended-table"`, "2 runs at once for each payload.who", "/dependencies/stripe", "one run for each payload.id",
		"4 runs: 3 succeeded, 1 failed", "sums:night", `"cron": "0 2 * * *"`, `id="rules"`)
	if n := strings.Count(text, ":00:00 UTC"); n < 3 {
		t.Errorf("%d ticks to come are shown", n)
	}
	s.page("/jobs", "the last 4 runs: 3 succeeded, 1 failed")
	s.page("/runs?state=scheduled,queued,running,retrying,waiting", "not ended", "No run fits")
}
