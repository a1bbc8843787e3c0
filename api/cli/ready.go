package cli

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

type readyCmd struct {
	Wait jobs.Duration `default:"0s" placeholder:"DURATION" help:"Ask again for that long until it does."`
}

// Help says what it is for.
func (readyCmd) Help() string {
	return `Ends with exit code 0 where the server takes work, as GET /readyz has it, and else says why it does not and ends
with 1. It needs no token: a health check of a container, or of a script that goes on once the server is there.`
}

// readyPoll is how often the server is asked again.
const readyPoll = 200 * time.Millisecond

// Run asks the server.
func (cmd readyCmd) Run(s *session) error {
	c, err := s.clientWith("")
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		err := c.Ready(s.ctx)
		if err == nil {
			if s.out.json {
				s.out.value(&wire.Status{Status: "ready"})
			} else {
				s.out.line("The server takes work.")
			}
			return nil
		}
		if time.Since(began) >= cmd.Wait.Std() {
			return err
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(readyPoll):
		}
	}
}
