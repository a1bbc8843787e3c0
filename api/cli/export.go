package cli

import (
	"fmt"

	"nightshift/jobs"
)

type exportCmd struct {
	Set string `placeholder:"NAME" help:"Only what belongs to this set; all where left out."`
}

// Help says what an export is for.
func (exportCmd) Help() string {
	return `Prints policies, queues, dependencies, jobs, schedules and alerts as a job file: YAML, or JSON with --json.
Applied again it changes nothing.
What no YAML gives back byte for byte, such as a payload with spaces between its members, stands there as
a string with the tag !json.

  nightshift export > jobs.yaml
  nightshift apply -f jobs.yaml --dry-run`
}

// Run prints what stands as a job file.
func (cmd exportCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	out, err := c.Export(s.ctx, cmd.Set)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&out)
		return nil
	}
	text, err := jobs.ToYAML(jobs.AppendJSON(nil, &out))
	if err != nil {
		return err
	}
	_, err = s.out.w.Write(text)
	return err
}

type schemaCmd struct{}

// Help says how an editor finds the schema.
func (schemaCmd) Help() string {
	return `Editors that speak to yaml-language-server find it by a first line in the job file:

  # yaml-language-server: $schema=nightshift.schema.json`
}

// Run prints the JSON Schema of job files.
func (schemaCmd) Run(s *session) error {
	text, err := s.parts.FileSchema()
	if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	_, err = s.out.w.Write(text)
	return err
}
