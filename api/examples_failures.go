package api

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

const (
	sampleFingerprint = "9f2c41d07be85a36"
	sampleOrderID     = "019ad2d3-51e0-7c08-a1f4-93be60d7c403"
)

func sampleFailureRow() wire.FailureRow {
	return wire.FailureRow{
		ID: sampleID(sampleRun), JobType: "nightly-sync", ErrorType: "http", ErrorKind: "http",
		ErrorMessage: "503 Service Unavailable", Retries: 1, Status: "open", CreatedAt: sampleStart,
		LastAttemptAt: sampleStart.Add(12 * time.Second), Fingerprint: sampleFingerprint,
	}
}

// sampleFailureDetail is a failure that nobody has dealt with.
func sampleFailureDetail() wire.FailureDetail {
	run := sampleEnded()
	attempts := *run.Attempts
	last := attempts[0]
	last.Number, last.StartedAt, last.FinishedAt = 2, attempts[1].StartedAt, attempts[1].FinishedAt
	last.Decision = &jobs.Decision{Action: "fail", By: "max_attempts", Reason: "2 of 2 attempts are used up"}
	run.State, run.Result, run.Progress, run.Payload, run.Attempts, run.WatchURL = "failed", nil, nil, nil, nil, ""
	run.MaxAttempts = new(2)
	return wire.FailureDetail{
		FailureRow: sampleFailureRow(), Payload: jobs.Raw(`{"since":"2026-11-29"}`), Error: sampleFailure(),
		Attempts: []wire.Attempt{attempts[0], last}, Chain: []wire.Run{run},
	}
}

func sampleDealt(status, note string) wire.FailureDetail {
	f := sampleFailureDetail()
	f.Status, f.Note, f.ResolvedBy = status, new(note), new("token deploy")
	f.DealtAt = sampleStart.Add(time.Hour)
	return f
}

// sampleRetrying is a run that is tried again.
func sampleRetrying() wire.FailureDetail {
	f := sampleFailureDetail()
	f.Status, f.Attempts, f.Retries = "will_retry", f.Attempts[:1], 0
	f.LastAttemptAt, f.NextAttemptAt = f.Attempts[0].FinishedAt, f.Attempts[0].Decision.NextAttemptAt
	run := &f.Chain[0]
	run.State, run.FinishedAt, run.NextAttemptAt = "retrying", 0, f.NextAttemptAt
	return f
}

func sampleIgnored() wire.FailureDetail {
	f := sampleDealt("ignored", "they are moving house")
	f.Until = jobs.TimeOf(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))
	return f
}

func sampleFailureGroup() wire.FailureGroup {
	return wire.FailureGroup{
		Fingerprint: sampleFingerprint, JobType: "nightly-sync", ErrorKind: "http", ErrorType: "http",
		ErrorMessage: "503 Service Unavailable", Count: 214, Open: 12, FirstAt: sampleStart.Add(-72 * time.Hour),
		LastAt: sampleStart.Add(12 * time.Second), Status: "open", LastRun: sampleID(sampleRun),
	}
}

// sampleOrder is an order that has made its runs.
func sampleOrder() wire.Order {
	return wire.Order{
		ID: sampleID(sampleOrderID), Action: "requeue", State: "made", Count: 214, Done: 213, Skipped: 1,
		Skips:     []wire.OrderSkip{{ID: sampleID(sampleRun), Reason: "it was resolved meanwhile"}},
		Succeeded: 140, Failed: 2, Rate: new("10/s"), StopAfter: new(5), Note: new("the API is back"),
		CreatedAt: sampleStart.Add(time.Hour),
	}
}

func sampleStoppedOrder() wire.Order {
	o := sampleOrder()
	o.State, o.Reason, o.Failed, o.Cancelled = "stopped", new("5 of its runs have failed again"), 5, 68
	o.EndedAt = o.CreatedAt.Add(15 * time.Second)
	return o
}

func sampleTried() wire.OrderTried {
	return wire.OrderTried{Count: 214, Samples: []wire.OrderSample{{
		ID: sampleID(sampleRun), Job: "nightly-sync", Before: jobs.Raw(`{"since":"2026-11-29","mode":"full"}`),
		After: jobs.Raw(`{"since":"2026-11-29","mode":"delta"}`),
	}}}
}

// failureSamples are the examples of failures and orders.
func failureSamples() map[sampleKey][]sample {
	return map[sampleKey][]sample{
		{id: "get-failure", status: 200}: {
			{"open", "One that nobody has dealt with", sampleFailureDetail()},
			{"retrying", "One that is tried again", sampleRetrying()},
			{"resolved", "One that was resolved", sampleDealt("resolved", "done by hand")},
		},
		{id: "resolve-failure"}:              {{"note", "", jobs.Raw(`{"note": "done by hand"}`)}},
		{id: "resolve-failure", status: 200}: {{"resolved", "", sampleDealt("resolved", "done by hand")}},
		{id: "ignore-failure"}: {
			{"while", "Until they have moved", jobs.Raw(`{"note": "they are moving house", "until": "2099-01-01T00:00:00Z"}`)},
			{"empty", "For good", jobs.Raw(`{}`)},
		},
		{id: "ignore-failure", status: 200}:  {{"ignored", "", sampleIgnored()}},
		{id: "requeue-failure", status: 202}: {{"new", "", sampleRequeued()}},
		{id: "requeue-failure", status: 200}: {{"standing", "", sampleRequeued()}},
		{id: "requeue-failure"}: {
			{"again", "With the payload as it was", jobs.Raw(`{"note": "the API is back"}`)},
			{"patched", "With one member changed and one taken away", jobs.Raw(`{"patch": {"mode": "delta", "page": null}}`)},
		},
		{id: "requeue-failures", status: 202}: {{"taken", "", wire.Ordered{ID: sampleID(sampleOrderID), Count: 214}}},
		{id: "requeue-failures", status: 200}: {{"tried", "", sampleTried()}},
		{id: "requeue-failures"}: {
			{"job", "All open ones of a job, gently, and only while it goes well", jobs.Raw(`{
				"filter": {"job": "nightly-sync", "error_kind": "http"},
				"rate": "10/s", "stop_after": 5, "note": "the API is back"
			}`)},
			{"patched", "What a patch would make of the payloads of a group", jobs.Raw(`{
				"filter": {"fingerprint": "` + sampleFingerprint + `"},
				"patch": {"mode": "delta"}, "dry_run": true
			}`)},
			{"ids", "These", jobs.Raw(`{"ids": ["` + sampleRun + `"]}`)},
		},
		{id: "resolve-failures", status: 202}: {{"taken", "", wire.Ordered{ID: sampleID(sampleOrderID), Count: 214}}},
		{id: "resolve-failures", status: 200}: {{"tried", "", sampleTriedResolve()}},
		{id: "resolve-failures"}: {
			{"all", "All that are open", jobs.Raw(`{"all": true, "note": "Monday"}`)},
			{"old", "Those of last year", jobs.Raw(`{"filter": {"until": "2026-01-01T00:00:00Z"}, "note": "too late"}`)},
		},
		{id: "ignore-failures", status: 202}: {{"taken", "", wire.Ordered{ID: sampleID(sampleOrderID), Count: 214}}},
		{id: "ignore-failures", status: 200}: {{"tried", "", sampleTriedResolve()}},
		{id: "ignore-failures"}: {
			{"group", "A group, until they have moved", jobs.Raw(`{
				"filter": {"fingerprint": "` + sampleFingerprint + `"},
				"until": "2099-01-01T00:00:00Z", "note": "they are moving house"
			}`)},
		},
		{id: "get-order", status: 200}: {
			{"made", "Its runs are made, and some have not ended", sampleOrder()},
			{"stopped", "Too many failed again", sampleStoppedOrder()},
		},
		{id: "stop-order", status: 200}: {{"stopped", "", sampleStopped()}},
	}
}

// sampleTriedResolve is an order that requeues nothing.
func sampleTriedResolve() wire.OrderTried {
	tried := sampleTried()
	tried.Samples[0].After = rawNull
	return tried
}

// sampleStopped is an order that somebody called off.
func sampleStopped() wire.Order {
	o := sampleStoppedOrder()
	o.Reason, o.Failed, o.Cancelled = new("called off by token deploy"), 2, 71
	return o
}
