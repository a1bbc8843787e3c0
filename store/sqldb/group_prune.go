package sqldb

import "nightshift/jobs"

const (
	deleteGroup      = `DELETE FROM groups WHERE run = $1`
	deleteMembers    = `DELETE FROM members WHERE parent = $1`
	selectGroupState = `SELECT state, parent FROM runs WHERE seq = $1`
	selectMergeOpen  = `
SELECT seq FROM runs WHERE parent = $1 AND place = -1 AND parent IS NOT NULL AND +state < 6 LIMIT 1`
	// The groups of which a run is a member: of the one that made it, and of requeues of that which keep it.
	selectMemberOf = `
SELECT m.parent, r.tail FROM members m JOIN runs r ON r.seq = m.parent
WHERE m.run = $1 AND m.run IS NOT NULL ORDER BY m.parent LIMIT 1000`
	selectKeeper = `
SELECT g.run FROM groups g JOIN runs r ON r.seq = g.run
WHERE g.keep_of = $1 AND g.keep_of IS NOT NULL AND g.phase = 0 AND r.state < 6 LIMIT 1`
)

// neededByGroup reports whether an ended run belongs to a group of which something has not ended, at
// whatever depth: nothing of that is removed.
func neededByGroup(tx Tx, e *endedRun) (bool, error) {
	if e.group {
		if needed, err := groupNeeds(tx, e.id); err != nil || needed {
			return needed, err
		}
	}
	if e.parent.IsNil() {
		return false, nil
	}
	if needed, err := groupNeeds(tx, e.parent); err != nil || needed {
		return needed, err
	}
	var others []jobs.ID
	err := tx.Query(selectMemberOf, func(r Row) error {
		if id := jobs.IDOf(r.Int(0), r.Int(1)); id != e.parent {
			others = append(others, id)
		}
		return nil
	}, e.id.Seq())
	for _, id := range others {
		if err != nil {
			break
		}
		var needed bool
		if needed, err = groupNeeds(tx, id); needed {
			return true, err
		}
	}
	return false, err
}

// groupNeeds reports whether a group, or one around it, needs its members: it has not ended, a merge of it
// has not, or one that has not started keeps them.
func groupNeeds(tx Tx, group jobs.ID) (bool, error) {
	for range jobs.MaxGroupDepth + 1 {
		var state jobs.State
		var parent jobs.ID
		found, err := one(tx, selectGroupState, func(r Row) { state, parent = jobs.State(r.Int(0)), r.ID(1) }, group.Seq())
		if err != nil || found && !state.Terminal() {
			return true, err
		}
		if open, err := one(tx, selectMergeOpen, func(Row) {}, group[:]); err != nil || open {
			return true, err
		}
		if kept, err := one(tx, selectKeeper, func(Row) {}, group.Seq()); err != nil || kept {
			return true, err
		}
		if !found || parent.IsNil() {
			return false, nil
		}
		group = parent
	}
	return false, nil
}

// dropGroup forgets what a group's run that goes was made of.
func dropGroup(tx Tx, e *endedRun) error {
	if !e.group {
		return nil
	}
	if _, err := tx.Exec(deleteMembers, e.id.Seq()); err != nil {
		return err
	}
	_, err := tx.Exec(deleteGroup, e.id.Seq())
	return err
}
