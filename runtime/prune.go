package runtime

import (
	"time"

	"nightshift/store"
)

const (
	pruneRows = 500
	// pruneSlice is for how long a step deletes while others wait to write.
	pruneSlice = 8 * time.Millisecond
	// Steps rest in between for as long as they took, and for longer where they found nothing to delete: they take half
	// of the writer's time at most. After a while that is not enough, and they rest for less.
	pruneRest     = time.Millisecond
	pruneRestMost = 100 * time.Millisecond
	pruneIdle     = 3
	pruneHurry    = 20 * time.Second
	// After a round that deleted so many runs the next one begins soon.
	pruneMany = 1000
	pruneSoon = 5 * time.Second

	// keepFree is how much of the file may be free pages, which are used again: so much, a part of it, and what one
	// round has freed. While nothing is written it is keepFreeIdle.
	keepFree     = 4 << 20
	keepFreePart = 8
	keepFreeIdle = 1 << 20
	// Pages are given back in steps that take about so long, up to so many, and for so long before pruning has its turn.
	shrinkStep  = 5 * time.Millisecond
	shrinkPages = 2048
	shrinkLeast = 16
	shrinkFor   = 10 * time.Second
)

// prune deletes what is past its time, in a round each minute, sooner while there is much, and gives the space of the
// file back.
func (r *Runtime) prune() {
	round := time.NewTimer(r.houseEvery)
	defer round.Stop()
	sh := &shrinker{r: r, pages: 4 * shrinkLeast}
	for {
		select {
		case <-r.stopping.Done():
			return
		case <-round.C:
		}
		gone := r.pruneRound()
		wait := r.houseEvery
		if more := sh.shrink(); more || gone >= pruneMany {
			wait = min(wait, pruneSoon)
		}
		round.Reset(wait)
	}
}

// pruneRound goes through all once, in steps that let others write in between.
func (r *Runtime) pruneRound() (gone int) {
	began := time.Now()
	for {
		step := time.Now()
		out, err := r.store.Prune(r.stopping, store.PruneStep{Now: r.Now(), Limit: pruneRows, Enough: slice(pruneSlice)})
		if r.wroteIdle(err) != nil {
			if r.stopping.Err() == nil {
				r.log.Warn("pruning failed: tried again in a minute", "error", err)
			}
			return 0
		}
		if gone += out.Runs; out.Done {
			return gone
		}
		rest := time.Since(step)
		switch {
		case out.Runs == 0:
			rest *= pruneIdle
		case time.Since(began) > pruneHurry:
			rest /= 3
		}
		if r.rest(min(max(rest, pruneRest), pruneRestMost)); r.stopping.Err() != nil {
			return gone
		}
	}
}

// slice is over so long after it was first asked.
func slice(d time.Duration) func() bool {
	began := time.Time{}
	return func() bool {
		if began.IsZero() {
			began = time.Now()
			return false
		}
		return time.Since(began) >= d
	}
}

// shrinker gives free pages of the file back to the file system.
type shrinker struct {
	r     *Runtime
	free  int64 // after the round before
	pages int   // of a step
}

// shrink gives back what is more than will soon be used again; more: there is some left.
func (s *shrinker) shrink() (more bool) {
	r := s.r
	size, err := r.store.Size(r.stopping)
	began, freed := time.Now(), size.Free-s.free
	for err == nil {
		s.free = size.Free
		keep := max(keepFree, size.Size/keepFreePart, freed)
		if r.idle() {
			keep = keepFreeIdle
		}
		if size.Free <= keep {
			return false
		}
		if time.Since(began) > shrinkFor {
			return true
		}
		step := time.Now()
		if err = r.wroteIdle(r.store.Shrink(r.stopping, s.pages)); err != nil {
			break
		}
		took := time.Since(step)
		switch {
		case took > 2*shrinkStep:
			s.pages = max(s.pages/2, shrinkLeast)
		case took < shrinkStep:
			s.pages = min(s.pages*2, shrinkPages)
		}
		r.rest(max(2*took, pruneRest))
		if size, err = r.store.Size(r.stopping); err == nil && size.Free >= s.free {
			return false // others have freed as much meanwhile, or none can be given back
		}
	}
	if r.stopping.Err() == nil {
		r.log.Warn("the space of the database file could not be given back: tried again in a minute", "error", err)
	}
	return false
}
