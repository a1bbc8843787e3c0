package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	foldColumns    = `alert, sort, key, at, doc`
	selectFold     = `SELECT ` + foldColumns + ` FROM folds WHERE alert = $1 AND sort = $2 AND key = $3`
	selectDueFolds = `
SELECT ` + foldColumns + ` FROM folds WHERE at <= $1 ORDER BY at, alert, sort, key LIMIT $2`
	selectNextFold = `SELECT at FROM folds WHERE at > $1 ORDER BY at LIMIT 1`
	selectSince    = `SELECT f.alert, f.doc FROM documents d
JOIN folds f ON f.alert = d.name AND f.sort = $2 AND f.key = '' WHERE d.kind = $1 ORDER BY d.id`
	// What an alert that was deleted meanwhile would keep, goes with it.
	upsertFold = `
INSERT INTO folds (alert, sort, key, at, doc)
SELECT $1, $2, $3, $4, $5 WHERE EXISTS (SELECT 1 FROM documents WHERE kind = $6 AND name = $1)
ON CONFLICT (alert, sort, key) DO UPDATE SET at = excluded.at, doc = excluded.doc`
	deleteFold         = `DELETE FROM folds WHERE alert = $1 AND sort = $2 AND key = $3`
	deleteFoldsOf      = `DELETE FROM folds WHERE alert = $1`
	updateFoldsShifted = `UPDATE folds SET at = at + $1 WHERE at IS NOT NULL`
	selectUntold       = `SELECT seq, tail FROM runs WHERE tells = $1 AND dealt = 0 ORDER BY seq DESC LIMIT $2`

	// metaAlerts is the last event that alerts were asked about.
	metaAlerts = "alerts cursor"
	maxUntold  = 1000
)

// AlertCursor implements store.Alerts.
func (s *Store) AlertCursor(ctx context.Context) (cursor int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		cursor, err = metaNumber(tx, metaAlerts)
		return err
	})
	return cursor, err
}

func scanFold(r Row) store.Fold {
	return store.Fold{
		FoldKey: store.FoldKey{Alert: r.Text(0), Sort: r.Text(1), Key: r.Text(2)}, At: r.Time(3), Doc: r.Bytes(4),
	}
}

// Folds implements store.Alerts.
func (s *Store) Folds(ctx context.Context, keys []store.FoldKey) (list []store.Fold, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		list = nil
		for _, k := range keys {
			_, err := one(tx, selectFold, func(r Row) { list = append(list, scanFold(r)) }, k.Alert, k.Sort, k.Key)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// DueFolds implements store.Alerts.
func (s *Store) DueFolds(
	ctx context.Context, now jobs.Time, limit int,
) (due []store.Fold, next jobs.Time, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		due, next = nil, 0
		err := tx.Query(selectDueFolds, func(r Row) error {
			due = append(due, scanFold(r))
			return nil
		}, int64(now), limit)
		if err == nil {
			_, err = one(tx, selectNextFold, func(r Row) { next = r.Time(0) }, int64(now))
		}
		return err
	})
	return due, next, err
}

// AlertsSince implements store.Alerts.
func (s *Store) AlertsSince(ctx context.Context) (since map[string]int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		since = map[string]int64{}
		return tx.Query(selectSince, func(r Row) error {
			n, err := strconv.ParseInt(r.Text(1), 10, 64)
			since[r.Text(0)] = n
			return err
		}, store.KindAlert, jobs.AlertSince)
	})
	return since, err
}

// keepSince notes of an alert that is made after which event that is.
func keepSince(tx Tx, alert string) error {
	newest, err := newestEvent(tx)
	if err == nil {
		_, err = tx.Exec(upsertFold, alert, jobs.AlertSince, "", nil, strconv.FormatInt(newest, 10), store.KindAlert)
	}
	return err
}

// dropAlert forgets what was kept for an alert that goes.
func (s *Store) dropAlert(tx Tx, name string) error {
	if _, err := tx.Exec(deleteFoldsOf, name); err != nil {
		return err
	}
	return s.dropStreaksOf(tx, name)
}

// KeepAlerts implements store.Alerts.
func (s *Store) KeepAlerts(ctx context.Context, step store.AlertStep) (made []store.Submitted, err error) {
	err = s.write(ctx, func(tx Tx) error {
		made = make([]store.Submitted, len(step.Subs))
		cursor, err := metaNumber(tx, metaAlerts)
		if err != nil {
			return err
		}
		if cursor != step.Was {
			return fmt.Errorf("alerts were asked up to event %d, not %d: %w", cursor, step.Was, store.ErrStale)
		}
		if step.Cursor != cursor {
			if _, err := tx.Exec(upsertMeta, metaAlerts, strconv.FormatInt(step.Cursor, 10)); err != nil {
				return err
			}
		}
		for i := range step.Folds {
			if err := keepFold(tx, &step.Folds[i]); err != nil {
				return fmt.Errorf("keep what alert %s has told: %w", step.Folds[i].Alert, err)
			}
		}
		for i := range step.Subs {
			if made[i], err = s.makeTeller(tx, &step.Subs[i], step.Now); err != nil {
				return fmt.Errorf("make a run of job %s that tells: %w", step.Subs[i].Run.Job, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

func keepFold(tx Tx, f *store.Fold) error {
	if f.Doc == nil {
		_, err := tx.Exec(deleteFold, f.Alert, f.Sort, f.Key)
		return err
	}
	_, err := tx.Exec(upsertFold, f.Alert, f.Sort, f.Key, none(f.At), string(f.Doc), store.KindAlert)
	return err
}

// makeTeller makes a run of an alert. Where its job does not stand any more, that is what there is to tell.
func (s *Store) makeTeller(tx Tx, sub *store.Submission, now jobs.Time) (store.Submitted, error) {
	made, err := s.enqueue(tx, sub)
	if !errors.Is(err, store.ErrNotFound) {
		return made, err
	}
	if sub.Run.Tells == jobs.TellsUndelivered {
		return store.Submitted{}, nil
	}
	alert := sub.Run.Labels[jobs.LabelAlert]
	return store.Submitted{}, s.keepEvent(tx, store.Event{
		At: now, Type: jobs.EventAlertUndelivered, Subject: jobs.AlertSubject(alert), Job: sub.Run.Job,
		Data: jobs.AppendJSON(nil, &jobs.AlertUndelivered{
			Alert: alert, Job: sub.Run.Job, Correlation: sub.Run.CorrelationID,
			Error: &jobs.EventError{
				Kind: jobs.FailInvalid, Type: "job", Message: "there is no job " + sub.Run.Job + " any more",
			},
		}),
	})
}

// Happened implements store.Alerts.
func (s *Store) Happened(ctx context.Context, e store.Event) error {
	return s.write(ctx, func(tx Tx) error { return s.keepEvent(tx, e) })
}

// TestAlert implements store.Alerts.
func (s *Store) TestAlert(ctx context.Context, e store.Event, by store.By) (id int64, err error) {
	err = s.write(ctx, func(tx Tx) error {
		if err := s.keepEvent(tx, e); err != nil {
			return err
		}
		if _, err := one(tx, selectNewestEvent, func(r Row) { id = r.Int(0) }); err != nil {
			return err
		}
		return s.audit(tx, by, "test", store.KindAlert, e.Subject, changed("event", nil, id))
	})
	return id, err
}

// Undelivered implements store.Alerts.
func (s *Store) Undelivered(ctx context.Context) (n int, newest jobs.ID, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		n, newest = 0, jobs.NilID
		for _, tells := range []jobs.Tells{jobs.TellsEvent, jobs.TellsUndelivered} {
			err := tx.Query(selectUntold, func(r Row) error {
				n++
				if id := jobs.IDOf(r.Int(0), r.Int(1)); newest.Seq() < id.Seq() {
					newest = id
				}
				return nil
			}, int(tells), maxUntold)
			if err != nil {
				return err
			}
		}
		n = min(n, maxUntold)
		return nil
	})
	return n, newest, err
}
