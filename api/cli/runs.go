package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

type runsCmd struct {
	List   runsListCmd   `cmd:"" default:"withargs" help:"List runs, newest first."`
	Show   runsShowCmd   `cmd:"" help:"Show a run, and why it has not started."`
	RunNow runsNowCmd    `cmd:"" name:"run-now" help:"Drop what is left of a delay or backoff."`
	Delete runsDeleteCmd `cmd:"" help:"Delete ended runs with all that belongs to them."`
}

type runsListCmd struct {
	Job         string   `placeholder:"NAME" help:"Of this job."`
	State       []string `placeholder:"STATE" help:"In one of these states."`
	Queue       string   `placeholder:"NAME" help:"In this queue."`
	Label       string   `placeholder:"KEY:VALUE" help:"With this label."`
	Correlation string   `placeholder:"ID" help:"With this correlation id."`
	ErrorKind   string   `placeholder:"KIND" help:"Whose last error is of this kind."`
	ErrorType   string   `placeholder:"TYPE" help:"Whose last error is of this type."`
	Trigger     string   `placeholder:"TRIGGER" help:"Made by: api, cli, inbound, chain, requeue."`
	Since       string   `placeholder:"TIME" help:"Made since: a time (RFC 3339), or a duration ago such as 2h."`
	Until       string   `placeholder:"TIME" help:"Made until then."`
	Query       string   `short:"q" placeholder:"TEXT" help:"Start of an id or correlation id, or part of an error."`
	pageFlags   `embed:"" set:"limit=50"`
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
				took(r.StartedAt, r.FinishedAt), short(noteOf(r), 60),
			}
		}
		s.out.table([]string{"RUN", "JOB", "STATE", "ATTEMPT", "CREATED", "TOOK", "NOTE"}, rows)
		s.more(list.Next)
	})
}

func (cmd runsListCmd) filter(now time.Time) (url.Values, error) {
	q := url.Values{}
	for name, value := range map[string]string{
		"job": cmd.Job, "queue": cmd.Queue, "label": strings.Replace(cmd.Label, "=", ":", 1),
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

// noteOf is the most telling thing about a run in a list.
func noteOf(r *wire.Run) string {
	switch {
	case r.HeldBy != nil:
		return heldText(r.HeldBy)
	case r.State == jobs.Retrying.String():
		return "next attempt " + clock(r.NextAttemptAt)
	case r.State == jobs.Failed.String() && r.Error != nil:
		return errorText(r.Error)
	}
	return ""
}

func errorText(e *jobs.Failure) string {
	if e.Type != "" && e.Type != string(e.Kind) {
		return fmt.Sprintf("%s %s: %s", e.Kind, e.Type, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func heldText(h *jobs.HeldBy) string {
	if h.Kind == jobs.HeldPaused {
		return "paused: " + h.Reason
	}
	if h.Reason != "" {
		return h.Reason
	}
	return strings.TrimSpace("held by " + h.Kind + " " + h.Name)
}

type runsShowCmd struct {
	ID string `arg:"" name:"run" help:"The run's id."`
}

// Run shows one run.
func (cmd runsShowCmd) Run(s *session) error {
	id, err := runID(cmd.ID)
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.Run, error) {
		return c.Run(s.ctx, id, 0)
	}, s.showRun)
}

func (s *session) showRun(r *wire.Run) {
	s.out.line("%s", why(r, time.Now()))
	s.out.line("")
	labels := make([]string, 0, len(r.Labels))
	for _, key := range sortedKeys(r.Labels) {
		labels = append(labels, key+"="+r.Labels[key])
	}
	s.out.fields(
		"run", r.ID.String(),
		"job", fmt.Sprintf("%s, version %d", r.Job, r.Version),
		"state", r.State,
		"trigger", r.Trigger,
		"created", clock(r.CreatedAt)+by(r.CreatedBy),
		"due", clock(r.RunAt),
		"started", clock(r.StartedAt),
		"finished", clock(r.FinishedAt),
		"queue", r.Queue,
		"priority", fmt.Sprint(r.Priority),
		"labels", strings.Join(labels, " "),
		"operation", r.OperationID.String(),
		"correlation", text(r.CorrelationID),
		"key", text(r.IdempotencyKey),
		"requeued from", idText(r.RequeuedFrom),
		"requeued to", idText(r.RequeuedTo),
		"payload", short(string(r.Payload), 200),
		"result", short(string(r.Result), 200),
	)
	if r.Attempts == nil || len(*r.Attempts) == 0 {
		return
	}
	rows := make([][]string, len(*r.Attempts))
	for i := range *r.Attempts {
		rows[i] = attemptRow(&(*r.Attempts)[i])
	}
	s.out.line("")
	s.out.table([]string{"#", "STARTED", "TOOK", "OUTCOME", "ERROR", "DECISION"}, rows)
}

func attemptRow(a *wire.Attempt) []string {
	outcome, failure, decision := "running", "", ""
	if a.Outcome != nil {
		outcome = *a.Outcome
	}
	if a.Error != nil {
		failure = short(errorText(a.Error), 80)
	}
	if a.Decision != nil {
		decision = decisionText(a.Decision)
	}
	return []string{
		fmt.Sprint(a.Number), clock(a.StartedAt), took(a.StartedAt, a.FinishedAt), outcome, failure,
		decision,
	}
}

// decisionText says in words what came of an attempt and why.
func decisionText(d *jobs.Decision) string {
	what := map[string]string{
		"succeed": "done", "retry": "tried again", "rerun": "run again", "fail": "not tried again",
		"cancel": "cancelled",
	}[d.Action]
	if what == "" {
		what = d.Action
	}
	switch {
	case d.Action == "succeed":
		return what
	case d.Reason == "":
		return what + ": " + d.By
	}
	return what + ": " + d.Reason // a sentence that names who decided
}

func by(token *string) string {
	if token == nil {
		return ""
	}
	return " by token " + *token
}

func idText(id jobs.ID) string {
	if id.IsNil() {
		return ""
	}
	return id.String()
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
		s.out.line("%s %s", run.ID, clean(why(run, time.Now())))
	})
}
