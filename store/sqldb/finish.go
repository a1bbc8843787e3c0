package sqldb

import (
	"context"
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
    error_message = CASE WHEN $10 = 1 THEN error_message ELSE $13 END, attempt_at = NULL
WHERE seq = $1 AND state = 3 AND number = $2 AND (cancel_at IS NULL OR $3 = 1)`
	updateAgain = `
UPDATE runs SET state = $3, due_at = $4, rank = $5, charged = $6, deaths = $7, budgets = $8,
    error_kind = CASE WHEN $9 = 1 THEN error_kind ELSE $10 END,
    error_type = CASE WHEN $9 = 1 THEN error_type ELSE $11 END,
    error_message = CASE WHEN $9 = 1 THEN error_message ELSE $12 END, attempt_at = NULL
WHERE seq = $1 AND state = 3 AND number = $2 AND cancel_at IS NULL AND lane IS NOT NULL`
	selectFence   = `SELECT state, number, cancel_at, lane FROM runs WHERE seq = $1`
	selectLaneID  = `SELECT lane FROM runs WHERE seq = $1`
	insertAttempt = `
INSERT INTO attempts (run, number, version, started_at, finished_at, outcome, http_status, exit_code,
    action, by, reason, next_at, truncated, result, error, output_tail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`
	deleteAttempt = `DELETE FROM attempts WHERE run = $1 AND number = $2`
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
	var err error
	switch {
	case f.Held != "":
		changed, err = s.hold(tx, f)
	case f.Transition.State.Terminal():
		changed, err = s.end(tx, f)
	default:
		changed, err = s.again(tx, f)
	}
	if err != nil {
		return store.FinishResult{}, err
	}
	if changed == 0 {
		return refuse(tx, f)
	}
	if f.Held != "" {
		return store.FinishResult{}, nil
	}
	spawned, without, err := s.spawn(tx, f.Spawn)
	if err == nil {
		err = s.keepAttempt(tx, f, without)
	}
	if err == nil {
		err = s.keepCheckpoint(tx, f)
	}
	if err == nil {
		err = writeLog(tx, f.Log)
	}
	return store.FinishResult{Spawned: spawned}, err
}

// spawn makes the runs that follow, and names the jobs that do not stand any more.
func (s *Store) spawn(
	tx Tx, subs []store.Submission,
) (made []store.Submitted, without []string, err error) {
	for i := range subs {
		out, err := s.enqueue(tx, &subs[i])
		switch {
		case errors.Is(err, store.ErrNotFound):
			without = append(without, subs[i].Run.Job)
		case err != nil:
			return nil, nil, fmt.Errorf("make the run of job %s that follows: %w", subs[i].Run.Job, err)
		default:
			made = append(made, out)
		}
	}
	return made, without, nil
}

func (s *Store) end(tx Tx, f *store.Finish) (int64, error) {
	t := &f.Transition
	budgets, err := marshalBudgets(t.Counts.Budgets)
	if err != nil {
		return 0, err
	}
	keep, kind, typ, message := errorColumns(t)
	return tx.Exec(updateEnded, f.Run.Seq(), f.Number, t.State == jobs.Cancelled, int(t.State),
		int64(f.Now), f.Queue, t.Counts.Charged, t.Counts.Deaths, budgets, keep, kind, typ, message)
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
		message)
	if err != nil || changed == 0 {
		return changed, err
	}
	if t.State != jobs.Queued {
		tx.Wake()
		return changed, nil
	}
	var laneID int64
	if _, err := one(tx, selectLaneID, func(r Row) { laneID = r.Int(0) }, f.Run.Seq()); err != nil {
		return 0, err
	}
	l, err := s.laneOf(tx, laneID)
	if err != nil {
		return 0, err
	}
	return changed, s.joinLane(tx, l, t.DueAt, f.Priority)
}

// refuse says why a finish was not applied.
func refuse(tx Tx, f *store.Finish) (store.FinishResult, error) {
	res := store.FinishResult{Err: store.ErrLease}
	_, err := one(tx, selectFence, func(r Row) {
		if jobs.State(r.Int(0)) == jobs.Running && int(r.Int(1)) == f.Number {
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

// keepAttempt keeps the attempt; without are the jobs of which no run followed.
func (s *Store) keepAttempt(tx Tx, f *store.Finish, without []string) error {
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
	if len(without) > 0 {
		d.Reason = strings.TrimPrefix(d.Reason+"; ", "; ") + "no run follows of " +
			strings.Join(without, ", ") + ": there is no such job any more"
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
	_, err := tx.Exec(insertAttempt, seq, f.Number, f.Version, int64(f.Started), int64(f.Now),
		int(t.Outcome), none(f.HTTPStatus), exit, action, by, reason,
		none(t.Decision.NextAttemptAt), boolNone(f.Truncated), result, failure,
		noneText(f.OutputTail))
	if err != nil {
		return fmt.Errorf("keep attempt %d: %w", f.Number, err)
	}
	if f.Number > 2*jobs.KeptAttempts {
		_, err = tx.Exec(deleteAttempt, seq, f.Number-jobs.KeptAttempts)
	}
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
	return s.db.Write(ctx, func(tx Tx) error { return writeLog(tx, pieces) })
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
