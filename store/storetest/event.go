package storetest

import (
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// dependent makes a job that names the dependency stripe.
func dependent(w *world) {
	w.Helper()
	w.put(webhook("a", "", `,"dependencies":["stripe"]`))
}

// trip and reset keep an event each.
func (w *world) trip() {
	w.Helper()
	w.check(w.Trip(w.ctx, "stripe", 0, w.by()))
}

func (w *world) reset() {
	w.Helper()
	w.check(w.Reset(w.ctx, "stripe", w.by()))
}

// flap trips and resets n times: two events each.
func (w *world) flap(n int) {
	w.Helper()
	for range n {
		w.trip()
		w.reset()
	}
}

func (w *world) events(after int64, limit int) []store.Event {
	w.Helper()
	list, err := w.Events(w.ctx, after, limit)
	w.check(err)
	return list
}

func (w *world) newestEvent() int64 {
	w.Helper()
	n, err := w.NewestEvent(w.ctx)
	w.check(err)
	return n
}

func eventIDs(list []store.Event) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprint(e.ID))
	}
	return strings.Join(all, " ")
}

// eventPages reads the list to its end: pages are parted by a bar.
func eventPages(w *world, f store.EventFilter, limit int) string {
	w.Helper()
	var pages []string
	for p := (store.Page{Limit: limit}); ; {
		list, next, err := w.EventList(w.ctx, f, p)
		w.check(err)
		pages = append(pages, eventIDs(list))
		if p.Cursor = next; next == "" {
			return strings.Join(pages, "|")
		}
	}
}

var eventClaims = []claim{
	{"BreakerTellsOfItselfInTheTransactionThatMovesIt", breakerEvents},
	{"EventByHandSaysWhy", func(w *world) {
		dependent(w)
		by := w.by()
		by.Note = "they move"
		w.check(w.Trip(w.ctx, "stripe", time.Minute, by))
		opened := w.now
		w.trip() // it is open already
		w.tick(time.Second)
		by = w.by()
		by.Note = "they have moved"
		w.check(w.Reset(w.ctx, "stripe", by))
		w.reset() // it is closed already
		equal(w, "events", diff(w.events(0, 9), []store.Event{
			{
				ID: 1, At: opened, Type: jobs.EventDependencyOpened, Subject: "dependency/stripe",
				Data: jobs.Raw(`{"name":"stripe","reason":"tripped: they move","until":"` + opened.Add(time.Minute).String() +
					`","run":null,"job":null}`),
			},
			{
				ID: 2, At: w.now, Type: jobs.EventDependencyClosed, Subject: "dependency/stripe",
				Data: jobs.Raw(`{"name":"stripe","reason":"reset: they have moved","opened_at":"` + opened.String() +
					`","run":null,"job":null}`),
			},
		}), "")
	}},
	{"ChangeThatIsRefusedKeepsNoEventAndLeavesNoGap", func(w *world) {
		equal(w, "the newest of none", w.newestEvent(), 0)
		dependent(w)
		w.trip()
		w.wantErr(w.Trip(w.ctx, "absent", 0, w.by()), store.ErrNotFound)
		w.wantErr(w.Reset(w.ctx, "absent", w.by()), store.ErrNotFound)
		w.reset()
		equal(w, "events", eventIDs(w.events(0, 9)), "1 2")
	}},
	{"EventsGoOnAfterAnyOfThem", func(w *world) {
		dependent(w)
		w.flap(2)
		w.trip()
		w.reopen()
		for after, want := range map[int64]string{0: "1 2 3", 2: "3 4 5", 4: "5", 5: "", 99: ""} {
			equal(w, fmt.Sprintf("what comes after %d", after), eventIDs(w.events(after, 3)), want)
		}
		equal(w, "the newest", w.newestEvent(), 5)
	}},
	{"ListOfEventsIsNewestFirstAndNarrowed", func(w *world) {
		dependent(w)
		w.flap(3)
		for _, c := range []struct {
			name string
			f    store.EventFilter
			want string
		}{
			{"all", store.EventFilter{}, "6 5|4 3|2 1"},
			{"of a type", store.EventFilter{Types: []string{jobs.EventDependencyClosed}}, "6 4|2"},
			{"of no type", store.EventFilter{Types: []string{}}, ""},
			{"after one", store.EventFilter{After: 3}, "6 5|4"},
			{"of any job", store.EventFilter{Allowed: []string{"*"}}, ""}, // a dependency is of none
		} {
			equal(w, c.name, eventPages(w, c.f, 2), c.want)
		}
		_, _, err := w.EventList(w.ctx, store.EventFilter{}, store.Page{Limit: 1, Cursor: "x"})
		wantInvalid(w, err, "cursor")
	}},
	{"EventsAreKeptFor90Days", func(w *world) {
		dependent(w)
		w.flap(10)
		w.tick(time.Hour)
		w.flap(1)
		w.tick(90*day - time.Hour)
		prune(w)
		equal(w, "events on the 90th day", len(w.events(0, 99)), 22)
		w.tick(time.Second)
		prune(w)
		equal(w, "events after it", eventIDs(w.events(0, 99)), "21 22")
		w.tick(90 * day)
		prune(w)
		w.reopen()
		equal(w, "events at last", eventIDs(w.events(0, 99)), "")
		equal(w, "the newest there was", w.newestEvent(), 22)
		w.trip()
		equal(w, "events that follow", eventIDs(w.events(0, 99)), "23")
	}},
}

// breakerEvents lets five attempts in a row fail, and then one of two probes succeed.
func breakerEvents(w *world) {
	w.unbound()
	dependent(w)
	end := func(ok bool) (told bool) {
		l := w.takeOne()
		f := w.succeeded(l)
		f.Signal = jobs.Signal{ExitCode: -1}
		if !ok {
			f = w.retrying(l, 24*time.Hour) // a failed run is told of too
			f.Signal = jobs.Signal{Kind: jobs.FailHTTP, HTTPStatus: 503, ExitCode: -1}
		}
		return w.tells(func() { w.check(w.claim(store.Claim{Finished: []store.Finish{f}}).Results[0].Err) })
	}
	ids := w.enqueueN(7, "a")
	for i := range 4 {
		equal(w, fmt.Sprintf("told of error %d", i+1), end(false), false)
	}
	equal(w, "told of the fifth", end(false), true)
	opened := w.now
	w.tick(jobs.DefaultOpenFor.Std())
	equal(w, "told of a probe that failed", end(false), false)
	w.tick(2 * jobs.DefaultOpenFor.Std())
	equal(w, "told of a probe that succeeded", end(true), true)
	list := w.events(0, 9)
	equal(w, "events", eventIDs(list), "1 2")
	equal(w, "the first", string(list[0].Data), fmt.Sprintf(
		`{"name":"stripe","reason":"5 errors in a row, the last: HTTP 503","until":"%s","run":"%s","job":"a"}`,
		opened.Add(jobs.DefaultOpenFor.Std()), ids[4]))
	equal(w, "the second", words(list[1].At, string(list[1].Data)), fmt.Sprintf(
		`%s {"name":"stripe","reason":"the probe succeeded","opened_at":"%s","run":"%s","job":"a"}`,
		w.now, opened, ids[6]))
	equal(w, "claims that end nothing tell nothing", w.tells(func() { w.claim(store.Claim{}) }), false)
}
