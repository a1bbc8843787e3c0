package sqldb

import (
	"context"
	"encoding/json"
	"fmt"

	"nightshift/jobs"
)

const (
	// Runs that had no failure are passed over, as far as the row tells: a good slice starts the counts anew.
	// A window of all runs bounds what is looked at.
	selectFailedRuns = `
SELECT seq, tail, version, state + (state = 2 AND slices IS NOT NULL), run_at, max_attempts, timeout, number, charged, budgets
FROM (SELECT * FROM runs WHERE job = (SELECT id FROM jobs WHERE name = $1) AND seq > $2
      ORDER BY seq LIMIT $3) r
WHERE (charged > 0 OR budgets IS NOT NULL OR continues IS NOT NULL) AND (finished_at IS NULL OR finished_at >= $4)
ORDER BY seq LIMIT $5`
	selectFailedEnd = `
SELECT MAX(seq), COUNT(*)
FROM (SELECT seq FROM runs WHERE job = (SELECT id FROM jobs WHERE name = $1) AND seq > $2
      ORDER BY seq LIMIT $3) w`
	selectFailedAttempts = `
SELECT number, version, started_at, finished_at, http_status, exit_code, action, by, reason, next_at,
    error, output_tail, slices
FROM attempts WHERE run = $1 AND outcome = 2 ORDER BY number`
	selectPayload = `SELECT body FROM payloads WHERE run = $1`

	failedWindow = 5_000   // runs that one transaction looks at
	failedPage   = 200     // runs that it gives
	failedChunk  = 1 << 20 // bytes that it reads, but for the last run
)

// failedRuns is how far a walk over the failed attempts of a job has come.
type failedRuns struct {
	job   string
	since jobs.Time
	after int64 // the run it stands behind
	done  bool
}

// FailedAttempts implements store.History.
func (s *Store) FailedAttempts(
	ctx context.Context, job string, since jobs.Time, each func(*jobs.Run) error,
) error {
	at := failedRuns{job: job, since: since}
	for !at.done {
		var page []*jobs.Run
		next := at
		err := s.db.Read(ctx, func(tx Tx) (err error) {
			next = at
			page, err = next.read(tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("read failed attempts of job %s: %w", job, err)
		}
		for _, run := range page {
			if err := each(run); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}

// read gives the next runs, none where all that it looked at had no failure.
func (at *failedRuns) read(tx Tx) ([]*jobs.Run, error) {
	page, err := at.rows(tx)
	if err != nil {
		return nil, err
	}
	size, from := 0, at.after
	var list []*jobs.Run
	for _, run := range page {
		if size >= failedChunk {
			return list, nil
		}
		n, err := readFailed(tx, run)
		if err != nil {
			return nil, err
		}
		size, at.after = size+n, run.ID.Seq()
		if len(run.Attempts) > 0 {
			list = append(list, run)
		}
	}
	if len(page) == failedPage {
		return list, nil
	}
	at.done = true
	_, err = one(tx, selectFailedEnd, func(r Row) {
		if r.Int(1) == failedWindow {
			at.after, at.done = r.Int(0), false
		}
	}, at.job, from, failedWindow)
	return list, err
}

// rows are the runs of the next window that had failures, without payloads and attempts.
func (at *failedRuns) rows(tx Tx) (page []*jobs.Run, err error) {
	err = tx.Query(selectFailedRuns, func(r Row) error {
		run := &jobs.Run{
			ID: jobs.IDOf(r.Int(0), r.Int(1)), Job: at.job, Version: int(r.Int(2)),
			State: jobs.State(r.Int(3)), RunAt: r.Time(4), MaxAttempts: int(r.Int(5)),
			Timeout: jobs.Duration(r.Int(6) * 1e6),
			Counts:  jobs.Counts{Number: int(r.Int(7)), Charged: int(r.Int(8))},
		}
		if !r.Null(9) {
			if err := json.Unmarshal(r.Bytes(9), &run.Counts.Budgets); err != nil {
				return fmt.Errorf("read budgets of run %s: %w", run.ID, err)
			}
		}
		page = append(page, run)
		return nil
	}, at.job, at.after, failedWindow, int64(at.since), failedPage)
	return page, err
}

// readFailed fills in the payload and the attempts that failed, and says how large they are.
func readFailed(tx Tx, run *jobs.Run) (size int, err error) {
	run.Payload = emptyPayload
	_, err = one(tx, selectPayload, func(r Row) { run.Payload = r.Bytes(0) }, run.ID.Seq())
	if err != nil {
		return 0, err
	}
	size = len(run.Payload)
	err = tx.Query(selectFailedAttempts, func(r Row) error {
		a := jobs.Attempt{
			Number: int(r.Int(0)), Version: int(r.Int(1)), StartedAt: r.Time(2), FinishedAt: r.Time(3),
			Outcome: jobs.OutcomeFailed, HTTPStatus: int(r.Int(4)), ExitCode: -1, Slices: max(1, int(r.Int(12))),
			Decision: &jobs.Decision{
				Action: r.Text(6), By: r.Text(7), Reason: r.Text(8), NextAttemptAt: r.Time(9),
			},
			Error: &jobs.Failure{}, OutputTail: r.Text(11),
		}
		if !r.Null(5) {
			a.ExitCode = int(r.Int(5))
		}
		text := r.Bytes(10)
		if text != nil {
			if err := json.Unmarshal(text, a.Error); err != nil {
				return fmt.Errorf("read error of attempt %d of run %s: %w", a.Number, run.ID, err)
			}
		}
		size += len(text) + len(a.OutputTail)
		run.Attempts = append(run.Attempts, a)
		return nil
	}, run.ID.Seq())
	return size, err
}
