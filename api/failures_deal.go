package api

import (
	"errors"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func resolveFailure(c *call) error {
	f, err := c.pathFailure()
	if err != nil {
		return err
	}
	var body wire.Note
	err = c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) })
	if err != nil {
		return err
	}
	return c.deal(f, store.Dealing{Status: jobs.FailureResolved, Note: body.Note})
}

func ignoreFailure(c *call) error {
	f, err := c.pathFailure()
	if err != nil {
		return err
	}
	var body wire.Ignore
	err = c.decodeOptional(&body, func() []jobs.Fault {
		return append(checkNote(body.Note), c.checkUntil(body.Until)...)
	})
	if err != nil {
		return err
	}
	return c.deal(f, store.Dealing{Status: jobs.FailureIgnored, Note: body.Note, Until: body.Until})
}

// checkUntil wants the time until when a failure is ignored to lie ahead.
func (c *call) checkUntil(until jobs.Time) []jobs.Fault {
	if until == 0 || until > c.s.rt.Now() {
		return nil
	}
	return []jobs.Fault{{Location: "until", Message: "is over: want a time that lies ahead; left out: for good"}}
}

func (c *call) deal(f *store.Failure, d store.Dealing) error {
	id := f.Run.ID
	if err := c.s.rt.Deal(c.ctx(), id, d, c.by(d.Note)); err != nil {
		return c.dealError(err, id, d.Status)
	}
	f, err := c.readFailure(id)
	if err != nil {
		return err
	}
	return c.answerFailure(f)
}

// dealError says how the failure stands and what would be possible.
func (c *call) dealError(err error, id jobs.ID, to jobs.FailureStatus) error {
	if errors.Is(err, store.ErrNotFound) {
		return noFailure()
	}
	if !errors.Is(err, store.ErrState) {
		return within("body", err)
	}
	f, readErr := c.readFailure(id)
	if readErr != nil {
		return readErr
	}
	if f.Status == jobs.FailureWillRetry {
		return refuse(probState, "the run is %s: only one that has ended can be %s; cancel it to end it",
			f.Run.State, to)
	}
	if next := f.Run.RequeuedTo; !next.IsNil() {
		return refuse(probState, "the failure is %s: run %s stands in its place, and its end decides", f.Status, next)
	}
	return refuse(probState, "the failure is %s: it cannot be %s now", f.Status, to)
}

func requeueFailure(c *call) error {
	f, err := c.pathFailure()
	if err != nil {
		return err
	}
	var body wire.RequeueFailure
	err = c.decodeOptional(&body, func() []jobs.Fault {
		faults := append(checkNote(body.Note), checkPatch(body.Patch)...)
		if body.Payload != nil && body.Patch != nil {
			faults = append(faults, jobs.Fault{
				Location: "patch", Message: "is given beside payload: want one of them",
			})
		}
		return faults
	})
	if err != nil {
		return err
	}
	if err := withinPayload("body.patch", body.Patch); err != nil {
		return err
	}
	payload := body.Payload
	if body.Patch != nil {
		if payload, err = jobs.MergePatch(f.Run.Payload, body.Patch); err != nil {
			return badPatch(err)
		}
	}
	return c.requeue(f.Run, wire.Requeue{Payload: payload, Reset: body.Reset, Note: body.Note})
}

// badPatch says why what a patch makes is no payload.
func badPatch(err error) error {
	var large *jobs.TooLargeError
	if errors.As(err, &large) {
		return within("body", err)
	}
	return fault("body.patch", "%s", err)
}

// checkPatch wants a merge patch to be an object: any other would be a payload for all.
func checkPatch(patch jobs.Raw) []jobs.Fault {
	if patch == nil || patch[0] == '{' {
		return nil
	}
	return []jobs.Fault{{
		Location: "patch",
		Message:  "want an object with the members that change (RFC 7396); null within it takes one away",
	}}
}

// withinPayload refuses what no payload could hold.
func withinPayload(location string, text jobs.Raw) error {
	if len(text) > jobs.MaxPayload {
		return tooLarge([]jobs.Fault{payloadFault(location, len(text))})
	}
	return nil
}

// requeue makes the new run in place of an ended one, and answers with it.
func (c *call) requeue(r *jobs.Run, body wire.Requeue) error {
	if err := withinPayload("body.payload", body.Payload); err != nil {
		return err
	}
	sub, err := c.s.rt.Requeue(c.ctx(), store.Requeue{
		Of: r.ID, Payload: body.Payload, Reset: body.Reset, Trigger: jobs.TriggerRequeue,
		By: c.by(body.Note), Creator: c.who.Name,
	})
	if errors.Is(err, store.ErrNotFound) {
		return refuse(probState, "the job %s is deleted: register it again first", r.Job)
	}
	if err != nil {
		return within("body", c.endedError(err, r.ID, "only one that has ended can be requeued",
			"the group that it belongs to is being cancelled, or is about to end: nothing of that is run again until it has ended"))
	}
	if sub.Duplicate {
		return c.answerSubmitted(200, runtime.Submitted{Submitted: sub})
	}
	return c.answerSubmitted(202, runtime.Submitted{Submitted: sub})
}
