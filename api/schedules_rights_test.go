package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"nightshift/jobs"
)

func TestATokenOfSomeJobsPutsSchedulesOfTheseAlone(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("mail-out", "")
	ts.webhookJob("mail-in", "")
	ts.webhookJob("sync", `,"schedules":[{"every":"1h"}]`)
	ts.call("PUT", "/v1/schedules/theirs", `{"job":"sync","every":"1h"}`).want(201)
	web := as(ts.token(`{"name":"web","scopes":["enqueue"],"jobs":["mail-*"]}`))
	call := func(method, path, body string, headers ...string) *answer {
		return ts.call(method, "/v1/schedules"+path, body, append(headers, web...)...)
	}
	// Its own: one for each customer.
	made := call("PUT", "/customer-7", `{"job":"mail-out","every":"1h"}`).want(201)
	call("POST", "", `{"name":"customer-8","job":"mail-in","every":"1h"}`).want(201)
	call("POST", "", `{"name":"customer-8","job":"mail-in","every":"1h"}`).problem(probExists)
	moved := call("PUT", "/customer-7", `{"job":"mail-in","every":"2h"}`, "If-Match", made.header.Get("ETag")).want(200)
	if moved.field("job") != "mail-in" || moved.field("every") != "2h" {
		t.Errorf("moved: %s", moved.body)
	}
	call("PUT", "/customer-7", `{"job":"mail-in","every":"3h"}`, "If-Match", made.header.Get("ETag")).problem(probStale)
	call("PUT", "/customer-7", `{"job":"mail-in","every":"3h"}`, "If-None-Match", "*").problem(probStale)
	call("DELETE", "/customer-8", "").want(204)
	call("PUT", "/customer-9", `{"job":"mail-none","every":"2h"}`).problem(probInvalid) // there is no such job

	// Others: neither the job that one has, nor the job that it would get.
	before := ts.call("GET", "/v1/schedules/theirs", "").want(200)
	for _, a := range []*answer{
		call("PUT", "/theirs", `{"job":"mail-out","every":"2h"}`),
		call("PUT", "/theirs", `{"job":"mail-out","every":"2h"}`, "If-Match", before.header.Get("ETag")),
		call("PUT", "/theirs", `{"job":"mail-out","every":"2h"}`, "If-None-Match", "*"),
		call("PUT", "/customer-7", `{"job":"sync","every":"2h"}`),
		call("PUT", "/customer-9", `{"job":"sync","every":"2h"}`),
		call("PUT", "/customer-9", `{"job":"absent","every":"2h"}`),
		call("PUT", "/sync:default", `{"job":"mail-out","every":"2h"}`),
		call("PUT", "/absent:default", `{"job":"mail-out","every":"2h"}`),
		call("POST", "", `{"name":"customer-9","job":"sync","every":"2h"}`),
		call("POST", "", `{"name":"theirs","job":"mail-out","every":"2h"}`),
		call("DELETE", "/theirs", ""),
		call("DELETE", "/theirs", "", "If-Match", "*"),
		call("DELETE", "/sync:default", ""),
	} {
		if p := a.problem(probNotFound); strings.Contains(p, "sync") {
			t.Errorf("it tells of a job that the token does not reach: %q", p)
		}
	}
	after := ts.call("GET", "/v1/schedules/theirs", "").want(200)
	if !bytes.Equal(before.body, after.body) {
		t.Errorf("changed from %s to %s", before.body, after.body)
	}
	if got := ts.call("GET", "/v1/schedules/customer-7", "").want(200).field("job"); got != "mail-in" {
		t.Errorf("customer-7 is of %s", got)
	}
	for _, a := range []*answer{
		call("GET", "/customer-7", ""), call("GET", "", ""), call("GET", "/customer-7/ticks", ""),
		call("POST", "/customer-7/pause", ""), call("POST", "/preview", `{"every":"1h"}`),
	} {
		a.problem(probForbidden)
	}
	// One that may operate pauses those of its jobs, and sees no others.
	operator := as(ts.token(`{"name":"operator","scopes":["operate"],"jobs":["mail-*"]}`))
	ts.call("POST", "/v1/schedules/customer-7/pause", "", operator...).want(200)
	ts.call("GET", "/v1/schedules/customer-7/ticks", "", operator...).want(200)
	for _, path := range []string{"GET theirs", "GET theirs/ticks", "POST theirs/pause", "POST sync:default/resume"} {
		method, path, _ := strings.Cut(path, " ")
		ts.call(method, "/v1/schedules/"+path, "", operator...).problem(probNotFound)
	}
}

// Where a schedule goes from job to job, a token never changes one that is not of its jobs at that moment.
func TestANarrowedTokenLosesTheRaceForASchedule(t *testing.T) {
	ts := newTestServer(t)
	ts.webhookJob("mail-out", "")
	ts.webhookJob("sync", "")
	web := as(ts.token(`{"name":"web","scopes":["enqueue"],"jobs":["mail-*"]}`))
	const at = "/v1/schedules/x"
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for i := range 15 {
				every := fmt.Sprintf("%dh", 1+i*4+n)
				if n < 2 {
					ts.call("PUT", at, `{"job":"sync","every":"`+every+`"}`)
					ts.call("DELETE", at, "")
					continue
				}
				if a := ts.call("PUT", at, `{"job":"mail-out","every":"`+every+`"}`, web...); a.status/100 != 2 && a.status != 404 {
					t.Errorf("status %d: %s", a.status, a.body)
				}
				if a := ts.call("DELETE", at, "", web...); a.status != 204 && a.status != 404 {
					t.Errorf("status %d: %s", a.status, a.body)
				}
			}
		})
	}
	group.Wait()
	var audit struct {
		Items []struct {
			Actor, Action, Kind string
			Changes             []jobs.Change
		}
	}
	ts.call("GET", "/v1/audit?limit=1000", "").want(200).into(&audit)
	slices.Reverse(audit.Items)
	stood, changes := "", 0 // the job that it was of
	for _, e := range audit.Items {
		if e.Kind != "schedule" {
			continue
		}
		if e.Actor == "token web" && stood != "" && stood != "mail-out" {
			t.Errorf("%s by %s of one of the job %s", e.Action, e.Actor, stood)
		}
		for _, c := range e.Changes {
			if c.Location == "job" {
				stood = strings.Trim(string(c.After), `"`) // "": it is there no more
			}
		}
		changes++
	}
	if changes < 20 {
		t.Errorf("only %d changes", changes)
	}
}

func TestFaultsOfSchedulesSayWhereAndWhat(t *testing.T) { // cases 19, 41
	ts := newTestServer(t)
	ts.webhookJob("sync", "")
	for body, want := range map[string][]string{
		`{}`:                            {"body.job: is missing", "want exactly one of cron"},
		`{"job":"sync"}`:                {"want exactly one of cron"},
		`{"job":"absent","every":"1h"}`: {"body.job: "},
		`{"job":"sync","every":"1h","cron":"* * * * *"}`:               {"body.every: want exactly one"},
		`{"job":"sync","cron":"* * *"}`:                                {"body.cron: "},
		`{"job":"sync","cron":"61 * * * *"}`:                           {"body.cron: "},
		`{"job":"sync","cron":"0 0 30 2 *"}`:                           {"body.cron: ", "never fires"},
		`{"job":"sync","cron":"0 0 * * *","timezone":"Europe/Berlyn"}`: {"body.timezone: "},
		`{"job":"sync","every":"0s","spread":"-1s","overlap":"maybe","late_after":"0s"}`: {
			"body.every: ", "body.spread: ", "body.overlap: ", "body.late_after: ",
		},
		`{"job":"sync","every":"1h","crontab":"x"}`:                                               {"body.crontab: ", "cron"},
		`{"job":"sync","every":"1h","catch_up":{"mode":"x"}}`:                                     {"body.catch_up.mode: "},
		`{"job":"sync","every":"1h","name":"other"}`:                                              {"body.name: the path names another schedule"},
		`{"job":"sync","every":"1h","start":"tomorrow"}`:                                          {"body.start: "},
		`{"job":"sync","every":"1h","payload":{"a":1,"a":2}}`:                                     {"body.payload"},
		`{"job":"sync","every":"1h","catch_up":{"limit":1e9}}`:                                    {"body.catch_up.limit: "},
		`{"job":"sync","every":"1h","end":"2020-01-01T00:00:00Z","start":"2021-01-01T00:00:00Z"}`: {"body.end: "},
	} {
		p := ts.call("PUT", "/v1/schedules/x", body).problem(probInvalid)
		for _, part := range want {
			if !strings.Contains(p, part) {
				t.Errorf("%s: %q, want %q", body, p, part)
			}
		}
	}
	ts.call("GET", "/v1/schedules/x", "").problem(probNotFound)
	for _, body := range []string{
		`{"job":"sync","every":"1h"}`, `{"name":"sync:night","job":"sync","every":"1h"}`, `{"name":"A b","job":"sync","every":"1h"}`,
	} {
		if p := ts.call("POST", "/v1/schedules", body).problem(probInvalid); strings.Count(p, "\nbody.name: ") != 1 {
			t.Errorf("POST %s: %q", body, p)
		}
	}
	bad := ts.call("PUT", "/v1/schedules/A%20b", `{"name":"A b","job":"sync","every":"1h"}`).problem(probInvalid)
	if strings.Count(bad, "\n") != 1 || !strings.Contains(bad, "\npath.name: ") {
		t.Errorf("what is wrong with a name is not said once: %s", bad)
	}
	ts.call("PUT", "/v1/schedules/x", `{"job":"sync","every":"1h"`).problem(probSyntax)
	ts.call("PUT", "/v1/schedules/x", `{"job":"sync","every":"1h","payload":"`+strings.Repeat("x", 257<<10)+`"}`).problem(probTooLarge)
}

func TestAPreviewIsWhatTheScheduleWouldDo(t *testing.T) {
	ts := newTestServer(t)
	preview := func(body string) *answer { return ts.call("POST", "/v1/schedules/preview", body) }
	for body, want := range map[string]string{
		`{"cron":"0 2 * * *","timezone":"Europe/Berlin","from":"2027-03-27T00:00:00Z","count":3}`: "2027-03-27T01:00:00.000Z " +
			"2027-03-28T01:00:00.000Z 2027-03-29T00:00:00.000Z",
		// From is left out.
		`{"cron":"0 * * * *","from":"2027-10-02T13:00:00Z","count":2}`:                              "2027-10-02T14:00:00.000Z 2027-10-02T15:00:00.000Z",
		`{"every":"90m","from":"2027-01-01T00:00:00Z","count":2}`:                                   "2027-01-01T01:30:00.000Z 2027-01-01T03:00:00.000Z",
		`{"every":"90m","start":"2027-01-01T00:00:00Z","from":"2026-01-01T00:00:00Z","count":2}`:    "2027-01-01T00:00:00.000Z 2027-01-01T01:30:00.000Z",
		`{"cron":"0 0 1 1 *","end":"2028-06-01T00:00:00Z","from":"2027-06-01T00:00:00Z","count":9}`: "2028-01-01T00:00:00.000Z",
		`{"cron":"@reboot"}`: "",
	} {
		a := preview(body).want(200)
		var got struct {
			Items []string
			Reads string
		}
		a.into(&got)
		if text := strings.Join(got.Items, " "); text != want || got.Reads == "" || got.Items == nil {
			t.Errorf("%s: %s, want %s", body, a.body, want)
		}
	}
	var ten struct{ Items []jobs.Time }
	now := ts.rt.Now()
	preview(`{"cron":"* * * * *"}`).want(200).into(&ten)
	if len(ten.Items) != 10 || ten.Items[0] <= now || ten.Items[0].Sub(now).Minutes() > 2 {
		t.Errorf("from now: %v", ten.Items)
	}
	preview(`{"cron":"* * * * *","count":1000}`).want(200).into(&ten)
	if len(ten.Items) != 1000 {
		t.Errorf("a thousand: %d", len(ten.Items))
	}
	for body, want := range map[string]string{
		`{}`:                                   "body: want exactly one of cron",
		`{"cron":"0 0 31 2 *"}`:                "body.cron: ",
		`{"cron":"0 0 * * *","count":0}`:       "body.count: is 0: want a whole number from 1 to 1000",
		`{"cron":"0 0 * * *","count":1001}`:    "body.count: ",
		`{"cron":"0 0 * * *","timezone":"XX"}`: "body.timezone: ",
		`{"every":"10ms"}`:                     "body.every: ",
		`{"every":"1h","job":"sync"}`:          "body.job: unknown field",
		`{"cron":"x","count":0}`:               "body.count: ",
	} {
		p := preview(body).problem(probInvalid)
		if !strings.Contains(p, "\n"+want) || strings.Contains(p, "body.job: is missing") {
			t.Errorf("%s: %q, want %q", body, p, want)
		}
	}
	for field, hint := range map[string]string{
		"tz": `want "timezone"`, "expression": `want "cron"`, "interval": `want "every"`, "until": `want "end"`,
		"job": "a preview does not ask for it", "overlap": "a preview does not ask for it", "enabled": "known here are",
	} {
		body := `{"cron":"* * * * *","` + field + `":"x"}`
		if p := preview(body).problem(probInvalid); !strings.Contains(p, hint) {
			t.Errorf("%s: %q, want %q", field, p, hint)
		}
	}
	ts.call("POST", "/v1/schedules/preview", "").problem(probSyntax)
}

// The examples of the description tell the truth.
func TestExamplesOfSchedulesAreWhatTheServerSays(t *testing.T) {
	ts := newTestServer(t)
	example := samples[sampleKey{id: "preview-schedule"}][0]
	got := ts.call("POST", "/v1/schedules/preview", sampleText(example)).want(200)
	if want := jobs.AppendJSON(nil, new(samplePreviewed())); string(got.body) != string(want)+"\n" {
		t.Errorf("the preview is %s, the example says %s", got.body, want)
	}
	for _, s := range []interface{ Reads() string }{new(sampleSchedule().Schedule), new(sampleScheduleOfJob().Schedule)} {
		want := map[bool]string{true: sampleReads, false: sampleScheduleOfJob().Reads}[s.(*jobs.Schedule).Cron != ""]
		if got := s.Reads(); got != want {
			t.Errorf("the example says %q, it reads %q", want, got)
		}
	}
}
