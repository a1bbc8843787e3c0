package sqldb

import (
	"context"
	"slices"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	tickColumns  = `at, until, count, outcome, reason, run, late`
	selectNewest = `
SELECT ` + tickColumns + ` FROM ticks WHERE schedule = $1 AND job = $2 ORDER BY at DESC LIMIT 1`
	selectTickAt = `
SELECT ` + tickColumns + ` FROM ticks WHERE schedule = $1 AND job = $2 AND at <= $3 ORDER BY at DESC LIMIT 1`
	selectTicks = `
SELECT ` + tickColumns + ` FROM ticks
WHERE schedule = $1 AND job = $2 AND at < $3 ORDER BY at DESC LIMIT $4`
	insertTick = `
INSERT INTO ticks (schedule, job, at, until, count, outcome, reason, run, late_at, late_success)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	updateTickGrown = `
UPDATE ticks SET until = $4, count = count + $5 WHERE schedule = $1 AND job = $2 AND at = $3`
	updateTickCut = `
UPDATE ticks SET until = $4, count = $5 WHERE schedule = $1 AND job = $2 AND at = $3`
	// Those after $3 that were skipped as missed.
	selectMissedAhead = `
SELECT at, until FROM ticks
WHERE schedule = $1 AND job = $2 AND at > $3 AND outcome = 'skipped' AND reason IN ('missed', 'limit')
ORDER BY at LIMIT 1000000`
	deleteTick = `DELETE FROM ticks WHERE schedule = $1 AND job = $2 AND at = $3`
)

func scanTick(r Row) jobs.Tick {
	return jobs.Tick{
		From: r.Time(0), To: r.Time(1), Count: int(r.Int(2)), Outcome: r.Text(3), Reason: r.Text(4), Run: r.ID(5),
		Late: r.Int(6) == 1,
	}
}

// newestTick is the last line of the ledger; nil: there is none.
func newestTick(tx Tx, schedule, job int64) (t *jobs.Tick, err error) {
	_, err = one(tx, selectNewest, func(r Row) {
		tick := scanTick(r)
		t = &tick
	}, schedule, job)
	return t, err
}

// tickAt is the line of the ledger that begins at an instant or before; ok: there is one.
func tickAt(tx Tx, row *scheduleRow, at jobs.Time) (t jobs.Tick, ok bool, err error) {
	ok, err = one(tx, selectTickAt, func(r Row) { t = scanTick(r) }, row.id, row.job, int64(at))
	return t, ok, err
}

// knows reports whether the ledger has a tick.
func knows(tx Tx, row *scheduleRow, at jobs.Time) (bool, error) {
	t, ok, err := tickAt(tx, row, at)
	return ok && at <= t.To, err
}

// keepSkipped writes ticks that were skipped, but for those that the ledger knows: after the clock was set
// back these may lie among them.
func keepSkipped(tx Tx, row *scheduleRow, r jobs.TickRange) error {
	known, ok, err := tickAt(tx, row, r.To)
	if err != nil {
		return err
	}
	if !ok || known.To < r.From {
		return keepUnknown(tx, row, r)
	}
	t, err := row.timetable()
	if err != nil {
		return err
	}
	var parts []jobs.TickRange
	for to := r.To; to >= r.From; to = t.Prev(known.From) {
		known, ok, err = tickAt(tx, row, to)
		if err != nil {
			return err
		}
		from := r.From
		if ok && known.To >= r.From {
			from = t.Next(known.To)
		}
		if from != 0 && from <= to {
			parts = append(parts, jobs.TickRange{
				From: from, To: to, Count: t.Count(from, to), Reason: r.Reason, Before: t.Prev(from),
			})
		}
		if !ok || known.From <= r.From {
			break
		}
	}
	for _, part := range slices.Backward(parts) {
		if err := keepUnknown(tx, row, part); err != nil {
			return err
		}
	}
	return nil
}

// keepUnknown writes ticks that were skipped, of which the ledger knows none. They join the neighbours
// before them that were skipped for the same reason.
func keepUnknown(tx Tx, row *scheduleRow, r jobs.TickRange) error {
	before, ok, err := tickAt(tx, row, r.From-1)
	if err != nil {
		return err
	}
	if ok && r.Before != 0 && before.To == r.Before && before.Outcome == jobs.TickSkipped &&
		before.Reason == r.Reason {
		return must(tx.Exec(updateTickGrown, row.id, row.job, int64(before.From), int64(r.To), r.Count))
	}
	_, err = tx.Exec(insertTick, row.id, row.job, int64(r.From), int64(r.To), r.Count, jobs.TickSkipped, r.Reason,
		nil, nil, nil)
	return err
}

// keepRan writes a tick that made a run.
func keepRan(tx Tx, row *scheduleRow, t *store.TickRun, outcome string, run jobs.ID) error {
	success := any(nil)
	if t.LateSuccess && t.LateAt != 0 {
		success = int64(1)
	}
	_, err := tx.Exec(insertTick, row.id, row.job, int64(t.At), int64(t.At), 1, outcome, nil, run[:],
		none(t.LateAt), success)
	return err
}

// Ticks implements store.Schedules.
func (s *Store) Ticks(
	ctx context.Context, name string, p store.Page,
) (list []jobs.Tick, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		row, err := liveScheduleRow(tx, name)
		if err != nil {
			return err
		}
		return tx.Query(selectTicks, func(r Row) error {
			if len(list) == sizeOf(p) {
				next = strconv.FormatInt(int64(list[len(list)-1].From), 10)
				return nil
			}
			list = append(list, scanTick(r))
			return nil
		}, row.id, row.job, before, sizeOf(p)+1)
	})
	return list, next, err
}
