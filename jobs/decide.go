package jobs

// Ending is all that the decision about an ended attempt may depend on.
type Ending struct {
	Plan        *Plan // the job as it stands, compiled
	Counts      Counts
	MaxAttempts int  // the run's own cap; 0: the job's
	RunAt       Time // when the run was first due
	CancelAsked bool // acknowledged as cancelled: it ends so whatever came out
	Orphaned    bool // the job is deleted or the run may not start again: ends without retry

	Report  Report
	Payload Raw
	Lost    bool    // the server died under it
	Now     Time    // when the attempt ended
	Random  float64 // in [0, 1)
}

// Transition is what becomes of the run.
type Transition struct {
	State    State // Succeeded, Failed, Cancelled, Queued or Retrying
	DueAt    Time  // for Queued and Retrying
	Outcome  Outcome
	Counts   Counts
	Error    *Failure // of the attempt; nil where it succeeded
	Decision Decision
}
