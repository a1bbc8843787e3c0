package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nightshift/jobs"
	"nightshift/store"
	"nightshift/store/sqldb"
	"nightshift/store/sqlite"
)

// told is a store with events.
type told struct {
	t    *testing.T
	path string
	store.Store
}

func newTold(t *testing.T) *told {
	t.Helper()
	e := &told{t: t, path: filepath.Join(t.TempDir(), "n.db")}
	e.open()
	t.Cleanup(func() { check(t, e.Close()) })
	return e
}

func (e *told) open() {
	e.t.Helper()
	var err error
	e.Store, err = sqlite.Open(e.t.Context(), e.path, sqlite.Config{})
	check(e.t, err)
}

// keep keeps an event of a job; "": of none.
func (e *told) keep(kind, job string, at jobs.Time) {
	e.t.Helper()
	check(e.t, sqldb.KeepEvent(e.t.Context(), e.Store, store.Event{
		At: at, Type: kind, Subject: "dependency/stripe", Job: job, Data: jobs.Raw(`{}`),
	}, nil))
}

func numbers(list []store.Event) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprint(e.ID))
	}
	return strings.Join(all, " ")
}

// after are the numbers of the events after one.
func (e *told) after(after int64, limit int) string {
	e.t.Helper()
	list, err := e.Events(e.t.Context(), after, limit)
	check(e.t, err)
	return numbers(list)
}

func (e *told) newest() int64 {
	e.t.Helper()
	n, err := e.NewestEvent(e.t.Context())
	check(e.t, err)
	return n
}

// list reads the list to its end, page by page: pages are parted by a bar.
func (e *told) list(f store.EventFilter, limit int) string {
	e.t.Helper()
	var pages []string
	for p := (store.Page{Limit: limit}); ; {
		items, next, err := e.EventList(e.t.Context(), f, p)
		check(e.t, err)
		pages = append(pages, numbers(items))
		if p.Cursor = next; next == "" {
			return strings.Join(pages, "|")
		}
	}
}

// prune goes through all in small steps.
func (e *told) prune(at jobs.Time) (steps int) {
	e.t.Helper()
	for done := false; !done; steps++ {
		out, err := e.Prune(e.t.Context(), store.PruneStep{Now: at, Limit: 3})
		check(e.t, err)
		done = out.Done
	}
	return steps
}

func (e *told) want(what string, got, want any) {
	e.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		e.t.Fatalf("%s is %q, want %q", what, g, w)
	}
}

func TestEventComesBackAsItWasKept(t *testing.T) {
	e := newTold(t)
	e.want("newest of none", e.newest(), 0)
	want := store.Event{
		At: now, Type: jobs.EventDependencyOpened, Subject: "dependency/a", Job: "sync",
		Run: jobs.NewIDs(0, func() uint64 { return 1 }).Next(now.Std()), Data: jobs.Raw(`{"name":"a"}`),
	}
	check(t, sqldb.KeepEvent(t.Context(), e.Store, want, nil))
	want.ID = 1
	check(t, e.Close())
	e.open()
	list, err := e.Events(t.Context(), 0, 10)
	check(t, err)
	if d := cmp.Diff(list, []store.Event{want}); d != "" {
		t.Error(d)
	}
	list, next, err := e.EventList(t.Context(), store.EventFilter{}, store.Page{Limit: 10})
	check(t, err)
	if d := cmp.Diff(list, []store.Event{want}); d != "" || next != "" {
		t.Error(d, next)
	}
	e.want("newest", e.newest(), 1)
}

func TestEventOfAChangeThatFailedLeavesNoGap(t *testing.T) {
	e := newTold(t)
	e.keep(jobs.EventDependencyOpened, "", now)
	fail := errors.New("undone")
	err := sqldb.KeepEvent(t.Context(), e.Store, store.Event{Type: jobs.EventDependencyOpened}, fail)
	if !errors.Is(err, fail) {
		t.Fatal(err)
	}
	e.keep(jobs.EventDependencyClosed, "", now)
	e.want("events", e.after(0, 10), "1 2")
}

func TestListOfEventsIsNarrowed(t *testing.T) {
	e := newTold(t)
	for i, job := range []string{"mail-a", "", "sync", "mail-b", "", "mail-a"} {
		e.keep([]string{jobs.EventDependencyOpened, jobs.EventDependencyClosed}[i%2], job, now)
	}
	for _, c := range []struct {
		name string
		f    store.EventFilter
		want string
	}{
		{"a type", store.EventFilter{Types: []string{jobs.EventDependencyClosed}}, "6 4|2"},
		{"both types", store.EventFilter{Types: jobs.EventTypes}, "6 5|4 3|2 1"},
		{"those after one", store.EventFilter{After: 3}, "6 5|4"},
		{"those of jobs", store.EventFilter{Allowed: []string{"mail-*"}}, "6 4|1"},
		{"those of any job", store.EventFilter{Allowed: []string{"*"}}, "6 4|3 1"},
		{"those of no job", store.EventFilter{Allowed: []string{}}, ""},
	} {
		e.want(c.name, e.list(c.f, 2), c.want)
	}
}

const retained = 90 * 24 * time.Hour

func TestEventsGoInSmallSteps(t *testing.T) {
	e := newTold(t)
	for i := range 10 {
		e.keep(jobs.EventDependencyOpened, "", now.Add(time.Duration(i)*time.Hour))
	}
	if steps := e.prune(now.Add(retained + 7*time.Hour)); steps < 3 {
		t.Errorf("7 events went in %d steps of 3", steps)
	}
	e.want("events", e.after(0, 99), "8 9 10")
}

// Events that were kept while the clock was ahead go with those that came after.
func TestClockThatWasAheadKeepsNoEventForEver(t *testing.T) {
	e := newTold(t)
	for range 8 {
		e.keep(jobs.EventDependencyOpened, "", now.Add(3650*24*time.Hour))
	}
	e.keep(jobs.EventDependencyOpened, "", now)
	e.keep(jobs.EventDependencyOpened, "", now.Add(time.Hour))
	e.prune(now.Add(retained - time.Second))
	e.want("events of less than 90 days", e.after(0, 99), "1 2 3 4 5 6 7 8 9 10")
	e.prune(now.Add(retained + time.Second))
	e.want("events after 90 days", e.after(0, 99), "10")
}

// A list looks at a bounded number of rows in one request, and goes on where it stopped.
func TestListOfEventsOfARareTypeComesInParts(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "n.db"), context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Config{})
	check(t, err)
	check(t, s.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	_, err = db.Exec(`
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50010)
INSERT INTO events (at, type, subject, data)
SELECT 1, CASE WHEN i IN (5, 50005) THEN 'dependency.closed' ELSE 'dependency.opened' END, 's', '{}' FROM n`)
	check(t, err)
	check(t, db.Close())
	e := &told{t: t, path: path}
	e.open()
	t.Cleanup(func() { check(t, e.Close()) })
	e.want("the list", e.list(store.EventFilter{Types: []string{jobs.EventDependencyClosed}}, 50), "50005|5")
}
