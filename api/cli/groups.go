package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type groupsCmd struct {
	List    groupsListCmd    `cmd:"" default:"withargs" help:"List runs of groups, newest first."`
	Show    groupsShowCmd    `cmd:"" help:"Show how a group stands, what it waits for, and its members."`
	Members groupsMembersCmd `cmd:"" help:"List the members of a group."`
	Run     groupsRunCmd     `cmd:"" help:"Run a group that no job describes."`
	Remerge groupsRemergeCmd `cmd:"" help:"Merge the members of a group that has ended once more."`
}

type groupsListCmd struct {
	runFilterFlags `embed:""`
	pageFlags      `embed:"" set:"limit=50"`
}

// Run lists runs of groups.
func (cmd groupsListCmd) Run(s *session) error {
	filter, err := cmd.filter(time.Now())
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.Runs, error) {
		return c.Groups(s.ctx, filter, cmd.page())
	}, func(list *wire.Runs) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			r := &list.Items[i]
			rows[i] = []string{
				r.ID.String(), r.Job, r.State, clock(r.CreatedAt), words.Took(r.StartedAt, r.FinishedAt), tickOf(r),
				words.Short(noteOf(r), 80),
			}
		}
		s.out.table([]string{"GROUP", "JOB", "STATE", "CREATED", "TOOK", "TICK", "NOTE"}, rows)
		s.more(list.Next)
	})
}

type groupsMembersCmd struct {
	Group     string `arg:"" help:"The id of the group's run."`
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists the members of a group.
func (cmd groupsMembersCmd) Run(s *session) error {
	id, err := runID(cmd.Group)
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.GroupMembers, error) {
		return c.Members(s.ctx, id, cmd.page())
	}, s.printMembers)
}

// printMembers prints a table of members.
func (s *session) printMembers(g *wire.GroupMembers) {
	rows := make([][]string, len(g.Items))
	for i := range g.Items {
		m := &g.Items[i]
		rows[i] = []string{
			m.Name, m.Job, words.MemberState(m), clock(m.StartedAt), words.Took(m.StartedAt, m.FinishedAt), idText(m.Run),
			words.Short(whyBad(m), 80),
		}
	}
	s.out.table([]string{"MEMBER", "JOB", "STATE", "STARTED", "TOOK", "RUN", "NOTE"}, rows)
	s.more(g.Next)
}

// whyBad says why a member is not good, or what went wrong so far.
func whyBad(m *wire.GroupMember) string {
	switch {
	case m.State == nil && m.Run.IsNil():
		return "no run of it could be made"
	case m.State == nil:
		return "its run is not kept any more"
	case m.Error != nil && *m.State != jobs.Succeeded.String():
		return words.Error(m.Error)
	case m.Missing && *m.State == jobs.Cancelled.String():
		return "cancelled"
	case m.Missing:
		return "it had not ended by the deadline"
	}
	return ""
}

type groupsRunCmd struct {
	File        string `short:"f" required:"" placeholder:"FILE" help:"A file with the group, YAML or JSON; - is the standard input."`
	Payload     string `placeholder:"JSON" help:"The payload, in place of the file's; @FILE reads a file."`
	Key         string `placeholder:"KEY" help:"Idempotency key: the same again gives the same run."`
	Correlation string `placeholder:"ID" help:"Correlation id of the group, its members and its merge."`
	Wait        bool   `help:"Wait for the end of the group and show it; exit 1 unless it succeeded."`
}

// Help says what the file holds.
func (groupsRunCmd) Help() string {
	return `The file holds what POST /v1/groups takes:

  members:
    - {name: orders, job: fetch, payload: {source: orders, day: "{{ payload.day }}"}}
    - {name: stock, job: fetch, payload: {source: stock, day: "{{ payload.day }}"}}
  merge: {job: merge-sources}
  need: 1
  deadline: 2h
  payload: {day: 2026-11-30}

A group that is run again and again is a job: nightshift apply.`
}

// Run runs a group.
func (cmd groupsRunCmd) Run(s *session) error {
	if cmd.File == "-" && cmd.Payload == "-" {
		return usage("the standard input cannot be both the group and its payload")
	}
	var body wire.RunGroup
	file, err := readBody(cmd.File, &body)
	if err != nil {
		return err
	}
	payload, err := payloadOf(cmd.Payload)
	if err != nil {
		return err
	}
	if payload != nil {
		body.Payload = payload
	}
	if cmd.Key != "" {
		body.IdempotencyKey = cmd.Key
	}
	if cmd.Correlation != "" {
		body.CorrelationID = cmd.Correlation
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	run, err := c.RunGroup(s.ctx, &body, 0)
	switch {
	case err != nil:
		return placedIn(file, err)
	case cmd.Wait:
		return s.awaitGroup(c, run)
	case s.out.json:
		s.out.value(&run)
	default:
		s.out.line("%s %s%s", run.ID, words.Clean(run.State), standing(&run))
	}
	return nil
}

// readBody reads a file that holds the body of a call.
func readBody(path string, into any) (*jobs.BodyFile, error) {
	name, in := stdinName, io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read the group: %w", err)
		}
		defer f.Close()
		name, in = path, f
	}
	data, err := io.ReadAll(io.LimitReader(in, jobs.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the group: %w", err)
	}
	return jobs.ParseBody(name, data, into)
}

// placedIn says in which line and column of the file faults are that a server found.
func placedIn(file *jobs.BodyFile, err error) error {
	var problem *client.Problem
	if !errors.As(err, &problem) || len(problem.Errors) == 0 {
		return err
	}
	var all []error
	for _, f := range problem.Errors {
		location, inBody := strings.CutPrefix(f.Location, "body.")
		if !inBody {
			return err
		}
		f.Location, f.Message = location, words.Clean(f.Message)
		all = append(all, errors.New(file.PlaceFaults([]jobs.Fault{f})[0].String()))
	}
	return errors.Join(all...)
}

// awaitGroup waits for the end of a group and shows it.
func (s *session) awaitGroup(c *client.Client, run wire.Run) error {
	if !s.out.json {
		fmt.Fprintf(s.stderr, "group %s%s\n", run.ID, standing(&run))
	}
	run, err := s.untilEnd(c, run.ID)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&run)
	} else if err := s.showGroup(c, &run, client.Page{Limit: groupRows}); err != nil {
		return err
	}
	if run.State != jobs.Succeeded.String() {
		return failedError{}
	}
	return nil
}

type groupsRemergeCmd struct {
	Group string `arg:"" help:"The id of the group's run."`
	Note  string `placeholder:"TEXT" help:"Why."`
	Wait  bool   `help:"Print the log of the merge and wait for its end; exit 1 unless it succeeded."`
}

// Run merges a group once more.
func (cmd groupsRemergeCmd) Run(s *session) error {
	id, err := runID(cmd.Group)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	run, err := c.Remerge(s.ctx, id, cmd.Note)
	switch {
	case err != nil:
		return err
	case cmd.Wait:
		return s.await(c, run)
	case s.out.json:
		s.out.value(&run)
	default:
		s.out.line("%s %s", run.ID, words.Clean(run.State))
	}
	return nil
}
