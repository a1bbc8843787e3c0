package api

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

const (
	sampleGroup  = "019ad2c4-3e80-7c19-8b51-6a3f20c4d905"
	sampleMember = "019ad2c4-3f80-7d40-9a16-0b7e55f1c206"
	sampleMerge  = "019ad2c5-8610-7f02-8e9b-41d6a2c3b707"
)

// sampleStartedGroup is the run of a group whose members have not all ended.
func sampleStartedGroup() wire.Run {
	r := sampleQueued()
	r.ID, r.OperationID, r.Job, r.Version = sampleID(sampleGroup), sampleID(sampleGroup), jobs.GroupJob, 1
	r.State, r.HeldBy, r.IdempotencyKey, r.WatchURL = "waiting", nil, nil, ""
	r.Payload, r.StartedAt, r.MaxAttempts, r.Duplicate = jobs.Raw(`{"day":"2026-11-30"}`), sampleStart, new(1), nil
	return r
}

// sampleNewGroup is it as the call that made it answers.
func sampleNewGroup() wire.Run {
	r := sampleStartedGroup()
	r.State, r.StartedAt, r.Duplicate = "queued", 0, new(false)
	r.HeldBy = &jobs.HeldBy{Kind: "workers", Name: "group", Reason: "it is about to start: 0 of 2 group workers are busy"}
	r.WatchURL = "http://127.0.0.1:8700/v1/watch/" + sampleGroup + "?key=Yk3vZ0o2l4Qd3mJ8rTn1Vw"
	return r
}

// sampleEndedGroup is it with the result of its merge.
func sampleEndedGroup() wire.Run {
	r := sampleNewGroup()
	r.State, r.HeldBy, r.Duplicate = "succeeded", nil, new(true)
	r.StartedAt, r.FinishedAt = sampleStart, sampleStart.Add(90*time.Second)
	r.Result = jobs.Raw(`{"rows":2804}`)
	return r
}

func sampleListedGroup() wire.Run {
	r := sampleEndedGroup()
	r.Payload, r.Result, r.Attempts, r.Duplicate, r.WatchURL = nil, nil, nil, nil, ""
	return r
}

// sampleMembers is a group of three, of which one has failed.
func sampleMembers() wire.GroupMembers {
	member := func(name, id, state string, failure *jobs.Failure) wire.GroupMember {
		return wire.GroupMember{
			Name: name, Job: "fetch-" + name, Run: sampleID(id), State: new(state), Error: failure,
			StartedAt: sampleStart, FinishedAt: sampleStart.Add(80 * time.Second),
		}
	}
	return wire.GroupMembers{
		Items: []wire.GroupMember{
			member("orders", sampleRun, "succeeded", nil),
			member("stock", sampleMember, "failed", sampleFailure()),
			member("prices", sampleRequeue, "succeeded", nil),
		},
		Limit:  50,
		Counts: wire.GroupCounts{Members: 3, Succeeded: 2, Failed: 1}, Need: 2, Merge: new("merge-sources"),
		Deadline: sampleStart.Add(2 * time.Hour), Merges: []jobs.ID{sampleID(sampleMerge)},
	}
}

// sampleRemerged is a merge run that was asked for.
func sampleRemerged() wire.Run {
	r := sampleQueued()
	r.ID, r.OperationID, r.Job = sampleID(sampleMerge), sampleID(sampleMerge), "merge-sources"
	r.Group, r.Trigger, r.Payload = sampleID(sampleGroup), "group", jobs.Raw("{}")
	r.IdempotencyKey, r.Duplicate, r.WatchURL = nil, new(false), ""
	r.WatchURL = "http://127.0.0.1:8700/v1/watch/" + sampleMerge + "?key=Yk3vZ0o2l4Qd3mJ8rTn1Vw"
	return r
}

// sampleResults are what the merge of that group gets.
func sampleResults() []wire.GroupResult {
	result := func(name, id, state string) wire.GroupResult {
		return wire.GroupResult{Name: name, Job: "fetch-" + name, Run: sampleID(id), State: new(state), Result: rawNull}
	}
	orders, stock := result("orders", sampleRun, "succeeded"), result("stock", sampleMember, "failed")
	orders.Result = jobs.Raw(`{"rows": 1402}`)
	failure := sampleFailure()
	stock.Error = &wire.GroupError{Kind: failure.Kind, Type: failure.Type, Message: failure.Message}
	return []wire.GroupResult{orders, stock}
}
