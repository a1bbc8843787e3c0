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
	var req jobs.Request
	keyAt, err := c.readRequest(name, &req)
	if err != nil {
		return err
	}
	done, err := c.s.rt.Submit(c.ctx(), true, []jobs.Request{req})
	if err != nil {
		return singleError(err, keyAt)
	}
	return c.answerMade(done[0])
}

// answerMade answers a call that has made a run, or found an earlier one, when it has waited for its end
// as the call asks for.
func (c *call) answerMade(sub runtime.Submitted) error {
	status := 202
	if sub.Duplicate {
		status = 200
	}
	if wait := c.wait(); wait > 0 && sub.State != 0 {
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

// readRequest reads the request of a run of the job. keyAt is where its key came from.
func (c *call) readRequest(job string, req *jobs.Request) (keyAt string, err error) {
	keyAt = "body.idempotency_key"
	var faults []jobs.Fault
	check := func() []jobs.Fault {
		if req.Job != "" && req.Job != job {
			faults = append(faults, jobs.Fault{
				Location: "job", Message: "the path names the job " + job + ": leave this out",
			})
		}
		var wrong []jobs.Fault
		wrong, keyAt = c.headerKey(&req.IdempotencyKey)
		faults = append(faults, wrong...)
		if size := len(req.Payload); size > jobs.MaxPayload {
			faults = append(faults, payloadFault("payload", size))
		}
		req.Job = job
		c.from(req)
		return faults
	}
	err = c.decodeOptional(req, check)
	var p *problem
	if !errors.As(err, &p) || p.kind != probInvalid {
		return keyAt, err
	}
	// What the runtime would find is told with it.
	more := singleError(c.s.rt.Refusal(c.ctx(), true, []jobs.Request{*req}), keyAt)
	var found *problem
	switch {
	case more == nil:
	case !errors.As(more, &found) || found.kind != probInvalid:
		return keyAt, more
	default:
		p = invalid(jobs.Besides(p.faults, found.faults))
	}
	if len(p.faults) == 1 && len(req.Payload) > jobs.MaxPayload {
		return keyAt, tooLarge(p.faults)
	}
	return keyAt, p
}

// headerKey takes an idempotency key from the header into that of the body, and tells where it came from.
func (c *call) headerKey(inBody *string) (faults []jobs.Fault, keyAt string) {
	key := c.Request().Header.Get("Idempotency-Key")
	if key == "" {
		return nil, "body.idempotency_key"
	}
	if *inBody != "" && *inBody != key {
		faults = []jobs.Fault{{Location: "idempotency_key", Message: "differs from the header Idempotency-Key"}}
	}
	*inBody = key
	return faults, "header.Idempotency-Key"
}

func wrongKey(lines []string) string {
	if len(lines) > 1 || lines[0] == "" {
		return "want one key that is not empty"
	}
	return ""
}

// singleError maps what the runtime says of one request. keyAt is where its key came from.
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
		if brief.State = nil; !gone {
			brief.State = stateName(r.State)
		}
		return c.answer(status, &brief)
	}
	view, err := c.s.viewWhole(c.ctx(), r)
	if err != nil {
		return err
	}
	view.Duplicate = &sub.Duplicate
	view.UniqueUntil, view.Replaced = uniqueUntil(&sub.Submitted), sub.Replaced
	view.WatchURL = c.s.watchURL(sub.ID)
	return c.answer(status, &view)
}

func (s *Server) watchURL(id jobs.ID) string {
	return s.base + "/v1/watch/" + id.String() + "?key=" + s.rt.WatchKey(id)
}

// briefOf is what a token that may not read sees.
func briefOf(sub store.Submitted) wire.Brief {
	return wire.Brief{
		ID: sub.ID, Job: sub.Job, State: stateName(sub.State), Duplicate: sub.Duplicate,
		UniqueUntil: uniqueUntil(&sub), Replaced: sub.Replaced,
	}
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
	Runs []jobs.Request `json:"runs" max:"10000" minItems:"1" maxItems:"10000"`
}

func postBatch(c *call) error {
	var body batch
	err := c.decode(&body, func() []jobs.Fault {
		if len(body.Runs) == 0 {
			return []jobs.Fault{{Location: "runs", Message: "want 1 to 10000 runs, got none"}}
		}
		return c.checkBatch(body.Runs)
	})
	if err != nil {
		return c.refuseBatch(err, body.Runs)
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

func noKeyOfAll([]string) string { return "a batch takes a key for each run: idempotency_key" }

// checkBatch fills in the requests and refuses what the token does not reach.
func (c *call) checkBatch(reqs []jobs.Request) (faults []jobs.Fault) {
	for i := range reqs {
		req := &reqs[i]
		c.from(req)
		if size := len(req.Payload); size > jobs.MaxPayload {
			faults = append(faults, payloadFault(fmt.Sprintf("runs[%d].payload", i), size))
		}
		switch {
		case req.Job == "":
			faults = append(faults, jobs.Fault{
				Location: fmt.Sprintf("runs[%d].job", i), Message: "is missing: want the name of a job",
			})
		case !c.who.reaches(req.Job), req.Job == jobs.GroupJob: // whose runs bring what they are made of
			f := unknownJob(i)
			f.Location = strings.TrimPrefix(f.Location, "body.")
			faults, req.Job = append(faults, f), "" // its keys are not looked at
		}
	}
	return faults
}

// refuseBatch tells what the runtime would find with what is wrong already. Where payloads are too
// large and nothing else is wrong, it is 413.
func (c *call) refuseBatch(err error, reqs []jobs.Request) error {
	var p *problem
	if !errors.As(err, &p) || p.kind != probInvalid {
		return err
	}
	more := c.s.rt.Refusal(c.ctx(), false, reqs)
	if more == nil {
		if onlyPayloads(p.faults, reqs) {
			return tooLarge(p.faults)
		}
		return p
	}
	var found *problem
	if !errors.As(batchError(more), &found) || found.faults == nil {
		return more
	}
	return invalid(jobs.Besides(p.faults, found.faults))
}

func onlyPayloads(faults []jobs.Fault, reqs []jobs.Request) bool {
	large := 0
	for i := range reqs {
		if len(reqs[i].Payload) > jobs.MaxPayload {
			large++
		}
	}
	return large == len(faults)
}

// noSuchJob is said of a job that does not stand and of one that the token does not reach alike.
const noSuchJob = "there is no such job, or the token does not reach it"

func unknownJob(index int) jobs.Fault {
	return jobs.Fault{
		Location: fmt.Sprintf("body.runs[%d].job", index),
		Message:  noSuchJob,
	}
}

// batchError lists what is wrong with every entry: 422 where something is not valid, 409 where
// there are only conflicts.
func batchError(err error) error {
	var faults, conflicts []jobs.Fault
	var other error
	kind := probUnique
	for _, e := range flatten(err) {
		var bad *jobs.InvalidError
		var entry *store.EntryError
		var key *store.KeyConflict
		var unique *store.UniqueConflict
		switch {
		case errors.As(e, &bad):
			var p *problem
			if errors.As(within("body", bad), &p) {
				faults = append(faults, p.faults...)
			}
		case errors.As(e, &entry) && errors.As(e, &unique):
			conflicts = append(conflicts, standsFault(entry.Index, unique))
		case errors.As(e, &entry) && errors.As(e, &key):
			kind = probKey
			conflicts = append(conflicts, usedFault(entry.Index, key))
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
	return &problem{kind: kind, detail: summary(conflicts), faults: conflicts}
}

// usedFault is a key of an entry that was used before, or by an earlier entry.
func usedFault(i int, c *store.KeyConflict) jobs.Fault {
	text := c.Error()
	if c.Entry != nil {
		text = fmt.Sprintf("idempotency key %s is that of runs[%d], which has another payload", c.Key, *c.Entry)
	}
	return jobs.Fault{Location: fmt.Sprintf("body.runs[%d].idempotency_key", i), Message: text}
}

// flatten takes joined errors apart. What failed in the store stays whole: its cause alone would say nothing of what
// was written.
func flatten(err error) []error {
	if storeFault(err) != nil {
		return []error{err}
	}
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
