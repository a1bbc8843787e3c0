package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const updateMember = `UPDATE members SET run = $3, tail = $4 WHERE parent = $1 AND place = $2`

// bringGroup keeps what a run is a group of that its job does not say, and the run whose good members it
// keeps; 0: none.
func bringGroup(tx Tx, run jobs.ID, doc *jobs.Group, keep int64) error {
	if doc == nil && keep == 0 {
		return nil
	}
	text := any(nil)
	if doc != nil {
		text = string(jobs.AppendJSON(nil, doc))
	}
	return must(tx.Exec(insertGroup, run.Seq(), text, none(keep), 1))
}

// requeueGroup keeps what the requeue of a group's run starts from: of is the run that was to be requeued;
// anew: nothing of it is kept.
func (s *Store) requeueGroup(tx Tx, run *jobs.Run, of jobs.ID, anew bool) error {
	of, err := lastAlike(tx, of, run.RequeuedFrom)
	if err != nil {
		return err
	}
	old, err := s.runRow(tx, of)
	if err != nil {
		return err
	}
	d, err := readGroupDoc(tx, of.Seq())
	if err != nil {
		return err
	}
	keep := int64(0)
	switch {
	case !old.group || anew:
	case old.started:
		keep = of.Seq()
	default: // it had made none, and would have kept those
		keep = d.keep
	}
	if old.jobName != jobs.GroupJob {
		d.doc = nil
	}
	return bringGroup(tx, run.ID, d.doc, keep)
}

// lastAlike is the end of a run's chain where that has gone on with the same operation, else the run.
func lastAlike(tx Tx, of, end jobs.ID) (jobs.ID, error) {
	if end == of {
		return of, nil
	}
	first, err := operationOf(tx, of)
	if err != nil {
		return of, err
	}
	last, err := operationOf(tx, end)
	if first == last {
		of = end
	}
	return of, err
}

// joinGroup has a requeue take the place in a group of the run that it is made from.
func (s *Store) joinGroup(tx Tx, run *jobs.Run, old runRow) error {
	if old.links.Group.IsNil() {
		return nil
	}
	g, err := readGroup(tx, old.links.Group)
	if err != nil || g == nil { // it is not kept any more
		return err
	}
	if !g.state.Terminal() && (g.cancelled || g.rest == restGone) {
		return fmt.Errorf("the group %s is being cancelled: %w", g.run, store.ErrState)
	}
	run.Group, run.Place = g.run, old.links.Place
	if run.Place == mergePlace {
		return nil
	}
	if err := s.waitAgain(tx, g); err != nil {
		return err
	}
	_, err = tx.Exec(updateMember, g.run.Seq(), run.Place, run.ID.Seq(), run.ID.Tail())
	return err
}

// waitAgain has a group that was about to end without a merge wait for a member that is requeued.
func (s *Store) waitAgain(tx Tx, g *groupRow) error {
	if g.state.Terminal() || g.merge != 0 {
		return nil
	}
	switch g.phase {
	case store.GroupEnding:
		return s.setPhase(tx, g.run, store.GroupMembers)
	case store.GroupGiven: // its end is on the way
		return fmt.Errorf("the group %s is ending: %w", g.run, store.ErrState)
	}
	return nil
}

// Remerge implements store.Groups.
func (s *Store) Remerge(
	ctx context.Context, of jobs.ID, draft *jobs.Run, by store.By,
) (out store.Submitted, err error) {
	err = s.write(ctx, func(tx Tx) error {
		if _, err := readGroupRun(tx, of); err != nil {
			return err
		}
		g, err := readGroup(tx, of)
		if err != nil {
			return err
		}
		if err := remergeable(tx, of, g); err != nil {
			return err
		}
		run, job, err := s.nextMerge(tx, of, draft, by.Now)
		if err == nil && (job == nil || job.deleted) {
			err = fmt.Errorf("job %q: %w", run.Job, store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if err := s.insert(tx, job, run); err != nil {
			return fmt.Errorf("make another merge of group %s: %w", of, err)
		}
		out = submitted(run, false)
		return s.audit(tx, by, "remerge", "run", of.String(), changed("run", nil, run.ID))
	})
	return out, err
}

// remergeable refuses where a group, or something of it, has not ended.
func remergeable(tx Tx, of jobs.ID, g *groupRow) error {
	if g == nil || g.phase == store.GroupNew || !g.state.Terminal() {
		return fmt.Errorf("group %s has not ended, or never started: %w", of, store.ErrState)
	}
	d, err := readGroupDoc(tx, of.Seq())
	if err != nil {
		return err
	}
	if d.draft == nil {
		return fmt.Errorf("group %s merges nothing: %w", of, store.ErrState)
	}
	var open jobs.ID
	found, err := one(tx, selectOpenOf, func(r Row) { open = jobs.IDOf(r.Int(0), r.Int(1)) }, of[:])
	if err == nil && !found {
		found, err = one(tx, selectOpenMember, func(r Row) { open = jobs.IDOf(r.Int(0), r.Int(1)) }, of.Seq())
	}
	if err == nil && found {
		err = fmt.Errorf("run %s of group %s has not ended: %w", open, of, store.ErrState)
	}
	return err
}
