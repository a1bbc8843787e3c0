package api

import (
	"encoding/json"
	"strings"
	"testing"

	"nightshift/jobs"
)

// change is the run that the next live event of a stream tells of.
func (f *frames) change() (data jobs.RunChanged) {
	f.t.Helper()
	for {
		frame, ok := f.next()
		if !ok {
			f.t.Fatal("the stream has ended")
		}
		text, found := strings.CutPrefix(frame, "event: run.changed|data: ")
		if !found {
			if strings.Contains(frame, "data: ") {
				f.t.Fatalf("the frame is %q", frame)
			}
			continue
		}
		var e jobs.CloudEvent
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			f.t.Fatal(err)
		}
		if e.Type != jobs.EventRunChanged || e.ID == "" || e.SpecVersion != "1.0" || e.Source == "" || e.Time == 0 {
			f.t.Fatalf("the event is %s", text)
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			f.t.Fatal(err)
		}
		if !data.Run.IsNil() && e.Subject != "run/"+data.Run.String() {
			f.t.Fatalf("the event is %s", text)
		}
		return data
	}
}

func TestLiveEventsTellHowRunsChangeAsItHappens(t *testing.T) {
	ts := newTestServer(t)
	receive, open := gate(t)
	ts.hook("slow", receive)
	f := ts.followEvents(t, "?live=1&type=run.changed")
	if frame, _ := f.next(); !strings.HasPrefix(frame, "id: ") { // it follows from here on
		t.Fatalf("the stream goes on with %q", frame)
	}
	id := ts.enqueue("slow", "{}")
	awaitState := func(want string) {
		t.Helper()
		for {
			if c := f.change(); c.Run.String() == id && *c.Job == "slow" && c.State == want {
				return
			}
		}
	}
	awaitState("running")
	open()
	awaitState("succeeded")
	for _, query := range []string{"?live=2", "?live=1&live=1", "?type=run.changed"} {
		ts.call("GET", "/v1/events"+query, "", "Accept", "text/event-stream").want(422)
	}
	ts.call("GET", "/v1/events?live=1", "").want(422) // a list holds what is kept
}

func TestANarrowedTokenFollowsTheRunsOfItsJobs(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("mine", ok("{}"))
	ts.hook("theirs", ok("{}"))
	secret := ts.token(`{"name":"narrow","scopes":["read"],"jobs":["mine"]}`)
	f := ts.followEvents(t, "?live=1", "Authorization", "Bearer "+secret)
	if frame, _ := f.next(); !strings.HasPrefix(frame, "id: ") {
		t.Fatalf("the stream goes on with %q", frame)
	}
	theirs := ts.enqueue("theirs", "{}")
	ts.until(theirs, "succeeded")
	mine := ts.enqueue("mine", "{}")
	for {
		c := f.change()
		if c.Job != nil && *c.Job != "mine" {
			t.Fatalf("it hears of a run of %s", *c.Job)
		}
		if c.Run.String() == mine && c.State == "succeeded" {
			return
		}
	}
}

func TestAFollowerThatIsFarBehindIsToldThatMuchHasChanged(t *testing.T) {
	ts := newTestServer(t)
	ts.hook("many", ok("{}"))
	f := ts.followEvents(t, "?live=1&type=run.changed")
	if frame, _ := f.next(); !strings.HasPrefix(frame, "id: ") {
		t.Fatalf("the stream goes on with %q", frame)
	}
	runs := strings.Repeat(`{"job":"many","delay":"1h"},`, 999) + `{"job":"many","delay":"1h"}`
	ts.call("POST", "/v1/runs/batch", `{"runs":[`+runs+`]}`).want(202)
	seen := map[jobs.ID]bool{}
	for {
		c := f.change()
		if c.Run.IsNil() {
			break
		}
		if seen[c.Run] || c.State != "scheduled" {
			t.Fatalf("%s is told twice, or as %s", c.Run, c.State)
		}
		seen[c.Run] = true
	}
	if len(seen) != 500 {
		t.Errorf("%d runs were told of one by one, want 500", len(seen))
	}
}
