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

type alertsCmd struct {
	List   alertsListCmd   `cmd:"" default:"withargs" help:"List alerts, and whether failures are told at all."`
	Show   alertsShowCmd   `cmd:"" help:"Show an alert's document."`
	Setup  alertsSetupCmd  `cmd:"" help:"Have failures told by Slack, mail or a webhook, and try it."`
	Test   alertsTestCmd   `cmd:"" help:"Have a failure told that is made up, and see who was told."`
	Set    alertsSetCmd    `cmd:"" help:"Make or replace the alerts of a file."`
	Delete alertsDeleteCmd `cmd:"" help:"Delete an alert."`
}

type alertsListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists alerts.
func (cmd alertsListCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	list, err := c.Alerts(s.ctx, cmd.page())
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&list)
		return nil
	}
	rows := make([][]string, len(list.Items))
	for i, a := range list.Items {
		after := ""
		if a.After > 1 {
			after = fmt.Sprint(a.After)
		}
		rows[i] = []string{
			a.Name, words.Short(strings.Join(a.On, ", "), 60), words.Short(a.If, 40), a.Run,
			jobs.Duration(a.ThrottleOf()).String(), after, words.Short(a.Key, 30), a.Set,
		}
	}
	s.out.table([]string{"ALERT", "ON", "IF", "RUNS", "THROTTLE", "AFTER", "KEY", "SET"}, rows)
	s.more(list.Next)
	s.saySilence(c)
	return nil
}

// saySilence says where failures are told to nobody, or where alerts could not be delivered. That it cannot
// be found out is nothing to stop for.
func (s *session) saySilence(c *client.Client) {
	if s.out.json {
		return
	}
	server, err := c.Server(s.ctx)
	if err != nil {
		return
	}
	if text := silence(&server.Alerts); text != "" {
		fmt.Fprintln(s.stderr, text)
	}
}

// silence says what is amiss with those who are to be told; "": nothing.
func silence(a *wire.AlertState) string {
	var lines []string
	if !a.FailuresTold {
		lines = append(lines, failuresSilent+": "+calledAs()+" alerts setup slack, email or webhook changes that in a minute.")
	}
	switch n := a.Undelivered; {
	case n == 1:
		lines = append(lines, "1 alert could not be delivered: "+undeliveredHow())
	case n > 1:
		lines = append(lines, fmt.Sprintf("%d alerts could not be delivered: %s", n, undeliveredHow()))
	}
	return strings.Join(lines, "\n")
}

const failuresSilent = "Failures are silent, since no alert tells of failed runs"

func undeliveredHow() string {
	return calledAs() + " runs --trigger alert --state failed shows which and why."
}

type alertsShowCmd struct {
	Alert string `arg:"" help:"The alert's name."`
}

// Run prints an alert's document.
func (cmd alertsShowCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (jobs.Alert, error) {
		a, _, err := c.Alert(s.ctx, cmd.Alert)
		return a, err
	}, func(a *jobs.Alert) { s.out.document(a) })
}

type alertsSetCmd struct {
	File string `short:"f" required:"" placeholder:"FILE" help:"A file with alerts, YAML or JSON; - is the standard input."`
}

// Help says what the file holds.
func (alertsSetCmd) Help() string {
	return `The file is a job file whose key "alerts" holds a list, or a map by name:

  alerts:
    data-failures:
      on: [run.failed, run.recovered]
      if: labels.team == "data"
      run: alert-slack
      after: 2

Unlike with apply, what is made belongs to no set.`
}

// Run makes alerts, one by one.
func (cmd alertsSetCmd) Run(s *session) error {
	return setEach(s, cmd.File, jobs.RefAlert, func(docs *jobs.Documents) []*jobs.Alert { return docs.Alerts },
		func(c *client.Client, a *jobs.Alert) (saved jobs.Alert, created bool, err error) {
			return c.PutAlert(s.ctx, a, "")
		}, func(a *jobs.Alert, how string) { s.out.line("alert %s %s", words.Clean(a.Name), how) })
}

type alertsDeleteCmd struct {
	Alert string `arg:"" help:"The alert's name."`
}

// Run deletes an alert.
func (cmd alertsDeleteCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := c.DeleteAlert(s.ctx, cmd.Alert, ""); err != nil {
		return err
	}
	s.gone("deleted", words.Clean(cmd.Alert))
	s.saySilence(c)
	return nil
}

type alertsTestCmd struct {
	Job  string        `arg:"" optional:"" help:"As if a run of this job had failed; left out: of no job."`
	Wait time.Duration `default:"90s" placeholder:"DURATION" help:"For how long it waits for those who tell (${default})."`
}

// Help says what a test is.
func (alertsTestCmd) Help() string {
	return `A failure is made up and told the whole way: the event, the alerts it fits, the runs that tell. It is marked as a
test wherever it is read, and counted nowhere. Exit 1 unless each alert was delivered.`
}

// Run has a made failure told.
func (cmd alertsTestCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	done, err := s.testAlerts(c, cmd.Job, cmd.Wait)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&done)
	} else {
		s.printTest(c, &done)
	}
	if len(done.Told) == 0 || done.undelivered() {
		return failedError{}
	}
	return nil
}
