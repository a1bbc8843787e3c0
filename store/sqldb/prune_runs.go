package sqldb

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"nightshift/jobs"
)

const (
	selectPruneRuns = `
SELECT ` + endedColumns + `, job FROM runs WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT $3`
	selectPruneRun  = `SELECT ` + endedColumns + `, job FROM runs WHERE seq = $1`
	selectRevisions = `SELECT id, revision FROM jobs WHERE id > $1 ORDER BY id LIMIT $2`
	selectRevision  = `SELECT revision FROM jobs WHERE id = $1`
	selectRetain    = `SELECT revision, doc FROM jobs WHERE id = $1`

	// Up to so many stretches all that may change is looked at each round; with more, what cannot be told when is
	// looked at less and less often as it grows older, each hour at least.
	fewStretches = 200
	lookAgain    = time.Hour
	lookLater    = 16 // a part of its age
	// smallStretch is up to how many runs two stretches become one.
	smallStretch = 250

	never = jobs.Time(math.MaxInt64)
)

// stretch is a piece of the runs in the order of their numbers: those after the stretch before it, up to last. None of
// it is to be pruned before due.
type stretch struct {
	last int64
	due  jobs.Time
	rows int // that were in it
}

// runPruner goes through the runs, oldest first. It remembers when there will be something to prune where, so that what
// stays is not read over and over: a file may hold very many runs that are kept for long. It belongs to who prunes, one
// step after the other. What it remembers is only ever too early: a run that has not ended, or whose failure is open,
// is kept for as long as its job says from when that changes.
type runPruner struct {
	stretches []stretch
	begun     bool              // this round has
	now       jobs.Time         // when it did
	keeps     map[int64]keeping // by job
	shortest  time.Duration     // that any job keeps anything
	at        int64             // up to where this round has looked
	ahead     int64             // the same of the runs that a clock which was ahead has made; 0: it has not come to them

	from    int64   // what was read last begins after it
	read    stretch // what it will be remembered as
	found   []int64 // of it, what is to go
	reading bool    // it is among those ahead
}

// keeping is for how long a job keeps its runs.
type keeping struct {
	revision int64
	jobs.Retention
}

func (k *keeping) shortest() time.Duration { return min(k.Succeeded, k.Cancelled, k.Failed) }

// begin reads what each job says, where that has changed.
func (p *runPruner) begin(ctx context.Context, db DB, now jobs.Time) error {
	if p.keeps == nil {
		p.keeps = map[int64]keeping{}
	}
	if now < p.now {
		p.stretches = nil // what was to change later than then may do so before
	}
	for last, more := int64(0), true; more; {
		err := db.Read(ctx, func(tx Tx) error {
			var changed []int64
			rows := 0
			err := tx.Query(selectRevisions, func(r Row) error {
				rows, last = rows+1, r.Int(0)
				if k, known := p.keeps[last]; !known || k.revision != r.Int(1) {
					changed = append(changed, last)
				}
				return nil
			}, last, 1000)
			for i := 0; err == nil && i < len(changed); i++ {
				var k keeping
				if k, err = readKeeps(tx, changed[i]); err == nil {
					p.keep(changed[i], k)
				}
			}
			more = rows == 1000
			return err
		})
		if err != nil {
			return err
		}
	}
	p.shortest = math.MaxInt64
	for _, k := range p.keeps {
		p.shortest = min(p.shortest, k.shortest())
	}
	p.begun, p.now, p.at, p.ahead = true, now, 0, 0
	return nil
}

func readKeeps(tx Tx, job int64) (k keeping, err error) {
	var bad error
	_, err = one(tx, selectRetain, func(r Row) {
		var j *jobs.Job
		if j, bad = jobs.ParseDocument(r.Bytes(1)); bad == nil {
			k.revision, k.Retention = r.Int(0), j.Retain.Durations()
		}
	}, job)
	return k, cmp.Or(err, bad)
}

// keep takes in for how long a job keeps its runs from now on.
func (p *runPruner) keep(job int64, k keeping) {
	before, known := p.keeps[job]
	if known && (k.Succeeded < before.Succeeded || k.Cancelled < before.Cancelled || k.Failed < before.Failed) {
		p.stretches = nil // some of it may be due sooner
	}
	p.keeps[job] = k
}

// look reads up to limit runs from where there may be something to prune; end: there is no more in this round.
func (p *runPruner) look(ctx context.Context, db DB, limit int) (end bool, err error) {
	now := p.now
	old, present := firstAt(now.Add(-p.shortest)+1), firstAt(now+1)
	from, before, some := p.next(now, min(old, present))
	if p.reading = !some; p.reading {
		from, before = max(p.ahead, present-1), math.MaxInt64
	}
	rows, last, due := 0, before-1, never
	var found []int64
	err = db.Read(ctx, func(tx Tx) error {
		var read []prunedRun
		err := tx.Query(selectPruneRuns, func(r Row) error {
			read = append(read, prunedRun{})
			read[len(read)-1].read(r)
			return nil
		}, from, before, limit)
		for i := 0; err == nil && i < len(read); i++ {
			var at jobs.Time
			var goes bool
			k := p.keeps[read[i].job] // zero of a job that was made in this round: whether it goes is asked again
			if at, goes, err = p.outlived(tx, &read[i], &k, now); goes {
				found = append(found, read[i].id.Seq())
			} else {
				due = min(due, at)
			}
		}
		if rows = len(read); rows == limit {
			last = read[rows-1].id.Seq()
		}
		return err
	})
	if err != nil {
		return false, err
	}
	p.from, p.found, p.read = from, found, stretch{last, due, rows - len(found)}
	end = p.reading && rows < limit
	if len(found) == 0 {
		p.remember()
	}
	return end, nil
}

// firstAt is the least number of a run that was made then.
func firstAt(t jobs.Time) int64 { return int64(max(t, 0)) << 12 }

// next is where there may be something to prune: after from, before another. Runs from old on are too young.
func (p *runPruner) next(now jobs.Time, old int64) (from, before int64, some bool) {
	i, _ := slices.BinarySearchFunc(p.stretches, p.at+1, func(s stretch, at int64) int { return cmp.Compare(s.last, at) })
	for i < len(p.stretches) && p.stretches[i].due > now {
		i++
	}
	if i > 0 {
		from = p.stretches[i-1].last
	}
	from = max(from, p.at)
	return from, old, from < old-1
}

// remember takes in what was read, once what is to go is gone.
func (p *runPruner) remember() {
	p.found = nil
	if p.reading {
		p.ahead = p.read.last
		return
	}
	p.at = p.read.last
	i, _ := slices.BinarySearchFunc(p.stretches, p.from+1, func(s stretch, at int64) int { return cmp.Compare(s.last, at) })
	j := i
	for j < len(p.stretches) && p.stretches[j].last <= p.read.last {
		j++
	}
	if p.read.due == never && j < len(p.stretches) {
		p.stretches = slices.Delete(p.stretches, i, j) // nothing is left: the next one begins sooner
		return
	}
	if i > 0 && p.stretches[i-1].rows+p.read.rows <= smallStretch {
		i--
		p.read.rows += p.stretches[i].rows
		p.read.due = min(p.read.due, p.stretches[i].due)
	}
	p.stretches = slices.Replace(p.stretches, i, j, p.read)
}

// prunedRun is an endedRun, which may not have ended, and its job.
type prunedRun struct {
	endedRun
	job int64
}

func (e *prunedRun) read(r Row) {
	e.endedRun.read(r)
	e.job = r.Int(endedColumnCount)
}

// outlived reports whether a run goes now, or when it is to be looked at again.
func (p *runPruner) outlived(tx Tx, e *prunedRun, k *keeping, now jobs.Time) (at jobs.Time, goes bool, err error) {
	// Ids hold the time of creation, so what is too young to have been kept long enough is not looked at; but what the
	// clock gave an id in the future is.
	if made := e.id.Time(); made <= now && made > now.Add(-k.shortest()) {
		return made.Add(k.shortest()), false, nil
	}
	switch at = e.outlivedAt(&k.Retention); {
	case at <= now:
		needed, err := neededByGroup(tx, &e.endedRun)
		if err != nil || !needed {
			return at, true, err
		}
		at = now
	case at != never:
		return at, false, nil
	case e.state == jobs.Failed:
		at = now.Add(k.Failed)
	default:
		at = now.Add(k.shortest())
	}
	if len(p.stretches) > fewStretches {
		at = max(at, now.Add(min(now.Sub(e.id.Time())/lookLater, lookAgain)))
	}
	return at, false, nil
}

// outlivedAt is when a run has been kept as long as its job says; never, as it stands: it has not ended, or nobody has
// dealt with its failure.
func (e *endedRun) outlivedAt(keep *jobs.Retention) jobs.Time {
	switch {
	case e.state == jobs.Succeeded:
		return e.finished.Add(keep.Succeeded)
	case e.state == jobs.Cancelled:
		return e.finished.Add(keep.Cancelled)
	case e.state == jobs.Failed && e.dealt != 0:
		return e.dealt.Add(keep.Failed)
	}
	return never
}

// keepsNow is for how long a job keeps its runs, which may have changed since the round began.
func (p *runPruner) keepsNow(tx Tx, job int64) (*keeping, error) {
	k, revision := p.keeps[job], int64(0)
	_, err := one(tx, selectRevision, func(r Row) { revision = r.Int(0) }, job)
	if err == nil && revision != k.revision {
		k, err = readKeeps(tx, job)
	}
	return &k, err
}

// pruneFound deletes runs that were found to be past their time, where they still are; enough is asked between two.
func (s *Store) pruneFound(ctx context.Context, enough func() bool) (gone int, err error) {
	p := &s.runs
	now := p.now
	looked, stay := 0, false
	err = s.write(ctx, func(tx Tx) error {
		looked, gone, stay = 0, 0, false
		last, sure := int64(0), map[int64]*keeping{}
		for _, seq := range p.found {
			if looked > 0 && enough() {
				break
			}
			looked++
			var e prunedRun
			found, err := one(tx, selectPruneRun, e.read, seq)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			k := sure[e.job]
			if k == nil {
				if k, err = p.keepsNow(tx, e.job); err != nil {
					return err
				}
				sure[e.job] = k
			}
			_, goes, err := p.outlived(tx, &e, k, now)
			if err != nil {
				return err
			}
			if !goes {
				stay = true
				continue
			}
			if err := s.removeRun(tx, e.endedRun); err != nil {
				return err
			}
			last, gone = seq, gone+1
		}
		if last == 0 {
			return nil
		}
		return keepFloor(tx, last)
	})
	if err != nil {
		return 0, err
	}
	if stay {
		p.read.due = min(p.read.due, now)
	}
	if p.found = p.found[looked:]; len(p.found) == 0 {
		p.remember()
	}
	return gone, nil
}
