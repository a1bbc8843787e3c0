package runtime

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// wait is a run that waits for its callback. Its times are as clock.ran: they do not move when the wall
// clock is set.
type wait struct {
	store.Fence
	job     string
	until   time.Duration // its deadline
	silence time.Duration // the longest there may be; 0: any
	beat    time.Duration // when it was heard of last

	at    time.Duration // by when it is to be looked at: not later than it expires
	index int           // in the heap; -1: it is not in there, for it is being ended
	ends  int           // of it that are under way: whether one is on disk, the store knows
}

// expires is when it ends if nothing is heard of it.
func (w *wait) expires() time.Duration {
	if w.silence > 0 {
		return min(w.until, w.beat+w.silence)
	}
	return w.until
}

// waits are all that wait. Hearing of one moves nothing in the heap: it is put where it belongs when its
// turn comes.
type waits struct {
	mu    sync.Mutex
	byRun map[jobs.ID]*wait
	heap  waitHeap
	beats int           // those that may not be silent for long
	wake  chan struct{} // capacity 1: an earlier one came first
}

func (s *waits) init() { s.byRun, s.wake = map[jobs.ID]*wait{}, make(chan struct{}, 1) }

func (s *waits) add(w *wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(s.byRun[w.Run])
	s.byRun[w.Run] = w
	if w.silence > 0 {
		s.beats++
	}
	s.arm(w, w.expires())
}

// arm has it looked at by then.
func (s *waits) arm(w *wait, at time.Duration) {
	w.at = at
	heap.Push(&s.heap, w)
	if w.index == 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (s *waits) has(f store.Fence) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(f) != nil
}

func (s *waits) of(f store.Fence) *wait {
	if w := s.byRun[f.Run]; w != nil && w.Fence == f {
		return w
	}
	return nil
}

// beat takes in that it was heard of; waits is false where it does not wait. sure is false while it is
// being ended: only the store knows then.
func (s *waits) beat(f store.Fence, now time.Duration) (waits, sure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.of(f)
	if w == nil {
		return false, false
	}
	w.beat = now
	return true, w.ends == 0
}

// ending notes that an end of it is under way, or (n = -1) not any more.
func (s *waits) ending(f store.Fence, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.of(f); w != nil {
		w.ends += n
	}
}

// beatAll takes in that nothing could be heard for a while.
func (s *waits) beatAll(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.byRun {
		w.beat = now
	}
}

func (s *waits) drop(f store.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(s.of(f))
}

func (s *waits) dropRun(id jobs.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(s.byRun[id])
}

func (s *waits) dropJobs(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.byRun {
		if slices.Contains(names, w.job) {
			s.forget(w)
		}
	}
}

func (s *waits) forget(w *wait) {
	if w == nil {
		return
	}
	delete(s.byRun, w.Run)
	if w.silence > 0 {
		s.beats--
	}
	if w.index >= 0 {
		heap.Remove(&s.heap, w.index)
	}
}

// due takes out one that has expired; nil: none has, and none will for next. silent: it was not heard
// of in time.
func (s *waits) due(now time.Duration) (w *wait, silent bool, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = time.Hour
	for len(s.heap) > 0 {
		first := s.heap[0]
		if at := first.expires(); at > first.at {
			first.at = at
			heap.Fix(&s.heap, 0)
			continue
		}
		if first.at > now {
			next = min(next, first.at-now)
			break
		}
		heap.Pop(&s.heap)
		return first, first.until > now, 0
	}
	if s.beats > 0 {
		next = min(next, watchEvery)
	}
	return nil, false, next
}

// again arms one that could not be ended.
func (s *waits) again(w *wait, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byRun[w.Run] == w && w.index < 0 {
		s.arm(w, at)
	}
}

// waitHeap is ordered by when they are to be looked at.
type waitHeap []*wait

func (h waitHeap) Len() int           { return len(h) }
func (h waitHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *waitHeap) Push(w any) {
	w.(*wait).index = len(*h)
	*h = append(*h, w.(*wait))
}

// Pop implements heap.Interface.
func (h *waitHeap) Pop() any {
	n := len(*h) - 1
	w := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	w.index = -1
	return w
}
