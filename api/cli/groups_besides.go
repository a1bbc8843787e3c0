package cli

import (
	"fmt"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// besides is what there is to say of a run that does not stand in it.
type besides struct {
	beat  *jobs.Duration // the longest silence of one that waits for its callback; nil: any will do
	group *words.Group   // nil: it is none
}

// besides asks for it. What cannot be learned is left out: it is said of what nobody asked for.
func (s *session) besides(c *client.Client, r *wire.Run) (b besides) {
	if r.WaitingUntil != 0 {
		b.beat = s.heartbeatOf(c, r)
		return b
	}
	if g, err := s.groupOf(c, r, client.Page{Limit: 1000}); err == nil {
		b.group = g
	}
	return b
}

// sentence says where a run stands, and in which group it does.
func (b *besides) sentence(r *wire.Run, now time.Time) string {
	said := words.At{Now: now}.Why(r)
	switch {
	case b.group != nil:
		said = words.Clean(words.At{Now: now}.WhyGroup(b.group))
	case b.beat != nil:
		said += fmt.Sprintf(" A heartbeat is due every %s.", b.beat)
	}
	if in := words.InGroup(r); in != "" {
		said += " It is " + words.Clean(in) + "."
	}
	return said
}

// members counts those of a group, and says how to see them; "": it is none.
func (b *besides) members() string {
	if b.group == nil {
		return ""
	}
	return words.Counts(b.group.Members.Counts) + "; " + calledAs() + " groups show " + b.group.Run.ID.String()
}

// runsAgain says what becomes of the members of a group that is requeued, or of the group whose member or
// merge is; "": it is neither.
func (s *session) runsAgain(c *client.Client, of jobs.ID, anew bool, run *wire.Run) string {
	if !run.Group.IsNil() {
		return s.takesPlace(c, run)
	}
	g, err := c.Members(s.ctx, of, client.Page{Limit: 1})
	if err != nil || g.Counts.Members == 0 {
		return ""
	}
	n := g.Counts
	kept := n.Succeeded
	if anew {
		kept = 0
	}
	if again := n.Members - kept; kept > 0 {
		return fmt.Sprintf("Of its %s %d succeeded: their results are kept, and %d run again.",
			words.CountOf(n.Members, "member"), kept, again)
	}
	return fmt.Sprintf("All of its %s run again.", words.CountOf(n.Members, "member"))
}

// takesPlace says in whose place in which group a new run stands, and what that is good for.
func (s *session) takesPlace(c *client.Client, run *wire.Run) string {
	id := run.Group
	if run.Member == nil {
		return "It is " + words.InGroup(run) + "."
	}
	said := "It takes the place of " + words.Clean(words.InGroup(run))
	g, err := c.Members(s.ctx, id, client.Page{Limit: 1})
	of, failed := c.Run(s.ctx, id, 0)
	switch {
	case err != nil || failed != nil:
		return said + "."
	case words.Ended(&of) || len(g.Merges) > 0:
		return said + ", which has been merged or has ended: when it has succeeded, " + calledAs() + " groups remerge " +
			id.String() + " merges it in."
	}
	return said + ", which waits for it."
}

// partialText is what the event of a group says of which not all members are good.
func partialText(d *jobs.GroupPartial) string {
	said := fmt.Sprintf("%s goes on with %d of %s", d.Job, d.Succeeded, words.CountOf(d.Members, "member"))
	if d.FailedMembers > 0 {
		said += "; failed: " + words.SomeOf(d.Failed, d.FailedMembers)
	}
	if d.MissingMembers > 0 {
		said += "; missing: " + words.SomeOf(d.Missing, d.MissingMembers)
	}
	return said
}
