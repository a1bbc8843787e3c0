package runtime

import (
	"context"
	"fmt"
	"runtime/debug"

	"nightshift/jobs"
	"nightshift/store"
)

// grouping is what comes of an attempt of a group: it starts its members, or all of it is over.
type grouping struct {
	start  *store.GroupStart // nil: it does not start
	at     jobs.Time         // of the times in start
	failed *jobs.Failure     // why it does not start
	over   *jobs.GroupEnding // nil: it is to start
}

// startGroup works out what a group is made of. The store makes it all as it takes in the end of that: the
// group waits from then on, without a worker.
func (r *Runtime) startGroup(a *attempt) completion {
	r.started(a)
	now, basis := r.clock.now()
	c := completion{
		attempt: a, basis: basis,
		outcome: outcome{lease: a.lease, report: jobs.Report{ExitCode: -1, Accepted: true}, group: &grouping{at: now}},
	}
	s := &groupStarting{Runtime: r, ctx: a.ctx, lease: &a.lease, now: now}
	var err error
	if a.lease.Merges {
		c.group.failed, err = r.compose(a)
	}
	if err == nil && c.group.failed == nil {
		c.group.start, c.group.failed, err = s.draft()
	}
	if err != nil {
		c.report = jobs.Report{ExitCode: -1, Stopped: err}
	}
	a.cancel(nil)
	a.seal()
	c.finish = r.decide(&c.outcome, now, forced{})
	return c
}

// transition is what becomes of the run of a group; ok is false where that is as of any other run.
func (g *grouping) transition(o *outcome, f forced, orphaned bool) (t jobs.Transition, ok bool) {
	counts := o.lease.Run.Counts
	switch {
	case g == nil, o.report.Stopped != nil, g.over == nil && (f.cancel || orphaned):
		return t, false
	case g.over != nil:
		over := *g.over
		over.CancelAsked = over.CancelAsked || f.cancel
		return jobs.DecideGroup(&over), true
	case g.failed != nil:
		return jobs.GroupFailed(counts, g.failed), true
	}
	return jobs.Transition{State: jobs.Waiting, Counts: counts}, true
}

// startAt is what starts it, at an instant that the clock has been set to since, perhaps.
func (g *grouping) startAt(now jobs.Time) *store.GroupStart {
	step := now - g.at
	g.at = now
	if step == 0 {
		return g.start
	}
	move := func(t *jobs.Time) {
		if *t != 0 {
			*t += step
		}
	}
	move(&g.start.Deadline)
	for i := range g.start.Members {
		if run := g.start.Members[i].Sub.Run; run != nil {
			for _, t := range []*jobs.Time{&run.CreatedAt, &run.RunAt, &run.DueAt, &run.FinishedAt} {
				move(t)
			}
		}
	}
	return g.start
}

// groupStarting drafts the members of a group and its merge.
type groupStarting struct {
	*Runtime
	ctx    context.Context
	lease  *store.Lease
	now    jobs.Time
	before map[string]store.GroupMember // of the run that it was requeued from, by name
	size   int                          // of the payloads so far
}

// draft gives why the group cannot start as a failure; the error is the cause with which ctx has ended. What
// goes wrong in the server itself is one of this group alone.
func (s *groupStarting) draft() (start *store.GroupStart, failure *jobs.Failure, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the start of a group panicked", append(runAttrs(*s.lease), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))...)
			start, failure, err = nil, invalid("the server failed to start it: %v", p), nil
		}
	}()
	return s.drafted()
}

func (s *groupStarting) drafted() (*store.GroupStart, *jobs.Failure, error) {
	run, doc := s.lease.Run, &s.lease.Group.Doc
	if depth := s.lease.Group.Depth; depth > jobs.MaxGroupDepth {
		return nil, invalid("this group would stand %d deep: want at most %d groups inside one another", depth, jobs.MaxGroupDepth), nil
	}
	prepared, err := jobs.Prepare(jobs.Spec{Group: doc})
	if err != nil {
		return nil, invalid("what this version executes cannot be read any more: %s", err), nil
	}
	job, err := s.planOf(s.ctx, run.Job)
	if err == nil {
		err = s.readBefore()
	}
	if err != nil {
		return nil, nil, err
	}
	start := &store.GroupStart{Doc: *doc, Members: make([]store.MemberStart, len(doc.Members))}
	if start.Doc.Deadline != nil {
		start.Deadline = s.now.Add(start.Doc.Deadline.Std())
	}
	payloads := prepared.Members(&jobs.Scope{
		Run: run, Job: job.plan.Job, Payload: run.Payload, Attempt: run.Counts.Attempt(),
	})
	start.Doc.Members = make([]jobs.Member, len(doc.Members))
	for i := range doc.Members {
		m := &doc.Members[i]
		start.Doc.Members[i] = jobs.Member{Name: m.Name, Job: m.Job}
		if start.Members[i], err = s.member(m, func() (jobs.Raw, *jobs.Failure) { return payloads.Payload(i) }); err != nil {
			return nil, nil, err
		}
		if s.size > jobs.MaxGroupPayloads {
			return nil, jobs.ErrGroupPayloads(), nil
		}
	}
	var failure *jobs.Failure
	if doc.Merge != nil {
		start.Merge, failure, err = s.draftMerge(s.ctx, run, doc.Merge.Job, s.now)
	}
	return start, failure, err
}

// readBefore reads what has become of the members of the run that this one was requeued from.
func (s *groupStarting) readBefore() error {
	of := s.lease.Group.KeepOf
	if of.IsNil() {
		return nil
	}
	return s.persist(s.ctx, "the members of group "+of.String(), func() error {
		s.before = map[string]store.GroupMember{}
		err := store.Each(func(p store.Page) ([]store.GroupMember, string, error) {
			return s.store.Members(s.ctx, of, p)
		}, func(m store.GroupMember) { s.before[m.Name] = m })
		return ignoreNotFound(err)
	})
}

// member drafts a member. One that was good before, or has not ended, stands; one that was not good is made
// as a requeue.
func (s *groupStarting) member(m *jobs.Member, payload func() (jobs.Raw, *jobs.Failure)) (store.MemberStart, error) {
	made := store.MemberStart{Name: m.Name, Job: m.Job}
	if err := context.Cause(s.ctx); err != nil {
		return made, err
	}
	old := s.before[m.Name]
	if old.Job != m.Job || old.Run == nil {
		return made, s.anew(m, &made, payload)
	}
	if old.Run.State == jobs.Succeeded || !old.Run.State.Terminal() {
		made.Keep = old.Run.ID
		return made, nil
	}
	return made, s.again(m, &made, old.Run.ID, payload)
}

// anew drafts a member that nothing stands for.
func (s *groupStarting) anew(m *jobs.Member, made *store.MemberStart, payload func() (jobs.Raw, *jobs.Failure)) error {
	target, err := s.planOf(s.ctx, m.Job)
	if err != nil {
		return err
	}
	group := s.lease.Run
	text, failure := payload()
	if failure != nil && len(group.Payload) <= jobs.MaxPayload {
		text = group.Payload // as what follows a success gets the result
	}
	next := s.newRun(&jobs.Request{
		Job: m.Job, Payload: text, CorrelationID: group.CorrelationID, Traceparent: group.Traceparent,
		Trigger: jobs.TriggerGroup, Creator: group.CreatedBy,
	}, target, s.now)
	s.take(made, &next, failure)
	return nil
}

// again drafts a member as a requeue of its run before: of the same operation, unless that could not even
// be made as the group says now.
func (s *groupStarting) again(
	m *jobs.Member, made *store.MemberStart, of jobs.ID, payload func() (jobs.Raw, *jobs.Failure),
) error {
	target, err := s.planOf(s.ctx, m.Job)
	if err != nil {
		return err
	}
	var old *jobs.Run
	err = s.persist(s.ctx, "run "+of.String(), func() (err error) {
		old, err = s.store.Run(s.ctx, of)
		return ignoreNotFound(err)
	})
	if err != nil {
		return err
	}
	if old == nil {
		return s.anew(m, made, payload)
	}
	made.Of = of
	rq := store.Requeue{
		Of: of, ID: s.ids.Next(s.now.Std()), Trigger: jobs.TriggerGroup, By: store.By{Now: s.now},
		Creator: s.lease.Run.CreatedBy,
	}
	var failure *jobs.Failure
	if old.Counts.Number == 0 && old.State == jobs.Failed {
		if rq.Payload, failure = payload(); failure != nil {
			rq.Payload = old.Payload
		}
	}
	next := s.fitted(rq.Run(old), target)
	s.take(made, &next, failure)
	return nil
}

// take takes a draft for a member. One whose payload or key cannot be worked out is made all the same, and
// has ended.
func (s *groupStarting) take(made *store.MemberStart, next *draft, failure *jobs.Failure) {
	if failure == nil {
		failure = next.keys
	}
	next.endAtBirth(failure)
	next.sub.Unique = nil
	made.Sub = next.sub
	s.size += len(next.sub.Run.Payload)
}

// draftMerge drafts the merge of a group's run, without an id and a payload. Its keys, and the host it
// calls, are worked out over a payload without results: there are none yet.
func (r *Runtime) draftMerge(
	ctx context.Context, group *jobs.Run, job string, now jobs.Time,
) (*jobs.Run, *jobs.Failure, error) {
	target, err := r.planOf(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	if target.deleted {
		return nil, invalid("there is no job %s any more, which merges the results: make it again, then requeue this run", job), nil
	}
	next := r.newRun(&jobs.Request{
		Job: job, Payload: jobs.NewMergePayload(group.ID).Payload(), CorrelationID: group.CorrelationID,
		Traceparent: group.Traceparent, Trigger: jobs.TriggerGroup, Creator: group.CreatedBy,
	}, target, now)
	for _, f := range []*jobs.Failure{next.keys, next.host} {
		if f != nil {
			return nil, invalid("of the merge, over a payload that has no results yet: %s", f.Message), nil
		}
	}
	run := next.sub.Run
	run.ID, run.OperationID, run.Payload, run.Place = jobs.NilID, jobs.NilID, nil, -1
	return run, nil, nil
}

// maxToldMembers is how many members a log names that were made failed.
const maxToldMembers = 10

// membersOf are the runs that a start has made.
func membersOf(start *store.GroupStart) []jobs.ID {
	ids := make([]jobs.ID, 0, len(start.Members))
	for i := range start.Members {
		if run := start.Members[i].Sub.Run; run != nil {
			ids = append(ids, run.ID)
		}
	}
	return ids
}

// membersMade tells of members, and of those among them that were made failed.
func (r *Runtime) membersMade(group *jobs.Run, start *store.GroupStart) {
	failed := 0
	r.hub.made(membersOf(start)...)
	for i := range start.Members {
		run := start.Members[i].Sub.Run
		if run == nil || run.State != jobs.Failed {
			continue
		}
		if failed++; failed <= maxToldMembers {
			r.bornFailed(run, "group", group.ID.String())
		}
	}
	if failed > maxToldMembers {
		r.log.Error("more members of a group failed before they could start",
			AboutRun(group, "count", failed-maxToldMembers)...)
	}
}

func invalid(format string, args ...any) *jobs.Failure {
	return (&jobs.Failure{Kind: jobs.FailInvalid, Message: fmt.Sprintf(format, args...)}).Bound()
}
