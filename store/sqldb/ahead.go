package sqldb

import "nightshift/jobs"

// What a claim has read of a lane beyond what it gave out is kept for the next one: with many lanes
// each has few turns a claim, and a query for each would cost more than all else. These runs are
// always the first of their lane: whatever makes one leave it, or join it before the last of them,
// drops them.
const (
	aheadOfLane   = 8    // runs that are read of a lane at a time
	maxAhead      = 4096 // runs that are kept in all
	maxAheadBytes = 1024 // of the payload of one that is kept
)

// readAhead gives what was kept of a lane, and whether that is all of it.
func (s *Store) readAhead(l *laneRow) (runs []*jobs.Run, all bool) {
	runs, all = l.ahead, l.aheadAll
	s.dropAhead(l)
	return runs, all
}

// keepAhead keeps the first queued runs of a lane; all: it has no others.
func (s *Store) keepAhead(l *laneRow, runs []*jobs.Run, all bool) {
	s.dropAhead(l)
	n := 0
	for n < len(runs) && s.aheadRuns+n < maxAhead && len(runs[n].Payload) <= maxAheadBytes {
		n++
	}
	l.ahead, l.aheadAll = runs[:n:n], all && n == len(runs)
	s.aheadRuns += n
}

func (s *Store) dropAhead(l *laneRow) {
	s.aheadRuns = max(s.aheadRuns-len(l.ahead), 0)
	l.ahead, l.aheadAll = nil, false
}

// joinAhead takes in that a run has joined the lane.
func (s *Store) joinAhead(l *laneRow, rank int64) {
	if n := len(l.ahead); n > 0 && rank <= rankOf(l.ahead[n-1].DueAt, l.ahead[n-1].Priority) {
		s.dropAhead(l)
	}
	l.aheadAll = false
}
