package sqldb

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// The unfinished runs of a job of which others know: the end of each matters to more than the job.
	linkedColumns = `SELECT seq, tail, parent, members IS NOT NULL, requeued_from, bulk FROM runs`
	linkedOnes    = ` AND (parent IS NOT NULL OR members IS NOT NULL OR requeued_from IS NOT NULL OR bulk IS NOT NULL)`

	selectLinkedQueued  = linkedColumns + queuedOf + linkedOnes
	selectLinkedDue     = linkedColumns + dueOf + linkedOnes
	selectLinkedWaiting = linkedColumns + waitingOf + linkedOnes

	// What a requeue stood for, where that is what it was made from.
	updateStoodFor = `UPDATE runs SET dealt = 0, dealt_at = NULL WHERE seq = $1 AND dealt = 1 AND requeued_to = $2`
)

// linkedRun is an unfinished run of which others know.
type linkedRun struct {
	id       jobs.ID
	parent   jobs.ID
	group    bool
	from     jobs.ID // requeued
	bulk     jobs.ID
	inGroups bool // it is a group, or one waits for it
}

// cancelLinkedOf cancels what waits of a job and groups are about: groups with all that is in them, what
// is in groups. One of which something runs ends with that. It takes in what the end of other requeues
// means; these are left to be cancelled with all that waits of the job: there may be very many.
func (s *Store) cancelLinkedOf(tx Tx, job int64, by store.By) (gone goneJob, err error) {
	linked, err := linkedOf(tx, job)
	if err != nil {
		return gone, err
	}
	orders := map[jobs.ID]int{}
	for i := range linked {
		r := &linked[i]
		if r.inGroups {
			err = s.cancelInGroups(tx, r.id, by, &gone)
		} else if err = stoodFor(tx, r); !r.bulk.IsNil() {
			orders[r.bulk]++
		}
		if err != nil {
			return gone, fmt.Errorf("cancel run %s: %w", r.id, err)
		}
	}
	for id, n := range orders {
		if err := s.bulkRunsEnded(tx, id, jobs.Cancelled, n, by.Now); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

func linkedOf(tx Tx, job int64) (linked []linkedRun, err error) {
	for _, q := range []string{selectLinkedWaiting, selectLinkedQueued, selectLinkedDue} {
		err := tx.Query(q, func(r Row) error {
			linked = append(linked, linkedRun{
				id: jobs.IDOf(r.Int(0), r.Int(1)), parent: r.ID(2), group: r.Int(3) == 1, from: r.ID(4), bulk: r.ID(5),
			})
			return nil
		}, job)
		if err != nil {
			return nil, err
		}
	}
	// Before any of them ends: the end of one may be that of another's group.
	over := map[jobs.ID]bool{jobs.NilID: true}
	for i := range linked {
		r := &linked[i]
		known, asked := over[r.parent]
		if !asked {
			g, err := readGroup(tx, r.parent)
			if err != nil {
				return nil, err
			}
			known = g == nil || g.phase == store.GroupOver
			over[r.parent] = known
		}
		r.inGroups = r.group || !known
	}
	return linked, nil
}

func (s *Store) cancelInGroups(tx Tx, id jobs.ID, by store.By, gone *goneJob) error {
	row, err := s.runRow(tx, id)
	if err != nil {
		return err
	}
	gone.cancelled++
	if row.state.Terminal() { // with a group before it
		return nil
	}
	row.schedule, row.bkey = "", "" // what waits behind it is of this job too, or is let go afterwards
	_, stop, err := s.cancelRun(tx, id, row, cancelling{by.Now, jobs.ByJobDeleted, "the job was deleted"})
	gone.stop = append(gone.stop, stop...)
	return err
}

// stoodFor opens the failure that a requeue stood for. Of nearly all it is the one that they were made from.
func stoodFor(tx Tx, r *linkedRun) error {
	if r.from.IsNil() {
		return nil
	}
	opened, err := tx.Exec(updateStoodFor, r.from.Seq(), r.id[:])
	if err == nil && opened == 0 {
		err = reopenBehind(tx, r.id)
	}
	return err
}
