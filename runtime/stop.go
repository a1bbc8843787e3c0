package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// lastMoment is what kinds and the store may take after the grace is over.
const lastMoment = 1500 * time.Millisecond

// Stop takes no more work, lets attempts end within the grace, interrupts what is left, and
// returns when all that ended is on disk. Closing kill (nil: never) cuts the grace short.
func (r *Runtime) Stop(kill <-chan struct{}) error {
	end := time.Now().Add(r.cfg.Grace)
	r.stop()
	waitFor(&r.resuming) // a resume under way ends soon, and one that comes later begins nothing
	r.wakeDispatcher()
	over := make(chan struct{})
	go func() {
		r.dispatcher.Wait()
		close(over)
	}()
	var err error
	if r.endAttempts(over, kill) && !r.stranded() {
		for _, ch := range r.leases {
			close(ch)
		}
		r.workers.Wait()
	} else {
		err = fmt.Errorf("%d attempts have no end on disk: they count as lost at the next start",
			r.active.count())
	}
	r.end()
	r.upkeep.Wait()
	waitFor(&r.backups.making) // one that somebody asked for ends now: no copy is under way when the store is closed
	if err == nil {
		r.lastBackup(time.Until(end)+lastMoment/2, kill)
	}
	return err
}

// stranded reports whether the dispatcher ended before its attempts did, for the store failed.
func (r *Runtime) stranded() bool { return r.active.count() > 0 }

// endAttempts waits for the attempts under way and reports whether all have ended. Scripts are
// told to stop their grace before the end, at once where it is longer; from the end on everything
// is interrupted, what a worker had not begun with included.
func (r *Runtime) endAttempts(over, kill <-chan struct{}) bool {
	end := time.Now().Add(r.cfg.Grace)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return true
		case <-kill:
			end, kill = time.Now(), nil
		case <-tick.C:
		}
		now := time.Now()
		if now.After(end.Add(lastMoment)) {
			return false
		}
		for _, a := range r.active.all() {
			if a.lease.Spec.Kind() == jobs.KindScript && !now.Before(end.Add(-a.grace)) {
				a.stop(jobs.ErrShutdown)
			}
			if !now.Before(end) {
				a.stop(jobs.ErrShutdown)
				a.hardStop()
			}
		}
	}
}

// recover decides about the runs that were running when the last process died: their attempts
// are lost. It is done before anything new is claimed.
func (r *Runtime) recover(ctx context.Context) error {
	orphans, err := r.store.Orphans(ctx)
	if err != nil {
		return err
	}
	const step = 500
	for len(orphans) > 0 {
		n := min(step, len(orphans))
		if err := r.recoverSome(ctx, orphans[:n]); err != nil {
			return err
		}
		orphans = orphans[n:]
	}
	return nil
}

func (r *Runtime) recoverSome(ctx context.Context, orphans []store.Lease) error {
	now := r.Now()
	pending := make([]completion, len(orphans))
	for i, l := range orphans {
		if _, err := r.plans.get(ctx, l.Run.Job); err != nil {
			return err
		}
		report := jobs.Report{ExitCode: -1}
		if l.Spec.Script != nil {
			report.Notes = []string{"the output of its last two seconds may be missing"}
		}
		f := forced{lost: true, cancel: l.Run.CancelRequestedAt != 0}
		c := completion{outcome: outcome{lease: l, report: report}}
		if l.Spec.Webhook.CallsBack() && l.Said != nil && l.Said.Ends() {
			f.lost = false // it was acknowledged how it ends
			c.judge(judged{said: *l.Said, callsBack: true, mask: r.maskOf(&l)})
		}
		c.finish = r.decide(&c.outcome, now, f)
		pending[i] = c
		if l.Spec.Script == nil {
			continue
		}
		mark, err := r.deathMark(ctx, l)
		if err != nil {
			return fmt.Errorf("read the output of run %s: %w", l.Run.ID, err)
		}
		pending[i].finish.Log = []store.LogPiece{mark}
	}
	for len(pending) > 0 {
		finishes := make([]store.Finish, len(pending))
		for i := range pending {
			finishes[i] = pending[i].finish
		}
		got, err := r.store.Claim(ctx, store.Claim{
			Now: now, Workers: r.cfg.Workers, Hold: true, Restored: r.restored.Load() != nil, Finished: finishes,
		})
		if err != nil {
			return err
		}
		var again []completion
		for i, res := range got.Results {
			c := pending[i]
			switch {
			case res.Err == nil:
				r.finished(c)
			case errors.Is(res.Err, store.ErrState):
				f := forced{lost: !c.said.Ends(), cancel: res.CancelAsked, orphan: res.Orphaned}
				c.decideAgain(r, f)
				again = append(again, c)
			default:
				return fmt.Errorf("run %s: %w", c.lease.Run.ID, res.Err)
			}
		}
		pending = again
	}
	return nil
}

const deathText = "[... the server died here: the last 2 s of the output may be missing ...]\n"

// deathMark is the end of the output that a script had when its server died.
func (r *Runtime) deathMark(ctx context.Context, l store.Lease) (store.LogPiece, error) {
	mark := store.LogPiece{Run: l.Run.ID, Attempt: l.Run.Counts.Number, Data: []byte(deathText)}
	err := r.store.Log(ctx, l.Run.ID, func(p store.LogPiece) error {
		if p.Attempt != mark.Attempt || len(p.Data) == 0 {
			return nil
		}
		mark.Piece, mark.Offset = p.Piece+1, p.Offset+int64(len(p.Data))
		mark.Data = []byte(deathText)
		if p.Data[len(p.Data)-1] != '\n' {
			mark.Data = []byte("\n" + deathText)
		}
		return nil
	})
	return mark, err
}

// waitFor waits until nobody holds the lock.
func waitFor(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}
