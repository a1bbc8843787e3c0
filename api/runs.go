package api

import (
	"errors"
	"slices"
	"strings"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// runFilters are the parameters of the list of runs.
func runFilters() []param {
	states := make([]string, 0, 8)
	for s := jobs.Scheduled; s <= jobs.Cancelled; s++ {
		states = append(states, s.String())
	}
	state := param{
		name: "state", many: true, enum: states, wrong: wrongState,
		doc: "may be repeated, or hold several with commas",
	}
	return append([]param{
		{name: "job", wrong: empty},
		{name: "schedule", wrong: empty, doc: "the whole name: JOB:NAME of one in a job; requeues count too"},
		state,
		{name: "queue", wrong: empty},
		{name: "label", wrong: empty, doc: "team:data, or team for any value"},
		{name: "correlation_id", wrong: empty},
		{name: "error_kind", wrong: empty},
		{name: "error_type", wrong: empty},
		{name: "trigger", enum: triggers, wrong: wrongTrigger},
		{name: "since", wrong: wrongTime, doc: "made at this time or later (RFC 3339)"},
		{name: "until", wrong: wrongTime, doc: "made at this time or earlier (RFC 3339)"},
		{
			name: "q", wrong: empty,
			doc: "start of an id or correlation id, or part of the error's type or message",
		},
	}, paging...)
}

func empty(values []string) string {
	if values[0] == "" {
		return "is empty: leave it out"
	}
	return ""
}

// triggers are those of the contract (3.2).
var triggers = []string{
	"api", "cli", "schedule", "catch_up", "inbound", "chain", "group", "requeue", "alert",
}

func wrongTrigger(values []string) string {
	if !slices.Contains(triggers, values[0]) {
		return "want one of " + strings.Join(triggers, ", ")
	}
	return ""
}

func wrongTime(values []string) string {
	if _, err := jobs.ParseTime(values[0]); err != nil {
		return "want RFC 3339, such as 2026-11-29T02:00:00Z"
	}
	return ""
}

func wrongState(values []string) string {
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if _, ok := jobs.StateOf(name); !ok {
			return "unknown state: want scheduled, queued, running, retrying, waiting, succeeded, " +
				"failed or cancelled"
		}
	}
	return ""
}

// runFilter reads the filters, which have been checked.
func (c *call) runFilter() store.RunFilter {
	q := c.query
	f := store.RunFilter{
		Job: q.Get("job"), Schedule: q.Get("schedule"), Queue: q.Get("queue"),
		CorrelationID: q.Get("correlation_id"), ErrorKind: q.Get("error_kind"),
		ErrorType: q.Get("error_type"), Trigger: q.Get("trigger"), Q: q.Get("q"),
		Allowed: c.who.Jobs, Own: c.who.Name,
	}
	if !c.who.has(scopeRead) {
		f.Creator = c.who.Name
	}
	for name := range strings.SplitSeq(strings.Join(q["state"], ","), ",") {
		if state, ok := jobs.StateOf(name); ok && !slices.Contains(f.States, state) {
			f.States = append(f.States, state)
		}
	}
	key, value, given := strings.Cut(q.Get("label"), ":")
	if f.LabelKey = key; given {
		f.LabelValue = &value
	}
	f.Since, _ = jobs.ParseTime(q.Get("since"))
	f.Until, _ = jobs.ParseTime(q.Get("until"))
	return f
}

func listRuns(c *call) error { return c.answerRuns(c.runFilter()) }

// answerRuns answers a page of runs.
func (c *call) answerRuns(filter store.RunFilter) error {
	page := c.page()
	items, next, err := c.s.rt.Runs(c.ctx(), filter, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.Runs{Items: make([]wire.Run, len(items)), Next: orNull(next), Limit: page.Limit}
	for i, r := range items {
		limit, err := c.s.maxAttempts(c.ctx(), r)
		if err != nil {
			return err
		}
		list.Items[i] = viewRow(r, limit)
	}
	return c.answer(200, &list)
}

func getRun(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if wait := c.wait(); wait > 0 && !r.State.Terminal() {
		if c.s.stopping.Err() != nil {
			return askTheNext(time.Second) // an answer at once would be asked for again at once
		}
		if _, err := c.awaitEnd(r.ID, wait); err != nil {
			return err
		}
		if r, err = c.readRun(r.ID); err != nil {
			return err
		}
	}
	return c.answerRun(200, r)
}

func (c *call) answerRun(status int, r *jobs.Run) error {
	view, err := c.s.viewWhole(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.answer(status, &view)
}

func cancelRun(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if err := c.decodeOptional(&wire.Empty{}); err != nil {
		return err
	}
	state, err := c.s.rt.Cancel(c.ctx(), r.ID, c.by(""))
	if err != nil {
		return c.stateError(err, r.ID, "only a run that has not ended can be cancelled")
	}
	if r, err = c.readRun(r.ID); err != nil {
		return err
	}
	if state == jobs.Cancelled {
		return c.answerRun(200, r)
	}
	return c.answerRun(202, r)
}

// stateError says in which state the run is and what would be possible.
func (c *call) stateError(err error, id jobs.ID, possible string) error {
	if errors.Is(err, store.ErrNotFound) {
		return noRun()
	}
	if !errors.Is(err, store.ErrState) {
		return err
	}
	now, readErr := c.readRun(id)
	if readErr != nil {
		return readErr
	}
	return refuse(probState, "the run is %s: %s", now.State, possible)
}

// endedError is stateError where it may be a group that stands in the way of a run that has ended: because
// says how.
func (c *call) endedError(err error, id jobs.ID, possible, because string) error {
	said := c.stateError(err, id, possible)
	if !errors.Is(err, store.ErrState) {
		return said
	}
	now, readErr := c.readRun(id)
	if readErr != nil || !now.State.Terminal() {
		return said
	}
	return refuse(probState, "the run is %s, but %s", now.State, because)
}

func runNow(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if err := c.decodeOptional(&wire.Empty{}); err != nil {
		return err
	}
	if err := c.s.rt.RunNow(c.ctx(), r.ID, c.by("")); err != nil {
		return c.stateError(err, r.ID, "only one that is scheduled or retrying has a delay to drop")
	}
	if r, err = c.readRun(r.ID); err != nil {
		return err
	}
	return c.answerRun(200, r)
}

func requeueRun(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	var body wire.Requeue
	err = c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) })
	if err != nil {
		return err
	}
	return c.requeue(r, body)
}

func deleteRun(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if err := c.s.rt.Remove(c.ctx(), r.ID, c.by("")); err != nil {
		return c.endedError(err, r.ID, "only one that has ended can be deleted; cancel it first",
			"it is kept while a group that it belongs to has not ended")
	}
	return c.NoContent(204)
}
