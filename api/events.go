package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// eventBatch is how many events a stream reads at once.
const eventBatch = 500

// eventParams are the parameters of the route of events.
func eventParams() []param {
	return append([]param{
		{
			name: "type", many: true, enum: jobs.EventTypes, wrong: wrongEventType,
			doc: "may be repeated, or hold several with commas",
		},
		{
			name: "after", integer: true, wrong: wrongEvent,
			doc: "only what comes after the event of this id; 0: all that is kept",
		},
		{
			name: "live", enum: []string{"1"}, wrong: wrongLive,
			doc: "1: a stream tells " + jobs.EventRunChanged + " too, whenever a run is made or changes, as it happens",
		},
	}, paging...)
}

func wrongEventType(values []string) string {
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if !slices.Contains(jobs.EventTypes, name) && name != jobs.EventRunChanged {
			return "want one of " + strings.Join(jobs.EventTypes, ", ")
		}
	}
	return ""
}

func wrongEvent(values []string) string {
	if n, err := strconv.ParseInt(values[0], 10, 64); err != nil || n < 0 {
		return "want the id of an event: a number such as 412, or 0 for all that is kept"
	}
	return ""
}

func wrongLive(values []string) string {
	if values[0] != "1" {
		return "want 1, or leave it out"
	}
	return ""
}

// wants reports whether the caller wants events of a type.
func (c *call) wants(name string) bool {
	types := c.eventTypes()
	return types == nil || slices.Contains(types, name)
}

// wrongLastEvent lets an empty header pass: it is as good as none.
func wrongLastEvent(lines []string) string {
	if lines[0] == "" {
		return ""
	}
	return wrongEvent(lines)
}

// eventTypes reads ?type=; nil: all.
func (c *call) eventTypes() []string {
	if len(c.query["type"]) == 0 {
		return nil
	}
	return strings.Split(strings.Join(c.query["type"], ","), ",")
}

// getEvents follows events, unless a list is asked for.
func getEvents(c *call) error {
	if names(c.Request(), "application/json") && !names(c.Request(), "text/event-stream") {
		return c.listEvents()
	}
	if c.wants(jobs.EventRunChanged) && len(c.query["type"]) > 0 && !c.query.Has("live") {
		return fault("query.type", "%s is told where live=1 is", jobs.EventRunChanged)
	}
	for _, name := range []string{"limit", "cursor"} {
		if c.query.Has(name) {
			return fault("query."+name, "belongs to a list: send Accept: application/json for one")
		}
	}
	if c.Request().Method == http.MethodHead {
		c.Response().Header().Set("Content-Type", "text/event-stream")
		return c.NoContent(200)
	}
	return c.followEvents()
}

func (c *call) listEvents() error {
	if c.query.Has("live") {
		return fault("query.live", "belongs to a stream: what it tells is kept nowhere")
	}
	page := c.page()
	f := store.EventFilter{Types: c.eventTypes(), Allowed: c.who.Jobs}
	f.After, _ = strconv.ParseInt(c.query.Get("after"), 10, 64)
	items, next, err := c.s.rt.Store().EventList(c.ctx(), f, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.Events{
		Items: make([]jobs.CloudEvent, len(items)), Next: orNull(next), Limit: page.Limit,
	}
	for i := range items {
		list.Items[i] = c.s.cloudEvent(&items[i])
	}
	return c.answer(200, &list)
}

func (s *Server) cloudEvent(e *store.Event) jobs.CloudEvent {
	return jobs.CloudEvent{
		SpecVersion: jobs.CloudEventsVersion, ID: strconv.FormatInt(e.ID, 10), Source: s.base,
		Type: e.Type, Subject: e.Subject, Time: e.At, Data: e.Data,
	}
}

// followEvents tells events as they are kept, until the caller leaves.
func (c *call) followEvents() error {
	// Asked for before any are read, so that none falls between.
	changed, stop := c.s.rt.EventChanges()
	defer stop()
	newest, err := c.s.rt.Store().NewestEvent(c.ctx())
	if err != nil {
		return err
	}
	out, err := c.openEvents()
	if err != nil {
		return err
	}
	defer out.stop()
	t := &teller{events: out, types: c.eventTypes()}
	var runs *runTeller
	if c.query.Has("live") && c.wants(jobs.EventRunChanged) {
		f, stop := c.s.rt.Follow()
		defer stop()
		runs = &runTeller{events: out, follower: f}
	}
	for err = t.start(newest); err == nil; {
		select {
		case <-changed:
			err = t.tell()
		case <-runs.due():
			err = runs.tell()
		case <-out.ctx.Done():
			return nil
		}
	}
	if out.ctx.Err() != nil {
		return nil // the reader has left, the token is gone or the server stops
	}
	return err
}

// teller tells events to one reader, in the order of their ids.
type teller struct {
	*events
	types []string // nil: all
	at    int64    // the last event that was looked at
	known int64    // where the reader would go on, were it cut off now
}

// unknown is where a reader stands that was told nothing yet.
const unknown = -1

// start tells what came after the event that the reader names. Where it names none, or one that is
// not there, it begins with what comes from now on.
func (t *teller) start(newest int64) error {
	after, given := t.c.lastEvent()
	t.at, t.known = after, after
	switch {
	case !given:
		t.at, t.known = newest, unknown
		t.stand()
	case after > newest:
		t.remark(fmt.Sprintf("there is no event %d, the newest is %d: is this an older file? "+
			"What comes from now on follows", after, newest))
		t.at = newest
		t.stand()
	}
	if err := t.tell(); err != nil {
		return err
	}
	t.skip(newest)
	t.stand()
	return nil
}

// lastEvent is the event behind which the reader wants to go on. The header wins: browsers send it
// when they connect again, to the same address.
func (c *call) lastEvent() (id int64, given bool) {
	text := c.Request().Header.Get("Last-Event-ID")
	if text == "" {
		text = c.query.Get("after")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil
}

// tell sends what was kept since it was called before.
func (t *teller) tell() error {
	for {
		list, err := t.c.s.rt.Events(t.ctx, t.at, eventBatch)
		if err != nil {
			return err
		}
		for i := range list {
			t.one(&list[i])
		}
		t.stand()
		if len(list) < eventBatch {
			return nil
		}
	}
}

func (t *teller) one(e *store.Event) {
	t.skip(e.ID - 1)
	t.at = e.ID
	if t.types != nil && !slices.Contains(t.types, e.Type) || !t.c.who.hears(e) {
		return
	}
	view := t.c.s.cloudEvent(e)
	t.send(e.Type, view.ID, &view)
	t.known = e.ID
}

// hears reports whether the token may know of the event: a narrowed one of those of its jobs alone.
func (id *identity) hears(e *store.Event) bool {
	return id.Jobs == nil || e.Job != "" && id.reaches(e.Job)
}

// skip goes on to an event, and says how many before it have been pruned.
func (t *teller) skip(to int64) {
	switch n := to - t.at; {
	case n == 1:
		t.remark("1 event is not kept any more")
	case n > 1:
		t.remark(fmt.Sprintf("%d events are not kept any more", n))
	default:
		return
	}
	t.at = to
}

// stand tells the reader how far the stream has come, past what it is not told of, so that it goes
// on from there. An id without data is no event.
func (t *teller) stand() {
	if t.known != t.at {
		t.mark(strconv.FormatInt(t.at, 10))
		t.known = t.at
	}
}
