package runtime

import (
	"context"
	"slices"
	"time"

	"nightshift/jobs"
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
	// pruneBrief is how many rounds there are for one that looks at more than runs: they come each five seconds.
	pruneBrief = 12

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

	// leapLeast is by how much the wall clock must be ahead of what was to be expected for pruning not to follow it at
	// once, and leapFor how long it does not.
	leapLeast = 24 * time.Hour
	leapFor   = time.Hour
)

// prune deletes what is past its time, or is too much, and gives the space of the file back: of runs each five seconds
// while something is done, of all else each minute.
func (r *Runtime) prune() {
	round := time.NewTicker(r.houseEvery / pruneBrief)
	defer round.Stop()
	sh := &shrinker{r: r, pages: 4 * shrinkLeast}
	looked := time.Duration(0) // clock.ran of the last round
	age := ageClock{at: jobs.IDOf(r.floor, 0).Time()}
	for n := 1; ; n++ {
		select {
		case <-r.stopping.Done():
			return
		case <-round.C:
		}
		// Where nothing was done since, once a minute will do.
		if n%pruneBrief != 0 && time.Duration(r.lastWork.Load()) < looked {
			continue
		}
		looked = r.clock.ran()
		now, leap := age.now(r.Now(), looked)
		if leap > 0 {
			r.log.Warn("the clock is far ahead of the newest run, or was set: nothing is pruned for its age until it was so for an hour",
				"by", leap.Round(time.Second), "now", r.Now())
		}
		r.pruneRound(now, n%pruneBrief != 0)
		sh.shrink()
	}
}

// ageClock is what ages are measured by. A clock that was set ahead by mistake would have all history pruned within
// seconds, and such clocks are mostly set right again soon: so it follows a leap late.
type ageClock struct {
	at    jobs.Time
	ran   time.Duration // clock.ran at that time
	leapt time.Duration // clock.ran when the wall clock was found to be ahead; 0: it is not
}

// now is the time to measure ages by, and how far the wall clock was found to have leapt just now; 0: it has not.
func (a *ageClock) now(wall jobs.Time, ran time.Duration) (at jobs.Time, leap time.Duration) {
	at = a.at.Add(ran - a.ran)
	ahead := wall.Sub(at)
	switch {
	case a.at == 0 || ahead < leapLeast:
		at, a.leapt = wall, 0
	case a.leapt == 0:
		a.leapt, leap = ran, ahead
	case ran-a.leapt >= leapFor:
		at, a.leapt = wall, 0
	}
	a.at, a.ran = at, ran
	return at, leap
}

// pruneRound goes through all once, in steps that let others write in between.
func (r *Runtime) pruneRound(now jobs.Time, brief bool) {
	began := time.Now()
	for {
		step := time.Now()
		out, err := r.store.Prune(r.stopping, store.PruneStep{
			Now: now, Limit: pruneRows, Enough: slice(pruneSlice), Most: r.cfg.Keep, Brief: brief,
		})
		if r.wroteIdle(err) != nil {
			if r.stopping.Err() == nil {
				r.log.Warn("pruning failed: it is tried again", "error", err)
			}
			return
		}
		if out.Done {
			if over := len(r.cfg.Keep) > 0; over || !r.keepTold {
				r.tellOver(out.Over) // without bounds once: there may have been some before
				r.keepTold = true
			}
			return
		}
		rest := time.Since(step)
		switch {
		case out.Runs == 0:
			rest *= pruneIdle
		case time.Since(began) > pruneHurry:
			rest /= 3
		}
		if r.rest(min(max(rest, pruneRest), pruneRestMost)); r.stopping.Err() != nil {
			return
		}
	}
}

// tellOver tells, once for as long as it lasts, that more is kept than may be.
func (r *Runtime) tellOver(over []store.KeptKind) {
	kept, err := r.store.Kept(r.stopping)
	var list []store.Standing
	for _, kind := range store.KeptKinds {
		most, bounded := r.cfg.Keep[kind]
		fades := !slices.Contains(over, kind)
		if !bounded || err != nil || fades && kept[kind] <= most-most/10 {
			continue
		}
		list = append(list, store.Standing{Fades: fades, Event: store.Event{
			At: r.Now(), Type: jobs.EventKeepExceeded, Subject: jobs.KeepSubject(kind.String()),
			Data: jobs.KeepExceededData(kind.String(), kept[kind], most),
		}})
	}
	told := 0
	if err == nil {
		told, err = r.store.TellStanding(r.stopping, jobs.EventKeepExceeded, list)
	}
	if r.wroteIdle(err) != nil && r.stopping.Err() == nil {
		r.log.Warn("cannot tell whether more is kept than may be", "error", err)
	}
	for _, st := range list {
		if told > 0 && !st.Fades {
			r.log.Warn("more is kept than may be, and no more of it may be pruned", "of", st.Event.Subject, "data", string(st.Event.Data))
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

// Kept is how much is kept of something, and how much may be.
type Kept struct {
	Kind  store.KeptKind
	Bytes int64
	Most  *int64 // nil: there is no bound
}

// Kept is how much is kept of each sort.
func (r *Runtime) Kept(ctx context.Context) ([]Kept, error) {
	kept, err := r.store.Kept(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Kept, 0, len(store.KeptKinds))
	for _, kind := range store.KeptKinds {
		k := Kept{Kind: kind, Bytes: kept[kind]}
		if most, bounded := r.cfg.Keep[kind]; bounded {
			k.Most = &most
		}
		list = append(list, k)
	}
	return list, nil
}

// shrinker gives free pages of the file back to the file system.
type shrinker struct {
	r     *Runtime
	free  int64 // after the round before
	pages int   // of a step
}

// shrink gives back what is more than will soon be used again.
func (s *shrinker) shrink() {
	r := s.r
	size, err := r.store.Size(r.stopping)
	began, freed := time.Now(), size.Free-s.free
	for err == nil {
		s.free = size.Free
		keep := max(keepFree, size.Size/keepFreePart, freed)
		if r.idle() {
			keep = keepFreeIdle
		}
		if size.Free <= keep || time.Since(began) > shrinkFor {
			return
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
			return // others have freed as much meanwhile, or none can be given back
		}
	}
	if r.stopping.Err() == nil {
		r.log.Warn("the space of the database file could not be given back: it is tried again", "error", err)
	}
}
