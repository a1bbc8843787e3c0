package jobs

import (
	"fmt"
	"strings"
)

// GroupEnding is all that the end of a group may depend on, of which all is over.
type GroupEnding struct {
	Counts      Counts
	CancelAsked bool
	Group       *Group // as it has started

	Succeeded, Failed, Missing int // of its members
	// Bad are some of those that were not good, those that failed first.
	Bad   []BadMember
	Merge *Run // as it has ended; nil: none was made
}

// BadMember is a member that was not good.
type BadMember struct {
	Name   string
	Failed bool
	Why    string // a clause such as failed (http: HTTP 503)
}

// BadMemberOf says what became of a member; run nil: it is not kept, or was never made (made false).
// deadline is that of the group; zero: none.
func BadMemberOf(name string, run *Run, made bool, deadline Time) BadMember {
	b := BadMember{Name: name, Why: "was cancelled"}
	switch {
	case run == nil && made:
		b.Why = "was removed"
	case run == nil:
		b.Why = "could not be made: its job does not stand"
	case run.State == Failed:
		b.Failed, b.Why = true, "failed"
		if run.Error != nil {
			b.Why = fmt.Sprintf("failed (%s: %s)", run.Error.Kind, clipEnd(run.Error.Message, maxBadWhy))
		}
	case deadline != 0 && (!run.State.Terminal() || run.FinishedAt >= deadline):
		b.Why = "was not done by the deadline"
	case !run.State.Terminal():
		b.Why = "is being cancelled"
	}
	return b
}

// Bounds of what a group says of its members.
const (
	MaxBadNamed = 5
	maxBadWhy   = 120
)

// DecideGroup says how a group ends. It depends on nothing else: no rule is asked, and there is no other
// attempt. Its result is that of its merge.
func DecideGroup(e *GroupEnding) Transition {
	switch {
	case e.CancelAsked:
		return groupCancelled(e.Counts, "cancelled on request, its members and its merge with it")
	case e.Merge != nil:
		return groupMerged(e)
	}
	bad := e.Failed + e.Missing
	switch {
	case e.Succeeded < e.Group.Need.Of(e.Succeeded+bad), bad > 0 && e.Group.CancelsRest():
		return GroupFailed(e.Counts, &Failure{Kind: FailGroup, Message: e.notGood()})
	case e.Group.Merge != nil:
		return GroupFailed(e.Counts, &Failure{
			Kind: FailMerge, Message: "its merge, a run of " + e.Group.Merge.Job + ", could not be made",
		})
	}
	return groupSucceeded(e, "")
}

// groupMerged ends a group as its merge has ended.
func groupMerged(e *GroupEnding) Transition {
	m := e.Merge
	switch m.State {
	case Succeeded:
		return groupSucceeded(e, ", and they were merged")
	case Cancelled:
		return groupCancelled(e.Counts, "its merge, run "+m.ID.String()+", was cancelled")
	}
	message := "its merge, run " + m.ID.String() + " of " + m.Job + ", failed"
	if m.Error != nil {
		message += " (" + string(m.Error.Kind) + ": " + m.Error.Message + ")"
	}
	return GroupFailed(e.Counts, &Failure{Kind: FailMerge, Message: message})
}

func groupSucceeded(e *GroupEnding, more string) Transition {
	members := e.Succeeded + e.Failed + e.Missing
	return Transition{
		State: Succeeded, Outcome: OutcomeSucceeded, Counts: e.Counts,
		Decision: Decision{
			Action: ActionSucceed, By: BySuccess,
			Reason: fmt.Sprintf("%d of %s succeeded%s", e.Succeeded, plural(members, "member"), more),
		},
	}
}

func groupCancelled(counts Counts, why string) Transition {
	return Transition{
		State: Cancelled, Outcome: OutcomeCancelled, Counts: counts,
		Decision: Decision{Action: ActionCancel, By: ByCancel, Reason: why},
	}
}

// GroupFailed ends a group that fails: its members, or what it asks for, say why. It is not tried again.
func GroupFailed(counts Counts, f *Failure) Transition {
	counts.Charged++
	f.Bound()
	return ended(Transition{Outcome: OutcomeFailed, Counts: counts, Error: f}, ByGroup,
		because(nil, f.Message, "a group is not tried again: requeue it, and the members that succeeded are kept"))
}

// notGood says which members were not good, and what that means.
func (e *GroupEnding) notGood() string {
	bad := e.Failed + e.Missing
	members := e.Succeeded + bad
	verb := "were"
	if bad == 1 {
		verb = "was"
	}
	text := fmt.Sprintf("%d of %s %s not good, need %d", bad, plural(members, "member"), verb, e.Group.Need.Of(members))
	if e.Group.CancelsRest() {
		text = fmt.Sprintf("%d of %s %s not good, and the first such cancels the rest", bad, plural(members, "member"), verb)
	}
	named := e.Bad[:min(len(e.Bad), MaxBadNamed)]
	list := make([]string, 0, len(named)+1)
	for _, b := range named {
		list = append(list, b.Name+" "+b.Why)
	}
	if more := bad - len(named); more > 0 && len(named) > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	if len(list) > 0 {
		text += ": " + strings.Join(list, ", ")
	}
	return text
}
