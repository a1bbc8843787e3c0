package sqldb

import (
	"time"

	"nightshift/jobs"
)

const (
	selectPruneSchedule = `
SELECT id, job, deleted_at FROM schedules WHERE id >= $1 ORDER BY id LIMIT 1`
	// The jobs that a schedule has had: mostly one.
	selectTickJob = `
SELECT job FROM ticks WHERE schedule = $1 AND job > $2 ORDER BY job LIMIT 1`
	selectOldTicks = `
SELECT at FROM ticks WHERE schedule = $1 AND job = $2 AND at < $3 AND until < $4 ORDER BY at LIMIT $5`
	deleteOldTicks = `
DELETE FROM ticks WHERE schedule = $1 AND job = $2 AND at <= $3 AND until < $4`
	deleteSchedule = `DELETE FROM schedules WHERE id = $1`

	retainTicks = 90 * 24 * time.Hour
	// pruneTicksEvery is how often each schedule is looked at: there may be very many.
	pruneTicksEvery = time.Hour
)

// pruneTicks deletes ticks past their time, up to limit, but the newest of each schedule that stands; and
// schedules that are gone of which the ledger knows nothing any more.
func pruneTicks(tx Tx, at *pruneCursor, now jobs.Time, limit int) (left int, err error) {
	for left = limit; left > 0; left-- {
		var id, job int64
		gone := false
		found, err := one(tx, selectPruneSchedule, func(r Row) { id, job, gone = r.Int(0), r.Int(1), !r.Null(2) },
			at.schedule)
		if err != nil {
			return left, err
		}
		if !found {
			at.ticks = true
			return left, nil
		}
		at.schedule = id
		n, all, err := pruneTicksOf(tx, id, job, gone, now.Add(-retainTicks), left)
		if err != nil {
			return left, err
		}
		if left -= n; all {
			at.schedule++
		}
	}
	return 0, nil
}

// pruneTicksOf does so for one schedule; all: it has come to the end.
func pruneTicksOf(
	tx Tx, id, job int64, gone bool, before jobs.Time, limit int,
) (n int, all bool, err error) {
	any := false
	for last := int64(-1); ; {
		found, err := one(tx, selectTickJob, func(r Row) { last = r.Int(0) }, id, last)
		if err != nil {
			return n, false, err
		}
		if !found {
			break
		}
		end := before
		if last == job && !gone {
			newest, err := newestTick(tx, id, job)
			if err != nil {
				return n, false, err
			}
			end = min(before, newest.From)
		}
		deleted, err := pruneTicksBefore(tx, id, last, end, before, limit-n)
		if n += deleted; err != nil || n >= limit {
			return n, false, err
		}
		left, err := newestTick(tx, id, last)
		if err != nil {
			return n, false, err
		}
		any = any || left != nil
	}
	if gone && !any {
		err = must(tx.Exec(deleteSchedule, id))
	}
	return n, true, err
}

func pruneTicksBefore(tx Tx, id, job int64, end, before jobs.Time, limit int) (n int, err error) {
	last := jobs.Time(0)
	err = tx.Query(selectOldTicks, func(r Row) error {
		last = r.Time(0)
		n++
		return nil
	}, id, job, int64(end), int64(before), limit)
	if err == nil && n > 0 {
		_, err = tx.Exec(deleteOldTicks, id, job, int64(last), int64(before))
	}
	return n, err
}
