package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
)

// setupRetry is how a job that tells is tried again: soon at first, then every few minutes. It goes on for
// a day, whatever the number of attempts.
func setupRetry() jobs.Retry {
	return jobs.Retry{Backoff: &jobs.Backoff{
		Base: new(jobs.Duration(5 * time.Second)), Max: new(jobs.Duration(5 * time.Minute)),
	}}
}

// setupQueue is a queue of its own: those who are told do not wait behind what fails.
const setupQueue = "alerts"

// inOrder has messages come in their order, but for those that have to be tried again.
func inOrder() *jobs.Concurrency { return &jobs.Concurrency{Limit: 1} }

type setupSlackCmd struct {
	setupFlags `embed:"" set:"way=slack"`
}

// Help says where the URL comes from.
func (setupSlackCmd) Help() string {
	return `It asks for the URL of an incoming webhook, which Slack makes for a channel: https://api.slack.com/apps, Create New
App, Incoming Webhooks, Add New Webhook to Workspace. For scripts the URL is read from the standard input. It is kept
as a secret; the job holds its host alone. Mattermost and Rocket.Chat take the same messages.

  nightshift alerts setup slack
  nightshift alerts setup slack <slack-url.txt

Made are the job alert-slack, the secret ALERT_SLACK and the alert failures, then a test is sent. To run it again is
safe: it takes a new URL, and leaves alone what you have changed.`
}

// Run sets up Slack.
func (cmd setupSlackCmd) Run(s *session) error {
	u, err := newSetup(s, "slack", &cmd.setupFlags)
	if err != nil {
		return err
	}
	text, err := s.asked("URL of the incoming webhook (it is not shown): ", true)
	if err != nil {
		return fmt.Errorf("read the URL: %w", err)
	}
	target, err := u.target(text)
	if err != nil {
		return err
	}
	if len(target.secrets) == 0 {
		return usage("the URL: want the whole of it, such as https://hooks.slack.com/services/T.../B.../...")
	}
	if err := u.keep(target); err != nil {
		return err
	}
	fresh := &jobs.Job{
		Description: "Tells people in Slack. Made by nightshift alerts setup slack",
		Webhook: &jobs.Webhook{
			Body: jobs.AppendJSONString(nil, "{{ slack(payload) }}"), NightshiftHeaders: new(false),
		},
		Timeout: new(jobs.Duration(30 * time.Second)), Queue: setupQueue, Priority: jobs.MaxPriority, Retry: setupRetry(), Concurrency: inOrder(),
		Rate: &jobs.Rate{Limit: 1, Per: jobs.Duration(time.Second)},
	}
	if err := u.standing(fresh, func(j *jobs.Job) { j.Webhook.URL = target.url }); err != nil {
		return err
	}
	return u.finish()
}

type setupWebhookCmd struct {
	setupFlags `embed:"" set:"way=webhook"`
}

// Help says what is sent.
func (setupWebhookCmd) Help() string {
	return `It asks for the URL that is told: by POST, with a CloudEvent (1.0) in JSON as body. For scripts the URL is read from
the standard input. Its path and the values of its query are kept as secrets; the job holds its host alone.

  nightshift alerts setup webhook
  nightshift alerts setup webhook <url.txt

Made are the job alert-webhook, its secrets and the alert failures, then a test is sent. To run it again is safe: it
takes a new URL, and leaves alone what you have changed, such as headers that you have added to the job.`
}

// Run sets up a webhook.
func (cmd setupWebhookCmd) Run(s *session) error {
	u, err := newSetup(s, "webhook", &cmd.setupFlags)
	if err != nil {
		return err
	}
	text, err := s.asked("URL that is told (it is not shown): ", true)
	if err != nil {
		return fmt.Errorf("read the URL: %w", err)
	}
	target, err := u.target(text)
	if err != nil {
		return err
	}
	if err := u.keep(target); err != nil {
		return err
	}
	fresh := &jobs.Job{
		Description: "Tells a webhook what has happened. Made by nightshift alerts setup webhook",
		Webhook:     &jobs.Webhook{NightshiftHeaders: new(false)},
		Timeout:     new(jobs.Duration(30 * time.Second)), Queue: setupQueue, Priority: jobs.MaxPriority, Retry: setupRetry(), Concurrency: inOrder(),
	}
	if err := u.standing(fresh, func(j *jobs.Job) { j.Webhook.URL = target.url }); err != nil {
		return err
	}
	return u.finish()
}

// setupTarget is a URL of which what is secret stands elsewhere.
type setupTarget struct {
	url     string            // a template
	secrets map[string]string // by name
}

// target takes a URL apart.
func (u *setup) target(text string) (*setupTarget, error) {
	if text == "" {
		return nil, usage("the URL: want one, typed in or on the standard input")
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || strings.ContainsAny(text, " \t\r\n") {
		return nil, usage("the URL: want one line that begins with https:// or http://") // it is not quoted: it is a secret
	}
	switch {
	case at.User != nil:
		return nil, usage("the URL: want none with a user and a password: give the job a header instead")
	case at.RawPath != "" && at.RawPath != at.Path || strings.Contains(text, "{{") || strings.Contains(text, "}}"):
		return nil, usage("the URL: has a character that this cannot carry over: write the job by hand")
	}
	t := &setupTarget{url: at.Scheme + "://" + at.Host + "/", secrets: map[string]string{}}
	path := strings.TrimPrefix(at.Path, "/")
	if jobs.CheckSecret(path) != nil { // so short that it is none
		t.url += (&url.URL{Path: path}).EscapedPath()
	} else {
		name := u.secretName("")
		t.secrets[name] = path
		t.url += "{{ secrets." + name + " }}"
	}
	return t, u.query(t, at.RawQuery)
}

// query adds the query of a URL, whose values may be secrets too.
func (u *setup) query(t *setupTarget, query string) error {
	if query == "" {
		return nil
	}
	for i, pair := range strings.Split(query, "&") {
		name, value, hasValue := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			return usage("the URL: its query cannot be read")
		}
		between := "&"
		if i == 0 {
			between = "?"
		}
		switch {
		case !hasValue:
			t.url += between + name
		case jobs.CheckSecret(plain) != nil:
			t.url += between + pair
		default:
			key := u.secretName("_" + fmt.Sprint(i+1))
			t.secrets[key] = plain
			t.url += between + name + "={{ secrets." + key + " }}"
		}
	}
	return nil
}

// keep keeps the secrets of a URL.
func (u *setup) keep(t *setupTarget) error {
	for _, name := range sortedKeys(t.secrets) {
		if err := u.secret(name, t.secrets[name]); err != nil {
			return err
		}
	}
	return nil
}

type setupEmailCmd struct {
	To         []string `placeholder:"ADDRESS" help:"Who is told; asked for where left out."`
	From       string   `placeholder:"ADDRESS" help:"Who it is from; left out: the server's --mail-from."`
	setupFlags `embed:"" set:"way=email"`
}

// Help says what a server needs to send mail.
func (setupEmailCmd) Help() string {
	return `It asks who is told. The server sends by its --smtp (with the password in NIGHTSHIFT_SMTP_PASSWORD), else by the
sendmail of its machine.

  nightshift alerts setup email
  nightshift alerts setup email --to ops@example.com,boss@example.com

Made are the job alert-email and the alert failures, then a test is sent. To run it again is safe: it takes new
addresses, and leaves alone what you have changed.`
}

// Run sets up mail.
func (cmd setupEmailCmd) Run(s *session) error {
	u, err := newSetup(s, "email", &cmd.setupFlags)
	if err != nil {
		return err
	}
	to := cmd.To
	if len(to) == 0 {
		text, err := s.asked("Who is told (addresses, with commas between): ", false)
		if err != nil {
			return fmt.Errorf("read the addresses: %w", err)
		}
		to = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' })
	}
	for i := range to {
		to[i] = strings.TrimSpace(to[i])
	}
	to = slices.DeleteFunc(to, func(text string) bool { return text == "" })
	if len(to) == 0 {
		return usage("want at least one address, typed in or with --to")
	}
	fresh := &jobs.Job{
		Description: "Tells people by mail. Made by nightshift alerts setup email",
		Mail:        &jobs.Mail{Subject: "[nightshift] {{ text(payload, 1) }}", Body: "{{ text(payload) }}"},
		Queue:       setupQueue, Priority: jobs.MaxPriority, Retry: setupRetry(), Concurrency: inOrder(),
	}
	err = u.standing(fresh, func(j *jobs.Job) {
		if j.Mail.To = to; cmd.From != "" {
			j.Mail.From = cmd.From
		}
	})
	if err != nil {
		return err
	}
	return u.finish()
}
