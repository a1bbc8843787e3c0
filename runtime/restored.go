package runtime

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// cancelStep is how many runs a resume cancels in one transaction.
const cancelStep = 500

var errStopping = fmt.Errorf("%w: the server is stopping", store.ErrClosed)

// startUpkeep starts what decides by itself: ticks, deadlines, alerts, orders, pruning. Of a file that is held it
// is not started before that is let go.
func (r *Runtime) startUpkeep() {
	r.upkeep.Go(r.expire)
	r.upkeep.Go(r.endGroups)
	r.upkeep.Go(r.carryOut)
	r.upkeep.Go(r.tick)
	r.upkeep.Go(r.tellAlerts)
	r.upkeep.Go(r.maintain)
	r.upkeep.Go(r.prune)
	r.upkeep.Go(r.backUp)
	if r.cfg.Heartbeat != nil {
		r.upkeep.Go(r.beat)
	}
}

// Restored says why nothing starts, no tick is decided and nobody told; nil: all of that is done.
func (r *Runtime) Restored() *store.Restored { return r.restored.Load() }

// RestoredText says it in a sentence.
func RestoredText(h *store.Restored) string {
	switch h.Why {
	case store.HeldBackup:
		if h.AsOf != 0 {
			return fmt.Sprintf("the database is a backup as of %s: what ran or was sent since then is not in it", h.AsOf)
		}
		return "the database is a backup: what ran or was sent since it was made is not in it"
	case store.HeldNoLog:
		return "the server died and the log of its database (-wal) was removed: the last writes may be missing, unless a program such as sqlite3 took them into the file as it closed it"
	}
	return "this path did not serve the database file last: it may be an older copy, or the original may be at work elsewhere"
}

// heldRestored is why a run of a file that is held does not start.
func heldRestored(h *store.Restored) *jobs.HeldBy {
	return &jobs.HeldBy{Kind: jobs.HeldRestored, Name: "server", Reason: RestoredText(h) + "; nothing starts until nightshift resume"}
}

// Resume ends a drain, and lets go a file that is held. cancelWaiting: before that, what is scheduled, queued,
// retrying or waiting is cancelled; it says how many that were.
func (r *Runtime) Resume(ctx context.Context, cancelWaiting bool, by store.By) (cancelled int, err error) {
	r.resuming.Lock()
	defer r.resuming.Unlock()
	if r.stopping.Err() != nil {
		return 0, errStopping
	}
	by.Now = r.Now()
	ctx = context.WithoutCancel(ctx) // half of it would be nothing
	if r.restored.Load() != nil {
		if err := r.recover(ctx); err != nil {
			return 0, fmt.Errorf("recover the runs that were under way: %w", err)
		}
	}
	if cancelWaiting {
		if cancelled, err = r.cancelWaiting(ctx, by); err != nil {
			return cancelled, fmt.Errorf("cancel what waits (%d runs are, call again for the rest): %w", cancelled, err)
		}
	}
	changes := drained(r.draining.Load(), false)
	if cancelWaiting {
		changes = append(changes, jobs.Change{Location: "cancelled_runs", After: jobs.AppendJSON(nil, cancelled)})
	}
	if err := r.wrote(r.store.Note(ctx, by, "resume", "server", "server", changes...)); err != nil {
		return cancelled, err
	}
	if r.restored.Load() != nil {
		if err := r.wrote(r.store.LetGo(ctx, by)); err != nil {
			return cancelled, err
		}
		r.tickBy.Store(int64(r.clock.ran()))
		r.restored.Store(nil)
		r.log.Warn("the database is not held any more: work goes on", "by", by.Actor, "cancelled", cancelled)
		if r.begun {
			r.firstBackup()
			r.startUpkeep()
		}
	}
	r.draining.Store(false)
	r.wakeDispatcher()
	return cancelled, nil
}

func (r *Runtime) cancelWaiting(ctx context.Context, by store.By) (n int, err error) {
	for next := int64(0); ; {
		out, err := r.store.CancelWaiting(ctx, next, cancelStep, by)
		if r.wrote(err) != nil {
			return n, err
		}
		r.stopAll(out.Stop)
		for _, id := range out.Runs {
			r.endedIdle(id)
		}
		n += len(out.Runs)
		next = out.Next
		r.hub.changedAll()
		r.hub.cascaded()
		if out.Done {
			return n, nil
		}
		if r.stopping.Err() != nil {
			return n, errStopping
		}
	}
}
