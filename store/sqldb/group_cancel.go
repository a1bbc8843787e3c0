package sqldb

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectOpenRuns = `
SELECT seq, tail FROM runs WHERE parent = $1 AND parent IS NOT NULL AND state < 6 ORDER BY seq LIMIT 1000000`
	selectNextDeadline = `SELECT deadline FROM groups WHERE deadline IS NOT NULL ORDER BY deadline LIMIT 1`
	selectDeadlines    = `
SELECT g.run, r.tail FROM groups g JOIN runs r ON r.seq = g.run
WHERE g.deadline <= $1 AND g.deadline IS NOT NULL ORDER BY g.deadline, g.run LIMIT $2`
	updateDeadlinesShifted = `UPDATE groups SET deadline = deadline + $1 WHERE deadline IS NOT NULL`

	// maxGivenUp is of how many groups a claim gives up the members that are not done.
	maxGivenUp = 16
)

// cancelRun ends a run of which nothing runs, else notes that it is to end: that of a group ends with its
// members and its merge, at all depths. stop: runs with an attempt under way that is to end.
func (s *Store) cancelRun(tx Tx, id jobs.ID, row runRow, why cancelling) (over bool, stop []jobs.ID, err error) {
	switch {
	case row.state == jobs.Running:
		_, err := tx.Exec(updateCancelAsked, id.Seq(), int64(why.now))
		return false, []jobs.ID{id}, err
	case row.state == jobs.Waiting && row.group:
		if over, stop, err = s.cancelOpenOf(tx, id, why); err != nil || !over {
			return false, stop, err
		}
	}
	more, err := s.cancelIdle(tx, id, row, why)
	if err == nil {
		err = s.releaseBehind(tx, row)
	}
	return true, append(stop, more...), err
}

// cancelOpenOf cancels all that is open of a group's run. over: nothing is open any more.
func (s *Store) cancelOpenOf(tx Tx, group jobs.ID, why cancelling) (over bool, stop []jobs.ID, err error) {
	if _, err := tx.Exec(updateCancelAsked, group.Seq(), int64(why.now)); err != nil {
		return false, nil, err
	}
	why.reason = "its group was cancelled"
	if stop, err = s.cancelOpen(tx, group, why); err != nil {
		return false, nil, err
	}
	open, err := one(tx, selectOpenOf, func(Row) {}, group[:])
	return !open, stop, err
}

// cancelOpen cancels the members and merges of a group that have not ended. Who calls it looks afterwards
// what has become of the group.
func (s *Store) cancelOpen(tx Tx, group jobs.ID, why cancelling) (stop []jobs.ID, err error) {
	var open []jobs.ID
	err = tx.Query(selectOpenRuns, func(r Row) error {
		open = append(open, jobs.IDOf(r.Int(0), r.Int(1)))
		return nil
	}, group[:])
	if err != nil {
		return nil, err
	}
	err = s.quietly(group, func() error {
		for _, id := range open {
			row, err := s.runRow(tx, id)
			if err != nil {
				return err
			}
			if row.state.Terminal() {
				continue
			}
			_, more, err := s.cancelRun(tx, id, row, why)
			if err != nil {
				return fmt.Errorf("cancel run %s of group %s: %w", id, group, err)
			}
			stop = append(stop, more...)
		}
		return nil
	})
	return stop, err
}

// giveUp cancels the members that are not done by the deadline of their group.
func (s *Store) giveUp(tx Tx, now jobs.Time) (stop []jobs.ID, more bool, err error) {
	sight, err := s.sight(tx)
	if err != nil || sight.deadline == 0 || now < sight.deadline {
		return nil, false, err
	}
	var late []jobs.ID
	err = tx.Query(selectDeadlines, func(r Row) error {
		late = append(late, jobs.IDOf(r.Int(0), r.Int(1)))
		return nil
	}, int64(now), maxGivenUp)
	for i := 0; err == nil && i < len(late); i++ {
		var ids []jobs.ID
		ids, err = s.giveUpOf(tx, late[i], now)
		stop = append(stop, ids...)
	}
	if err != nil {
		return nil, false, err
	}
	sight.deadline = 0
	_, err = one(tx, selectNextDeadline, func(r Row) { sight.deadline = r.Time(0) })
	return stop, len(late) == maxGivenUp, err
}

func (s *Store) giveUpOf(tx Tx, id jobs.ID, now jobs.Time) ([]jobs.ID, error) {
	g, err := readGroup(tx, id)
	if err != nil || g == nil {
		return nil, err
	}
	if err := s.setPhase(tx, id, g.phase); err != nil { // it has no deadline any more
		return nil, err
	}
	if g.phase != store.GroupMembers {
		return nil, nil
	}
	stop, err := s.cancelOpen(tx, id, cancelling{now, jobs.ByGroup, "it was not done by the deadline of its group"})
	if err != nil {
		return nil, err
	}
	if g.rest == restCancels { // what was not done in time is bad
		g.rest = restGone
		if err := must(tx.Exec(updateGroupRest, id.Seq(), g.rest)); err != nil {
			return nil, err
		}
	}
	return stop, s.settle(tx, g, now)
}
