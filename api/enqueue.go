package api

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// traceparent is the W3C form, version 00; anything else is ignored, as the standard says.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// from fills in what a request has from the call and not from its body.
func (c *call) from(req *jobs.Request) {
	req.Trigger = jobs.TriggerAPI
	h := c.Request().Header
	if strings.HasPrefix(h.Get("User-Agent"), wire.AgentCLI) {
		req.Trigger = jobs.TriggerCLI
	}
	if parent := h.Get("Traceparent"); parent != "" && traceparent.MatchString(parent) {
		req.Traceparent = parent
	}
	req.Creator = c.who.Name
}

// tooLarge refuses payloads past their limit: 413.
func tooLarge(faults []jobs.Fault) error {
	return &problem{kind: probTooLarge, detail: summary(faults), faults: faults}
}

func payloadFault(location string, size int) jobs.Fault {
	return jobs.Fault{
		Location: location,
		Message:  fmt.Sprintf("want at most %d bytes, got %d", jobs.MaxPayload, size),
	}
}

func postRun(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	wait, err := c.wait()
	if err != nil {
		return err
	}
	var req jobs.Request
	if err := c.decodeOptional(&req); err != nil {
		return err
	}
	if req.Job != "" && req.Job != name {
		return fault("body.job", "the path names the job %s; leave this out", name)
	}
	if len(req.Payload) > jobs.MaxPayload {
		return tooLarge([]jobs.Fault{payloadFault("body.payload", len(req.Payload))})
	}
	req.Job = name
	keyAt, err := c.idempotencyKey(&req)
	if err != nil {
		return err
	}
	c.from(&req)
	done, err := c.s.rt.Submit(c.ctx(), true, []jobs.Request{req})
	if err != nil {
		return singleError(err, keyAt)
	}
	sub := done[0]
	status := 202
	if sub.Duplicate {
		status = 200
	}
	if wait > 0 && sub.State != 0 {
		sub.Run = nil // it is told as it stands then
		ended, err := c.awaitEnd(sub.ID, wait)
		if err != nil {
			return err
		}
		if status = 202; ended {
			status = 200
		}
	}
	return c.answerSubmitted(status, sub)
}

// idempotencyKey takes the key from the header or the field, and says which it was.
func (c *call) idempotencyKey(req *jobs.Request) (location string, err error) {
	lines := c.Request().Header.Values("Idempotency-Key")
	if len(lines) == 0 {
		return "body.idempotency_key", nil
	}
	if len(lines) > 1 || lines[0] == "" {
		return "", fault("header.Idempotency-Key", "want one key that is not empty")
	}
	if req.IdempotencyKey != "" && req.IdempotencyKey != lines[0] {
		return "", fault("body.idempotency_key", "differs from the header Idempotency-Key")
	}
	req.IdempotencyKey = lines[0]
	return "header.Idempotency-Key", nil
}

// singleError maps what Submit says of one run. keyAt is where its key came from.
func singleError(err error, keyAt string) error {
	if errors.Is(err, store.ErrNotFound) {
		return noJob()
	}
	err = within("body", err)
	var p *problem
	if errors.As(err, &p) {
		for i := range p.faults {
			if p.faults[i].Location == "body.idempotency_key" {
				p.faults[i].Location = keyAt
			}
		}
		p.detail = summary(p.faults)
	}
	return err
}

// answerSubmitted tells what became of a submission: the run, as the token may see it.
func (c *call) answerSubmitted(status int, sub runtime.Submitted) error {
	c.Response().Header().Set("Location", "/v1/runs/"+sub.ID.String())
	r, gone := sub.Run, false
	if r == nil {
		var err error
		r, err = c.s.rt.Run(c.ctx(), sub.ID)
		if gone = errors.Is(err, store.ErrNotFound); err != nil && !gone {
			return err
		}
	}
	if gone || !c.who.may(r) {
		brief := briefOf(sub.Submitted)
		if !gone {
			brief.State = stateName(r.State)
		}
		return c.answer(status, &brief)
	}
	view, err := c.s.viewWhole(c.ctx(), r)
	if err != nil {
		return err
	}
	view.Duplicate = &sub.Duplicate
	view.WatchURL = c.s.watchURL(sub.ID)
	return c.answer(status, &view)
}

func (s *Server) watchURL(id jobs.ID) string {
	return s.base + "/v1/watch/" + id.String() + "?key=" + s.rt.WatchKey(id)
}

// briefOf is what a token that may not read sees.
func briefOf(sub store.Submitted) wire.Brief {
	return wire.Brief{ID: sub.ID, Job: sub.Job, State: stateName(sub.State), Duplicate: sub.Duplicate}
}

// stateName is nil for the state of a run that has been pruned.
func stateName(s jobs.State) *string {
	if s == 0 {
		return nil
	}
	name := s.String()
	return &name
}

// batch is the body of a batch.
type batch struct {
	Runs []jobs.Request `json:"runs" minItems:"1" maxItems:"10000"`
}

const maxBatch = 10_000

func postBatch(c *call) error {
	var body batch
	if err := c.decode(&body); err != nil {
		return err
	}
	if len(body.Runs) == 0 || len(body.Runs) > maxBatch {
		return fault("body.runs", "want 1 to %d runs, got %d", maxBatch, len(body.Runs))
	}
	if c.Request().Header.Get("Idempotency-Key") != "" {
		return fault("header.Idempotency-Key", "a batch takes a key for each run: idempotency_key")
	}
	if err := c.checkBatch(body.Runs); err != nil {
		return err
	}
	done, err := c.s.rt.Submit(c.ctx(), false, body.Runs)
	if err != nil {
		return batchError(err)
	}
	items := make([]wire.Brief, len(done))
	for i, sub := range done {
		items[i] = briefOf(sub.Submitted)
	}
	return c.answer(202, &wire.Briefs{Items: items})
}

// checkBatch fills in the requests and refuses what the token does not reach.
func (c *call) checkBatch(reqs []jobs.Request) error {
	var large, faults []jobs.Fault
	for i := range reqs {
		req := &reqs[i]
		c.from(req)
		if len(req.Payload) > jobs.MaxPayload {
			large = append(large, payloadFault(fmt.Sprintf("body.runs[%d].payload", i), len(req.Payload)))
		}
		switch {
		case req.Job == "":
			faults = append(faults, jobs.Fault{
				Location: fmt.Sprintf("body.runs[%d].job", i), Message: "is missing: want the name of a job",
			})
		case !c.who.reaches(req.Job):
			faults = append(faults, unknownJob(i))
		}
	}
	if faults != nil {
		return invalid(append(faults, large...))
	}
	if large != nil {
		return tooLarge(large)
	}
	return nil
}

func unknownJob(index int) jobs.Fault {
	return jobs.Fault{
		Location: fmt.Sprintf("body.runs[%d].job", index),
		Message:  "there is no such job, or the token does not reach it",
	}
}

// batchError lists what is wrong with every entry: 422 where something is not valid, 409 where
// there are only conflicts of keys.
func batchError(err error) error {
	var faults, conflicts []jobs.Fault
	var other error
	for _, e := range flatten(err) {
		var bad *jobs.InvalidError
		var entry *store.EntryError
		var key *store.KeyConflict
		switch {
		case errors.As(e, &bad):
			var p *problem
			if errors.As(within("body", bad), &p) {
				faults = append(faults, p.faults...)
			}
		case errors.As(e, &entry) && errors.As(e, &key):
			conflicts = append(conflicts, jobs.Fault{
				Location: fmt.Sprintf("body.runs[%d].idempotency_key", entry.Index), Message: key.Error(),
			})
		case errors.As(e, &entry) && errors.Is(e, store.ErrNotFound):
			faults = append(faults, unknownJob(entry.Index))
		default:
			other = e
		}
	}
	switch {
	case other != nil:
		return other
	case faults != nil:
		return invalid(append(faults, conflicts...))
	}
	return &problem{kind: probKey, detail: summary(conflicts), faults: conflicts}
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	var bad *jobs.InvalidError
	var entry *store.EntryError
	if errors.As(err, &bad) || errors.As(err, &entry) {
		return []error{err}
	}
	if inner := errors.Unwrap(err); inner != nil {
		if _, ok := inner.(interface{ Unwrap() []error }); ok {
			return flatten(inner)
		}
	}
	return []error{err}
}

// viewWhole is the view of one run with all that it has.
func (s *Server) viewWhole(ctx context.Context, r *jobs.Run) (wire.Run, error) {
	limit, err := s.maxAttempts(ctx, r)
	if err != nil {
		return wire.Run{}, err
	}
	view := viewOf(r, limit)
	view.Payload, view.Result = orRawNull(r.Payload), orRawNull(r.Result)
	attempts := make([]wire.Attempt, len(r.Attempts))
	for i := range r.Attempts {
		attempts[i] = viewAttempt(&r.Attempts[i])
	}
	view.Attempts = &attempts
	return view, nil
}
