package cli

import (
	"fmt"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
)

type groupsShowCmd struct {
	Group     string `arg:"" help:"The id of the group's run."`
	pageFlags `embed:"" set:"limit=100"`
}

// groupRows is how many members are shown where nobody says.
const groupRows = 100

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
func (s *session) groupOf(c *client.Client, run *wire.Run, p client.Page) (*words.Group, error) {
	g := &words.Group{Run: *run, Merges: []wire.Run{}}
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
	s.out.line("%s", words.Clean(words.At{Now: time.Now()}.WhyGroup(g)))
	s.out.line("")
	r, m := &g.Run, &g.Members
	s.out.fields(
		"group", r.ID.String(),
		"job", fmt.Sprintf("%s, version %d", r.Job, r.Version),
		"state", r.State,
		"members", words.Counts(m.Counts),
		"need", fmt.Sprintf("%d of %d", m.Need, m.Counts.Members),
		"merge", text(m.Merge),
		"deadline", clock(m.Deadline),
		"in", words.InGroup(r),
		"schedule", text(r.Schedule),
		"created", clock(r.CreatedAt)+by(r.CreatedBy),
		"started", clock(r.StartedAt),
		"finished", clock(r.FinishedAt),
		"correlation", text(r.CorrelationID),
		"requeued from", idText(r.RequeuedFrom),
		"requeued to", idText(r.RequeuedTo),
		"payload", words.Short(string(r.Payload), 200),
		"result", words.Short(string(r.Result), 200),
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
			r.ID.String(), r.Job, r.State, clock(r.CreatedAt), words.Took(r.StartedAt, r.FinishedAt), words.Short(noteOf(r), 80),
		}
	}
	s.out.line("")
	s.out.table([]string{"MERGE", "JOB", "STATE", "CREATED", "TOOK", "NOTE"}, rows)
}
