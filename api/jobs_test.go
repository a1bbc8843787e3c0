package api

import (
	"fmt"
	"strings"
	"testing"
)

const hookDoc = `{"webhook":{"url":"http://127.0.0.1:9/"}}`

func TestPutMakesReplacesAndLeavesAlone(t *testing.T) {
	ts := newTestServer(t)
	made := ts.call("PUT", "/v1/jobs/a", hookDoc).want(201)
	if made.header.Get("Location") != "/v1/jobs/a" || made.field("version") != "1" || made.field("name") != "a" {
		t.Errorf("made: %v %s", made.header, made.body)
	}
	same := ts.call("PUT", "/v1/jobs/a", `{ "name" : "a", "webhook": {"url": "http://127.0.0.1:9/"}, "version": 7}`).want(200)
	if same.header.Get("ETag") != made.header.Get("ETag") || same.field("updated_at") != made.field("updated_at") {
		t.Errorf("the same document changed the job: %s, then %s", made.body, same.body)
	}
	policy := ts.call("PUT", "/v1/jobs/a", `{"webhook":{"url":"http://127.0.0.1:9/"},"priority":5}`).want(200)
	if policy.header.Get("ETag") == made.header.Get("ETag") || policy.field("version") != "1" {
		t.Errorf("a change of policy: ETag %s, version %s", policy.header.Get("ETag"), policy.field("version"))
	}
	work := ts.call("PUT", "/v1/jobs/a", `{"webhook":{"url":"http://127.0.0.1:9/v2"}}`).want(200)
	if work.field("version") != "2" {
		t.Errorf("a change of what is executed: version %s", work.field("version"))
	}
	got := ts.call("GET", "/v1/jobs/a", "").want(200)
	if string(got.body) != string(work.body) || got.header.Get("ETag") != work.header.Get("ETag") {
		t.Errorf("GET gives %s, PUT gave %s", got.body, work.body)
	}
	ts.call("GET", "/v1/jobs/a", "", "If-None-Match", got.header.Get("ETag")).want(304)
	ts.call("GET", "/v1/jobs/a", "", "If-None-Match", `"0"`).want(200)
	// What GET gives can be put.
	ts.call("PUT", "/v1/jobs/a", string(got.body)).want(200)
}

func TestPostRefusesWhatStands(t *testing.T) {
	ts := newTestServer(t)
	ts.call("POST", "/v1/jobs", hookDoc).problem(probInvalid)
	ts.call("POST", "/v1/jobs", `{"name":"A","webhook":{"url":"http://h/"}}`).problem(probInvalid)
	ts.call("POST", "/v1/jobs", `{"name":"a","webhook":{"url":"http://h/"}}`).want(201)
	ts.call("POST", "/v1/jobs", `{"name":"a","webhook":{"url":"http://h/"}}`).problem(probExists)
}

// A pause is no change of the document, but a reader must see it.
func TestPauseChangesTheTagOfReadersAlone(t *testing.T) {
	ts := newTestServer(t)
	free := ts.call("PUT", "/v1/jobs/a", hookDoc).want(201).header.Get("ETag")
	seen := map[string]bool{free: true}
	for _, note := range []string{"one", "two"} {
		paused := ts.call("POST", "/v1/jobs/a/pause", `{"note":"`+note+`"}`).want(200).header.Get("ETag")
		if seen[paused] {
			t.Errorf("the tag %s stands for two answers", paused)
		}
		seen[paused] = true
		ts.call("GET", "/v1/jobs/a", "", "If-None-Match", free).want(200)
		ts.call("GET", "/v1/jobs/a", "", "If-None-Match", paused).want(304)
		for _, tag := range []string{free, paused} {
			ts.call("PUT", "/v1/jobs/a", hookDoc, "If-Match", tag).want(200)
		}
	}
	if again := ts.call("POST", "/v1/jobs/a/resume", "").want(200).header.Get("ETag"); again != free {
		t.Errorf("resumed: %s, was %s", again, free)
	}
}

func TestIfMatchGuardsChanges(t *testing.T) {
	ts := newTestServer(t)
	ts.call("PUT", "/v1/jobs/a", hookDoc, "If-Match", "*").problem(probStale)
	ts.call("PUT", "/v1/jobs/a", hookDoc, "If-Match", `"1"`).problem(probStale)
	first := ts.call("PUT", "/v1/jobs/a", hookDoc, "If-None-Match", "*").want(201).header.Get("ETag")
	ts.call("PUT", "/v1/jobs/a", hookDoc, "If-None-Match", "*").problem(probStale)
	change := func(n int, match string) *answer {
		doc := fmt.Sprintf(`{"webhook":{"url":"http://h/"},"priority":%d}`, n)
		return ts.call("PUT", "/v1/jobs/a", doc, "If-Match", match)
	}
	second := change(1, first).want(200).header.Get("ETag")
	change(2, first).problem(probStale)
	change(2, `W/`+second).problem(probStale)
	change(2, `"x", `+second).want(200)
	change(3, "*").want(200)
	for _, bad := range []string{"3", `"3`, "", `"1" "2"`} {
		if bad == "" {
			bad = ","
		}
		if got := change(4, bad).problem(probInvalid); !strings.Contains(got, "header.If-Match: ") {
			t.Errorf("If-Match %s: %s", bad, got)
		}
	}
	ts.call("DELETE", "/v1/jobs/a", "", "If-Match", first).problem(probStale)
	ts.call("DELETE", "/v1/jobs/a", "", "If-Match", "*").want(200)
	ts.call("DELETE", "/v1/jobs/a", "").problem(probNotFound)
}

func TestPausedJobKeepsQueueing(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	paused := ts.call("POST", "/v1/jobs/a/pause", `{"note":"maintenance"}`).want(200)
	if paused.field("paused") != "true" || paused.field("pause_note") != "maintenance" {
		t.Errorf("paused: %s", paused.body)
	}
	made := ts.call("POST", "/v1/jobs/a/runs", "").want(202)
	id := made.field("id")
	for _, held := range []*answer{made, ts.until(id, "queued")} {
		if got := held.field("held_by.kind") + ": " + held.field("held_by.reason"); got != "paused: maintenance" {
			t.Errorf("held by %s", held.body)
		}
	}
	if list := ts.call("GET", "/v1/runs", ""); list.field("items.0.held_by.reason") != "maintenance" {
		t.Errorf("held by %s", list.body)
	}
	// A PUT leaves the pause alone.
	if got := ts.call("PUT", "/v1/jobs/a", hookDoc).want(200); got.field("paused") != "true" {
		t.Errorf("after PUT: %s", got.body)
	}
	ts.hook("a", ok(`2`))
	ts.call("POST", "/v1/jobs/a/resume", "").want(200)
	if done := ts.until(id, "succeeded"); done.field("result") != "1" {
		t.Errorf("the run is pinned to what it was made for: %s", done.body)
	}
	ts.call("POST", "/v1/jobs/a/pause", `{"note":"`+strings.Repeat("x", 1025)+`"}`).problem(probInvalid)
	ts.call("POST", "/v1/jobs/b/pause", "").problem(probNotFound)
}

func TestVersionsAreKept(t *testing.T) {
	ts := newTestServer(t)
	for _, url := range []string{"http://h/1", "http://h/2", "http://h/3"} {
		ts.call("PUT", "/v1/jobs/a", `{"webhook":{"url":"`+url+`"}}`)
	}
	page := ts.call("GET", "/v1/jobs/a/versions?limit=2", "").want(200)
	if page.field("items.0.version") != "3" || page.field("items.1.version") != "2" {
		t.Errorf("versions: %s", page.body)
	}
	rest := ts.call("GET", "/v1/jobs/a/versions?limit=2&cursor="+page.field("next"), "").want(200)
	if rest.field("items.0.version") != "1" || rest.field("next") != "" {
		t.Errorf("the rest: %s", rest.body)
	}
	if got := ts.call("GET", "/v1/jobs/a/versions/2", "").want(200); got.field("webhook.url") != "http://h/2" {
		t.Errorf("version 2: %s", got.body)
	}
	for _, n := range []string{"0", "4", "x", "-1", "99999999999999999999"} {
		ts.call("GET", "/v1/jobs/a/versions/"+n, "").problem(probNotFound)
	}
}

func TestUpgradeMovesUnfinishedRuns(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", `{"delay":"1h"}`)
	ts.hook("a", ok(`2`))
	if got := ts.call("GET", "/v1/runs/"+id, ""); got.field("version") != "1" {
		t.Errorf("a change of the job moved the run: %s", got.body)
	}
	if got := ts.call("POST", "/v1/jobs/a/upgrade-runs", "").want(200); got.field("upgraded_runs") != "1" {
		t.Errorf("upgraded: %s", got.body)
	}
	if got := ts.call("GET", "/v1/runs/"+id, ""); got.field("version") != "2" {
		t.Errorf("not upgraded: %s", got.body)
	}
}

func TestDeletingAJobCancelsWhatDoesNotRun(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("a", ok(`1`))
	id := ts.enqueue("a", `{"delay":"1h"}`)
	if got := ts.call("DELETE", "/v1/jobs/a", "").want(200); got.field("cancelled_runs") != "1" {
		t.Errorf("deleted: %s", got.body)
	}
	ts.until(id, "cancelled")
	ts.call("POST", "/v1/jobs/a/runs", "").problem(probNotFound)
	if got := ts.call("POST", "/v1/runs/"+id+"/requeue", "").problem(probState); !strings.Contains(got, "deleted") {
		t.Errorf("requeue: %s", got)
	}
	// What happened can still be read.
	if got := ts.call("GET", "/v1/runs?job=a", "").want(200); got.field("items.0.id") != id {
		t.Errorf("history: %s", got.body)
	}
	ts.call("GET", "/v1/runs/"+id, "").want(200)
	ts.call("GET", "/v1/runs/"+id+"/log", "").want(200)
	// Made again, it goes on with its versions.
	if got := ts.call("PUT", "/v1/jobs/a", hookDoc).want(201); got.field("version") != "2" {
		t.Errorf("made again: %s", got.body)
	}
}

func TestListsOfJobsLeaveOutPayloads(t *testing.T) {
	ts := newTestServer(t)
	for i := range 5 {
		ts.call("PUT", fmt.Sprintf("/v1/jobs/j%d", i), `{"webhook":{"url":"http://h/"},"payload":{"x":1}}`).want(201)
	}
	seen := map[string]bool{}
	next := ""
	for {
		page := ts.call("GET", "/v1/jobs?limit=2"+next, "").want(200)
		if strings.Contains(string(page.body), "payload") {
			t.Errorf("a row holds its payload: %s", page.body)
		}
		for i := range 2 {
			if name := page.field(fmt.Sprintf("items.%d.name", i)); name != "" {
				if seen[name] {
					t.Errorf("%s came twice", name)
				}
				seen[name] = true
			}
		}
		if page.field("next") == "" {
			break
		}
		next = "&cursor=" + page.field("next")
	}
	if len(seen) != 5 {
		t.Errorf("saw %v", seen)
	}
}

func TestApplyIsAllOrNothing(t *testing.T) {
	ts := newTestServer(t)
	good := `{"name":"a","webhook":{"url":"http://h/"}}`
	bad := `{"name":"b","webhook":{"url":"http://h/"},"retry":{"rules":[{"if":"nonsense ==","then":"fail"}]}}`
	got := ts.call("POST", "/v1/apply", `{"jobs":[`+good+`,`+bad+`]}`).problem(probInvalid)
	if !strings.Contains(got, "body.jobs[1].retry.rules[0].if: ") {
		t.Errorf("faults: %s", got)
	}
	ts.call("GET", "/v1/jobs/a", "").problem(probNotFound)
	got = ts.call("POST", "/v1/apply", `{"jobs":[`+bad+`]}`).problem(probInvalid)
	if !strings.Contains(got, "body.jobs[0].retry.rules[0].if: ") {
		t.Errorf("faults of one job: %s", got)
	}
	done := ts.call("POST", "/v1/apply", `{"jobs":{"a":{"webhook":"http://h/"},"b":{"script":"true"}}}`).want(200)
	if done.field("items.0.action") != "created" || done.field("items.1.name") != "b" {
		t.Errorf("applied: %s", done.body)
	}
	again := ts.call("POST", "/v1/apply", `{"jobs":{"a":{"webhook":"http://h/"},"b":{"script":"false"}}}`).want(200)
	if again.field("items.0.action") != "unchanged" || again.field("items.1.action") != "changed" {
		t.Errorf("applied again: %s", again.body)
	}
	ts.call("POST", "/v1/apply", "jobs:\n  a: {webhook: 'http://h/'}\n").problem(probSyntax)
	ts.call("POST", "/v1/apply", `[]`).problem(probInvalid)
}

func TestNamesAreNoPaths(t *testing.T) {
	ts := newTestServer(t)
	for _, name := range []string{
		"..", "%2e%2e", "..%5c", "%00", "a%0ab", ".", "A", strings.Repeat("a", 101), "%e2%80%aea", "a%2fb", "-a", "a%20b",
	} {
		put := ts.call("PUT", "/v1/jobs/"+name, hookDoc).problem(probInvalid)
		if !strings.Contains(put, "path.name: want 1 to 100 of a-z") {
			t.Errorf("PUT of %s: %s", name, put)
		}
		ts.call("GET", "/v1/jobs/"+name, "").problem(probNotFound)
	}
	ts.call("PUT", "/v1/jobs/"+strings.Repeat("a", 100), hookDoc).want(201)
}
