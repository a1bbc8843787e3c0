package jobs

import "fmt"

// sliced calls a run again that has done a slice of its work: the attempt goes on, and failures are
// counted anew.
func sliced(e *Ending) Transition {
	if why := badSlice(e); why != "" {
		return failed(e, (&Failure{Kind: FailInvalid, Message: why}).Bound())
	}
	if e.Orphaned {
		f := &Failure{Kind: FailInvalid, Message: "the job was deleted before the run's next slice"}
		return ended(Transition{Outcome: OutcomeFailed, Counts: e.Counts, Error: f.Bound()}, ByJobDeleted,
			because(e.Report.Notes, "job deleted: not called again"))
	}
	return Transition{State: Running, DueAt: e.Now, Counts: Counts{Number: e.Counts.Number}}
}

// badSlice says why a run is not to be called again though it asks for it; "": it is.
func badSlice(e *Ending) string {
	const asks = "the answer asks to be called again (Nightshift-Continue)"
	value := e.Report.Checkpoint.given()
	switch {
	case value == nil:
		return asks + ` and brings no checkpoint: want one in its body, such as {"checkpoint": {"next": 100}}`
	case e.Checkpoint.given() != nil && EqualJSON(value, e.Checkpoint):
		return asks + " with the checkpoint that it was called with: it would never end"
	case e.Continues >= MaxContinues:
		return fmt.Sprintf("%s once more after %d slices: one operation has no more, so let each do more", asks, e.Continues)
	}
	if size := len(CompactASCII(value)); size > MaxHeaderCheckpoint {
		return fmt.Sprintf("%s with a checkpoint of %d bytes as ASCII: want at most %d", asks, size, MaxHeaderCheckpoint)
	}
	return ""
}

// accepted has the run wait until it is told what came of it, as those runs do that are cancelled
// when their job is deleted.
func accepted(e *Ending) Transition {
	if e.Orphaned {
		return Transition{
			State: Cancelled, Outcome: OutcomeCancelled, Counts: e.Counts,
			Decision: Decision{
				Action: ActionCancel, By: ByJobDeleted,
				Reason: because(e.Report.Notes, "job deleted: not waited for"),
			},
		}
	}
	return Transition{State: Waiting, Counts: e.Counts}
}
