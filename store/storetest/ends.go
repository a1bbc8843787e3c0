package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// The ends of attempts, as jobs.Decide would make them.

func (w *world) succeeded(l store.Lease) store.Finish {
	f := w.ended(l, jobs.Succeeded, jobs.OutcomeSucceeded)
	f.Transition.Decision = jobs.Decision{Action: "succeed", By: "success"}
	f.Transition.Error, f.HTTPStatus = nil, 200
	f.Result = jobs.Raw(`{ "ok":  true }`)
	return f
}

func (w *world) failed(l store.Lease) store.Finish {
	f := w.ended(l, jobs.Failed, jobs.OutcomeFailed)
	f.Transition.Decision = jobs.Decision{
		Action: "fail",
		By:     "max_attempts",
		Reason: "the last one",
	}
	f.Transition.Counts.Charged++
	return f
}

// retrying waits for d before the next attempt.
func (w *world) retrying(l store.Lease, d time.Duration) store.Finish {
	f := w.ended(l, jobs.Retrying, jobs.OutcomeFailed)
	f.Transition.DueAt = w.now.Add(d)
	f.Transition.Counts.Charged++
	f.Transition.Decision = jobs.Decision{
		Action: "retry", By: "otherwise", Reason: "again", NextAttemptAt: f.Transition.DueAt,
	}
	return f
}

// interrupted runs again at once.
func (w *world) interrupted(l store.Lease) store.Finish {
	f := w.ended(l, jobs.Queued, jobs.OutcomeInterrupted)
	f.Transition.DueAt = w.now
	f.Transition.Counts.Deaths++
	f.Transition.Counts.Interrupts++
	f.Transition.Error.Kind = jobs.FailLost
	f.Transition.Decision = jobs.Decision{Action: "rerun", By: "interrupted", NextAttemptAt: w.now}
	return f
}

func (w *world) cancelled(l store.Lease) store.Finish {
	f := w.ended(l, jobs.Cancelled, jobs.OutcomeCancelled)
	f.Transition.Decision = jobs.Decision{Action: "cancel", By: "cancel", Reason: "asked for"}
	f.Transition.Error = nil
	return f
}

// sliced is a good slice of an attempt: the next one is due now, and goes on from what this one saved.
func (w *world) sliced(l store.Lease, checkpoint string) store.Finish {
	f := w.ended(l, jobs.Running, 0)
	f.Transition.DueAt, f.Transition.Counts = w.now, jobs.Counts{Number: l.Run.Counts.Number}
	f.Transition.Error, f.HTTPStatus, f.Checkpoint = nil, 200, jobs.Raw(checkpoint)
	return f
}

// accepted has a run wait for its callback.
func (w *world) accepted(l store.Lease, d time.Duration) store.Finish {
	f := w.ended(l, jobs.Waiting, 0)
	f.Transition.Error, f.HTTPStatus, f.Until = nil, 202, w.now.Add(d)
	f.Signal = jobs.Signal{HTTPStatus: 202, ExitCode: -1, Taken: true}
	return f
}

func (w *world) ended(l store.Lease, s jobs.State, o jobs.Outcome) store.Finish {
	return store.Finish{
		Run: l.Run.ID, Number: l.Run.Counts.Number, Job: l.Run.Job, Host: l.Host, Queue: "default",
		Version: l.Run.Version, Priority: l.Run.Priority, Started: l.Started, Now: w.now, ExitCode: -1,
		Schedule: l.Run.Schedule, Slices: l.Run.Slices + 1, CheckpointKey: l.Run.Keys.Checkpoint, Links: store.LinksOf(l.Run),
		Transition: jobs.Transition{
			State: s, Outcome: o, Counts: l.Run.Counts,
			Error: &jobs.Failure{
				Kind: jobs.FailHTTP, Type: "Unavailable", Message: "503 from upstream", Stack: "at line 1",
				HTTP: &jobs.HTTPFailure{
					Status:  503,
					Headers: map[string]string{"a": "b"},
					Body:    "no",
				},
			},
		},
	}
}

// finish ends attempts without claiming anything.
func (w *world) finish(fs ...store.Finish) []store.FinishResult {
	w.Helper()
	return w.claim(store.Claim{Finished: fs, Hold: true}).Results
}

// apply ends one attempt, which must be accepted.
func (w *world) apply(f store.Finish) {
	w.Helper()
	if res := w.finish(f)[0]; res.Err != nil {
		w.Fatalf("finish refused: %+v", res)
	}
}

func (w *world) succeed(l store.Lease) {
	w.Helper()
	w.apply(w.succeeded(l))
}

// goOn ends a slice of an attempt and gives the lease of the next.
func (w *world) goOn(l store.Lease, checkpoint string) store.Lease {
	w.Helper()
	w.apply(w.sliced(l, checkpoint))
	return w.takeThis(l.Run.ID)
}

// await has a run wait for its callback, for an hour.
func (w *world) await(l store.Lease) {
	w.Helper()
	w.apply(w.accepted(l, time.Hour))
}

// callback is the lease of a run that waits, as who is called back gets it.
func (w *world) callback(l store.Lease) store.Lease {
	w.Helper()
	got, err := w.Lease(w.ctx, store.Fence{Run: l.Run.ID, Number: l.Run.Counts.Number})
	w.check(err)
	return *got
}

func (w *world) fail(l store.Lease) {
	w.Helper()
	w.apply(w.failed(l))
}

// failOne makes a run of a job and lets it fail for good.
func (w *world) failOne(job string, change ...func(*store.Submission)) jobs.ID {
	w.Helper()
	id := w.enqueue(job, change...).ID
	for _, l := range w.take(1000) {
		if l.Run.ID == id {
			w.fail(l)
			return id
		}
		w.succeed(l)
	}
	w.Fatalf("run %s was not claimed", id)
	return id
}
