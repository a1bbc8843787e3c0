package api

import (
	"errors"
	"fmt"
	"slices"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// maxOrdered is how many failures an order may name one by one.
const maxOrdered = 10_000

// orderRequeue takes an order to requeue many failures.
func orderRequeue(c *call) error {
	var body wire.RequeueFailures
	b := store.Bulk{Action: store.BulkRequeue}
	err := c.decode(&body, func() []jobs.Fault {
		faults := append(checkChosen(&body.Chosen), checkPatch(body.Patch)...)
		if body.Rate != nil {
			every, err := jobs.ParsePace(*body.Rate)
			if err != nil {
				faults = append(faults, jobs.Fault{Location: "rate", Message: err.Error()})
			}
			b.Every, b.Rate = every, *body.Rate
		}
		if n := body.StopAfter; n != nil {
			if b.StopAfter = *n; *n < 1 {
				faults = append(faults, jobs.Fault{Location: "stop_after", Message: "want 1 or more; left out: never"})
			}
		}
		return faults
	})
	if err != nil {
		return err
	}
	if err := withinPayload("body.patch", body.Patch); err != nil {
		return err
	}
	b.Patch = body.Patch
	return c.order(&b, &body.Chosen)
}

// orderResolve takes an order to resolve many failures.
func orderResolve(c *call) error {
	var body wire.ResolveFailures
	err := c.decode(&body, func() []jobs.Fault { return checkChosen(&body.Chosen) })
	if err != nil {
		return err
	}
	return c.order(&store.Bulk{Action: store.BulkResolve}, &body.Chosen)
}

// orderIgnore takes an order to ignore many failures.
func orderIgnore(c *call) error {
	var body wire.IgnoreFailures
	err := c.decode(&body, func() []jobs.Fault {
		return append(checkChosen(&body.Chosen), c.checkUntil(body.Until)...)
	})
	if err != nil {
		return err
	}
	return c.order(&store.Bulk{Action: store.BulkIgnore, Until: body.Until}, &body.Chosen)
}

// checkChosen wants one way of saying which failures are meant, and no way of saying all of them by mistake.
func checkChosen(ch *wire.Chosen) []jobs.Fault {
	faults := checkNote(ch.Note)
	var ways []string
	for name, given := range map[string]bool{"filter": ch.Filter != nil, "ids": ch.IDs != nil, "all": ch.All} {
		if given {
			ways = append(ways, name)
		}
	}
	switch slices.Sort(ways); {
	case len(ways) == 0:
		faults = append(faults, jobs.Fault{
			Location: "filter", Message: "is missing, and so are ids and all: want one of them, to say which failures",
		})
	case len(ways) > 1:
		faults = append(faults, jobs.Fault{
			Location: ways[1], Message: "is given beside " + ways[0] + ": want one of filter, ids and all",
		})
	}
	if n := len(ch.IDs); ch.IDs != nil && n == 0 {
		faults = append(faults, jobs.Fault{
			Location: "ids", Message: fmt.Sprintf("want 1 to %d ids, got none", maxOrdered),
		})
	}
	if ch.Filter != nil {
		faults = append(faults, checkFilter(ch.Filter)...)
	}
	return faults
}

func checkFilter(f *wire.FailureFilter) (faults []jobs.Fault) {
	given := f.Since != 0 || f.Until != 0
	for _, m := range []struct {
		name string
		text *string
	}{
		{"job", f.Job},
		{"error_type", f.ErrorType},
		{"error_kind", f.ErrorKind},
		{"fingerprint", f.Fingerprint},
		{"status", f.Status},
		{"q", f.Q},
	} {
		if m.text == nil {
			continue
		}
		if given = true; *m.text == "" {
			faults = append(faults, jobs.Fault{Location: "filter." + m.name, Message: "is empty: leave it out"})
		}
	}
	if job := orNone(f.Job); job != "" && job != jobs.GroupJob {
		if err := jobs.CheckName(job); err != nil {
			faults = append(faults, jobs.Fault{Location: "filter.job", Message: err.Error()})
		}
	}
	if !given {
		faults = append(faults, jobs.Fault{Location: "filter", Message: "is empty: all: true means all that are open"})
	}
	if f.Status != nil && *f.Status != "" {
		if wrong := wrongOrderStatus(*f.Status); wrong != "" {
			faults = append(faults, jobs.Fault{Location: "filter.status", Message: wrong})
		}
	}
	return faults
}

func wrongOrderStatus(name string) string {
	status, known := jobs.FailureStatusOf(name)
	switch {
	case !known:
		return "unknown status: want open, requeued, resolved or ignored"
	case status == jobs.FailureWillRetry:
		return "runs that are retrying are not dealt with in bulk: want open, requeued, resolved or ignored"
	}
	return ""
}

// order hands the order over, or only tries it.
func (c *call) order(b *store.Bulk, ch *wire.Chosen) error {
	b.Note, b.Creator = ch.Note, c.who.Name
	b.Filter = store.FailureFilter{Allowed: c.who.Jobs}
	if f := ch.Filter; f != nil {
		b.Filter.Job, b.Filter.ErrorType, b.Filter.ErrorKind = orNone(f.Job), orNone(f.ErrorType), orNone(f.ErrorKind)
		b.Filter.Fingerprint, b.Filter.Q = orNone(f.Fingerprint), orNone(f.Q)
		b.Filter.Since, b.Filter.Until = f.Since, f.Until
		b.Filter.Status, _ = jobs.FailureStatusOf(orNone(f.Status))
	}
	b.IDs = ch.IDs
	if ch.DryRun {
		return c.tryOrder(b)
	}
	id, count, err := c.s.rt.StartBulk(c.ctx(), *b, c.by(b.Note))
	if err != nil {
		return orderError(err)
	}
	c.Response().Header().Set("Location", "/v1/requeues/"+id.String())
	return c.answer(202, &wire.Ordered{ID: id, Count: count})
}

func orNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// orderError gives faults of the filter their place.
func orderError(err error) error { return within("body.filter", err) }

func (c *call) tryOrder(b *store.Bulk) error {
	count, samples, err := c.s.rt.SampleBulk(c.ctx(), *b)
	if err != nil {
		return orderError(err)
	}
	tried := wire.OrderTried{Count: count, Samples: make([]wire.OrderSample, len(samples))}
	for i := range samples {
		s := &samples[i]
		r := s.Failure.Run
		view := wire.OrderSample{ID: r.ID, Job: r.Job, Before: orRawNull(r.Payload), After: rawNull, Skip: orNull(s.Skip)}
		if b.Action == store.BulkRequeue && s.Skip == "" {
			view.After = orRawNull(s.After)
		}
		tried.Samples[i] = view
	}
	return c.answer(200, &tried)
}

func noOrder() error {
	return refuse(probNotFound, "there is no such order, or the token did not give it")
}

// pathOrder is the order named in the path. A token that is narrowed to some jobs reaches those that it gave
// itself, as it is narrowed now: what they tell is of runs that it reaches.
func (c *call) pathOrder() (*store.BulkInfo, error) {
	id, err := jobs.ParseID(c.Param("id"))
	if err != nil {
		return nil, noOrder()
	}
	info, err := c.s.rt.Store().Bulk(c.ctx(), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noOrder()
	}
	if err != nil {
		return nil, err
	}
	own := info.Bulk.Creator == c.who.Name && slices.Equal(info.Bulk.Filter.Allowed, c.who.Jobs)
	if c.who.Jobs != nil && !own {
		return nil, noOrder()
	}
	return info, nil
}

func getOrder(c *call) error {
	info, err := c.pathOrder()
	if err != nil {
		return err
	}
	return c.answerOrder(info)
}

func stopOrder(c *call) error {
	info, err := c.pathOrder()
	if err != nil {
		return err
	}
	stopped, err := c.s.rt.StopBulk(c.ctx(), info.ID, c.by(""))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return noOrder()
	case errors.Is(err, store.ErrState):
		return getOrder(c) // it was over, perhaps just now
	case err != nil:
		return err
	}
	return c.answerOrder(stopped)
}

func (c *call) answerOrder(info *store.BulkInfo) error {
	b := &info.Bulk
	view := wire.Order{
		ID: info.ID, Action: b.Action, State: info.State.String(), Reason: orNull(info.Reason), Count: info.Count,
		Done: info.Done, Skipped: info.Skipped, Skips: make([]wire.OrderSkip, len(info.Skips)),
		Succeeded: info.Succeeded, Failed: info.Failed, Cancelled: info.Cancelled, Rate: orNull(b.Rate),
		Note: orNull(b.Note), CreatedAt: info.CreatedAt, EndedAt: info.EndedAt,
	}
	if b.StopAfter > 0 {
		view.StopAfter = &b.StopAfter
	}
	for i, skip := range info.Skips {
		view.Skips[i] = wire.OrderSkip{ID: skip.Run, Reason: skip.Reason}
	}
	return c.answer(200, &view)
}
