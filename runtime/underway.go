package runtime

import (
	"context"
	"slices"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// underway is what is in memory of an attempt under way: what it says and prints, until that is on disk.
// It is there while a worker has the attempt, and while somebody speaks for one that no worker has.
//
// Whoever writes what the attempt has said holds saving meanwhile, and so does who judges it: what is
// written is written in the order in which it was said, and nothing is after it was judged.
type underway struct {
	fence   store.Fence
	saving  chan struct{} // of capacity 1
	settled chan struct{} // closed when it is put away: what was judged is on disk by then

	mu         sync.Mutex
	loaded     bool // it holds what was said before
	sealed     bool // it has been judged: what comes now waits until it is settled
	away       bool // put away
	waits      bool // its run waits for a callback
	callsBack  bool
	job        string
	mask       *jobs.Mask
	output     *output // nil: not read yet
	said       jobs.Said
	progress   *jobs.Progress // the newest; nil: as it is kept
	kept       *jobs.Progress // the one of these that is on disk
	keptAt     time.Duration  // when it was written, as clock.ran
	toldAt     time.Duration  // when watchers were told of one
	checkpoint *jobs.Raw      // said by a line, not on disk yet; nil: none
	saved      bool           // one is on disk that the lease does not know of
	usedAt     time.Duration
}

func newUnderway(f store.Fence) *underway {
	return &underway{
		fence: f, saving: make(chan struct{}, 1), settled: make(chan struct{}),
		keptAt: -progressEvery, toldAt: -tellEvery,
	}
}

// hold waits for saving.
func (u *underway) hold(ctx context.Context) error {
	select {
	case u.saving <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryHold is hold that waits only where it is told to.
func (u *underway) tryHold(wait bool) bool {
	if wait {
		return u.hold(context.Background()) == nil
	}
	select {
	case u.saving <- struct{}{}:
		return true
	default:
		return false
	}
}

func (u *underway) letGo() { <-u.saving }

// load takes in what the store has of it, once.
func (u *underway) load(l *store.Lease) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.loaded {
		return
	}
	u.loaded, u.callsBack, u.waits = true, l.Spec.Webhook.CallsBack(), l.Run.State == jobs.Waiting
	u.job = l.Run.Job
	if l.Said != nil {
		u.said = *l.Said
	}
}

// print gives where the attempt prints to, which it reads where nobody has.
func (u *underway) print(l *store.Lease) *output {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.output == nil {
		u.output = newOutput(l)
	}
	return u.output
}

// printed is where it prints to; nil: it has not, since this is in memory.
func (u *underway) printed() *output {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.output
}

// has reports whether it holds what the store has; printed: the output too.
func (u *underway) has(printed bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.loaded && (!printed || u.output != nil)
}

// write adds to the output; false where nothing is taken any more.
func (u *underway) write(text []byte, now time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sealed || u.away {
		return false
	}
	u.usedAt = now
	_, _ = u.output.Write(text) // which never fails
	return true
}

func (u *underway) touch(now time.Duration) {
	u.mu.Lock()
	u.usedAt = now
	u.mu.Unlock()
}

// open reports whether what the attempt says is still taken.
func (u *underway) open() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.sealed && !u.away
}

func (u *underway) isWaiting() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.waits
}

// saidSoFar is what it has said of its outcome.
func (u *underway) saidSoFar() (said jobs.Said, callsBack bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.said, u.callsBack
}

// use masks by what the attempt is given.
func (u *underway) use(mask *jobs.Mask) {
	u.mu.Lock()
	u.mask = mask
	u.mu.Unlock()
}

func (u *underway) masked() *jobs.Mask {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mask
}

// hear takes in what the attempt says; false where that is not taken any more.
func (u *underway) hear(n *jobs.Note, now time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sealed || u.away {
		return false
	}
	u.usedAt = now
	if len(n.Checkpoint) > 0 {
		u.checkpoint = &n.Checkpoint
	}
	if n.Progress != nil {
		u.progress = n.Progress
	}
	u.said.Add(&n.Said)
	return true
}

// judged is what an attempt has said, when it is over.
type judged struct {
	said       jobs.Said
	mask       *jobs.Mask
	callsBack  bool
	progress   *jobs.Progress // nil: nothing new
	checkpoint jobs.Raw       // nil: nothing that is not on disk
	saved      bool           // a checkpoint is on disk that the lease does not know of
}

// seal judges it: nothing is taken in from here on. It waits for what is being written.
func (u *underway) seal() judged {
	_ = u.hold(context.Background())
	defer u.letGo()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sealed = true
	j := judged{said: u.said, mask: u.mask, callsBack: u.callsBack, saved: u.saved}
	if u.progress != u.kept {
		j.progress = u.progress
	}
	if u.checkpoint != nil {
		j.checkpoint = *u.checkpoint
	}
	return j
}

// putAway forgets it: what comes now has to look for the attempt anew. Its output is not written any
// more; what of that is not on disk is left to the caller.
func (u *underway) putAway() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.away {
		return
	}
	u.away = true
	if u.output != nil {
		u.output.close()
	}
	close(u.settled)
}

// newest is the progress that it has said last; nil: none since this is in memory.
func (u *underway) newest() *jobs.Progress {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.progress
}

// pending is a checkpoint that is not on disk yet.
func (u *underway) pending() *jobs.Raw {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.checkpoint
}

// hasSaved notes that a checkpoint is on disk.
func (u *underway) hasSaved() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.saved = true
}

// swap puts a checkpoint that is not on disk yet in the place of another one, if that is there still.
func (u *underway) swap(from, to *jobs.Raw) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.checkpoint == from {
		u.checkpoint = to
	}
}

// isOf reports whether it is of one of these jobs.
func (u *underway) isOf(names []string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Contains(names, u.job)
}

// idleFor reports whether nobody has used it for a while and all of it is on disk.
func (u *underway) idleFor(rest, now time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.loaded && len(u.saving) == 0 && now-u.usedAt > rest && u.checkpoint == nil && u.progress == u.kept &&
		(u.output == nil || u.output.allKept())
}
