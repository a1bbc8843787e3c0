package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectAttempt = `
SELECT tail, state, number, slices, deaths + COALESCE(interrupts, 0), job, operation, bkey, lane FROM runs WHERE seq = $1`
	selectSaid        = `SELECT said FROM runs WHERE seq = $1`
	selectTold        = `SELECT told FROM attempts WHERE run = $1 AND number = $2`
	updateAlive       = `UPDATE runs SET deaths = 0, interrupts = NULL WHERE seq = $1`
	updateSaid        = `UPDATE runs SET said = $2 WHERE seq = $1`
	selectWaitingRuns = `
SELECT r.seq, r.tail, r.number, r.job, r.version, r.due_at FROM runs r
WHERE r.state IN (3, 5) AND r.state = 5 AND r.members IS NULL ORDER BY r.seq`
	selectLease = `
SELECT ` + runColumns + `, p.body, r.job,
    (SELECT SUM(LENGTH(data)) FROM logs l WHERE l.run = r.seq), r.lane IS NULL, r.said
FROM runs r LEFT JOIN payloads p ON p.run = r.seq WHERE r.seq = $1`
)

// fenced is the run of an attempt under way.
type fenced struct {
	state  jobs.State // as it is shown
	number int
	cut    int // attempts that the server ended before it
	owner  owner
	lane   int64 // in which it waits for its next slice; 0: it does not
}

// fence reads the run of an attempt and demands that this one is under way.
func fence(tx Tx, f store.Fence) (of fenced, err error) {
	found, err := one(tx, selectAttempt, func(r Row) {
		if r.Int(0) != f.Run.Tail() {
			return
		}
		of = fenced{state: jobs.State(r.Int(1)), number: int(r.Int(2)), cut: int(r.Int(4))}
		if of.state == jobs.Queued && !r.Null(3) {
			of.state, of.lane = jobs.Running, r.Int(8) // between two slices
		}
		run := jobs.Run{OperationID: r.ID(6), Keys: jobs.Keys{Checkpoint: keyOf(r.Text(7))}}
		if run.OperationID.IsNil() {
			run.OperationID = f.Run
		}
		of.owner = ownerOf(r.Int(5), &run)
	}, f.Run.Seq())
	if err != nil {
		return of, err
	}
	under := of.state == jobs.Running || of.state == jobs.Waiting
	if found && under && of.number == f.Number {
		return of, nil
	}
	over := &store.OverError{State: of.state}
	if _, err := one(tx, selectTold, func(r Row) { over.Told = r.Text(0) }, f.Run.Seq(), f.Number); err != nil {
		return of, err
	}
	return of, over
}

// SaveCheckpoint implements store.Underway.
func (s *Store) SaveCheckpoint(ctx context.Context, f store.Fence, value jobs.Raw, now jobs.Time) error {
	return s.write(ctx, func(tx Tx) error {
		of, err := fence(tx, f)
		if err == nil {
			err = s.saveFor(tx, of, &store.Note{Fence: f, Checkpoint: value}, now)
		}
		return err
	})
}

// saveFor keeps a checkpoint. It also shows that the run gets on: deaths, and attempts that the server
// ended, are counted in a row without a new one.
func (s *Store) saveFor(tx Tx, of fenced, n *store.Note, now jobs.Time) error {
	if of.cut > 0 {
		if err := must(tx.Exec(updateAlive, n.Run.Seq())); err != nil {
			return err
		}
	}
	return s.putCheckpoint(tx, of.owner, n.Checkpoint, now)
}

// ownerOfRun is whose the checkpoint of a run is.
func ownerOfRun(tx Tx, id jobs.ID) (of owner, err error) {
	got, err := fence(tx, store.Fence{Run: id})
	var over *store.OverError
	if errors.As(err, &over) {
		err = nil
		if over.State == 0 {
			err = fmt.Errorf("run %s: %w", id, store.ErrNotFound)
		}
	}
	return got.owner, err
}

// Checkpoint implements store.Underway.
func (s *Store) Checkpoint(ctx context.Context, run jobs.ID) (value jobs.Raw, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		of, err := ownerOfRun(tx, run)
		if err == nil {
			value, err = readCheckpoint(tx, of)
		}
		return err
	})
	return value, err
}

// DropCheckpoint implements store.Underway.
func (s *Store) DropCheckpoint(ctx context.Context, run jobs.ID, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		of, err := ownerOfRun(tx, run)
		if err != nil {
			return err
		}
		value, err := readCheckpoint(tx, of)
		if err != nil {
			return err
		}
		n, err := tx.Exec(deleteCheckpoint, of.job, of.key)
		if err == nil && n == 0 {
			err = fmt.Errorf("run %s has no checkpoint: %w", run, store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		return s.audit(tx, by, "drop-checkpoint", "run", run.String(), jobs.Change{Location: "checkpoint", Before: value})
	})
}

// KeepNotes implements store.Underway.
func (s *Store) KeepNotes(ctx context.Context, notes []store.Note, now jobs.Time) error {
	return s.write(ctx, func(tx Tx) error {
		for i := range notes {
			if err := s.keepNote(tx, &notes[i], now); err != nil && !errors.Is(err, store.ErrLease) {
				return fmt.Errorf("keep what run %s has said: %w", notes[i].Run, err)
			}
		}
		return nil
	})
}

func (s *Store) keepNote(tx Tx, n *store.Note, now jobs.Time) error {
	of, err := fence(tx, n.Fence)
	if err == nil && n.Checkpoint != nil {
		err = s.saveFor(tx, of, n, now)
	}
	if err != nil || n.Progress == nil {
		return err
	}
	if of.lane != 0 { // a claim may have read it ahead
		l, err := s.laneOf(tx, of.lane)
		if err != nil {
			return err
		}
		s.dropAhead(l)
	}
	return must(tx.Exec(updateProgress, n.Run.Seq(), string(jobs.AppendJSON(nil, n.Progress))))
}

// Say implements store.Underway.
func (s *Store) Say(ctx context.Context, f store.Fence, said *jobs.Said) error {
	text := string(jobs.AppendJSON(nil, said))
	return s.write(ctx, func(tx Tx) error {
		if _, err := fence(tx, f); err != nil {
			return err
		}
		return must(tx.Exec(updateSaid, f.Run.Seq(), text))
	})
}

// parseSaid reads the column; nil: nothing was said.
func parseSaid(text []byte) (*jobs.Said, error) {
	if text == nil {
		return nil, nil
	}
	said := &jobs.Said{}
	if err := json.Unmarshal(text, said); err != nil {
		return nil, fmt.Errorf("read what an attempt has said: %w", err)
	}
	return said, nil
}

// Waiting implements store.Underway.
func (s *Store) Waiting(ctx context.Context) ([]store.WaitingRun, error) {
	var list []store.WaitingRun
	err := s.db.Read(ctx, func(tx Tx) error {
		list = nil
		var keys []specKey
		err := tx.Query(selectWaitingRuns, func(r Row) error {
			list = append(list, store.WaitingRun{
				Fence: store.Fence{Run: jobs.IDOf(r.Int(0), r.Int(1)), Number: int(r.Int(2))}, Until: r.Time(5),
			})
			keys = append(keys, specKey{r.Int(3), int(r.Int(4))})
			return nil
		})
		if err != nil {
			return err
		}
		read := map[specKey]*pinned{}
		for i, key := range keys {
			p := read[key]
			if p == nil {
				if p, err = readPinned(tx, key); err != nil {
					return err
				}
				read[key] = p
			}
			list[i].Job = p.job
			if w := p.spec.Webhook; w != nil && w.HeartbeatTimeout != nil {
				list[i].Heartbeat = w.HeartbeatTimeout.Std()
			}
		}
		return nil
	})
	return list, err
}

// Lease implements store.Underway.
func (s *Store) Lease(ctx context.Context, f store.Fence) (*store.Lease, error) {
	var l *store.Lease
	err := s.db.Read(ctx, func(tx Tx) error {
		of, err := fence(tx, f)
		if err == nil {
			l, err = readLease(tx, f.Run)
		}
		if err != nil {
			return err
		}
		if l.Checkpoint, err = readCheckpoint(tx, of.owner); err == nil && l.LogBytes > 0 {
			l.Log, err = logOf(tx, f.Run, f.Number)
		}
		return err
	})
	return l, err
}

func readLease(tx Tx, id jobs.ID) (l *store.Lease, err error) {
	job, bad := int64(0), error(nil)
	_, err = one(tx, selectLease, func(r Row) {
		l = &store.Lease{LogBytes: r.Int(runColumnCount + 2), Deleted: r.Int(runColumnCount+3) == 1}
		if l.Run, bad = scanWhole(r); bad != nil {
			return
		}
		l.Started, l.Merges = l.Run.AttemptAt, merges(l.Run)
		job = r.Int(runColumnCount + 1)
		l.Said, bad = parseSaid(r.Bytes(runColumnCount + 4))
	}, id.Seq())
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	p, err := readPinned(tx, specKey{job, l.Run.Version})
	if err != nil {
		return nil, err
	}
	l.Run.Job, l.Spec, l.Host = p.job, p.spec, p.hostOf(l.Run.Host)
	if p.spec.Group != nil {
		l.Group, err = groupLease(tx, l.Run, p.spec)
	}
	return l, err
}
