package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type runsCmd struct {
	List   runsListCmd `cmd:"" default:"withargs" help:"List runs, newest first."`
	Show   runsShowCmd `cmd:"" help:"Show a run, and why it has not started."`
	RunNow runsNowCmd  `cmd:"" name:"run-now" help:"Drop what is left of a delay or backoff."`

	Checkpoint runsCheckpointCmd `cmd:"" help:"Print or delete what a run has saved for its next attempt."`

	Delete runsDeleteCmd `cmd:"" help:"Delete ended runs with all that belongs to them."`
}

type runsListCmd struct {
	runFilterFlags `embed:""`
	pageFlags      `embed:"" set:"limit=50"`
}

// runFilterFlags say which runs are listed.
type runFilterFlags struct {
	Job         string   `placeholder:"NAME" help:"Of this job."`
	Schedule    string   `placeholder:"NAME" help:"Made by ticks of this schedule: NAME, or JOB:NAME of one in a job."`
	State       []string `placeholder:"STATE" help:"In one of these states."`
	Queue       string   `placeholder:"NAME" help:"In this queue."`
	Label       string   `placeholder:"KEY:VALUE" help:"With this label."`
	Correlation string   `placeholder:"ID" help:"With this correlation id."`
	ErrorKind   string   `placeholder:"KIND" help:"Whose last error is of this kind."`
	ErrorType   string   `placeholder:"TYPE" help:"Whose last error is of this type."`
	Trigger     string   `placeholder:"TRIGGER" help:"Made by: api, cli, schedule, catch_up, inbound, chain, group, requeue, alert."`
	Since       string   `placeholder:"TIME" help:"Made since: a time (RFC 3339), or a duration ago such as 2h."`
	Until       string   `placeholder:"TIME" help:"Made until then."`
	Query       string   `short:"q" placeholder:"TEXT" help:"Start of an id or correlation id, or part of an error."`
}

// Run lists runs.
func (cmd runsListCmd) Run(s *session) error {
	filter, err := cmd.filter(time.Now())
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.Runs, error) {
		return c.Runs(s.ctx, filter, cmd.page())
	}, func(list *wire.Runs) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			r := &list.Items[i]
			rows[i] = []string{
				r.ID.String(), r.Job, r.State, attemptsOf(r), clock(r.CreatedAt),
				words.Took(r.StartedAt, r.FinishedAt), tickOf(r), words.Short(noteOf(r), 60),
			}
		}
		s.out.table([]string{"RUN", "JOB", "STATE", "ATTEMPT", "CREATED", "TOOK", "TICK", "NOTE"}, rows)
		s.more(list.Next)
	})
}

func (cmd runFilterFlags) filter(now time.Time) (url.Values, error) {
	q := url.Values{}
	for name, value := range map[string]string{
		"job": cmd.Job, "schedule": cmd.Schedule, "queue": cmd.Queue, "label": strings.Replace(cmd.Label, "=", ":", 1),
		"correlation_id": cmd.Correlation, "error_kind": cmd.ErrorKind, "error_type": cmd.ErrorType,
		"trigger": cmd.Trigger, "q": cmd.Query, "state": strings.Join(cmd.State, ","),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, value := range map[string]string{"since": cmd.Since, "until": cmd.Until} {
		if value == "" {
			continue
		}
		at, err := jobs.ParseSince(value, jobs.TimeOf(now))
		if err != nil {
			return nil, usage("--%s: %w", name, err)
		}
		q.Set(name, at.String())
	}
	return q, nil
}

func attemptsOf(r *wire.Run) string {
	if r.MaxAttempts == nil {
		return fmt.Sprint(r.Attempt)
	}
	return fmt.Sprintf("%d/%d", r.Attempt, *r.MaxAttempts)
}

// tickOf is the tick that made a run, and of which schedule: of one in the run's job its name there.
func tickOf(r *wire.Run) string {
	if r.Schedule == nil {
		return ""
	}
	return clock(r.ScheduledFor) + " " + strings.TrimPrefix(*r.Schedule, r.Job+":")
}

// noteOf is the most telling thing about a run in a list.
func noteOf(r *wire.Run) string {
	switch {
	case r.HeldBy != nil:
		return words.Held(r.HeldBy)
	case r.State == jobs.Retrying.String():
		return "next attempt " + clock(r.NextAttemptAt)
	case r.State == jobs.Failed.String() && r.Error != nil:
		return words.Error(r.Error)
	case r.Progress != nil && (r.State == jobs.Running.String() || r.State == jobs.Waiting.String()):
		return words.Progress(r.Progress)
	case r.WaitingUntil != 0:
		return "calls back by " + clock(r.WaitingUntil)
	}
	return ""
}

type runsNowCmd struct {
	ID string `arg:"" name:"run" help:"The run's id."`
}

// Run makes a run due now.
func (cmd runsNowCmd) Run(s *session) error {
	return s.withRun(cmd.ID, func(c *client.Client, id jobs.ID) (wire.Run, error) {
		return c.RunNow(s.ctx, id)
	})
}

type runsDeleteCmd struct {
	Runs []string `arg:"" name:"run" help:"Ids of ended runs."`
}

// Run deletes runs.
func (cmd runsDeleteCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	for _, arg := range cmd.Runs {
		id, err := runID(arg)
		if err != nil {
			return err
		}
		if err := c.DeleteRun(s.ctx, id); err != nil {
			return err
		}
		s.gone("deleted", id.String())
	}
	return nil
}

// gone says what was removed.
func (s *session) gone(how, what string) {
	if s.out.json {
		s.out.value(map[string]string{how: what})
		return
	}
	s.out.line("%s %s", what, how)
}

// withRun makes one call about a run and prints the run that it answers.
func (s *session) withRun(arg string, do func(*client.Client, jobs.ID) (wire.Run, error)) error {
	id, err := runID(arg)
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.Run, error) {
		return do(c, id)
	}, func(run *wire.Run) {
		s.out.line("%s %s", run.ID, words.Clean(words.At{Now: time.Now()}.Why(run)))
	})
}
