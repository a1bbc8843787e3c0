package store

import (
	"context"
	"math/bits"
	"time"

	"nightshift/jobs"
)

// Statistics count what has ended, in the transaction in which it ends: so they are as the lists are, whatever
// crashes, and they outlive the runs.
type Statistics interface {
	// Ended are the counts of a time, oldest first: of a job, or of all; Allowed as in RunFilter.
	Ended(ctx context.Context, f EndedFilter) ([]Ended, error)
	// FoldEnded joins counts that are older than a day into hours, and deletes those older than 90 days, of one
	// job after the other; done: of all. It does something once an hour.
	FoldEnded(ctx context.Context, now jobs.Time) (done bool, err error)
	// OnEnded has fn told what has ended, after each commit in which something did. It does not block; it is given
	// before anything is written.
	OnEnded(fn func([]EndedNow))
	// OnCommit has fn called before each commit, and what it gives after it. Neither blocks; it is given before
	// anything is written.
	OnCommit(fn func() (done func()))
	// HeldRuns counts the queued runs by what they wait for, jobs.HeldWorkers and so on, as it was when they were last
	// looked at.
	HeldRuns(ctx context.Context) (map[string]int, error)
	// WantedSecrets are the secrets that queued runs wait for, sorted.
	WantedSecrets(ctx context.Context) ([]string, error)
	// Unfinished counts the runs that have not ended. It costs nothing: the number is kept.
	Unfinished(ctx context.Context) (int, error)
}

// EndedNow is a run that has ended, or an attempt after which another one follows.
type EndedNow struct {
	Job  string
	As   EndedAs
	Kind jobs.FailureKind // of one that failed, or is tried again
	// Took is how long the attempt took; Never: none was under way.
	Took  time.Duration
	Never bool
}

// How long counts are kept, and how finely.
const (
	EndedStep   = 5 * time.Minute // what one count is of
	EndedFine   = 26 * time.Hour  // older ones are of an hour
	EndedCoarse = time.Hour
	EndedKept   = 90 * 24 * time.Hour
)

// EndedFilter narrows counts.
type EndedFilter struct {
	Job          string    // "": all
	Since, Until jobs.Time // Until itself is left out
	Allowed      []string  // patterns of job names; nil: all
}

// EndedAs is what a count is of. The numbers are stored.
type EndedAs int

// What is counted: runs by how they ended, and attempts after which another one follows.
const (
	EndedSucceeded EndedAs = 1
	EndedFailed    EndedAs = 2
	EndedCancelled EndedAs = 3
	EndedRetried   EndedAs = 4
)

// Ended is a count: how many ended in the step that begins at At, and had taken about as long.
type Ended struct {
	At jobs.Time
	As EndedAs
	// Bucket is how long the last attempt took (EndedBucket).
	Bucket int
	Count  int64
	Took   time.Duration // in all
}

// EndedNever is the bucket of runs of which no attempt was under way when they ended.
const EndedNever = -1

// EndedBucket is the bucket of a duration: of those up to 1 ms, 2 ms, 4 ms, and so on.
func EndedBucket(d time.Duration) int {
	ms := d.Milliseconds()
	if ms <= 1 {
		return 0
	}
	return bits.Len64(uint64(ms - 1))
}

// EndedUpTo is the longest duration of a bucket.
func EndedUpTo(bucket int) time.Duration {
	if bucket < 0 {
		return 0
	}
	return time.Duration(int64(1)<<bucket) * time.Millisecond
}
