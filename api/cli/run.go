package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// longWait is how long one call waits for a run; it is repeated.
const longWait = 50 * time.Second

type runCmd struct {
	Job         string            `arg:"" help:"The job's name."`
	Payload     string            `placeholder:"JSON" help:"The payload; @FILE reads a file, - the standard input."`
	Wait        bool              `help:"Print the run's log as it comes and wait for its end; exit 1 unless it succeeded."`
	Delay       *jobs.Duration    `placeholder:"DURATION" help:"Start it that much later."`
	RunAt       string            `placeholder:"TIME" help:"Start it then (RFC 3339)."`
	Priority    *int              `placeholder:"N" help:"-100 to 100, higher first."`
	MaxAttempts *int              `placeholder:"N" help:"At most that many attempts."`
	Timeout     *jobs.Duration    `placeholder:"DURATION" help:"Of one attempt."`
	Key         string            `placeholder:"KEY" help:"Idempotency key: the same again gives the same run."`
	Correlation string            `placeholder:"ID" help:"Correlation id."`
	Label       map[string]string `placeholder:"KEY=VALUE" help:"Labels of the run."`
}

// Run enqueues the run and, where asked, waits for it.
func (cmd runCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	req, err := cmd.request()
	if err != nil {
		return err
	}
	run, err := c.Enqueue(s.ctx, cmd.Job, req, 0)
	if err != nil {
		return err
	}
	if cmd.Wait {
		return s.await(c, run)
	}
	if s.out.json {
		s.out.value(&run)
		return nil
	}
	s.out.line("%s %s%s", run.ID, words.Clean(run.State), standing(&run))
	return nil
}

// standing says why an enqueue was answered with an earlier run; "": it was not.
func standing(r *wire.Run) string {
	switch {
	case r.Duplicate == nil || !*r.Duplicate:
		return ""
	case !r.UniqueUntil.Told():
		return " (it was made before, with the same key)"
	}
	until := "until it ends"
	switch {
	case r.UniqueUntil.At() != 0:
		until = "until " + clock(r.UniqueUntil.At())
	case r.Replaced:
		until = "until it starts; it has taken the payload"
	case r.StartedAt == 0:
		until = "until it starts or ends, as the job says"
	}
	return " (an earlier run, which stands " + until + ")"
}

func (cmd runCmd) request() (req client.Request, err error) {
	req = client.Request{
		Delay: cmd.Delay, Priority: cmd.Priority, MaxAttempts: cmd.MaxAttempts, Timeout: cmd.Timeout,
		IdempotencyKey: cmd.Key, CorrelationID: cmd.Correlation, Labels: cmd.Label,
	}
	if req.Payload, err = payloadOf(cmd.Payload); err != nil {
		return req, err
	}
	if cmd.RunAt != "" {
		if req.RunAt, err = jobs.ParseTime(cmd.RunAt); err != nil {
			return req, usage("--run-at: %w", err)
		}
	}
	return req, nil
}

// payloadOf reads --payload: JSON, @FILE or -.
func payloadOf(flag string) (jobs.Raw, error) { return jsonOf("payload", flag) }

// jsonOf reads the value of a flag: JSON, @FILE or -.
func jsonOf(name, flag string) (jobs.Raw, error) {
	var data []byte
	var err error
	switch {
	case flag == "":
		return nil, nil
	case flag == "-":
		data, err = io.ReadAll(os.Stdin)
	case strings.HasPrefix(flag, "@"):
		data, err = os.ReadFile(flag[1:])
	default:
		data = []byte(flag)
	}
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", name, err)
	}
	if err := jobs.ValidJSON(data); err != nil {
		return nil, usage("--%s: %w", name, err)
	}
	return data, nil
}

// await prints the log of a run as it comes, and at last what became of it.
func (s *session) await(c *client.Client, run wire.Run) error {
	if !s.out.json {
		fmt.Fprintf(s.stderr, "run %s of %s%s\n", run.ID, words.Clean(run.Job), standing(&run))
		log := &lastByte{w: s.out.w, b: '\n'}
		if err := s.follow(c, run.ID, log); err != nil {
			return err
		}
		if log.b != '\n' {
			fmt.Fprintln(s.stderr) // what is printed stays the log, byte for byte
		}
	}
	run, err := s.untilEnd(c, run.ID)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&run)
	} else {
		more := s.besides(c, &run)
		fmt.Fprintln(s.stderr, more.sentence(&run, time.Now()))
	}
	if run.State != jobs.Succeeded.String() {
		return failedError{}
	}
	return nil
}

// lastByte remembers how what it passes on ended.
type lastByte struct {
	w io.Writer
	b byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return l.w.Write(p)
}

// untilEnd waits for the end of a run, over a restart of the server too.
func (s *session) untilEnd(c *client.Client, id jobs.ID) (run wire.Run, err error) {
	for {
		err = s.persist(func() (came bool, err error) {
			run, err = c.Run(s.ctx, id, longWait)
			return false, err
		})
		if err != nil || words.Ended(&run) {
			return run, err
		}
	}
}

// Following outlives a restart of the server of about reconnects × reconnectAfter.
const (
	reconnects     = 30
	reconnectAfter = time.Second
)

// follow copies the log of a run to w until it has ended.
func (s *session) follow(c *client.Client, id jobs.ID, w io.Writer) error {
	at := int64(0)
	return s.persist(func() (came bool, err error) {
		before := at
		_, at, err = c.Follow(s.ctx, id, at, w)
		return at > before, err
	})
}

// persist calls once until it succeeds, and again where the server is not there for a while. came:
// something did, so that the while begins anew.
func (s *session) persist(once func() (came bool, err error)) error {
	for left := reconnects; ; left-- {
		came, err := once()
		if err == nil || s.ctx.Err() != nil {
			return err
		}
		if came {
			left = reconnects
		}
		var problem *client.Problem
		if left == 0 || (errors.As(err, &problem) && problem.Status < 500) {
			return err
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(reconnectAfter):
		}
	}
}
