package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// webhookJob registers a job whose runs are not started, with more of its document behind the kind.
func (ts *testServer) webhookJob(name, more string) {
	ts.t.Helper()
	ts.call("POST", "/v1/server/drain", "").want(200)
	a := ts.call("PUT", "/v1/jobs/"+name, `{"webhook":{"url":"https://example.com/hooks/sync"}`+more+`}`)
	if a.status != 201 && a.status != 200 {
		ts.t.Fatalf("register %s: %s", name, a.body)
	}
}

func TestSchedulesByThemselvesAreMadeReplacedAndDeleted(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("sync", "")
	ts.webhookJob("other", "")
	const all, at = "/v1/schedules", "/v1/schedules/sync-acme"
	ts.call("GET", at, "").problem(probNotFound)
	ts.call("DELETE", at, "").problem(probNotFound)
	ts.call("PUT", at, `{"job":"sync","every":"1h"}`, "If-Match", "*").problem(probStale)
	made := ts.call("POST", all, `{"name":"sync-acme","job":"sync","cron":"0 3 1 1 *",
		"timezone":"Europe/Berlin","payload":{"n":1.50}}`).want(201)
	if got := made.header.Get("Location"); got != at {
		t.Errorf("Location %s, want %s", got, at)
	}
	for field, want := range map[string]string{
		"name": "sync-acme", "job": "sync", "in_job": "false", "paused": "false", "last": "", "backlog": "0",
		"payload.n": "1.50", "reads": (&jobs.Schedule{Cron: "0 3 1 1 *", Timezone: "Europe/Berlin"}).Reads(),
	} {
		if got := made.field(field); got != want {
			t.Errorf("made: %s is %q, want %q", field, got, want)
		}
	}
	if next := made.field("next"); !strings.HasSuffix(next, "-01-01T02:00:00.000Z") {
		t.Errorf("next %s", next)
	}
	ts.call("POST", all, `{"name":"sync-acme","job":"other","every":"1h"}`).problem(probExists)
	// What is answered may be sent back: state is ignored.
	tag := made.header.Get("ETag")
	changes := ts.call("GET", "/v1/audit", "").want(200).field("items.0.id")
	same := ts.call("PUT", at, string(made.body), "If-Match", tag).want(200)
	if same.header.Get("ETag") != tag || !bytes.Equal(same.body, made.body) ||
		ts.call("GET", "/v1/audit", "").want(200).field("items.0.id") != changes {
		t.Errorf("the same again changed it: %s", same.body)
	}
	ts.call("PUT", at, `{"job":"other","every":"2h"}`, "If-Match", `"9"`).problem(probStale)
	ts.call("PUT", at, `{"job":"other","every":"2h"}`, "If-None-Match", `*`).problem(probStale)
	changed := ts.call("PUT", at, `{"job":"other","every":"2h"}`, "If-Match", tag).want(200)
	if changed.field("job") != "other" || changed.field("every") != "2h" || changed.field("cron") != "" ||
		changed.header.Get("ETag") == tag {
		t.Errorf("changed: %s %v", changed.body, changed.header)
	}
	ts.call("GET", at, "", "If-None-Match", changed.header.Get("ETag")).want(304)
	ts.call("GET", at, "", "If-None-Match", tag).want(200)
	ts.call("DELETE", at, "", "If-Match", tag).problem(probStale)
	ts.call("DELETE", at, "", "If-Match", changed.header.Get("ETag")).want(204)
	ts.call("GET", at, "").problem(probNotFound)
	ts.call("GET", at+"/ticks", "").problem(probNotFound)
	ts.call("DELETE", at, "").problem(probNotFound)
	ts.call("PUT", at, `{"job":"sync","every":"1h"}`, "If-None-Match", "*").want(201)
	ts.call("DELETE", "/v1/jobs/sync", "").want(200)
	ts.call("GET", at, "").problem(probNotFound) // it went with its job
	// A name that is also a word of a path.
	ts.call("PUT", all+"/preview", `{"job":"other","every":"1h"}`).want(201)
	ts.call("GET", all+"/preview", "").want(200)
	ts.call("POST", all+"/preview/pause", "").want(200)
	ts.call("DELETE", all+"/preview", "").want(204)
}

// A changed line ticks next at its own time from now on, which the answer says; nothing is due.
func TestTheAnswerToAChangedLineHasItsNextTick(t *testing.T) { // case 30
	ts := newTestServer(t)
	ts.webhookJob("sync", "")
	const at = "/v1/schedules/nightly"
	ts.call("PUT", at, `{"job":"sync","cron":"0 0 1 1 *"}`).want(201)
	now := ts.rt.Now().Std()
	for _, from := range []time.Time{now.Add(-time.Hour), now.Add(10 * time.Hour)} {
		want := from.Truncate(time.Minute)
		if want.Before(now) {
			want = want.AddDate(0, 0, 1)
		}
		put := fmt.Sprintf(`{"job":"sync","cron":"%d %d * * *"}`, from.Minute(), from.Hour())
		changed := ts.call("PUT", at, put).want(200)
		if got := changed.field("next"); got != jobs.TimeOf(want).String() {
			t.Errorf("%s: next %s, want %s", put, got, jobs.TimeOf(want))
		}
		if got := ts.call("GET", at, "").want(200).field("next"); got != jobs.TimeOf(want).String() {
			t.Errorf("%s: then next is %s, want %s", put, got, jobs.TimeOf(want))
		}
	}
	for _, list := range []string{"/v1/runs", at + "/ticks"} {
		if items := ts.call("GET", list, "").want(200).field("items.0"); items != "" {
			t.Errorf("%s after the changes: %s", list, items)
		}
	}
}

func TestSchedulesOfAJobAreChangedWithIt(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("sync", `,"schedules":[{"cron":"0 3 1 1 *"},{"name":"often","every":"1h"}]`)
	for _, name := range []string{"sync%3Aoften", "sync:default"} {
		at := "/v1/schedules/" + name
		shown := ts.call("GET", at, "").want(200)
		if want := strings.Replace(name, "%3A", ":", 1); shown.field("name") != want ||
			shown.field("job") != "sync" || shown.field("in_job") != "true" {
			t.Errorf("shown: %s", shown.body)
		}
		for _, p := range []string{
			ts.call("PUT", at, `{"job":"sync","every":"1h"}`).problem(probInJob),
			ts.call("PUT", at, string(shown.body), "If-Match", "*").problem(probInJob),
			ts.call("DELETE", at, "").problem(probInJob),
		} {
			if !strings.Contains(p, "the job sync: change its schedules by PUT /v1/jobs/sync") {
				t.Errorf("it says %q", p)
			}
		}
		ts.call("POST", at+"/pause", `{"note":"moving"}`).want(200)
		paused := ts.call("GET", at, "", "If-None-Match", shown.header.Get("ETag")).want(200)
		if paused.field("paused") != "true" || paused.field("pause_note") != "moving" || paused.field("next") != "" {
			t.Errorf("paused: %s", paused.body)
		}
	}
	ts.call("PUT", "/v1/schedules/absent:often", `{"job":"sync","every":"1h"}`).problem(probInJob)
	ts.call("DELETE", "/v1/schedules/absent:often", "").problem(probNotFound)
	ts.call("POST", "/v1/jobs/sync/pause", "").want(200)
	if s := ts.call("GET", "/v1/schedules/sync:default", "").want(200); s.field("job_paused") != "true" {
		t.Errorf("of a paused job: %s", s.body)
	}
	// A PUT of the job leaves the pause alone, takes out what it does not hold, and nothing else.
	ts.call("PUT", "/v1/schedules/alone", `{"job":"sync","every":"1h"}`).want(201)
	ts.webhookJob("sync", `,"schedules":[{"cron":"0 4 1 1 *"}]`)
	if s := ts.call("GET", "/v1/schedules/sync:default", "").want(200); s.field("paused") != "true" ||
		s.field("cron") != "0 4 1 1 *" {
		t.Errorf("after a PUT of the job: %s", s.body)
	}
	ts.call("GET", "/v1/schedules/sync:often", "").problem(probNotFound)
	ts.call("GET", "/v1/schedules/alone", "").want(200)
	ts.call("POST", "/v1/schedules/sync:default/resume", `{"note":"moved"}`).want(200)
	resumed := ts.call("GET", "/v1/schedules/sync:default", "").want(200)
	if resumed.field("paused") != "false" || resumed.field("pause_note") != "" || resumed.field("next") == "" {
		t.Errorf("resumed: %s", resumed.body)
	}
	ts.call("POST", "/v1/schedules/sync:often/pause", "").problem(probNotFound)
	ts.call("POST", "/v1/schedules/sync:default/pause", `{"reason":"x"}`).problem(probInvalid)
	ts.call("POST", "/v1/schedules/sync:default/pause", `{"note":"`+strings.Repeat("x", 1025)+`"}`).problem(probInvalid)
}

func TestSchedulesAreListedNewestFirst(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("sync", `,"schedules":[{"cron":"0 3 1 1 *","payload":{"secret":1}}]`)
	ts.webhookJob("mail-out", "")
	want := []string{"sync:default"}
	for i := range 5 {
		name := fmt.Sprintf("of-mail-%d", i)
		ts.call("PUT", "/v1/schedules/"+name, `{"job":"mail-out","every":"1h","payload":{"secret":1}}`).want(201)
		want = append(want, name)
	}
	slices.Reverse(want)
	names := func(query string, limit int, headers ...string) (got []string) {
		for cursor, pages := "", 0; pages < 20; pages++ {
			a := ts.call("GET", fmt.Sprintf("/v1/schedules?limit=%d%s%s", limit, query, cursor), "", headers...).want(200)
			var list wire.Schedules
			a.into(&list)
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			if bytes.Contains(a.body, []byte("payload")) {
				t.Errorf("a list holds payloads: %s", a.body)
			}
			if list.Next == nil {
				return got
			}
			cursor = "&cursor=" + *list.Next
		}
		t.Fatal("the list has no end")
		return nil
	}
	for _, limit := range []int{1, 2, 5, 6, 1000} {
		if got := names("", limit); !slices.Equal(got, want) {
			t.Errorf("by %d: %q, want %q", limit, got, want)
		}
	}
	if got := names("&job=sync", 2); !slices.Equal(got, []string{"sync:default"}) {
		t.Errorf("of the job sync: %q", got)
	}
	if got := names("&job=absent", 2); got != nil {
		t.Errorf("of a job that is not there: %q", got)
	}
	narrow := ts.token(`{"name":"narrow","scopes":["read"],"jobs":["mail-*"]}`)
	if got := names("", 2, as(narrow)...); !slices.Equal(got, want[:5]) {
		t.Errorf("of a token for mail-*: %q", got)
	}
	if got := names("&job=sync", 2, as(narrow)...); got != nil {
		t.Errorf("of a job that the token does not reach: %q", got)
	}
	for _, query := range []string{"cursor=x", "job=", "limit=0", "state=running"} {
		ts.call("GET", "/v1/schedules?"+query, "").problem(probInvalid)
	}
}

func TestAScheduleThatCannotBeReadIsShownAllTheSame(t *testing.T) {
	s := &store.Schedule{Schedule: jobs.Schedule{Name: "old", Job: "sync", Cron: "0 2 * * *", Timezone: "No/Where"}}
	view := viewSchedule(s, jobs.TimeOf(time.Now()))
	if view.Name != "old" || view.Next != 0 || !strings.Contains(view.Reads, "this version of the server cannot read it") ||
		!strings.Contains(view.Reads, "No/Where") {
		t.Errorf("it is shown as %+v", view)
	}
}
