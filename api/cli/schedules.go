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

type schedulesCmd struct {
	List    schedulesListCmd    `cmd:"" default:"withargs" help:"List schedules, and when they tick next."`
	Show    schedulesShowCmd    `cmd:"" help:"Show a schedule."`
	Ticks   schedulesTicksCmd   `cmd:"" help:"List what became of the ticks of a schedule."`
	Preview schedulesPreviewCmd `cmd:"" help:"Say when a cron line or an interval would tick."`
	Set     schedulesSetCmd     `cmd:"" help:"Make or replace the schedules of a file, those that stand by themselves."`
	Delete  schedulesDeleteCmd  `cmd:"" help:"Delete a schedule that stands by itself; its runs and its ledger stay."`
	Pause   schedulesPauseCmd   `cmd:"" help:"Pause a schedule: its ticks are skipped."`
	Resume  schedulesResumeCmd  `cmd:"" help:"Resume a schedule that is paused."`
}

type schedulesListCmd struct {
	Job       string `placeholder:"NAME" help:"Of this job."`
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists schedules.
func (cmd schedulesListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Schedules, error) {
		return c.Schedules(s.ctx, cmd.Job, cmd.page())
	}, func(list *wire.Schedules) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			v := &list.Items[i]
			next := clock(v.Next)
			if v.Paused {
				next = words.Short(pausedText(true, v.PauseNote), 60)
			}
			rows[i] = []string{v.Name, v.Job, words.Short(v.Reads, 80), next, lastText(v.Last)}
		}
		s.out.table([]string{"SCHEDULE", "JOB", "WHEN", "NEXT", "LAST"}, rows)
		s.more(list.Next)
	})
}

// lastText says what became of the newest tick.
func lastText(t *wire.Tick) string {
	if t == nil {
		return ""
	}
	return lastAt(t) + " " + outcomeText(t)
}

// lastAt is a tick, or the last of neighbours.
func lastAt(t *wire.Tick) string {
	if t.Count > 0 {
		return clock(t.To)
	}
	return clock(t.At)
}

func outcomeText(t *wire.Tick) string {
	what := strings.ReplaceAll(t.Outcome, "_", " ")
	if t.Reason != nil {
		what += " (" + *t.Reason + ")"
	}
	return what
}

type schedulesShowCmd struct {
	Schedule string `arg:"" help:"The schedule's name: NAME, or JOB:NAME of one in a job."`
}

// Run shows a schedule.
func (cmd schedulesShowCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.StandingSchedule, error) {
		v, _, err := c.Schedule(s.ctx, cmd.Schedule)
		return v, err
	}, func(v *wire.StandingSchedule) {
		s.printSchedule(v)
		s.out.line("")
		stands := "by itself"
		if v.InJob {
			stands = "in its job"
		}
		s.out.fields(
			"schedule", v.Name,
			"job", v.Job+onlyIf(v.JobPaused, " (paused: runs wait)"),
			"stands", stands,
			"cron", v.Cron,
			"every", durationText(v.Every),
			"timezone", v.Timezone,
			"next", inZone(v.Next, v.Timezone),
			"last", lastText(v.Last),
			"last run", lastRun(v.Last),
			"to catch up", onlyIf(v.Backlog > 0, words.CountOf(v.Backlog, "missed tick")),
			"payload", words.Short(string(v.Payload), 200),
			"catch up", catchUpText(&v.CatchUp),
			"overlap", v.OverlapOf(),
			"spread", durationText(v.Spread),
			"start", inZone(v.Start, v.Timezone),
			"end", inZone(v.End, v.Timezone),
			"late after", durationText(v.LateAfter),
			"set", v.Set,
			"created", clock(v.CreatedAt),
			"updated", clock(v.UpdatedAt),
		)
	})
}

// printSchedule prints in a sentence when a schedule ticks.
func (s *session) printSchedule(v *wire.StandingSchedule) {
	line := "The schedule " + v.Name + " makes runs of " + v.Job + " " + v.Reads
	switch {
	case v.Paused && v.PauseNote == "":
		line += ". It is paused: its ticks are skipped"
	case v.Paused:
		line += ". It is paused, its ticks are skipped: " + v.PauseNote
	case v.Next != 0:
		line += ". It ticks next " + words.At{Now: time.Now()}.InWords(v.Next)
	case v.Cron == "@reboot":
	default:
		line += ". It does not tick any more"
	}
	s.out.line("%s", words.Clean(line+"."))
}

func onlyIf(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

func durationText(d *jobs.Duration) string {
	if d == nil {
		return ""
	}
	return d.String()
}

func lastRun(t *wire.Tick) string {
	if t == nil {
		return ""
	}
	return idText(t.Run)
}

// catchUpText says what becomes of missed ticks.
func catchUpText(c *jobs.CatchUp) string {
	what := c.ModeOf()
	if what == jobs.CatchUpNone {
		return what
	}
	if what == jobs.CatchUpAll {
		what += fmt.Sprintf(", %d at most", c.LimitOf())
	}
	if w := c.WindowOf(); w > 0 {
		what += ", of the last " + jobs.Duration(w).String()
	}
	return what
}

// inZone is an instant by the clocks of a zone, with their offset, and by UTC; "" for none.
func inZone(t jobs.Time, zone string) string {
	if t == 0 {
		return ""
	}
	utc := t.Std().UTC()
	loc, err := jobs.LoadZone(zone)
	if err != nil || loc == time.UTC { // a server of another version may know more zones
		return utc.Format("Mon 2006-01-02 15:04:05") + " UTC"
	}
	return utc.In(loc).Format("Mon 2006-01-02 15:04:05 -07:00") + "  " + utc.Format("2006-01-02 15:04:05") + " UTC"
}

type schedulesTicksCmd struct {
	Schedule  string `arg:"" help:"The schedule's name: NAME, or JOB:NAME of one in a job."`
	pageFlags `embed:"" set:"limit=50"`
}

// Run lists what became of ticks.
func (cmd schedulesTicksCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Ticks, error) {
		return c.Ticks(s.ctx, cmd.Schedule, cmd.page())
	}, func(list *wire.Ticks) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			t := &list.Items[i]
			at := clock(t.At)
			if t.Count > 0 {
				at = fmt.Sprintf("%s to %s (%d)", clock(t.From), clock(t.To), t.Count)
			}
			rows[i] = []string{at, outcomeText(t), idText(t.Run)}
		}
		s.out.table([]string{"TICK", "OUTCOME", "RUN"}, rows)
		s.more(list.Next)
	})
}

type schedulesPauseCmd struct {
	Schedule string `arg:"" help:"The schedule's name: NAME, or JOB:NAME of one in a job."`
	Note     string `placeholder:"TEXT" help:"Why."`
}

// Run pauses a schedule.
func (cmd schedulesPauseCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.StandingSchedule, error) {
		return c.PauseSchedule(s.ctx, cmd.Schedule, cmd.Note)
	}, s.printSchedule)
}

type schedulesResumeCmd struct {
	Schedule string `arg:"" help:"The schedule's name: NAME, or JOB:NAME of one in a job."`
	Note     string `placeholder:"TEXT" help:"Why."`
}

// Run resumes a schedule.
func (cmd schedulesResumeCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.StandingSchedule, error) {
		return c.ResumeSchedule(s.ctx, cmd.Schedule, cmd.Note)
	}, s.printSchedule)
}
