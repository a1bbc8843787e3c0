package cli

import (
	"fmt"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type jobsCmd struct {
	List     jobsListCmd     `cmd:"" default:"withargs" help:"List jobs."`
	Show     jobsShowCmd     `cmd:"" help:"Show a job's document, and what decides about its failures."`
	Retry    jobsRetryCmd    `cmd:"" help:"Show what decides about a job's failures, and where it comes from."`
	Delete   jobsDeleteCmd   `cmd:"" help:"Delete a job; its history stays."`
	Pause    jobsPauseCmd    `cmd:"" help:"Pause a job: nothing of it starts."`
	Resume   jobsResumeCmd   `cmd:"" help:"Resume a job that is paused."`
	Versions jobsVersionsCmd `cmd:"" help:"List the versions of a job."`
	Upgrade  jobsUpgradeCmd  `cmd:"" help:"Move unfinished runs to the newest version."`
}

type jobsListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists jobs.
func (cmd jobsListCmd) Run(s *session) error {
	var caller *client.Client
	return ask(s, func(c *client.Client) (wire.Jobs, error) {
		caller = c
		return c.Jobs(s.ctx, cmd.page())
	}, func(list *wire.Jobs) {
		rows := make([][]string, len(list.Items))
		for i, j := range list.Items {
			paused := ""
			if j.Paused {
				paused = "paused " + j.PauseNote
			}
			rows[i] = []string{
				j.Name, j.Kind(), fmt.Sprint(j.Version), j.QueueOf(), clock(j.UpdatedAt), paused,
				words.Short(j.Description, 60),
			}
		}
		s.out.table([]string{"JOB", "KIND", "VERSION", "QUEUE", "UPDATED", "PAUSED", "DESCRIPTION"}, rows)
		s.more(list.Next)
		s.saySilence(caller)
	})
}

type jobsShowCmd struct {
	Job string `arg:"" help:"The job's name."`
}

// Run prints a job's document; for people also what decides about its failed attempts.
func (cmd jobsShowCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	j, _, err := c.Job(s.ctx, cmd.Job)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&j)
		return nil
	}
	s.out.document(&j)
	all, err := c.Retry(s.ctx, cmd.Job)
	if err != nil {
		return err
	}
	s.out.line("")
	s.printRetry(&all)
	return nil
}

type jobsDeleteCmd struct {
	Job string `arg:"" help:"The job's name."`
}

// Run deletes a job.
func (cmd jobsDeleteCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	n, err := c.DeleteJob(s.ctx, cmd.Job)
	if err != nil {
		return err
	}
	return s.counted("cancelled_runs", n, "%s", cancelledRuns(n))
}

// counted prints what a call has counted.
func (s *session) counted(name string, n int, format string, args ...any) error {
	if s.out.json {
		s.out.value(map[string]int{name: n})
		return nil
	}
	s.out.line(format, args...)
	return nil
}

type jobsPauseCmd struct {
	Job  string `arg:"" help:"The job's name."`
	Note string `placeholder:"TEXT" help:"Why."`
}

// Run pauses a job.
func (cmd jobsPauseCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (jobs.Job, error) {
		return c.PauseJob(s.ctx, cmd.Job, cmd.Note)
	}, s.printState)
}

type jobsResumeCmd struct {
	Job  string `arg:"" help:"The job's name."`
	Note string `placeholder:"TEXT" help:"Why."`
}

// Run resumes a job.
func (cmd jobsResumeCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (jobs.Job, error) {
		return c.ResumeJob(s.ctx, cmd.Job, cmd.Note)
	}, s.printState)
}

// printState prints whether a job is paused.
func (s *session) printState(j *jobs.Job) {
	state := "is not paused"
	if j.Paused {
		state = "is paused"
	}
	s.out.line("%s %s", words.Clean(j.Name), state)
}

type jobsVersionsCmd struct {
	Job       string `arg:"" help:"The job's name."`
	pageFlags `embed:"" set:"limit=50"`
}

// Run lists the versions of a job.
func (cmd jobsVersionsCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Versions, error) {
		return c.Versions(s.ctx, cmd.Job, cmd.page())
	}, func(list *wire.Versions) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			v := &list.Items[i]
			rows[i] = []string{fmt.Sprint(v.Version), clock(v.CreatedAt), words.Short(words.Work(v.Spec), 80)}
		}
		s.out.table([]string{"VERSION", "CREATED", "EXECUTES"}, rows)
		s.more(list.Next)
	})
}

type jobsUpgradeCmd struct {
	Job string `arg:"" help:"The job's name."`
}

// Run moves runs to the newest version.
func (cmd jobsUpgradeCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	n, err := c.UpgradeRuns(s.ctx, cmd.Job)
	if err != nil {
		return err
	}
	return s.counted("upgraded_runs", n, "%d runs moved to the newest version", n)
}
