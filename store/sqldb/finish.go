package sqldb

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// A cancel that was acknowledged before lets only a cancelled end through ($3 = 1).
	updateEnded = `
UPDATE runs
SET state = $4, lane = NULL, finished_at = $5, queue = $6, charged = $7, deaths = $8, budgets = $9,
    error_kind = CASE WHEN $10 = 1 THEN error_kind ELSE $11 END,
    error_type = CASE WHEN $10 = 1 THEN error_type ELSE $12 END,
    error_message = CASE WHEN $10 = 1 THEN error_message ELSE $13 END, attempt_at = NULL, slices = NULL,
    said = NULL, batch = CASE WHEN bkey IS NULL OR $4 = 6 THEN NULL ELSE 3 END, interrupts = $14, long_at = NULL
WHERE seq = $1 AND state IN (3, 5) AND number = $2 AND (cancel_at IS NULL OR $3 = 1)`
	updateAgain = `
UPDATE runs SET state = $3, due_at = $4, rank = $5, charged = $6, deaths = $7, budgets = $8,
    error_kind = CASE WHEN $9 = 1 THEN error_kind ELSE $10 END,
    error_type = CASE WHEN $9 = 1 THEN error_type ELSE $11 END,
    error_message = CASE WHEN $9 = 1 THEN error_message ELSE $12 END, attempt_at = NULL, slices = NULL,
    said = NULL, interrupts = $13
WHERE seq = $1 AND state IN (3, 5) AND number = $2 AND cancel_at IS NULL AND lane IS NOT NULL`
	// A good slice: the count of failures starts anew.
	updateSliced = `
UPDATE runs SET state = 2, due_at = $3, rank = $4, charged = 0, deaths = 0, budgets = NULL,
    slices = COALESCE(slices, 0) + 1, continues = COALESCE(continues, 0) + 1, interrupts = NULL
WHERE seq = $1 AND state = 3 AND number = $2 AND cancel_at IS NULL AND lane IS NOT NULL`
	updateWaiting = `
UPDATE runs SET state = 5, due_at = $3
WHERE seq = $1 AND state = 3 AND number = $2 AND cancel_at IS NULL AND lane IS NOT NULL`
	updateProgress = `UPDATE runs SET progress = $2 WHERE seq = $1`
	selectFence    = `SELECT state, number, cancel_at, lane FROM runs WHERE seq = $1`
	selectWaiting  = `
SELECT job, version, due_at, priority, host, ckey, rkey, cause, state, bkey, slices FROM runs WHERE seq = $1`
	attemptColumns = `run, number, version, started_at, finished_at, outcome, http_status, result`
	insertAttempt  = `
INSERT INTO attempts (` + attemptColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	// With what those that succeed have not.
	insertAttemptWhole = `
INSERT INTO attempts (` + attemptColumns + `, exit_code, action, by, reason, next_at, truncated, error,
    output_tail, slices, told)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`
	// Of runs that waited for their callback or their next slice: outcome 4 is cancelled.
	cancelledAttempts = `
INSERT INTO attempts (run, number, version, started_at, finished_at, outcome, action, by, reason, slices)
SELECT seq, number, version, attempt_at, $1, 4, 'cancel', $2, $3, slices + (state = 5) FROM runs`
	insertCancelledAttempt = cancelledAttempts + ` WHERE seq = $4`
	deleteAttempt          = `DELETE FROM attempts WHERE run = $1 AND number = $2`
	// A piece only grows: an older copy of it that comes late changes nothing.
	upsertLog = `
INSERT INTO logs (run, attempt, piece, start, data)
SELECT $1, $2, $3, $4, $5 WHERE EXISTS (SELECT 1 FROM runs WHERE seq = $1)
ON CONFLICT (run, attempt, piece) DO UPDATE SET start = excluded.start, data = excluded.data
WHERE LENGTH(excluded.data) >= LENGTH(logs.data)`
	deleteLog = `DELETE FROM logs WHERE run = $1 AND attempt = $2 AND piece = $3`
)

// finish ends one attempt, if it is still the run's: the number is the fence.
func (s *Store) finish(tx Tx, f *store.Finish) (store.FinishResult, error) {
	changed := int64(0)
	var stop []jobs.ID
	var err error
	switch {
	case f.Held != "":
		changed, err = s.hold(tx, f)
	case f.Transition.State.Terminal():
		changed, err = s.end(tx, f)
	case f.Transition.State == jobs.Running:
		changed, err = s.goOn(tx, f)
	case f.Group != nil:
		changed, stop, err = s.startGroup(tx, f)
	case f.Transition.State == jobs.Waiting:
		changed, err = s.await(tx, f)
	default:
		changed, err = s.again(tx, f)
	}
	if err != nil {
		return store.FinishResult{}, err
	}
	if changed == 0 {
		return refuse(tx, f)
	}
	if err := s.endAt(tx, f); err != nil {
		return store.FinishResult{}, err
	}
	if f.Held != "" {
		return store.FinishResult{}, nil
	}
	if err := s.tellInterrupted(tx, f); err != nil {
		return store.FinishResult{}, err
	}
	if f.Transition.State.Terminal() {
		if err := s.releaseAfter(tx, f); err != nil {
			return store.FinishResult{}, err
		}
		if stop, err = s.ended(tx, endedBy(f)); err != nil {
			return store.FinishResult{}, err
		}
	}
	if t := &f.Transition; t.Outcome != 0 && (t.State == jobs.Retrying || t.State == jobs.Queued) {
		s.tally(f.Job, store.EndedRetried, kindOf(f.Transition.Error), f.Started, f.Now)
	}
	spawned, left, err := s.spawn(tx, f.Spawn)
	if err == nil && f.Transition.Outcome != 0 {
		err = s.keepAttempt(tx, f, left)
	}
	if err == nil {
		err = s.keepSaid(tx, f)
	}
	return store.FinishResult{Spawned: spawned, Stop: stop}, err
}

// releaseAfter lets the runs go that waited for the one which has ended.
func (s *Store) releaseAfter(tx Tx, f *store.Finish) error {
	if err := s.releaseNext(tx, f.Schedule); err != nil || f.CheckpointKey == nil {
		return err
	}
	job, err := s.jobRow(tx, f.Job)
	if err != nil || job == nil {
		return err
	}
	return s.releaseBatch(tx, job.id, keyText(f.CheckpointKey))
}

// keepSaid keeps what the attempt has said and printed.
func (s *Store) keepSaid(tx Tx, f *store.Finish) error {
	if f.Progress != nil {
		if err := must(tx.Exec(updateProgress, f.Run.Seq(), string(jobs.AppendJSON(nil, f.Progress)))); err != nil {
			return err
		}
	}
	if err := s.keepCheckpoint(tx, f); err != nil {
		return err
	}
	return writeLog(tx, f.Log)
}

// leftOut says which runs that should follow were not made, and why.
type leftOut struct {
	without []string // the jobs that do not stand any more
	folded  []string // in words
}

// spawn makes the runs that follow.
func (s *Store) spawn(
	tx Tx, subs []store.Submission,
) (made []store.Submitted, left leftOut, err error) {
	for i := range subs {
		job := subs[i].Run.Job
		out, err := s.enqueue(tx, &subs[i])
		switch {
		case errors.Is(err, store.ErrNotFound):
			left.without = append(left.without, job)
		case err != nil:
			return nil, left, fmt.Errorf("make the run of job %s that follows: %w", job, err)
		case out.Unique:
			until := store.StandsUntil(subs[i].Unique.While, out.UniqueUntil)
			left.folded = append(left.folded, "the run of "+job+" that follows was folded into run "+
				out.ID.String()+", which stands "+until)
		default:
			made = append(made, out)
		}
	}
	return made, left, nil
}

// reasons say so beside the reason of the decision.
func (l *leftOut) reasons(reason string) string {
	if len(l.folded)+len(l.without) == 0 {
		return reason
	}
	all := l.folded
	if len(l.without) > 0 {
		all = append(all, "no run follows of "+strings.Join(l.without, ", ")+
			": there is no such job any more")
	}
	if reason != "" {
		all = append([]string{reason}, all...)
	}
	return strings.Join(all, "; ")
}

func (s *Store) end(tx Tx, f *store.Finish) (int64, error) {
	t := &f.Transition
	budgets, err := marshalBudgets(t.Counts.Budgets)
	if err != nil {
		return 0, err
	}
	keep, kind, typ, message := errorColumns(t)
	changed, err := tx.Exec(updateEnded, f.Run.Seq(), f.Number, t.State == jobs.Cancelled, int(t.State),
		int64(f.Now), f.Queue, t.Counts.Charged, t.Counts.Deaths, budgets, keep, kind, typ, message,
		none(t.Counts.Interrupts))
	if err != nil || changed == 0 {
		return changed, err
	}
	return changed, s.groupOver(tx, f)
}

// groupOver takes in that the run which has ended was a group.
func (s *Store) groupOver(tx Tx, f *store.Finish) error {
	job, err := s.jobRow(tx, f.Job)
	if err != nil || job == nil {
		return err
	}
	p, err := s.pinnedSpec(tx, specKey{job.id, f.Version})
	if err != nil || p.pool != store.PoolGroup {
		return err
	}
	return s.setPhase(tx, f.Run, store.GroupOver)
}

func (s *Store) again(tx Tx, f *store.Finish) (int64, error) {
	t := &f.Transition
	budgets, err := marshalBudgets(t.Counts.Budgets)
	if err != nil {
		return 0, err
	}
	keep, kind, typ, message := errorColumns(t)
	changed, err := tx.Exec(updateAgain, f.Run.Seq(), f.Number, int(t.State), int64(t.DueAt),
		rankOf(t.DueAt, f.Priority), t.Counts.Charged, t.Counts.Deaths, budgets, keep, kind, typ,
		message, none(t.Counts.Interrupts))
	if err != nil || changed == 0 {
		return changed, err
	}
	if t.State != jobs.Queued {
		tx.Wake()
		return changed, nil
	}
	job, run, err := s.waiting(tx, f.Run)
	if err == nil {
		err = s.queueUp(tx, job, run)
	}
	return changed, err
}

// goOn queues a run for its next slice: the attempt is not over, and keeps its slots of the job's
// concurrency.
func (s *Store) goOn(tx Tx, f *store.Finish) (int64, error) {
	due := f.Transition.DueAt
	changed, err := tx.Exec(updateSliced, f.Run.Seq(), f.Number, int64(due), rankOf(due, f.Priority))
	if err != nil || changed == 0 {
		return changed, err
	}
	job, run, err := s.waiting(tx, f.Run)
	if err == nil {
		err = s.queueUp(tx, job, run)
	}
	return changed, err
}

// await has a run wait for its callback.
func (s *Store) await(tx Tx, f *store.Finish) (int64, error) {
	return tx.Exec(updateWaiting, f.Run.Seq(), f.Number, int64(f.Until))
}

// waiting reads what a run needs to find its lane, and the number of its job.
func (s *Store) waiting(tx Tx, id jobs.ID) (job int64, run *jobs.Run, err error) {
	run = &jobs.Run{ID: id}
	_, err = one(tx, selectWaiting, func(r Row) {
		job, run.Version, run.DueAt, run.Priority = r.Int(0), int(r.Int(1)), r.Time(2), int(r.Int(3))
		run.Host, run.Trigger, run.State = r.Text(4), jobs.Trigger(r.Text(7)), jobs.State(r.Int(8))
		run.Keys = jobs.Keys{
			Concurrency: keyOf(r.Text(5)), Rate: keyOf(r.Text(6)), Checkpoint: keyOf(r.Text(9)),
		}
		run.Slices = int(r.Int(10))
	}, id.Seq())
	return job, run, err
}

// refuse says why a finish was not applied.
func refuse(tx Tx, f *store.Finish) (store.FinishResult, error) {
	res := store.FinishResult{Err: store.ErrLease}
	_, err := one(tx, selectFence, func(r Row) {
		state := jobs.State(r.Int(0))
		if (state == jobs.Running || state == jobs.Waiting) && int(r.Int(1)) == f.Number {
			res = store.FinishResult{
				Err:         store.ErrState,
				CancelAsked: !r.Null(2),
				Orphaned:    r.Null(3),
			}
		}
	}, f.Run.Seq())
	return res, err
}

// errorColumns are the run's error: of the last attempt that failed, gone once it succeeded. An
// attempt without an error of its own, such as a cancelled one, keeps the one before.
func errorColumns(t *jobs.Transition) (keep, kind, typ, message any) {
	switch {
	case t.State == jobs.Succeeded:
		return false, nil, nil, nil
	case t.Error == nil:
		return true, nil, nil, nil
	}
	return false, string(t.Error.Kind), t.Error.Type, t.Error.Message
}

func marshalBudgets(budgets map[string]int) (any, error) {
	if len(budgets) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(budgets)
	return string(text), err
}

// keepAttempt keeps the attempt, and which runs did not follow it.
func (s *Store) keepAttempt(tx Tx, f *store.Finish, left leftOut) error {
	t := &f.Transition
	var failure, action, by, reason, result any
	if t.Error != nil {
		text, err := json.Marshal(t.Error)
		if err != nil {
			return err
		}
		failure = string(text)
	}
	d := t.Decision
	d.Reason = left.reasons(d.Reason)
	slices := any(nil)
	if f.Slices > 1 {
		slices = int64(f.Slices)
	}
	if d.By != "success" || d.Reason != "" {
		action, by, reason = d.Action, d.By, d.Reason
	}
	if f.Result != nil {
		result = string(f.Result)
	}
	exit := any(int64(f.ExitCode))
	if f.ExitCode < 0 {
		exit = nil
	}
	seq := f.Run.Seq()
	err := insertSparse(tx, insertAttempt, insertAttemptWhole, []driver.Value{
		seq, f.Number, f.Version, int64(f.Started), int64(f.Now), int(t.Outcome), none(f.HTTPStatus),
		result,
	}, []driver.Value{
		exit, action, by, reason, none(t.Decision.NextAttemptAt), boolNone(f.Truncated), failure,
		noneText(f.OutputTail), slices, noneText(f.Told),
	})
	if err != nil {
		return fmt.Errorf("keep attempt %d: %w", f.Number, err)
	}
	return dropAttempt(tx, seq, f.Number)
}

// dropAttempt forgets the attempt that is neither among the first nor the last ones once another was kept.
func dropAttempt(tx Tx, run int64, kept int) error {
	if kept <= 2*jobs.KeptAttempts {
		return nil
	}
	_, err := tx.Exec(deleteAttempt, run, kept-jobs.KeptAttempts)
	return err
}

func boolNone(b bool) any {
	if b {
		return int64(1)
	}
	return nil
}

// AppendLog implements store.Queue.
func (s *Store) AppendLog(ctx context.Context, pieces []store.LogPiece) error {
	return s.write(ctx, func(tx Tx) error { return writeLog(tx, pieces) })
}

func writeLog(tx Tx, pieces []store.LogPiece) error {
	for i := range pieces {
		p := &pieces[i]
		var err error
		if p.Drop {
			_, err = tx.Exec(deleteLog, p.Run.Seq(), p.Attempt, p.Piece)
		} else {
			_, err = tx.Exec(upsertLog, p.Run.Seq(), p.Attempt, p.Piece, p.Offset, p.Data)
		}
		if err != nil {
			return fmt.Errorf("keep output of run %s: %w", p.Run, err)
		}
	}
	return nil
}
