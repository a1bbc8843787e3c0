package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type dependenciesCmd struct {
	List   dependenciesListCmd   `cmd:"" default:"withargs" help:"List dependencies, those that are only named or called too."`
	Show   dependenciesShowCmd   `cmd:"" help:"Show a dependency and whether calls flow."`
	Trip   dependenciesTripCmd   `cmd:"" help:"Open the breaker of a dependency by hand."`
	Reset  dependenciesResetCmd  `cmd:"" help:"Close the breaker of a dependency, and forget a Retry-After."`
	Delete dependenciesDeleteCmd `cmd:"" help:"Drop the limits of a dependency: it is as it is built in."`
	Pause  dependenciesPauseCmd  `cmd:"" help:"Pause a dependency: no attempt starts that uses it."`
	Resume dependenciesResumeCmd `cmd:"" help:"Resume a dependency that is paused."`
}

type dependenciesListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists dependencies.
func (cmd dependenciesListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Dependencies, error) {
		return c.Dependencies(s.ctx, cmd.page())
	}, func(list *wire.Dependencies) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			d := &list.Items[i]
			state, note := stateOf(d, time.Now())
			rows[i] = []string{
				d.Name, state, ofLimit(d.InUse, d.Concurrency), rateText(d.Rate), counted(d.Waiting), d.Set, words.Short(note, 80),
			}
		}
		s.out.table([]string{"DEPENDENCY", "STATE", "IN USE", "RATE", "WAITING", "SET", "NOTE"}, rows)
		s.more(list.Next)
	})
}

// stateOf is the first thing that holds a dependency, and what there is to say of it.
func stateOf(d *wire.Dependency, now time.Time) (state, note string) {
	switch {
	case d.Paused:
		return "paused", d.PauseNote
	case d.State == jobs.BreakerOpen.String():
		return d.State, text(d.Reason) + "; the next probe may start " + words.At{Now: now}.InWords(d.NextProbeAt)
	case d.State == jobs.BreakerProbing.String() && d.Probe.IsNil():
		return d.State, text(d.Reason) + "; a run probes it"
	case d.State == jobs.BreakerProbing.String():
		return d.State, text(d.Reason) + "; run " + d.Probe.String() + " probes it"
	case d.HeldUntil != 0:
		return "held", "it has asked to be left alone (Retry-After); it goes on " + words.At{Now: now}.InWords(d.HeldUntil)
	}
	return d.State, ""
}

func rateText(r *jobs.Rate) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d in %s", r.Limit, r.Per)
}

func breakerText(b *jobs.Breaker) string {
	if b == nil {
		return "none"
	}
	return fmt.Sprintf("opens after %d passing errors in a row, for %s at first and %s at most",
		b.Failures, b.OpenFor, b.MaxOpen)
}

type dependenciesShowCmd struct {
	Dependency string `arg:"" help:"The dependency's name, or the host:port of webhooks."`
}

// Run shows a dependency.
func (cmd dependenciesShowCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Dependency, error) {
		d, _, err := c.Dependency(s.ctx, cmd.Dependency)
		return d, err
	}, func(d *wire.Dependency) {
		s.printDependency(d)
		s.out.line("")
		limit := "none"
		if d.Concurrency != nil {
			limit = fmt.Sprint(*d.Concurrency)
		}
		probe := ""
		if !d.Probe.IsNil() {
			probe = d.Probe.String()
		}
		s.out.fields(
			"dependency", d.Name,
			"kind", d.Kind,
			"concurrency", limit,
			"in use", ofLimit(d.InUse, d.Concurrency),
			"rate", rateText(d.Rate),
			"breaker", breakerText(d.Breaker),
			"state", d.State,
			"errors in a row", fmt.Sprint(d.ErrorsInRow),
			"opened", clock(d.OpenedAt),
			"next probe", clock(d.NextProbeAt),
			"probed by", probe,
			"held until", clock(d.HeldUntil),
			"waiting", counted(d.Waiting),
			"waiting since", clock(d.WaitingSince),
			"jobs", strings.Join(d.Jobs, ", "),
			"set", d.Set,
			"created", clock(d.CreatedAt),
			"updated", clock(d.UpdatedAt),
		)
	})
}

// printDependency prints in a sentence whether calls of a dependency flow.
func (s *session) printDependency(d *wire.Dependency) {
	state, note := stateOf(d, time.Now())
	line := "The dependency " + d.Name + " is " + state
	if d.Kind == "host" {
		line = "The host " + d.Name + " is " + state
	}
	switch {
	case note != "":
		line += ": " + note
	case state == jobs.BreakerClosed.String():
		line += ": calls flow"
	}
	s.out.line("%s", words.Clean(line+"."))
}

type dependenciesTripCmd struct {
	Dependency string         `arg:"" help:"The dependency's name, or the host:port of webhooks."`
	For        *jobs.Duration `placeholder:"DURATION" help:"Until the first probe, such as 5m; left out: the open_for of its breaker."`
	Note       string         `placeholder:"TEXT" help:"Why."`
}

// Run trips a dependency.
func (cmd dependenciesTripCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Dependency, error) {
		return c.TripDependency(s.ctx, cmd.Dependency, wire.Trip{For: cmd.For, Note: cmd.Note})
	}, s.printDependency)
}

type dependenciesResetCmd struct {
	Dependency string `arg:"" help:"The dependency's name, or the host:port of webhooks."`
	Note       string `placeholder:"TEXT" help:"Why."`
}

// Run resets a dependency.
func (cmd dependenciesResetCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Dependency, error) {
		return c.ResetDependency(s.ctx, cmd.Dependency, cmd.Note)
	}, s.printDependency)
}

type dependenciesDeleteCmd struct {
	Dependency string `arg:"" help:"The dependency's name, or the host:port of webhooks."`
}

// Run drops the limits of a dependency.
func (cmd dependenciesDeleteCmd) Run(s *session) error {
	return s.dropped("dependency", cmd.Dependency, func(c *client.Client) error {
		return c.DeleteDependency(s.ctx, cmd.Dependency)
	})
}

type dependenciesPauseCmd struct {
	Dependency string `arg:"" help:"The dependency's name, or the host:port of webhooks."`
	Note       string `placeholder:"TEXT" help:"Why."`
}

// Run pauses a dependency.
func (cmd dependenciesPauseCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Dependency, error) {
		return c.PauseDependency(s.ctx, cmd.Dependency, cmd.Note)
	}, s.printDependency)
}

type dependenciesResumeCmd struct {
	Dependency string `arg:"" help:"The dependency's name, or the host:port of webhooks."`
	Note       string `placeholder:"TEXT" help:"Why."`
}

// Run resumes a dependency.
func (cmd dependenciesResumeCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Dependency, error) {
		return c.ResumeDependency(s.ctx, cmd.Dependency, cmd.Note)
	}, s.printDependency)
}
