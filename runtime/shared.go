package runtime

import (
	"context"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// Gate is a queue or dependency as it stands; store.ErrNotFound where nothing has ever named it.
func (r *Runtime) Gate(
	ctx context.Context, kind jobs.GateKind, name string,
) (*store.GateInfo, error) {
	return r.store.Gate(ctx, kind, name, r.Now())
}

// Gates lists queues or dependencies, newest first.
func (r *Runtime) Gates(
	ctx context.Context, kind jobs.GateKind, p store.Page,
) ([]*store.GateInfo, string, error) {
	return r.store.Gates(ctx, kind, r.Now(), p)
}

// PauseGate pauses or resumes a queue or dependency.
func (r *Runtime) PauseGate(
	ctx context.Context, kind jobs.GateKind, name string, paused bool, note string, by store.By,
) error {
	by.Now = r.Now()
	return r.opened(r.store.PauseGate(ctx, kind, name, paused, note, by))
}

// Trip opens the breaker of a dependency for a while, 0: for its open_for; store.ErrState where it
// has none.
func (r *Runtime) Trip(ctx context.Context, name string, length time.Duration, by store.By) error {
	r.clock.moving.RLock()
	defer r.clock.moving.RUnlock()
	by.Now = r.Now()
	return r.opened(r.store.Trip(ctx, name, length, by))
}

// Reset closes the breaker of a dependency and forgets what a Retry-After asked for.
func (r *Runtime) Reset(ctx context.Context, name string, by store.By) error {
	r.clock.moving.RLock()
	defer r.clock.moving.RUnlock()
	by.Now = r.Now()
	return r.opened(r.store.Reset(ctx, name, by))
}

// DeleteGate deletes the document of a queue or dependency, which falls back to its defaults;
// store.ErrNotFound where nobody has put one.
func (r *Runtime) DeleteGate(
	ctx context.Context, kind jobs.GateKind, name string, ifMatch *int64, by store.By,
) error {
	by.Now = r.Now()
	return r.opened(r.store.DeleteDocument(ctx, store.GateDocument(kind), name, ifMatch, by))
}

// opened notes a write that may have opened or shut a gate: the dispatcher looks again.
func (r *Runtime) opened(err error) error {
	if r.wrote(err) == nil {
		r.wakeDispatcher()
	}
	return err
}
