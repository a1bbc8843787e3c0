package store

import "nightshift/jobs"

// Finish is the end of one attempt and what becomes of the run.
type Finish struct {
	Run        jobs.ID
	Number     int
	Job        string
	Queue      string // the job's as it stands
	Host       string // as the lease has it
	Schedule   string // of the run
	Version    int
	Priority   int
	Started    jobs.Time
	Now        jobs.Time
	HTTPStatus int
	ExitCode   int // -1: none
	OutputTail string
	Transition jobs.Transition
	Result     jobs.Raw
	Truncated  bool
	Log        []LogPiece // the last of it

	// Checkpoint is what the operation's next attempt, or slice, starts from; nil: as it was, null:
	// there is none any more. A success drops it.
	Checkpoint jobs.Raw
	// Progress is the last that the attempt has said; nil: as it was.
	Progress *jobs.Progress
	// Slices is how many requests the attempt has made one after another; 0: 1.
	Slices int
	// CheckpointKey is that of the run; nil: none.
	CheckpointKey *string
	// Until is by when a run that is Waiting now must have called back.
	Until jobs.Time
	// Told is the call that ended the attempt, so that it is known again when it is repeated: ToldComplete,
	// ToldFail; "": none.
	Told string
	// Spawn are the runs that follow, made if the finish is applied. Those whose job does not stand
	// any more are left out: the reason of the decision says so.
	Spawn []Submission
	// Group is set where a group has started: it is Waiting now.
	Group *GroupStart
	// Links are what the end matters to besides the run.
	Links Links
	// Tell is what the end says to those who watch.
	Tell Tell
	// Signal is what the end says about what the attempt called.
	Signal jobs.Signal
	// Held is the secret for want of which nothing was executed, "" where it was. The run is as it
	// was before the claim, and waits until the secret is put or all are released. Who finds the
	// secret after this was applied must release: it may have come in between.
	Held string
}

// FinishResult says whether a finish was applied.
type FinishResult struct {
	// Err is nil where it was applied; ErrLease where the attempt is not the run's any more
	// (nothing changed); ErrState where a cancel or the deletion of the job came first:
	// decide again with these.
	Err         error
	CancelAsked bool
	Orphaned    bool
	Spawned     []Submitted // those that were made
	Stop        []jobs.ID   // runs with an attempt under way that is to end: of the group it was a member of
}

// LogPiece is a piece of the output of one attempt. Pieces are numbered from 0 within an
// attempt; a piece written again replaces the one before.
type LogPiece struct {
	Run     jobs.ID
	Attempt int
	Piece   int
	Offset  int64 // of the piece in all that the attempt printed
	Data    []byte
	Drop    bool // delete the piece instead
}
