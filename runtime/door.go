package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// deliveryTTL is how long the id of a delivery is remembered.
const deliveryTTL = 7 * 24 * time.Hour

// maxNotedID bounds what is noted of the id of a delivery at another run.
const maxNotedID = 200

// Errors of a door. Test with errors.Is.
var (
	ErrDoorShut = errors.New("the door's secret is not set") // for now: the sender may try again
	ErrRefused  = errors.New("refused")                      // no such door, or what was sent is not the sender's
)

// Delivery is what somebody brings to a door.
type Delivery struct {
	Job, Door   string
	Request     jobs.DoorRequest
	Traceparent string
}

// Deliver verifies a delivery and makes a run of it. admitted is false where the door's `if` says
// so: nothing is made. A delivery whose id is known gives the run it made; where a run of its kind
// stands, that is the answer.
//
// Errors: ErrRefused, wrapped with what is wrong; ErrDoorShut; a *jobs.SyntaxError or
// *jobs.InvalidError where the body is no payload; those of Submit.
func (r *Runtime) Deliver(ctx context.Context, d Delivery) (made Submitted, admitted bool, err error) {
	e, door, err := r.door(ctx, d.Job, d.Door)
	if err != nil {
		return made, false, err
	}
	secret, failure := door.Secret(r.secrets.Lookup)
	if failure != nil {
		r.log.Error("a door is shut", "job", d.Job, "door", d.Door, "error", failure.Message)
		return made, false, ErrDoorShut
	}
	id, err := jobs.VerifyDoor(door.Door().Verify, secret, d.Request, time.Now())
	if err != nil {
		return made, false, r.refused(&d, err)
	}
	payload := jobs.Raw(d.Request.Body)
	if len(payload) == 0 {
		payload = jobs.Raw("{}")
	}
	if err := jobs.DecodeJSON(payload, new(jobs.Raw)); err != nil {
		return made, false, err
	}
	admitted, note := door.Admit(d.Request.Headers, payload)
	if !admitted {
		return made, false, nil
	}
	if id, err = r.deliveryKey(door, &d, payload, id); err != nil {
		return made, false, err
	}
	sub := r.brought(&d, e, payload, id)
	sub.Most = r.cfg.MaxUnfinished
	out, err := r.store.Enqueue(ctx, []store.Submission{sub})
	if r.wrote(err) != nil {
		return made, false, err
	}
	r.hub.made(newOf(out)...)
	made = Submitted{Submitted: out[0]}
	if !made.Duplicate {
		made.Run = sub.Run
		r.bornFailed(made.Run, "door", d.Door)
	}
	if note != "" { // where an earlier run stands for this one, it is told of the door alone
		about := []any{"job", d.Job}
		if made.Run != nil {
			about = AboutRun(made.Run)
		}
		r.log.Warn("a door's if failed and counts as true", append(about, "door", d.Door, "error", note)...)
	}
	return made, true, nil
}

// brought is the run that a delivery makes. Where one of its kind stands, that is told nobody who
// would understand: it is noted at that run.
func (r *Runtime) brought(
	d *Delivery, job *planned, payload jobs.Raw, id string,
) store.Submission {
	next := r.newRun(&jobs.Request{
		Job: d.Job, Payload: payload, Trigger: jobs.TriggerInbound, Traceparent: d.Traceparent,
	}, job, r.Now())
	next.sub.Quiet, next.sub.By = true, d.Door
	if id != "" {
		next.sub.Delivery, next.sub.KeyTTL = d.Door+" "+id, deliveryTTL
		next.sub.By += " " + strings.ToValidUTF8(id[:min(len(id), maxNotedID)], "")
	}
	next.endAtBirth(next.keys)
	return next.sub
}

// refused tells what is wrong with the request from what is wrong with the door's own secret.
func (r *Runtime) refused(d *Delivery, err error) error {
	var why *jobs.RefusedError
	if errors.As(err, &why) && why.Reason == jobs.RefusedSecret {
		r.log.Error("a door is shut", "job", d.Job, "door", d.Door, "error", err)
		return ErrDoorShut
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// door is a job's door with that name. What does not exist is refused like what is forged: nobody
// learns which jobs there are.
func (r *Runtime) door(ctx context.Context, job, name string) (*planned, *jobs.DoorPlan, error) {
	e, err := r.plans.live(ctx, job)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil, ErrRefused
	case err != nil:
		return nil, nil, err
	}
	door := e.plan.Door(name)
	if door == nil {
		return nil, nil, ErrRefused
	}
	return e, door, nil
}

// deliveryKey is what the door's own key expression gives, else the sender's id.
func (r *Runtime) deliveryKey(
	door *jobs.DoorPlan, d *Delivery, payload jobs.Raw, id string,
) (string, error) {
	if door.Door().Key == "" {
		return id, nil
	}
	key, failure := door.Key(d.Request.Headers, payload)
	if failure != nil {
		r.log.Warn("a door's key failed: this delivery is not held against others", "job", d.Job,
			"door", d.Door, "error", failure.Message)
		return "", nil
	}
	return key, nil
}
