package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type runsShowCmd struct {
	ID string `arg:"" name:"run" help:"The run's id."`
}

// Run shows one run.
func (cmd runsShowCmd) Run(s *session) error {
	id, err := runID(cmd.ID)
	if err != nil {
		return err
	}
	var more besides
	return ask(s, func(c *client.Client) (wire.Run, error) {
		run, err := c.Run(s.ctx, id, 0)
		if err == nil && !s.out.json {
			more = s.besides(c, &run)
		}
		return run, err
	}, func(r *wire.Run) { s.showRun(r, more) })
}

// heartbeatOf is the longest silence of a run that waits for its callback; nil: any will do, or it is
// not known.
func (s *session) heartbeatOf(c *client.Client, r *wire.Run) *jobs.Duration {
	job, _, err := c.Job(s.ctx, r.Job)
	if err != nil || job.Version != r.Version || job.Webhook == nil {
		return nil // it is said of what nobody asked for
	}
	return job.Webhook.HeartbeatTimeout
}

func (s *session) showRun(r *wire.Run, more besides) {
	s.out.line("%s", more.sentence(r, time.Now()))
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
		"schedule", text(r.Schedule),
		"tick", clock(r.ScheduledFor),
		"created", clock(r.CreatedAt)+by(r.CreatedBy),
		"due", clock(r.RunAt),
		"started", clock(r.StartedAt),
		"finished", clock(r.FinishedAt),
		"progress", words.Clean(words.Progress(r.Progress)),
		"queue", r.Queue,
		"priority", fmt.Sprint(r.Priority),
		"labels", strings.Join(labels, " "),
		"operation", r.OperationID.String(),
		"correlation", text(r.CorrelationID),
		"key", text(r.IdempotencyKey),
		"requeued from", idText(r.RequeuedFrom),
		"requeued to", idText(r.RequeuedTo),
		"folded", words.At{Now: time.Now()}.Folded(r.Folded),
		"group", words.InGroup(r),
		"members", more.members(),
		"payload", words.Short(string(r.Payload), 200),
		"result", words.Short(string(r.Result), 200),
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
	if a.Slices > 1 {
		outcome += fmt.Sprintf(", %d slices", a.Slices)
	}
	if a.Error != nil {
		failure = words.Short(words.Error(a.Error), 80)
	}
	if a.Decision != nil {
		decision = words.Decision(a.Decision)
	}
	return []string{
		fmt.Sprint(a.Number), clock(a.StartedAt), words.Took(a.StartedAt, a.FinishedAt), outcome, failure,
		decision,
	}
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
