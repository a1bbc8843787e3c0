package runtime

import (
	"context"
	"sync"

	"nightshift/jobs"
)

// maxLive is how many runs a follower may be behind with; past it it learns no more than that much has changed.
const maxLive = 500

// Follower is told which runs change. It keeps up at its own pace: a run that changes again before it has looked
// is told once, and of too many it learns just that there were.
type Follower struct {
	changed chan struct{} // capacity 1

	mu   sync.Mutex
	runs []jobs.ID // in the order in which they changed first
	in   map[jobs.ID]struct{}
	many bool
}

// Changed is signalled when Take has something.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Take gives the runs that have changed since it was called before; many: others have too, which nobody counted.
func (f *Follower) Take() (runs []jobs.ID, many bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs, many = f.runs, f.many
	f.runs, f.in, f.many = nil, map[jobs.ID]struct{}{}, false
	return runs, many
}

// tell notes runs; none: many have changed.
func (f *Follower) tell(runs ...jobs.ID) {
	f.mu.Lock()
	f.many = f.many || len(runs) == 0
	for _, id := range runs {
		if _, known := f.in[id]; known {
			continue
		}
		if len(f.runs) == maxLive {
			f.many = true
			break
		}
		f.runs, f.in[id] = append(f.runs, id), struct{}{}
	}
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// follow gives a follower of all runs, until stop.
func (h *hub) follow() (f *Follower, stop func()) {
	f = &Follower{changed: make(chan struct{}, 1), in: map[jobs.ID]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers[f] = struct{}{}
	h.followed.Add(1)
	return f, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.followers, f)
		h.followed.Add(-1)
	}
}

// made tells of runs that have been made. Nobody can watch one of them yet.
func (h *hub) made(runs ...jobs.ID) {
	if len(runs) == 0 || h.followed.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tellFollowers(runs...)
}

// tellFollowers needs mu.
func (h *hub) tellFollowers(runs ...jobs.ID) {
	for f := range h.followers {
		f.tell(runs...)
	}
}

// Follow gives a follower of all runs: it is told when one is made, starts, ends, waits, is held by somebody or
// says how far it is. stop ends it.
func (r *Runtime) Follow() (f *Follower, stop func()) { return r.hub.follow() }

// Listed are the runs of these ids as lists have them; those that are not kept any more are left out.
func (r *Runtime) Listed(ctx context.Context, ids []jobs.ID) ([]*jobs.Run, error) {
	runs, err := r.store.Listed(ctx, ids)
	if err == nil {
		err = r.explainAll(ctx, runs...)
	}
	for _, run := range runs {
		r.freshen(run)
	}
	return runs, err
}
