package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

// Examples of what is answered.
var (
	sampleChecked = wire.RulesChecked{
		Action: jobs.ActionRetry, By: "policy default rule 2",
		Reason: "policy default rule 2 (a status that passes often) says retry; attempt 1 of 4 failed, again in 30s as Retry-After asks",
		Waits:  []jobs.Duration{30e9, 30e9, 90e9},
		End: &wire.RulesEnd{
			By: jobs.ByMaxAttempts,
			Reason: "policy default rule 2 (a status that passes often) says retry; attempt 4 of 4 failed: " +
				"max_attempts is used up",
		},
	}
	sampleBacktest = jobs.Backtest{
		Attempts: 412, Spared: 20, Changed: 51,
		Changes: []jobs.DecisionChange{
			{From: "fail", To: "retry", By: "job rule 1", Count: 41, Samples: []jobs.ID{sampleID(sampleRun)}},
			{From: "retry", To: "fail", By: "max_attempts", Count: 10, Samples: []jobs.ID{sampleID(sampleRequeue)}},
		},
		Mistakes: []jobs.Mistake{},
	}
)

func ruleRoutes() []*route {
	return []*route{
		{
			method: "POST", path: "/v1/rules/check", opens: scopeRead, body: maxBody, handle: checkRules,
			tag: "rules", id: "check-rules", summary: "Ask what rules make of a failure",
			more: "Of one that is told in error, or of one that is recorded: run. The waits are those before " +
				"each following attempt were the same failure to repeat until it ends the run: each such " +
				"attempt takes as long as the recorded one, or no time. Jitter counts at its middle. What a " +
				"run had used up before the attempt is rebuilt by the rules that are asked.",
			in:       wire.RulesCheck{},
			out:      []outcome{{status: 200, body: wire.RulesChecked{}}},
			problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: "/v1/rules/backtest", opens: scopeRead, body: maxBody,
			handle: backtest, tag: "rules", id: "backtest-rules",
			summary: "Ask what rules would have made of recorded failures",
			more: "Replays the failed attempts of a job in their order, run by run, with what the rules " +
				"themselves would have used up. A run whose failure would have come earlier changes once; its " +
				"later attempts count as spared. Attempts that the server or a cancel ended are not asked " +
				"about. A rule that takes too long ends it with 422. It ends when its caller leaves.",
			in:       wire.RulesBacktest{},
			out:      []outcome{{status: 200, body: jobs.Backtest{}}},
			problems: []problemKind{probNotFound},
		},
	}
}
