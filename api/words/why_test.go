package words

import (
	"testing"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func TestASentenceSaysWhereLongWorkStands(t *testing.T) {
	now := time.Date(2026, 12, 1, 15, 0, 0, 0, time.Local)
	at := func(d time.Duration) jobs.Time { return jobs.TimeOf(now.Add(d)) }
	attempts := func(slices int) *[]wire.Attempt {
		return &[]wire.Attempt{{Number: 1, StartedAt: at(-time.Hour)}, {Number: 2, StartedAt: at(-time.Minute), Slices: slices}}
	}
	half := &jobs.Progress{Done: 40, Total: 100, Note: "customers A\nto K"}
	for want, run := range map[string]wire.Run{
		"It runs since 2026-12-01 14:59:00.": {State: "running", Attempts: attempts(1)},
		"It runs since 2026-12-01 14:59:00. Progress: 40 of 100 (40 %): customers A to K.": {
			State: "running", Attempts: attempts(1), Progress: half,
		},
		"It runs since 2026-12-01 14:59:00. Progress: 12.5.": {
			State: "running", Attempts: attempts(1), Progress: &jobs.Progress{Done: 12.5},
		},
		"It runs since 2026-12-01 14:59:00. Progress: 3e+200 of 1.": {
			State: "running", Attempts: attempts(1), Progress: &jobs.Progress{Done: 3e200, Total: 1},
		},
		"It runs since 2026-12-01 14:59:00, in 3 slices so far. Its next slice has not started: the queue etl is full.": {
			State: "running", Attempts: attempts(3), HeldBy: &jobs.HeldBy{Kind: jobs.HeldQueue, Name: "etl", Reason: "the queue etl is full"},
		},
		"It is being stopped since 2026-12-01 14:59:55; then it is cancelled. Progress: 1.": {
			State: "running", Attempts: attempts(1), CancelRequestedAt: at(-5 * time.Second), Progress: &jobs.Progress{Done: 1},
		},
		"It waits for its callback since 2026-12-01 14:59:00. It must have called back by 2026-12-01 15:01:30 (in 1m30s). Progress: 40 of 100 (40 %): customers A to K.": {
			State: "waiting", Attempts: attempts(1), WaitingUntil: at(90 * time.Second), Progress: half,
		},
		"It holds no worker: it waits for its members, and for what merges them.": {State: "waiting"},
		"It succeeded after 2 attempts. Its result was larger than 64 KiB and is not kept.": {
			State: "succeeded", Attempts: attempts(1), ResultTruncated: true,
		},
		"It has not started: an earlier run of the checkpoint key may has not ended.": {
			State: "queued", HeldBy: jobs.HeldByCheckpoint("may", jobs.NilID),
		},
	} {
		if got := (At{Now: now}).Why(&run); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestADecisionSaysAlsoOfASuccessWhatIsWorthKnowing(t *testing.T) {
	for want, d := range map[string]jobs.Decision{
		"done": {Action: jobs.ActionSucceed, By: jobs.BySuccess},
		"done: 1 process that it left behind was killed": {
			Action: jobs.ActionSucceed, By: jobs.BySuccess, Reason: "1 process that it left behind was killed",
		},
		"tried again: rate limited": {Action: jobs.ActionRetry, By: "job rule 1", Reason: "rate limited"},
		"cancelled: cancel":         {Action: jobs.ActionCancel, By: jobs.ByCancel},
	} {
		if got := Decision(&d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
