package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
)

// foreseeFor is how long a forecast may work on waits.
const foreseeFor = 500 * time.Millisecond

// PlanOf is what decides about a job: its rules as they stand or, where rules is not nil, those in
// their place. The name "" is that of no job: rules over the policy default. Faults of the rules are
// located such as rules[0].if.
func (r *Runtime) PlanOf(ctx context.Context, name string, rules *[]jobs.Rule) (*jobs.Plan, error) {
	job := &jobs.Job{}
	if name != "" {
		e, err := r.plans.live(ctx, name)
		if err != nil {
			return nil, err
		}
		if rules == nil {
			return e.plan, nil
		}
		kept := *e.plan.Job
		job = &kept
	}
	if rules != nil {
		job.Retry.Rules = *rules
	}
	plan, err := compileOver(job, func(name string) (*jobs.Policy, error) { return r.plans.policy(ctx, name) })
	return plan, ruleFaults(err)
}

// ruleFaults are the faults of rules that stand by themselves.
func ruleFaults(err error) error {
	var bad *jobs.InvalidError
	if !errors.As(err, &bad) {
		return err
	}
	found := slices.Clone(bad.Faults)
	for i := range found {
		found[i].Location = strings.TrimPrefix(found[i].Location, "retry.")
	}
	return jobs.Invalid(found)
}

// Foresee tells what would become of a failed attempt, and of the like ones after it; each of
// those takes as long as lasts.
func (r *Runtime) Foresee(e jobs.Ending, lasts time.Duration) jobs.Forecast {
	return jobs.Foresee(e, lasts, after(foreseeFor))
}

// after says, asked again and again, whether so much time has passed.
func after(d time.Duration) func() bool {
	until := time.Now().Add(d)
	return func() bool { return time.Now().After(until) }
}

// ForeseeRun tells what these rules would make of an attempt of a run that failed: that number, or 0
// for the last one. What was used up before it is rebuilt by the same rules.
func (r *Runtime) ForeseeRun(p *jobs.Plan, run *jobs.Run, number int) (f jobs.Forecast, err error) {
	past := *run
	past.Attempts = slices.DeleteFunc(slices.Clone(run.Attempts), func(a jobs.Attempt) bool {
		return a.Outcome != jobs.OutcomeFailed
	})
	if len(past.Attempts) == 0 {
		return f, oneFault("run", "no attempt of it has failed: there is nothing to ask rules about")
	}
	a := &past.Attempts[len(past.Attempts)-1]
	if number != 0 {
		i := slices.IndexFunc(past.Attempts, func(a jobs.Attempt) bool { return a.Number == number })
		if i < 0 {
			return f, oneFault("attempt", "want the number of an attempt that failed: %s",
				someNumbers(past.Attempts))
		}
		a = &past.Attempts[i]
	}
	e := jobs.EndingOf(p, &past, a)
	counts, ok := jobs.CountsAt(p, &past, a.Number, after(foreseeFor))
	if !ok {
		return f, oneFault("rules", "take too long on the attempts before this one")
	}
	e.Counts, e.Orphaned = counts, false
	return r.Foresee(e, a.FinishedAt.Sub(a.StartedAt)), nil
}

func oneFault(location, format string, args ...any) error {
	return jobs.Invalid([]jobs.Fault{{Location: location, Message: fmt.Sprintf(format, args...)}})
}

// someNumbers lists the numbers of attempts, the first ones where they are many.
func someNumbers(list []jobs.Attempt) string {
	const most = 20
	var texts []string
	for _, a := range list[:min(len(list), most)] {
		texts = append(texts, strconv.Itoa(a.Number))
	}
	if len(list) > most {
		texts = append(texts, "... "+strconv.Itoa(list[len(list)-1].Number))
	}
	return strings.Join(texts, ", ")
}

// Backtest asks a plan about the failed attempts of its job that ended at since or later. It ends
// with ctx. A rule that takes too long ends it, with a *SlowRuleError: it would on every attempt.
func (r *Runtime) Backtest(
	ctx context.Context, p *jobs.Plan, since jobs.Time,
) (jobs.Backtest, error) {
	replay := jobs.NewReplay(p, since, func() bool { return ctx.Err() != nil })
	err := r.store.FailedAttempts(ctx, p.Job.Name, since, func(run *jobs.Run) error {
		replay.Run(run)
		if rule := replay.TooDear(); rule != "" {
			return &SlowRuleError{rule, run.ID}
		}
		return ctx.Err()
	})
	if err != nil {
		return jobs.Backtest{}, err
	}
	return replay.Found(), nil
}

// SlowRuleError is a rule that takes too long on a recorded failure.
type SlowRuleError struct {
	Rule string // such as job rule 1
	Run  jobs.ID
}

func (e *SlowRuleError) Error() string {
	return fmt.Sprintf("%s takes too long on the failure of run %s", e.Rule, e.Run)
}
