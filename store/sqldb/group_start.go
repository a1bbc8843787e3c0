package sqldb

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// It waits for no time: due_at is by when a callback must have come.
	updateGroupWaiting = `
UPDATE runs SET state = 5, members = $3, due_at = 0
WHERE seq = $1 AND state = 3 AND number = $2 AND cancel_at IS NULL AND lane IS NOT NULL`
	// What it brought is kept: a requeue may start it anew.
	upsertGroupStarted = `
INSERT INTO groups (run, doc, depth, phase, need, rest, draft, deadline) VALUES ($1, $2, $3, 1, $4, $5, $6, $7)
ON CONFLICT (run) DO UPDATE
SET doc = COALESCE(groups.doc, excluded.doc), keep_of = NULL, depth = excluded.depth, phase = excluded.phase,
    need = excluded.need, rest = excluded.rest, draft = excluded.draft, deadline = excluded.deadline`
	insertMember = `INSERT INTO members (parent, place, name, job, run, tail) VALUES ($1, $2, $3, $4, $5, $6)`
	updateParent = `UPDATE runs SET parent = $2, place = $3 WHERE seq = $1`
)

// membersOf says of a run that has not started whether it is a group's: how many members it has is not
// known yet.
func membersOf(pool store.Pool) any {
	if pool == store.PoolGroup {
		return -1
	}
	return nil
}

// startGroup makes the members of a group, which waits for them now. stop: runs with an attempt under way
// that is to end, for a member is bad already.
func (s *Store) startGroup(tx Tx, f *store.Finish) (changed int64, stop []jobs.ID, err error) {
	g := f.Group
	changed, err = tx.Exec(updateGroupWaiting, f.Run.Seq(), f.Number, len(g.Members))
	if err != nil || changed == 0 {
		return changed, nil, err
	}
	row, err := s.keepGroup(tx, f)
	if err != nil {
		return changed, nil, err
	}
	bad := false
	err = s.quietly(f.Run, func() error {
		for i := range g.Members {
			notGood, err := s.startMember(tx, f, i)
			if err != nil {
				return fmt.Errorf("make member %s: %w", g.Members[i].Name, err)
			}
			bad = bad || notGood
		}
		if bad && row.rest == restCancels {
			stop, err = s.callOff(tx, row, f.Now)
		}
		return err
	})
	if err != nil {
		return changed, nil, err
	}
	return changed, stop, s.settle(tx, row, f.Now)
}

func (s *Store) keepGroup(tx Tx, f *store.Finish) (*groupRow, error) {
	g := f.Group
	depth, err := depthOf(tx, f.Links.Group)
	if err != nil {
		return nil, err
	}
	draft, err := draftText(g.Merge)
	if err != nil {
		return nil, err
	}
	row := &groupRow{
		run: f.Run, job: f.Job, phase: store.GroupMembers, depth: depth, need: g.Doc.Need.Of(len(g.Members)),
		deadline: g.Deadline, state: jobs.Waiting,
	}
	if g.Doc.CancelsRest() {
		row.rest = restCancels
	}
	if row.deadline != 0 {
		sight, err := s.sight(tx)
		if err != nil {
			return nil, err
		}
		if sight.deadline == 0 || row.deadline < sight.deadline {
			sight.deadline = row.deadline
		}
	}
	return row, must(tx.Exec(upsertGroupStarted, f.Run.Seq(), string(jobs.AppendJSON(nil, &g.Doc)), depth, row.need,
		row.rest, draft, none(row.deadline)))
}

// startMember makes a member, or keeps a run that stands for it. bad: it has ended and is not good.
func (s *Store) startMember(tx Tx, f *store.Finish, place int) (bad bool, err error) {
	m := &f.Group.Members[place]
	keep, end := m.Keep, m.Of
	if !end.IsNil() {
		if end, keep, err = s.requeueable(tx, end, keep); err != nil {
			return false, err
		}
	}
	if !keep.IsNil() {
		return s.keepMember(tx, f, place, keep)
	}
	run := m.Sub.Run
	if run == nil {
		return true, addMember(tx, f.Run, place, m, jobs.NilID)
	}
	job, err := s.jobRow(tx, run.Job)
	if err != nil {
		return false, err
	}
	if job == nil {
		return true, addMember(tx, f.Run, place, m, jobs.NilID)
	}
	run.Group, run.Place, run.RequeuedFrom = f.Run, place, end
	bornWithoutJob(job, run)
	if !end.IsNil() {
		if err := requeuedOf(tx, m.Of, run); err != nil {
			return false, err
		}
		if run.OperationID != run.ID {
			if err := continued(tx, run); err != nil {
				return false, err
			}
		}
	}
	if err := s.insert(tx, job, run); err != nil {
		return false, err
	}
	if !end.IsNil() && job.pool == store.PoolGroup {
		if err := s.requeueGroup(tx, run, m.Of, false); err != nil {
			return false, err
		}
	}
	return run.State.Terminal(), addMember(tx, f.Run, place, m, run.ID)
}

// bornWithoutJob has a run be born failed whose job does not stand any more.
func bornWithoutJob(job *jobRow, run *jobs.Run) {
	if job.deleted && !run.State.Terminal() {
		run.State = jobs.Failed
		run.Error = &jobs.Failure{
			Kind: jobs.FailInvalid, Type: string(jobs.FailInvalid),
			Message: "there is no job " + job.name + " any more: make it again, then requeue this run",
		}
	}
}

func addMember(tx Tx, group jobs.ID, place int, m *store.MemberStart, run jobs.ID) error {
	seq, tail := any(nil), any(nil)
	if !run.IsNil() {
		seq, tail = run.Seq(), run.Tail()
	}
	return must(tx.Exec(insertMember, group.Seq(), place, m.Name, m.Job, seq, tail))
}

// keepMember has a run of the group's run before stand for a member. One that has not ended belongs to
// this group from now on.
func (s *Store) keepMember(tx Tx, f *store.Finish, place int, keep jobs.ID) (bad bool, err error) {
	m := &f.Group.Members[place]
	row, found, err := s.findRun(tx, keep)
	if err != nil {
		return false, err
	}
	if found && !row.state.Terminal() {
		if row.lane != 0 { // a claim may have read it ahead
			l, err := s.laneOf(tx, row.lane)
			if err != nil {
				return false, err
			}
			s.dropAhead(l)
		}
		if err := must(tx.Exec(updateParent, keep.Seq(), f.Run[:], place)); err != nil {
			return false, err
		}
	}
	bad = !found || row.state.Terminal() && row.state != jobs.Succeeded
	return bad, addMember(tx, f.Run, place, m, keep)
}

// requeueable is the end of the chain of a run that a member is to be made from. Where that end has not ended
// it stands for the member, as what is to be kept does; the run may also be gone.
func (s *Store) requeueable(tx Tx, of, keep jobs.ID) (jobs.ID, jobs.ID, error) {
	row, found, err := s.findRun(tx, of)
	switch {
	case err != nil || !found:
		return jobs.NilID, keep, err
	case !row.state.Terminal():
		return jobs.NilID, of, nil
	}
	end, unfinished, err := endOf(tx, of)
	if unfinished {
		return jobs.NilID, end, err
	}
	return end, keep, err
}
