package api

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func sampleStats() wire.Stats {
	usual, long := new(jobs.Duration(512*time.Millisecond)), new(jobs.Duration(2048*time.Millisecond))
	return wire.Stats{
		Since: sampleStart, Until: sampleStart.Add(time.Hour), Step: jobs.Duration(30 * time.Minute),
		Totals:    wire.StatTotals{Succeeded: 117, Failed: 2, Retried: 9},
		Durations: wire.StatDurations{P50: usual, P90: long, P95: long, P99: long},
		Series: []wire.StatStep{
			{At: sampleStart, StatTotals: wire.StatTotals{Succeeded: 117, Failed: 2, Retried: 9}, P50: usual, P95: long},
			{At: sampleStart.Add(30 * time.Minute)},
		},
		Runs:           &wire.StatRuns{Scheduled: 14, Queued: 3, Running: 2, Retrying: 1},
		MissingSecrets: []string{"STRIPE_KEY"},
		Failures:       &wire.StatFailures{Open: 2},
	}
}
