package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"nightshift/api/client"
	"nightshift/jobs"
)

type checkpointCmd struct {
	Get checkpointGetCmd `cmd:"" help:"Print what the operation has saved; nothing where it has saved nothing."`
	Set checkpointSetCmd `cmd:"" help:"Save a value, on disk when the command is done."`
}

// Help says what a checkpoint is.
func (checkpointCmd) Help() string {
	return `A checkpoint is what an operation has saved of its progress: all attempts of a run, and runs made by requeueing
it, start from the last one. It is dropped when the run succeeds. With checkpoint.key in the job it belongs to
all runs of a key.

  from=$(nightshift checkpoint get)
  nightshift checkpoint set "{\"id\": $id}"
  nightshift checkpoint set - <state.json

From outside: nightshift runs checkpoint RUN.

` + attemptHelp
}

type checkpointGetCmd struct{}

// Help says how nothing is told.
func (checkpointGetCmd) Help() string {
	return "Prints the value byte for byte and a line end. Nothing saved is no error: exit code 0, and nothing is printed\n" +
		"(null with --json).\n\n" + attemptHelp
}

// Run prints the checkpoint.
func (checkpointGetCmd) Run(s *session) error {
	var value jobs.Raw
	err := s.tell("checkpoint", func(ctx context.Context, c *client.Callback) (err error) {
		value, err = c.Checkpoint(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case value != nil:
		s.out.line("%s", value)
	case s.out.json:
		s.out.line("null")
	}
	return nil
}

type checkpointSetCmd struct {
	Value string `arg:"" name:"json|-" help:"JSON of at most 256 KiB; - reads it from the standard input. null drops what was saved."`
}

// Help says when it is done.
func (checkpointSetCmd) Help() string {
	return "When it ends with exit code 0 the value is on disk: neither a kill nor a power cut loses it. Otherwise the one\n" +
		"before stays, unless it was the answer that was lost: saving it again is safe.\n\n" + attemptHelp
}

// Run saves a checkpoint.
func (cmd checkpointSetCmd) Run(s *session) error {
	value, err := told("checkpoint", cmd.Value, jobs.MaxCheckpoint)
	if err != nil {
		return err
	}
	return s.tell("checkpoint", func(ctx context.Context, c *client.Callback) error {
		return c.SaveCheckpoint(ctx, value)
	})
}

type progressCmd struct {
	Done string   `arg:"" name:"done[/total]" help:"How much is done, and of how much where that is known: numbers in any unit, 0 or more, such as 40/100, 40 or 1.5/3."`
	Note []string `arg:"" optional:"" help:"For people: one line, of which 200 characters are kept."`
}

// Help says what becomes of it.
func (progressCmd) Help() string {
	return `Says how far the attempt is. It is shown at once and on disk within 2 s; say it as often as you like.

  nightshift progress 40/100 "customers A to K"

` + attemptHelp
}

// Run says how far the attempt is.
func (cmd progressCmd) Run(s *session) error {
	p, err := progressOf(cmd.Done)
	if err != nil {
		return err
	}
	p.Note = strings.Join(cmd.Note, " ")
	return s.tell("progress", func(ctx context.Context, c *client.Callback) error { return c.Progress(ctx, p) })
}

// progressOf reads 40/100 or 40.
func progressOf(text string) (p jobs.Progress, err error) {
	done, total, known := strings.Cut(text, "/")
	if p.Done, err = quantity(done); err == nil && known {
		p.Total, err = quantity(total)
	}
	if err != nil {
		return p, usage("progress %q: want numbers of 0 or more, such as 40/100, or 40 where the total is not known", text)
	}
	return p, nil
}

func quantity(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err == nil && (n < 0 || math.IsNaN(n) || math.IsInf(n, 0)) {
		return 0, strconv.ErrRange
	}
	return n, err
}

type resultCmd struct {
	Value string `arg:"" name:"json|-" help:"JSON of at most 64 KiB; - reads it from the standard input."`
}

// Help says when it counts.
func (resultCmd) Help() string {
	return `Sets the result of the run, which counts if the attempt succeeds; of several the last. A script goes on after it.
Of a webhook of completion callback it ends the attempt.

  nightshift result "{\"rows\": $rows}"

` + attemptHelp
}

// Run sets the result.
func (cmd resultCmd) Run(s *session) error {
	value, err := told("result", cmd.Value, jobs.MaxResult)
	if err != nil {
		return err
	}
	return s.outcome("result", func(ctx context.Context, c *client.Callback) (string, error) {
		return c.Complete(ctx, value)
	})
}

type failCmd struct {
	Message    []string       `arg:"" optional:"" help:"What went wrong, in one line."`
	Type       string         `placeholder:"TYPE" help:"The sort of error, such as ValidationError: error.type in rules."`
	Retryable  bool           `xor:"again" help:"Another attempt may succeed."`
	Final      bool           `xor:"again" help:"No other attempt would succeed."`
	RetryAfter *jobs.Duration `placeholder:"DURATION" help:"Not before that much time has passed, such as 90s or 5m."`
	Stack      string         `placeholder:"TEXT" help:"The trace; - reads it from the standard input. 16 KiB of it are kept."`
}

// Help says what becomes of the attempt.
func (failCmd) Help() string {
	return `Says that the attempt has failed (error.kind reported). It fails whatever comes of it, exit code 0 too. The command
itself ends with exit code 0 when that was taken, and the script goes on: let it clean up and exit as it likes.

  nightshift fail --type NoSuchUser --final "user $id is gone"; exit

Whether and when it is tried again is for the job's and its policy's rules to say, then --retryable, --final and
--retry-after, then the policy default.

` + attemptHelp
}

// Run fails the attempt.
func (cmd failCmd) Run(s *session) error {
	e := jobs.SaidError{Type: cmd.Type, Message: strings.Join(cmd.Message, " "), Stack: cmd.Stack, RetryAfter: cmd.RetryAfter}
	if cmd.Retryable || cmd.Final {
		e.Retryable = new(cmd.Retryable)
	}
	if cmd.Stack == "-" {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, maxTold/2))
		if err != nil {
			return fmt.Errorf("read the stack: %w", err)
		}
		e.Stack = string(text)
	}
	return s.outcome("fail", func(ctx context.Context, c *client.Callback) (string, error) { return c.Fail(ctx, e) })
}

// outcome tells what is to come of the attempt.
func (s *session) outcome(what string, call func(context.Context, *client.Callback) (state string, err error)) error {
	var state string
	err := s.tell(what, func(ctx context.Context, c *client.Callback) (err error) {
		state, err = call(ctx, c)
		return err
	})
	if err == nil && s.out.json {
		s.out.value(&struct {
			State string `json:"state"`
		}{state})
	}
	return err
}
