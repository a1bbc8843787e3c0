package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type rulesCmd struct {
	Check    rulesCheckCmd    `cmd:"" help:"Ask what rules make of a failure."`
	Backtest rulesBacktestCmd `cmd:"" help:"Ask what rules would have made of the failures of a job."`
}

// ruleSource is a file of rules to be tried.
type ruleSource struct {
	Rules string `placeholder:"FILE" help:"Rules in place of the job's own, YAML or JSON: a list, or {rules: [...]}."`
	file  *jobs.RuleFile
}

// read gives the rules of the file; nil: none is given.
func (src *ruleSource) read() (*[]jobs.Rule, error) {
	if src.Rules == "" {
		return nil, nil
	}
	data, err := os.ReadFile(src.Rules)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	if src.file, err = jobs.ParseRules(src.Rules, data); err != nil {
		return nil, err
	}
	return &src.file.Rules, nil
}

// placed says in which line and column of the file faults are; err is what they came from.
func (src *ruleSource) placed(err error) error {
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Status != 422 || src.file == nil {
		return err
	}
	var all []error
	for _, f := range problem.Errors {
		f.Location = strings.TrimPrefix(f.Location, "body.")
		if !strings.HasPrefix(f.Location, "rules") {
			return err
		}
		for _, at := range src.file.PlaceFaults([]jobs.Fault{f}) {
			all = append(all, errors.New(at.String()))
		}
	}
	if all == nil {
		return err
	}
	return errors.Join(all...)
}

type rulesCheckCmd struct {
	ruleSource
	Job     string `placeholder:"NAME" help:"The job whose rules and settings count."`
	Error   string `placeholder:"JSON|FILE" help:"A failure as attempts record it, such as '{\"http\": {\"status\": 503}}'."`
	Of      string `name:"run" placeholder:"ID" help:"Or a run with a recorded failure."`
	Attempt *int   `placeholder:"N" help:"Of that run; left out: the last that failed."`
}

// Run asks about one failure.
func (cmd rulesCheckCmd) Run(s *session) error {
	in := wire.RulesCheck{Job: cmd.Job, Attempt: cmd.Attempt}
	var err error
	switch {
	case (cmd.Error == "") == (cmd.Of == ""):
		return usage("want either --error or --run")
	case cmd.Attempt != nil && cmd.Of == "":
		return usage("--attempt is of use with --run only")
	case cmd.Job == "" && cmd.Rules == "" && cmd.Of == "":
		return usage("want --job or --rules")
	case cmd.Error != "":
		if in.Error, err = readError(cmd.Error); err != nil {
			return err
		}
	default:
		if in.Run, err = runID(cmd.Of); err != nil {
			return err
		}
	}
	if in.Rules, err = cmd.read(); err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.RulesChecked, error) {
		out, err := c.CheckRules(s.ctx, in)
		return out, cmd.placed(err)
	}, s.printChecked)
}

func (s *session) printChecked(out *wire.RulesChecked) {
	then := ""
	switch {
	case out.End == nil:
		then = "there are more waits"
	case len(out.Waits) > 0:
		then = "fail, by " + out.End.By + ": " + out.End.Reason
	}
	s.out.fields("DECISION", out.Action+", by "+out.By, "REASON", out.Reason,
		"WAITS", waitsText(out.Waits), "THEN", then)
}

// readError reads a failure from JSON, or from the file of that name.
func readError(text string) (*wire.RulesError, error) {
	at := "--error"
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		data, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("read the error: %w", err)
		}
		at, text = text, string(data)
	}
	var e wire.RulesError
	if err := jobs.DecodeJSON([]byte(text), &e); err != nil {
		return nil, usage("%s: %w", at, err)
	}
	return &e, nil
}

// waitsText lists waits, alike ones in a row together.
func waitsText(waits []jobs.Duration) string {
	if len(waits) == 0 {
		return ""
	}
	var parts []string
	var whole time.Duration
	for i := 0; i < len(waits); {
		n := 1
		for i+n < len(waits) && waits[i+n] == waits[i] {
			n++
		}
		part := waits[i].String()
		if n > 1 {
			part += " × " + strconv.Itoa(n)
		}
		whole += time.Duration(n) * waits[i].Std()
		parts = append(parts, part)
		i += n
	}
	const most = 20
	if len(parts) > most {
		parts = append(parts[:most], "...")
	}
	return fmt.Sprintf("%s (%d, in all %s; jitter at its middle)",
		strings.Join(parts, ", "), len(waits), jobs.Duration(whole))
}

type rulesBacktestCmd struct {
	ruleSource
	Job   string `required:"" placeholder:"NAME" help:"The job whose failures are replayed."`
	Since string `placeholder:"TIME" help:"Attempts that ended since: a time (RFC 3339), or a duration ago such as 7d; left out: all that are kept."`
}

// Run replays the failures of a job.
func (cmd rulesBacktestCmd) Run(s *session) error {
	in := wire.RulesBacktest{Job: cmd.Job, Since: cmd.Since}
	var err error
	if in.Rules, err = cmd.read(); err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (jobs.Backtest, error) {
		out, err := c.Backtest(s.ctx, in)
		return out, cmd.placed(err)
	}, s.printBacktest)
}

func (s *session) printBacktest(b *jobs.Backtest) {
	if len(b.Changes) > 0 {
		rows := make([][]string, len(b.Changes))
		for i, c := range b.Changes {
			rows[i] = []string{c.From, c.To, c.By, strconv.Itoa(c.Count), idList(c.Samples)}
		}
		s.out.table([]string{"FROM", "TO", "BY", "COUNT", "RUNS"}, rows)
		s.out.line("")
	}
	switch {
	case b.Attempts == 0:
		s.out.line("No failed attempt of this job is recorded for that time.")
	case b.Changed == 0 && b.Spared > 0:
		s.out.line("No decision of that time would change, of %s replayed: it would have changed before.",
			words.CountOf(b.Attempts, "failed attempt"))
	case b.Changed == 0:
		s.out.line("Nothing would change: %s replayed.", words.CountOf(b.Attempts, "failed attempt"))
	default:
		s.out.line("%s would change, of %s replayed.", words.CountOf(b.Changed, "decision"),
			words.CountOf(b.Attempts, "failed attempt"))
	}
	if b.Spared > 0 {
		s.out.line("%s would not have been made.", words.CountOf(b.Spared, "attempt"))
	}
	for _, m := range b.Mistakes {
		s.out.line("%s: %s, such as run %s", words.Clean(m.Message), words.CountOf(m.Count, "time"), m.Samples[0])
	}
}

func idList(ids []jobs.ID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, " ")
}
