package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// frames reads a stream of events frame by frame.
type frames struct {
	t     *testing.T
	body  io.Closer
	lines *bufio.Scanner
}

func (ts *testServer) followEvents(t *testing.T, query string, headers ...string) *frames {
	t.Helper()
	if len(headers) == 0 || headers[0] != "Authorization" {
		headers = append(as(ts.admin), headers...)
	}
	res := ts.stream("/v1/events"+query, headers...)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	f := &frames{t: t, body: res.Body, lines: bufio.NewScanner(res.Body)}
	if first, _ := f.next(); first != ":" {
		t.Fatalf("the stream begins with %q", first)
	}
	return f
}

// next is the next frame, its lines parted by bars; false: the stream has ended.
func (f *frames) next() (frame string, ok bool) {
	var lines []string
	for f.lines.Scan() {
		if f.lines.Text() == "" {
			return strings.Join(lines, "|"), true
		}
		lines = append(lines, f.lines.Text())
	}
	return "", false
}

// want fails the test unless the frames that follow are these. Of an event there is its type, its id and
// its subject.
func (f *frames) want(all ...string) {
	f.t.Helper()
	for _, want := range all {
		frame, ok := f.next()
		if e := f.event(frame); e != nil {
			frame = strings.Join([]string{e.Type, e.ID, e.Subject}, " ")
		}
		if !ok || frame != want {
			f.t.Fatalf("the frame is %q (%v), want %q", frame, ok, want)
		}
	}
}

// event is the event that a frame holds; nil: none.
func (f *frames) event(frame string) *jobs.CloudEvent {
	f.t.Helper()
	_, data, found := strings.Cut(frame, "|data: ")
	if !found {
		return nil
	}
	e := &jobs.CloudEvent{}
	if err := json.Unmarshal([]byte(data), e); err != nil {
		f.t.Fatal(err)
	}
	if want := "event: " + e.Type + "|id: " + e.ID + "|data: " + data; frame != want {
		f.t.Fatalf("the frame is %q, want %q", frame, want)
	}
	return e
}

// flap makes two events of the dependency stripe for each time: it is opened and closed.
func (ts *testServer) flap(times int) {
	ts.t.Helper()
	ctx, by := context.Background(), store.By{Actor: "test", Note: "a drill"}
	for range times {
		err := ts.rt.Trip(ctx, "stripe", time.Minute, by)
		if err = errors.Join(err, ts.rt.Reset(ctx, "stripe", by)); err != nil {
			ts.t.Error(err)
		}
	}
}

// opens makes one event as it comes up: a host answers 503 until its breaker opens. It gives the
// event's subject.
func (ts *testServer) opens() string {
	ts.t.Helper()
	ts.hook("failing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		`"retry":{"backoff":{"kind":"fixed","base":"1h","max":"1h"}}`)
	host := strings.TrimPrefix(ts.call("GET", "/v1/jobs/failing", "").want(200).field("webhook.url"), "http://")
	run := `{"job":"failing"}`
	ts.call("POST", "/v1/runs/batch", `{"runs":[`+strings.Repeat(run+",", jobs.DefaultBreakerFailures-1)+run+`]}`).want(202)
	return "dependency/" + host
}

// withEvents is a server with so many pairs of events.
func withEvents(t *testing.T, times int) *testServer {
	t.Helper()
	ts := newTestServer(t)
	ts.hook("pay", ok("1"), `"dependencies":["stripe"]`)
	ts.flap(times)
	return ts
}

const (
	opened = "dependency.opened "
	closed = "dependency.closed "
	stripe = " dependency/stripe"
)

func TestEventsAreFollowedFromNowOnOrBehindAnyOfThem(t *testing.T) {
	ts := withEvents(t, 2)
	now := ts.followEvents(t, "")
	now.want("id: 4") // where it stands: who is cut off here goes on here
	all := ts.followEvents(t, "?after=0")
	all.want(opened+"1"+stripe, closed+"2"+stripe, opened+"3"+stripe, closed+"4"+stripe)
	behind := ts.followEvents(t, "?after=1", "Last-Event-ID", "3") // as a browser that connects again
	behind.want(closed + "4" + stripe)
	last := ts.followEvents(t, "", "Last-Event-ID", "4")
	subject := ts.opens()
	for _, f := range []*frames{now, all, behind, last} {
		f.want(opened + "5 " + subject)
	}
	ts.call("POST", "/v1/dependencies/stripe/trip", "").want(200)
	ts.call("POST", "/v1/dependencies/stripe/reset", "").want(200)
	for _, f := range []*frames{now, all, behind, last} {
		f.want(opened+"6"+stripe, closed+"7"+stripe)
	}
	fresh := ts.followEvents(t, "", "Last-Event-ID", "") // an empty one is none
	fresh.want("id: 7")
}

func TestEventIsACloudEvent(t *testing.T) {
	ts := withEvents(t, 1)
	f := ts.followEvents(t, "?after=0")
	frame, _ := f.next()
	_, data, _ := strings.Cut(frame, "|data: ")
	list := ts.call("GET", "/v1/events", "").want(200)
	var items struct{ Items []jobs.Raw }
	list.into(&items)
	if len(items.Items) != 2 || string(items.Items[1]) != data {
		t.Errorf("the list has %s, the stream %s", items.Items, data)
	}
	var e map[string]any
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, fmt.Sprint(e["time"]))
	if err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("time %v: %v", e["time"], err)
	}
	delete(e, "time")
	inner, _ := e["data"].(map[string]any)
	if until, err := time.Parse(time.RFC3339, fmt.Sprint(inner["until"])); err != nil || until.Sub(at) != time.Minute {
		t.Errorf("until %v: %v", inner["until"], err)
	}
	delete(inner, "until")
	got, _ := json.Marshal(e)
	want := `{"data":{"job":null,"name":"stripe","reason":"tripped: a drill","run":null},"id":"1",` +
		`"source":"` + ts.url + `","specversion":"1.0","subject":"dependency/stripe","type":"dependency.opened"}`
	if string(got) != want {
		t.Errorf("it is\n%s, want\n%s", got, want)
	}
}

func TestFollowerThatIsCutOffLosesAndRepeatsNothing(t *testing.T) {
	ts := withEvents(t, 0)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	first := ts.followEvents(t, "")
	frame, _ := first.next()
	first.body.Close()
	made := make(chan struct{})
	go func() {
		defer close(made)
		ts.flap(20)
		ts.opens()
	}()
	var got []string
	for at := strings.TrimPrefix(frame, "id: "); len(got) < 41; {
		f := ts.followEvents(t, "", "Last-Event-ID", at)
		for n := 1 + random.IntN(6); n > 0 && len(got) < 41; n-- {
			frame, _ := f.next()
			e := f.event(frame)
			if e == nil {
				t.Fatalf("seed %d: %q is no event", seed, frame)
			}
			got, at = append(got, e.ID), e.ID
		}
		f.body.Close()
	}
	<-made
	for i, id := range got {
		if id != fmt.Sprint(i+1) {
			t.Fatalf("seed %d: event %d is %s: %v", seed, i+1, id, got)
		}
	}
}

func TestStreamOfEventsSaysWhatIsNotKeptAnyMore(t *testing.T) {
	ts := withEvents(t, 2)
	later := ts.rt.Now().Add(91 * 24 * time.Hour)
	for done := false; !done; {
		out, err := ts.rt.Store().Prune(t.Context(), store.PruneStep{Now: later, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		done = out.Done
	}
	// All are gone.
	none := ts.followEvents(t, "", "Last-Event-ID", "1")
	none.want(": 3 events are not kept any more", "id: 4")
	known := ts.followEvents(t, "", "Last-Event-ID", "4")
	ts.flap(1)
	subject := ts.opens()
	gone := ts.followEvents(t, "", "Last-Event-ID", "3")
	gone.want(": 1 event is not kept any more", opened+"5"+stripe, closed+"6"+stripe, opened+"7 "+subject)
	for _, f := range []*frames{none, known} {
		f.want(opened+"5"+stripe, closed+"6"+stripe, opened+"7 "+subject)
	}
}

func TestStreamOfEventsThatDoNotExistYetStartsFromNow(t *testing.T) {
	ts := withEvents(t, 1)
	for query, header := range map[string]string{"": "900", "?after=900": ""} {
		f := ts.followEvents(t, query, "Last-Event-ID", header)
		f.want(": there is no event 900, the newest is 2: is this an older file? What comes from now on follows", "id: 2")
	}
	f := ts.followEvents(t, "", "Last-Event-ID", "900")
	f.want(": there is no event 900, the newest is 2: is this an older file? What comes from now on follows", "id: 2")
	f.want(opened + "3 " + ts.opens())
}

func TestEventsAreChosenByType(t *testing.T) {
	ts := withEvents(t, 2)
	f := ts.followEvents(t, "?after=0&type="+jobs.EventDependencyClosed)
	f.want(closed+"2"+stripe, closed+"4"+stripe)
	ts.opens()
	f.want("id: 5") // past what it is not told of
	both := ts.followEvents(t, "?after=3&type=dependency.closed,dependency.opened")
	both.want(closed + "4" + stripe)
	list := ts.call("GET", "/v1/events?type=dependency.closed&type=dependency.closed", "").want(200)
	if list.field("items.0.id") != "4" || list.field("items.1.id") != "2" || list.field("items.2.id") != "" {
		t.Errorf("the list is %s", list.body)
	}
}

func TestEventsAreAListWhereJSONIsAsked(t *testing.T) {
	ts := withEvents(t, 2)
	var got []string
	for cursor := ""; ; {
		page := ts.call("GET", "/v1/events?limit=3"+cursor, "").want(200)
		for i := range 4 {
			if id := page.field(fmt.Sprintf("items.%d.id", i)); id != "" {
				got = append(got, id)
			}
		}
		if cursor = "&cursor=" + page.field("next"); cursor == "&cursor=" {
			break
		}
		ts.flap(1) // what comes meanwhile moves nothing
	}
	if all := strings.Join(got, " "); all != "4 3 2 1" {
		t.Errorf("the list holds %s", all)
	}
	after := ts.call("GET", "/v1/events?after=5", "", "Accept", "text/html, application/json;q=0.9").want(200)
	if after.field("items.0.id") != "6" || after.field("items.1.id") != "" || after.field("limit") != "50" {
		t.Errorf("after one there is %s", after.body)
	}
	if f := ts.followEvents(t, "?after=5", "Accept", "application/json, text/event-stream"); f != nil {
		f.want(closed + "6" + stripe)
	}
	for accept, media := range map[string]string{"application/json": "application/json", "*/*": "text/event-stream"} {
		if got := ts.call("HEAD", "/v1/events", "", "Accept", accept).want(200); got.header.Get("Content-Type") != media {
			t.Errorf("HEAD for %s: %v", accept, got.header)
		}
	}
}

func TestWhatIsWrongWithACallForEventsIsTold(t *testing.T) {
	ts := newTestServer(t)
	stream := []string{"Accept", "text/event-stream"}
	for _, c := range []struct {
		query, want string
		headers     []string
	}{
		{"", "header.Last-Event-ID: want the id of an event: a number such as 412", append(stream, "Last-Event-ID", "x")},
		{"", "header.Last-Event-ID: want the id of an event", append(stream, "Last-Event-ID", "-1")},
		{"", "header.Last-Event-ID: want the id of an event", append(stream, "Last-Event-ID", "99999999999999999999")},
		{"?after=1.5", "query.after: want the id of an event", stream},
		{"?after=", "query.after: want the id of an event", nil},
		{"?type=run.exploded", "query.type: want one of run.failed, run.recovered", stream},
		{"?type=", "query.type: want one of", nil},
		{"?limit=5", "query.limit: belongs to a list: send Accept: application/json", stream},
		{"?cursor=5", "query.cursor: belongs to a list: send Accept: application/json", []string{"Accept", "*/*"}},
		{"?cursor=x", "query.cursor: not a cursor of this list", nil},
		{"?types=a", "query.types: unknown: this route knows type, after, live, limit, cursor", nil},
	} {
		if got := ts.call("GET", "/v1/events"+c.query, "", c.headers...).problem(probInvalid); !strings.Contains(got, c.want) {
			t.Errorf("%q %q: %q, want %q", c.query, c.headers, got, c.want)
		}
	}
}

func TestNarrowedTokenHearsOfItsJobsAlone(t *testing.T) {
	ts := withEvents(t, 1)
	narrow := as(ts.token(`{"name":"n","scopes":["read"],"jobs":["pay*","failing"]}`))
	// What is shared is of no job.
	if got := ts.call("GET", "/v1/events", "", narrow...).want(200); got.field("items.0.id") != "" {
		t.Errorf("the list is %s", got.body)
	}
	f := ts.followEvents(t, "?after=0", narrow...)
	f.want("id: 2")
	ts.opens()
	f.want("id: 3")
	all, some := &identity{}, &identity{Token: store.Token{Jobs: []string{"mail-*"}}}
	for job, hears := range map[string]bool{"": false, "mail-out": true, "sync": false} {
		e := &store.Event{Job: job}
		if some.hears(e) != hears || !all.hears(e) {
			t.Errorf("of the job %q a narrowed token hears: %v, another: %v", job, some.hears(e), all.hears(e))
		}
	}
}

func TestStreamOfEventsEndsWithItsToken(t *testing.T) {
	ts := withEvents(t, 1)
	f := ts.followEvents(t, "", as(ts.token(`{"name":"r","scopes":["read"]}`))...)
	f.want("id: 2")
	revoked := time.Now()
	ts.call("DELETE", "/v1/tokens/r", "").want(204)
	if frame, ok := f.next(); ok {
		t.Errorf("it goes on with %q", frame)
	}
	if took := time.Since(revoked); took > 5*time.Second {
		t.Errorf("it ended after %s", took)
	}
	ts.await("the stream to be given back", func() bool { return ts.api.streams.Load() == 0 })
}

// What the list answers is checked against the description on the way.
func TestEventsOfWhatIsStuckAndLateAreListed(t *testing.T) {
	ts := newTestServer(t)
	for _, e := range sampleWatched() {
		err := ts.rt.Store().Happened(t.Context(), store.Event{
			At: ts.rt.Now(), Type: e.Type, Subject: e.Subject, Data: e.Data,
		})
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Items []jobs.CloudEvent }
		ts.call("GET", "/v1/events?type="+e.Type, "").want(200).into(&list)
		if len(list.Items) != 1 || list.Items[0].Subject != e.Subject || string(list.Items[0].Data) != string(e.Data) {
			t.Errorf("of the type %s there are %+v", e.Type, list.Items)
		}
	}
}
