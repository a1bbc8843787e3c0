package runtime

import (
	"context"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// attempt is one execution under way, or a slice of it.
type attempt struct {
	*underway
	lease    store.Lease
	begun    time.Time
	deadline time.Time
	limit    time.Duration // of its request, where it calls back, else of all of it
	ctx      context.Context
	cancel   context.CancelCauseFunc
	kill     chan struct{}
	killed   sync.Once
	grace    time.Duration // of a script, between TERM and KILL
}

// stop ends the attempt for a cause; the kind may take its grace.
func (a *attempt) stop(cause error) { a.cancel(cause) }

// hardStop ends it without grace.
func (a *attempt) hardStop() { a.killed.Do(func() { close(a.kill) }) }

// toldBefore reports whether it was told, between two slices, how the attempt ends: no other is asked for.
func (a *attempt) toldBefore() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lease.Run.Slices > 0 && (a.said.Failed() || a.callsBack && a.said.Ends())
}

// actives are the attempts under way, by run.
type actives struct {
	mu    sync.Mutex
	byRun map[jobs.ID]*attempt
	idle  map[jobs.ID]*underway // that no worker has and somebody speaks for
	busy  [store.Pools]int      // workers
	rest  []*output             // of those that were put away, until it is on disk
	shut  bool                  // nothing is taken in any more for those that no worker has
}

func (s *actives) init() {
	s.byRun, s.idle = map[jobs.ID]*attempt{}, map[jobs.ID]*underway{}
}

// add puts an attempt among those under way. One that goes on, and that somebody spoke for
// meanwhile, goes on from there.
func (s *actives) add(a *attempt) {
	fence := fenceOf(&a.lease)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.underway = s.idle[fence.Run]
	delete(s.idle, fence.Run)
	if a.underway != nil && a.fence != fence {
		s.leave(a.underway)
		a.underway = nil
	}
	if a.underway == nil {
		a.underway = newUnderway(fence)
	}
	a.load(&a.lease)
	a.print(&a.lease)
	s.byRun[fence.Run] = a
	s.busy[poolOf(a.lease)]++
}

// leave puts one away whose output may not be on disk.
func (s *actives) leave(u *underway) {
	u.putAway()
	if o := u.printed(); o != nil && !o.allKept() {
		s.rest = append(s.rest, o)
	}
}

func (s *actives) get(id jobs.ID) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byRun[id]
}

// find is what is in memory of the attempt of a run; nil: nothing.
func (s *actives) find(id jobs.ID) *underway {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.byRun[id]; a != nil {
		return a.underway
	}
	return s.idle[id]
}

// reach is find that makes one for an attempt that no worker has. It gives nil for an attempt that is
// over, as far as that can be known here.
func (s *actives) reach(f store.Fence) *underway {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.idle[f.Run]
	if a := s.byRun[f.Run]; a != nil {
		u = a.underway
	}
	switch {
	case u != nil && u.fence == f:
		return u
	case u != nil && u.fence.Number > f.Number, s.byRun[f.Run] != nil, s.shut:
		return nil
	case u != nil:
		s.leave(u)
	}
	u = newUnderway(f)
	s.idle[f.Run] = u
	return u
}

// drop puts away what is in memory of a run's attempt that no worker has.
func (s *actives) drop(id jobs.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.idle[id]; u != nil {
		delete(s.idle, id)
		s.leave(u)
	}
}

// dropWhere puts away what is in memory of attempts that no worker has.
func (s *actives) dropWhere(which func(*underway) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, u := range s.idle {
		if which(u) {
			delete(s.idle, id)
			s.leave(u)
		}
	}
}

// close puts all of them away for good.
func (s *actives) close() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.dropWhere(func(*underway) bool { return true })
}

// abandon drops one that turned out to be of an attempt that is over.
func (s *actives) abandon(u *underway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle[u.fence.Run] == u {
		delete(s.idle, u.fence.Run)
		s.leave(u)
	}
}

// remove forgets an attempt that is over, or whose slice is. The next one of its run may be under way
// already.
func (s *actives) remove(c completion) {
	if c.attempt == nil {
		return
	}
	held := c.finish.Held != ""
	if !held {
		for _, lp := range c.finish.Log {
			c.attempt.output.kept(lp)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[poolOf(c.lease)]--
	if s.byRun[c.lease.Run.ID] == c.attempt {
		delete(s.byRun, c.lease.Run.ID)
		if held && c.lease.Run.Slices > 0 { // it goes on where it was
			s.idle[c.lease.Run.ID] = c.attempt.underway
			return
		}
	}
	s.leave(c.attempt.underway)
}

// settle puts away what is in memory of an attempt that no worker had, and that is over.
func (s *actives) settle(c *completion) {
	if u := s.find(c.lease.Run.ID); u != nil && u.fence == fenceOf(&c.lease) {
		if o := u.printed(); o != nil {
			for _, lp := range c.finish.Log {
				o.kept(lp)
			}
		}
		s.drop(c.lease.Run.ID)
	}
}

func (s *actives) all() []*attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*attempt, 0, len(s.byRun))
	for _, a := range s.byRun {
		list = append(list, a)
	}
	return list
}

// outputs are those that may hold what is not on disk.
func (s *actives) outputs() []*output {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*output, 0, len(s.byRun)+len(s.idle)+len(s.rest))
	for _, a := range s.byRun {
		list = append(list, a.output)
	}
	for _, u := range s.idle {
		if o := u.printed(); o != nil {
			list = append(list, o)
		}
	}
	return append(list, s.rest...)
}

// forgetRest drops outputs that are on disk.
func (s *actives) forgetRest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.rest[:0]
	for _, o := range s.rest {
		if !o.allKept() {
			left = append(left, o)
		}
	}
	clear(s.rest[len(left):])
	s.rest = left
}

func (s *actives) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byRun)
}

// countIn is how many workers of a pool are busy.
func (s *actives) countIn(pool store.Pool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[pool]
}

func fenceOf(l *store.Lease) store.Fence {
	return store.Fence{Run: l.Run.ID, Number: l.Run.Counts.Number}
}

// launch hands a run to a worker; the channel has room for every worker.
func (d *dispatcher) launch(pool store.Pool, l store.Lease) {
	d.active.add(d.newAttempt(l))
	d.leases[pool] <- l
}

func (r *Runtime) newAttempt(l store.Lease) *attempt {
	a := &attempt{lease: l, begun: time.Now(), kill: make(chan struct{}), grace: jobs.DefaultGrace}
	a.ctx, a.cancel = context.WithCancelCause(r.base)
	if l.Spec.Script != nil && l.Spec.Script.Grace != nil {
		a.grace = l.Spec.Script.Grace.Std()
	}
	return a
}
