package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	// listedColumns follow runColumns where scanListed reads.
	listedColumns = `, j.name, j.queue, j.paused_at, j.pause_note,
    (SELECT l.held FROM lanes l WHERE l.id = r.lane)`
	listedCount   = runColumnCount + 5
	selectHistory = `
SELECT ` + runColumns + listedColumns + `, p.body, r.folded, r.log_pruned
FROM runs r JOIN jobs j ON j.id = r.job LEFT JOIN payloads p ON p.run = r.seq WHERE r.seq = $1`
	selectAttempts = `
SELECT number, version, started_at, finished_at, outcome, http_status, exit_code, action, by, reason, next_at,
    truncated, result, error, output_tail, slices
FROM attempts WHERE run = $1 ORDER BY number`
	selectLogs = `
SELECT attempt, piece, start, data FROM logs
WHERE run = $1 AND (attempt, start, piece) > ($2, $3, $4) ORDER BY attempt, start, piece`
	logChunk = 1 << 20 // bytes of output read in one transaction

	selectStates = `
SELECT 2, COUNT(*) FROM runs WHERE state = 2
UNION ALL SELECT 0, COUNT(*) FROM runs WHERE state = 2 AND slices IS NOT NULL
UNION ALL SELECT state, COUNT(*) FROM runs WHERE state IN (1, 4) GROUP BY state
UNION ALL SELECT state, COUNT(*) FROM runs WHERE state IN (3, 5) GROUP BY state`
)

// Run implements store.History.
func (s *Store) Run(ctx context.Context, id jobs.ID) (run *jobs.Run, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		run, err = readRun(tx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}

// readRun reads one run with payload, result and attempts, and its name in its group.
func readRun(tx Tx, id jobs.ID) (run *jobs.Run, err error) {
	var bad error
	_, err = one(tx, selectHistory, func(r Row) {
		run, bad = scanListed(r)
		if run.Payload = payloadOf(r, listedCount); r.Null(listedCount) && run.Place == mergePlace {
			run.Payload = nil
		}
		if bad == nil {
			run.Folded, bad = parseFolded(r.Bytes(listedCount + 1))
			run.LogPruned = r.Int(listedCount + 2)
		}
	}, id.Seq())
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	if run == nil || run.ID != id {
		return nil, fmt.Errorf("run %s: %w", id, store.ErrNotFound)
	}
	if err := readAttempts(tx, run); err != nil {
		return nil, err
	}
	if run.State == jobs.Running || run.State == jobs.Waiting {
		a := jobs.Attempt{
			Number: run.Counts.Number, Version: run.Version, StartedAt: run.AttemptAt, ExitCode: -1,
			Slices: run.Slices + 1,
		}
		if run.HeldBy != nil { // between two slices
			a.Slices = run.Slices
		}
		run.Attempts = append(run.Attempts, a)
	}
	if !run.Group.IsNil() && run.Place != mergePlace {
		_, err = one(tx, selectMemberName, func(r Row) { run.Member = r.Text(0) }, run.Group.Seq(), run.Place)
	}
	return run, err
}

// listedRun is a run as lists have it; nil: it is not kept.
func listedRun(tx Tx, id jobs.ID) (run *jobs.Run, err error) {
	var bad error
	_, err = one(tx, selectListed, func(r Row) { run, bad = scanListed(r) }, id.Seq())
	if err = errors.Join(err, bad); err != nil || run == nil || run.ID != id {
		return nil, err
	}
	return run, nil
}

// Listed implements store.History.
func (s *Store) Listed(ctx context.Context, ids []jobs.ID) (runs []*jobs.Run, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		for _, id := range ids {
			run, err := listedRun(tx, id)
			if err != nil {
				return err
			}
			if run != nil {
				runs = append(runs, run)
			}
		}
		return nil
	})
	return runs, err
}

// scanListed reads runColumns and listedColumns.
func scanListed(r Row) (*jobs.Run, error) {
	run, err := scanRun(r)
	run.Job = r.Text(runColumnCount)
	if run.Queue == "" {
		run.Queue = r.Text(runColumnCount + 1)
	}
	if jobs.State(r.Int(columnState)) == jobs.Queued {
		run.HeldBy = &jobs.HeldBy{
			Kind:   jobs.HeldWorkers,
			Name:   run.Queue,
			Reason: jobs.WaitsForWorker,
		}
		if !r.Null(runColumnCount + 2) {
			run.HeldBy = jobs.HeldByPause(run.Job, r.Text(runColumnCount+3))
		}
		switch held := r.Text(runColumnCount + 4); held {
		case "":
		case heldOverlap, heldBatch:
			run.HeldBy = heldInLine(held, run, jobs.NilID)
		default:
			run.HeldBy = jobs.HeldBySecret(held)
		}
	}
	return run, err
}

// readAttempts fills in the attempts, and the run's result and error from them.
func readAttempts(tx Tx, run *jobs.Run) error {
	return tx.Query(selectAttempts, func(r Row) error {
		a := jobs.Attempt{
			Number: int(r.Int(0)), Version: int(r.Int(1)), StartedAt: r.Time(2),
			FinishedAt: r.Time(3), Outcome: jobs.Outcome(r.Int(4)), HTTPStatus: int(r.Int(5)),
			ExitCode: -1, OutputTail: r.Text(14), Slices: max(1, int(r.Int(15))),
			Decision: &jobs.Decision{Action: "succeed", By: "success"},
		}
		if !r.Null(6) {
			a.ExitCode = int(r.Int(6))
		}
		if !r.Null(7) {
			a.Decision = &jobs.Decision{
				Action:        r.Text(7),
				By:            r.Text(8),
				Reason:        r.Text(9),
				NextAttemptAt: r.Time(10),
			}
		}
		if !r.Null(13) {
			a.Error = &jobs.Failure{}
			if err := json.Unmarshal(r.Bytes(13), a.Error); err != nil {
				return fmt.Errorf("read error of attempt %d of run %s: %w", a.Number, run.ID, err)
			}
			if run.Error != nil {
				run.Error = a.Error
			}
		}
		if a.Outcome == jobs.OutcomeSucceeded {
			run.Result, run.ResultTruncated = r.Bytes(12), r.Int(11) == 1
		}
		run.Attempts = append(run.Attempts, a)
		return nil
	}, run.ID.Seq())
}

// logOf is what is kept of one attempt's output.
func logOf(tx Tx, run jobs.ID, number int) (pieces []store.LogPiece, err error) {
	err = tx.Query(selectLogs, func(r Row) error {
		p := store.LogPiece{
			Run: run, Attempt: int(r.Int(0)), Piece: int(r.Int(1)), Offset: r.Int(2), Data: r.Bytes(3),
		}
		if p.Attempt == number {
			pieces = append(pieces, p)
		}
		return nil
	}, run.Seq(), number, -1, -1)
	return pieces, err
}

// Log implements store.History. The callback is called outside of transactions: it may be slow.
func (s *Store) Log(ctx context.Context, id jobs.ID, piece func(store.LogPiece) error) error {
	last := store.LogPiece{Attempt: -1}
	for {
		chunk, err := s.logAfter(ctx, id, last)
		if err != nil || len(chunk) == 0 {
			return err
		}
		for _, p := range chunk {
			if err := piece(p); err != nil {
				return err
			}
		}
		last = chunk[len(chunk)-1]
	}
}

// logAfter reads the next pieces, about logChunk bytes.
func (s *Store) logAfter(
	ctx context.Context, id jobs.ID, last store.LogPiece,
) (chunk []store.LogPiece, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		if _, err := s.runRow(tx, id); err != nil {
			return err
		}
		size := 0
		err := tx.Query(selectLogs, func(r Row) error {
			if size >= logChunk {
				return errEnough
			}
			p := store.LogPiece{
				Run: id, Attempt: int(r.Int(0)), Piece: int(r.Int(1)), Offset: r.Int(2), Data: r.Bytes(3),
			}
			chunk, size = append(chunk, p), size+len(p.Data)
			return nil
		}, id.Seq(), last.Attempt, last.Offset, last.Piece)
		if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	})
	return chunk, err
}

// Stats implements store.History.
func (s *Store) Stats(ctx context.Context) (map[jobs.State]int, error) {
	counts := map[jobs.State]int{}
	err := s.db.Read(ctx, func(tx Tx) error {
		return tx.Query(selectStates, func(r Row) error {
			counts[jobs.State(r.Int(0))] += int(r.Int(1))
			return nil
		})
	})
	counts[jobs.Queued] -= counts[0] // between two slices they are running
	counts[jobs.Running] += counts[0]
	delete(counts, 0)
	maps.DeleteFunc(counts, func(_ jobs.State, n int) bool { return n == 0 })
	return counts, err
}
