package wire

import "nightshift/jobs"

// RulesCheck asks what rules make of a failure: of one that is told, or of one that is recorded.
type RulesCheck struct {
	Job     string       `json:"job,omitempty" doc:"A registered job, whose rules and settings count; left out: that of the run, or none"`
	Rules   *[]jobs.Rule `json:"rules,omitempty" doc:"In place of the job's own; its policy and settings stay. Without a job: over the policy default"`
	Error   *RulesError  `json:"error,omitempty" doc:"The failure of a first attempt; or run"`
	Run     jobs.ID      `json:"run,omitempty" doc:"A run with an attempt that failed; or error"`
	Attempt *int         `json:"attempt,omitempty" doc:"With run: the number of the attempt; left out: the last that failed"`
}

// RulesError is a failure as attempts record it, and what rules know besides.
type RulesError struct {
	Kind     string         `json:"kind,omitempty" doc:"Left out: http where http is there, exit or signal where exit is"`
	Type     string         `json:"type,omitempty" doc:"Left out: the kind"`
	Message  string         `json:"message,omitempty"`
	Stack    string         `json:"stack,omitempty"`
	HTTP     *RulesHTTP     `json:"http,omitempty" doc:"The answer of a webhook"`
	Exit     *RulesExit     `json:"exit,omitempty" doc:"How a script ended"`
	Reported *jobs.Reported `json:"reported,omitempty" doc:"What the job itself said of another try"`
	Output   string         `json:"output,omitempty" doc:"Its last 4 KiB count"`
	Payload  jobs.Raw       `json:"payload,omitempty" doc:"Left out: the job's"`
	Progress *jobs.Progress `json:"progress,omitempty"`
	Elapsed  *jobs.Duration `json:"elapsed,omitempty" doc:"Since the run was first due; 0s where left out"`
}

// RulesHTTP is the answer of a webhook that failed.
type RulesHTTP struct {
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    jobs.Raw          `json:"body,omitempty" doc:"JSON, or its text as a string"`
}

// RulesExit is how a script ended.
type RulesExit struct {
	Code   *int   `json:"code,omitempty" doc:"Left out: none, it was killed by a signal"`
	Signal string `json:"signal,omitempty"`
}

// RulesChecked is what rules make of a failure.
type RulesChecked struct {
	Action string          `json:"action" enum:"retry,fail"`
	By     string          `json:"by" doc:"Who decides, such as job rule 1, policy default rule 2, otherwise, max_attempts"`
	Reason string          `json:"reason"`
	Waits  []jobs.Duration `json:"waits" doc:"Before each following attempt, were this same failure to repeat, jitter at its middle; 1000 at most"`
	End    *RulesEnd       `json:"end" doc:"What would end the run; null: there are more waits"`
}

// RulesEnd is the decision that ends a run.
type RulesEnd struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// RulesBacktest asks what rules would have made of the failures of a job.
type RulesBacktest struct {
	Job   string       `json:"job"`
	Rules *[]jobs.Rule `json:"rules,omitempty" doc:"In place of the job's own; left out: the job's as they stand"`
	Since string       `json:"since,omitempty" doc:"Attempts that ended then or later: a time (RFC 3339), or a duration ago such as 7d; left out: all that are kept"`
}
