package sqldb

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	insertEvent = `
INSERT INTO events (at, type, subject, job, run, data) VALUES ($1, $2, $3, $4, $5, $6)`
	eventColumns = `id, at, type, subject, job, run, data`
	selectEvents = `
SELECT ` + eventColumns + ` FROM events WHERE id > $1 ORDER BY id LIMIT $2`
	selectEventList = `
SELECT ` + eventColumns + ` FROM events WHERE id < $1 AND id > $2 ORDER BY id DESC LIMIT $3`
	selectNewestEvent = `SELECT MAX(id) FROM events`
	selectEventTimes  = `SELECT id, at FROM events WHERE id > $1 ORDER BY id LIMIT $2`
	deleteEvents      = `DELETE FROM events WHERE id <= $1`

	// metaPruned is the newest event that was pruned: where none is left, ids go on from it.
	metaPruned   = "events pruned"
	retainEvents = 90 * 24 * time.Hour
)

// keepEvent keeps an event in the transaction of what it tells of.
func (s *Store) keepEvent(tx Tx, e store.Event) error {
	s.told++
	_, err := tx.Exec(insertEvent, int64(e.At), e.Type, e.Subject, noneText(e.Job), noneID(e.Run),
		string(e.Data))
	return err
}

// tellDependency keeps that a breaker has opened or closed. The event is of no job, since others
// share the dependency.
func (s *Store) tellDependency(tx Tx, now jobs.Time, e *jobs.DependencyEvent) error {
	return s.keepEvent(tx, store.Event{
		At: now, Type: e.Type, Subject: e.Subject(), Data: e.Data(),
	})
}

func scanEvent(r Row) store.Event {
	return store.Event{
		ID: r.Int(0), At: r.Time(1), Type: r.Text(2), Subject: r.Text(3), Job: r.Text(4), Run: r.ID(5),
		Data: r.Bytes(6),
	}
}

// Events implements store.History.
func (s *Store) Events(
	ctx context.Context, after int64, limit int,
) (list []store.Event, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		list = nil
		return tx.Query(selectEvents, func(r Row) error {
			list = append(list, scanEvent(r))
			return nil
		}, after, limit)
	})
	return list, err
}

// NewestEvent implements store.History.
func (s *Store) NewestEvent(ctx context.Context) (newest int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		newest, err = newestEvent(tx)
		return err
	})
	return newest, err
}

func newestEvent(tx Tx) (newest int64, err error) {
	if _, err := one(tx, selectNewestEvent, func(r Row) { newest = r.Int(0) }); err != nil {
		return 0, err
	}
	pruned, err := metaNumber(tx, metaPruned)
	return max(newest, pruned), err
}

// metaNumber is a fact about the file that is a number; 0: there is none.
func metaNumber(tx Tx, name string) (n int64, err error) {
	var bad error
	_, err = one(tx, selectMeta, func(r Row) { n, bad = strconv.ParseInt(r.Text(0), 10, 64) }, name)
	return n, errors.Join(err, bad)
}

// EventList implements store.History.
func (s *Store) EventList(
	ctx context.Context, f store.EventFilter, p store.Page,
) (list []store.Event, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		looked, last := 0, int64(0)
		err := tx.Query(selectEventList, func(r Row) error {
			looked, last = looked+1, r.Int(0)
			if !keepsEvent(f, r.Text(2), r.Text(4)) {
				return nil
			}
			if len(list) == sizeOf(p) {
				next = strconv.FormatInt(list[len(list)-1].ID, 10)
				return errEnough
			}
			list = append(list, scanEvent(r))
			return nil
		}, before, f.After, maxLooked)
		if looked == maxLooked && next == "" {
			next = strconv.FormatInt(last, 10)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return list, next, err
}

func keepsEvent(f store.EventFilter, kind, job string) bool {
	if f.Types != nil && !slices.Contains(f.Types, kind) {
		return false
	}
	return f.Allowed == nil || job != "" && allowed(f.Allowed, job)
}

// pruneEvents looks at up to limit events, oldest first, and deletes those past their time. They
// were kept in the order of their ids, so one that is older than a later one says it is was kept
// while the clock was ahead. A young one ends it: those after it are young too.
func pruneEvents(tx Tx, at *pruneCursor, now jobs.Time, limit int) (done bool, err error) {
	looked, old := 0, int64(0)
	err = tx.Query(selectEventTimes, func(r Row) error {
		looked, at.event = looked+1, r.Int(0)
		switch kept := r.Time(1); {
		case kept < now.Add(-retainEvents):
			old = at.event
		case kept <= now:
			done = true
			return errEnough
		}
		return nil
	}, at.event, limit)
	if err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	done = done || looked < limit
	if old == 0 {
		return done, nil
	}
	if _, err := tx.Exec(deleteEvents, old); err != nil {
		return false, err
	}
	_, err = tx.Exec(upsertMeta, metaPruned, strconv.FormatInt(old, 10))
	return done, err
}
