package mail

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"nightshift/jobs"
)

// Bounds on a delivery.
const (
	connectTimeout = 10 * time.Second // name and TCP
	quitTimeout    = time.Second      // for the answer to the last word
	maxReplies     = 1 << 20          // bytes of all that a mail server says
	maxReply       = 512              // bytes of one that are kept
)

// Config of the kind. With the zero value the machine's sendmail is used, and each job names its
// sender.
type Config struct {
	SMTP     string // the URL of --smtp; "": the machine's sendmail
	Password string // of the user in the URL
	From     string // sender where a job names none; "": it must

	RootCAs  *x509.CertPool // nil: those of the system
	Sendmail string         // path of the program; "": it is looked for
}

// Kind sends mail. It is safe for concurrent use and keeps nothing open between attempts.
type Kind struct {
	server   *server // nil: sendmail
	sendmail string  // "": there is none
	from     string
	hello    string // how it introduces itself
	now      func() time.Time
}

var (
	_ jobs.Kind    = (*Kind)(nil)
	_ jobs.Checker = (*Kind)(nil)
)

// New makes the kind; the error names the flag that is wrong, never its value. Nothing is opened
// before the first attempt.
func New(cfg Config) (*Kind, error) {
	k := &Kind{from: cfg.From, hello: ownName(), now: time.Now}
	if cfg.From != "" {
		if _, err := parseAddress(cfg.From); err != nil {
			return nil, fmt.Errorf("--mail-from: %w", err)
		}
	}
	if cfg.SMTP == "" {
		if cfg.Password != "" {
			return nil, errors.New("NIGHTSHIFT_SMTP_PASSWORD: needs --smtp with a user in it")
		}
		k.sendmail = cfg.Sendmail
		if k.sendmail == "" {
			k.sendmail = Sendmail()
		}
		return k, nil
	}
	s, err := parseServer(cfg.SMTP, cfg.Password)
	if err != nil {
		return nil, err
	}
	s.roots = cfg.RootCAs
	k.server = s
	return k, nil
}

// ownName is the machine's, where it is one that a mail server would read.
func ownName() string {
	name, err := os.Hostname()
	if err != nil || !validDomain(name) {
		return "localhost"
	}
	return name
}

// Sendmail is the machine's; "": it has none.
func Sendmail() string {
	for _, place := range []string{"/usr/sbin/sendmail", "/usr/lib/sendmail", "sendmail"} {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	return ""
}

const noWay = "this server sends no mail: it was started without --smtp and the machine has no " +
	"sendmail"

// Check gives what cannot be sent: by this server at all, and of the document what holds no
// template.
func (k *Kind) Check(spec jobs.Spec) []jobs.Fault {
	m := spec.Mail
	if m == nil {
		return nil
	}
	if k.server == nil && k.sendmail == "" {
		return []jobs.Fault{{Location: "mail", Message: noWay}}
	}
	var found []jobs.Fault
	check := func(at, text string, err error) {
		if err != nil && !strings.Contains(text, "{{") {
			found = append(found, jobs.Fault{Location: at, Message: err.Error()})
		}
	}
	if m.From == "" && k.from == "" {
		check("mail.from", "", errors.New("want an address: this server was started without "+
			"--mail-from"))
	} else if m.From != "" {
		check("mail.from", m.From, checkAddress(m.From))
	}
	for i, text := range m.To {
		check(fmt.Sprintf("mail.to[%d]", i), text, checkAddress(text))
	}
	for i, text := range m.CC {
		check(fmt.Sprintf("mail.cc[%d]", i), text, checkAddress(text))
	}
	if n := len(m.To) + len(m.CC); n > maxRecipients {
		check("mail.to", "", tooMany(n))
	}
	check("mail.subject", m.Subject, checkSubject(m.Subject))
	check("mail.body", m.Body, checkBody(m.Body))
	return found
}

// Run executes one attempt: the message goes to the recipients that have neither taken nor
// refused it yet. A report has ExitCode -1 unless sendmail gave one.
//
// When ctx ends or call.Kill is closed the connection is closed, or sendmail killed, at once and
// Stopped is set: to the cause of ctx, or to jobs.ErrShutdown where only Kill was closed.
func (k *Kind) Run(ctx context.Context, call *jobs.Call) jobs.Report {
	if call.Spec.Mail == nil {
		return failed(jobs.FailInvalid, "this is no mail job")
	}
	l, err := k.compose(call)
	if err != nil {
		return failed(jobs.FailInvalid, err.Error())
	}
	if k.server == nil && k.sendmail == "" {
		return failed(jobs.FailSpawn, noWay)
	}
	d := newDelivery(l, call)
	pending := d.pending()
	if len(pending) == 0 {
		return d.report()
	}
	ctx, cancel := call.Until(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return jobs.Report{ExitCode: -1, Stopped: jobs.StopCause(ctx)}
	}
	if k.server == nil {
		return k.bySendmail(ctx, d, pending)
	}
	return k.bySMTP(ctx, d, pending)
}

func (k *Kind) bySMTP(ctx context.Context, d *delivery, pending []string) jobs.Report {
	x := exchange{server: k.server, hello: k.hello, mask: d.mask}
	verdicts, err := x.do(ctx, d.letter.sender, pending, bytes.NewReader(d.letter.text))
	if err != nil {
		rep := d.broken(x.failure(err))
		if ctx.Err() != nil {
			rep.Stopped = jobs.StopCause(ctx)
			rep.Failure = x.stopped(rep.Stopped)
		}
		return rep
	}
	d.take(verdicts)
	return d.report()
}

func failed(kind jobs.FailureKind, message string) jobs.Report {
	f := &jobs.Failure{Kind: kind, Message: message}
	return jobs.Report{ExitCode: -1, Failure: f.Bound()}
}
