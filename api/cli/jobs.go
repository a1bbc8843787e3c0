package cli

import (
	"fmt"

	"nightshift/api/client"
	"nightshift/jobs"
)

type jobsCmd struct {
	List     jobsListCmd     `cmd:"" default:"withargs" help:"List jobs."`
	Show     jobsShowCmd     `cmd:"" help:"Show a job's document, and what decides about its failures."`
	Retry    jobsRetryCmd    `cmd:"" help:"Show what decides about a job's failures, and where it comes from."`
	Delete   jobsDeleteCmd   `cmd:"" help:"Delete a job; its history stays."`
	Pause    pauseCmd        `cmd:"" help:"Pause a job: nothing of it starts."`
	Resume   jobsResumeCmd   `cmd:"" help:"Resume a job that is paused."`
	Versions jobsVersionsCmd `cmd:"" help:"List the versions of a job."`
	Upgrade  jobsUpgradeCmd  `cmd:"" help:"Move unfinished runs to the newest version."`
}

type jobsListCmd struct {
	Limit  int    `default:"1000" help:"How many."`
	Cursor string `placeholder:"NEXT" help:"Go on behind an earlier list."`
}

// Run lists jobs.
func (cmd jobsListCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	list, err := c.Jobs(s.ctx, client.Page{Limit: cmd.Limit, Cursor: cmd.Cursor})
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&list)
		return nil
	}
	rows := make([][]string, len(list.Items))
	for i, j := range list.Items {
		paused := ""
		if j.Paused {
			paused = "paused " + j.PauseNote
		}
		rows[i] = []string{
			j.Name, j.Kind(), fmt.Sprint(j.Version), j.QueueOf(), clock(j.UpdatedAt), paused,
			short(j.Description, 60),
		}
	}
	s.out.table([]string{"JOB", "KIND", "VERSION", "QUEUE", "UPDATED", "PAUSED", "DESCRIPTION"}, rows)
	s.more(list.Next)
	return nil
}

// more says how a list goes on.
func (s *session) more(next *string) {
	if next != nil {
		fmt.Fprintf(s.stderr, "More: --cursor %s\n", clean(*next))
	}
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
	s.printDocument(&j)
	if s.out.json {
		return nil
	}
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
	return s.counted("cancelled_runs", n, "%d unfinished runs cancelled", n)
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

type pauseCmd struct {
	Job  string `arg:"" help:"The job's name."`
	Note string `placeholder:"TEXT" help:"Why."`
}

// Run pauses a job.
func (cmd pauseCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	j, err := c.PauseJob(s.ctx, cmd.Job, cmd.Note)
	return s.state(&j, err)
}

type jobsResumeCmd struct {
	Job  string `arg:"" help:"The job's name."`
	Note string `placeholder:"TEXT" help:"Why."`
}

// Run resumes a job.
func (cmd jobsResumeCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	j, err := c.ResumeJob(s.ctx, cmd.Job, cmd.Note)
	return s.state(&j, err)
}

// state prints whether a job is paused.
func (s *session) state(j *jobs.Job, err error) error {
	switch {
	case err != nil:
		return err
	case s.out.json:
		s.out.value(j)
	case j.Paused:
		s.out.line("%s is paused", clean(j.Name))
	default:
		s.out.line("%s is not paused", clean(j.Name))
	}
	return nil
}

type jobsVersionsCmd struct {
	Job    string `arg:"" help:"The job's name."`
	Limit  int    `default:"50" help:"How many."`
	Cursor string `placeholder:"NEXT" help:"Go on behind an earlier list."`
}

// Run lists the versions of a job.
func (cmd jobsVersionsCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	list, err := c.Versions(s.ctx, cmd.Job, client.Page{Limit: cmd.Limit, Cursor: cmd.Cursor})
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&list)
		return nil
	}
	rows := make([][]string, len(list.Items))
	for i := range list.Items {
		v := &list.Items[i]
		rows[i] = []string{fmt.Sprint(v.Version), clock(v.CreatedAt), short(workOf(v.Spec), 80)}
	}
	s.out.table([]string{"VERSION", "CREATED", "EXECUTES"}, rows)
	s.more(list.Next)
	return nil
}

// workOf says in short what a version executes.
func workOf(spec jobs.Spec) string {
	switch {
	case spec.Webhook != nil:
		method := spec.Webhook.Method
		if method == "" {
			method = "POST"
		}
		return method + " " + spec.Webhook.URL
	case spec.Script != nil && spec.Script.Path != "":
		return spec.Script.Path
	case spec.Script != nil:
		return spec.Script.Source
	}
	return ""
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
