package main

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// value is a checkpoint: a number that goes up, and who saved it: the number of an attempt, or of a checkpoint
// key that of a delivery.
type value struct {
	N  int `json:"n"`
	By int `json:"by"`
}

// saved is what one attempt read and saved. It counts up from the number it read.
type saved struct {
	by    int // of its values
	read  value
	sent  int    // the last number that it began to send; 0: none
	acked int    // the last one that must not be lost
	marks []mark // by line alone: what it had sent by when
	left  bool   // it ended by itself, and all that it had sent was said
}

// mark is the last number that had been sent at some time.
type mark struct {
	at time.Time
	n  int
}

// lineWithin is how long a line of a script may take until it is on disk (contract 2).
const lineWithin = 2 * time.Second

// settle finds out what of the lines of a script must have been kept: all where it ended by itself, else
// what was sent some time before the server died.
func (s *saved) settle(deaths []time.Time) {
	if s.left {
		s.acked = s.sent
	}
	if s.left || len(s.marks) == 0 {
		return
	}
	last := s.marks[len(s.marks)-1].at
	for _, died := range deaths {
		if died.Before(last) {
			continue
		}
		for _, m := range s.marks {
			if m.at.Before(died.Add(-lineWithin)) {
				s.acked = max(s.acked, m.n)
			}
		}
		return
	}
}

// checkSaves wants each attempt, or delivery of a key, to have read what was saved last: at least what was
// acknowledged, at most what was sent.
func checkSaves(what string, saves map[int]*saved) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	order := slices.Sorted(maps.Keys(saves))
	for i, number := range order {
		s := saves[number]
		by := s.read.By
		from := saves[by]
		switch {
		case s.read == value{}:
		case by >= number || from == nil:
			add("%s %d read %v, which none before it has saved", what, number, s.read)
			continue
		case s.read.N > from.sent || s.read.N <= from.read.N:
			add("%s %d read %d of %s %d, which saved %d to %d", what, number, s.read.N, what, by,
				from.read.N+1, from.sent)
		}
		for _, earlier := range order[:i] {
			e := saves[earlier]
			if earlier >= by && e.acked > 0 && (earlier > by || s.read.N < e.acked) {
				add("%s %d read %d of %s %d, and %d of %s %d had been acknowledged", what, number,
					s.read.N, what, by, e.acked, what, earlier)
			}
		}
	}
	return faults
}

// begins notes what an attempt has read.
func (h *history) begins(run string, attempt int, read value) *saved {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &saved{by: attempt, read: read}
	h.record(run).saves[attempt] = s
	return s
}

// sends notes that the next number is about to be sent, and tells it, and whether the attempt is known to
// be over.
func (h *history) sends(run string, attempt int, s *saved) (n int, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.sent = max(s.sent, s.read.N) + 1
	r := h.runs[run]
	return s.sent, r.newest > attempt || r.ended != nil
}

// keeps notes that a number was acknowledged.
func (h *history) keeps(s *saved, n int) {
	h.mu.Lock()
	s.acked = max(s.acked, n)
	h.mu.Unlock()
}
