package webhook

import (
	"context"
	"errors"
	"io"
	"sync"

	"nightshift/jobs"
)

// stop closes what an attempt has under way when its context ends or it is killed.
type stop struct {
	over chan struct{} // closed by release

	mu       sync.Mutex
	released bool
	cause    error
	underWay io.Closer
}

// watch waits for the end of ctx or kill until the stop is released.
func (k *Kind) watch(ctx context.Context, kill <-chan struct{}) *stop {
	s := &stop{over: make(chan struct{})}
	if ctx.Err() != nil {
		s.cause = causeOf(ctx)
		return s
	}
	k.watchers.Add(1)
	go func() {
		defer k.watchers.Done()
		select {
		case <-s.over:
		case <-ctx.Done():
			s.fire(causeOf(ctx))
		case <-kill:
			if ctx.Err() != nil {
				s.fire(causeOf(ctx))
				return
			}
			s.fire(jobs.ErrShutdown)
		}
	}()
	return s
}

func (s *stop) fire(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	s.cause = cause
	if s.underWay != nil {
		s.underWay.Close()
	}
}

// during names what is to be closed from now on. It gives the cause where the attempt is
// stopped already: then nothing may be begun.
func (s *stop) during(c io.Closer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay = c
	return s.cause
}

// why is the cause for which the attempt was stopped; nil: it was not.
func (s *stop) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// release ends the watch: after it nothing is closed any more. It may be called twice.
func (s *stop) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released {
		s.released = true
		close(s.over)
	}
}

// causeOf is one of the causes in jobs for which ctx ended.
func causeOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	for _, known := range []error{jobs.ErrCancelled, jobs.ErrShutdown, jobs.ErrTimeout} {
		if errors.Is(cause, known) {
			return known
		}
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return jobs.ErrTimeout
	}
	return jobs.ErrShutdown
}

type closerFunc func()

func (f closerFunc) Close() error {
	f()
	return nil
}
