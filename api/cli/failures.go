package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type failuresCmd struct {
	List    failuresListCmd    `cmd:"" default:"withargs" help:"List runs that failed and that nobody has dealt with, newest first."`
	Show    failuresShowCmd    `cmd:"" help:"Show a failure: what failed, why, and what to do next."`
	Groups  failuresGroupsCmd  `cmd:"" help:"List failures that are alike as one."`
	Requeue failuresRequeueCmd `cmd:"" help:"Run failed runs again: some, those of a filter, or all."`
	Resolve failuresResolveCmd `cmd:"" help:"Say that failures have been dealt with."`
	Ignore  failuresIgnoreCmd  `cmd:"" help:"Say that nothing will be done about failures."`
	Order   failuresOrderCmd   `cmd:"" help:"Show or follow how an order to deal with many failures stands."`
	Stop    failuresStopCmd    `cmd:"" help:"Call off what an order has not begun."`
}

// failureFlags narrow failures.
type failureFlags struct {
	Job         string `placeholder:"NAME" help:"Of this job."`
	ErrorKind   string `placeholder:"KIND" help:"Whose error is of this kind."`
	ErrorType   string `placeholder:"TYPE" help:"Whose error is of this type."`
	Fingerprint string `placeholder:"PRINT" help:"Alike: of this fingerprint."`
	Status      string `placeholder:"STATUS" help:"${statuses}; open where left out."`
	Since       string `placeholder:"TIME" help:"Of runs made since: a time (RFC 3339), or a duration ago such as 2h."`
	Until       string `placeholder:"TIME" help:"Of runs made until then."`
	Query       string `short:"q" placeholder:"TEXT" help:"Start of an id or correlation id, or part of an error."`
}

// texts are what the flags say, but for times, by their names in calls.
func (f failureFlags) texts() map[string]string {
	return map[string]string{
		"job": f.Job, "error_kind": f.ErrorKind, "error_type": f.ErrorType, "fingerprint": f.Fingerprint,
		"status": f.Status, "q": f.Query,
	}
}

// made is when the runs were made.
func (f failureFlags) made(now time.Time) (since, until jobs.Time, err error) {
	for name, at := range map[string]*jobs.Time{"since": &since, "until": &until} {
		value := map[string]string{"since": f.Since, "until": f.Until}[name]
		if value == "" {
			continue
		}
		if *at, err = jobs.ParseSince(value, jobs.TimeOf(now)); err != nil {
			return 0, 0, usage("--%s: %w", name, err)
		}
	}
	return since, until, nil
}

func (f failureFlags) query(now time.Time) (url.Values, error) {
	q := url.Values{}
	for name, value := range f.texts() {
		if value != "" {
			q.Set(name, value)
		}
	}
	since, until, err := f.made(now)
	for name, at := range map[string]jobs.Time{"since": since, "until": until} {
		if at != 0 {
			q.Set(name, at.String())
		}
	}
	return q, err
}

type failuresListCmd struct {
	failureFlags `embed:"" set:"statuses=One of open, will_retry, requeued, resolved, ignored"`
	AllStatuses  bool `help:"Of any status, the newest of all."`
	pageFlags    `embed:"" set:"limit=50"`
}

// Run lists failures.
func (cmd failuresListCmd) Run(s *session) error {
	filter, err := cmd.query(time.Now())
	if err != nil {
		return err
	}
	if cmd.AllStatuses && (cmd.Status != "" || cmd.Cursor != "") {
		return usage("--all-statuses shows the newest of all: it goes with neither --status nor --cursor")
	}
	var open int
	var atLeast bool
	var caller *client.Client
	return ask(s, func(c *client.Client) (list wire.Failures, err error) {
		caller = c
		if cmd.AllStatuses {
			list, err = cmd.ofAll(s, c, filter)
		} else {
			list, err = c.Failures(s.ctx, filter, cmd.page())
		}
		if err == nil && !s.out.json {
			open, atLeast, err = s.countOpen(c, cmd.Job)
		}
		return list, err
	}, func(list *wire.Failures) {
		if len(list.Items) > 0 {
			s.tableOfFailures(list.Items, time.Now())
		}
		s.more(list.Next)
		s.sayOpen(open, atLeast, cmd.Job)
		s.saySilence(caller)
	})
}

// ofAll is the newest of each status, the newest of them first.
func (cmd failuresListCmd) ofAll(s *session, c *client.Client, filter url.Values) (all wire.Failures, err error) {
	all.Items = []wire.FailureRow{}
	for _, status := range []string{"open", "will_retry", "requeued", "resolved", "ignored"} {
		filter.Set("status", status)
		list, err := c.Failures(s.ctx, filter, cmd.page())
		if err != nil {
			return all, err
		}
		all.Items, all.Limit = append(all.Items, list.Items...), list.Limit
	}
	slices.SortFunc(all.Items, func(a, b wire.FailureRow) int { return cmp.Compare(b.ID.Seq(), a.ID.Seq()) })
	all.Items = all.Items[:min(len(all.Items), all.Limit)]
	return all, nil
}

func (s *session) tableOfFailures(items []wire.FailureRow, now time.Time) {
	rows := make([][]string, len(items))
	for i := range items {
		f := &items[i]
		rows[i] = []string{
			f.ID.String(), f.JobType, f.Status, fmt.Sprint(f.Retries), words.Age(words.FailedAt(f), now),
			words.Short(words.FailureText(f), 80),
		}
	}
	s.out.table([]string{"FAILURE", "JOB", "STATUS", "RETRIES", "AGE", "ERROR"}, rows)
}

// countOpen counts the open failures, or those of a job; atLeast: there may be more.
func (s *session) countOpen(c *client.Client, job string) (open int, atLeast bool, err error) {
	filter := url.Values{"status": {"open"}}
	if job != "" {
		filter.Set("job", job)
	}
	groups, err := c.FailureGroups(s.ctx, filter, client.Page{Limit: 1000})
	for i := range groups.Items {
		open += groups.Items[i].Open
		atLeast = atLeast || groups.Items[i].Open >= wire.MaxCounted
	}
	return open, atLeast || groups.Next != nil, err
}

// sayOpen says how many are open and how to act.
func (s *session) sayOpen(open int, atLeast bool, job string) {
	of, which := "", "--all"
	if job != "" {
		of, which = " of "+words.Clean(job), "--job "+quoted(words.Clean(job))
	}
	switch {
	case open == 0:
		fmt.Fprintf(s.stderr, "No failure%s is open.\n", of)
		return
	case open == 1 && !atLeast:
		fmt.Fprintf(s.stderr, "1 failure%s is open.", of)
	case atLeast:
		fmt.Fprintf(s.stderr, "%d failures%s and more are open.", open, of)
	default:
		fmt.Fprintf(s.stderr, "%d failures%s are open.", open, of)
	}
	me := calledAs()
	fmt.Fprintf(s.stderr, " Look: %s failures show ID. Run again: %s failures requeue ID, or %s (--dry-run tries it).\n",
		me, me, which)
}

type failuresGroupsCmd struct {
	Job         string   `placeholder:"NAME" help:"Of this job."`
	Fingerprint string   `placeholder:"PRINT" help:"Of this fingerprint."`
	Status      []string `placeholder:"STATUS" help:"One of open, resolved, ignored; may be repeated."`
	pageFlags   `embed:"" set:"limit=50"`
}

// Run lists groups of failures.
func (cmd failuresGroupsCmd) Run(s *session) error {
	filter := url.Values{}
	for name, values := range map[string][]string{
		"job": {cmd.Job}, "fingerprint": {cmd.Fingerprint}, "status": cmd.Status,
	} {
		if len(values) > 0 && values[0] != "" {
			filter[name] = values
		}
	}
	return ask(s, func(c *client.Client) (wire.FailureGroups, error) {
		return c.FailureGroups(s.ctx, filter, cmd.page())
	}, func(list *wire.FailureGroups) {
		now := time.Now()
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			g := &list.Items[i]
			status := g.Status
			if g.Until != 0 {
				status += " until " + clock(g.Until)
			}
			failure := &jobs.Failure{Kind: jobs.FailureKind(g.ErrorKind), Type: g.ErrorType, Message: g.ErrorMessage}
			rows[i] = []string{
				g.Fingerprint, g.JobType, status, fmt.Sprint(g.Count), counted(g.Open), words.Age(g.FirstAt, now),
				words.Age(g.LastAt, now), words.Short(words.Error(failure), 80),
			}
		}
		s.out.table([]string{"FINGERPRINT", "JOB", "STATUS", "COUNT", "OPEN", "FIRST", "LAST", "ERROR"}, rows)
		s.more(list.Next)
	})
}
