package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/words"
	"nightshift/jobs"
)

type alertsSetupCmd struct {
	Slack   setupSlackCmd   `cmd:"" help:"Have failures told in a Slack channel."`
	Email   setupEmailCmd   `cmd:"" help:"Have failures told by mail."`
	Webhook setupWebhookCmd `cmd:"" help:"Have failures told to a URL, as CloudEvents in JSON."`
}

// setupFlags are what all ways of telling have alike.
type setupFlags struct {
	Job    string        `placeholder:"NAME" help:"The job that tells; left out: alert-${way}."`
	Alert  string        `placeholder:"NAME" help:"The alert; left out: failures, or where another job tells of those failures-${way}."`
	NoTest bool          `help:"Send no test."`
	Wait   time.Duration `default:"90s" placeholder:"DURATION" help:"For how long it waits for the test (${default})."`
}

// setupEvents are what a small team wants to hear of: whatever needs a person, and that it is over. Left out
// are run.succeeded, which is no news, and dependency.closed, after which nothing is left to do.
var setupEvents = []string{
	jobs.EventRunFailed, jobs.EventRunRecovered, jobs.EventGroupPartial, jobs.EventRunLong, jobs.EventRunInterrupted,
	jobs.EventScheduleMissed, jobs.EventScheduleLate, jobs.EventQueueStuck, jobs.EventFailuresMany,
	jobs.EventDependencyOpened, jobs.EventAlertUndelivered, jobs.EventDiskLow, jobs.EventBackupFailed,
	jobs.EventBackupStale, jobs.EventKeepExceeded,
}

const setupAlert = "failures"

// setup is a way of telling that is being made.
type setup struct {
	s     *session
	c     *client.Client
	way   string // slack, email, webhook
	flags *setupFlags
	job   string
	done  setupDone
}

// setupDone says what was set up.
type setupDone struct {
	Job     string        `json:"job"`
	Alert   string        `json:"alert"`
	Secrets []string      `json:"secrets"`
	Test    *testedAlerts `json:"test"`
}

func newSetup(s *session, way string, flags *setupFlags) (*setup, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	u := &setup{s: s, c: c, way: way, flags: flags, job: flags.Job, done: setupDone{Secrets: []string{}}}
	if u.job == "" {
		u.job = "alert-" + way
	}
	if err := jobs.CheckName(u.job); err != nil {
		return nil, usage("--job: %w", err)
	}
	if err := jobs.CheckName(flags.Alert); flags.Alert != "" && err != nil {
		return nil, usage("--alert: %w", err)
	}
	return u, nil
}

// say tells what was done.
func (u *setup) say(format string, args ...any) {
	if !u.s.out.json {
		u.s.out.line(format, args...)
	}
}

// secret gives a secret its value.
func (u *setup) secret(name, value string) error {
	if err := jobs.CheckSecret(value); err != nil {
		return fmt.Errorf("the secret %s: %w", name, err)
	}
	_, made, err := u.c.PutSecret(u.s.ctx, name, value)
	if err != nil {
		return err
	}
	u.done.Secrets = append(u.done.Secrets, name)
	how := "has the new value"
	if made {
		how = "is made"
	}
	u.say("secret %s %s", words.Clean(name), how)
	return nil
}

// secretName is what a secret of the job is called.
func (u *setup) secretName(part string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, u.job+part)
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 100)]
}

// standing is the job that tells, as it stands: a copy of fresh where there is none. What somebody has
// changed of it is kept; change makes of it what was asked for now.
func (u *setup) standing(fresh *jobs.Job, change func(j *jobs.Job)) error {
	j, tag, err := u.c.Job(u.s.ctx, u.job)
	switch {
	case client.StatusOf(err) == 404:
		j, tag = *fresh, ""
		j.Name = u.job
	case err != nil:
		return err
	case j.Kind() != fresh.Kind():
		return fmt.Errorf("the job %s stands already and is a %s, not a %s: name another with --job", u.job, j.Kind(), fresh.Kind())
	}
	change(&j)
	saved, created, err := u.c.PutJob(u.s.ctx, &j, tag)
	if err != nil {
		return err
	}
	u.done.Job = saved.Name
	how := "stands"
	if created {
		how = "is made"
	}
	u.say("job %s %s", words.Clean(saved.Name), how)
	return nil
}

// alert makes the alert that runs the job, unless there is one: what somebody has changed of that is kept.
func (u *setup) alert() error {
	list, err := u.alerts()
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, a := range list {
		if a.Run == u.job && (u.flags.Alert == "" || u.flags.Alert == a.Name) {
			u.done.Alert = a.Name
			u.say("alert %s stands: it tells of %s", words.Clean(a.Name), words.Clean(strings.Join(a.On, ", ")))
			return nil
		}
		taken[a.Name] = true
	}
	name := u.flags.Alert
	switch {
	case name != "" && taken[name]:
		return fmt.Errorf("the alert %s stands already and runs another job: name another with --alert", name)
	case name != "":
	case !taken[setupAlert]:
		name = setupAlert
	default:
		name = setupAlert + "-" + u.way
	}
	a := &jobs.Alert{Name: name, On: setupEvents, Run: u.job}
	saved, _, err := u.c.PutAlert(u.s.ctx, a, "")
	if err != nil {
		return err
	}
	u.done.Alert = saved.Name
	u.say("alert %s is made: it tells of %s", words.Clean(saved.Name), strings.Join(saved.On, ", "))
	return nil
}

// alerts are all alerts.
func (u *setup) alerts() (all []*jobs.Alert, err error) {
	page := client.Page{Limit: 1000}
	for {
		list, err := u.c.Alerts(u.s.ctx, page)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if list.Next == nil {
			return all, nil
		}
		page.Cursor = *list.Next
	}
}

// finish makes the alert and sends a test.
func (u *setup) finish() error {
	if err := u.alert(); err != nil {
		return err
	}
	if u.flags.NoTest {
		if u.s.out.json {
			u.s.out.value(&u.done)
		}
		return nil
	}
	u.say("A failure is made up, to see that it is told...")
	tested, err := u.s.testAlerts(u.c, "", u.flags.Wait)
	if err != nil {
		return err
	}
	u.done.Test = &tested
	if u.s.out.json {
		u.s.out.value(&u.done)
	} else {
		u.s.printTest(u.c, &tested)
	}
	for i := range tested.Told {
		if t := &tested.Told[i]; t.Alert == u.done.Alert {
			if t.Delivered {
				u.say("Look there: a message that begins with TEST has come.")
				return nil
			}
			u.say("All has been made. Run the same again to change what it tells by, or %s alerts test to try again.", calledAs())
			return failedError{}
		}
	}
	u.say("The alert %s did not tell of it: its if does not hold for a failure of no job. Try %s alerts test JOB.",
		words.Clean(u.done.Alert), calledAs())
	return nil
}

// asked reads an answer: asked for on a terminal, else all of the standard input.
func (s *session) asked(question string, hidden bool) (string, error) {
	if !isTerminal(os.Stdin) {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, jobs.MaxSecret+3))
		return strings.TrimSpace(string(text)), err
	}
	if hidden {
		line, err := readHidden(os.Stdin, func() { fmt.Fprint(s.stderr, question) })
		fmt.Fprintln(s.stderr)
		return strings.TrimSpace(string(line)), err
	}
	fmt.Fprint(s.stderr, question)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}
