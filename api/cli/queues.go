package cli

import (
	"fmt"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
)

type queuesCmd struct {
	List   queuesListCmd   `cmd:"" default:"withargs" help:"List queues, those that are only named too."`
	Show   queuesShowCmd   `cmd:"" help:"Show a queue and what is in it."`
	Delete queuesDeleteCmd `cmd:"" help:"Drop the limits of a queue."`
	Pause  queuesPauseCmd  `cmd:"" help:"Pause a queue: nothing of it starts."`
	Resume queuesResumeCmd `cmd:"" help:"Resume a queue that is paused."`
}

type queuesListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists queues.
func (cmd queuesListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Queues, error) {
		return c.Queues(s.ctx, cmd.page())
	}, func(list *wire.Queues) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			q := &list.Items[i]
			paused := ""
			if q.Paused {
				paused = pausedText(true, q.PauseNote)
			}
			rows[i] = []string{
				q.Name, ofLimit(q.Running, q.Concurrency), counted(q.Queued), clock(q.OldestDueAt), q.Set, paused,
			}
		}
		s.out.table([]string{"QUEUE", "RUNNING", "QUEUED", "OLDEST DUE", "SET", "PAUSED"}, rows)
		s.more(list.Next)
	})
}

// ofLimit is how much of a limit is used.
func ofLimit(used int, limit *int) string {
	if limit == nil {
		return fmt.Sprint(used)
	}
	return fmt.Sprintf("%d of %d", used, *limit)
}

// counted is a count that ends at wire.MaxCounted.
func counted(n int) string {
	if n >= wire.MaxCounted {
		return fmt.Sprintf("%d or more", wire.MaxCounted)
	}
	return fmt.Sprint(n)
}

type queuesShowCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

// Run shows a queue.
func (cmd queuesShowCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Queue, error) {
		q, _, err := c.Queue(s.ctx, cmd.Queue)
		return q, err
	}, func(q *wire.Queue) {
		s.printQueue(q)
		s.out.line("")
		s.out.fields(
			"queue", q.Name,
			"running", ofLimit(q.Running, q.Concurrency),
			"queued", counted(q.Queued),
			"oldest due", clock(q.OldestDueAt),
			"jobs", strings.Join(q.Jobs, ", "),
			"set", q.Set,
			"created", clock(q.CreatedAt),
			"updated", clock(q.UpdatedAt),
		)
	})
}

// printQueue prints in a sentence where a queue stands.
func (s *session) printQueue(q *wire.Queue) {
	s.out.line("%s", words.Clean("The queue "+q.Name+" is "+pausedText(q.Paused, q.PauseNote)+"."))
}

func pausedText(paused bool, note string) string {
	switch {
	case !paused:
		return "not paused"
	case note == "":
		return "paused"
	}
	return "paused: " + note
}

type queuesDeleteCmd struct {
	Queue string `arg:"" help:"The queue's name."`
}

// Run drops the limits of a queue.
func (cmd queuesDeleteCmd) Run(s *session) error {
	return s.dropped("queue", cmd.Queue, func(c *client.Client) error {
		return c.DeleteQueue(s.ctx, cmd.Queue)
	})
}

// dropped deletes the document of what goes on without one.
func (s *session) dropped(what, name string, drop func(*client.Client) error) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := drop(c); err != nil {
		return err
	}
	if s.out.json {
		s.out.value(map[string]string{"deleted": name})
		return nil
	}
	s.out.line("The %s %s is as it is built in.", what, words.Clean(name))
	return nil
}

type queuesPauseCmd struct {
	Queue string `arg:"" help:"The queue's name."`
	Note  string `placeholder:"TEXT" help:"Why."`
}

// Run pauses a queue.
func (cmd queuesPauseCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Queue, error) {
		return c.PauseQueue(s.ctx, cmd.Queue, cmd.Note)
	}, s.printQueue)
}

type queuesResumeCmd struct {
	Queue string `arg:"" help:"The queue's name."`
	Note  string `placeholder:"TEXT" help:"Why."`
}

// Run resumes a queue.
func (cmd queuesResumeCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Queue, error) {
		return c.ResumeQueue(s.ctx, cmd.Queue, cmd.Note)
	}, s.printQueue)
}
