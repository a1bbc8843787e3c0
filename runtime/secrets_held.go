package runtime

import (
	"context"
	"fmt"
)

// letGo gives the runs that wait for a secret another try, in steps that let others write in
// between. Who asked for it may be gone: the secret stands, so they are let go all the same.
func (s *Secrets) letGo(ctx context.Context, names ...string) error {
	ctx = context.WithoutCancel(ctx)
	for {
		more, err := s.store.Release(ctx, names)
		if s.wrote(err) != nil {
			return fmt.Errorf("let go of runs that wait for a secret: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// letGoReadable does so for all secrets that can be read: after a start a key may be back, and
// what could not be written before is made up for.
func (r *Runtime) letGoReadable() {
	var names []string
	for _, secret := range r.secrets.List() {
		if secret.Readable {
			names = append(names, secret.Name)
		}
	}
	for more := len(names) > 0; more && r.stopping.Err() == nil; {
		var err error
		if more, err = r.store.Release(r.stopping, names); r.wroteIdle(err) != nil {
			if r.stopping.Err() == nil {
				r.log.Warn("runs that wait for a secret could not be let go: tried again in a minute",
					"error", err)
			}
			return
		}
	}
}
