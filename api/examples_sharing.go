package api

import (
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func sampleQueue() wire.Queue {
	return wire.Queue{
		Name: "mail", Concurrency: new(2), Running: 2, Queued: 14, OldestDueAt: sampleStart,
		Jobs: []string{"mail-out"}, Set: "default",
		CreatedAt: sampleStart.Add(-72 * time.Hour), UpdatedAt: sampleStart,
	}
}

func samplePausedQueue() wire.Queue {
	q := sampleQueue()
	q.Paused, q.PauseNote, q.Running = true, "the mail server is moving", 0
	return q
}

func sampleDependency() wire.Dependency {
	return wire.Dependency{
		Name: "stripe", Kind: "named", Concurrency: new(5),
		Rate:    &jobs.Rate{Limit: 100, Per: jobs.Duration(time.Minute)},
		Breaker: jobs.DefaultBreaker(), State: "closed", InUse: 3,
		Jobs: []string{"mail-out", "nightly-sync"}, Set: "default",
		CreatedAt: sampleStart.Add(-72 * time.Hour), UpdatedAt: sampleStart,
	}
}

func sampleOpenDependency() wire.Dependency {
	d := sampleDependency()
	d.State, d.ErrorsInRow, d.InUse = "open", 5, 0
	d.Reason = new("5 errors in a row, the last: HTTP 503")
	d.OpenedAt, d.NextProbeAt = sampleStart, sampleStart.Add(30*time.Second)
	d.Waiting, d.WaitingSince = 212, sampleStart.Add(-4*time.Second)
	return d
}

func sampleTrippedDependency() wire.Dependency {
	d := sampleOpenDependency()
	d.Reason, d.ErrorsInRow = new("tripped: they asked us to stop"), 0
	d.NextProbeAt = sampleStart.Add(10 * time.Minute)
	return d
}

func samplePausedDependency() wire.Dependency {
	d := sampleDependency()
	d.Paused, d.PauseNote = true, "they deploy until 3"
	return d
}

// sampleHost is the host of webhooks whose answers carry a Retry-After.
func sampleHost() wire.Dependency {
	d := sampleDependency()
	d.Name, d.Kind, d.Set, d.Rate = "api.example.com:443", "host", "", nil
	d.Concurrency, d.InUse = new(jobs.DefaultHostConcurrency), 0
	d.HeldUntil = sampleStart.Add(90 * time.Second)
	d.Waiting, d.WaitingSince, d.Jobs = 3, sampleStart, []string{"nightly-sync"}
	return d
}
