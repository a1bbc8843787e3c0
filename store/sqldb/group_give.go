package sqldb

import (
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectGroupsEnding = `
SELECT g.run, r.tail FROM groups g JOIN runs r ON r.seq = g.run
WHERE g.phase = 3 AND g.phase IN (3, 4) ORDER BY g.run LIMIT $1`
	updateGroupsAgain = `UPDATE groups SET phase = 3 WHERE phase = 4 AND phase IN (3, 4)`
	selectTailOf      = `SELECT tail FROM runs WHERE seq = $1`
	selectStarting    = `
SELECT seq, number, job, version, attempt_at FROM runs
WHERE state IN (3, 5) AND state = 3 AND members IS NOT NULL AND cancel_at IS NULL AND lane IS NOT NULL ORDER BY seq`

	// maxGiven is how many groups a claim gives back.
	maxGiven = 32
)

// give gives the groups back of which all is over, each once.
func (s *Store) give(tx Tx) (list []store.EndedGroup, more bool, err error) {
	sight, err := s.sight(tx)
	if err != nil || !sight.ending {
		return nil, false, err
	}
	var over []jobs.ID
	err = tx.Query(selectGroupsEnding, func(r Row) error {
		over = append(over, jobs.IDOf(r.Int(0), r.Int(1)))
		return nil
	}, maxGiven)
	for i := 0; err == nil && i < len(over); i++ {
		var g store.EndedGroup
		if g, err = s.giveOne(tx, over[i]); err != nil {
			return nil, false, fmt.Errorf("give group %s back: %w", over[i], err)
		}
		list = append(list, g)
	}
	more = len(over) == maxGiven
	sight.ending = more
	return list, more, err
}

func (s *Store) giveOne(tx Tx, id jobs.ID) (out store.EndedGroup, err error) {
	g, err := readGroup(tx, id)
	if err != nil {
		return out, err
	}
	l, err := readLease(tx, id)
	if err != nil {
		return out, err
	}
	t, err := tallyOf(tx, id)
	if err != nil {
		return out, err
	}
	out = store.EndedGroup{Lease: *l, Tally: t.GroupTally, Bad: t.bad, Why: t.why}
	if g.merge != 0 {
		if out.Merge, err = mergeOf(tx, g.merge); err != nil {
			return out, err
		}
	}
	return out, s.setPhase(tx, id, store.GroupGiven)
}

// mergeOf is a merge that has ended, with its result.
func mergeOf(tx Tx, seq int64) (run *jobs.Run, err error) {
	tail := int64(0)
	found, err := one(tx, selectTailOf, func(r Row) { tail = r.Int(0) }, seq)
	if err != nil || !found {
		return nil, err
	}
	return readRun(tx, jobs.IDOf(seq, tail))
}

// putBack has the groups wait as before their claim that were given out, and had not started when the
// process died: nothing of them has run, and no attempt is counted. Those that were cancelled or whose job
// was deleted meanwhile end as other runs do.
func (s *Store) putBack(tx Tx) error {
	type starting struct {
		id      jobs.ID
		number  int
		job     int64
		version int
		at      jobs.Time
	}
	var list []starting
	err := tx.Query(selectStarting, func(r Row) error {
		list = append(list, starting{jobs.IDOf(r.Int(0), 0), int(r.Int(1)), r.Int(2), int(r.Int(3)), r.Time(4)})
		return nil
	})
	for i := 0; err == nil && i < len(list); i++ {
		g := &list[i]
		var job *jobRow
		if job, err = s.jobByID(tx, g.job); err != nil {
			break
		}
		f := store.Finish{
			Run: g.id, Number: g.number, Job: job.name, Version: g.version, Started: g.at, Now: g.at,
			Signal: jobs.Signal{Void: true},
		}
		if err = s.putBackOne(tx, g.job, &f); err != nil {
			err = fmt.Errorf("put group %s back: %w", f.Run, err)
		}
	}
	return errors.Join(err, s.dropSlots(tx))
}

func (s *Store) putBackOne(tx Tx, jobID int64, f *store.Finish) error {
	_, run, err := s.waiting(tx, f.Run)
	if err != nil {
		return err
	}
	job, err := s.jobByID(tx, jobID)
	if err != nil {
		return err
	}
	l, err := s.lane(tx, job, run)
	if err != nil {
		return err
	}
	if err := must(tx.Exec(updateHeld, f.Run.Seq(), l.id)); err != nil {
		return err
	}
	if err := s.endAt(tx, f); err != nil {
		return err
	}
	return s.joinLane(tx, l, run.DueAt, run.Priority)
}
