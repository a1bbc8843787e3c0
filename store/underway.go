package store

import (
	"context"
	"time"

	"nightshift/jobs"
)

// Underway is what attempts say while they are under way: their run is running or waiting, and their
// number is the run's. What comes from any other attempt changes nothing and is an *OverError.
type Underway interface {
	// SaveCheckpoint keeps what an attempt has saved; null: there is none any more. It is a checkpoint
	// of the operation, or of the run's checkpoint key. Deaths of the server are counted anew from here.
	SaveCheckpoint(ctx context.Context, f Fence, value jobs.Raw, now jobs.Time) error
	// Checkpoint is what a run's operation, or checkpoint key, has saved; nil: nothing. ErrNotFound:
	// there is no such run.
	Checkpoint(ctx context.Context, run jobs.ID) (jobs.Raw, error)
	// DropCheckpoint forgets it. ErrNotFound: there is no such run, or no checkpoint.
	DropCheckpoint(ctx context.Context, run jobs.ID, by By) error
	// KeepNotes keeps the newest progress and checkpoints of several attempts. Of those that are over
	// nothing is kept.
	KeepNotes(ctx context.Context, notes []Note, now jobs.Time) error
	// Say keeps what an attempt has said of its outcome until it ends. Of completion callback, where
	// the request is still under way, that outcome outlives the server.
	Say(ctx context.Context, f Fence, said *jobs.Said) error
	// Waiting are the runs that wait for their callback, in the order of their ids.
	Waiting(ctx context.Context) ([]WaitingRun, error)
	// Lease is that of an attempt under way, as Claim gave it, with its Log.
	Lease(ctx context.Context, f Fence) (*Lease, error)
}

// Fence names one attempt of a run.
type Fence struct {
	Run    jobs.ID
	Number int
}

// Calls that end an attempt, or decide what it ends as.
const (
	ToldComplete = "complete"
	ToldFail     = "fail"
)

// OverError says that an attempt is not under way any more, or never was. It is an ErrLease.
type OverError struct {
	State jobs.State // of the run; zero: there is none any more
	Told  string     // the call that ended this attempt: see Finish.Told
}

func (e *OverError) Error() string {
	if e.State == 0 {
		return "the run is not kept any more"
	}
	return "the attempt is over: its run is " + e.State.String()
}

// Is makes it an ErrLease.
func (e *OverError) Is(target error) bool { return target == ErrLease }

// Note is what is to be kept of what an attempt has said.
type Note struct {
	Fence
	Progress   *jobs.Progress // nil: as it was
	Checkpoint jobs.Raw       // nil: as it was; null: there is none any more
}

// WaitingRun is a run that waits for its callback.
type WaitingRun struct {
	Fence
	Job       string
	Until     jobs.Time     // its deadline
	Heartbeat time.Duration // the longest silence; 0: any
}
