package cli

import (
	"fmt"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
)

type cancelCmd struct {
	Runs []string `arg:"" name:"run" help:"Ids of runs."`
}

// Run cancels runs; one that cannot be cancelled does not keep the others.
func (cmd cancelCmd) Run(s *session) error {
	var failed error
	for _, arg := range cmd.Runs {
		err := s.cancel(arg)
		if err != nil {
			if failed != nil {
				fmt.Fprintf(s.stderr, "nightshift: %s\n", failed)
			}
			failed = err
		}
	}
	return failed
}

// cancel cancels a run, and says what becomes of the members of a group.
func (s *session) cancel(arg string) error {
	id, err := runID(arg)
	if err != nil {
		return err
	}
	var more besides
	return ask(s, func(c *client.Client) (wire.Run, error) {
		run, err := c.Cancel(s.ctx, id)
		if err == nil && !s.out.json {
			more = s.besides(c, &run)
		}
		return run, err
	}, func(run *wire.Run) {
		s.out.line("%s %s", run.ID, words.Clean(more.sentence(run, time.Now())))
	})
}

type requeueCmd struct {
	Of      string `arg:"" name:"run" help:"The id of an ended run."`
	Payload string `placeholder:"JSON" help:"Another payload; @FILE reads a file, - the standard input."`
	Reset   bool   `help:"A new operation: no checkpoint, and receivers see a new Idempotency-Key."`
	Note    string `placeholder:"TEXT" help:"Why."`
	Wait    bool   `help:"Wait for the end of the new run; exit 1 unless it succeeded."`
}

// Run requeues a run.
func (cmd requeueCmd) Run(s *session) error {
	id, err := runID(cmd.Of)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	body := wire.Requeue{Reset: cmd.Reset, Note: cmd.Note}
	if body.Payload, err = payloadOf(cmd.Payload); err != nil {
		return err
	}
	run, err := c.Requeue(s.ctx, id, body)
	if err != nil {
		return err
	}
	return s.requeued(c, id, body.Reset || body.Payload != nil, &run, cmd.Wait)
}
