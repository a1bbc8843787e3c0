package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"nightshift/scripts/internal/rig"
)

// row is a line of the ledger. Instants are milliseconds of Unix time.
type row struct {
	from, to        int64
	count           int
	outcome, reason string
	run             string // "": none
}

// wireTick is a row as the API shows it.
type wireTick struct {
	At, From, To time.Time
	Count        int
	Outcome      string
	Reason, Run  *string
}

func (w *wireTick) row() row {
	r := row{from: w.From.UnixMilli(), to: w.To.UnixMilli(), count: w.Count, outcome: w.Outcome}
	if !w.At.IsZero() {
		r.from, r.to, r.count = w.At.UnixMilli(), w.At.UnixMilli(), 1
	}
	if w.Reason != nil {
		r.reason = *w.Reason
	}
	if w.Run != nil {
		r.run = *w.Run
	}
	return r
}

// tickRun is a run of a schedule as the API shows it.
type tickRun struct {
	ID           string       `json:"id"`
	State        string       `json:"state"`
	Trigger      string       `json:"trigger"`
	OperationID  string       `json:"operation_id"`
	ScheduledFor time.Time    `json:"scheduled_for"`
	CreatedAt    time.Time    `json:"created_at"`
	RunAt        time.Time    `json:"run_at"`
	StartedAt    time.Time    `json:"started_at"`
	FinishedAt   time.Time    `json:"finished_at"`
	Error        *rig.Failure `json:"error"`
}

// seen is all that a trial knows of one schedule when all is over.
type seen struct {
	*schedule
	outages  []outage
	lives    []life
	receiver *receiver

	shown []row // by the API, oldest first; nil: it does not stand
	runs  map[string]*tickRun

	rows  []row    // in the file, oldest first
	extra []string // what else is wrong
}

// ask reads the ledger and the runs from the API.
func (s *seen) ask(ctx context.Context, api rig.API) error {
	err := pages(ctx, api, "/v1/schedules/"+s.name+"/ticks?limit=1000", func(t *wireTick) {
		s.shown = append(s.shown, t.row())
	})
	var answer *rig.StatusError
	if err != nil && !(errors.As(err, &answer) && answer.Status == http.StatusNotFound && !s.stands()) {
		return err
	}
	slices.Reverse(s.shown)
	s.runs = map[string]*tickRun{}
	return pages(ctx, api, "/v1/runs?limit=1000&schedule="+url.QueryEscape(s.name), func(r *tickRun) {
		if s.runs[r.ID] != nil {
			s.extra = append(s.extra, "the list shows run "+r.ID+" twice")
		}
		s.runs[r.ID] = r
	})
}

// pages reads a list to its end.
func pages[T any](ctx context.Context, api rig.API, path string, take func(*T)) error {
	for at := path; ; {
		var page struct {
			Items []*T
			Next  *string
		}
		if _, err := api.Do(ctx, http.MethodGet, at, "", nil, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			take(item)
		}
		if page.Next == nil {
			return nil
		}
		at = path + "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// file is what the database holds.
type file struct {
	ticks map[string][]row       // by schedule
	runs  map[string][]storedRun // by schedule
	audit []done                 // of jobs and schedules
}

type storedRun struct {
	id, cause string
	at        int64 // the tick
}

// done is a line of the audit.
type done struct {
	kind, name, what string
	at               int64
}

// of gives the changes of a schedule, oldest first.
func (f *file) of(s *schedule) (list []done) {
	puts := 0
	for _, d := range f.audit {
		ofJob := s.inJob && d.kind == "job" && d.name == s.job
		if ofJob {
			puts++
		}
		if d.kind == "schedule" && d.name == s.name || ofJob && puts > s.before {
			list = append(list, d)
		}
	}
	return list
}

func readFile(ctx context.Context, db string) (*file, error) {
	f := &file{ticks: map[string][]row{}, runs: map[string][]storedRun{}}
	for _, q := range []struct {
		query string
		take  func(c *columns)
	}{
		{`SELECT s.name, t.at, t.until, t.count, t.outcome, COALESCE(t.reason, ''), lower(hex(COALESCE(t.run, '')))
FROM ticks t JOIN schedules s ON s.id = t.schedule ORDER BY t.at`, func(c *columns) {
			name := c.text()
			f.ticks[name] = append(f.ticks[name], row{
				c.number(), c.number(), int(c.number()), c.text(), c.text(), dashed(c.text()),
			})
		}},
		{`SELECT seq, tail, schedule, scheduled_for, cause FROM runs WHERE schedule IS NOT NULL`, func(c *columns) {
			id, err := rig.RunID(c.text() + "|" + c.text())
			c.err = errors.Join(c.err, err)
			name, at := c.text(), c.number()
			f.runs[name] = append(f.runs[name], storedRun{id, c.text(), at})
		}},
		{`SELECT kind, name, action, at FROM audit WHERE kind IN ('job', 'schedule') ORDER BY id`, func(c *columns) {
			f.audit = append(f.audit, done{c.text(), c.text(), c.text(), c.number()})
		}},
	} {
		rows, err := rig.Rows(ctx, db, q.query)
		if err != nil {
			return nil, err
		}
		for _, values := range rows {
			c := &columns{values: values}
			q.take(c)
			if c.err != nil {
				return nil, fmt.Errorf("row %q of %s: %w", values, db, c.err)
			}
		}
	}
	return f, nil
}

// columns reads those of a row one by one.
type columns struct {
	values []string
	err    error
}

func (c *columns) text() string {
	if len(c.values) == 0 {
		c.err = errors.New("too few columns")
		return ""
	}
	first := c.values[0]
	c.values = c.values[1:]
	return first
}

func (c *columns) number() int64 {
	n, err := strconv.ParseInt(c.text(), 10, 64)
	c.err = errors.Join(c.err, err)
	return n
}

// dashed writes an id as the API does.
func dashed(hex string) string {
	if len(hex) != 32 {
		return hex
	}
	return hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:]
}
