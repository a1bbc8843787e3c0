package store

import (
	"context"

	"nightshift/jobs"
)

// Copies is what a store that is one file says of it and of its copies.
type Copies interface {
	// Backup writes a whole copy with everything that was committed before the call under the name dest,
	// replacing what is there only once the copy has been checked. It may take long, holds nobody up, and is
	// given up with ctx. The copy says that it is one: where it is served, it is held.
	Backup(ctx context.Context, dest string, now jobs.Time) (Copy, error)
	// Copy reads what a copy says of itself. ErrNotFound where there is no file.
	Copy(ctx context.Context, path string) (Copy, error)
	// Restored says why nothing may start; nil: it may.
	Restored(ctx context.Context) (*Restored, error)
	// LetGo ends that; it is noted in the audit.
	LetGo(ctx context.Context, by By) error
	// CancelWaiting cancels up to limit runs that are scheduled, queued, retrying or waiting, those that wait from
	// after on; done: there was none but those. Of a group whose members run, it asks for that.
	CancelWaiting(ctx context.Context, after int64, limit int, by By) (CancelledSome, error)
}

// CancelledSome is a step of CancelWaiting.
type CancelledSome struct {
	Runs []jobs.ID // that have ended, those of groups not counted
	Stop []jobs.ID // with an attempt under way that is to end
	Next int64     // to go on after
	Done bool
}

// Copy is what a backup says of itself.
type Copy struct {
	Path string    `json:"-"`
	Size int64     `json:"-"`
	Of   string    `json:"-"`     // the path of the file that it is a copy of
	File string    `json:"-"`     // names that file, whatever its path; "": it was made before files had names
	AsOf jobs.Time `json:"as_of"` // everything acknowledged before is in it
	Run  jobs.ID   `json:"run"`   // the newest there was, deleted or not; nil: there was none
	// Foreign: it is of another file than the store's, be it one that had its path; what it holds may be nowhere else.
	Foreign bool `json:"-"`
}

// HeldWhy is why nothing starts of a file.
type HeldWhy string

// What holds a file.
const (
	HeldBackup    HeldWhy = "backup"    // it is one
	HeldElsewhere HeldWhy = "elsewhere" // this path did not serve it last
	HeldNoLog     HeldWhy = "no_log"    // its server died, and somebody removed the log with the last writes
)

// Restored is kept in the file until somebody lets it go.
type Restored struct {
	Why   HeldWhy   `json:"why"`
	Since jobs.Time `json:"since"`
	AsOf  jobs.Time `json:"as_of,omitempty"` // of a backup
}

// Verified is what was found in a file.
type Verified struct {
	Path   string
	Size   int64
	Copy   *Copy // nil: the file is no backup
	Schema int64 // version of its tables
	// Whole: every page was read, not only what holds them together.
	Whole  bool
	Served bool // a server is at work on it, or died at it
	// Skipped says why what the rows mean was not looked at; "": it was.
	Skipped  string
	Problems []Problem
	Counts   FileCounts
}

// Problem is something that must not be.
type Problem struct {
	What    string // in a sentence
	Count   int
	Samples []string // of Count, the first few
}

// FileCounts is how much there is in a file.
type FileCounts struct {
	Jobs, Schedules int
	Runs            map[jobs.State]int
	OpenFailures    int
	Events, Audit   int
	Newest          jobs.ID // run; nil: none is kept
	Secrets         []string
}
