package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

func rulePages() []page {
	return []page{
		{pattern: "GET /rules", handle: showRules},
		{pattern: "POST /rules", handle: tryRules},
	}
}

// playground is the data of the page on which rules are tried.
type playground struct {
	Job    string // whose settings count; "": none
	Match  string // the ETag of the job whose rules were read
	Policy string // whose rules were read; "": none
	Rules  string // YAML

	// The failure: of a run, or as it is told.
	Run                             string
	Kind, Type, Message, Output     string
	Status, Exit, HTTPBody, Payload string

	Since   string
	Kinds   []jobs.FailureKind
	Refused *client.Problem

	Checked    *wire.RulesChecked
	Backtested *jobs.Backtest
	Paste      string // the rules as a job's document has them
}

// failureKinds are those that rules meet.
var failureKinds = []jobs.FailureKind{
	jobs.FailTimeout, jobs.FailConnection, jobs.FailDNS, jobs.FailTLS, jobs.FailHTTP, jobs.FailSMTP, jobs.FailExit, jobs.FailSignal,
	jobs.FailMemory, jobs.FailSpawn, jobs.FailHeartbeat, jobs.FailReported, jobs.FailInvalid, jobs.FailBlocked,
}

const sampleRules = `- if: 'http.status == 429'
  then: retry
  max_attempts: 20
  reason: rate limited
`

// showRules is the page with a job's rules, or those of the job of a run.
func showRules(v *view) error {
	p := playground{Job: v.query("job"), Run: v.query("run"), Rules: sampleRules, Since: "7d"}
	if id, err := jobs.ParseID(p.Run); err == nil {
		run, err := v.API.Run(v.ctx(), id, 0)
		if err != nil {
			return err
		}
		p.Job = run.Job
	}
	if p.Job != "" {
		j, tag, err := v.API.Job(v.ctx(), p.Job)
		if p.Refused = problem(err); p.Refused != nil {
			return v.playground(http.StatusOK, &p)
		}
		if err != nil {
			return err
		}
		p.Match = tag
		if err := p.take(j.Retry.Rules); err != nil {
			return fmt.Errorf("write the rules of %s as YAML: %w", p.Job, err)
		}
	} else if p.Policy = v.query("policy"); p.Policy != "" {
		policy, _, err := v.API.Policy(v.ctx(), p.Policy)
		if p.Refused = problem(err); p.Refused != nil {
			return v.playground(http.StatusOK, &p)
		}
		if err != nil {
			return err
		}
		if err := p.take(policy.Rules); err != nil {
			return fmt.Errorf("write the rules of the policy %s as YAML: %w", p.Policy, err)
		}
	}
	return v.playground(http.StatusOK, &p)
}

// take puts rules into the form.
func (p *playground) take(rules []jobs.Rule) error {
	if len(rules) == 0 {
		p.Rules = "# It has no rule of its own. This is how one is written:\n" + sampleRules
		return nil
	}
	text, err := jobs.ToYAML(jobs.AppendJSON(nil, rules))
	p.Rules = string(text)
	return err
}

func (v *view) playground(status int, p *playground) error {
	v.Nav, p.Kinds = "/rules", failureKinds
	return v.showAs(status, "rules", "Rules", p)
}

// tryRules checks, backtests or saves the rules that were sent.
func tryRules(v *view) error {
	p := playground{
		Job: strings.TrimSpace(v.form("job")), Match: v.form("match"), Rules: v.form("rules"), Run: strings.TrimSpace(v.form("run")),
		Kind: v.form("kind"), Type: strings.TrimSpace(v.form("type")), Message: v.form("message"), Output: v.form("output"),
		Status: strings.TrimSpace(v.form("status")), Exit: strings.TrimSpace(v.form("exit")), HTTPBody: v.form("body"),
		Payload: v.form("payload"), Since: strings.TrimSpace(v.form("since")),
	}
	file, err := jobs.ParseRules("rules", []byte(p.Rules))
	if err != nil {
		return v.refuseRules(&p, "The rules cannot be read", err.Error())
	}
	rules := file.Rules
	if rules == nil {
		rules = []jobs.Rule{}
	}
	switch v.form("do") {
	case "backtest":
		err = p.backtest(v, rules)
	case "save":
		if err = p.save(v, rules); err == nil && p.Refused == nil {
			return v.done("/jobs/"+url.PathEscape(p.Job), "The rules of the job are saved: they hold from its next failure.")
		}
	default:
		err = p.check(v, rules)
	}
	if refused := problem(err); refused != nil {
		p.Refused = refused
	} else if err != nil {
		return err
	}
	if p.Refused != nil {
		return v.playground(http.StatusUnprocessableEntity, &p)
	}
	text, err := jobs.ToYAML(jobs.AppendJSON(nil, map[string]any{"retry": map[string]any{"rules": rules}}))
	if err != nil {
		return fmt.Errorf("write rules as YAML: %w", err)
	}
	p.Paste = string(text)
	return v.playground(http.StatusOK, &p)
}

func (v *view) refuseRules(p *playground, title, detail string) error {
	p.refuse(title, detail)
	return v.playground(http.StatusUnprocessableEntity, p)
}

func (p *playground) refuse(title, detail string) {
	p.Refused = &client.Problem{Problem: wire.Problem{Title: title, Status: http.StatusUnprocessableEntity, Detail: detail}}
}

// check asks what the rules make of the failure.
func (p *playground) check(v *view, rules []jobs.Rule) error {
	in := wire.RulesCheck{Job: p.Job, Rules: &rules}
	if p.Run != "" {
		id, err := jobs.ParseID(p.Run)
		if err != nil {
			p.refuse("The run is none", "Want the id of a run, such as its page shows it.")
			return nil
		}
		in.Run = id
	} else if in.Error = p.failure(); in.Error == nil {
		return nil
	}
	out, err := v.API.CheckRules(v.ctx(), in)
	if err == nil {
		p.Checked = &out
	}
	return err
}

// failure is the one that the form tells of; nil: it was refused.
func (p *playground) failure() *wire.RulesError {
	e := &wire.RulesError{Kind: p.Kind, Type: p.Type, Message: p.Message, Output: p.Output}
	if p.Status != "" || p.HTTPBody != "" {
		status, err := strconv.Atoi(p.Status)
		if err != nil && p.Status != "" {
			p.refuse("The status is none", "Want a number such as 503.")
			return nil
		}
		e.HTTP = &wire.RulesHTTP{Status: status}
		if p.HTTPBody != "" {
			e.HTTP.Body = jobs.Raw(p.HTTPBody)
			if jobs.ValidJSON([]byte(p.HTTPBody)) != nil {
				e.HTTP.Body = jobs.AppendJSON(nil, p.HTTPBody)
			}
		}
	}
	if p.Exit != "" {
		code, err := strconv.Atoi(p.Exit)
		if err != nil {
			p.refuse("The exit code is none", "Want a number such as 75.")
			return nil
		}
		e.Exit = &wire.RulesExit{Code: &code}
	}
	if strings.TrimSpace(p.Payload) != "" {
		if p.Refused = notJSON("payload", p.Payload); p.Refused != nil {
			return nil
		}
		e.Payload = jobs.Raw(p.Payload)
	}
	return e
}

// backtest asks what the rules would have changed.
func (p *playground) backtest(v *view, rules []jobs.Rule) error {
	if p.Job == "" {
		p.refuse("No job is named", "A backtest replays the recorded failures of a job: name it.")
		return nil
	}
	out, err := v.API.Backtest(v.ctx(), wire.RulesBacktest{Job: p.Job, Rules: &rules, Since: p.Since})
	if err == nil {
		p.Backtested = &out
	}
	return err
}

// save makes the rules those of the job, if it is still the one whose rules were read.
func (p *playground) save(v *view, rules []jobs.Rule) error {
	if p.Match == "" || p.Job == "" {
		p.refuse("No job's rules were read", "Take the rules of the job first: what is saved replaces them.")
		return nil
	}
	j, _, err := v.API.Job(v.ctx(), p.Job)
	if err != nil {
		return err
	}
	j.Retry.Rules = rules
	_, _, err = v.API.PutJob(v.ctx(), &j, p.Match)
	return err
}
