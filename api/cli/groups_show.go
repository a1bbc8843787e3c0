package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

type groupsShowCmd struct {
	Group     string `arg:"" help:"The id of the group's run."`
	pageFlags `embed:"" set:"limit=100"`
}

// groupRows is how many members are shown where nobody says.
const groupRows = 100

// shownGroup is a group as --json shows it.
type shownGroup struct {
	Run     wire.Run          `json:"run"`
	Members wire.GroupMembers `json:"members"`
	Merges  []wire.Run        `json:"merges"`
}

// Run shows a group.
func (cmd groupsShowCmd) Run(s *session) error {
	id, err := runID(cmd.Group)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	run, err := c.Run(s.ctx, id, 0)
	if err != nil {
		return err
	}
	if s.out.json {
		g, err := s.groupOf(c, &run, cmd.page())
		if err == nil {
			s.out.value(g)
		}
		return err
	}
	return s.showGroup(c, &run, cmd.page())
}

// groupOf reads how the group of a run stands.
func (s *session) groupOf(c *client.Client, run *wire.Run, p client.Page) (*shownGroup, error) {
	g := &shownGroup{Run: *run, Merges: []wire.Run{}}
	var err error
	if g.Members, err = c.Members(s.ctx, run.ID, p); err != nil {
		return nil, err
	}
	for _, id := range g.Members.Merges {
		merge, err := c.Run(s.ctx, id, 0)
		if client.StatusOf(err) == 404 {
			continue // it has been deleted
		}
		if err != nil {
			return nil, err
		}
		g.Merges = append(g.Merges, merge)
	}
	return g, nil
}

// showGroup prints how a group stands.
func (s *session) showGroup(c *client.Client, run *wire.Run, p client.Page) error {
	g, err := s.groupOf(c, run, p)
	if err != nil {
		return err
	}
	s.out.line("%s", clean(whyGroup(g, time.Now())))
	s.out.line("")
	r, m := &g.Run, &g.Members
	s.out.fields(
		"group", r.ID.String(),
		"job", fmt.Sprintf("%s, version %d", r.Job, r.Version),
		"state", r.State,
		"members", countsText(m.Counts),
		"need", fmt.Sprintf("%d of %d", m.Need, m.Counts.Members),
		"merge", text(m.Merge),
		"deadline", clock(m.Deadline),
		"in", inGroup(r),
		"schedule", text(r.Schedule),
		"created", clock(r.CreatedAt)+by(r.CreatedBy),
		"started", clock(r.StartedAt),
		"finished", clock(r.FinishedAt),
		"correlation", text(r.CorrelationID),
		"requeued from", idText(r.RequeuedFrom),
		"requeued to", idText(r.RequeuedTo),
		"payload", short(string(r.Payload), 200),
		"result", short(string(r.Result), 200),
	)
	if len(m.Items) > 0 {
		s.out.line("")
		s.printMembers(m)
	}
	s.printMerges(g.Merges)
	return nil
}

func (s *session) printMerges(merges []wire.Run) {
	if len(merges) == 0 {
		return
	}
	rows := make([][]string, len(merges))
	for i := range merges {
		r := &merges[i]
		rows[i] = []string{
			r.ID.String(), r.Job, r.State, clock(r.CreatedAt), took(r.StartedAt, r.FinishedAt), short(noteOf(r), 80),
		}
	}
	s.out.line("")
	s.out.table([]string{"MERGE", "JOB", "STATE", "CREATED", "TOOK", "NOTE"}, rows)
}

// inGroup says which place a run has in which group; "": in none.
func inGroup(r *wire.Run) string {
	switch {
	case r.Group.IsNil():
		return ""
	case r.Member == nil:
		return "the merge of group " + r.Group.String()
	}
	return "member " + *r.Member + " of group " + r.Group.String()
}

// countsText says what has become of members: 3: 1 succeeded, 1 failed, 1 unfinished.
func countsText(n wire.GroupCounts) string {
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

// whyGroup says in sentences where a group stands: what it waits for, or how it ended.
func whyGroup(g *shownGroup, now time.Time) string {
	r, n := &g.Run, g.Members.Counts
	state, _ := jobs.StateOf(r.State)
	switch {
	case state.Terminal():
		return endedGroup(g)
	case state != jobs.Waiting:
		return why(r, now)
	case r.CancelRequestedAt != 0:
		return fmt.Sprintf("It is being cancelled since %s: it ends when %s.", clock(r.CancelRequestedAt), whatIsOpen(g))
	}
	if merge := unfinishedMerge(g.Merges); merge != nil {
		said := "Its members have ended"
		if n.Unfinished > 0 {
			said += ", and of them " + requeuedText(n.Unfinished) + " since: it does not wait for that"
		}
		return fmt.Sprintf("%s (%s). It waits for its merge, run %s. %s", said, countsText(n), merge.ID, why(merge, now))
	}
	if n.Unfinished > 0 {
		return openMembers(g, now)
	}
	return "Its members have ended (" + countsText(n) + "): it is about to end."
}

// endedGroup says how a group ended, and which members were not good.
func endedGroup(g *shownGroup) string {
	said := why(&g.Run, time.Time{})
	n := g.Members.Counts
	if n.Members == 0 {
		return said + " It has no members."
	}
	said += fmt.Sprintf(" Of its %s %d succeeded", countOf(n.Members, "member"), n.Succeeded)
	if bad := badMembers(g.Members.Items); bad != "" {
		said += "; not good: " + bad
	}
	said += "."
	if n.Unfinished > 0 {
		said += fmt.Sprintf(" %s since and not ended.", requeuedText(n.Unfinished))
	}
	if merge := unfinishedMerge(g.Merges); merge != nil {
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

// mostNamed is how many members a sentence names.
const mostNamed = 3

// badMembers names those that failed or are missing.
func badMembers(items []wire.GroupMember) string {
	var names []string
	for i := range items {
		m := &items[i]
		if m.Missing || m.State == nil || *m.State == jobs.Failed.String() {
			names = append(names, m.Name+" ("+memberState(m)+")")
		}
	}
	return someOf(names, len(names))
}

// someOf is the first few of a list of which there are n.
func someOf(names []string, n int) string {
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
func openMembers(g *shownGroup, now time.Time) string {
	n := g.Members.Counts
	var open []string
	for i := range g.Members.Items {
		m := &g.Members.Items[i]
		if state, _ := jobs.StateOf(text(m.State)); m.State != nil && !state.Terminal() {
			open = append(open, openMember(m, state))
		}
	}
	said := fmt.Sprintf("It waits: %d of its %s have not ended", n.Unfinished, countOf(n.Members, "member"))
	if n.Unfinished == 1 {
		said = fmt.Sprintf("It waits: 1 of its %s has not ended", countOf(n.Members, "member"))
	}
	if which := someOf(open, n.Unfinished); which != "" {
		said += ": " + which
	}
	said += fmt.Sprintf(". %d succeeded, it needs %d.", n.Succeeded, g.Members.Need)
	if g.Members.Deadline != 0 {
		said += " Those that have not ended by " + clock(g.Members.Deadline) + " (" + fromNow(g.Members.Deadline, now) +
			") are cancelled."
	}
	return said
}

// openMember says what a member does that has not ended.
func openMember(m *wire.GroupMember, state jobs.State) string {
	switch state {
	case jobs.Running:
		return m.Name + " runs since " + clock(m.StartedAt)
	case jobs.Waiting:
		return m.Name + " waits since " + clock(m.StartedAt)
	case jobs.Retrying:
		return m.Name + " is tried again (" + short(errorText(orUnknown(m.Error)), 60) + ")"
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
func whatIsOpen(g *shownGroup) string {
	n := g.Members.Counts
	merge := unfinishedMerge(g.Merges)
	switch {
	case n.Unfinished == 1:
		return fmt.Sprintf("1 of its %s has ended", countOf(n.Members, "member"))
	case n.Unfinished > 0:
		return fmt.Sprintf("%d of its %s have ended", n.Unfinished, countOf(n.Members, "member"))
	case merge != nil:
		return "its merge, run " + merge.ID.String() + ", has ended"
	}
	return "all is over"
}

func unfinishedMerge(merges []wire.Run) *wire.Run {
	for i := range merges {
		if !ended(&merges[i]) {
			return &merges[i]
		}
	}
	return nil
}
