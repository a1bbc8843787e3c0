package runtime

import (
	"context"
	"errors"
	"slices"
	"time"

	"nightshift/store"
)

// persist does what the store has to do until it does: the failure of a store is not one of a run. It gives
// the cause with which ctx ends.
func (r *Runtime) persist(ctx context.Context, what string, do func() error) error {
	return r.until(ctx, what, do, store.ErrLease, store.ErrState, store.ErrNotFound)
}

// until does something until it succeeds, or fails with one of some errors. It gives the cause with which ctx
// ends. What it cannot do is told once.
func (r *Runtime) until(ctx context.Context, what string, do func() error, final ...error) error {
	for told := false; ; {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
			return err
		}
		if !told {
			told = true
			r.log.Error("the store failed: tried until it does not", "about", what, "error", err)
		}
		select {
		case <-time.After(retryWrite):
		case <-ctx.Done():
		}
	}
}
