package cli

import (
	"fmt"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// chosenFlags say which failures are dealt with.
type chosenFlags struct {
	Failures     []string `arg:"" optional:"" name:"failure" help:"Ids of failures; or say which by flags."`
	failureFlags `embed:"" set:"statuses=One of open, requeued, resolved, ignored"`
	All          bool   `help:"All that are open."`
	DryRun       bool   `help:"Say how many there are and show a few; change nothing."`
	Note         string `placeholder:"TEXT" help:"Why."`
	Wait         bool   `help:"Follow it to its end; exit 1 unless all went well."`
}

// chosen reads the flags. one is the failure where a single one is named.
func (f chosenFlags) chosen(now time.Time) (ch wire.Chosen, one jobs.ID, err error) {
	ch = wire.Chosen{All: f.All, DryRun: f.DryRun, Note: f.Note}
	for _, arg := range f.Failures {
		id, err := failureID(arg)
		if err != nil {
			return ch, one, err
		}
		ch.IDs = append(ch.IDs, id)
	}
	filter, given, err := f.filter(now)
	if err != nil {
		return ch, one, err
	}
	ways := 0
	for _, is := range []bool{len(ch.IDs) > 0, given, f.All} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		return ch, one, usage("say which failures: ids, flags such as --job NAME, or --all; one of these")
	}
	if given {
		ch.Filter = filter
	}
	if len(ch.IDs) == 1 && !f.DryRun {
		one = ch.IDs[0]
	}
	return ch, one, nil
}

func (f failureFlags) filter(now time.Time) (filter *wire.FailureFilter, given bool, err error) {
	filter = &wire.FailureFilter{}
	into := map[string]**string{
		"job": &filter.Job, "error_kind": &filter.ErrorKind, "error_type": &filter.ErrorType,
		"fingerprint": &filter.Fingerprint, "status": &filter.Status, "q": &filter.Q,
	}
	for name, value := range f.texts() {
		if value != "" {
			*into[name], given = &value, true
		}
	}
	filter.Since, filter.Until, err = f.made(now)
	return filter, given || filter.Since != 0 || filter.Until != 0, err
}

type failuresRequeueCmd struct {
	chosenFlags `embed:""`
	Payload     string  `placeholder:"JSON" help:"Of one failure: another payload; @FILE reads a file, - the standard input."`
	Patch       string  `placeholder:"JSON" help:"A merge patch of each payload (RFC 7396); @FILE reads a file, - the standard input."`
	Reset       bool    `help:"Of one failure: a new operation, no checkpoint, and receivers see a new Idempotency-Key."`
	Rate        *string `placeholder:"N/s" help:"So many a second, minute or hour, such as 10/s, 30/m, 100/h; left out: all at once."`
	StopAfter   *int    `placeholder:"N" help:"Call off the rest as soon as that many have failed again."`
}

// Run requeues failures.
func (cmd failuresRequeueCmd) Run(s *session) error {
	ch, one, err := cmd.chosen(time.Now())
	if err != nil {
		return err
	}
	payload, err := payloadOf(cmd.Payload)
	if err != nil {
		return err
	}
	patch, err := jsonOf("patch", cmd.Patch)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	alone := !one.IsNil() && cmd.Rate == nil && cmd.StopAfter == nil
	if alone {
		in := wire.RequeueFailure{Payload: payload, Patch: patch, Reset: cmd.Reset, Note: cmd.Note}
		run, err := c.RequeueFailure(s.ctx, one, in)
		if err != nil {
			return err
		}
		anew := cmd.Reset || payload != nil || patch != nil
		return s.requeued(c, one, anew, &run, cmd.Wait)
	}
	if payload != nil || cmd.Reset {
		return usage("--payload and --reset are for one failure, without --rate, --stop-after and --dry-run; see --patch")
	}
	in := wire.RequeueFailures{Chosen: ch, Patch: patch, Rate: cmd.Rate, StopAfter: cmd.StopAfter}
	if cmd.DryRun {
		tried, err := c.TryRequeue(s.ctx, in)
		return s.tried(&tried, "requeued", err)
	}
	o, err := c.RequeueFailures(s.ctx, in)
	if err != nil {
		return err
	}
	return s.ordered(c, o, cmd.Wait)
}

// requeued prints the new run, or waits for its end. of is the one that it was made from; anew: not as
// the same operation.
func (s *session) requeued(c *client.Client, of jobs.ID, anew bool, run *wire.Run, wait bool) error {
	switch {
	case wait:
		return s.await(c, *run)
	case s.out.json:
		s.out.value(run)
	default:
		s.out.line("%s %s", run.ID, words.Clean(run.State))
		if text := s.runsAgain(c, of, anew, run); text != "" {
			s.out.line("%s", text)
		}
	}
	return nil
}

// tried prints what an order would do.
func (s *session) tried(t *wire.OrderTried, how string, err error) error {
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(t)
		return nil
	}
	s.out.line("%s would be %s. Nothing was changed.", words.CountOf(t.Count, "failure"), how)
	for i := range t.Samples {
		sample := &t.Samples[i]
		s.out.line("\n%s of %s", sample.ID, words.Clean(sample.Job))
		switch before, after := string(sample.Before), string(sample.After); {
		case sample.Skip != nil:
			s.out.line("  left as it is: %s", words.Clean(*sample.Skip))
		case after == before || after == "null":
			s.out.line("  %s", words.Clean(words.Short(before, 200)))
		default:
			s.out.line("- %s", words.Clean(words.Short(before, 200)))
			s.out.line("+ %s", words.Clean(words.Short(after, 200)))
		}
	}
	if more := t.Count - len(t.Samples); more > 0 && len(t.Samples) > 0 {
		s.out.line("\nand %d more", more)
	}
	return nil
}

type failuresResolveCmd struct {
	chosenFlags `embed:""`
}

// Run resolves failures.
func (cmd failuresResolveCmd) Run(s *session) error {
	ch, one, err := cmd.chosen(time.Now())
	if err != nil {
		return err
	}
	if !one.IsNil() {
		return ask(s, func(c *client.Client) (wire.FailureDetail, error) {
			return c.ResolveFailure(s.ctx, one, cmd.Note)
		}, s.printDealt)
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	in := wire.ResolveFailures{Chosen: ch}
	if cmd.DryRun {
		tried, err := c.TryResolve(s.ctx, in)
		return s.tried(&tried, "resolved", err)
	}
	o, err := c.ResolveFailures(s.ctx, in)
	if err != nil {
		return err
	}
	return s.ordered(c, o, cmd.Wait)
}

func (s *session) printDealt(f *wire.FailureDetail) {
	s.out.line("%s", words.Clean(words.At{Now: time.Now()}.FailureStands(f)))
}

type failuresIgnoreCmd struct {
	chosenFlags `embed:""`
	For         string `placeholder:"DURATION" help:"Until then: a duration such as 7d, or a time (RFC 3339); left out: for good."`
}

// Run ignores failures.
func (cmd failuresIgnoreCmd) Run(s *session) error {
	now := time.Now()
	ch, one, err := cmd.chosen(now)
	if err != nil {
		return err
	}
	until, err := ahead(cmd.For, now)
	if err != nil {
		return err
	}
	if !one.IsNil() {
		return ask(s, func(c *client.Client) (wire.FailureDetail, error) {
			return c.IgnoreFailure(s.ctx, one, wire.Ignore{Note: cmd.Note, Until: until})
		}, s.printDealt)
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	in := wire.IgnoreFailures{Chosen: ch, Until: until}
	if cmd.DryRun {
		tried, err := c.TryIgnore(s.ctx, in)
		return s.tried(&tried, "ignored", err)
	}
	o, err := c.IgnoreFailures(s.ctx, in)
	if err != nil {
		return err
	}
	return s.ordered(c, o, cmd.Wait)
}

// ahead reads --for: a time, or a duration from now on; "": none.
func ahead(flag string, now time.Time) (jobs.Time, error) {
	if flag == "" {
		return 0, nil
	}
	if d, err := jobs.ParseDuration(flag); err == nil && d > 0 {
		return jobs.TimeOf(now).Add(d.Std()), nil
	}
	at, err := jobs.ParseTime(flag)
	if err != nil {
		return 0, usage("--for: %q is neither a duration such as 7d nor a time such as %s", flag,
			fmt.Sprint(jobs.TimeOf(now).Add(24*time.Hour)))
	}
	return at, nil
}
