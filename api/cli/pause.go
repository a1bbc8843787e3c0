package cli

import (
	"errors"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// pauseHelp says what may be named behind pause and resume.
const pauseHelp = `A plain name is that of a job. Others are named with their kind:

  job/NAME                the same as NAME
  schedule/NAME           its ticks are skipped; schedule/JOB:NAME in a job
  queue/NAME              nothing of it starts, retries included
  dependency/NAME         no attempt that uses it starts
  dependency/HOST:PORT    no webhook calls that host

Attempts under way go on. A pause lasts until it is resumed, over restarts too.`

type pauseCmd struct {
	What string `arg:"" help:"A job, or KIND/NAME: job/, schedule/, queue/, dependency/."`
	Note string `placeholder:"TEXT" help:"Why."`
}

// Help says what may be named.
func (pauseCmd) Help() string { return pauseHelp }

// Run pauses a job, schedule, queue or dependency.
func (cmd pauseCmd) Run(s *session) error {
	kind, name, err := kindAndName(cmd.What)
	if err != nil {
		return err
	}
	switch kind {
	case "schedule":
		return schedulesPauseCmd{name, cmd.Note}.Run(s)
	case "queue":
		return queuesPauseCmd{name, cmd.Note}.Run(s)
	case "dependency":
		return dependenciesPauseCmd{name, cmd.Note}.Run(s)
	}
	return jobsPauseCmd{name, cmd.Note}.Run(s)
}

type resumeCmd struct {
	What string `arg:"" optional:"" help:"A job, or KIND/NAME: job/, schedule/, queue/, dependency/; left out: the server."`
	Note string `placeholder:"TEXT" help:"Why (not for the server)."`

	CancelWaiting bool `help:"Of the server: before it goes on, cancel what is scheduled, queued, retrying or waiting."`
}

// Help says what may be named.
func (resumeCmd) Help() string {
	return "Without a name it ends a drain, and lets a database go that was restored or that its path did not serve last: " +
		"the server starts attempts again.\n\n" + pauseHelp
}

// Run resumes a job, schedule, queue or dependency, or the server.
func (cmd resumeCmd) Run(s *session) error {
	if cmd.What == "" {
		return s.resumeServer(wire.Resume{CancelWaiting: cmd.CancelWaiting})
	}
	if cmd.CancelWaiting {
		return usage("--cancel-waiting: of the server alone, not of %q", cmd.What)
	}
	kind, name, err := kindAndName(cmd.What)
	if err != nil {
		return err
	}
	switch kind {
	case "schedule":
		return schedulesResumeCmd{name, cmd.Note}.Run(s)
	case "queue":
		return queuesResumeCmd{name, cmd.Note}.Run(s)
	case "dependency":
		return dependenciesResumeCmd{name, cmd.Note}.Run(s)
	}
	return jobsResumeCmd{name, cmd.Note}.Run(s)
}

// kindAndName reads what is to be paused or resumed.
func kindAndName(what string) (kind, name string, err error) {
	kind, name, found := strings.Cut(what, "/")
	if !found {
		kind, name = "job", what
	}
	bad := error(nil)
	switch kind {
	case "job", "queue":
		bad = jobs.CheckName(name)
	case "schedule":
		bad = checkSchedule(name)
	case "dependency":
		bad = jobs.CheckDependencyName(name)
	default:
		return "", "", usage("%q: want a job's name, or job/NAME, schedule/NAME, queue/NAME, dependency/NAME", what)
	}
	switch {
	case bad != nil && !found && jobs.CheckDependencyName(name) == nil:
		return "", "", usage("%q is no job's name: for the host of webhooks say dependency/%s", what, name)
	case bad != nil && !found && checkSchedule(name) == nil:
		return "", "", usage("%q is no job's name: for a schedule say schedule/%s", what, name)
	case bad != nil:
		return "", "", usage("%q is no %s's name: %w", name, kind, bad)
	}
	return kind, name, nil
}

// checkSchedule says what is wrong with the name of a schedule: NAME, or JOB:NAME.
func checkSchedule(name string) error {
	job, own, found := strings.Cut(name, ":")
	if !found {
		return jobs.CheckName(name)
	}
	return errors.Join(jobs.CheckName(job), jobs.CheckName(own))
}
