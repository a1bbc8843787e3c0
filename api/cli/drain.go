package cli

import (
	"fmt"
	"time"

	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type drainCmd struct {
	Wait *jobs.Duration `placeholder:"DURATION" help:"Wait at most that long until no attempt runs, exit 1 where one still does; left out: until none does. 0s: do not wait."`
}

// drainPoll is how often a drain looks whether attempts still run.
const drainPoll = 500 * time.Millisecond

// Run drains the server.
func (cmd drainCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	state, err := c.Drain(s.ctx)
	if err != nil {
		return err
	}
	if state.Running > 0 && !s.out.json {
		fmt.Fprintf(s.stderr, "The server starts nothing; %s.\n", attempts(state.Running))
	}
	began := time.Now()
	for state.Running > 0 && state.Draining && (cmd.Wait == nil || time.Since(began) < cmd.Wait.Std()) {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(drainPoll):
		}
		if state, err = c.Server(s.ctx); err != nil {
			return err
		}
	}
	s.printServer(state)
	if !state.Draining || state.Running > 0 && (cmd.Wait == nil || *cmd.Wait > 0) {
		return failedError{}
	}
	return nil
}

func (s *session) printServer(state wire.Server) {
	switch {
	case s.out.json:
		s.out.value(&state)
	case state.Restored != nil:
		s.out.line("The server is held: %s. Nothing starts until nightshift resume.", state.Restored.Reason)
	case state.Draining:
		s.out.line("The server starts nothing until nightshift resume or a restart; %s.",
			attempts(state.Running))
	default:
		s.out.line("The server starts attempts; %s.", attempts(state.Running))
	}
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt runs"
	}
	return fmt.Sprintf("%d attempts run", n)
}

// resumeServer ends a drain, and lets a restored database go.
func (s *session) resumeServer(in wire.Resume) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	state, err := c.Resume(s.ctx, in)
	if err != nil {
		return err
	}
	if n := state.CancelledRuns; n != nil && !s.out.json {
		s.out.line("%s cancelled.", words.CountOf(*n, "run"))
	}
	s.printServer(state)
	return nil
}
