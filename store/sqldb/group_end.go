package sqldb

import (
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	updateGroupRest  = `UPDATE groups SET rest = $2 WHERE run = $1`
	updateGroupMerge = `UPDATE groups SET phase = 2, deadline = NULL, merge = $2 WHERE run = $1`
	// In the order of the document, with what became of each.
	selectTally = `
SELECT m.place, m.name, r.seq, r.tail, r.state, r.finished_at, r.error_kind, r.error_type, r.error_message
FROM members m LEFT JOIN runs r ON r.seq = m.run AND r.tail = m.tail WHERE m.parent = $1 ORDER BY m.place`
)

// groupEnded takes in that a member of a group, or its merge, has ended.
func (s *Store) groupEnded(tx Tx, e *ended) (stop []jobs.ID, err error) {
	if e.links.Group.IsNil() {
		return nil, nil
	}
	if _, ok := s.quiet[e.links.Group.Seq()]; ok {
		return nil, nil
	}
	links, g, err := groupOf(tx, e)
	if err != nil || g == nil {
		return nil, err
	}
	if g.cancelled && (g.phase == store.GroupMembers || g.phase == store.GroupMerging) {
		return nil, s.settle(tx, g, e.now) // once nothing of it runs, a member that was requeued meanwhile neither
	}
	if links.Place == mergePlace {
		if g.phase == store.GroupMerging && g.merge == e.id.Seq() {
			return nil, s.setPhase(tx, g.run, store.GroupEnding)
		}
		return nil, nil
	}
	if g.phase != store.GroupMembers {
		return nil, nil
	}
	if e.state != jobs.Succeeded && g.rest == restCancels {
		if stop, err = s.callOff(tx, g, e.now); err != nil {
			return nil, err
		}
	}
	return stop, s.settle(tx, g, e.now)
}

// groupOf is the group that a run belongs to. Who ends it may not know that a newer run of the group has
// taken it over: only one that is over can have lost it.
func groupOf(tx Tx, e *ended) (store.Links, *groupRow, error) {
	links := e.links
	g, err := readGroup(tx, links.Group)
	if err != nil || g != nil && g.phase != store.GroupOver {
		return links, g, err
	}
	_, err = one(tx, selectPlace, func(r Row) { links.Group, links.Place = r.ID(0), int(r.Int(1)) }, e.id.Seq())
	if err != nil || links.Group == e.links.Group {
		return links, g, err
	}
	g, err = readGroup(tx, links.Group)
	return links, g, err
}

// callOff cancels the members that have not ended, for another one is bad.
func (s *Store) callOff(tx Tx, g *groupRow, now jobs.Time) ([]jobs.ID, error) {
	g.rest = restGone
	if err := must(tx.Exec(updateGroupRest, g.run.Seq(), g.rest)); err != nil {
		return nil, err
	}
	return s.cancelOpen(tx, g.run, cancelling{now, jobs.ByGroup, "another member of its group was not good"})
}

// settle has a group go on once no member is open: to its merge, or to its end.
func (s *Store) settle(tx Tx, g *groupRow, now jobs.Time) error {
	open, err := one(tx, selectOpenOf, func(Row) {}, g.run[:])
	if err != nil || open {
		return err
	}
	if g.deadline != 0 { // another group's may be the next now
		s.groups.known = false
	}
	if g.cancelled || g.rest == restGone {
		return s.setPhase(tx, g.run, store.GroupEnding)
	}
	t, err := tallyOf(tx, g.run)
	if err != nil {
		return err
	}
	if t.Succeeded < g.need {
		return s.setPhase(tx, g.run, store.GroupEnding)
	}
	if t.Succeeded < t.Members {
		if err := s.tellPartial(tx, g, &t, now); err != nil {
			return err
		}
	}
	d, err := readGroupDoc(tx, g.run.Seq())
	if err != nil {
		return err
	}
	if d.draft == nil {
		return s.setPhase(tx, g.run, store.GroupEnding)
	}
	run, job, err := s.nextMerge(tx, g.run, d.draft, now)
	if err != nil {
		return err
	}
	if job == nil {
		return fmt.Errorf("group %s merges by job %s, which there never was", g.run, run.Job)
	}
	bornWithoutJob(job, run)
	if err := must(tx.Exec(updateGroupMerge, g.run.Seq(), run.ID.Seq())); err != nil {
		return err
	}
	if err := s.insert(tx, job, run); err != nil {
		return fmt.Errorf("make the merge of group %s: %w", g.run, err)
	}
	return nil
}

func (s *Store) tellPartial(tx Tx, g *groupRow, t *tally, now jobs.Time) error {
	run, err := listedRun(tx, g.run)
	if err != nil {
		return fmt.Errorf("read group %s: %w", g.run, err)
	}
	t.partial.Labels, t.partial.Correlation, t.partial.Schedule = run.Labels, run.CorrelationID, textOrNull(run.Schedule)
	t.partial.Job, t.partial.Run, t.partial.Need = g.job, g.run, g.need
	t.partial.Members, t.partial.Succeeded = t.Members, t.Succeeded
	return s.keepEvent(tx, store.Event{
		At: now, Type: jobs.EventGroupPartial, Subject: jobs.RunSubject(g.run), Job: g.job, Run: g.run,
		Data: t.partial.Data(),
	})
}

// nextMerge is a merge of a group that is to be made, and its job; nil: there never was one. Its payload is
// composed before its first attempt.
func (s *Store) nextMerge(tx Tx, group jobs.ID, draft *jobs.Run, now jobs.Time) (*jobs.Run, *jobRow, error) {
	if s.ids == nil {
		return nil, nil, errors.New("nobody has said how merges are named: see UseIDs")
	}
	run := *draft
	run.ID = s.ids.Next(now.Std())
	run.OperationID, run.Group, run.Place, run.Payload = run.ID, group, mergePlace, nil
	run.CreatedAt, run.RunAt, run.DueAt = now, now, now
	if run.CorrelationID == "" {
		run.CorrelationID = group.String()
	}
	job, err := s.jobRow(tx, run.Job)
	return &run, job, err
}

// mergeStub stands for the payload of a merge that has not been composed where the host it calls is worked
// out.
func mergeStub(group jobs.ID) jobs.Raw {
	return jobs.Raw(`{"group":"` + group.String() + `","succeeded":[],"failed":[],"missing":[],"results":[]}`)
}

// UseIDs implements store.Groups.
func (s *Store) UseIDs(ids *jobs.IDs) { s.ids = ids }

// tally counts the members of a group.
type tally struct {
	store.GroupTally
	partial jobs.GroupPartial
	// bad is the member that was bad first, failed ones before others; "": all are good or have not ended.
	bad string
	at  jobs.Time // when it failed; zero: it did not
	why *jobs.Failure
}

func tallyOf(tx Tx, group jobs.ID) (t tally, err error) {
	err = tx.Query(selectTally, func(r Row) error {
		t.add(r)
		return nil
	}, group.Seq())
	return t, err
}

func (t *tally) add(r Row) {
	t.Members++
	name, state := r.Text(1), jobs.State(r.Int(4))
	switch {
	case r.Null(2) || state == jobs.Cancelled:
		t.Missing++
		t.partial.Miss(name)
		if t.bad == "" {
			t.bad = name
		}
	case state == jobs.Succeeded:
		t.Succeeded++
	case state == jobs.Failed:
		t.Failed++
		t.partial.Fail(name)
		if at := r.Time(5); t.why == nil || at < t.at {
			t.bad, t.at = name, at
			t.why = &jobs.Failure{Kind: jobs.FailureKind(r.Text(6)), Type: r.Text(7), Message: r.Text(8)}
		}
	default:
		t.Unfinished++
	}
}
