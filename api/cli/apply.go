package cli

import (
	"errors"
	"fmt"
	"os"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
)

type applyCmd struct {
	File   []string `short:"f" required:"" sep:"none" placeholder:"FILE" help:"Job files, YAML or JSON, or folders of them; - is the standard input. May be repeated."`
	More   []string `arg:"" optional:"" name:"file" help:"More of them, as a shell makes of *.yaml."`
	Set    string   `default:"default" placeholder:"NAME" help:"The set that what is made belongs to: no other may hold it (${default})."`
	DryRun bool     `help:"Show what would change, and change nothing."`
	Prune  bool     `help:"Remove what belongs to the set and is in none of the files."`
}

// Help says what a file may hold.
func (applyCmd) Help() string {
	return `A file holds "jobs", "schedules", "policies", "queues" and "dependencies", each a list, or a map by name.
"defaults" are fields for all jobs of the file that say nothing else; "timezone" there is for cron lines that
say none. "webhook: URL" and "script: TEXT" are short forms. A folder gives its *.yaml, *.yml and *.json, not
those below it.

All files together are one change: all of it is made, or nothing. What stands already is left as it is, and
so is pausing. A policy or job that a document names must stand or be in one of the files; queues and
dependencies come to be by being named.

  nightshift apply -f jobs/ --dry-run
  nightshift apply -f jobs/ --prune

"nightshift schema" prints a JSON Schema of the files, for editors.`
}

// Run registers what the files hold.
func (cmd applyCmd) Run(s *session) error {
	set, err := readFiles(append(cmd.File, cmd.More...), os.Stdin)
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	done, err := c.Apply(s.ctx, client.Apply{
		Documents: set.Documents, Set: cmd.Set, DryRun: cmd.DryRun, Prune: cmd.Prune,
	})
	var problem *client.Problem
	if errors.As(err, &problem) && len(problem.Errors) > 0 {
		return set.placed(problem.Errors)
	}
	if err != nil {
		return err
	}
	for _, w := range done.Warnings {
		fmt.Fprintf(s.stderr, "Warning: %s %s: %s\n", words.Clean(w.Kind), words.Clean(w.Name), words.Clean(w.Message))
	}
	switch {
	case s.out.json:
		s.out.value(&done)
	case cmd.DryRun:
		s.out.difference(done.Items)
	default:
		for i := range done.Items {
			s.out.line("%s", applied(&done.Items[i]))
		}
	}
	return nil
}

// applied is what became of a document, in a line.
func applied(item *wire.AppliedItem) string {
	text := words.Clean(item.Name) + " " + words.Clean(item.Action)
	if item.Kind != "job" {
		text = words.Clean(item.Kind) + " " + text
	}
	if item.Version != nil {
		text += fmt.Sprintf(", version %d", *item.Version)
	}
	if item.CancelledRuns > 0 {
		text += ", " + cancelledRuns(item.CancelledRuns)
	}
	return text
}

func cancelledRuns(n int) string {
	if n == 1 {
		return "1 unfinished run cancelled"
	}
	return fmt.Sprintf("%d unfinished runs cancelled", n)
}
