package storetest

import (
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// groupJob is a job that runs jobs side by side, as members m0, m1 and so on.
func groupJob(name, members string, more ...func(*jobs.Group)) *jobs.Job {
	j := &jobs.Job{Name: name, Group: groupDoc(members, more...)}
	return j
}

func groupDoc(members string, more ...func(*jobs.Group)) *jobs.Group {
	g := &jobs.Group{Members: []jobs.Member{}, Need: jobs.Need{Percent: 100}}
	for i, job := range strings.Fields(members) {
		g.Members = append(g.Members, jobs.Member{Name: fmt.Sprintf("m%d", i), Job: job})
	}
	for _, f := range more {
		f(g)
	}
	return g
}

func merged(g *jobs.Group) { g.Merge = &jobs.Merge{Job: "m"} }

func callsOff(g *jobs.Group) { g.OnMemberFailure = jobs.MemberFailureCancelRest }

func needs(n int) func(*jobs.Group) {
	return func(g *jobs.Group) { g.Need = jobs.Need{Count: &n} }
}

func needsPercent(n int) func(*jobs.Group) {
	return func(g *jobs.Group) { g.Need = jobs.Need{Percent: n} }
}

// groupLease claims a group that is to start.
func (w *world) groupLease() store.Lease {
	w.Helper()
	leases := w.claim(store.Claim{Free: [store.Pools]int{store.PoolGroup: 1}}).Leases
	if len(leases) != 1 {
		w.Fatalf("claimed %d groups, want 1", len(leases))
	}
	return leases[0]
}

// started is the end of a claim of a group by which its members are made.
func (w *world) started(l store.Lease, change ...func(*store.GroupStart)) store.Finish {
	doc := l.Group.Doc
	g := &store.GroupStart{Doc: doc}
	for i, m := range doc.Members {
		sub := w.sub(m.Job)
		sub.Run.Trigger, sub.Run.CorrelationID, sub.Run.Payload = jobs.TriggerGroup, l.Run.CorrelationID, jobs.Raw(fmt.Sprint(i))
		g.Members = append(g.Members, store.MemberStart{Name: m.Name, Job: m.Job, Sub: sub})
	}
	if doc.Merge != nil {
		g.Merge = &jobs.Run{
			Job: doc.Merge.Job, State: jobs.Queued, Trigger: jobs.TriggerGroup, CorrelationID: l.Run.CorrelationID,
			Priority: l.Run.Priority, Labels: l.Run.Labels, CreatedBy: "tester",
		}
	}
	if doc.Deadline != nil {
		g.Deadline = w.now.Add(doc.Deadline.Std())
	}
	for _, f := range change {
		f(g)
	}
	f := w.ended(l, jobs.Waiting, 0)
	f.Transition.Error, f.Group = nil, g
	return f
}

// group makes a run of a group job and starts it.
func (w *world) group(job string, change ...func(*store.GroupStart)) store.Lease {
	w.Helper()
	w.enqueue(job)
	l := w.groupLease()
	w.apply(w.started(l, change...))
	return l
}

// groupInfo is how a group stands.
func (w *world) groupInfo(id jobs.ID) *store.GroupInfo {
	w.Helper()
	info, err := w.Group(w.ctx, id)
	w.check(err)
	return info
}

// members are those of a group that has started.
func (w *world) members(id jobs.ID) (list []store.GroupMember) {
	w.Helper()
	w.check(store.Each(func(p store.Page) ([]store.GroupMember, string, error) {
		p.Limit = 3
		return w.Members(w.ctx, id, p)
	}, func(m store.GroupMember) { list = append(list, m) }))
	return list
}

// stands tells how the members of a group do, in their order, and its phase and merges.
func (w *world) stands(id jobs.ID) string {
	w.Helper()
	info := w.groupInfo(id)
	var text []string
	for _, m := range w.members(id) {
		state := "none"
		if m.Run != nil {
			state = m.Run.State.String()
		}
		if m.Missing {
			state += " missing"
		}
		text = append(text, state)
	}
	t := info.Tally
	sum := t.Succeeded + t.Failed + t.Missing + t.Unfinished
	if sum != t.Members {
		w.Errorf("the tally is not whole: %+v", t)
	}
	phase := [...]string{"new", "members", "merging", "ending", "ending", "over"}[info.Phase]
	return fmt.Sprintf("%s; %s, %d merges", strings.Join(text, ", "), phase, len(info.Merges))
}

func (w *world) wantStands(id jobs.ID, want string) {
	w.Helper()
	equal(w, "group", w.stands(id), want)
}

// memberLease is that of a member, claimed with all that is due before it; -1: of the newest merge.
func (w *world) memberLease(group jobs.ID, place int) store.Lease {
	w.Helper()
	var id jobs.ID
	if place >= 0 {
		id = w.members(group)[place].ID
	} else {
		merges := w.groupInfo(group).Merges
		id = merges[len(merges)-1].ID
	}
	if w.state(id) != jobs.Running {
		w.take(1000)
	}
	if w.state(id) != jobs.Running {
		w.Fatalf("run %s is %s and cannot be claimed", id, w.state(id))
	}
	return w.leases[id]
}

// groupsOver are the groups that were given back since it was called last.
func (w *world) groupsOver() []store.EndedGroup {
	w.Helper()
	w.claim(store.Claim{Hold: true})
	list := w.given
	w.given = nil
	return list
}

func (w *world) oneOver() store.EndedGroup {
	w.Helper()
	list := w.groupsOver()
	if len(list) != 1 {
		w.Fatalf("%d groups were given back, want 1", len(list))
	}
	return list[0]
}

// endGroup ends a group that was given back.
func (w *world) endGroup(g store.EndedGroup) {
	w.Helper()
	switch {
	case g.Run.CancelRequestedAt != 0:
		w.apply(w.cancelled(g.Lease))
	case g.Merge == nil && g.Bad != "" || g.Merge != nil && g.Merge.State != jobs.Succeeded:
		w.fail(g.Lease)
	default:
		f := w.succeeded(g.Lease)
		if g.Merge != nil {
			f.Result = g.Merge.Result
		}
		w.apply(f)
	}
}

// composed keeps the payload of a merge, as is done before its first attempt.
func (w *world) composed(l store.Lease, text string) store.Lease {
	w.Helper()
	equal(w, "merges, payload", words(l.Merges, string(l.Run.Payload)), "true ")
	w.check(w.KeepPayload(w.ctx, fenceOf(l), jobs.Raw(text)))
	l.Run.Payload = jobs.Raw(text)
	return l
}

// results are those of the members, in words.
func (w *world) results(id jobs.ID) (text string) {
	w.Helper()
	w.check(w.Results(w.ctx, id, func(m *store.GroupMember) error {
		text += m.Name + " "
		if m.Run != nil {
			text += m.Run.State.String() + " " + string(m.Run.Result)
			if m.Run.Error != nil {
				text += m.Run.Error.Message
			}
		}
		text += "; "
		return nil
	}))
	return strings.TrimSuffix(text, "; ")
}

// succeedWith ends an attempt with a result.
func (w *world) succeedWith(l store.Lease, result string) {
	w.Helper()
	f := w.succeeded(l)
	f.Result = jobs.Raw(result)
	w.apply(f)
}

// bearsFailed has members be born failed.
func bearsFailed(places ...int) func(*store.GroupStart) {
	return func(g *store.GroupStart) {
		for _, i := range places {
			bornFailed(&g.Members[i].Sub)
		}
	}
}

func withinDeadline(w *world, d time.Duration) func(*store.GroupStart) {
	return func(g *store.GroupStart) { g.Deadline = w.now.Add(d) }
}
