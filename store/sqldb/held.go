package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// heldBy is what keeps the runs of a lane from starting, workers aside.
func (s *Store) heldBy(tx Tx, job *jobRow, l *laneRow, now jobs.Time) (*jobs.HeldBy, error) {
	g, err := s.shut(tx, l, now) // which makes its host's where there is none, paused or not
	switch {
	case err != nil:
		return nil, err
	case job.paused:
		return jobs.HeldByPause(job.name, job.note), nil
	case g == nil:
		return nil, nil
	}
	return g.Shut(now), nil
}

// Held implements store.Sharing.
func (s *Store) Held(ctx context.Context, runs []*jobs.Run, now jobs.Time) error {
	return s.db.Read(ctx, func(tx Tx) error {
		h := s.newHolding(tx, now)
		for _, run := range runs {
			if run.HeldBy != nil {
				if err := h.inLine(run); err != nil {
					return err
				}
			}
			waits := run.State == jobs.Queued || run.HeldBy != nil // for its first slice, or the next
			if !waits || run.HeldBy != nil && run.HeldBy.Kind != jobs.HeldWorkers {
				continue
			}
			held, err := h.of(run)
			if err != nil {
				return err
			}
			if held != nil {
				run.HeldBy = held
			} else if job := h.names[run.Job]; job != nil && run.HeldBy != nil {
				run.HeldBy.Name = job.pool.String()
			}
		}
		return nil
	})
}

// holding tells, within one read, which gates hold runs.
type holding struct {
	tx    Tx
	now   jobs.Time
	book  *gateBook
	names map[string]*jobRow
	ids   map[int64]*jobRow
	specs map[specKey]*pinned
	ahead map[string]jobs.ID // by schedule
}

func (s *Store) newHolding(tx Tx, now jobs.Time) *holding {
	h := &holding{
		tx: tx, now: now, names: map[string]*jobRow{}, ids: map[int64]*jobRow{},
		specs: map[specKey]*pinned{}, ahead: map[string]jobs.ID{},
	}
	h.book = newGateBook(func(_ Tx, id int64) (*jobRow, error) {
		return h.jobOf(id)
	}, &s.workers)
	return h
}

// jobOf is the job of that number.
func (h *holding) jobOf(id int64) (*jobRow, error) {
	if row := h.ids[id]; row != nil {
		return row, nil
	}
	row, err := readJobRow(h.tx, selectJobRowID, id)
	if err == nil && row == nil {
		err = fmt.Errorf("job number %d: %w", id, store.ErrNotFound)
	}
	if err == nil {
		h.names[row.name], h.ids[id] = row, row
	}
	return row, err
}

// inLine says which run a run waits for that is in a line.
func (h *holding) inLine(run *jobs.Run) error {
	switch run.HeldBy.Kind {
	case jobs.HeldOverlap:
		return h.overlap(run)
	case jobs.HeldCheckpoint:
		job, err := h.job(run.Job)
		if err != nil || job == nil {
			return err
		}
		ahead, err := aheadInBatch(h.tx, job.id, run)
		run.HeldBy = jobs.HeldByCheckpoint(run.HeldBy.Name, ahead)
		return err
	}
	return nil
}

// overlap says which run a run waits for that is in the line of its schedule.
func (h *holding) overlap(run *jobs.Run) error {
	ahead, known := h.ahead[run.Schedule]
	if !known {
		_, err := one(h.tx, selectAheadFirst, func(r Row) { ahead = jobs.IDOf(r.Int(0), r.Int(1)) }, run.Schedule)
		if err != nil {
			return err
		}
		h.ahead[run.Schedule] = ahead
	}
	run.HeldBy = jobs.HeldByOverlap(run.Schedule, ahead)
	return nil
}

func (h *holding) of(run *jobs.Run) (*jobs.HeldBy, error) {
	job, err := h.job(run.Job)
	if err != nil || job == nil {
		return nil, err
	}
	p, err := h.pinned(specKey{job.id, run.Version})
	if err != nil {
		return nil, err
	}
	l := laneKey{
		job: job.id, pool: p.pool, host: p.hostOf(run.Host), ckey: keyText(run.Keys.Concurrency),
		rkey: keyText(run.Keys.Rate), catchUp: run.Trigger == jobs.TriggerCatchUp,
		slice: run.Slices > 0,
	}
	return h.heldIn(job, l)
}

// heldIn is what keeps the runs of a lane from starting, workers aside.
func (h *holding) heldIn(job *jobRow, l laneKey) (*jobs.HeldBy, error) {
	for _, key := range keysOfLane(job, l) {
		g, err := h.book.gate(h.tx, key)
		if err != nil {
			return nil, err
		}
		if g == nil { // nothing has gone through it yet
			continue
		}
		if held := g.Shut(h.now); held != nil {
			return held, nil
		}
	}
	return nil, nil
}

func (h *holding) job(name string) (*jobRow, error) {
	if row := h.names[name]; row != nil {
		return row, nil
	}
	row, err := readJobRow(h.tx, selectJobRow, name)
	if err == nil && row != nil {
		h.names[name], h.ids[row.id] = row, row
	}
	return row, err
}

// pinned is what a version of a job says.
func (h *holding) pinned(key specKey) (*pinned, error) {
	if p := h.specs[key]; p != nil {
		return p, nil
	}
	p, err := readPinned(h.tx, key)
	if err == nil {
		h.specs[key] = p
	}
	return p, err
}
