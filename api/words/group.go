package words

import (
	"fmt"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// Group is a group with what is told of it.
type Group struct {
	Run     wire.Run          `json:"run"`
	Members wire.GroupMembers `json:"members"`
	Merges  []wire.Run        `json:"merges"`
}

// mostNamed is how many members a sentence names.
const mostNamed = 3

// Counts says what has become of members: 3: 1 succeeded, 1 failed, 1 unfinished.
func Counts(n wire.GroupCounts) string {
	parts := []string{}
	for _, p := range []struct {
		n    int
		what string
	}{
		{n.Succeeded, "succeeded"}, {n.Failed, "failed"}, {n.Missing, "missing"}, {n.Unfinished, "not ended"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprint(n.Members)
	}
	return fmt.Sprintf("%d: %s", n.Members, strings.Join(parts, ", "))
}

// WhyGroup says in sentences where a group stands: what it waits for, or how it ended.
func (at At) WhyGroup(g *Group) string {
	r, n := &g.Run, g.Members.Counts
	state, _ := jobs.StateOf(r.State)
	switch {
	case state.Terminal():
		return at.endedGroup(g)
	case state != jobs.Waiting:
		return at.Why(r)
	case r.CancelRequestedAt != 0:
		return fmt.Sprintf("It is being cancelled since %s: it ends when %s.", at.Clock(r.CancelRequestedAt), whatIsOpen(g))
	}
	if merge := UnfinishedMerge(g.Merges); merge != nil {
		said := "Its members have ended"
		if n.Unfinished > 0 {
			said += ", and of them " + requeuedText(n.Unfinished) + " since: it does not wait for that"
		}
		return fmt.Sprintf("%s (%s). It waits for its merge, run %s. %s", said, Counts(n), merge.ID, at.Why(merge))
	}
	if n.Unfinished > 0 {
		return at.openMembers(g)
	}
	return "Its members have ended (" + Counts(n) + "): it is about to end."
}

// endedGroup says how a group ended, and which members were not good.
func (at At) endedGroup(g *Group) string {
	said := at.Why(&g.Run)
	n := g.Members.Counts
	if n.Members == 0 {
		return said + " It has no members."
	}
	said += fmt.Sprintf(" Of its %s %d succeeded", CountOf(n.Members, "member"), n.Succeeded)
	if bad := badMembers(g.Members.Items); bad != "" {
		said += "; not good: " + bad
	}
	said += "."
	if n.Unfinished > 0 {
		said += fmt.Sprintf(" %s since and not ended.", requeuedText(n.Unfinished))
	}
	if merge := UnfinishedMerge(g.Merges); merge != nil {
		said += " It is merged once more by run " + merge.ID.String() + "."
	}
	return said
}

func requeuedText(n int) string {
	if n == 1 {
		return "1 has been requeued"
	}
	return fmt.Sprintf("%d have been requeued", n)
}

// badMembers names those that failed or are missing.
func badMembers(items []wire.GroupMember) string {
	var names []string
	for i := range items {
		m := &items[i]
		if m.Missing || m.State == nil || *m.State == jobs.Failed.String() {
			names = append(names, m.Name+" ("+MemberState(m)+")")
		}
	}
	return SomeOf(names, len(names))
}

// SomeOf is the first few of a list of which there are n.
func SomeOf(names []string, n int) string {
	if len(names) > mostNamed {
		names = names[:mostNamed]
	}
	text := strings.Join(names, ", ")
	if more := n - len(names); more > 0 && len(names) > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// openMembers says which members a group waits for.
func (at At) openMembers(g *Group) string {
	n := g.Members.Counts
	var open []string
	for i := range g.Members.Items {
		m := &g.Members.Items[i]
		if state, _ := jobs.StateOf(text(m.State)); m.State != nil && !state.Terminal() {
			open = append(open, at.openMember(m, state))
		}
	}
	said := fmt.Sprintf("It waits: %d of its %s have not ended", n.Unfinished, CountOf(n.Members, "member"))
	if n.Unfinished == 1 {
		said = fmt.Sprintf("It waits: 1 of its %s has not ended", CountOf(n.Members, "member"))
	}
	if which := SomeOf(open, n.Unfinished); which != "" {
		said += ": " + which
	}
	said += fmt.Sprintf(". %d succeeded, it needs %d.", n.Succeeded, g.Members.Need)
	if g.Members.Deadline != 0 {
		said += " Those that have not ended by " + at.Clock(g.Members.Deadline) + " (" + at.FromNow(g.Members.Deadline) +
			") are cancelled."
	}
	return said
}

// openMember says what a member does that has not ended.
func (at At) openMember(m *wire.GroupMember, state jobs.State) string {
	switch state {
	case jobs.Running:
		return m.Name + " runs since " + at.Clock(m.StartedAt)
	case jobs.Waiting:
		return m.Name + " waits since " + at.Clock(m.StartedAt)
	case jobs.Retrying:
		return m.Name + " is tried again (" + Short(Error(orUnknown(m.Error)), 60) + ")"
	case jobs.Scheduled:
		return m.Name + " is not due yet"
	}
	if m.StartedAt != 0 {
		return m.Name + " waits for its next attempt"
	}
	return m.Name + " has not started"
}

func orUnknown(e *jobs.Failure) *jobs.Failure {
	if e == nil {
		return &jobs.Failure{Kind: "unknown", Message: "it failed"}
	}
	return e
}

// whatIsOpen says what of a group has not ended.
func whatIsOpen(g *Group) string {
	n := g.Members.Counts
	merge := UnfinishedMerge(g.Merges)
	switch {
	case n.Unfinished == 1:
		return fmt.Sprintf("1 of its %s has ended", CountOf(n.Members, "member"))
	case n.Unfinished > 0:
		return fmt.Sprintf("%d of its %s have ended", n.Unfinished, CountOf(n.Members, "member"))
	case merge != nil:
		return "its merge, run " + merge.ID.String() + ", has ended"
	}
	return "all is over"
}

func UnfinishedMerge(merges []wire.Run) *wire.Run {
	for i := range merges {
		if !Ended(&merges[i]) {
			return &merges[i]
		}
	}
	return nil
}

// InGroup says which place a run has in which group; "": in none.
func InGroup(r *wire.Run) string {
	switch {
	case r.Group.IsNil():
		return ""
	case r.Member == nil:
		return "the merge of group " + r.Group.String()
	}
	return "member " + *r.Member + " of group " + r.Group.String()
}

// MemberState is the state of a member's run, and that it counts as missing where that does not say so.
func MemberState(m *wire.GroupMember) string {
	state := text(m.State)
	switch {
	case m.State == nil || m.Missing && state == jobs.Cancelled.String():
		return "missing"
	case m.Missing:
		return "missing, " + state
	}
	return state
}
