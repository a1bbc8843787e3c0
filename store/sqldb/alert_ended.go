package sqldb

import (
	"cmp"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectStreakJobs = `SELECT job, COUNT(*) FROM streaks GROUP BY job`
	upsertStreak     = `
INSERT INTO streaks (job, schedule, key, count, first_at, last_at) VALUES ($1, $2, $3, 1, $4, $4)
ON CONFLICT (job, schedule, key) DO UPDATE SET count = streaks.count + 1, last_at = excluded.last_at
RETURNING count, first_at`
	deleteStreak = `
DELETE FROM streaks WHERE job = $1 AND schedule = $2 AND key = $3 RETURNING count, first_at, last_at`
	deleteStreaksOf = `DELETE FROM streaks WHERE job = $1`
	// Of an alert that is gone: its name, and from where to where its keys reach.
	deleteStreaksKeyed  = `DELETE FROM streaks WHERE key = $1 OR key >= $2 AND key < $3`
	deleteStreaksBefore = `
DELETE FROM streaks WHERE last_at < CASE key WHEN '' THEN $1 ELSE $2 END`
)

// tellEnded keeps the events that the end of a run is. One of an alert tells of nothing but that it could
// not tell, and what tells of that of nothing.
func (s *Store) tellEnded(tx Tx, e *ended) error {
	switch {
	case e.links.Tells == jobs.TellsUndelivered:
		return nil
	case e.links.Tells != jobs.TellsNothing:
		if e.state != jobs.Failed {
			return nil
		}
		return s.tellUndelivered(tx, e)
	case e.state == jobs.Failed:
		return s.tellFailed(tx, e)
	case e.state == jobs.Succeeded:
		return s.tellSucceeded(tx, e)
	}
	return nil
}

// tellUndelivered keeps that a run of an alert has failed for good.
func (s *Store) tellUndelivered(tx Tx, e *ended) error {
	alert := e.tell.Labels[jobs.LabelAlert]
	return s.keepEvent(tx, store.Event{
		At: e.now, Type: jobs.EventAlertUndelivered, Subject: jobs.AlertSubject(alert), Job: e.job, Run: e.id,
		Data: jobs.AppendJSON(nil, &jobs.AlertUndelivered{
			Alert: alert, Job: e.job, Run: e.id, Error: jobs.EventErrorOf(e.failure), Attempts: e.attempts,
			Correlation: e.tell.CorrelationID,
		}),
	})
}

// tellFailed counts a failed run, and keeps that it has failed where it is not one of those that are
// ignored.
func (s *Store) tellFailed(tx Tx, e *ended) error {
	d := jobs.RunFailed{
		Job: e.job, Run: e.id, Labels: e.tell.Labels, Error: jobs.EventErrorOf(e.failure), Attempts: e.attempts,
		Correlation: e.tell.CorrelationID, Schedule: textOrNull(e.schedule), Group: e.links.Group,
	}
	if e.failure != nil {
		d.Fingerprint = cmp.Or(e.fingerprint, jobs.Fingerprint(e.job, e.failure))
	}
	job, err := s.jobRow(tx, e.job)
	if err != nil {
		return err
	}
	for _, key := range append([]string{""}, e.tell.Keys...) {
		n, err := s.lengthen(tx, job.id, e, key)
		if err != nil {
			return err
		}
		if key == "" {
			d.InARow = n
			continue
		}
		if d.Keys == nil {
			d.Keys = map[string]int{}
		}
		d.Keys[key] = n
	}
	if e.ignored {
		return nil
	}
	return s.tellRun(tx, e, jobs.EventRunFailed, jobs.AppendJSON(nil, &d))
}

// lengthen counts a failed run of a streak, and gives how many there are in a row.
func (s *Store) lengthen(tx Tx, job int64, e *ended, key string) (n int, err error) {
	_, err = one(tx, upsertStreak, func(r Row) { n = int(r.Int(0)) }, job, e.schedule, key, int64(e.now))
	if err == nil && n == 1 && s.streaks != nil {
		s.streaks[job]++
	}
	return n, err
}

// tellSucceeded ends the streaks that a run which succeeds was counted by, and keeps what it is worth
// telling. Of a job without streaks nothing is asked.
func (s *Store) tellSucceeded(tx Tx, e *ended) error {
	job, err := s.jobRow(tx, e.job)
	if err != nil {
		return err
	}
	has, err := s.hasStreaks(tx, job.id)
	if err != nil {
		return err
	}
	if has {
		if err := s.tellRecovered(tx, e, job.id); err != nil {
			return err
		}
	}
	if !e.tell.Succeeded {
		return nil
	}
	return s.tellRun(tx, e, jobs.EventRunSucceeded, jobs.AppendJSON(nil, &jobs.RunSucceeded{
		Job: e.job, Run: e.id, Labels: e.tell.Labels, Attempts: e.attempts, Correlation: e.tell.CorrelationID,
		Schedule: textOrNull(e.schedule),
	}))
}

// tellRecovered keeps that a run has succeeded after others had failed, where they had.
func (s *Store) tellRecovered(tx Tx, e *ended, job int64) error {
	d := jobs.RunRecovered{
		Job: e.job, Run: e.id, Labels: e.tell.Labels, Attempts: e.attempts, Correlation: e.tell.CorrelationID,
		Schedule: textOrNull(e.schedule),
	}
	stood := false
	for _, key := range append([]string{""}, e.tell.Keys...) {
		found, err := one(tx, deleteStreak, func(r Row) {
			n, first, last := int(r.Int(0)), r.Time(1), r.Time(2)
			if d.FirstAt == 0 || key == "" {
				d.FirstAt, d.LastAt = first, last
			}
			if key == "" {
				d.InARow = n
				return
			}
			if d.Keys == nil {
				d.Keys = map[string]int{}
			}
			d.Keys[key] = n
		}, job, e.schedule, key)
		if err != nil {
			return err
		}
		if found {
			stood = true
			s.shorten(job)
		}
	}
	if !stood {
		return nil
	}
	return s.tellRun(tx, e, jobs.EventRunRecovered, jobs.AppendJSON(nil, &d))
}

func (s *Store) tellRun(tx Tx, e *ended, typ string, data jobs.Raw) error {
	return s.keepEvent(tx, store.Event{
		At: e.now, Type: typ, Subject: jobs.RunSubject(e.id), Job: e.job, Run: e.id, Data: data,
	})
}

// hasStreaks reports whether runs of a job have failed in a row. It is known in memory, so that a run
// which succeeds as others did costs no statement.
func (s *Store) hasStreaks(tx Tx, job int64) (bool, error) {
	if s.streaks == nil {
		all := map[int64]int{}
		err := tx.Query(selectStreakJobs, func(r Row) error {
			all[r.Int(0)] = int(r.Int(1))
			return nil
		})
		if err != nil {
			return false, err
		}
		s.streaks = all
	}
	return s.streaks[job] > 0, nil
}

func (s *Store) shorten(job int64) {
	if s.streaks[job]--; s.streaks[job] <= 0 {
		delete(s.streaks, job)
	}
}

// dropStreaks forgets those of a job that goes.
func (s *Store) dropStreaks(tx Tx, job int64) error {
	delete(s.streaks, job)
	_, err := tx.Exec(deleteStreaksOf, job)
	return err
}

// dropStreaksOf forgets those that an alert counts by.
func (s *Store) dropStreaksOf(tx Tx, alert string) error {
	s.streaks = nil
	_, err := tx.Exec(deleteStreaksKeyed, alert, alert+"=", alert+string(rune('='+1)))
	return err
}

// pruneStreaks forgets those that nothing was added to for long.
func (s *Store) pruneStreaks(tx Tx, now jobs.Time) error {
	gone, err := tx.Exec(deleteStreaksBefore, int64(now.Add(-jobs.RetainStreaks)), int64(now.Add(-jobs.RetainStreaksKeyed)))
	if gone > 0 {
		s.streaks = nil
	}
	return err
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
