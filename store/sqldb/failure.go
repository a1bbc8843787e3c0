package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// A run that ended failed is a failure: runs.dealt says what has become of it, runs.failure which are
// alike. See Failures in doc.go.

const (
	selectOpen = `SELECT COUNT(*) FROM (SELECT seq FROM runs WHERE dealt = 0 AND dealt IS NOT NULL LIMIT $1) w`
)

// Deal implements store.Failures.
func (s *Store) Deal(ctx context.Context, run jobs.ID, d store.Dealing, by store.By) error {
	by.Note = d.Note
	return s.write(ctx, func(tx Tx) error {
		l, found, err := readLink(tx, run)
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("run %s: %w", run, store.ErrNotFound)
		case !l.failed:
			return fmt.Errorf("run %s is %s, and no failure: %w", run, l.state, store.ErrState)
		}
		was := l.dealt
		dealt, err := s.deal(tx, &l, &settling{d.Status, by.Actor, d.Note, d.Until, by.Now})
		if err != nil || !dealt {
			return err
		}
		changes := []jobs.Change{changed("status", was.String(), d.Status.String())}
		if d.Until != 0 {
			changes = append(changes, changed("until", nil, d.Until))
		}
		return s.audit(tx, by, dealings[d.Status], "run", run.String(), changes...)
	})
}

// dealings are what the audit calls them.
var dealings = map[jobs.FailureStatus]string{jobs.FailureResolved: store.BulkResolve, jobs.FailureIgnored: store.BulkIgnore}

// deal makes a failure resolved or ignored, with those that it stands for, and says whether that changed
// anything.
func (s *Store) deal(tx Tx, l *link, how *settling) (changed bool, err error) {
	if l.dealt == how.status {
		n, err := tx.Exec(updateDealing, l.id.Seq(), noneText(how.note), none(how.until))
		if err != nil || n == 0 {
			return false, err
		}
	} else if err := settleChain(tx, l, how); err != nil {
		return false, err
	}
	return true, settleGroup(tx, l.group, how)
}

// OpenFailures implements store.Failures.
func (s *Store) OpenFailures(ctx context.Context, most int) (n int, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		_, err := one(tx, selectOpen, func(r Row) { n = int(r.Int(0)) }, most)
		return err
	})
	return n, err
}

// Failure implements store.Failures.
func (s *Store) Failure(ctx context.Context, run jobs.ID) (*store.Failure, error) {
	whole, err := s.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if whole.Dealt == nil && whole.State != jobs.Retrying {
		return nil, fmt.Errorf("run %s is %s, and no failure: %w", run, whole.State, store.ErrNotFound)
	}
	var f *store.Failure
	err = s.db.Read(ctx, func(tx Tx) error {
		var bad error
		found, err := one(tx, selectFailure, func(r Row) { f, bad = scanFailure(r) }, run.Seq())
		if err = errors.Join(err, bad); err == nil && !found {
			err = store.ErrNotFound // it was deleted just now
		}
		if err == nil {
			f.Chain, err = chainOf(tx, f.Run)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read failure %s: %w", run, err)
	}
	if f.Run = whole; whole.Error != nil {
		f.Stack = whole.Error.Stack
	}
	return f, nil
}

// maxChain bounds how many requeues are followed either way.
const maxChain = 100

// chainOf are the runs that one was requeued from and to, oldest first, itself among them.
func chainOf(tx Tx, run *jobs.Run) (chain []*jobs.Run, err error) {
	older, err := linked(tx, run, func(r *jobs.Run) jobs.ID { return r.RequeuedFrom })
	if err != nil {
		return nil, err
	}
	slices.Reverse(older)
	newer, err := linked(tx, run, func(r *jobs.Run) jobs.ID { return r.RequeuedTo })
	return slices.Concat(older, []*jobs.Run{run}, newer), err
}

func linked(tx Tx, run *jobs.Run, next func(*jobs.Run) jobs.ID) (list []*jobs.Run, err error) {
	for id := next(run); !id.IsNil() && len(list) < maxChain; id = next(run) {
		of, err := listedRun(tx, id)
		if err != nil || of == nil {
			return list, err
		}
		list, run = append(list, of), of
	}
	return list, nil
}
