package api

import (
	"errors"
	"slices"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// runFilters are the parameters of the list of runs.
func runFilters() []param {
	states := make([]string, 0, 8)
	for s := jobs.Scheduled; s <= jobs.Cancelled; s++ {
		states = append(states, s.String())
	}
	return append([]param{
		{name: "job"},
		{name: "schedule"},
		{name: "state", many: true, enum: states, doc: "may be repeated, or hold several with commas"},
		{name: "queue"},
		{name: "label", doc: "team:data, or team for any value"},
		{name: "correlation_id"},
		{name: "error_kind"},
		{name: "error_type"},
		{name: "trigger"},
		{name: "since", doc: "made at this time or later (RFC 3339)"},
		{name: "until", doc: "made at this time or earlier (RFC 3339)"},
		{name: "q", doc: "start of an id or correlation id, or part of the error's type or message"},
	}, paging...)
}

func (c *call) runFilter() (f store.RunFilter, err error) {
	q := c.query
	f = store.RunFilter{
		Job: q.Get("job"), Schedule: q.Get("schedule"), Queue: q.Get("queue"),
		CorrelationID: q.Get("correlation_id"), ErrorKind: q.Get("error_kind"),
		ErrorType: q.Get("error_type"), Trigger: q.Get("trigger"), Q: q.Get("q"),
		Allowed: c.who.Jobs,
	}
	if !c.who.has(scopeRead) {
		f.Creator = c.who.Name
	}
	var faults []jobs.Fault
	for _, p := range c.route.query {
		if q.Has(p.name) && q.Get(p.name) == "" {
			empty := jobs.Fault{Location: "query." + p.name, Message: "is empty: leave it out"}
			faults = append(faults, empty)
		}
	}
	for name := range strings.SplitSeq(strings.Join(q["state"], ","), ",") {
		state, ok := jobs.StateOf(name)
		switch {
		case ok && !slices.Contains(f.States, state):
			f.States = append(f.States, state)
		case !ok && name != "":
			faults = append(faults, jobs.Fault{Location: "query.state", Message: "unknown state: want " +
				"scheduled, queued, running, retrying, waiting, succeeded, failed or cancelled"})
		}
	}
	key, value, given := strings.Cut(q.Get("label"), ":")
	f.LabelKey = key
	if given {
		f.LabelValue = &value
	}
	for name, into := range map[string]*jobs.Time{"since": &f.Since, "until": &f.Until} {
		if text := q.Get(name); text != "" {
			if *into, err = jobs.ParseTime(text); err != nil {
				faults = append(faults, jobs.Fault{
					Location: "query." + name, Message: "want RFC 3339, such as 2026-11-29T02:00:00Z",
				})
			}
		}
	}
	if faults != nil {
		return f, invalid(faults)
	}
	return f, nil
}

func listRuns(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	filter, err := c.runFilter()
	if err != nil {
		return err
	}
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
	wait, err := c.wait()
	if err != nil {
		return err
	}
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if wait > 0 && !r.State.Terminal() {
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
	if err := c.decodeOptional(&body); err != nil {
		return err
	}
	if err := checkNote(body.Note); err != nil {
		return err
	}
	if len(body.Payload) > jobs.MaxPayload {
		return tooLarge([]jobs.Fault{payloadFault("body.payload", len(body.Payload))})
	}
	sub, err := c.s.rt.Requeue(c.ctx(), store.Requeue{
		Of: r.ID, Payload: body.Payload, Reset: body.Reset, Trigger: jobs.TriggerRequeue,
		By: c.by(body.Note), Creator: c.who.Name,
	})
	if errors.Is(err, store.ErrNotFound) {
		return refuse(probState, "the job %s is deleted: register it again first", r.Job)
	}
	if err != nil {
		return within("body", c.stateError(err, r.ID, "only one that has ended can be requeued"))
	}
	if sub.Duplicate {
		return c.answerSubmitted(200, runtime.Submitted{Submitted: sub})
	}
	return c.answerSubmitted(202, runtime.Submitted{Submitted: sub})
}

func deleteRun(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if err := c.s.rt.Remove(c.ctx(), r.ID, c.by("")); err != nil {
		return c.stateError(err, r.ID, "only one that has ended can be deleted; cancel it first")
	}
	return c.NoContent(204)
}
