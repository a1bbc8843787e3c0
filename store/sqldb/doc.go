// Package sqldb holds every SQL statement, once, in the subset that SQLite and PostgreSQL
// both know, and implements store.Store over a DB that a database's own package provides.
//
// It must not know which database it speaks to: what differs is behind DB.
//
// # How queued runs wait
//
// A lane is the queued runs of a job that ask the same gates: a claim looks at lanes, never at each
// run. A gate (jobs.Gate) is what runs share: a queue, a limit of a job or of one of its keys, a
// dependency. Which gates a lane has follows from its job as it stands and from its keys and host
// (keysOfLane), so a change of the job changes no lane. A run starts when all of them have room: it
// takes them in the transaction that makes it running.
//
// Runs for ticks that were missed (jobs.TriggerCatchUp) wait in lanes of their own. These ask a gate
// more: of the workers of their pool half may catch up, so that what is due finds the others.
//
// A lane whose first run meets a shut gate is parked there (lanes.gate): no claim looks at it until
// the gate gives it back. A gate gives back as many lanes as it has room for once it is stirred: by
// the end of an attempt, by a change, by lanes that leave it room, or by its time (gates.wake_at).
// Lanes that it gives back in vain park again, at the gate that is shut now, and stir the others.
//
// These hold at the end of each transaction:
//
//   - An attempt under way has a row in slots for each of its gates that has a limit, but for those
//     that it has left (below), and there are no other rows: what is in use is counted, it is never a
//     number that is kept.
//   - A lane with queued runs has its turn (gate NULL), is parked at one gate, is closed since its
//     job is paused, or is held: for a secret, or in the line of a schedule or of a checkpoint key.
//   - Where lanes are parked at a gate with room, the gate is stirred, or lanes that it gave back for
//     that room still have their turn to come. So no run that could start waits for ever.
//   - Where lanes are parked at a gate that time opens, wake_at is not later than that.
//   - What is in memory of a row is what the transaction holds, there is one copy of it, and it is
//     dropped whole when anything is undone. What is stirred is kept over that: once too often does
//     no harm.
//   - Turns only grow, whatever the clock does.
//
// # Attempts that go on
//
// An attempt is under way while its run is running or waiting; the run's number is its fence, and names
// it from its first slice to its callback. Between two slices the run is stored as queued, with
// runs.slices, and told as running. It has left all its gates but the concurrency of its job, and lies in
// a lane (lanes.slice = 1) that asks the others anew. So no limit of a job is in the way of its own next
// slice, and pauses, breakers and want of a secret act there. A run that waits for its callback has left
// the catch-up gate alone, for it has no worker; due_at is by when it must have called back.
//
//   - attempt_at is set while an attempt is under way, and slices only then. The attempt's row in attempts
//     is written in the transaction that ends it, which is one of Claim, or the cancel, deletion or newer
//     tick that ends a run of which nothing runs just then: they tell who may start now (Tx.Wake).
//   - A good slice keeps its checkpoint, its count in continues and the place of the next in one
//     transaction. continues is the operation's, also when the run that had counted it is gone.
//   - What is kept of an attempt is kept where its fence holds in the same transaction: of one that is
//     over nothing is.
//   - A checkpoint is of an operation, or of a job and a checkpoint key. It goes with a success. Else it
//     goes once all its runs have ended and their failures were dealt with, when the job's ttl has passed
//     since the last of that and since it was written; an operation's also goes with the last of its runs.
//
// # Lines
//
// A run may have to wait until another run has ended, which no gate knows: one of its schedule (overlap,
// below), or one of its checkpoint key. Such a run stands in a line (runs.overlap, runs.batch): it lies in a
// lane that never opens, or is not due yet. The end of a run, of
// whatever sort, lets the next go in the same transaction. Of a checkpoint key that is the one made first,
// whether it is due or not.
//
//   - Of the unfinished runs of a job and checkpoint key that do not wait for their schedule one is ahead
//     (runs.batch = 0), and the others wait (1): so none waits for ever, and no two work on a batch side by side.
//   - A run stands in one line at a time. Who waits for its schedule joins the line of its key when that
//     lets it go, at its place there. Who waits for its key counts as one that is ahead of its schedule's
//     others. So the run that is free in a line of a key waits in no line, and no two wait for each other.
//
// # Groups
//
// A group's run (runs.members is not NULL) is claimed as any other. The finish that starts it makes its
// members, all in that transaction: runs with runs.parent and runs.place. It waits for them (state 5) and
// holds the slots of its own job's concurrency alone. groups has a row for each that has started, and for
// one that brings what it is made of or what it keeps; members says which run stands for each member now.
// Every path on which a run ends leads through (*Store).ended, which tells the group.
//
// These hold at the end of each transaction, of a group that has not ended:
//
//   - It is in phase 1 while a member is open, and then no merge of it was made. The end of the last one
//     makes its merge, once (groups.merge, phase 2), or gives it to the process to be ended (3, 4). So none
//     waits for what is over, and no merge starts without all there is to merge.
//   - The end of a member looks at no other one but to see that one is open; they are counted once, when none is.
//   - Where its cancel was acknowledged, or a bad member called the rest off, what is open of it has an
//     attempt at work that is to end, at all depths.
//   - Nothing that belongs to it is removed: members, those they were requeued from, merges, what it keeps of
//     a run before, what is in groups inside it. It is kept so while a merge of one that has ended is open too.
//   - The payload of a merge has no row until it was composed, before its first attempt.
//   - What is in memory of groups (groupSight) says too much, never too little: that some may have to be
//     ended, and a deadline that is not later than the next. A claim of a store without groups asks nothing.
//
// A run of a group that was claimed and had not started when the process died is as before its claim. A
// requeue of a group's run may take over runs of the one before that have not ended: their parent changes,
// which who executes them does not know (groupOf).
//
// # What becomes of ticks
//
// A schedule's row has a cursor: what becomes of each tick up to there stands in the ledger (ticks),
// or it lies in the backlog, ticks to be caught up whose runs have not been made yet. Decide writes the
// ledger, makes the runs and moves the cursor in one transaction, and only where the row's stamp is the
// one that the decision was made by. A tick that the ledger knows already, since the clock was set
// back, makes nothing.
//
// The unfinished runs of a schedule stand in a line. Those that are under way or may start are ahead, the
// others (runs.overlap = 1) wait until the end of one that is ahead lets the next go. At most one regular
// run waits there, that of the newest tick, and it goes before those that catch up, which go one after
// another.
//
//   - Ticks are rows of their own or neighbours in one row, and rows of a schedule and job do not
//     overlap.
//   - A schedule with an undecided tick has due_at at the first such tick, unless it is paused: then
//     its ticks are decided when it is resumed or changed, and until then worked out where they are read.
//   - Where runs of a schedule wait in its line, a run of it is ahead: so none waits for ever.
//
// # Failures
//
// A run that ended failed is a failure, and runs.dealt says what has become of it: it is open, a requeue
// stands in its place, or it was resolved or ignored, since runs.dealt_at. All that ends a run leads
// through failureEnded.
//
//   - Along the links of a chain (requeued_from and back by requeued_to) at most one run is unfinished or
//     an open failure where nobody has dealt with one by itself: what is behind it is requeued. A requeue
//     of any of a chain is made at its end, so there are no branches but behind a success. A success
//     resolves all that it stands for, a cancel or a deletion opens the nearest, and a run that is deleted
//     from the middle of a chain is taken out of it.
//   - A failure is pruned by the time since it was dealt with; an open or a requeued one never is.
//   - failure_groups.ignored says that failures that are alike are born ignored: they raise no event. Those
//     that came so are marked (dealings.came), and opened when the time is over.
//
// # What is told
//
// The end of a run is an event in the same transaction (tellEnded): failed for good, recovered, or succeeded
// where an alert asks. streaks counts failed runs in a row by job, schedule and what alerts count by; which
// jobs have any is in memory, so that a success after a success asks nothing. A run of an alert is counted
// nowhere, and raises nothing but alert.undelivered; one that tells of that raises nothing.
//
// The loop that tells reads events behind its cursor (meta), and keeps in one transaction how far it has come,
// what it told and has still to tell (folds), and the runs that tell.
//
//   - The step is kept only where the cursor is the one that it was decided by: so each event is taken in once.
//   - folds.at is a wait given as a duration: it moves as the wall clock is set, and what stands beside it is
//     kept as what it is before it.
//   - Of an alert that is gone there are no folds and no streaks. One that is made knows after which event.
package sqldb
