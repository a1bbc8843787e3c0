package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
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
