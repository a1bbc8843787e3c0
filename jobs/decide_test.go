package jobs

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

// at is when the attempts of the table end; the run was first due an hour before.
const at = Time(1_800_000_000_000)

type decideCase struct {
	name  string
	retry Retry
	named *Policy
	e     Ending

	state   State
	outcome Outcome
	action  string
	by      string
	wait    time.Duration // of Queued and Retrying
	charged int
	budgets int // failures in budgets of rules
	deaths  int
	kind    FailureKind // of the error; "": none
	reason  []string    // parts of the reason
}

func failHTTP(status int) *Failure {
	return &Failure{Kind: FailHTTP, Message: "answered", HTTP: &HTTPFailure{Status: status}}
}

func failExit(code int, typ string) *Failure {
	return &Failure{Kind: FailExit, Type: typ, Message: "went wrong", Exit: &ExitFailure{Code: code}}
}

func report(f *Failure) Report { return Report{Failure: f} }

func ending(f *Failure, charged int) Ending {
	return Ending{Report: report(f), Counts: Counts{Number: charged + 1, Charged: charged}}
}

func rules(r ...Rule) Retry { return Retry{Rules: r} }

var (
	rateLimited = Rule{
		If: "http.status == 429", Then: ThenRetry, MaxAttempts: new(3), Reason: "rate limited",
	}
	rateKey = rateLimited.BudgetKey("job")
	noUser  = Rule{If: `http.body.code == "no_such_user"`, Then: ThenFail, Reason: "no such user"}
	always  = Rule{If: "true", Then: ThenRetry}
	broken  = Rule{If: "payload.n / 0.0 > 1", Then: ThenRetry}
	team    = &Policy{Name: "team", MaxAttempts: new(5), Rules: []Rule{
		{If: `error.type == "Boom"`, Then: ThenRetry, After: "2m"},
	}}
)

func with(e Ending, change func(*Ending)) Ending {
	change(&e)
	return e
}

func decideCases() []decideCase {
	const second = time.Second
	reported := func(ok bool) Report {
		return Report{Failure: failExit(1, "Weird"), Retryable: &ok}
	}
	stopped := func(cause error, f *Failure) Ending {
		return Ending{Report: Report{Failure: f, Stopped: cause}, Counts: Counts{Charged: 2, Deaths: 3}}
	}
	lostAfter := func(deaths int) Ending {
		return Ending{Lost: true, Counts: Counts{Charged: 2, Deaths: deaths}}
	}
	body := func(status int, text string) *Failure {
		return &Failure{Kind: FailHTTP, HTTP: &HTTPFailure{Status: status, Body: text}}
	}
	budget := func(n, charged int) Ending {
		return Ending{
			Report: report(failHTTP(429)),
			Counts: Counts{Charged: charged, Budgets: map[string]int{rateKey: n}},
		}
	}
	atMostOnce := Retry{Interrupted: InterruptedFail}
	return []decideCase{
		// Success.
		{
			name: "success", e: ending(nil, 3), state: Succeeded, outcome: OutcomeSucceeded,
			action: "succeed", by: "success", charged: 3,
		},
		{
			name: "success ends a row of deaths", e: Ending{Counts: Counts{Deaths: 4}},
			state: Succeeded, outcome: OutcomeSucceeded, action: "succeed", by: "success",
		},
		{
			name: "success keeps notes", e: Ending{Report: Report{Notes: []string{"the result was cut"}}},
			state: Succeeded, outcome: OutcomeSucceeded, action: "succeed", by: "success",
			reason: []string{"the result was cut"},
		},
		{
			name: "success of an orphan", e: Ending{Orphaned: true},
			state: Succeeded, outcome: OutcomeSucceeded, action: "succeed", by: "success",
		},
		{
			name: "success asks no rule", retry: rules(always), e: ending(nil, 0),
			state: Succeeded, outcome: OutcomeSucceeded, action: "succeed", by: "success",
		},

		// Cancel wins over everything.
		{
			name: "cancelled though it succeeded", e: Ending{CancelAsked: true},
			state: Cancelled, outcome: OutcomeCancelled, action: "cancel", by: "cancel",
			reason: []string{"cancelled on request"},
		},
		{
			name: "cancelled for a newer tick", e: Ending{Report: Report{Stopped: ErrReplaced}},
			state: Cancelled, outcome: OutcomeCancelled, action: "cancel", by: "cancel",
			reason: []string{"a newer tick of its schedule took its place"},
		},
		{
			name: "cancelled though it failed", e: with(ending(failHTTP(500), 1), func(e *Ending) { e.CancelAsked = true }),
			state: Cancelled, outcome: OutcomeCancelled, action: "cancel", by: "cancel", charged: 1, kind: FailHTTP,
		},
		{
			name: "cancelled though lost", e: with(lostAfter(4), func(e *Ending) { e.CancelAsked = true }),
			state: Cancelled, outcome: OutcomeCancelled, action: "cancel", by: "cancel", charged: 2, deaths: 4, kind: FailLost,
		},
		{
			name: "cancelled though shut down", e: with(stopped(ErrShutdown, nil), func(e *Ending) { e.CancelAsked = true }),
			state: Cancelled, outcome: OutcomeCancelled, action: "cancel", by: "cancel", charged: 2, deaths: 3,
		},
		{
			name: "stopped for a cancel", e: stopped(ErrCancelled, failExit(143, "")),
			state: Cancelled, outcome: OutcomeCancelled, action: "cancel", by: "cancel", charged: 2, deaths: 3, kind: FailExit,
		},

		// Interrupted: uses up nothing, no rule is asked.
		{
			name: "shutdown", retry: rules(Rule{If: "true", Then: ThenFail}), e: stopped(ErrShutdown, nil),
			state: Queued, outcome: OutcomeInterrupted, action: "rerun", by: "interrupted", charged: 2, kind: FailShutdown,
			reason: []string{"the server was stopping", "not counted, again at once"},
		},
		{
			name: "shutdown with max_attempts 1", retry: Retry{MaxAttempts: new(1)}, e: stopped(ErrShutdown, failExit(143, "X")),
			state: Queued, outcome: OutcomeInterrupted, action: "rerun", by: "interrupted", charged: 2, kind: FailShutdown,
		},
		{
			name: "shutdown, at most once", retry: atMostOnce, e: stopped(ErrShutdown, nil),
			state: Failed, outcome: OutcomeInterrupted, action: "fail", by: "interrupted", charged: 2, kind: FailShutdown,
			reason: []string{"interrupted says fail"},
		},
		{
			name: "shutdown of an orphan", e: with(stopped(ErrShutdown, nil), func(e *Ending) { e.Orphaned = true }),
			state: Failed, outcome: OutcomeInterrupted, action: "fail", by: "job deleted", charged: 2, kind: FailShutdown,
		},
		{
			name: "stopped for no known cause", e: stopped(errors.New("?"), nil),
			state: Queued, outcome: OutcomeInterrupted, action: "rerun", by: "interrupted", charged: 2, kind: FailShutdown,
		},
		{
			name: "1st death", e: lostAfter(0), state: Queued, outcome: OutcomeInterrupted,
			action: "rerun", by: "interrupted", charged: 2, deaths: 1, kind: FailLost,
			reason: []string{"the server died", "1 death of 5 in a row", "again at once"},
		},
		{
			name: "2nd death", e: lostAfter(1), state: Retrying, wait: 5 * second, outcome: OutcomeInterrupted,
			action: "rerun", by: "interrupted", charged: 2, deaths: 2, kind: FailLost, reason: []string{"2 deaths of 5"},
		},
		{
			name: "3rd death", e: lostAfter(2), state: Retrying, wait: 20 * second, outcome: OutcomeInterrupted,
			action: "rerun", by: "interrupted", charged: 2, deaths: 3, kind: FailLost,
		},
		{
			name: "4th death", e: lostAfter(3), state: Retrying, wait: 60 * second, outcome: OutcomeInterrupted,
			action: "rerun", by: "interrupted", charged: 2, deaths: 4, kind: FailLost,
		},
		{
			name: "5th death", e: lostAfter(4), state: Failed, outcome: OutcomeInterrupted,
			action: "fail", by: "interrupted", charged: 2, deaths: 5, kind: FailCrashLoop,
			reason: []string{"died 5 times in a row"},
		},
		{
			name: "lost, at most once", retry: atMostOnce, e: lostAfter(0), state: Failed, outcome: OutcomeInterrupted,
			action: "fail", by: "interrupted", charged: 2, deaths: 1, kind: FailLost,
		},
		{
			name: "lost with max_attempts 1 runs again", retry: Retry{MaxAttempts: new(1)},
			e: Ending{Lost: true}, state: Queued, outcome: OutcomeInterrupted,
			action: "rerun", by: "interrupted", deaths: 1, kind: FailLost,
		},
		{
			name: "lost orphan", e: with(lostAfter(0), func(e *Ending) { e.Orphaned = true }), state: Failed,
			outcome: OutcomeInterrupted, action: "fail", by: "job deleted", charged: 2, deaths: 1, kind: FailLost,
		},
		{
			name: "a failure ends a row of deaths", e: Ending{Report: report(failHTTP(503)), Counts: Counts{Deaths: 4}},
			state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2",
			charged: 1, kind: FailHTTP,
		},

		// The policy default.
		{
			name: "timeout", e: stopped(ErrTimeout, nil), state: Retrying, wait: 90 * second, outcome: OutcomeFailed,
			action: "retry", by: "policy default rule 1", charged: 3, kind: FailTimeout,
			reason: []string{"attempt 3 of 8 failed, again in 1m30s"},
		},
		{
			name: "timeout that left an exit code", e: stopped(ErrTimeout, failExit(143, "KeyboardInterrupt")),
			state: Retrying, wait: 90 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 1",
			charged: 3, kind: FailTimeout,
		},
		{
			name: "timeouts are counted", e: with(stopped(ErrTimeout, nil), func(e *Ending) { e.Counts.Charged = 7 }),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "max_attempts", charged: 8, kind: FailTimeout,
			reason: []string{"attempt 8 of 8 failed: max_attempts is used up"},
		},
		{
			name: "connection", e: ending(&Failure{Kind: FailConnection}, 0), state: Retrying, wait: 10 * second,
			outcome: OutcomeFailed, action: "retry", by: "policy default rule 1", charged: 1, kind: FailConnection,
		},
		{
			name: "http 500", e: ending(failHTTP(500), 1), state: Retrying, wait: 30 * second,
			outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 2, kind: FailHTTP,
		},
		{
			name: "http 404", e: ending(failHTTP(404), 0), state: Failed, outcome: OutcomeFailed, action: "fail",
			by: "otherwise", charged: 1, kind: FailHTTP,
			reason: []string{"no rule matches, otherwise of policy default says fail"},
		},
		{
			name: "http 410", e: ending(failHTTP(410), 0), state: Failed, outcome: OutcomeFailed, action: "fail",
			by: "otherwise", charged: 1, kind: FailHTTP,
		},
		{
			name: "smtp 4yz", e: ending(&Failure{Kind: FailSMTP, Type: "450"}, 0), state: Retrying, wait: 10 * second,
			outcome: OutcomeFailed, action: "retry", by: "policy default rule 3", charged: 1, kind: FailSMTP,
		},
		{
			name: "smtp 5yz", e: ending(&Failure{Kind: FailSMTP, Type: "550"}, 0), state: Failed, outcome: OutcomeFailed,
			action: "fail", by: "otherwise", charged: 1, kind: FailSMTP,
		},
		{
			name: "smtp without a code", e: ending(&Failure{Kind: FailSMTP, Type: "smtp"}, 0), state: Failed,
			outcome: OutcomeFailed, action: "fail", by: "otherwise", charged: 1, kind: FailSMTP,
		},
		{
			name: "exit 75", e: ending(failExit(75, ""), 0), state: Retrying, wait: 10 * second, outcome: OutcomeFailed,
			action: "retry", by: "policy default rule 4", charged: 1, kind: FailExit,
		},
		{
			name: "exit 1", e: ending(failExit(1, ""), 0), state: Failed, outcome: OutcomeFailed, action: "fail",
			by: "otherwise", charged: 1, kind: FailExit,
		},
		{
			name: "a passing exception", e: ending(failExit(1, "requests.exceptions.ConnectTimeout"), 0), state: Retrying,
			wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 5", charged: 1, kind: FailExit,
		},
		{
			name: "blocked", e: ending(&Failure{Kind: FailBlocked}, 0), state: Failed, outcome: OutcomeFailed,
			action: "fail", by: "otherwise", charged: 1, kind: FailBlocked,
		},

		// Rules of the job and of its policy.
		{
			name: "the job's rule fails what the default retries", retry: rules(Rule{If: "http.status == 503", Then: ThenFail}),
			e: ending(failHTTP(503), 0), state: Failed, outcome: OutcomeFailed, action: "fail", by: "job rule 1",
			charged: 1, kind: FailHTTP, reason: []string{"job rule 1 says fail"},
		},
		{
			name: "the first that holds decides", retry: rules(rateLimited, noUser, always),
			e: ending(body(404, `{"code":"no_such_user"}`), 0), state: Failed, outcome: OutcomeFailed, action: "fail",
			by: "job rule 2", charged: 1, kind: FailHTTP, reason: []string{"job rule 2 (no such user) says fail"},
		},
		{
			name: "a body that is no JSON matches nothing", retry: rules(noUser), e: ending(body(404, "no_such_user"), 0),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "otherwise", charged: 1, kind: FailHTTP,
		},
		{
			name: "the payload is known", retry: rules(Rule{If: "payload.id == 9007199254740993", Then: ThenRetry}),
			e:     with(ending(failExit(1, ""), 0), func(e *Ending) { e.Payload = Raw(`{"id":9007199254740993}`) }),
			state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 1, kind: FailExit,
		},
		{
			name: "attempt counts charged failures", retry: rules(Rule{If: "attempt == 3 && max_attempts == 8", Then: ThenRetry}),
			e:     with(budget(2, 2), func(e *Ending) { e.Report = report(failExit(1, "")); e.Counts.Number = 9 }),
			state: Retrying, wait: 90 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 3, budgets: 2, kind: FailExit,
		},
		{
			name: "a rule of the policy", named: team, e: ending(failExit(1, "Boom"), 3), state: Retrying, wait: 2 * time.Minute,
			outcome: OutcomeFailed, action: "retry", by: "policy team rule 1", charged: 4, kind: FailExit,
			reason: []string{"attempt 4 of 5 failed, again in 2m"},
		},
		{
			name: "the policy's max_attempts", named: team, e: ending(failExit(1, "Boom"), 4), state: Failed,
			outcome: OutcomeFailed, action: "fail", by: "max_attempts", charged: 5, kind: FailExit,
		},
		{
			name: "the job's rule before the policy's", named: team, retry: rules(Rule{If: "true", Then: ThenFail}),
			e: ending(failExit(1, "Boom"), 0), state: Failed, outcome: OutcomeFailed, action: "fail", by: "job rule 1",
			charged: 1, kind: FailExit,
		},
		{
			name: "the job's otherwise after the default's rules", retry: Retry{Otherwise: ThenFail}, e: ending(failHTTP(503), 0),
			state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 1, kind: FailHTTP,
		},
		{
			name: "the job's otherwise", retry: Retry{Otherwise: ThenRetry}, e: ending(failExit(1, ""), 0), state: Retrying,
			wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "otherwise", charged: 1, kind: FailExit,
			reason: []string{"otherwise of job says retry"},
		},
		{
			name: "the policy's otherwise", named: &Policy{Name: "keen", Otherwise: ThenRetry}, e: ending(failExit(1, ""), 0),
			state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "otherwise", charged: 1, kind: FailExit,
			reason: []string{"otherwise of policy keen says retry"},
		},
		{
			name: "a rule that fails does not match", retry: rules(broken, always), e: ending(failExit(1, ""), 0),
			state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 2", charged: 1, kind: FailExit,
			reason: []string{"job rule 2 says retry", "job rule 1 failed and counts as not matching (line 1, column 11: /"},
		},
		{
			name: "a rule that gives a text does not match", retry: rules(Rule{If: "payload.s", Then: ThenRetry}),
			e:     with(ending(failExit(1, ""), 0), func(e *Ending) { e.Payload = Raw(`{"s":"yes"}`) }),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "otherwise", charged: 1, kind: FailExit,
			reason: []string{"job rule 1 failed and counts as not matching (gave a text, not true or false)"},
		},
		{
			name: "after at once", retry: rules(Rule{If: "true", Then: ThenRetry, After: "0s"}), e: ending(failExit(1, ""), 0),
			state: Queued, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 1, kind: FailExit,
			reason: []string{"again at once"},
		},
		{
			name: "after by an expression", retry: rules(Rule{If: "true", Then: ThenRetry, After: `duration("10s") * attempt`}),
			e: ending(failExit(1, ""), 2), state: Retrying, wait: 30 * second, outcome: OutcomeFailed, action: "retry",
			by: "job rule 1", charged: 3, kind: FailExit,
		},
		{
			name: "after by a number of the body", retry: rules(Rule{If: "true", Then: ThenRetry, After: "http.body.wait"}),
			e: ending(body(500, `{"wait":1.5}`), 0), state: Retrying, wait: 1500 * time.Millisecond, outcome: OutcomeFailed,
			action: "retry", by: "job rule 1", charged: 1, kind: FailHTTP,
		},
		{
			name: "after by a text of the body", retry: rules(Rule{If: "true", Then: ThenRetry, After: "http.body.wait"}),
			e: ending(body(500, `{"wait":"1h"}`), 0), state: Retrying, wait: time.Hour, outcome: OutcomeFailed,
			action: "retry", by: "job rule 1", charged: 1, kind: FailHTTP,
		},
		{
			name: "after that fails", retry: rules(Rule{If: "true", Then: ThenRetry, After: "http.body.wait"}),
			e: ending(body(500, `{"wait":-1}`), 1), state: Retrying, wait: 30 * second, outcome: OutcomeFailed,
			action: "retry", by: "job rule 1", charged: 2, kind: FailHTTP,
			reason: []string{"after of job rule 1 failed, so backoff counts (the number of seconds is out of range"},
		},
		{
			name: "after that gives nothing", retry: rules(Rule{If: "true", Then: ThenRetry, After: "http.body.wait"}),
			e: ending(body(500, `{}`), 0), state: Retrying, wait: 10 * second, outcome: OutcomeFailed,
			action: "retry", by: "job rule 1", charged: 1, kind: FailHTTP, reason: []string{"not nil"},
		},

		// Budgets.
		{
			name: "a rule's budget leaves the job's alone", retry: rules(rateLimited), e: budget(0, 7), state: Retrying,
			wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 7, budgets: 1, kind: FailHTTP,
			reason: []string{"job rule 1 (rate limited) says retry; failure 1 of 3 under this rule, again in 10s"},
		},
		{
			name: "backoff counts within the budget", retry: rules(rateLimited), e: budget(1, 5), state: Retrying,
			wait: 30 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 5, budgets: 2, kind: FailHTTP,
		},
		{
			name: "a budget used up fails though a later rule would retry", retry: rules(rateLimited, always), e: budget(2, 0),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "max_attempts", budgets: 3, kind: FailHTTP,
			reason: []string{"job rule 1 (rate limited)", "3 of 3", "max_attempts is used up"},
		},
		{
			name: "another failure is charged to the job", retry: rules(rateLimited, always),
			e:     with(budget(2, 1), func(e *Ending) { e.Report = report(failHTTP(400)) }),
			state: Retrying, wait: 30 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 2", charged: 2, budgets: 2, kind: FailHTTP,
		},
		{
			name:  "max_attempts 1 is never retried, whatever a rule says",
			retry: Retry{MaxAttempts: new(1), Rules: []Rule{rateLimited}}, e: budget(0, 0), state: Failed, outcome: OutcomeFailed,
			action: "fail", by: "max_attempts", budgets: 1, kind: FailHTTP, reason: []string{"max_attempts is 1: never retried"},
		},
		{
			name: "max_attempts 1 is never retried, whatever is reported", retry: Retry{MaxAttempts: new(1)},
			e: Ending{Report: reported(true)}, state: Failed, outcome: OutcomeFailed, action: "fail", by: "max_attempts",
			charged: 1, kind: FailExit,
		},
		{
			name: "max_attempts 4: the 3rd failure", retry: Retry{MaxAttempts: new(4)}, e: ending(failHTTP(500), 2), state: Retrying,
			wait: 90 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 3, kind: FailHTTP,
		},
		{
			name: "max_attempts 4: the 4th failure", retry: Retry{MaxAttempts: new(4)}, e: ending(failHTTP(500), 3), state: Failed,
			outcome: OutcomeFailed, action: "fail", by: "max_attempts", charged: 4, kind: FailHTTP,
		},
		{
			name: "the run's own cap on charged failures", e: with(ending(failHTTP(500), 1), func(e *Ending) { e.MaxAttempts = 2 }),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "max_attempts", charged: 2, kind: FailHTTP,
			reason: []string{"attempt 2 of 2"},
		},
		{
			name: "the run's own cap counts budgets too", retry: rules(rateLimited),
			e:     with(budget(1, 2), func(e *Ending) { e.MaxAttempts = 4 }),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "max_attempts", charged: 2, budgets: 2, kind: FailHTTP,
			reason: []string{"failure 4 in all: the run's own max_attempts is used up"},
		},
		{
			name: "the run's own takes the place of the job's", retry: Retry{MaxAttempts: new(2)},
			e:     with(ending(failHTTP(500), 2), func(e *Ending) { e.MaxAttempts = 10 }),
			state: Retrying, wait: 90 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 3, kind: FailHTTP,
		},

		// Reported.
		{
			name: "reported passing", e: Ending{Report: reported(true)}, state: Retrying, wait: 10 * second, outcome: OutcomeFailed,
			action: "retry", by: "reported", charged: 1, kind: FailExit, reason: []string{"worth another try"},
		},
		{
			name:  "reported final, before the default's rules",
			e:     Ending{Report: Report{Failure: failHTTP(503), Retryable: new(false)}},
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "reported", charged: 1, kind: FailHTTP,
		},
		{
			name: "the job's rules before what it reports", retry: rules(Rule{If: `error.type == "Weird"`, Then: ThenFail}),
			e: Ending{Report: reported(true)}, state: Failed, outcome: OutcomeFailed, action: "fail", by: "job rule 1", charged: 1, kind: FailExit,
		},
		{
			name: "retry_after is the wait itself", e: Ending{Report: Report{Failure: failExit(1, ""), RetryAfter: new(90 * second)}},
			state: Retrying, wait: 90 * second, outcome: OutcomeFailed, action: "retry", by: "reported", charged: 1, kind: FailExit,
			reason: []string{"again in 1m30s as it asked"},
		},
		{
			name:  "retry_after 0",
			e:     Ending{Report: Report{Failure: failExit(1, ""), RetryAfter: new(time.Duration(0))}},
			state: Queued, outcome: OutcomeFailed, action: "retry", by: "reported", charged: 1, kind: FailExit,
		},
		{
			name:  "retry_after is a day at most",
			e:     Ending{Report: Report{Failure: failExit(1, ""), RetryAfter: new(240 * time.Hour)}},
			state: Retrying, wait: 24 * time.Hour, outcome: OutcomeFailed, action: "retry", by: "reported", charged: 1, kind: FailExit,
		},
		{
			name: "final with retry_after is final", e: Ending{Report: Report{
				Failure: failExit(1, ""), RetryAfter: new(second), Retryable: new(false),
			}}, state: Failed, outcome: OutcomeFailed, action: "fail", by: "reported", charged: 1, kind: FailExit,
		},
		{
			name: "retry_after where a rule decides counts for nothing", retry: rules(always),
			e:     Ending{Report: Report{Failure: failExit(1, ""), RetryAfter: new(time.Hour)}},
			state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 1, kind: FailExit,
		},

		// Waits.
		{
			name:  "Retry-After is a floor under the backoff",
			e:     Ending{Report: Report{Failure: failHTTP(429), RetryAfterFloor: 47 * second}},
			state: Retrying, wait: 47 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 1, kind: FailHTTP,
			reason: []string{"again in 47s as Retry-After asks"},
		},
		{
			name:  "Retry-After below the backoff changes nothing",
			e:     with(ending(failHTTP(429), 2), func(e *Ending) { e.Report.RetryAfterFloor = 7 * second }),
			state: Retrying, wait: 90 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 3, kind: FailHTTP,
		},
		{
			name: "Retry-After is a floor under after", retry: rules(Rule{If: "true", Then: ThenRetry, After: "1s"}),
			e:     Ending{Report: Report{Failure: failHTTP(429), RetryAfterFloor: 7 * second}},
			state: Retrying, wait: 7 * second, outcome: OutcomeFailed, action: "retry", by: "job rule 1", charged: 1, kind: FailHTTP,
		},
		{
			name:  "Retry-After is an hour at most",
			e:     Ending{Report: Report{Failure: failHTTP(429), RetryAfterFloor: 7 * time.Hour}},
			state: Retrying, wait: time.Hour, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 1, kind: FailHTTP,
		},
		{
			name: "a note of the kind is in the reason", e: Ending{Report: Report{
				Failure: failHTTP(429), Notes: []string{`Retry-After unreadable: "soon"`},
			}}, state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry", by: "policy default rule 2",
			charged: 1, kind: FailHTTP, reason: []string{`; Retry-After unreadable: "soon"`},
		},
		{
			name: "no backoff past max", e: ending(failHTTP(500), 6), state: Retrying, wait: 30 * time.Minute, outcome: OutcomeFailed,
			action: "retry", by: "policy default rule 2", charged: 7, kind: FailHTTP,
		},
		{
			name: "an explicit base above the inherited max", retry: Retry{Backoff: &Backoff{Base: new(Duration(time.Hour))}},
			e: ending(failHTTP(500), 3), state: Retrying, wait: time.Hour, outcome: OutcomeFailed, action: "retry",
			by: "policy default rule 2", charged: 4, kind: FailHTTP,
		},
		{
			name: "fixed", retry: Retry{Backoff: &Backoff{Kind: BackoffFixed, Base: new(Duration(second))}},
			e: ending(failHTTP(500), 5), state: Retrying, wait: second, outcome: OutcomeFailed, action: "retry",
			by: "policy default rule 2", charged: 6, kind: FailHTTP,
		},
		{
			name: "a base of 0", retry: Retry{Backoff: &Backoff{Base: new(Duration(0))}}, e: ending(failHTTP(500), 5), state: Queued,
			outcome: OutcomeFailed, action: "retry", by: "policy default rule 2", charged: 6, kind: FailHTTP,
		},
		{
			name: "no retry past max_elapsed", retry: Retry{MaxElapsed: new(Duration(time.Hour + 5*second))},
			e: ending(failHTTP(500), 0), state: Failed, outcome: OutcomeFailed, action: "fail", by: "max_elapsed", charged: 1, kind: FailHTTP,
			reason: []string{"attempt 1 of 8 failed; another try in 10s would come later than max_elapsed (1h5s after "},
		},
		{
			name: "a retry at max_elapsed", retry: Retry{MaxElapsed: new(Duration(time.Hour + 10*second))},
			e: ending(failHTTP(500), 0), state: Retrying, wait: 10 * second, outcome: OutcomeFailed, action: "retry",
			by: "policy default rule 2", charged: 1, kind: FailHTTP,
		},

		// Orphans.
		{
			name: "a failed orphan", e: with(ending(failHTTP(500), 0), func(e *Ending) { e.Orphaned = true }), state: Failed,
			outcome: OutcomeFailed, action: "fail", by: "job deleted", charged: 1, kind: FailHTTP, reason: []string{"job deleted"},
		},
		{
			name: "an orphan that a rule fails", retry: rules(Rule{If: "true", Then: ThenFail}),
			e:     with(ending(failHTTP(500), 0), func(e *Ending) { e.Orphaned = true }),
			state: Failed, outcome: OutcomeFailed, action: "fail", by: "job rule 1", charged: 1, kind: FailHTTP,
		},
	}
}

func TestDecide(t *testing.T) {
	cases := decideCases()
	if len(cases) < 60 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan, err := Compile(&Job{Name: "j", Retry: c.retry}, c.named, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.e.Plan, c.e.Now, c.e.RunAt, c.e.Random = plan, at, at.Add(-time.Hour), 0.5
			before := maps.Clone(c.e.Counts.Budgets)
			got := Decide(c.e)
			if !maps.Equal(before, c.e.Counts.Budgets) {
				t.Error("the counts that came in were changed")
			}
			checkTransition(t, c, got)
		})
	}
}

func checkTransition(t *testing.T, c decideCase, got Transition) {
	t.Helper()
	want := Time(0)
	if c.state == Queued || c.state == Retrying {
		want = at.Add(c.wait)
	}
	if got.State != c.state || got.DueAt != want || got.Outcome != c.outcome {
		t.Errorf("%s, due in %s, attempt %s; want %s, in %s, %s",
			got.State, got.DueAt.Sub(at), got.Outcome, c.state, c.wait, c.outcome)
	}
	d := got.Decision
	if d.Action != c.action || d.By != c.by || d.NextAttemptAt != got.DueAt {
		t.Errorf("decision %+v; want %s by %s", d, c.action, c.by)
	}
	n := got.Counts
	if n.Charged != c.charged || n.Failures()-n.Charged != c.budgets || n.Deaths != c.deaths ||
		n.Number != c.e.Counts.Number {
		t.Errorf("counts %+v; want %d charged, %d in budgets, %d deaths", n, c.charged, c.budgets, c.deaths)
	}
	if kind := kindOf(got.Error); kind != c.kind {
		t.Errorf("error %v; want kind %q", got.Error, c.kind)
	}
	for _, part := range c.reason {
		if !strings.Contains(d.Reason, part) {
			t.Errorf("reason %q lacks %q", d.Reason, part)
		}
	}
	if c.reason == nil && c.action == "succeed" && d.Reason != "" {
		t.Errorf("a success without notes has the reason %q", d.Reason)
	}
	if c.action != "succeed" && d.Reason == "" {
		t.Error("no reason")
	}
}

func kindOf(f *Failure) FailureKind {
	if f == nil {
		return ""
	}
	return f.Kind
}

func TestDecideKeepsTheOriginalErrorApartFromTheVerdict(t *testing.T) {
	plan, err := Compile(&Job{Retry: rules(Rule{If: "false", Then: ThenFail}, broken)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := failExit(3, "ValidationError")
	got := Decide(Ending{Plan: plan, Report: report(f), Now: at, RunAt: at})
	if got.Error.Message != "went wrong" || got.Error.Type != "ValidationError" || got.Error.Exit.Code != 3 {
		t.Errorf("error is %+v", got.Error)
	}
	if strings.Contains(got.Decision.Reason, "went wrong") {
		t.Errorf("reason is %q", got.Decision.Reason)
	}
}

func TestDecideTellsWhatCameOutOfAnInterruptedAttempt(t *testing.T) {
	plan, err := Compile(&Job{Timeout: new(Duration(90 * time.Second))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]Ending{
		"not done within 1m30s":                               {Report: Report{Stopped: ErrTimeout}},
		"not done within 5s; then: went wrong":                {Report: Report{Stopped: ErrTimeout, Failure: failExit(143, "X")}, Timeout: 5 * time.Second},
		"the server was stopping; then: went wrong":           {Report: Report{Stopped: ErrShutdown, Failure: failExit(143, "X")}},
		"the server died while this attempt ran":              {Lost: true},
		"the server died 5 times in a row while this run ran": {Lost: true, Counts: Counts{Deaths: 4}},
		"as the kind said":                                    {Report: Report{Stopped: ErrTimeout, Failure: &Failure{Kind: FailTimeout, Message: "as the kind said"}}},
	} {
		e.Plan, e.Now = plan, at
		got := Decide(e).Error
		if got.Message != want || got.Type != string(got.Kind) {
			t.Errorf("got %q of type %q, want %q", got.Message, got.Type, want)
		}
		if e.Report.Failure != nil && e.Report.Failure.Exit != nil && got.Exit == nil {
			t.Errorf("%s: the exit code is gone", want)
		}
	}
}

func TestDecideWithoutAPlanFollowsTheDefaults(t *testing.T) {
	got := Decide(Ending{Report: report(failHTTP(503)), Now: at, Random: 0.5})
	if got.State != Retrying || got.Decision.By != "policy default rule 2" {
		t.Errorf("got %+v", got)
	}
	got = Decide(Ending{Report: report(failHTTP(503)), Now: at, Orphaned: true})
	if got.State != Failed || got.Decision.By != ByJobDeleted {
		t.Errorf("got %+v", got)
	}
}

func BenchmarkDecide(b *testing.B) {
	plan, err := Compile(&Job{Name: "j", Retry: rules(rateLimited, noUser)}, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, e := range map[string]Ending{
		"success": {}, "job rule": {Report: report(failHTTP(429))}, "no rule": {Report: report(failExit(1, "ValidationError"))},
	} {
		b.Run(name, func(b *testing.B) {
			e.Plan, e.Now, e.RunAt = plan, at, at
			b.ReportAllocs()
			for b.Loop() {
				if got := Decide(e); got.State == 0 {
					b.Fatal("no state")
				}
			}
		})
	}
}
