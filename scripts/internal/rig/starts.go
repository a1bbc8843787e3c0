package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Starts starts a server over and over. It is used by one goroutine.
type Starts struct {
	*Server
	Within time.Duration     // that a start may take
	Slow   func(text string) // is told of one that took longer: a violation, not the end
	Early  int               // kills before it was ready

	took []time.Duration // the starts that were not killed before
}

// Begin starts the server and returns when /readyz answers 200.
func (s *Starts) Begin() error {
	begun := time.Now()
	if err := s.Start(); err != nil {
		return err
	}
	if err := s.AwaitReady(max(30*time.Second, s.Within)); err != nil {
		return err
	}
	took := time.Since(begun)
	s.took = append(s.took, took)
	if took > s.Within {
		s.Slow(fmt.Sprintf("start %d was ready after %v; want %v", len(s.took)+s.Early,
			took.Round(time.Millisecond), s.Within))
	}
	return nil
}

// KillEarly starts the server and kills it so long after, ready or not.
func (s *Starts) KillEarly(after time.Duration) error {
	if err := s.Start(); err != nil {
		return err
	}
	select {
	case <-time.After(after):
	case <-s.Ended():
		return errors.New("the server ended by itself at its start\n" + s.LogTail())
	}
	s.Early++
	return s.Kill()
}

// Leave leaves the server alone for a while. That it ends meanwhile is an error.
func (s *Starts) Leave(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-s.Ended():
		return errors.New("the server ended by itself\n" + s.LogTail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Slowest is the longest that a start has taken.
func (s *Starts) Slowest() time.Duration { return slices.Max(s.took).Round(time.Millisecond) }

// Tell reports how long the starts took.
func (s *Starts) Tell(r *Report) {
	took := slices.Sorted(slices.Values(s.took))
	r.Row("ready after, median", took[len(took)/2].Round(time.Millisecond))
	r.Row("ready after, slowest", s.Slowest())
}
