package store

import (
	"context"

	"nightshift/jobs"
)

// KindAlert is the kind of documents of alerts.
const KindAlert = jobs.RefAlert

// Alerts holds what people were told of. The loop that tells reads events from a cursor on; which messages
// come of them it decides by what it has kept here, and keeps that with the messages and the cursor.
type Alerts interface {
	// AlertCursor is the last event that was taken in.
	AlertCursor(ctx context.Context) (int64, error)
	// Folds are what was kept under these keys; those that are not there are left out.
	Folds(ctx context.Context, keys []FoldKey) ([]Fold, error)
	// DueFolds are some of those that have something to do by now, the earliest first; next: when the next
	// one has, zero: none.
	DueFolds(ctx context.Context, now jobs.Time, limit int) (due []Fold, next jobs.Time, err error)
	// KeepAlerts keeps what the loop has decided, and makes the runs that tell, all in one transaction. Of an
	// alert that is gone nothing is kept. A run whose job does not stand is not made, its Submitted is the
	// zero value: an event alert.undelivered says so. ErrStale where the cursor is not the one that it was
	// decided by: nothing is kept.
	KeepAlerts(ctx context.Context, step AlertStep) ([]Submitted, error)
	// AlertsSince are the events after which the alerts that stand were made, by name: they tell of later
	// ones alone.
	AlertsSince(ctx context.Context) (map[string]int64, error)
	// TestAlert keeps an event that was made up, notes who asked for it, and gives its number.
	TestAlert(ctx context.Context, e Event, by By) (int64, error)
	// Happened keeps an event that no change of a run tells of, such as that the disk is low.
	Happened(ctx context.Context, e Event) error
	// Undelivered counts runs of alerts that failed for good and that nobody has dealt with, up to 1,000,
	// and gives the newest.
	Undelivered(ctx context.Context) (n int, newest jobs.ID, err error)
	Watching
}

// Tell is what the end of an attempt says to those who watch.
type Tell struct {
	// Keys are what alerts count failed runs in a row by, besides job and schedule: the name of the alert,
	// '=' and the value of its key.
	Keys []string
	// Succeeded: an alert asks for run.succeeded.
	Succeeded bool
	// ResolveEarlier: a success resolves earlier failures of the schedule, or the job.
	ResolveEarlier bool
	// Labels and CorrelationID are those of the run.
	Labels        map[string]string
	CorrelationID string
}

// FoldKey names what is kept for an alert.
type FoldKey struct{ Alert, Sort, Key string }

// Fold is something that is kept for an alert.
type Fold struct {
	FoldKey
	At  jobs.Time // when there is something to do; zero: nothing
	Doc jobs.Raw  // nil: it is to go
}

// AlertStep is what the loop has decided.
type AlertStep struct {
	Was, Cursor int64 // the one it was decided by, and the new one
	Folds       []Fold
	Subs        []Submission // runs that tell
	Now         jobs.Time
}
