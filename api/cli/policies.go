package cli

import (
	"fmt"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type policiesCmd struct {
	List   policiesListCmd   `cmd:"" default:"withargs" help:"List policies."`
	Show   policiesShowCmd   `cmd:"" help:"Show a policy's document."`
	Set    policiesSetCmd    `cmd:"" help:"Register or replace the policies of a file."`
	Delete policiesDeleteCmd `cmd:"" help:"Delete a policy that no job names; default becomes what is built in."`
}

type policiesListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists policies.
func (cmd policiesListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Policies, error) {
		return c.Policies(s.ctx, cmd.page())
	}, func(list *wire.Policies) {
		rows := make([][]string, len(list.Items))
		for i, p := range list.Items {
			most, rules, updated := "", "", clock(p.UpdatedAt)
			if p.Rules != nil {
				rules = fmt.Sprint(len(p.Rules))
			}
			if p.MaxAttempts != nil {
				most = fmt.Sprint(*p.MaxAttempts)
			}
			if p.BuiltIn {
				updated = "built in"
			}
			rows[i] = []string{p.Name, most, rules, p.Otherwise, p.Set, updated}
		}
		s.out.table([]string{"POLICY", "MAX ATTEMPTS", "RULES", "OTHERWISE", "SET", "UPDATED"}, rows)
		s.more(list.Next)
	})
}

type policiesShowCmd struct {
	Policy string `arg:"" help:"The policy's name."`
}

// Run prints a policy's document.
func (cmd policiesShowCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (jobs.Policy, error) {
		p, _, err := c.Policy(s.ctx, cmd.Policy)
		return p, err
	}, func(p *jobs.Policy) { s.out.document(p) })
}

type policiesSetCmd struct {
	File string `short:"f" required:"" placeholder:"FILE" help:"A file with policies, YAML or JSON; - is the standard input."`
}

// Help says what the file holds.
func (policiesSetCmd) Help() string {
	return `The file is a job file whose key "policies" holds a list, or a map by name:

  policies:
    gentle:
      max_attempts: 3
      backoff: {base: 1m}
      rules: [{if: http.status == 429, then: retry, after: 2m}]

Unlike with apply, what is made belongs to no set.`
}

// Run registers policies, one by one.
func (cmd policiesSetCmd) Run(s *session) error {
	return setEach(s, cmd.File, jobs.RefPolicy, func(docs *jobs.Documents) []*jobs.Policy { return docs.Policies },
		func(c *client.Client, p *jobs.Policy) (saved jobs.Policy, created bool, err error) {
			return c.PutPolicy(s.ctx, p, "")
		}, func(p *jobs.Policy, how string) { s.out.line("policy %s %s", words.Clean(p.Name), how) })
}

type policiesDeleteCmd struct {
	Policy string `arg:"" help:"The policy's name."`
}

// Run deletes a policy.
func (cmd policiesDeleteCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := c.DeletePolicy(s.ctx, cmd.Policy); err != nil {
		return err
	}
	if cmd.Policy == jobs.PolicyDefault {
		s.gone("as it is built in", cmd.Policy)
		return nil
	}
	s.gone("deleted", cmd.Policy)
	return nil
}

type jobsRetryCmd struct {
	Job string `arg:"" help:"The job's name."`
}

// Run shows what decides about a job's failed attempts.
func (cmd jobsRetryCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (jobs.EffectiveRetry, error) {
		return c.Retry(s.ctx, cmd.Job)
	}, s.printRetry)
}

// printRetry prints numbers and rules with where each comes from.
func (s *session) printRetry(r *jobs.EffectiveRetry) {
	elapsed := "none"
	if r.MaxElapsed.Value != nil {
		elapsed = r.MaxElapsed.Value.String()
	}
	b := &r.Backoff
	s.out.table([]string{"RETRY", "VALUE", "FROM"}, [][]string{
		{"max_attempts", fmt.Sprint(r.MaxAttempts.Value), r.MaxAttempts.From},
		{"max_elapsed", elapsed, r.MaxElapsed.From},
		{"backoff.kind", b.Kind.Value, b.Kind.From},
		{"backoff.base", b.Base.Value.String(), b.Base.From},
		{"backoff.factor", fmt.Sprint(b.Factor.Value), b.Factor.From},
		{"backoff.max", b.Max.Value.String(), b.Max.From},
		{"backoff.jitter", fmt.Sprint(b.Jitter.Value), b.Jitter.From},
		{"otherwise", r.Otherwise.Value, r.Otherwise.From},
		{"interrupted", r.Interrupted.Value, r.Interrupted.From},
	})
	s.out.line("")
	rows := make([][]string, len(r.Rules))
	for i := range r.Rules {
		rule := &r.Rules[i]
		most := ""
		if rule.MaxAttempts != nil {
			most = fmt.Sprint(*rule.MaxAttempts)
		}
		condition, then := words.Short(rule.If, 60), rule.Then
		if rule.By == jobs.ByReported {
			condition, then = "the job says of its error whether it is retryable", "as it says"
		}
		rows[i] = []string{rule.By, condition, then, rule.After, most, words.Short(rule.Reason, 40)}
	}
	s.out.table([]string{"RULE", "IF", "THEN", "AFTER", "MAX", "REASON"}, rows)
}
