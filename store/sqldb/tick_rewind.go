package sqldb

import (
	"context"

	"nightshift/jobs"
)

const (
	selectSchedulesAhead = `
SELECT ` + scheduleColumns + ` FROM schedules s
WHERE s.id > $1 AND s.cursor > $2 AND s.deleted_at IS NULL ORDER BY s.id LIMIT $3`
	updateScheduleRewound = `
UPDATE schedules SET cursor = $2, due_at = $3, backlog = $4, stamp = stamp + 1 WHERE id = $1`
)

// rewindStep is how many schedules one transaction takes back: others wait for it.
const rewindStep = 500

// Rewind implements store.Schedules.
func (s *Store) Rewind(ctx context.Context, now jobs.Time) (ahead int, _ error) {
	for last := int64(0); ; {
		var rows []*scheduleRow
		err := s.write(ctx, func(tx Tx) error {
			rows = nil
			err := tx.Query(selectSchedulesAhead, func(r Row) error {
				row, err := scanSchedule(r)
				rows = append(rows, row)
				return err
			}, last, int64(now), rewindStep)
			for i := 0; err == nil && i < len(rows); i++ {
				err = rewind(tx, rows[i], now)
			}
			return err
		})
		if err != nil {
			return ahead, err
		}
		if ahead += len(rows); len(rows) < rewindStep {
			return ahead, nil
		}
		last = rows[len(rows)-1].id
	}
}

// rewind has a schedule go on from now. Ticks that were skipped as missed come anew, and those that were
// still to be caught up; what the ledger knows otherwise stays decided.
func rewind(tx Tx, row *scheduleRow, now jobs.Time) error {
	t, err := row.timetable()
	if err != nil {
		return nil // one that cannot be read has no ticks: it must not keep the others from theirs
	}
	if err := cutMissed(tx, row, t, now); err != nil {
		return err
	}
	due := t.Next(now)
	if row.paused != 0 {
		due = 0
	}
	left := row.backlog
	if left.To > now {
		left.To = t.Prev(now + 1)
		left.Count = t.Count(left.From, left.To)
	}
	backlog, err := backlogText(left)
	if err != nil {
		return err
	}
	return must(tx.Exec(updateScheduleRewound, row.id, int64(now), none(due), backlog))
}

// cutMissed forgets ticks after now that were skipped as missed.
func cutMissed(tx Tx, row *scheduleRow, t *jobs.Timetable, now jobs.Time) error {
	var ahead []jobs.Time
	err := tx.Query(selectMissedAhead, func(r Row) error {
		ahead = append(ahead, r.Time(0))
		return nil
	}, row.id, row.job, int64(now))
	for i := 0; err == nil && i < len(ahead); i++ {
		_, err = tx.Exec(deleteTick, row.id, row.job, int64(ahead[i]))
	}
	if err != nil {
		return err
	}
	last, ok, err := tickAt(tx, row, now)
	if err != nil || !ok || last.To <= now || !isMissed(&last) {
		return err
	}
	to := max(t.Prev(now+1), last.From)
	count := min(max(t.Count(last.From, to), 1), last.Count) // by the text as it is, which may be another one
	return must(tx.Exec(updateTickCut, row.id, row.job, int64(last.From), int64(to), count))
}

func isMissed(t *jobs.Tick) bool {
	return t.Outcome == jobs.TickSkipped && (t.Reason == jobs.SkipMissed || t.Reason == jobs.SkipLimit)
}
