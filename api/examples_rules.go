package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

func sampleRulesChecked() wire.RulesChecked {
	wait := jobs.Duration(10e9)
	return wire.RulesChecked{
		Action: "retry", By: "job rule 1", Reason: "rate limited", Waits: []jobs.Duration{wait, 3 * wait},
		End: &wire.RulesEnd{By: "job rule 1", Reason: "its 3 attempts are used up"},
	}
}

func sampleBacktest() jobs.Backtest {
	ids := []jobs.ID{sampleID(sampleRequeue), sampleID(sampleRun)}
	return jobs.Backtest{
		Attempts: 1204, Spared: 31, Changed: 17,
		Changes: []jobs.DecisionChange{
			{From: "retry", To: "fail", By: "job rule 2", Count: 15, Samples: ids},
			{From: "fail", To: "retry", By: "job rule 1", Count: 2, Samples: ids[:1]},
		},
		Mistakes: []jobs.Mistake{},
	}
}
