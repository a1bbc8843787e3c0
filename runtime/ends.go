package runtime

import "sync"

// ends are the attempts that are over and wait for the dispatcher. It is woken once for as many
// as it asked for, not for each.
type ends struct {
	mu   sync.Mutex
	list []completion
	want int           // how many wake the dispatcher
	wake chan struct{} // capacity 1
	over bool          // the dispatcher takes no more
}

func (e *ends) init() { e.want, e.wake = 1, make(chan struct{}, 1) }

// add hands an end over; false where nobody takes it any more. It does not block.
func (e *ends) add(c completion) bool {
	e.mu.Lock()
	if e.over {
		e.mu.Unlock()
		return false
	}
	e.list = append(e.list, c)
	enough := len(e.list) >= e.want
	e.mu.Unlock()
	if enough {
		e.signal()
	}
	return true
}

// shut ends the taking, unless there is something left to be taken. now: though there is.
func (e *ends) shut(now bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = now || len(e.list) == 0
	return e.over
}

// await gives a channel that is signalled once n ends are there.
func (e *ends) await(n int) <-chan struct{} {
	e.mu.Lock()
	e.want = n
	enough := len(e.list) >= n
	e.mu.Unlock()
	if enough {
		e.signal()
	}
	return e.wake
}

func (e *ends) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// take gives what is there and keeps the room of the list before.
func (e *ends) take(room []completion) []completion {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.list
	e.list = room[:0]
	return got
}
