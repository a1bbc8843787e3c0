package runtime

import (
	"context"
	"errors"

	"nightshift/jobs"
	"nightshift/store"
)

// Complete gives the result. It ends an attempt of completion callback; of another one it is the
// result if that succeeds. nil: null. Repeated by the attempt that it ended it changes nothing.
func (r *Runtime) Complete(ctx context.Context, f store.Fence, result jobs.Raw) error {
	if err := jobs.CheckResult(result); err != nil {
		return err
	}
	if result == nil {
		result = jobs.Raw("null")
	}
	return r.tell(ctx, f, telling{store.ToldComplete, jobs.Said{Complete: true, Result: result}})
}

// Fail says that the attempt has failed. It ends one of completion callback; another one fails by it
// when it is over, whatever comes of it. Repeated by the attempt that it ended it changes nothing.
func (r *Runtime) Fail(ctx context.Context, f store.Fence, e *jobs.SaidError) error {
	said := *e
	said.Fail = true
	return r.tell(ctx, f, telling{store.ToldFail, jobs.Said{Error: &said}})
}

// telling is a call that tells how an attempt ends.
type telling struct {
	call string // store.ToldComplete, store.ToldFail
	said jobs.Said
}

// masked is what of it may be kept.
func (t *telling) masked(mask *jobs.Mask) *jobs.Said {
	said := t.said
	if said.Result != nil {
		said.Result = mask.JSON(said.Result)
	}
	if e := said.Error; e != nil {
		kept := *e
		said.Error = kept.Bound(mask)
	}
	return &said
}

// repeated is nil where the attempt was ended by the same call.
func (t *telling) repeated(err error) error {
	var over *store.OverError
	if errors.As(err, &over) && over.Told == t.call {
		return nil
	}
	return err
}

// tell takes in how an attempt ends: at once where its run waits for that, else when it is over.
func (r *Runtime) tell(ctx context.Context, f store.Fence, t telling) error {
	for {
		if r.waits.has(f) {
			return t.repeated(r.endTold(ctx, f, t))
		}
		u, err := r.reach(ctx, f, false)
		if err != nil {
			return t.repeated(err)
		}
		if u.isWaiting() {
			return t.repeated(r.endTold(ctx, f, t))
		}
		open, err := r.tellHeld(ctx, u, t)
		if open || err != nil {
			return t.repeated(err)
		}
		if err := u.await(ctx); err != nil {
			return err
		}
	}
}

// tellHeld has it on disk before the attempt can be judged; open is false where that has been done.
func (r *Runtime) tellHeld(ctx context.Context, u *underway, t telling) (open bool, err error) {
	if err := u.hold(ctx); err != nil {
		return false, err
	}
	defer u.letGo()
	if !u.open() {
		return false, nil
	}
	before, callsBack := u.saidSoFar()
	if callsBack && before.Ends() { // which of the two calls came first has been acknowledged
		over := &store.OverError{State: jobs.Running, Told: store.ToldComplete}
		if before.Failed() {
			over.Told = store.ToldFail
		}
		return true, over
	}
	said := t.masked(u.masked())
	before.Add(said)
	// What was begun is written whoever waits for it: else the attempt would end by something else.
	if err := r.wrote(r.store.Say(context.WithoutCancel(ctx), u.fence, &before)); err != nil {
		return true, err
	}
	u.hear(&jobs.Note{Said: *said}, r.clock.ran())
	return true, nil
}

// endTold ends an attempt whose run waits for it, and returns when that is on disk.
func (r *Runtime) endTold(ctx context.Context, f store.Fence, t telling) error {
	done := make(chan error, 1)
	err := r.endWaiting(ctx, waitEnd{Fence: f, said: &t, answer: func(err error) { done <- err }})
	if err == nil {
		select {
		case err = <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var over *store.OverError
	if errors.Is(err, store.ErrLease) && !errors.As(err, &over) {
		_, err = r.store.Lease(ctx, f) // which says what came before
	}
	return err
}
