package store

import (
	"context"

	"nightshift/jobs"
)

// Watching is what somebody is to be told of that no change of a run tells of.
type Watching interface {
	// TellLong keeps an event for each run that has taken long by now, up to limit of them; next: when
	// another one will have, zero: none.
	TellLong(ctx context.Context, now jobs.Time, limit int) (told int, next jobs.Time, err error)
	// WorkerWaits gives of each queue the first run, in the order in which they start, that has been due
	// since before a time and waits for nothing but a worker.
	WorkerWaits(ctx context.Context, before, now jobs.Time) ([]WorkerWait, error)
	// TellStanding keeps those of these events, which are all of one type, that were not told yet, and
	// forgets what was told of that type and does not stand any more: it would be told anew.
	TellStanding(ctx context.Context, kind string, list []Standing) (told int, err error)
}

// WorkerWait is a run that waits for nothing but a worker.
type WorkerWait struct {
	Queue string
	Pool  Pool
	Job   string
	Run   jobs.ID
	DueAt jobs.Time
}

// Standing is something that is told once for as long as it lasts: its subject says what it is.
type Standing struct {
	Event Event
	// Fades: it is neither bad enough to be told, nor over.
	Fades bool
}
