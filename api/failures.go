package api

import (
	"errors"
	"slices"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// failureStatuses are those a failure may have, of which the list shows the first.
var failureStatuses = []string{"open", "will_retry", "requeued", "resolved", "ignored"}

// groupStatuses are those that a group of failures may have.
var groupStatuses = []string{"open", "resolved", "ignored"}

// failureFilters are the parameters of the list of failures.
func failureFilters() []param {
	return append([]param{
		{
			name: "status", enum: failureStatuses, wrong: wrongStatus(failureStatuses),
			doc: "open where left out; will_retry: runs that are retrying",
		},
		{name: "job", wrong: empty},
		{name: "error_type", wrong: empty},
		{name: "error_kind", wrong: empty},
		{name: "fingerprint", wrong: empty, doc: "those that are alike"},
		{name: "since", wrong: wrongTime, doc: "of runs made at this time or later (RFC 3339)"},
		{name: "until", wrong: wrongTime, doc: "of runs made at this time or earlier (RFC 3339)"},
		{
			name: "q", wrong: empty,
			doc: "start of an id or correlation id, or part of the error's type or message",
		},
	}, paging...)
}

// groupFilters are the parameters of the list of groups of failures.
func groupFilters() []param {
	return append([]param{
		{
			name: "status", many: true, enum: groupStatuses, wrong: wrongStatus(groupStatuses),
			doc: "may be repeated, or hold several with commas; any where left out",
		},
		{name: "job", wrong: empty},
		{name: "fingerprint", wrong: empty},
	}, paging...)
}

func wrongStatus(known []string) func([]string) string {
	return func(values []string) string {
		for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
			if !slices.Contains(known, name) {
				return "unknown status: want " + strings.Join(known, ", ")
			}
		}
		return ""
	}
}

func listFailures(c *call) error {
	page, q := c.page(), c.query
	f := store.FailureFilter{
		Job: q.Get("job"), ErrorType: q.Get("error_type"), ErrorKind: q.Get("error_kind"),
		Fingerprint: q.Get("fingerprint"), Q: q.Get("q"), Allowed: c.who.Jobs,
	}
	f.Status, _ = jobs.FailureStatusOf(q.Get("status"))
	f.Since, _ = jobs.ParseTime(q.Get("since"))
	f.Until, _ = jobs.ParseTime(q.Get("until"))
	items, next, err := c.s.rt.Store().Failures(c.ctx(), f, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.Failures{
		Items: make([]wire.FailureRow, len(items)), Next: orNull(next), Limit: page.Limit,
	}
	for i, f := range items {
		list.Items[i] = viewFailure(f)
	}
	return c.answer(200, &list)
}

func viewFailure(f *store.Failure) wire.FailureRow {
	r := f.Run
	view := wire.FailureRow{
		ID: r.ID, JobType: r.Job, Retries: max(0, r.Counts.Number-1), Status: f.Status.String(),
		CreatedAt: r.CreatedAt, LastAttemptAt: f.LastAttemptAt, Fingerprint: f.Fingerprint,
		Note: orNull(f.Note), ResolvedBy: orNull(f.By),
	}
	if e := r.Error; e != nil {
		view.ErrorType, view.ErrorKind, view.ErrorMessage = e.Type, string(e.Kind), e.Message
	}
	return view
}

func noFailure() error {
	return refuse(probNotFound, "there is no such failure: no run of that id has failed or is retrying, "+
		"or the token does not reach it")
}

// pathFailure is the failure named in the path.
func (c *call) pathFailure() (*store.Failure, error) {
	id, err := jobs.ParseID(c.Param("id"))
	if err != nil {
		return nil, noFailure()
	}
	return c.readFailure(id)
}

func (c *call) readFailure(id jobs.ID) (*store.Failure, error) {
	f, err := c.s.rt.Store().Failure(c.ctx(), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !c.who.reaches(f.Run.Job) {
		return nil, noFailure()
	}
	return f, err
}

func getFailure(c *call) error {
	f, err := c.pathFailure()
	if err != nil {
		return err
	}
	return c.answerFailure(f)
}

func (c *call) answerFailure(f *store.Failure) error {
	r := f.Run
	view := wire.FailureDetail{
		FailureRow: viewFailure(f), Payload: orRawNull(r.Payload), StackTrace: orNull(f.Stack), Error: r.Error,
		DealtAt: f.DealtAt, Until: f.Until, Attempts: make([]wire.Attempt, len(r.Attempts)),
		Chain: make([]wire.Run, len(f.Chain)),
	}
	if r.State == jobs.Retrying {
		view.NextAttemptAt = r.DueAt
	}
	for i := range r.Attempts {
		view.Attempts[i] = viewAttempt(&r.Attempts[i])
	}
	for i, link := range f.Chain {
		var err error
		if view.Chain[i], err = c.viewLink(link); err != nil {
			return err
		}
	}
	return c.answer(200, &view)
}

// viewLink is a run of a chain as lists show it, with what it waits for where it has not ended.
func (c *call) viewLink(r *jobs.Run) (wire.Run, error) {
	if !r.State.Terminal() {
		now, err := c.s.rt.Run(c.ctx(), r.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return wire.Run{}, err
		}
		if err == nil {
			r = now
		}
	}
	limit, err := c.s.maxAttempts(c.ctx(), r)
	return viewRow(r, limit), err
}

func listFailureGroups(c *call) error {
	page := c.page()
	f := store.FailureGroupFilter{
		Job: c.query.Get("job"), Fingerprint: c.query.Get("fingerprint"), Allowed: c.who.Jobs,
	}
	for name := range strings.SplitSeq(strings.Join(c.query["status"], ","), ",") {
		if status, ok := jobs.FailureStatusOf(name); ok && !slices.Contains(f.Statuses, status) {
			f.Statuses = append(f.Statuses, status)
		}
	}
	items, next, err := c.s.rt.Store().FailureGroups(c.ctx(), f, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.FailureGroups{
		Items: make([]wire.FailureGroup, len(items)), Next: orNull(next), Limit: page.Limit,
	}
	for i, g := range items {
		list.Items[i] = wire.FailureGroup{
			Fingerprint: g.Fingerprint, JobType: g.Job, ErrorKind: g.Kind, ErrorType: g.Type,
			ErrorMessage: g.Message, Count: g.Count, Open: g.Open, FirstAt: g.FirstAt, LastAt: g.LastAt,
			Status: g.Status.String(), Until: g.Until, LastRun: g.LastRun,
		}
	}
	return c.answer(200, &list)
}
