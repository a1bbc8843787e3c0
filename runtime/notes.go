package runtime

import (
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// progressEvery is the least time between two writes of a run's progress.
	progressEvery = time.Second
	// tellEvery is the least time between two signals of it to who watches the run.
	tellEvery = 250 * time.Millisecond
	// busyNote is how soon a note is looked at again whose attempt was just writing.
	busyNote = 20 * time.Millisecond
)

// notes are the attempts of which something that they have said is not on disk.
type notes struct {
	mu    sync.Mutex
	dirty map[*underway]struct{}
	wake  chan struct{} // capacity 1
}

func (n *notes) init() { n.dirty, n.wake = map[*underway]struct{}{}, make(chan struct{}, 1) }

// add has it looked at: at once where that is urgent, or nobody is about to.
func (n *notes) add(u *underway, urgent bool) {
	n.mu.Lock()
	_, known := n.dirty[u]
	n.dirty[u] = struct{}{}
	n.mu.Unlock()
	if known && !urgent {
		return
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notes) all() []*underway {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]*underway, 0, len(n.dirty))
	for u := range n.dirty {
		list = append(list, u)
	}
	return list
}

// settle drops those of which all is on disk.
func (n *notes) settle(list []*underway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range list {
		if u.clean() {
			delete(n.dirty, u)
		}
	}
}

// clean reports whether nothing of it is left to be kept here: what is judged is kept with that.
func (u *underway) clean() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sealed || u.checkpoint == nil && u.progress == u.kept
}

// hear takes in what a line of an attempt's output says: checkpoints are on disk as soon as may be,
// progress is within a second, and the rest counts when the attempt is over.
func (r *Runtime) hear(u *underway, n *jobs.Note) (wrong string) {
	said := *n
	if err := jobs.CheckCheckpoint(said.Checkpoint); err != nil {
		wrong, said.Checkpoint = err.Error(), nil
	}
	if u.hear(&said, r.clock.ran()) {
		r.heard(u, &said)
	}
	return wrong
}

// heard sees to what was said: that it gets on disk, and that watchers look.
func (r *Runtime) heard(u *underway, n *jobs.Note) {
	if n.Checkpoint == nil && n.Progress == nil {
		return
	}
	r.notes.add(u, n.Checkpoint != nil)
	if n.Progress == nil {
		return
	}
	now := r.clock.ran()
	u.mu.Lock()
	tell := now-u.toldAt >= tellEvery
	if tell {
		u.toldAt = now
	}
	u.mu.Unlock()
	if tell {
		r.hub.changed(u.fence.Run)
	}
}

// keepNotes keeps what attempts say on disk, those of one moment together, until the server has stopped.
func (r *Runtime) keepNotes() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		last := false
		select {
		case <-r.over.Done():
			r.active.close() // nothing is said after what is kept now
			last = true
		case <-r.notes.wake:
		case <-timer.C:
		}
		wait := r.noteRound(last)
		if last {
			return
		}
		timer.Reset(wait)
	}
}

// noteRound keeps what is due and says when to look again. The last one keeps all.
func (r *Runtime) noteRound(last bool) (wait time.Duration) {
	wait = time.Hour
	now := r.clock.ran()
	list := r.notes.all()
	var held []*underway
	var due []store.Note
	for _, u := range list {
		if !u.tryHold(last) {
			wait = min(wait, busyNote)
			continue
		}
		n, in := u.due(now, last)
		if n.Progress == nil && n.Checkpoint == nil {
			u.letGo()
			wait = min(wait, in)
			continue
		}
		held, due = append(held, u), append(due, n)
		wait = min(wait, progressEvery)
	}
	if err := r.keepThese(held, due); err != nil {
		r.log.Warn("what attempts have said could not be kept yet", "error", err)
		wait = retryWrite
	}
	r.notes.settle(list)
	return wait
}

// keepThese writes notes of attempts that are held, and lets go of them.
func (r *Runtime) keepThese(held []*underway, due []store.Note) (err error) {
	defer func() {
		for _, u := range held {
			u.letGo()
		}
	}()
	if len(due) == 0 {
		return nil
	}
	if err = r.wrote(r.store.KeepNotes(r.base, due, r.Now())); err != nil {
		return err
	}
	now := r.clock.ran()
	for i, u := range held {
		u.noted(&due[i], now)
		if due[i].Progress != nil {
			r.hub.changed(u.fence.Run)
		}
	}
	return nil
}

// due is what is to be kept now, nothing where that is in a while.
func (u *underway) due(now time.Duration, all bool) (n store.Note, in time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n.Fence, in = u.fence, time.Hour
	if u.sealed {
		return n, in
	}
	if u.checkpoint != nil {
		n.Checkpoint = *u.checkpoint
	}
	if u.progress != u.kept {
		if in = u.keptAt + progressEvery - now; in <= 0 || all {
			n.Progress = u.progress
		}
	}
	return n, in
}

// noted takes in that a note is on disk.
func (u *underway) noted(n *store.Note, now time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n.Progress != nil {
		u.kept, u.keptAt = n.Progress, now
	}
	u.saved = u.saved || n.Checkpoint != nil
	if c := u.checkpoint; c != nil && n.Checkpoint != nil && &(*c)[0] == &n.Checkpoint[0] {
		u.checkpoint = nil
	}
}
