package runtime

import (
	"context"
	"sync"

	"nightshift/jobs"
	"nightshift/store"
)

// groupEnds are the groups of which all is over, until their end is handed to the dispatcher.
type groupEnds struct {
	mu   sync.Mutex
	list []store.EndedGroup
	wake chan struct{} // capacity 1
}

func (e *groupEnds) init() { e.wake = make(chan struct{}, 1) }

func (e *groupEnds) add(list []store.EndedGroup) {
	if len(list) == 0 {
		return
	}
	e.mu.Lock()
	e.list = append(e.list, list...)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *groupEnds) take() []store.EndedGroup {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// endGroups ends groups of which all is over, until the runtime stops. Those that are left are given to the
// next process again.
func (r *Runtime) endGroups() {
	for {
		select {
		case <-r.stopping.Done():
			return
		case <-r.groups.wake:
		}
		for _, g := range r.groups.take() {
			if err := r.endGroup(r.stopping, &g); err != nil {
				return
			}
		}
	}
}

// endGroup hands the end of a group to the dispatcher, as if a worker had it. The error is the cause with
// which ctx has ended.
func (r *Runtime) endGroup(ctx context.Context, g *store.EndedGroup) error {
	if _, err := r.planOf(ctx, g.Run.Job); err != nil {
		return err
	}
	over := &jobs.GroupEnding{
		Counts: g.Run.Counts, CancelAsked: g.Run.CancelRequestedAt != 0, Group: &g.Group.Doc,
		Succeeded: g.Tally.Succeeded, Failed: g.Tally.Failed, Missing: g.Tally.Missing + g.Tally.Unfinished, Merge: g.Merge,
	}
	var err error
	if over.Failed+over.Missing > 0 && !over.CancelAsked && over.Merge == nil {
		if over.Bad, err = r.badMembers(ctx, g); err != nil {
			return err
		}
	}
	c := completion{outcome: outcome{
		lease: g.Lease, report: jobs.Report{ExitCode: -1}, group: &grouping{over: over},
	}}
	if g.Merge != nil && g.Merge.State == jobs.Succeeded {
		c.report.Result, c.report.ResultTruncated = g.Merge.Result, g.Merge.ResultTruncated
	}
	var now jobs.Time
	now, c.basis = r.clock.now()
	c.finish = r.decide(&c.outcome, now, forced{})
	r.ends.add(c) // where nobody takes it, the next process is given the group
	return nil
}

// groupOver tells of a group that has succeeded though not all of its members are good.
func (r *Runtime) groupOver(c *completion) {
	over := c.group.over
	if over == nil || c.finish.Transition.State != jobs.Succeeded || over.Failed+over.Missing == 0 {
		return
	}
	r.log.Warn("a group has succeeded without some of its members", append(runAttrs(c.lease),
		"succeeded", over.Succeeded, "failed", over.Failed, "missing", over.Missing)...)
}

// badMembers are the first members of a group that were not good, those that failed before the others.
func (r *Runtime) badMembers(ctx context.Context, g *store.EndedGroup) (failed []jobs.BadMember, err error) {
	var others []jobs.BadMember
	group, deadline := g.Run.ID, jobs.Time(0)
	if d := g.Group.Doc.Deadline; d != nil {
		deadline = g.Started.Add(d.Std())
	}
	err = r.persist(ctx, "the members of group "+group.String(), func() error {
		failed, others = nil, nil
		for page := (store.Page{Limit: 1000}); len(failed) < jobs.MaxBadNamed; {
			list, next, err := r.store.Members(ctx, group, page)
			if err != nil {
				return err
			}
			for i := range list {
				m := &list[i]
				if m.Run != nil && m.Run.State == jobs.Succeeded && !m.Missing {
					continue
				}
				b := jobs.BadMemberOf(m.Name, m.Run, !m.ID.IsNil(), deadline)
				if b.Failed {
					failed = append(failed, b)
				} else if len(others) < jobs.MaxBadNamed {
					others = append(others, b)
				}
			}
			if next == "" {
				break
			}
			page.Cursor = next
		}
		return nil
	})
	return append(failed, others...), ignoreNotFound(err)
}
