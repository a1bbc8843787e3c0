package cli

import (
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type schedulesSetCmd struct {
	File string `short:"f" required:"" placeholder:"FILE" help:"A file with schedules, YAML or JSON; - is the standard input."`
}

// Help says what the file holds.
func (schedulesSetCmd) Help() string {
	return `The file is a job file whose key "schedules" holds a list, or a map by name:

  schedules:
    sync-acme:
      job: nightly-sync
      cron: "0 3 * * mon-fri"
      timezone: Europe/Berlin
      payload: {customer: acme}

Unlike with apply, what is made belongs to no set. Schedules that stand in a job are
set with the job: nightshift apply -f FILE.`
}

// Run makes schedules, one by one.
func (cmd schedulesSetCmd) Run(s *session) error {
	return setEach(s, cmd.File, jobs.RefSchedule, func(docs *jobs.Documents) []*jobs.Schedule { return docs.Schedules },
		func(c *client.Client, v *jobs.Schedule) (saved wire.StandingSchedule, created bool, err error) {
			return c.PutSchedule(s.ctx, v, "")
		}, func(v *wire.StandingSchedule, how string) {
			s.out.line("schedule %s %s: %s", words.Clean(v.Name), how, words.Clean(v.Reads))
		})
}

type schedulesDeleteCmd struct {
	Schedule string `arg:"" help:"The schedule's name."`
}

// Run deletes a schedule.
func (cmd schedulesDeleteCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := c.DeleteSchedule(s.ctx, cmd.Schedule, ""); err != nil {
		return err
	}
	s.gone("deleted", cmd.Schedule)
	return nil
}

type schedulesPreviewCmd struct {
	Line     string         `arg:"" optional:"" help:"A cron line, in quotes; or --every."`
	Every    *jobs.Duration `placeholder:"DURATION" help:"An interval, such as 15m."`
	Timezone string         `placeholder:"ZONE" help:"Of the line, such as Europe/Berlin; UTC where left out."`
	From     string         `placeholder:"TIME" help:"Ticks after this time (RFC 3339); now where left out."`
	Start    string         `placeholder:"TIME" help:"No tick before; an interval counts from it."`
	End      string         `placeholder:"TIME" help:"No tick after."`
	Count    *int           `placeholder:"N" help:"How many, 1000 at most; 10 where left out."`
}

// Help shows what a line may look like.
func (schedulesPreviewCmd) Help() string {
	return `It prints the line in words, then when it ticks: by the clocks of its zone, and by UTC.

  nightshift schedules preview '0 2 * * mon-fri' --timezone Europe/Berlin
  nightshift schedules preview '0 9 L * *' --count 3
  nightshift schedules preview @hourly --from 2027-03-27T22:00:00Z
  nightshift schedules preview --every 90m`
}

// Run asks when a schedule would tick.
func (cmd schedulesPreviewCmd) Run(s *session) error {
	if (cmd.Line == "") == (cmd.Every == nil) {
		return usage(`want either a cron line in quotes, such as "0 2 * * *", or --every`)
	}
	in := wire.SchedulePreview{Cron: cmd.Line, Every: cmd.Every, Timezone: cmd.Timezone, Count: cmd.Count}
	for _, f := range []struct {
		name, text string
		to         *jobs.Time
	}{{"from", cmd.From, &in.From}, {"start", cmd.Start, &in.Start}, {"end", cmd.End, &in.End}} {
		if f.text == "" {
			continue
		}
		at, err := jobs.ParseTime(f.text)
		if err != nil {
			return usage("--%s: %w", f.name, err)
		}
		*f.to = at
	}
	return ask(s, func(c *client.Client) (wire.PreviewedSchedule, error) {
		return c.PreviewSchedule(s.ctx, in)
	}, func(out *wire.PreviewedSchedule) { s.printPreview(&in, out) })
}

func (s *session) printPreview(in *wire.SchedulePreview, out *wire.PreviewedSchedule) {
	s.out.line("%s", words.Clean(out.Reads))
	s.out.line("")
	now := time.Now()
	for i, at := range out.Items {
		line := inZone(at, in.Timezone)
		if i == 0 && in.From == 0 {
			line += "  (" + words.At{Now: now}.FromNow(at) + ")"
		}
		s.out.line("%s", line)
	}
	if len(out.Items) == 0 {
		s.out.line("It has no tick at a planned instant after that.")
	}
}
