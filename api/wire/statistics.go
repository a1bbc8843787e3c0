package wire

import "nightshift/jobs"

// Stats is what has ended in a time, and what stands now.
type Stats struct {
	Job       *string       `json:"job" doc:"null: all that the token reaches"`
	Since     jobs.Time     `json:"since" doc:"When the first step begins"`
	Until     jobs.Time     `json:"until" doc:"When the last step is over"`
	Step      jobs.Duration `json:"step" doc:"How long each is"`
	Totals    StatTotals    `json:"totals"`
	Durations StatDurations `json:"durations"`
	Series    []StatStep    `json:"series" doc:"Each step, oldest first, also those in which nothing ended"`
	Runs      *StatRuns     `json:"runs" doc:"Unfinished runs as they stand now; null: of one job, or for a token that is narrowed to some"`
	Failures  *StatFailures `json:"failures" doc:"null: as with runs"`

	MissingSecrets []string `json:"missing_secrets" doc:"Secrets that queued runs wait for: they are not set, or were sealed with another key than the server has; none where runs is null"`
}

// StatTotals are how many ended.
type StatTotals struct {
	Succeeded int64 `json:"succeeded" doc:"Runs that succeeded"`
	Failed    int64 `json:"failed" doc:"Runs that failed for good"`
	Cancelled int64 `json:"cancelled" doc:"Runs that were cancelled"`
	Retried   int64 `json:"retried" doc:"Attempts that ended and after which another one follows"`
}

// StatDurations are percentiles of how long the last attempts of runs that succeeded or failed took.
type StatDurations struct {
	P50 *jobs.Duration `json:"p50" doc:"Half of them took up to this long; null: there were none"`
	P90 *jobs.Duration `json:"p90" doc:"90 % of them took up to this long"`
	P95 *jobs.Duration `json:"p95" doc:"95 % of them took up to this long"`
	P99 *jobs.Duration `json:"p99" doc:"99 % of them took up to this long"`
}

// StatStep is what ended in one step.
type StatStep struct {
	At jobs.Time `json:"at" doc:"When it begins"`
	StatTotals
	P50 *jobs.Duration `json:"p50" doc:"Half of the last attempts took up to this long; null: there were none"`
	P95 *jobs.Duration `json:"p95" doc:"95 % of them took up to this long"`
}

// StatRuns are unfinished runs by their state.
type StatRuns struct {
	Scheduled int `json:"scheduled" doc:"Not due yet"`
	Queued    int `json:"queued" doc:"Due"`
	Running   int `json:"running" doc:"With an attempt under way, or between two slices of one"`
	Waiting   int `json:"waiting" doc:"For their callback, or the members of their group"`
	Retrying  int `json:"retrying" doc:"Tried again later"`
}

// StatFailures are failures that nobody has dealt with.
type StatFailures struct {
	Open int  `json:"open" doc:"Up to 10,000"`
	More bool `json:"more" doc:"There are more than that"`
}
