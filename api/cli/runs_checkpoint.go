package cli

type runsCheckpointCmd struct {
	ID     string `arg:"" name:"run" help:"The run's id."`
	Delete bool   `help:"Delete it: the next attempt starts from nothing."`
}

// Help says whose a checkpoint is.
func (runsCheckpointCmd) Help() string {
	return `Prints the value byte for byte. It belongs to the operation: to all attempts of the run and of its requeues, or,
with checkpoint.key in the job, to all runs of the key. Where there is none the exit code is 1. Inside a script it is
nightshift checkpoint get.`
}

// Run prints or deletes a checkpoint.
func (cmd runsCheckpointCmd) Run(s *session) error {
	id, err := runID(cmd.ID)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	if cmd.Delete {
		if err := c.DropCheckpoint(s.ctx, id); err != nil {
			return err
		}
		s.gone("deleted", "checkpoint of "+id.String())
		return nil
	}
	value, err := c.Checkpoint(s.ctx, id)
	if err != nil {
		return err
	}
	s.out.line("%s", value)
	return nil
}
