package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Ending is all that the decision about an ended attempt may depend on.
type Ending struct {
	Plan        *Plan // the job as it stands, compiled; nil: a job with default settings
	Counts      Counts
	MaxAttempts int  // the run's own cap; 0: the job's
	RunAt       Time // when the run was first due
	CancelAsked bool // acknowledged as cancelled: it ends so whatever came out
	Orphaned    bool // the job is deleted or the run may not start again: ends without retry

	Report Report
	// Checkpoint is what the attempt, or its slice, has started from, and Continues how many good
	// slices its operation had then.
	Checkpoint Raw
	Continues  int
	Payload    Raw
	Progress   *Progress     // the run's, as it last said; nil: none
	Timeout    time.Duration // of this attempt, for the message; 0: the job's
	Lost       bool          // the server died under it
	Saved      bool          // it has saved a checkpoint that Counts do not know of
	Now        Time          // when the attempt ended
	Random     float64       // in [0, 1)
	Tells      Tells         // an alert's run is tried again for AlertPatience, whatever max_attempts says

	watch *watch // of a replay; nil: none
}

// Transition is what becomes of the run.
type Transition struct {
	// State is Succeeded, Failed, Cancelled, Queued or Retrying. The attempt is not over where it is
	// Running (its next slice is due at DueAt) or Waiting (for its callback): Outcome is zero then.
	State    State
	DueAt    Time // for Queued, Retrying and Running
	Outcome  Outcome
	Counts   Counts
	Error    *Failure // of the attempt; nil where it succeeded
	Decision Decision
}

// What a decision does, and what decides where it is no rule.
const (
	ActionSucceed = "succeed"
	ActionRetry   = "retry"
	ActionRerun   = "rerun"
	ActionFail    = "fail"
	ActionCancel  = "cancel"

	BySuccess     = "success"
	ByCancel      = "cancel"
	ByInterrupted = "interrupted"
	ByReported    = "reported"
	ByOtherwise   = "otherwise"
	ByMaxAttempts = "max_attempts"
	ByMaxElapsed  = "max_elapsed"
	ByJobDeleted  = "job deleted"
	ByGroup       = "group" // what became of its members and its merge decides
)

// Bounds of waits that come from outside, and of the reason.
const (
	maxReported   = 24 * time.Hour
	maxRetryAfter = time.Hour
	maxWhy        = 2 << 10
)

// askBudget is what the rules of a job and its policy may cost together in one decision, and
// those of the policy default.
const askBudget = 4 * evalBudget

// lostWaits are the waits after one death of the server after another; the next death is the
// last (contract 3.2, Counting).
var lostWaits = [...]time.Duration{0, 5 * time.Second, 20 * time.Second, 60 * time.Second}

// Decide says what becomes of a run whose attempt has ended. It depends on nothing else.
//
// An attempt that the server ended uses up no attempts and no rule is asked about it; a failure
// goes to the job's rules, those of its policy, what the job itself reported, those of the
// policy default, and then to otherwise. Who decides, and why, is in the decision.
func Decide(e Ending) Transition {
	if e.Plan == nil {
		e.Plan = bare()
	}
	stopped := e.Report.Stopped
	switch {
	case e.CancelAsked || errors.Is(stopped, ErrCancelled):
		return cancelled(&e)
	case e.Lost:
		return lost(&e)
	case errors.Is(stopped, ErrTimeout):
		return failed(&e, timedOut(&e))
	case errors.Is(stopped, ErrShutdown), stopped != nil && e.Report.Failure == nil:
		return shutDown(&e)
	case e.Report.Failure != nil:
		f := *e.Report.Failure
		return failed(&e, f.Bound())
	case e.Report.Continue:
		return sliced(&e)
	case e.Report.Accepted:
		return accepted(&e)
	}
	return succeeded(&e)
}

// bare is the plan of a job without settings.
var bare = sync.OnceValue(func() *Plan {
	p, err := Compile(&Job{}, nil, nil)
	if err != nil {
		panic(err) // the policy default is ours; a test compiles it
	}
	return p
})

func succeeded(e *Ending) Transition {
	t := Transition{State: Succeeded, Outcome: OutcomeSucceeded, Counts: e.Counts}
	t.Counts.Deaths, t.Counts.Interrupts = 0, 0
	t.Decision = Decision{
		Action: ActionSucceed, By: BySuccess, Reason: because(e.Report.Notes),
	}
	return t
}

func cancelled(e *Ending) Transition {
	t := Transition{State: Cancelled, Outcome: OutcomeCancelled, Counts: e.Counts}
	switch {
	case e.Lost:
		t.Error = cutOff(e, FailLost, "the server died while this attempt ran")
	case e.Report.Failure != nil:
		f := *e.Report.Failure
		t.Error = f.Bound()
	}
	why := "cancelled on request, whatever came out"
	if errors.Is(e.Report.Stopped, ErrReplaced) {
		why = "a newer tick of its schedule took its place: cancelled, whatever came out"
	}
	if errors.Is(e.Report.Stopped, ErrGivenUp) {
		why = "its group gave it up, by its deadline or by on_member_failure: cancelled, whatever came out"
	}
	t.Decision = Decision{Action: ActionCancel, By: ByCancel, Reason: because(e.Report.Notes, why)}
	return t
}

// shutDown is no death: the next attempt may start at once.
func shutDown(e *Ending) Transition {
	counts := cutShort(e)
	counts.Deaths = 0
	f := cutOff(e, FailShutdown, "the server was stopping")
	return interrupted(e, counts, f, 0, "the server was stopping")
}

// cutShort counts an attempt that the server ended.
func cutShort(e *Ending) Counts {
	counts := e.Counts
	if e.Saved || e.Report.Checkpoint.given() != nil {
		counts.Interrupts = 0
	}
	counts.Interrupts++
	return counts
}

func lost(e *Ending) Transition {
	counts := cutShort(e)
	counts.Deaths++
	f := cutOff(e, FailLost, "the server died while this attempt ran")
	if counts.Deaths <= len(lostWaits) {
		why := fmt.Sprintf("the server died while this attempt ran (%s of %d in a row)",
			plural(counts.Deaths, "death"), len(lostWaits)+1)
		return interrupted(e, counts, f, lostWaits[max(counts.Deaths, 1)-1], why)
	}
	f.Kind, f.Type = FailCrashLoop, string(FailCrashLoop)
	f.Message = fmt.Sprintf("the server died %d times in a row while this run ran", counts.Deaths)
	return ended(Transition{Outcome: OutcomeInterrupted, Counts: counts, Error: f},
		ByInterrupted, because(e.Report.Notes, f.Message+": it may be what kills it"))
}

// interrupted runs again after a wait, unless the job or its deletion forbids it.
func interrupted(
	e *Ending, counts Counts, f *Failure, wait time.Duration, why string,
) Transition {
	t := Transition{Outcome: OutcomeInterrupted, Counts: counts, Error: f}
	switch {
	case e.Plan.atMostOnce:
		return ended(t, ByInterrupted, because(e.Report.Notes, why, "interrupted says fail"))
	case e.Orphaned:
		return ended(t, ByJobDeleted, because(e.Report.Notes, why, "job deleted: not started again"))
	}
	t = again(t, e.Now, wait)
	t.Decision.Action, t.Decision.By = ActionRerun, ByInterrupted
	t.Decision.Reason = because(e.Report.Notes, why,
		"this attempt is not counted, again "+inWords(wait))
	return t
}

// cutOff is the failure of an attempt that the server ended, with what came out of it.
func cutOff(e *Ending, kind FailureKind, message string) *Failure {
	f := &Failure{}
	if e.Report.Failure != nil {
		*f = *e.Report.Failure
		if f.Message != "" {
			message += "; then: " + f.Message
		}
	}
	f.Kind, f.Type, f.Message = kind, string(kind), message
	return f.Bound()
}

// timedOut is the failure of an attempt whose time was up.
func timedOut(e *Ending) *Failure {
	if f := e.Report.Failure; f != nil && f.Kind == FailTimeout {
		kept := *f
		return kept.Bound()
	}
	limit := e.Timeout
	if limit <= 0 {
		limit = e.Plan.Job.TimeoutOf()
	}
	return cutOff(e, FailTimeout, "not done within "+Duration(limit).String())
}

// failed asks who decides about a failure, then whether the budgets allow it.
func failed(e *Ending, f *Failure) Transition {
	f.Reported = e.Report.reported()
	v := judge(e, f)
	defer e.watch.saw(v)
	t := Transition{Outcome: OutcomeFailed, Counts: e.Counts, Error: f}
	t.Counts.Deaths, t.Counts.Interrupts = 0, 0
	limit := e.Plan.MaxAttempts(e.MaxAttempts)
	n, most := charge(&t.Counts, v.rule, limit)
	tally := fmt.Sprintf("attempt %d of %d failed", n, most)
	if v.ownBudget() {
		tally = fmt.Sprintf("failure %d of %d under this rule", n, most)
	}
	say := func(parts ...string) string {
		notes := slices.Concat(v.notes, e.Report.Notes)
		return because(notes, append([]string{v.why}, parts...)...)
	}
	switch {
	case !v.retry:
		return ended(t, v.by, say())
	case e.Tells != TellsNothing:
		tally = fmt.Sprintf("attempt %d of an alert failed", e.Counts.Attempt())
	case limit == 1:
		return ended(t, ByMaxAttempts, say("max_attempts is 1: never retried"))
	case n >= most:
		return ended(t, ByMaxAttempts, say(tally+": max_attempts is used up"))
	case e.MaxAttempts > 0 && t.Counts.Failures() >= e.MaxAttempts:
		return ended(t, ByMaxAttempts, say(fmt.Sprintf(
			"failure %d in all: the run's own max_attempts is used up", t.Counts.Failures())))
	}
	wait, about := v.delay(e, n)
	t = again(t, e.Now, wait)
	if last := e.Plan.maxElapsed; last != nil && e.RunAt != 0 && t.DueAt > e.RunAt.Add(last.Std()) {
		return ended(t, ByMaxElapsed, say(fmt.Sprintf(
			"%s; another try %s would come later than max_elapsed (%s after %s)",
			tally, inWords(wait), last, e.RunAt)))
	}
	if e.Tells != TellsNothing && t.DueAt > e.RunAt.Add(AlertPatience) {
		return ended(t, ByMaxElapsed, say(fmt.Sprintf("%s; another try %s would come later than %s after %s",
			tally, inWords(wait), Duration(AlertPatience), e.RunAt)))
	}
	if e.Orphaned {
		return ended(t, ByJobDeleted, say(tally, "job deleted: not retried"))
	}
	t.Decision.Action, t.Decision.By = ActionRetry, v.by
	t.Decision.Reason = say(tally + ", again " + inWords(wait) + about)
	return t
}

// charge counts a failure: against the budget of the rule that decided it where that has one,
// else against the job's. It gives what is used up of that budget and its size.
func charge(c *Counts, r *rule, limit int) (n, most int) {
	if r == nil || r.budget == "" {
		c.Charged++
		return c.Charged, limit
	}
	c.Budgets = maps.Clone(c.Budgets)
	if c.Budgets == nil {
		c.Budgets = map[string]int{}
	}
	c.Budgets[r.budget]++
	return c.Budgets[r.budget], r.most
}

// ended makes the transition one to failed.
func ended(t Transition, by, reason string) Transition {
	t.State, t.DueAt = Failed, 0
	t.Decision = Decision{Action: ActionFail, By: by, Reason: reason}
	return t
}

// again makes the transition one to another attempt after a wait, to the millisecond, never less.
func again(t Transition, now Time, wait time.Duration) Transition {
	t.State = Retrying
	if wait <= 0 {
		t.State, wait = Queued, 0
	}
	t.DueAt = now.Add(wait.Truncate(time.Millisecond))
	if wait%time.Millisecond > 0 {
		t.DueAt++
	}
	t.Decision.NextAttemptAt = t.DueAt
	return t
}

// verdict is what somebody says of a failure: the rule, the job's report or otherwise.
type verdict struct {
	retry bool
	by    string
	why   string
	rule  *rule          // where one decided
	asked *time.Duration // reported: the wait itself
	ev    *evidence
	notes []string // rules that failed
	dear  string   // one that took too long
}

// ownBudget reports whether the failure is charged to a budget of the rule's own.
func (v *verdict) ownBudget() bool { return v.rule != nil && v.rule.budget != "" }

func judge(e *Ending, f *Failure) *verdict {
	v := &verdict{ev: &evidence{facts: factsOf(e, f), failure: f, payload: e.Payload}}
	e.watch.lend(v.ev)
	if v.ask(e.Plan.own) || v.report(&e.Report) || v.ask(e.Plan.defaults) {
		return v
	}
	v.retry, v.by = e.Plan.otherwise == ThenRetry, ByOtherwise
	v.why = fmt.Sprintf("no rule matches, otherwise of %s says %s",
		e.Plan.otherwiseBy, e.Plan.otherwise)
	return v
}

// ask tries rules in order; the first that holds decides. What is left of them when they have
// taken too long together fails.
func (v *verdict) ask(rules []*rule) bool {
	spent := 0
	for _, r := range rules {
		if spent > askBudget {
			v.dear = r.by
			v.notes = append(v.notes, r.by+
				" and those after it count as not matching (those before took too long)")
			return false
		}
		value, err := v.ev.run(r.cond)
		spent += v.ev.spent()
		holds, isBool := value.(bool)
		if err == nil && !isBool && value != nil {
			err = fmt.Errorf("gave %s, not true or false", kindName(value))
		}
		if err != nil {
			v.failed(r, "%s failed and counts as not matching (%v)", err)
			continue
		}
		if !holds {
			continue
		}
		v.rule, v.by, v.retry = r, r.by, r.retry
		v.why = r.by
		if r.reason != "" {
			v.why += " (" + r.reason + ")"
		}
		v.why += " says fail"
		if r.retry {
			v.why = strings.TrimSuffix(v.why, "fail") + "retry"
		}
		return true
	}
	return false
}

// failed notes that a rule failed as it was evaluated.
func (v *verdict) failed(r *rule, format string, err error) {
	v.notes = append(v.notes, fmt.Sprintf(format, r.by, err))
	if v.ev.spent() > evalBudget {
		v.dear = r.by
	}
}

// report takes what the job itself said of another try.
func (v *verdict) report(r *Report) bool {
	if r.Retryable == nil && r.RetryAfter == nil {
		return false
	}
	v.by, v.retry = ByReported, r.Retryable == nil || *r.Retryable
	v.why = "the job reported this as worth another try"
	if !v.retry {
		v.why = "the job reported this as final"
	} else if r.RetryAfter != nil {
		v.asked = new(min(max(*r.RetryAfter, 0), maxReported))
	}
	return true
}

// delay is the wait before the next attempt after the nth failure of its budget; about adds to
// the reason where it is not simply that.
func (v *verdict) delay(e *Ending, n int) (wait time.Duration, about string) {
	switch {
	case v.asked != nil:
		wait, about = *v.asked, " as it asked"
	case v.rule != nil && v.rule.delay != nil:
		wait = v.rule.delay.Std()
	case v.rule != nil && v.rule.after != nil:
		value, err := v.ev.run(v.rule.after)
		if err == nil {
			wait, err = durationOf(value)
		}
		if err != nil {
			v.failed(v.rule, "after of %s failed, so backoff counts (%v)", err)
			wait = e.Plan.backoff.Delay(n, e.Random)
		}
	default:
		wait = e.Plan.backoff.Delay(n, e.Random)
	}
	if floor := min(e.Report.RetryAfterFloor, maxRetryAfter); floor > wait {
		return floor, " as Retry-After asks"
	}
	return wait, about
}

// because joins what is to be said of a decision, bounded; notes come last.
func because(notes []string, parts ...string) string {
	all := make([]string, 0, len(parts)+len(notes))
	all = append(append(all, parts...), notes...)
	return clipEnd(oneLine(strings.Join(all, "; ")), maxWhy)
}

func inWords(wait time.Duration) string {
	if wait <= 0 {
		return "at once"
	}
	return "in " + Duration(max(wait.Round(time.Millisecond), time.Millisecond)).String()
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
