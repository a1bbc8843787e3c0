package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// Bounds of backtests.
const (
	maxBacktests    = 2 // at once: each takes a core
	longestBacktest = 10 * time.Minute
)

func checkRules(c *call) error {
	var body wire.RulesCheck
	err := c.decode(&body, func() []jobs.Fault {
		return append(c.faultsOfCheck(&body), c.faultsOfRules(body.Rules)...)
	})
	if err != nil {
		return err
	}
	if body.Error != nil && len(body.Error.Payload) > jobs.MaxPayload {
		return tooLarge([]jobs.Fault{payloadFault("body.error.payload", len(body.Error.Payload))})
	}
	if body.Job != "" && !c.who.reaches(body.Job) {
		return noJob()
	}
	var f jobs.Forecast
	if body.Error != nil {
		f, err = c.checkError(&body)
	} else {
		f, err = c.checkRun(&body)
	}
	if err != nil {
		return within("body", err)
	}
	return c.answer(200, checkedOf(f))
}

// faultsOfCheck finds what does not go together.
func (c *call) faultsOfCheck(body *wire.RulesCheck) (found []jobs.Fault) {
	add := func(location, message string) {
		found = append(found, jobs.Fault{Location: location, Message: message})
	}
	switch {
	case body.Error == nil && body.Run.IsNil():
		add("", "want an error, or the run whose recorded failure is asked about")
	case body.Error != nil && !body.Run.IsNil():
		add("run", "want either an error or a run")
	}
	if body.Job == "" && body.Rules == nil && body.Run.IsNil() {
		add("", "want a job, or the rules that are asked")
	}
	if body.Attempt != nil && body.Run.IsNil() {
		add("attempt", "is of use with a run only")
	} else if body.Attempt != nil && *body.Attempt < 1 {
		add("attempt", "want a number from 1")
	}
	if body.Error != nil {
		_, faults := failureOf(body.Error)
		found = append(found, faults...)
	}
	return found
}

// faultsOfRules finds what is wrong with rules by themselves.
func (c *call) faultsOfRules(rules *[]jobs.Rule) []jobs.Fault {
	if rules == nil {
		return nil
	}
	_, err := c.s.rt.PlanOf(c.ctx(), "", rules)
	faults, _ := unreadOf(err) // any other error comes again
	return faults
}

func (c *call) checkError(body *wire.RulesCheck) (f jobs.Forecast, err error) {
	plan, err := c.s.rt.PlanOf(c.ctx(), body.Job, body.Rules)
	if err != nil {
		return f, jobError(err)
	}
	in := body.Error
	failure, _ := failureOf(in)
	now := c.s.rt.Now()
	a := jobs.Attempt{Number: 1, FinishedAt: now, Error: failure, ExitCode: -1, OutputTail: tailOf(in.Output)}
	run := &jobs.Run{Payload: in.Payload, RunAt: now}
	if run.Payload == nil {
		run.Payload = plan.Job.Payload
	}
	if run.Payload == nil {
		run.Payload = jobs.Raw("{}")
	}
	if in.Elapsed != nil {
		run.RunAt = now.Add(-in.Elapsed.Std())
	}
	e := jobs.EndingOf(plan, run, &a)
	e.Counts.Number, e.Progress = 1, in.Progress
	return c.s.rt.Foresee(e, 0), nil
}

func (c *call) checkRun(body *wire.RulesCheck) (f jobs.Forecast, err error) {
	run, err := c.readRun(body.Run)
	if err != nil {
		return f, err
	}
	name := body.Job
	if name == "" {
		name = run.Job
	}
	plan, err := c.s.rt.PlanOf(c.ctx(), name, body.Rules)
	if errors.Is(err, store.ErrNotFound) && body.Job == "" {
		plan, err = c.s.rt.PlanOf(c.ctx(), "", body.Rules) // its job is deleted
	}
	if err != nil {
		return f, jobError(err)
	}
	number := 0
	if body.Attempt != nil {
		number = *body.Attempt
	}
	return c.s.rt.ForeseeRun(plan, run, number)
}

func checkedOf(f jobs.Forecast) *wire.RulesChecked {
	out := &wire.RulesChecked{
		Action: f.Decision.Action, By: f.Decision.By, Reason: f.Decision.Reason, Waits: f.Waits,
	}
	if f.End != nil {
		out.End = &wire.RulesEnd{By: f.End.By, Reason: f.End.Reason}
	}
	return out
}

func backtest(c *call) error {
	var body wire.RulesBacktest
	var since jobs.Time
	err := c.decode(&body, func() (found []jobs.Fault) {
		if body.Job == "" {
			found = append(found, jobs.Fault{Location: "job", Message: "is missing: want a job's name"})
		}
		var err error
		if since, err = jobs.ParseSince(body.Since, c.s.rt.Now()); err != nil && body.Since != "" {
			found = append(found, jobs.Fault{
				Location: "since",
				Message:  `want a time such as 2026-11-29T02:00:00Z, or a duration such as "7d"`,
			})
		}
		return append(found, c.faultsOfRules(body.Rules)...)
	})
	if err != nil {
		return err
	}
	if !c.who.reaches(body.Job) {
		return noJob()
	}
	plan, err := c.s.rt.PlanOf(c.ctx(), body.Job, body.Rules)
	if err != nil {
		return within("body", jobError(err))
	}
	found, err := c.backtest(plan, since)
	var slow *runtime.SlowRuleError
	if errors.As(err, &slow) {
		return fault(placeOfRule(slow.Rule, body.Rules != nil), "%s", slow.Error())
	}
	if err != nil {
		return err
	}
	return c.answer(200, &found)
}

// placeOfRule is where a rule stands in a call: in its body, or it is one of the job's.
func placeOfRule(by string, given bool) string {
	n, err := strconv.Atoi(strings.TrimPrefix(by, "job rule "))
	if given && err == nil {
		return fmt.Sprintf("body.rules[%d].if", n-1)
	}
	return "body.job"
}

// backtest replays unless too many do.
func (c *call) backtest(plan *jobs.Plan, since jobs.Time) (found jobs.Backtest, err error) {
	if c.s.backtests.Add(1) > maxBacktests {
		c.s.backtests.Add(-1)
		return found, &problem{
			kind: probOverload, retryAfter: 10 * time.Second,
			detail: strconv.Itoa(maxBacktests) + " backtests are under way",
		}
	}
	defer c.s.backtests.Add(-1)
	held, release := c.held()
	defer release()
	ctx, cancel := context.WithTimeout(held, longestBacktest)
	defer cancel()
	found, err = c.s.rt.Backtest(ctx, plan, since)
	switch {
	case err == nil || ctx.Err() == nil || c.ctx().Err() != nil:
		return found, err
	case c.s.stopping.Err() != nil:
		return found, &problem{kind: probStopping, retryAfter: 5 * time.Second, detail: "ask again"}
	case held.Err() != nil:
		return found, refuse(probUnauthorized, "the token was revoked or changed meanwhile")
	}
	return found, refuse(probOverload, "it took longer than %s: ask about less with since",
		jobs.Duration(longestBacktest))
}
