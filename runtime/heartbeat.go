package runtime

import (
	"context"
	"time"
)

const (
	// beatEvery is how often somebody is told that the server is well.
	beatEvery = time.Minute
	// beatWithin is how long that may take.
	beatWithin = 10 * time.Second
)

// beatDue has a heartbeat sent, unless the one before is still under way. It does not block.
func (r *Runtime) beatDue() {
	select {
	case r.beats <- struct{}{}:
	default:
	}
}

// beat sends heartbeats that are due, one at a time, until the runtime stops: a receiver that hangs keeps
// nobody waiting. Each is due after a turn of the ticker that has gone well, and is sent where all else
// is well too.
func (r *Runtime) beat() {
	failing := false
	for {
		select {
		case <-r.stopping.Done():
			return
		case <-r.beats:
		}
		if err := r.Health(r.stopping); err != nil {
			if r.stopping.Err() == nil {
				r.log.Error("no heartbeat is sent: the server is not well", "error", err)
			}
			continue
		}
		ctx, cancel := context.WithTimeout(r.stopping, beatWithin)
		err := r.cfg.Heartbeat(ctx)
		cancel()
		switch {
		case r.stopping.Err() != nil:
			return
		case err != nil && !failing:
			failing = true
			r.log.Error("the heartbeat cannot be sent: tried each minute", "error", err)
		case err == nil && failing:
			failing = false
			r.log.Warn("the heartbeat is sent again")
		}
	}
}
