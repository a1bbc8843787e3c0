package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
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
		"progress", clean(progressText(r.Progress)),
		"queue", r.Queue,
		"priority", fmt.Sprint(r.Priority),
		"labels", strings.Join(labels, " "),
		"operation", r.OperationID.String(),
		"correlation", text(r.CorrelationID),
		"key", text(r.IdempotencyKey),
		"requeued from", idText(r.RequeuedFrom),
		"requeued to", idText(r.RequeuedTo),
		"folded", foldedText(r.Folded),
		"group", inGroup(r),
		"members", more.members(),
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
	if a.Slices > 1 {
		outcome += fmt.Sprintf(", %d slices", a.Slices)
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
	case d.Action == "succeed" && d.Reason == "":
		return what
	case d.Reason == "":
		return what + ": " + d.By
	}
	return what + ": " + d.Reason // a sentence that names who decided
}

// foldedText tells of runs that were not made as this one stood.
func foldedText(f *jobs.Folded) string {
	if f == nil {
		return ""
	}
	from := ""
	if f.By != "" {
		from = " from " + f.By
	}
	return fmt.Sprintf("%d not made as it stood, the last by %s%s, %s", f.Count, f.Trigger, from, clock(f.At))
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
